//! The keys that are offered to a server, in the order of remote.md 5.1.

use std::collections::{HashSet, VecDeque};

use russh::keys::{PublicKey, agent::AgentSessionBinding};

use super::{
    agent::{Agent, AgentKeys},
    key_file::{self, KeyFile, Private},
    known_hosts::blob_of,
    resolved::{AgentPlace, LoginSettings},
};

/// Who holds the private half.
pub(super) enum Source {
    Agent,
    File(Box<KeyFile>),
}

/// A key to offer.
pub(super) struct Candidate {
    /// `None`: a locked file of an old format, whose public half shows only when it is opened.
    pub(super) public: Option<PublicKey>,
    /// For messages.
    pub(super) origin: String,
    pub(super) source: Source,
}

/// Everything that can be offered.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) queue: VecDeque<Candidate>,
    pub(super) agent: Option<Agent>,
    /// Keys that are not offered, and why.
    pub(super) skipped: Vec<String>,
    seen: HashSet<Vec<u8>>,
}

impl Candidates {
    /// Asks the agent and reads the files: first the named keys that the agent holds, then its
    /// other keys, then the remaining files.
    pub(super) async fn gather(
        settings: &LoginSettings,
        binding: Option<&AgentSessionBinding>,
    ) -> Self {
        let mut candidates = Self::default();
        let files = candidates.read_files(settings);
        let held = candidates.ask_agent(settings, binding).await;
        let mut remaining = Vec::new();
        for file in files {
            match held_by_agent(&file, &held) {
                Some(key) => {
                    let origin = format!("{} in the agent", file.path.display());
                    candidates.add(settings, Some(key), origin, Source::Agent);
                }
                None => remaining.push(file),
            }
        }
        if !settings.named_keys_only {
            for (key, comment) in held.usable {
                let origin = format!("the agent ({comment})");
                candidates.add(settings, Some(key), origin, Source::Agent);
            }
        }
        for file in remaining {
            candidates.add_file(settings, file);
        }
        candidates
    }

    fn read_files(&mut self, settings: &LoginSettings) -> Vec<KeyFile> {
        let mut files = Vec::new();
        for path in &settings.key_files {
            match KeyFile::read(path) {
                Some(file) => files.push(file),
                None if settings.key_files_named => self
                    .skipped
                    .push(format!("{}: there is no such file", path.display())),
                None => {}
            }
        }
        files
    }

    async fn ask_agent(
        &mut self,
        settings: &LoginSettings,
        binding: Option<&AgentSessionBinding>,
    ) -> AgentKeys {
        let AgentPlace::Socket(socket) = &settings.agent else {
            return AgentKeys::default();
        };
        let listed = match Agent::connect(socket, binding).await {
            Ok(mut agent) => agent.keys().await.map(|keys| (agent, keys)),
            Err(error) => Err(error),
        };
        match listed {
            Ok((agent, keys)) => {
                self.agent = Some(agent);
                for kind in &keys.skipped {
                    self.skipped
                        .push(format!("the agent's key of type {kind}: not supported"));
                }
                keys
            }
            Err(error) => {
                self.skipped
                    .push(format!("the agent at {}: {error}", socket.display()));
                AgentKeys::default()
            }
        }
    }

    fn add_file(&mut self, settings: &LoginSettings, file: KeyFile) {
        let origin = file.path.display().to_string();
        if file.public.as_ref().is_some_and(key_file::is_hardware_key) {
            self.skipped.push(format!(
                "{origin}: a hardware key; load it with `ssh-add {origin}`"
            ));
            return;
        }
        if let Private::Absent(why) = &file.private {
            self.skipped.push(format!("{origin}: {why}"));
            return;
        }
        self.add(
            settings,
            file.public.clone(),
            origin,
            Source::File(Box::new(file)),
        );
    }

    fn add(
        &mut self,
        settings: &LoginSettings,
        public: Option<PublicKey>,
        origin: String,
        source: Source,
    ) {
        if let Some(key) = &public {
            if let Err(why) = is_usable(key, settings) {
                self.skipped.push(format!("{origin}: {why}"));
                return;
            }
            if !self.seen.insert(blob_of(key)) {
                return;
            }
        }
        self.queue.push_back(Candidate {
            public,
            origin,
            source,
        });
    }
}

fn held_by_agent(file: &KeyFile, held: &AgentKeys) -> Option<PublicKey> {
    let wanted = blob_of(file.public.as_ref()?);
    let found = held.usable.iter().find(|(key, _)| blob_of(key) == wanted);
    found.map(|(key, _)| key.clone())
}

/// Tests a key against `RequiredRSASize` and `PubkeyAcceptedAlgorithms`.
pub(super) fn is_usable(key: &PublicKey, settings: &LoginSettings) -> Result<(), String> {
    if let Some(bits) = key_file::rsa_bits(key)
        && bits < settings.required_rsa_bits
    {
        return Err(format!(
            "an RSA key of {bits} bits, below RequiredRSASize {}",
            settings.required_rsa_bits
        ));
    }
    let Some(accepted) = &settings.accepted_keys else {
        return Ok(());
    };
    let kind = key.algorithm().to_string();
    let is_accepted = accepted.iter().any(|name| match name.as_str() {
        "rsa-sha2-256" | "rsa-sha2-512" => kind == "ssh-rsa",
        name => name == kind,
    });
    if is_accepted {
        Ok(())
    } else {
        Err("its type is not in PubkeyAcceptedAlgorithms".to_owned())
    }
}
