//! Who takes part: clients, the server, the revision in force (session-model.md 4.1, 14).

use std::{borrow::Cow, collections::VecDeque, sync::Arc};

use super::{
    atoms::bounded,
    call::CallId,
    hash::Map,
    hops::{ClientKey, Side},
    reading::Who,
    session::{Client, Implementation},
};
use crate::record::HttpFields;

/// Clients that are told apart (session-model.md 22.3).
const MAX_CLIENTS: usize = 1_024;
/// Connections that are remembered (session-model.md 22.3).
const MAX_CONNECTIONS: usize = 4_096;
/// Requests whose revision can still be taken back when they turn out to be probes.
const MAX_COUNTED: usize = 32;

/// A revision of 2026-07-28 or later; `None` when the word says nothing (session-model.md 14.1).
pub(super) fn is_modern(version: &str) -> Option<bool> {
    is_at_least(version, "2026-07-28")
}

/// A revision of `first` or later; `None` when the word says nothing.
pub(super) fn is_at_least(version: &str, first: &str) -> Option<bool> {
    let bytes = version.as_bytes();
    if bytes
        .get(..5)
        .is_some_and(|head| head.eq_ignore_ascii_case(b"draft"))
    {
        return Some(true);
    }
    let date = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    date.then(|| version >= first)
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    /// Key of its last request.
    last: ClientKey,
    /// Who the last `initialize` on it declared.
    who: u32,
}

/// What the peers said about themselves.
#[derive(Debug, Default)]
pub(super) struct Peers {
    pub(super) clients: Vec<Client>,
    numbers: Map<Implementation, u32>,
    pub(super) newest: Option<Implementation>,
    newest_number: u32,
    pub(super) server: Option<Implementation>,
    supported: Option<Arc<str>>,
    names: Map<Box<str>, u32>,
    connections: Map<u32, Connection>,
    /// Who a host declared; `u32::MAX` for several.
    hosts: Map<u32, u32>,
    negotiated: Map<ClientKey, Arc<str>>,
    /// The last requests with the revision that they were made under.
    counted: VecDeque<(CallId, Arc<str>)>,
    last_known: Option<Arc<str>>,
}

