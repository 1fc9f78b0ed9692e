//! The verdict on the key that a server shows (remote.md 4). The SSH library decides nothing here.

use std::{fs, net::SocketAddr, path::PathBuf, time::Duration};

use russh::keys::PublicKey;

use super::{
    error::{Error, Unconfirmed},
    known_hosts::{self, KnownHosts, LookupName, Verdict},
    memory::LinkMemory,
    prompt::{Prompter, Question},
    recording,
    resolved::{NewKeys, Resolved},
};

/// Wrong answers to the question before it counts as a no.
const ANSWERS: usize = 3;

/// How long another program may hold the lock of the file.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// Judges the host keys of one connection.
pub(super) struct Judge<'a, P> {
    host: &'a Resolved,
    memory: &'a LinkMemory,
    prompter: &'a P,
    name: LookupName,
    known: KnownHosts,
    revoked: Option<(PathBuf, Vec<u8>)>,
}

/// The key under judgement in the forms that are needed.
struct Offered<'a> {
    key: &'a PublicKey,
    blob: Vec<u8>,
    key_type: String,
    fingerprint: String,
}

impl<'a, P: Prompter> Judge<'a, P> {
    /// Reads the files of known and revoked keys.
    ///
    /// # Errors
    /// A file that exists and cannot be read, or a revocation list of a kind that is not supported.
    pub(super) fn new(
        host: &'a Resolved,
        memory: &'a LinkMemory,
        prompter: &'a P,
    ) -> Result<Self, Error> {
        let settings = &host.host_key;
        let files: Vec<PathBuf> = settings
            .user_files
            .iter()
            .chain(&settings.global_files)
            .cloned()
            .collect();
        let known = KnownHosts::load(&files)?;
        for place in &known.damaged {
            prompter.detail(&host.name, &format!("damaged line skipped: {place}"));
        }
        Ok(Self {
            host,
            memory,
            prompter,
            name: LookupName::new(settings.alias.as_deref(), &host.host_name, host.port),
            known,
            revoked: revocation_list(host)?,
        })
    }

    /// Types of the keys that are known for the host, to ask the server for them first.
    pub(super) fn known_types(&self) -> Vec<String> {
        self.known.key_types(&self.name)
    }

    /// Accepts the key or says why not. May ask the user, and may record a new key.
    ///
    /// # Errors
    /// All of class host key.
    pub(super) async fn judge(&self, key: &PublicKey, address: SocketAddr) -> Result<(), Error> {
        let blob = known_hosts::blob_of(key);
        let offered = Offered {
            key,
            fingerprint: known_hosts::fingerprint(&blob),
            key_type: key.algorithm().to_string(),
            blob,
        };
        let verdict = self.known.judge(&self.name, &offered.blob);
        self.refuse_revoked(&offered, &verdict)?;
        self.refuse_unexpected(&offered)?;
        if self.memory.host_key().is_some() {
            return Ok(());
        }
        match verdict {
            Verdict::Known | Verdict::Revoked(_) => {}
            Verdict::Changed(conflicts) => {
                return Err(Error::HostKeyChanged {
                    name: self.name.full.clone(),
                    key_type: offered.key_type,
                    fingerprint: offered.fingerprint,
                    conflicts,
                });
            }
            Verdict::New => self.judge_new(&offered, address).await?,
        }
        self.memory.accept_host_key(key);
        Ok(())
    }

    fn refuse_revoked(&self, offered: &Offered<'_>, verdict: &Verdict) -> Result<(), Error> {
        let listed = self
            .revoked
            .as_ref()
            .and_then(|(file, bytes)| known_hosts::find_revoked(file, bytes, &offered.blob));
        let place = match verdict {
            Verdict::Revoked(place) => Some(place.clone()),
            _ => listed,
        };
        match place {
            None => Ok(()),
            Some(place) => Err(Error::HostKeyRevoked {
                name: self.name.full.clone(),
                fingerprint: offered.fingerprint.clone(),
                place: Box::new(place),
            }),
        }
    }

    /// The key must be the one of `--host-key`, and on a reconnect the one accepted first.
    fn refuse_unexpected(&self, offered: &Offered<'_>) -> Result<(), Error> {
        if let Some(first) = self.memory.host_key()
            && known_hosts::blob_of(&first) != offered.blob
        {
            return Err(Error::HostKeyReplaced {
                name: self.name.full.clone(),
                first: known_hosts::fingerprint_of(&first),
                fingerprint: offered.fingerprint.clone(),
            });
        }
        match &self.host.host_key.pin {
            Some(pin) if *pin != offered.fingerprint => Err(Error::PinDiffers {
                name: self.name.full.clone(),
                fingerprint: offered.fingerprint.clone(),
                expected: pin.clone(),
            }),
            _ => Ok(()),
        }
    }

