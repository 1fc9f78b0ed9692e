//! Publishing our listener as the remote `hub.sock` without ever taking a living one (remote.md
//! 8.2), and leaving again (8.7). It works on a `Place`, so that tests can act between any two steps.

use super::{
    far_error::SftpError,
    probe::random_name,
    sftp::{Attributes, Kind},
    verdict::{Contact, Owner, OwnerFile, Verdict, decide},
};

/// Name of the socket that recorders connect to.
pub(super) const SOCKET: &str = "hub.sock";
/// Name of the hint beside it.
pub(super) const OWNER: &str = "hub.owner";
/// Sockets of dead viewers that are tested at a time; each may take seconds.
const LEFTOVERS: usize = 16;
/// Tries before the logs have to do.
const ROUNDS: usize = 3;

/// The state directory as publishing sees it: names in it, and connections to sockets in it.
pub(super) trait Place: Send + Sync {
    /// Asks the server to listen on a name; false when it refuses.
    fn listen(&self, name: &str) -> impl Future<Output = Result<bool, SftpError>> + Send;
    /// Ends listening. The file stays.
    fn cancel(&self, name: &str) -> impl Future<Output = ()> + Send;
    /// What a name is; `None` when it does not exist.
    fn look(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<Attributes>, SftpError>> + Send;
    /// Gives a file a second name; fails if that exists.
    fn link(&self, from: &str, to: &str) -> impl Future<Output = Result<(), SftpError>> + Send;
    /// Renames.
    fn rename(&self, from: &str, to: &str) -> impl Future<Output = Result<(), SftpError>> + Send;
    /// Removes a name.
    fn remove(&self, name: &str) -> impl Future<Output = Result<(), SftpError>> + Send;
    /// Connects to a socket and says what is behind it.
    fn contact(
        &self,
        name: &str,
        patience: Patience,
    ) -> impl Future<Output = Result<Contact, SftpError>> + Send;
    /// The bytes of `hub.owner`, if there is a short one.
    fn owner(&self) -> impl Future<Output = Result<Option<Vec<u8>>, SftpError>> + Send;
    /// Writes `hub.owner` for a socket with this modification time.
    fn write_owner(&self, socket_mtime: i64) -> impl Future<Output = Result<(), SftpError>> + Send;
    /// The mark that this run leaves in `hub.owner`.
    fn mark(&self) -> &str;
    /// True when nobody but us and root can reach or change names in the directory.
    fn keeps_others_out(&self) -> bool;
}

/// How long an answer of whoever listens is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It says of itself that it is ours, of a connection that was lost: only a hub that took its
    /// place within the same second could answer.
    Short,
    Usual,
    /// It says of itself that it is a viewer, which answers.
    Long,
}

/// Why there is no socket of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The server does not listen for us.
    Forwarding,
    /// The private socket does not show where SFTP looks.
    OtherWorld,
    /// Something that is no socket, or another user's, has the name.
    Occupied,
    /// Somebody else's living socket.
    Owned(Owner),
    /// No name can be made there.
    ReadOnly,
    /// The socket would be open to other users.
    Open,
    /// Others were faster three times.
    Rounds,
    /// The server refused to say or do something that is needed on the way.
    Hindered,
}

impl Refusal {
    /// The reason as the hosts list and the messages show it.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Forwarding => {
                "the server refuses stream-local forwarding (AllowStreamLocalForwarding, \
                 AllowTcpForwarding, DisableForwarding or restrict)"
            }
            Self::OtherWorld => "SFTP shows another directory tree than the server listens in",
            Self::Occupied => "hub.sock is no socket of this user",
            Self::Owned(Owner::Hub) => "a viewer runs on the host and has hub.sock",
            Self::Owned(Owner::RemoteViewer) => "another remote viewer has hub.sock",
            Self::Owned(Owner::Silent) => "hub.sock belongs to somebody who does not answer",
            Self::Owned(Owner::Unknown) => {
                "whether hub.sock is in use cannot be tested (PermitOpen or \
                 AllowStreamLocalForwarding)"
            }
            Self::ReadOnly => "no name can be made in the state directory",
            Self::Open => "other users could connect to the socket (StreamLocalBindMask)",
            Self::Rounds => "hub.sock changed hands three times while it was being taken",
            Self::Hindered => "the server does not let the state directory be looked at or changed",
        }
    }
}

/// Our socket as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Published {
    /// The name that the server listens on; connections arrive under it.
    pub(super) private: String,
    /// The socket as the file system shows it.
    pub(super) attributes: Attributes,
    /// Connections to it can be tested.
    pub(super) permitted: bool,
}

