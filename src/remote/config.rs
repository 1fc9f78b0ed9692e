//! The connection settings of one target, after flags and the user's SSH configuration
//! (remote.md 3). What is set and cannot be honoured is refused, never ignored.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    account::Account,
    algorithms::Algorithms,
    error::Error,
    keywords::{IGNORED, REFUSED, check_options},
    options::{self, RemoteOptions, Target},
    resolved::{
        AgentPlace, Family, HostKeySettings, LinkSettings, LoginSettings, Method, NewKeys, Resolved,
    },
    ssh_program::{self, Answer, Reading},
    tokens::{self, Tokens},
};
use crate::base::Env;

/// Limits of remote.md 14.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(15);
const STEP_LIMIT: Duration = Duration::from_secs(30);

/// Resolves a target with flags and SSH configuration (remote.md 3). Runs `ssh -G`.
///
/// # Errors
/// Exit class usage: what in the configuration cannot be used.
pub async fn resolve(target: &Target, options: &RemoteOptions) -> Result<Arc<Resolved>, Error> {
    check_options(&options.ssh_options)?;
    let reading = ssh_program::read_configuration(target, options).await?;
    let local_host = local_host_name(&reading.answer).await;
    let settings = Settings::new(target, options, &reading, local_host)?;
    settings.refuse_unsupported()?;
    settings.resolve(target, options, &reading).map(Arc::new)
}

/// Resolves several targets at once, under unique names, in their order.
pub async fn resolve_all(
    targets: &[Target],
    options: &RemoteOptions,
) -> Vec<Result<Arc<Resolved>, Error>> {
    let names = options::host_names(targets);
    let resolutions = targets.iter().map(|target| resolve(target, options));
    let resolved = futures_util::future::join_all(resolutions).await;
    resolved
        .into_iter()
        .zip(names)
        .map(|(result, name)| {
            result.map(|resolved| {
                let resolved = Arc::unwrap_or_clone(resolved);
                Arc::new(Resolved { name, ..resolved })
            })
        })
        .collect()
}

async fn local_host_name(answer: &Answer) -> String {
    let files = answer
        .all("identityfile")
        .chain(answer.all("revokedhostkeys"));
    if !files.into_iter().any(tokens::needs_local_host) {
        return String::new();
    }
    match tokio::process::Command::new("uname")
        .arg("-n")
        .output()
        .await
    {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => String::new(),
    }
}

/// The answer of ssh with what is needed to read it.
struct Settings<'a> {
    /// What differs from the defaults.
    set: Answer,
    env: &'a Env,
    tokens: Tokens,
    host_name: String,
    user: String,
    port: u16,
}

impl<'a> Settings<'a> {
    fn new(
        target: &Target,
        options: &'a RemoteOptions,
        reading: &Reading,
        local_host: String,
    ) -> Result<Self, Error> {
        let answer = &reading.answer;
        let account = Account::of_this_process(&options.env);
        let local_user = account.as_ref().map(|account| account.name.clone());
        let host_name = answer.first("hostname").unwrap_or(&target.host).to_owned();
        options::check_host(&host_name).map_err(|source| Error::ConfiguredName {
            keyword: "HostName",
            value: host_name.clone(),
            source,
        })?;
        let user = match (&target.user, answer.first("user")) {
            (_, Some(user)) => user.to_owned(),
            (Some(user), None) => user.clone(),
            (None, None) => local_user.clone().unwrap_or_default(),
        };
        options::check_user(&user).map_err(|source| Error::ConfiguredName {
            keyword: "User",
            value: user.clone(),
            source,
        })?;
        let port = match answer.first("port") {
            Some(port) => number("Port", port)?,
            None => target.port.or(options.port).unwrap_or(22),
        };
        let home = home_of(&reading.defaults).or(account.map(|account| account.home));
        let tokens = Tokens {
            home: home.unwrap_or_default().display().to_string(),
            host_name: host_name.clone(),
            uid: rustix::process::getuid().as_raw().to_string(),
            key_name: answer
                .first("hostkeyalias")
                .unwrap_or(&host_name)
                .to_owned(),
            local_host,
            typed_host: target.host.clone(),
            port: port.to_string(),
            remote_user: user.clone(),
            local_user: local_user.unwrap_or_default(),
        };
        Ok(Self {
            set: answer.without_defaults(&reading.defaults),
            env: &options.env,
            tokens,
            host_name,
            user,
            port,
        })
    }