    async fn judge_new(&self, offered: &Offered<'_>, address: SocketAddr) -> Result<(), Error> {
        let settings = &self.host.host_key;
        if settings.pin.is_some() {
            self.record(offered).await;
            return Ok(());
        }
        match settings.new_keys {
            NewKeys::Refuse => Err(self.unknown(offered, Unconfirmed::Strict)),
            NewKeys::Accept => {
                self.record(offered).await;
                Ok(())
            }
            NewKeys::Ask if self.host.batch || !self.prompter.can_ask() => {
                Err(self.unknown(offered, Unconfirmed::NoTerminal))
            }
            NewKeys::Ask => self.ask(offered, address).await,
        }
    }

    async fn ask(&self, offered: &Offered<'_>, address: SocketAddr) -> Result<(), Error> {
        let mut prompt = self.question(offered, address);
        for _ in 0..ANSWERS {
            let question = Question {
                host: self.host.name.clone(),
                server_text: None,
                prompt,
                echo: true,
            };
            let Some(answer) = self.prompter.ask(question).await else {
                break;
            };
            match answer.trim() {
                "yes" => {
                    self.record(offered).await;
                    return Ok(());
                }
                "once" => return Ok(()),
                "no" => break,
                text if text == offered.fingerprint => {
                    self.record(offered).await;
                    return Ok(());
                }
                _ => {}
            }
            prompt = asked_again(answer.trim());
        }
        Err(self.unknown(offered, Unconfirmed::Declined))
    }

    fn question(&self, offered: &Offered<'_>, address: SocketAddr) -> String {
        let Offered {
            key_type,
            fingerprint,
            ..
        } = offered;
        let (typed, name) = (&self.host.name, &self.name.full);
        let place = if *typed == self.host.host_name || typed == name {
            address.to_string()
        } else {
            // Who typed an alias knows the host by that.
            format!("{typed}, {address}")
        };
        let mut text = format!(
            "The host key of `{name}` ({place}) is not known.\n  {key_type} {fingerprint}\n"
        );
        let others = self.known.other_names(&offered.blob);
        if !others.is_empty() {
            text.push_str("  The same key is recorded for ");
            text.push_str(&others.join(", "));
            text.push_str(".\n");
        }
        text.push_str("Trust it? yes (recorded), once (this run only), no, or the fingerprint: ");
        text
    }

    fn unknown(&self, offered: &Offered<'_>, why: Unconfirmed) -> Error {
        Error::HostKeyUnknown {
            name: self.name.full.clone(),
            key_type: offered.key_type.clone(),
            fingerprint: offered.fingerprint.clone(),
            why,
        }
    }

    /// Records and announces; a file that cannot be written is a warning (remote.md 4.12).
    async fn record(&self, offered: &Offered<'_>) {
        let Some(file) = self.host.host_key.user_files.first().cloned() else {
            return;
        };
        let Ok(key_line) = PublicKey::new(offered.key.key_data().clone(), "").to_openssh() else {
            return;
        };
        let (name, blob) = (self.name.clone(), offered.blob.clone());
        let hash_names = self.host.host_key.hash_names;
        let shown_file = file.display().to_string();
        let work = tokio::task::spawn_blocking(move || {
            recording::record(&file, &name, key_line.trim(), &blob, hash_names)
        });
        let failure = match tokio::time::timeout(LOCK_LIMIT, work).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => Some(error.to_string()),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_elapsed) => Some("another program holds its lock".to_owned()),
        };
        let key = format!("{} {}", offered.key_type, offered.fingerprint);
        let line = match failure {
            None => format!("recorded the new host key {key} in {shown_file}"),
            Some(why) => {
                format!("accepted the host key {key}, not recorded in {shown_file}: {why}")
            }
        };
        self.prompter.tell(&self.host.name, &line);
    }
}

/// The question after an answer that is none. There is no default answer, and no short one.
fn asked_again(answer: &str) -> String {
    let short = match answer {
        "y" | "Y" => "`y` is not enough: the whole word counts.\n",
        _ => "",
    };
    format!("{short}Please type yes (recorded), once (this run only), no, or the fingerprint: ")
}

fn revocation_list(host: &Resolved) -> Result<Option<(PathBuf, Vec<u8>)>, Error> {
    let Some(file) = host.host_key.revoked_file.clone() else {
        return Ok(None);
    };
    let bytes = fs::read(&file).map_err(|source| Error::KnownHostsUnreadable {
        file: file.clone(),
        source,
    })?;
    if known_hosts::is_binary_revocation_list(&bytes) {
        return Err(Error::UnsupportedKeyword {
            keyword: "RevokedHostKeys".to_owned(),
            value: format!("{} (KRL)", file.display()),
        });
    }
    Ok(Some((file, bytes)))
}
