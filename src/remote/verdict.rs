//! Who listens on a remote `hub.sock`, as a table (remote.md 8.3).

use serde::{Deserialize, Serialize};

/// What a connection to a socket showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contact {
    /// The server could not open it: nobody listens, no such file, or not permitted.
    Refused,
    /// Our own test line arrived at our own listener.
    Ours,
    /// A hub that takes subscribers answered.
    Hub,
    /// A remote viewer answered.
    Busy,
    /// Open, and nothing came.
    Silent,
    /// Open, and it ended or said something else.
    Ended,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nobody is behind it: it may be moved aside.
    Stale,
    /// It is our own.
    Ours,
    /// It is left alone.
    Leave(Owner),
}

/// Whose socket is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A viewer that runs on that machine.
    Hub,
    /// A viewer that watches it from elsewhere.
    RemoteViewer,
    /// A silent one: an older hub, or a viewer that hangs.
    Silent,
    /// It cannot be told whether anybody listens.
    Unknown,
}

/// Decides; `permitted` says that a connection to our own listener succeeded, `dead_viewer` that a
/// valid `hub.owner` names a remote viewer, which would answer if it were alive.
pub(super) const fn decide(contact: Contact, permitted: bool, dead_viewer: bool) -> Verdict {
    match contact {
        Contact::Refused if permitted => Verdict::Stale,
        Contact::Refused => Verdict::Leave(Owner::Unknown),
        Contact::Ours => Verdict::Ours,
        Contact::Hub => Verdict::Leave(Owner::Hub),
        Contact::Busy => Verdict::Leave(Owner::RemoteViewer),
        Contact::Silent if dead_viewer => Verdict::Stale,
        Contact::Silent | Contact::Ended => Verdict::Leave(Owner::Silent),
    }
}

/// The line of a subscription, which doubles as the test of liveness.
pub(super) fn subscription(nonce: &str) -> Vec<u8> {
    format!("{{\"mcpsnoop\":\"subscribe\",\"version\":1,\"nonce\":\"{nonce}\"}}\n").into_bytes()
}

/// What the first line of an answer says.
pub(super) fn read_answer(line: &[u8]) -> Contact {
    #[derive(Deserialize)]
    struct Word {
        mcpsnoop: String,
    }
    match serde_json::from_slice::<Word>(line) {
        Ok(word) if word.mcpsnoop == "hub" => Contact::Hub,
        Ok(word) if word.mcpsnoop == "busy" => Contact::Busy,
        _ => Contact::Ended,
    }
}

/// `hub.owner`: a hint for the next viewer, never proof (remote.md 8.2.7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnerFile {
    /// `remote-viewer`.
    pub(super) kind: String,
    /// Names the run that wrote it.
    pub(super) nonce: String,
    /// Modification time of the socket that it is about; it is void for any other.
    pub(super) socket_mtime: i64,
    /// When, by the clock of the viewer.
    pub(super) since: String,
}

impl OwnerFile {
    /// What the bytes say, if they are about a remote viewer's socket with this modification time.
    pub(super) fn of_viewer(bytes: &[u8], socket_mtime: i64) -> Option<Self> {
        let owner: Self = serde_json::from_slice(bytes).ok()?;
        let is_valid = owner.kind == "remote-viewer" && owner.socket_mtime == socket_mtime;
        is_valid.then_some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        use Contact as C;
        let leave = Verdict::Leave;
        let cases = [
            (C::Refused, true, false, Verdict::Stale),
            (C::Refused, true, true, Verdict::Stale),
            (C::Refused, false, false, leave(Owner::Unknown)),
            (C::Refused, false, true, leave(Owner::Unknown)),
            (C::Ours, true, false, Verdict::Ours),
            (C::Hub, true, false, leave(Owner::Hub)),
            (C::Hub, true, true, leave(Owner::Hub)),
            (C::Busy, true, false, leave(Owner::RemoteViewer)),
            (C::Busy, true, true, leave(Owner::RemoteViewer)),
            (C::Silent, true, true, Verdict::Stale),
            (C::Silent, true, false, leave(Owner::Silent)),
            (C::Ended, true, false, leave(Owner::Silent)),
            (C::Ended, true, true, leave(Owner::Silent)),
        ];
        for (contact, permitted, dead_viewer, verdict) in cases {
            assert_eq!(
                decide(contact, permitted, dead_viewer),
                verdict,
                "{contact:?} {permitted} {dead_viewer}"
            );
        }
    }

    #[test]
    fn answers() {
        let cases: [(&[u8], Contact); 5] = [
            (b"{\"mcpsnoop\":\"hub\",\"version\":1}\n", Contact::Hub),
            (b"{\"mcpsnoop\":\"busy\",\"version\":1}\n", Contact::Busy),
            (b"{\"mcpsnoop\":\"other\"}\n", Contact::Ended),
            (b"{\"session_id\":\"a\"}\n", Contact::Ended),
            (b"\xff\n", Contact::Ended),
        ];
        for (line, contact) in cases {
            assert_eq!(read_answer(line), contact);
        }
    }

    #[test]
    fn an_owner_file_counts_only_for_its_socket() {
        let file = br#"{"kind":"remote-viewer","nonce":"k","socket_mtime":5,"since":"x","more":1}"#;
        assert_eq!(OwnerFile::of_viewer(file, 5).unwrap().nonce, "k");
        assert_eq!(OwnerFile::of_viewer(file, 6), None);
        let other = br#"{"kind":"hub","nonce":"k","socket_mtime":5,"since":"x"}"#;
        assert_eq!(OwnerFile::of_viewer(other, 5), None);
        assert_eq!(OwnerFile::of_viewer(b"", 5), None);
    }
}
