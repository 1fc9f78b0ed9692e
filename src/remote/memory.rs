//! What one run remembers of a host between its connections: the host key it accepted first and
//! the keys that were unlocked.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use russh::keys::{PrivateKey, PublicKey};

/// One for each host of a run; every connection to the host gets the same.
#[derive(Default)]
pub struct LinkMemory {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    host_key: Option<PublicKey>,
    unlocked: HashMap<PathBuf, Arc<PrivateKey>>,
}

impl std::fmt::Debug for LinkMemory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LinkMemory").finish_non_exhaustive()
    }
}

impl LinkMemory {
    /// The host key that was accepted first in this run.
    pub(super) fn host_key(&self) -> Option<PublicKey> {
        self.lock().host_key.clone()
    }

    /// Remembers the host key that was accepted, once.
    pub(super) fn accept_host_key(&self, key: &PublicKey) {
        self.lock().host_key.get_or_insert_with(|| key.clone());
    }

    /// A private key that was unlocked before. Its secret part is wiped when the last owner drops it.
    pub(super) fn unlocked(&self, path: &Path) -> Option<Arc<PrivateKey>> {
        self.lock().unlocked.get(path).cloned()
    }

    /// Remembers an unlocked key.
    pub(super) fn keep_unlocked(&self, path: &Path, key: &Arc<PrivateKey>) {
        self.lock()
            .unlocked
            .insert(path.to_owned(), Arc::clone(key));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
