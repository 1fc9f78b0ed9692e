//! The user's key agent: its list of keys, read one by one so that a single odd key hides no other
//! (remote.md 14.7), and its signatures.

use std::{path::Path, time::Duration};

use russh::keys::{
    HashAlg, PublicKey,
    agent::{AgentIdentity, AgentSessionBinding, client::AgentClient},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

/// Connecting, binding and listing are local and quick; more is an agent that hangs.
const STEP_LIMIT: Duration = Duration::from_secs(5);

/// One signature; a key may have to be touched or confirmed (remote.md 5.2).
pub(super) const SIGN_LIMIT: Duration = Duration::from_mins(1);

/// Largest list of keys; the agent protocol's usual frame limit.
const MAX_LIST_BYTES: usize = 256 * 1024;

const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;

/// Why the agent is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentError {
    /// The socket cannot be used.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// No answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// An answer that cannot be read.
    #[error("an answer that cannot be read")]
    Protocol,
    /// The agent refused.
    #[error("{0}")]
    Refused(#[from] russh::keys::Error),
}

/// A connection to the agent.
#[derive(Debug)]
pub(super) struct Agent {
    stream: UnixStream,
}

/// The keys of an agent.
#[derive(Debug, Default)]
pub(super) struct AgentKeys {
    /// Those that can be used, in the agent's order, with their comments.
    pub(super) usable: Vec<(PublicKey, String)>,
    /// Types of the others.
    pub(super) skipped: Vec<String>,
}

impl Agent {
    /// Connects and binds the connection to the SSH session, so that keys with destination limits
    /// can be used. Agents that do not know about binding are used all the same.
    pub(super) async fn connect(
        socket: &Path,
        binding: Option<&AgentSessionBinding>,
    ) -> Result<Self, AgentError> {
        let mut agent = Self {
            stream: within(STEP_LIMIT, UnixStream::connect(socket)).await?,
        };
        if let Some(binding) = binding {
            let mut client = AgentClient::connect(&mut agent.stream);
            match within(STEP_LIMIT, client.bind_session(binding, false)).await {
                Ok(()) | Err(AgentError::Refused(russh::keys::Error::AgentFailure)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(agent)
    }

    /// Lists the keys.
    pub(super) async fn keys(&mut self) -> Result<AgentKeys, AgentError> {
        let answer = within(STEP_LIMIT, self.ask_for_keys()).await?;
        read_keys(&answer).ok_or(AgentError::Protocol)
    }

    async fn ask_for_keys(&mut self) -> Result<Vec<u8>, AgentError> {
        self.stream
            .write_all(&[0, 0, 0, 1, REQUEST_IDENTITIES])
            .await?;
        let length = usize::try_from(self.stream.read_u32().await?).unwrap_or(usize::MAX);
        if length > MAX_LIST_BYTES {
            return Err(AgentError::Protocol);
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await?;
        Ok(answer)
    }

    /// Appends the signature over `data` to it, as the SSH library wants it.
    pub(super) async fn sign(
        &mut self,
        key: &PublicKey,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, AgentError> {
        let identity = AgentIdentity::from(key.clone());
        let mut client = AgentClient::connect(&mut self.stream);
        within(SIGN_LIMIT, client.sign_request(&identity, hash, data)).await
    }
}

async fn within<T, E: Into<AgentError>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, AgentError> {
    match timeout(limit, work).await {
        Ok(outcome) => outcome.map_err(Into::into),
        Err(_elapsed) => Err(AgentError::Silent(limit)),
    }
}

/// Reads the answer to a listing. Keys that cannot be read are skipped, also when damaged.
fn read_keys(answer: &[u8]) -> Option<AgentKeys> {
    let (kind, mut rest) = answer.split_first()?;
    if *kind != IDENTITIES_ANSWER {
        return None;
    }
    let count = read_u32(&mut rest)?;
    let mut keys = AgentKeys::default();
    for _ in 0..count {
        let blob = read_string(&mut rest)?;
        let comment = read_string(&mut rest)?;
        let mut fields = blob;
        let name = read_string(&mut fields).unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        // Certificates come with a later step; their bare keys are listed beside them.
        let is_certificate = name.contains("-cert-v0");
        let key = (!is_certificate).then(|| PublicKey::from_bytes(blob));
        match key {
            Some(Ok(key)) => {
                let comment = String::from_utf8_lossy(comment).into_owned();
                keys.usable.push((key, comment));
            }
            _ => keys.skipped.push(name),
        }
    }
    Some(keys)
}

fn read_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*head))
}

fn read_string<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = *bytes;
    let length = usize::try_from(read_u32(&mut rest)?).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(text)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use tokio::net::UnixListener;

    use super::*;

    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    fn string(text: &[u8]) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&length[..], text].concat()
    }

    /// A listing with a key of an unknown type, a damaged key and a good one.
    fn listing() -> Vec<u8> {
        let odd = [string(b"ssh-unheard"), string(b"x")].concat();
        let damaged = [string(b"ssh-ed25519"), string(b"short")].concat();
        let good = STANDARD.decode(KEY).unwrap();
        let mut answer = vec![IDENTITIES_ANSWER, 0, 0, 0, 3];
        for blob in [odd, damaged, good] {
            answer.extend(string(&blob));
            answer.extend(string(b"comment"));
        }
        answer
    }

    #[test]
    fn odd_keys_do_not_hide_the_others() {
        let keys = read_keys(&listing()).unwrap();
        assert_eq!(keys.skipped, ["ssh-unheard", "ssh-ed25519"]);
        let usable: Vec<String> = keys
            .usable
            .iter()
            .map(|(key, _)| key.algorithm().to_string())
            .collect();
        assert_eq!(usable, ["ssh-ed25519"]);
    }

    #[test]
    fn a_torn_listing_is_an_error() {
        let answer = listing();
        for length in 0..answer.len() {
            assert!(
                read_keys(answer.get(..length).unwrap()).is_none(),
                "{length}"
            );
        }
        assert!(read_keys(&[5]).is_none());
    }

    /// Answers every request of one connection with the listing above.
    async fn serve(listener: &UnixListener) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 5];
        stream.read_exact(&mut request).await.unwrap();
        stream.write_all(&string(&listing())).await.unwrap();
        stream.flush().await.unwrap();
    }

    /// The library's own listing fails as a whole on such an agent, which is why ours exists.
    #[tokio::test]
    async fn the_library_gives_up_where_we_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent");
        let listener = UnixListener::bind(&path).unwrap();
        let stream = UnixStream::connect(&path).await.unwrap();
        let mut library = AgentClient::connect(stream);
        let ((), theirs) = tokio::join!(serve(&listener), library.request_identities());
        assert!(theirs.is_err());
        let mut agent = Agent::connect(&path, None).await.unwrap();
        let ((), ours) = tokio::join!(serve(&listener), agent.keys());
        assert_eq!(ours.unwrap().usable.len(), 1);
    }
}
