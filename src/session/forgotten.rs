//! What left the stores of a session at their bounds, or found no room in them: one count a store, in
//! one place (session-model.md 22.3).

use super::{machine::Machine, session::Session};

macro_rules! stores {
    ($($store:ident $what:literal,)*) => {
        /// How much each store lost at its bound; nothing of it is a warning.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Forgotten { $(#[doc = $what] pub $store: u64,)* }

        impl Forgotten {
            /// The stores that lost something, by name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                let all = [$((stringify!($store), self.$store),)*];
                all.into_iter().filter(|(_, count)| *count > 0)
            }
        }
    };
}

stores! {
    calls "Open calls; an answer that comes later answers nothing.",
    tasks "Tasks.",
    subscriptions "Subscriptions.",
    subscription_texts "URIs and task ids of filters.",
    answered_requests "Answered requests, and such with one id of very many; a further answer to one of \
        them answers nothing.",
    early_answers "Answers that waited for their request.",
    cut_answers "Answers cut on the wire that the record of their end cannot take back.",
    exchanges "HTTP exchanges that carried a message of the client.",
    progress_tokens "Progress tokens of requests.",
    clients "Declarations of clients that had no place.",
    client_scopes "Requests of clients from peers and hosts that had no place.",
    connections "Connections.",
    peers "Names of peers and hosts on frames that had no place.",
    id_scopes "Greetings whose ids are not judged.",
    probes "Requests `server/discover` without an answer.",
    revisions "Requests under revisions that had no place.",
    negotiations "Revisions that were negotiated.",
    refusals "Refusals that were not resolved.",
    successes "Clients of which it was known whether they had a success.",
    request_states "Request states that were issued.",
    cursors "Cursors that were issued.",
    listing_runs "Listing runs.",
    listing_entries "Entries of listing runs that are counted only.",
    listing_texts "Pages of tools whose definitions are not kept.",
    listed_names "Names of tools that were listed once.",
    tool_names "Calls of tools that are counted together as `other`.",
    names "Methods and names on frames that are shown as `…`.",
    cache_entries "Copies that clients hold.",
    cache_events "Reasons to fetch a copy again.",
    call_signatures "Calls that a repeat is compared with.",
    repeated_calls "Reports of repeated calls.",
    harmless_tools "Tools that declare that a repeat changes nothing.",
    elicitations "Questions to users.",
    statements "Capabilities, names of peers and the like that are too long.",
    extensions "Extensions.",
    supported_versions "Versions that the server says it supports.",
    conflicts "Second contents of numbers that had no place.",
}

impl Machine {
    /// What all stores lost so far.
    fn forgotten(&self) -> Forgotten {
        let (hops, listings, repeats) = (&self.hops, &self.listings, &self.repeats);
        let (peers, caches) = (&self.peers, &self.caches);
        let (revisions, stated) = (&peers.revisions, &peers.stated);
        let (refusals, successes) = self.refusals.forgotten();
        Forgotten {
            subscription_texts: self.streams.texts_beyond,
            answered_requests: hops.forgotten(),
            progress_tokens: hops.forgotten_tokens,
            clients: peers.beyond,
            client_scopes: peers.scopes_beyond,
            connections: peers.connections_forgotten,
            peers: peers.names_beyond,
            early_answers: self.early.beyond(),
            id_scopes: self.id_spaces.beyond,
            revisions: revisions.beyond,
            negotiations: revisions.negotiated_forgotten,
            refusals,
            successes,
            request_states: self.issued.forgotten(),
            cursors: listings.forgotten_cursors(),
            listing_runs: listings.forgotten,
            listing_entries: listings.entries_beyond,
            listing_texts: listings.without_text,
            listed_names: listings.names_beyond,
            names: self.atoms.beyond,
            cache_entries: caches.fresh.dropped(),
            cache_events: caches.forgotten_events(),
            call_signatures: repeats.forgotten_attempts(),
            repeated_calls: repeats.forgotten(),
            harmless_tools: repeats.harmless_beyond,
            elicitations: self.ledger.dropped(),
            statements: stated.too_long,
            extensions: stated.extensions_beyond(),
            supported_versions: stated.supported.more,
            ..self.forgotten.clone()
        }
    }
}

impl Session {
    /// What left memory at the bounds of the model, or found no room there (session-model.md 22.3).
    /// Rows that were dropped are counted apart (session-model.md 22.1).
    pub fn forgotten(&self) -> Forgotten {
        Forgotten {
            conflicts: self.conflicts_beyond,
            ..self.machine.forgotten()
        }
    }
}

#[cfg(test)]
#[path = "forgotten_tests.rs"]
mod tests;