    fn refuse_unsupported(&self) -> Result<(), Error> {
        for (keyword, shown) in REFUSED {
            let value = self.set.first(keyword);
            if let Some(value) = value.filter(|value| !matches!(*value, "none" | "no" | "false")) {
                return Err(Error::UnsupportedKeyword {
                    keyword: (*shown).to_owned(),
                    value: value.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn resolve(
        &self,
        target: &Target,
        options: &RemoteOptions,
        reading: &Reading,
    ) -> Result<Resolved, Error> {
        Ok(Resolved {
            name: target.host.clone(),
            user: self.user.clone(),
            host_name: self.host_name.clone(),
            port: self.port,
            batch: options.batch || self.flag("batchmode").unwrap_or(false),
            remarks: reading.remarks.clone(),
            link: self.link()?,
            host_key: self.host_key(options, &reading.answer)?,
            login: self.login(options)?,
        })
    }

    fn link(&self) -> Result<LinkSettings, Error> {
        Ok(LinkSettings {
            family: match self.set.first("addressfamily") {
                Some("inet") => Family::V4,
                Some("inet6") => Family::V6,
                _ => Family::Any,
            },
            bind_address: self.set.first("bindaddress").map(str::to_owned),
            connect_timeout: self
                .number("ConnectTimeout", "connecttimeout")?
                .map(Duration::from_secs),
            attempts: self
                .number("ConnectionAttempts", "connectionattempts")?
                .unwrap_or(1),
            tcp_keepalive: self.flag("tcpkeepalive").unwrap_or(true),
            alive_interval: Duration::from_secs(
                self.number("ServerAliveInterval", "serveraliveinterval")?
                    .unwrap_or(15),
            ),
            alive_count: self
                .number("ServerAliveCountMax", "serveralivecountmax")?
                .unwrap_or(3),
            rekey: self.rekey()?,
            compression: self.flag("compression").unwrap_or(false),
            algorithms: Algorithms::new(|keyword| self.names(keyword))?,
            handshake_limit: HANDSHAKE_LIMIT,
            step_limit: STEP_LIMIT,
        })
    }

    fn rekey(&self) -> Result<(Option<usize>, Option<Duration>), Error> {
        let Some(value) = self.set.first("rekeylimit") else {
            return Ok((None, None));
        };
        let mut parts = value
            .split(' ')
            .filter(|part| *part != "none" && *part != "default");
        let mut next = || {
            parts
                .next()
                .map(|part| number("RekeyLimit", part))
                .transpose()
        };
        let bytes: Option<u64> = next()?;
        let seconds: Option<u64> = next()?;
        let set = |value: &u64| *value > 0;
        Ok((
            bytes
                .filter(set)
                .and_then(|bytes| usize::try_from(bytes).ok()),
            seconds.filter(set).map(Duration::from_secs),
        ))
    }

    fn host_key(&self, options: &RemoteOptions, answer: &Answer) -> Result<HostKeySettings, Error> {
        if let Some(pin) = &options.host_key
            && !pin.starts_with("SHA256:")
        {
            return Err(Error::PinFormat { given: pin.clone() });
        }
        let home = &self.tokens.home;
        let user_default = format!("{home}/.ssh/known_hosts {home}/.ssh/known_hosts2");
        let global_default = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2";
        let revoked = self
            .set
            .first("revokedhostkeys")
            .filter(|file| *file != "none");
        Ok(HostKeySettings {
            alias: self.set.first("hostkeyalias").map(str::to_owned),
            user_files: self.file_list(answer.first("userknownhostsfile").unwrap_or(&user_default)),
            global_files: self.file_list(
                answer
                    .first("globalknownhostsfile")
                    .unwrap_or(global_default),
            ),
            revoked_file: revoked
                .map(|file| self.tokens.expand("RevokedHostKeys", file, self.env))
                .transpose()?
                .map(PathBuf::from),
            new_keys: match self.set.first("stricthostkeychecking") {
                None | Some("ask") => NewKeys::Ask,
                Some("yes" | "true") => NewKeys::Refuse,
                Some("no" | "false" | "off" | "accept-new") => NewKeys::Accept,
                Some(value) => {
                    return Err(Error::BadValue {
                        keyword: "StrictHostKeyChecking".to_owned(),
                        value: value.to_owned(),
                    });
                }
            },
            hash_names: self.flag("hashknownhosts").unwrap_or(false),
            pin: options.host_key.clone(),
        })
    }

    /// Files are joined by blanks without quotes: a piece that does not begin with `/` belongs to
    /// the one before it, and `none` alone is no file.
    fn file_list(&self, value: &str) -> Vec<PathBuf> {
        let mut files: Vec<String> = Vec::new();
        for piece in value.split(' ') {
            let home = piece.strip_prefix("~/");
            match (files.last_mut(), home) {
                (_, Some(rest)) => files.push(format!("{}/{rest}", self.tokens.home)),
                (Some(file), None) if !piece.starts_with('/') => {
                    file.push(' ');
                    file.push_str(piece);
                }
                _ => files.push(piece.to_owned()),
            }
        }
        files.retain(|file| file != "none" && !file.is_empty());
        files.into_iter().map(PathBuf::from).collect()
    }

    fn login(&self, options: &RemoteOptions) -> Result<LoginSettings, Error> {
        let configured: Vec<&str> = self.set.all("identityfile").collect();
        let named = !options.identities.is_empty() || !configured.is_empty();
        Ok(LoginSettings {
            key_files: self.key_files(options, &configured)?,
            key_files_named: named,
            named_keys_only: self.flag("identitiesonly").unwrap_or(false),
            agent: self.agent()?,
            methods: self.methods(),
            password_prompts: self
                .number("NumberOfPasswordPrompts", "numberofpasswordprompts")?
                .unwrap_or(3),
            required_rsa_bits: self
                .number("RequiredRSASize", "requiredrsasize")?
                .unwrap_or(1024),
            accepted_keys: self
                .names("PubkeyAcceptedAlgorithms")
                .or_else(|| self.names("PubkeyAcceptedKeyTypes")),
            ignored: self.ignored(),
        })
    }

    fn key_files(
        &self,
        options: &RemoteOptions,
        configured: &[&str],
    ) -> Result<Vec<PathBuf>, Error> {
        let mut files = options.identities.clone();
        for file in configured.iter().filter(|file| **file != "none") {
            files.push(self.tokens.expand("IdentityFile", file, self.env)?.into());
        }
        // As for ssh: a file behind `-i` that is not there takes no other's place.
        let is_there = |file: &PathBuf| file.exists() || public_half(file).exists();
        if !files.iter().any(is_there) && configured.is_empty() {
            let defaults = ["id_ed25519", "id_ecdsa", "id_rsa"];
            let home = &self.tokens.home;
            files.extend(defaults.map(|name| PathBuf::from(format!("{home}/.ssh/{name}"))));
        }
        Ok(files)
    }

    fn agent(&self) -> Result<AgentPlace, Error> {
        let from_environment = |name: &str| self.env.os(name).map(PathBuf::from);
        let socket = match self.set.first("identityagent") {
            Some("none") => None,
            None | Some("SSH_AUTH_SOCK") => from_environment("SSH_AUTH_SOCK"),
            Some(value) => match value
                .strip_prefix('$')
                .filter(|name| !name.starts_with('{'))
            {
                Some(name) => Some(from_environment(name).ok_or_else(|| Error::UnsetVariable {
                    keyword: "IdentityAgent".to_owned(),
                    variable: name.to_owned(),
                })?),
                None => Some(self.tokens.expand("IdentityAgent", value, self.env)?.into()),
            },
        };
        Ok(socket.map_or(AgentPlace::None, AgentPlace::Socket))
    }

    fn methods(&self) -> Vec<Method> {
        let preferred = self.names("PreferredAuthentications");
        let mut methods: Vec<Method> = match &preferred {
            Some(names) => names
                .iter()
                .filter_map(|name| Method::named(name))
                .collect(),
            None => vec![
                Method::PublicKey,
                Method::KeyboardInteractive,
                Method::Password,
            ],
        };
        methods.retain(|method| {
            let keyword = match method {
                Method::PublicKey => "pubkeyauthentication",
                Method::KeyboardInteractive => "kbdinteractiveauthentication",
                Method::Password => "passwordauthentication",
            };
            self.flag(keyword).unwrap_or(true)
        });
        methods
    }

    fn ignored(&self) -> Vec<(String, Option<&'static str>)> {
        IGNORED
            .iter()
            .filter(|(keyword, _, _)| {
                let value = self.set.first(keyword);
                value.is_some_and(|value| !matches!(value, "no" | "false" | "none"))
            })
            .map(|(_, shown, method)| ((*shown).to_owned(), *method))
            .collect()
    }

    /// A keyword that is yes or no; ssh writes some of them as true or false.
    fn flag(&self, keyword: &str) -> Option<bool> {
        match self.set.first(keyword)? {
            "no" | "false" => Some(false),
            _ => Some(true),
        }
    }

    fn number<T: std::str::FromStr>(
        &self,
        shown: &'static str,
        keyword: &str,
    ) -> Result<Option<T>, Error> {
        self.set
            .first(keyword)
            .filter(|value| *value != "none")
            .map(|value| number(shown, value))
            .transpose()
    }

    fn names(&self, keyword: &str) -> Option<Vec<String>> {
        let value = self.set.first(&keyword.to_ascii_lowercase())?.to_owned();
        Some(value.split(',').map(str::to_owned).collect())
    }
}

/// The file that holds the public half of a key.
fn public_half(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn number<T: std::str::FromStr>(keyword: &'static str, value: &str) -> Result<T, Error> {
    value.parse().map_err(|_no_number| Error::BadValue {
        keyword: keyword.to_owned(),
        value: value.to_owned(),
    })
}

/// The home directory that ssh itself uses, out of its default list of known hosts.
fn home_of(defaults: &Answer) -> Option<PathBuf> {
    let files = defaults.first("userknownhostsfile")?;
    let (home, _) = files.split_once("/.ssh/known_hosts")?;
    Some(PathBuf::from(home))
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
