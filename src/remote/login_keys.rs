//! Offering keys to the server, each once, with one signature algorithm (remote.md 5.1, 5.2).

use russh::{
    MethodKind,
    client::{AuthResult, Handle},
    keys::{HashAlg, PublicKey},
};

use super::{
    agent::{AgentError, SIGN_LIMIT},
    candidates::{self, Candidate, Candidates, Source},
    error::{Error, TriedKey},
    handler::LinkHandler,
    known_hosts::fingerprint_of,
    login::{Login, REFUSED, Step, limited},
    prompt::Prompter,
    signing::{Holder, KeySigner, SignError},
};

impl<P: Prompter> Login<'_, P> {
    /// Offers the keys one after the other.
    pub(super) async fn offer_keys(
        &mut self,
        handle: &mut Handle<LinkHandler>,
    ) -> Result<Step, Error> {
        if self.candidates.is_none() {
            let binding = handle.agent_session_binding();
            let gathered = Candidates::gather(&self.asker.host.login, binding).await;
            self.candidates = Some(gathered);
        }
        let mut methods = self.methods.clone();
        while let Some(candidate) = self.next_candidate() {
            match self.offer(handle, candidate).await? {
                None => {}
                Some(Step::Refused(left)) if left.contains(&MethodKind::PublicKey) => {
                    methods = left;
                }
                Some(step) => return Ok(step),
            }
        }
        Ok(Step::Refused(methods))
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        self.candidates.as_mut()?.queue.pop_front()
    }

    /// Offers one key. `None`: it was not offered, or could not sign; the connection goes on.
    async fn offer(
        &mut self,
        handle: &mut Handle<LinkHandler>,
        candidate: Candidate,
    ) -> Result<Option<Step>, Error> {
        let Some(public) = self.public_half(&candidate).await else {
            return Ok(None);
        };
        let mut hash = None;
        if public.algorithm().is_rsa() {
            let Some(kind) = self.rsa_signature(handle).await? else {
                self.report.skipped.push(format!(
                    "{}: the server takes RSA only with SHA-1",
                    candidate.origin
                ));
                return Ok(None);
            };
            hash = kind.hash();
        }
        let mut agent = match candidate.source {
            Source::Agent => match self.candidates.as_mut().and_then(|all| all.agent.take()) {
                Some(agent) => Some(agent),
                None => return Ok(None),
            },
            Source::File(_) => None,
        };
        let holder = match (&mut agent, &candidate.source) {
            (Some(agent), _) => Holder::Agent(agent),
            (None, Source::File(file)) => Holder::File(file),
            (None, Source::Agent) => return Ok(None),
        };
        let mut signer = KeySigner {
            asker: &self.asker,
            holder,
        };
        let fingerprint = fingerprint_of(&public);
        self.asker.prompter.detail(
            &self.asker.host.name,
            &format!("offering {fingerprint} from {}", candidate.origin),
        );
        let user = self.asker.host.user.clone();
        let work = handle.authenticate_publickey_with(user, public, hash, &mut signer);
        let limit = self.asker.host.link.step_limit + SIGN_LIMIT;
        let outcome = limited(&self.asker.is_asking, "publickey", limit, work).await?;
        let verdict = verdict_on(&outcome);
        self.report.tried.push(TriedKey {
            fingerprint,
            origin: candidate.origin,
            outcome: verdict,
        });
        if let (Err(SignError::Locked), Source::File(file)) = (&outcome, &candidate.source) {
            self.locked.get_or_insert_with(|| file.path.clone());
        }
        // After a failed signature by timeout the agent's answers would be out of step.
        let is_in_step = !matches!(
            &outcome,
            Err(SignError::Agent(AgentError::Silent(_) | AgentError::Io(_)))
        );
        if let Some(all) = &mut self.candidates {
            all.agent = agent.filter(|_| is_in_step).or(all.agent.take());
        }
        match outcome {
            Ok(result) => self.settle(result).await.map(Some),
            Err(SignError::Gone(_)) => Err(self.ended().await),
            Err(error) => {
                self.asker
                    .prompter
                    .detail(&self.asker.host.name, &error.to_string());
                Ok(None)
            }
        }
    }

    /// The public half, which for a locked file of an old format needs its passphrase.
    async fn public_half(&mut self, candidate: &Candidate) -> Option<PublicKey> {
        if let Some(public) = &candidate.public {
            return Some(public.clone());
        }
        let Source::File(file) = &candidate.source else {
            return None;
        };
        let settings = &self.asker.host.login;
        let why = match self.asker.open(file).await {
            Ok(key) => {
                let public = PublicKey::from(key.public_key().key_data().clone());
                match candidates::is_usable(&public, settings) {
                    Ok(()) => return Some(public),
                    Err(why) => why,
                }
            }
            Err(SignError::Locked) => {
                self.locked.get_or_insert_with(|| file.path.clone());
                SignError::Locked.to_string()
            }
            Err(error) => error.to_string(),
        };
        self.report
            .skipped
            .push(format!("{}: {why}", candidate.origin));
        None
    }

    /// How an RSA key signs. `None`: only SHA-1 is left, which the configuration does not allow.
    async fn rsa_signature(
        &mut self,
        handle: &Handle<LinkHandler>,
    ) -> Result<Option<RsaSignature>, Error> {
        let work = handle.best_supported_rsa_hash();
        let announced = self.step("publickey", work).await?;
        let announced = announced.map(|best| match best {
            Some(HashAlg::Sha512) => RsaSignature::Sha512,
            Some(_) => RsaSignature::Sha256,
            None => RsaSignature::Sha1,
        });
        let accepted = self.asker.host.login.accepted_keys.as_deref();
        Ok(choose_signature(announced, accepted))
    }
}