/// Publishes, or says why not. Nothing of ours is left behind when it does not.
///
/// # Errors
/// When the connection or SFTP ends on the way.
pub(super) async fn publish<P: Place>(place: &P) -> Result<Result<Published, Refusal>, SftpError> {
    for _ in 0..ROUNDS {
        let private = format!(".h{}", random_name(6));
        let ended = match attempt(place, &private).await {
            Err(error) if error.ends_session() => return Err(error),
            ended => ended.unwrap_or(Round::Refused(Refusal::Hindered)),
        };
        match ended {
            Round::Published(published) => {
                let told = place.write_owner(published.attributes.modified).await;
                if told.is_err() {
                    // It is a hint only: without it the next viewer waits or asks. What ended the
                    // session shows in the next request.
                }
                return Ok(Ok(published));
            }
            Round::Again => retract(place, &private).await?,
            // Nothing was made.
            Round::Refused(Refusal::Forwarding) => return Ok(Err(Refusal::Forwarding)),
            Round::Refused(refusal) => {
                retract(place, &private).await?;
                return Ok(Err(refusal));
            }
        }
    }
    Ok(Err(Refusal::Rounds))
}

/// How one round ended.
enum Round {
    Published(Published),
    Again,
    Refused(Refusal),
}

async fn attempt<P: Place>(place: &P, private: &str) -> Result<Round, SftpError> {
    match prepare(place, private).await? {
        Ok(ours) => round(place, &ours).await,
        Err(refusal) => Ok(Round::Refused(refusal)),
    }
}

/// Step 1: a private listener, and whether it can be reached.
async fn prepare<P: Place>(
    place: &P,
    private: &str,
) -> Result<Result<Published, Refusal>, SftpError> {
    if !place.listen(private).await? {
        return Ok(Err(Refusal::Forwarding));
    }
    let Some(attributes) = place.look(private).await? else {
        return Ok(Err(Refusal::OtherWorld));
    };
    if attributes.kind != Kind::Socket {
        return Ok(Err(Refusal::Hindered));
    }
    if attributes.mode & 0o077 != 0 && !place.keeps_others_out() {
        return Ok(Err(Refusal::Open));
    }
    let permitted = place.contact(private, Patience::Usual).await? == Contact::Ours;
    Ok(Ok(Published {
        private: private.to_owned(),
        attributes,
        permitted,
    }))
}

/// Steps 2 to 6.
async fn round<P: Place>(place: &P, ours: &Published) -> Result<Round, SftpError> {
    let aside = match place.look(SOCKET).await? {
        None => None,
        Some(found) if found.kind != Kind::Socket || found.uid != ours.attributes.uid => {
            return Ok(Round::Refused(Refusal::Occupied));
        }
        Some(found) => match judge(place, SOCKET, ours.permitted, found.modified).await? {
            Verdict::Ours => {
                // A listener of an attempt that broke off: nobody would take its name off later.
                forgive(place.remove(SOCKET).await)?;
                return Ok(Round::Again);
            }
            Verdict::Leave(owner) => return Ok(Round::Refused(Refusal::Owned(owner))),
            Verdict::Stale => match move_aside(place, ours, found).await? {
                Aside::Moved(name) => Some(name),
                Aside::Gone => None,
                Aside::Alive(owner) => return Ok(Round::Refused(Refusal::Owned(owner))),
                Aside::Changed => return Ok(Round::Again),
            },
        },
    };
    let taken = take_name(place, &ours.private).await?;
    if let Some(aside) = aside {
        forgive(place.remove(&aside).await)?;
    }
    match taken {
        Taken::Yes => check(place, ours).await,
        Taken::Somebody => Ok(Round::Again),
        Taken::Impossible => Ok(Round::Refused(Refusal::ReadOnly)),
    }
}

async fn judge<P: Place>(
    place: &P,
    name: &str,
    permitted: bool,
    modified: i64,
) -> Result<Verdict, SftpError> {
    let bytes = place.owner().await?;
    let viewer = bytes.and_then(|bytes| OwnerFile::of_viewer(&bytes, modified));
    let patience = match &viewer {
        Some(viewer) if viewer.nonce == place.mark() => Patience::Short,
        Some(_) => Patience::Long,
        None => Patience::Usual,
    };
    let contact = place.contact(name, patience).await?;
    Ok(decide(contact, permitted, viewer.is_some()))
}

/// What became of a stale socket.
enum Aside {
    Moved(String),
    Gone,
    Alive(Owner),
    Changed,
}

/// Step 4: moves the stale socket aside and decides once more under that name.
async fn move_aside<P: Place>(
    place: &P,
    ours: &Published,
    found: Attributes,
) -> Result<Aside, SftpError> {
    let aside = format!(".q{}", random_name(6));
    match place.rename(SOCKET, &aside).await {
        Ok(()) => {}
        Err(SftpError::NotFound) => return Ok(Aside::Gone),
        Err(error) if error.ends_session() => return Err(error),
        Err(_) => return Ok(Aside::Changed),
    }
    let Some(moved) = place.look(&aside).await? else {
        return Ok(Aside::Gone);
    };
    let same = moved.kind == Kind::Socket && moved.modified == found.modified;
    let verdict = judge(place, &aside, ours.permitted, moved.modified).await?;
    if same && verdict == Verdict::Stale {
        return Ok(Aside::Moved(aside));
    }
    put_back(place, &aside).await?;
    Ok(match verdict {
        Verdict::Leave(owner) => Aside::Alive(owner),
        Verdict::Stale | Verdict::Ours => Aside::Changed,
    })
}