impl Peers {
    /// Number of a connection, host or peer; 0 is missing.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let name = &*bounded(Cow::Borrowed(name));
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        // Beyond the bound all further names are one: they accuse nobody, links get rarer.
        let number = u32::try_from(self.names.len() + 1).unwrap_or(u32::MAX);
        if self.names.len() < MAX_CONNECTIONS * 16 {
            self.names.insert(name.into(), number);
        }
        number
    }

    /// Notes who a client says it is; answers its number.
    pub(super) fn declare(&mut self, who: &Who<'_>) -> u32 {
        if let Some(newest) = &self.newest
            && *newest.name == *who.name
            && *newest.version == *who.version
        {
            return self.newest_number;
        }
        let client = Implementation {
            name: who.name.as_ref().into(),
            version: who.version.as_ref().into(),
        };
        let number = match self.numbers.get(&client) {
            Some(known) => *known,
            None if self.clients.len() < MAX_CLIENTS => {
                self.clients.push(Client {
                    implementation: client.clone(),
                    requests: 0,
                });
                let number = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
                self.numbers.insert(client.clone(), number);
                number
            }
            None => 0,
        };
        self.newest = Some(client);
        self.newest_number = number;
        number
    }

    /// Counts a request of a client.
    pub(super) fn count(&mut self, who: u32) {
        let at = usize::try_from(who).ok().and_then(|who| who.checked_sub(1));
        if let Some(client) = at.and_then(|at| self.clients.get_mut(at)) {
            client.requests += 1;
        }
    }

    /// The client key of a frame that the client sent on a connection.
    pub(super) fn client_key(
        &mut self,
        http: Option<&HttpFields>,
        conn: u32,
        declared: Option<u32>,
        initializes: bool,
    ) -> ClientKey {
        let peer = http
            .and_then(|http| http.peer.as_deref())
            .unwrap_or_default();
        let conn_id = http
            .and_then(|http| http.conn_id.as_deref())
            .unwrap_or_default();
        let host = conn_id.rsplit_once(':').map_or("", |(host, _)| host);
        let (peer, host) = (self.number(peer), self.number(host));
        if let Some(who) = declared {
            let known = self.hosts.entry(host).or_insert(who);
            if *known != who {
                *known = u32::MAX;
            }
        }
        if self.connections.len() > MAX_CONNECTIONS {
            self.connections.clear();
        }
        let connection = self.connections.entry(conn).or_default();
        if let (Some(who), true) = (declared, initializes) {
            connection.who = who;
        }
        let of_host = self
            .hosts
            .get(&host)
            .copied()
            .filter(|who| *who != u32::MAX);
        let who = declared
            .or((connection.who != 0).then_some(connection.who))
            .or(of_host)
            .unwrap_or(0);
        connection.last = ClientKey { peer, host, who };
        connection.last
    }

    /// The client key of a frame of the server that belongs to no request.
    pub(super) fn server_key(&mut self, http: Option<&HttpFields>, conn: u32) -> ClientKey {
        match self.connections.get(&conn) {
            Some(connection) => connection.last,
            None => self.client_key(http, conn, None, false),
        }
    }

    /// The answer to `initialize` named the peer that further requests of the client carry.
    pub(super) fn name_peer(&mut self, conn: u32, client: ClientKey, named: ClientKey) {
        if let Some(connection) = self.connections.get_mut(&conn)
            && connection.last == client
        {
            connection.last = named;
        }
    }

    /// Notes the revision that `initialize` agreed on.
    pub(super) fn negotiate(&mut self, call: CallId, client: ClientKey, version: &str) {
        let version: Arc<str> = version.into();
        if self.negotiated.len() >= MAX_CLIENTS {
            self.negotiated.clear();
        }
        self.negotiated.insert(client, Arc::clone(&version));
        self.made_under(call, version);
    }

    /// The revision that a request was made under: what it declared, else what was negotiated.
    pub(super) fn effective(&self, client: ClientKey, declared: Option<&str>) -> Option<Arc<str>> {
        let Some(declared) = declared else {
            return self.negotiated.get(&client).cloned();
        };
        match self.counted.back() {
            Some((_, newest)) if **newest == *declared => Some(Arc::clone(newest)),
            _ => Some(declared.into()),
        }
    }

    /// Counts a request of the client under a revision.
    pub(super) fn made_under(&mut self, call: CallId, version: Arc<str>) {
        self.counted.push_back((call, version));
        if self.counted.len() > MAX_COUNTED {
            self.last_known = self.counted.pop_front().map(|(_, version)| version);
        }
    }

    /// A probe tells nothing of the session (session-model.md 14.2.2).
    pub(super) fn was_probe(&mut self, call: CallId) {
        self.counted.retain(|(known, _)| *known != call);
    }

    /// The revision in force.
    pub(super) fn version(&self) -> Option<&str> {
        let newest = self.counted.back().map(|(_, version)| version);
        newest
            .or(self.last_known.as_ref())
            .or(self.supported.as_ref())
            .map(|version| &**version)
    }

    /// Notes the first revision that the server says it supports.
    pub(super) fn supports(&mut self, version: &str) {
        self.supported = Some(version.into());
    }

    /// Notes who the server says it is.
    pub(super) fn serve(&mut self, who: &Who<'_>) {
        let same = self
            .server
            .as_ref()
            .is_some_and(|known| *known.name == *who.name && *known.version == *who.version);
        if !same {
            self.server = Some(Implementation {
                name: who.name.as_ref().into(),
                version: who.version.as_ref().into(),
            });
        }
    }
}

/// Who sends requests that the other side answers, for a log direction.
pub(super) fn side_of(direction: &crate::record::Direction) -> Option<Side> {
    match direction {
        crate::record::Direction::ClientToServer => Some(Side::Client),
        crate::record::Direction::ServerToClient => Some(Side::Server),
        _ => None,
    }
}