fn verdict_on(outcome: &Result<AuthResult, SignError>) -> &'static str {
    match outcome {
        Ok(AuthResult::Success) => "accepted",
        Ok(AuthResult::Failure {
            partial_success: true,
            ..
        }) => "accepted, more is wanted",
        Ok(AuthResult::Failure { .. }) => REFUSED,
        Err(SignError::Locked) => "would be accepted, but it is encrypted",
        Err(SignError::NotUnlocked) => "would be accepted, but it was not unlocked",
        Err(SignError::Agent(_)) => "would be accepted, but the agent did not sign",
        Err(_) => "could not sign",
    }
}

/// How an RSA key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RsaSignature {
    Sha512,
    Sha256,
    Sha1,
}

impl RsaSignature {
    fn hash(self) -> Option<HashAlg> {
        match self {
            Self::Sha512 => Some(HashAlg::Sha512),
            Self::Sha256 => Some(HashAlg::Sha256),
            Self::Sha1 => None,
        }
    }
}

/// SHA-512, else SHA-256, by the best that the server announced and the configuration's list; SHA-1
/// only if the configuration adds `ssh-rsa` (remote.md 5.1).
fn choose_signature(
    announced: Option<RsaSignature>,
    accepted: Option<&[String]>,
) -> Option<RsaSignature> {
    let allows = |name: &str, by_default: bool| {
        accepted.map_or(by_default, |names| {
            names.iter().any(|accepted| accepted == name)
        })
    };
    let sha512 = allows("rsa-sha2-512", true).then_some(RsaSignature::Sha512);
    let sha256 = allows("rsa-sha2-256", true).then_some(RsaSignature::Sha256);
    let sha1 = allows("ssh-rsa", false).then_some(RsaSignature::Sha1);
    match announced {
        // A server that takes SHA-512 takes SHA-256 too.
        None | Some(RsaSignature::Sha512) => sha512.or(sha256).or(sha1),
        Some(RsaSignature::Sha256) => sha256.or(sha1),
        Some(RsaSignature::Sha1) => sha1,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        RsaSignature::{Sha1, Sha256, Sha512},
        *,
    };

    #[test]
    fn rsa_signs_with_the_best_hash_that_both_sides_allow() {
        type Case = (
            Option<RsaSignature>,
            Option<&'static [&'static str]>,
            Option<RsaSignature>,
        );
        let cases: [Case; 7] = [
            (None, None, Some(Sha512)),
            (Some(Sha512), None, Some(Sha512)),
            (Some(Sha256), None, Some(Sha256)),
            (Some(Sha1), None, None),
            (Some(Sha1), Some(&["ssh-rsa"]), Some(Sha1)),
            (Some(Sha512), Some(&["rsa-sha2-256"]), Some(Sha256)),
            (None, Some(&["ssh-ed25519"]), None),
        ];
        for (announced, accepted, expected) in cases {
            let accepted: Option<Vec<String>> =
                accepted.map(|names| names.iter().map(|&name| name.to_owned()).collect());
            assert_eq!(choose_signature(announced, accepted.as_deref()), expected);
        }
    }
}