/// Gives a socket that turned out to live its name back, unless there is a new one by now.
async fn put_back<P: Place>(place: &P, aside: &str) -> Result<(), SftpError> {
    match place.link(aside, SOCKET).await {
        Ok(()) => forgive(place.remove(aside).await),
        Err(error) if error.ends_session() => Err(error),
        Err(_) if place.look(SOCKET).await?.is_some() => forgive(place.remove(aside).await),
        // No links there: a rename, which also fails if the name exists.
        Err(_) => forgive(place.rename(aside, SOCKET).await),
    }
}

/// Whether the name became ours.
enum Taken {
    Yes,
    Somebody,
    Impossible,
}

/// Step 5.
async fn take_name<P: Place>(place: &P, private: &str) -> Result<Taken, SftpError> {
    match place.link(private, SOCKET).await {
        Ok(()) => {
            forgive(place.remove(private).await)?;
            return Ok(Taken::Yes);
        }
        Err(error) if error.ends_session() => return Err(error),
        Err(_) => {}
    }
    // SFTP says only `Failure`: looking tells whether the name exists or links are not possible.
    if place.look(SOCKET).await?.is_some() {
        return Ok(Taken::Somebody);
    }
    match place.rename(private, SOCKET).await {
        Ok(()) => Ok(Taken::Yes),
        Err(error) if error.ends_session() => Err(error),
        Err(_) if place.look(SOCKET).await?.is_some() => Ok(Taken::Somebody),
        Err(_) => Ok(Taken::Impossible),
    }
}

/// Step 6.
async fn check<P: Place>(place: &P, ours: &Published) -> Result<Round, SftpError> {
    if is_ours(place, ours).await? {
        return Ok(Round::Published(ours.clone()));
    }
    Ok(Round::Again)
}

/// True when `hub.sock` leads to us; where that cannot be tested, when it looks like ours.
pub(super) async fn is_ours<P: Place>(place: &P, ours: &Published) -> Result<bool, SftpError> {
    let Some(found) = place.look(SOCKET).await? else {
        return Ok(false);
    };
    let alike = found.kind == Kind::Socket
        && found.uid == ours.attributes.uid
        && found.modified == ours.attributes.modified;
    if !alike || !ours.permitted {
        return Ok(alike);
    }
    Ok(place.contact(SOCKET, Patience::Usual).await? == Contact::Ours)
}

/// Leaves: the name, the hint, the listener, in this order. In doubt a name is left.
///
/// # Errors
/// When the connection or SFTP ends on the way.
pub(super) async fn leave<P: Place>(place: &P, ours: &Published) -> Result<(), SftpError> {
    if is_ours(place, ours).await? {
        forgive(place.remove(SOCKET).await)?;
        forgive(place.remove(OWNER).await)?;
    }
    place.cancel(&ours.private).await;
    Ok(())
}

/// Takes back whatever a round left: our socket under either name, and the listener.
async fn retract<P: Place>(place: &P, private: &str) -> Result<(), SftpError> {
    place.cancel(private).await;
    forgive(place.remove(private).await)
}

/// Removes what dead viewers left: sockets named like our temporary ones, older than an hour, with
/// nobody behind them (remote.md 8.7.3).
///
/// # Errors
/// When the connection or SFTP ends on the way.
pub(super) async fn clear_leftovers<P: Place>(
    place: &P,
    names: &[(String, Attributes)],
    ours: &Published,
    remote_now: i64,
) -> Result<(), SftpError> {
    if !ours.permitted {
        return Ok(());
    }
    let old = names.iter().filter(|(name, attributes)| {
        is_temporary(name)
            && attributes.kind == Kind::Socket
            && attributes.uid == ours.attributes.uid
            && attributes.modified < remote_now - 3_600
    });
    for (name, _) in old.take(LEFTOVERS) {
        if place.contact(name, Patience::Usual).await? == Contact::Refused {
            forgive(place.remove(name).await)?;
        }
    }
    Ok(())
}

/// True for `.h??????` and `.q??????`.
pub(super) fn is_temporary(name: &str) -> bool {
    name.strip_prefix(".h")
        .or_else(|| name.strip_prefix(".q"))
        .is_some_and(|rest| {
            rest.len() == 6
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte))
        })
}

/// A name that cannot be removed is left; only the end of the session counts.
fn forgive(outcome: Result<(), SftpError>) -> Result<(), SftpError> {
    match outcome {
        Err(error) if error.ends_session() => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "publish_tests.rs"]
mod tests;
