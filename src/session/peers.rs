//! Who takes part: clients, the server, the revision in force (session-model.md 4.1, 14).

use std::{borrow::Cow, sync::Arc};

use super::{
    atoms::bounded,
    call::CallId,
    client::{Client, ClientScope, Implementation},
    hash::Map,
    hops::{ClientKey, Side},
    reading::Who,
    revisions::{Counted, RevisionCount, Revisions},
    stated::Stated,
};
use crate::record::HttpFields;

/// Clients that are told apart (session-model.md 22.3).
const MAX_CLIENTS: usize = 1_024;
/// Connections that are remembered (session-model.md 22.3).
const MAX_CONNECTIONS: usize = 4_096;
/// Scopes of one client that are listed.
const MAX_SCOPES: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    /// Key of its last request.
    last: ClientKey,
    /// Who the last `initialize` on it declared.
    who: u32,
    /// Redaction took that away.
    hidden: bool,
}

/// What the peers said about themselves.
#[derive(Debug, Default)]
pub(super) struct Peers {
    pub(super) clients: Vec<Client>,
    /// Requests that tell nothing of who sent them.
    pub(super) unidentified: Client,
    /// Declarations of clients that had no place in the list.
    pub(super) beyond: u64,
    /// Requests from scopes that had no place in the list of their client.
    pub(super) scopes_beyond: u64,
    /// Connections that were forgotten.
    pub(super) connections_forgotten: u64,
    /// Names of connections, hosts and peers that were taken for missing ones.
    pub(super) names_beyond: u64,
    pub(super) revisions: Revisions,
    pub(super) stated: Stated,
    numbers: Map<Implementation, u32>,
    pub(super) newest: Option<Implementation>,
    newest_number: u32,
    pub(super) server: Option<Implementation>,
    names: Map<Arc<str>, u32>,
    /// The same by number, from 1.
    by_number: Vec<Arc<str>>,
    connections: Map<u32, Connection>,
    /// Who a host declared; `u32::MAX` for several.
    hosts: Map<u32, u32>,
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
        // Beyond the bound further names are missing ones: they accuse nobody, links get rarer.
        if self.names.len() >= MAX_CONNECTIONS * 16 {
            self.names_beyond += 1;
            return 0;
        }
        let number = u32::try_from(self.names.len() + 1).unwrap_or(0);
        let name: Arc<str> = name.into();
        self.by_number.push(Arc::clone(&name));
        self.names.insert(name, number);
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
                    ..Client::default()
                });
                let number = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
                self.numbers.insert(client.clone(), number);
                number
            }
            None => {
                self.beyond = self.beyond.saturating_add(1);
                0
            }
        };
        self.newest = Some(client);
        self.newest_number = number;
        number
    }

    fn client_mut(&mut self, who: u32) -> &mut Client {
        let at = usize::try_from(who).ok().and_then(|who| who.checked_sub(1));
        match at.and_then(|at| self.clients.get_mut(at)) {
            Some(client) => client,
            None => &mut self.unidentified,
        }
    }

    /// Counts a request of a client.
    pub(super) fn count(&mut self, key: ClientKey) {
        let name = |names: &[Arc<str>], number: u32| {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            names.get(at).map(Arc::clone)
        };
        let client = self.client_mut(key.who);
        client.requests += 1;
        let scope = (key.peer, key.host);
        if client.known.last() == Some(&scope) || client.known.contains(&scope) {
            return;
        }
        if client.known.len() >= MAX_SCOPES {
            client.scopes_cut = true;
            self.scopes_beyond += 1;
            return;
        }
        client.known.push(scope);
        let (peer, host) = (
            name(&self.by_number, key.peer),
            name(&self.by_number, key.host),
        );
        self.client_mut(key.who)
            .scopes
            .push(ClientScope { peer, host });
    }

    /// The client key of a request, which later frames of the server on its connection take.
    pub(super) fn client_key(
        &mut self,
        http: Option<&HttpFields>,
        conn: u32,
        (declared, hidden): (Option<u32>, bool),
        initializes: bool,
    ) -> ClientKey {
        let sender = self.sender_key(http, conn);
        let (host, who) = (sender.host, sender.who);
        if let Some(who) = declared {
            let known = self.hosts.entry(host).or_insert(who);
            if *known != who {
                *known = u32::MAX;
            }
        }
        let last = ClientKey {
            who: declared.unwrap_or(who),
            hidden: hidden || declared.is_none() && sender.hidden,
            ..sender
        };
        // Over HTTP an unknown connection says nothing of who spoke on it before.
        if http.is_some() && conn == 0 {
            return last;
        }
        if self.connections.len() > MAX_CONNECTIONS {
            self.connections_forgotten += self.connections.len() as u64;
            self.connections.clear();
        }
        let connection = self.connections.entry(conn).or_default();
        if initializes && (hidden || declared.is_some()) {
            connection.who = declared.unwrap_or(connection.who);
            connection.hidden = hidden;
        }
        connection.last = last;
        last
    }

    /// The client key of any other frame that the client sent on a connection.
    pub(super) fn sender_key(&mut self, http: Option<&HttpFields>, conn: u32) -> ClientKey {
        let peer = http.and_then(|http| http.peer.as_deref());
        let conn_id = http.and_then(|http| http.conn_id.as_deref());
        let host = conn_id.and_then(|conn| conn.rsplit_once(':'));
        let host = host.map_or("", |(host, _)| host);
        let (peer, host) = (self.number(peer.unwrap_or_default()), self.number(host));
        let unknown = http.is_some() && conn == 0;
        let of_connection = self.connections.get(&conn).filter(|_| !unknown);
        let (greeted, hidden) =
            of_connection.map_or((0, false), |connection| (connection.who, connection.hidden));
        let of_host = self.hosts.get(&host).copied();
        let who = match greeted {
            0 => of_host.filter(|who| *who != u32::MAX).unwrap_or(0),
            who => who,
        };
        ClientKey {
            peer,
            host,
            who,
            hidden,
        }
    }

    /// The client key of a frame of the server that belongs to no request.
    pub(super) fn server_key(&mut self, http: Option<&HttpFields>, conn: u32) -> ClientKey {
        let named = http.is_some_and(|http| http.peer.is_some());
        match self.connections.get(&conn) {
            Some(connection) if !named => connection.last,
            _ => self.sender_key(http, conn),
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

    /// Counts a request of the client under its revision.
    pub(super) fn made_under(&mut self, call: CallId, counted: Counted) {
        self.revisions.count(call, counted);
        let Some(version) = self.revisions.name(counted.revision).map(Arc::clone) else {
            return;
        };
        let all = &mut self.client_mut(counted.who.into()).revisions;
        match all.iter_mut().find(|one| one.id == counted.revision) {
            Some(one) => one.requests += 1,
            None => all.push(RevisionCount {
                version,
                requests: 1,
                id: counted.revision,
            }),
        }
    }

    /// A probe tells nothing of the session (session-model.md 14.2.2).
    pub(super) fn was_probe(&mut self, call: CallId, counted: Counted) {
        self.revisions.uncount(call, counted);
        let all = &mut self.client_mut(counted.who.into()).revisions;
        if let Some(one) = all.iter_mut().find(|one| one.id == counted.revision) {
            one.requests = one.requests.saturating_sub(1);
        }
        all.retain(|one| one.requests > 0);
    }

    /// The revision in force.
    pub(super) fn version(&self) -> Option<&str> {
        let counted = self.revisions.in_force();
        let known = counted.or_else(|| self.stated.supported.list.first());
        known.map(|version| &**version)
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
