//! Maps with a fast keyed hash: keys come from peers, so that the seed must not be known to them.

/// A map that is never iterated where order could show.
pub(super) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// A set of the same kind.
pub(super) type Set<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;
