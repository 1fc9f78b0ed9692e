//! Signs for the login, by agent or key file. A file is unlocked only once the server has said that
//! it would take the key.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use russh::{
    Signer,
    keys::{
        HashAlg, PrivateKey, agent::AgentIdentity, signature, ssh_encoding::Encode as _,
        ssh_key::Signature, ssh_key::private::KeypairData,
    },
};
use tokio::time::sleep;

use super::{
    agent::{Agent, AgentError},
    key_file::{self, KeyFile, Private},
    memory::LinkMemory,
    prompt::{Prompter, Question},
    resolved::Resolved,
};

/// Wrong passphrases before a key is given up (remote.md 5.2).
const PASSPHRASES: usize = 3;

/// What stands before the question that is asked again.
const WRONG_PASSPHRASE: &str = "That passphrase does not open the key. Try again.\n";

/// Silence of an agent before the user is told that it waits for something.
const AGENT_PATIENCE: Duration = Duration::from_secs(1);

/// Why there is no signature.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    /// The connection is gone.
    #[error("the connection is gone")]
    Gone(#[from] russh::SendError),
    /// The agent did not sign.
    #[error("the agent did not sign: {0}")]
    Agent(#[from] AgentError),
    /// The key is encrypted and nobody can be asked.
    #[error("encrypted, and no question is possible")]
    Locked,
    /// The user gave no passphrase, or only wrong ones.
    #[error("not unlocked")]
    NotUnlocked,
    /// The key cannot sign.
    #[error("the key cannot sign: {0}")]
    Key(#[from] signature::Error),
    /// The signature cannot be written.
    #[error("the signature cannot be written: {0}")]
    Encoding(#[from] russh::keys::ssh_encoding::Error),
}

/// Whom a question of the login goes to.
pub(super) struct Asker<'a, P> {
    pub(super) host: &'a Resolved,
    pub(super) memory: &'a LinkMemory,
    pub(super) prompter: &'a P,
    /// True while a question is open, so that no time limit runs.
    pub(super) is_asking: AtomicBool,
}

impl<P: Prompter> Asker<'_, P> {
    /// False when no question may be asked.
    pub(super) fn can_ask(&self) -> bool {
        !self.host.batch && self.prompter.can_ask()
    }

    /// Asks one question about the host.
    pub(super) async fn ask(
        &self,
        prompt: String,
        server_text: Option<String>,
        echo: bool,
    ) -> Option<zeroize::Zeroizing<String>> {
        self.is_asking.store(true, Ordering::Relaxed);
        let question = Question {
            host: self.host.name.clone(),
            server_text,
            prompt,
            echo,
        };
        let answer = self.prompter.ask(question).await;
        self.is_asking.store(false, Ordering::Relaxed);
        answer
    }

    /// Opens a key file, with a question if it is locked. What was opened once stays open for this
    /// run.
    ///
    /// # Errors
    /// Nobody can be asked, or no right passphrase came.
    pub(super) async fn open(&self, file: &KeyFile) -> Result<Arc<PrivateKey>, SignError> {
        if let Some(key) = self.memory.unlocked(&file.path) {
            return Ok(key);
        }
        let text = match &file.private {
            Private::Open(key) => return Ok(Arc::clone(key)),
            Private::Absent(_) => return Err(SignError::NotUnlocked),
            Private::Locked(text) => text,
        };
        if !self.can_ask() {
            return Err(SignError::Locked);
        }
        for attempt in 0..PASSPHRASES {
            let again = if attempt > 0 { WRONG_PASSPHRASE } else { "" };
            let prompt = again.to_owned() + &self.passphrase_prompt(&file.path);
            let Some(passphrase) = self.ask(prompt, None, false).await else {
                break;
            };
            if passphrase.is_empty() {
                break;
            }
            let text = text.clone();
            // Key derivation takes a noticeable time on purpose.
            let work =
                tokio::task::spawn_blocking(move || key_file::unlock(&text, &passphrase).ok());
            if let Ok(Some(key)) = work.await {
                let key = Arc::new(key);
                self.memory.keep_unlocked(&file.path, &key);
                return Ok(key);
            }
        }
        Err(SignError::NotUnlocked)
    }

    fn passphrase_prompt(&self, path: &Path) -> String {
        format!("Passphrase for {} ({}): ", path.display(), self.host.name)
    }
}

/// Where the private half of an offered key is.
pub(super) enum Holder<'a> {
    Agent(&'a mut Agent),
    File(&'a KeyFile),
}

/// Makes the signature for one offered key.
pub(super) struct KeySigner<'a, P> {
    pub(super) asker: &'a Asker<'a, P>,
    pub(super) holder: Holder<'a>,
}

impl<P: Prompter> Signer for KeySigner<'_, P> {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        key: &AgentIdentity,
        hash: Option<HashAlg>,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        match &mut self.holder {
            Holder::File(file) => {
                let key = self.asker.open(file).await?;
                sign(&key, hash, data)
            }
            Holder::Agent(agent) => {
                let public = key.public_key();
                let signing = agent.sign(&public, hash, data);
                tokio::pin!(signing);
                tokio::select! {
                    biased;
                    signed = &mut signing => return Ok(signed?),
                    () = sleep(AGENT_PATIENCE) => {}
                }
                self.asker.prompter.tell(
                    &self.asker.host.name,
                    "waiting for the agent (touch the key or confirm)",
                );
                Ok(signing.await?)
            }
        }
    }
}

/// Appends the signature over `data` to it, in the form of the protocol.
fn sign(key: &PrivateKey, hash: Option<HashAlg>, mut data: Vec<u8>) -> Result<Vec<u8>, SignError> {
    let signed: Signature = match key.key_data() {
        KeypairData::Rsa(pair) => signature::Signer::try_sign(&(pair, hash), &data)?,
        pair => signature::Signer::try_sign(pair, &data)?,
    };
    let mut encoded = Vec::new();
    signed.encode(&mut encoded)?;
    encoded.as_slice().encode(&mut data)?;
    Ok(data)
}
