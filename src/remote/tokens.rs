//! Tokens in values of the SSH configuration that `ssh -G` leaves as they are (remote.md 3.1).

use sha1::{Digest as _, Sha1};

use super::{account::Account, error::Error};
use crate::base::Env;

/// What the tokens stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    /// `%d`.
    pub(super) home: String,
    /// `%h`.
    pub(super) host_name: String,
    /// `%i`.
    pub(super) uid: String,
    /// `%k`.
    pub(super) key_name: String,
    /// `%l`; the part before the first dot is `%L`.
    pub(super) local_host: String,
    /// `%n`.
    pub(super) typed_host: String,
    /// `%p`.
    pub(super) port: String,
    /// `%r`.
    pub(super) remote_user: String,
    /// `%u`.
    pub(super) local_user: String,
}

impl Tokens {
    /// Expands `%x`, `${NAME}` and a leading `~` or `~user`.
    ///
    /// # Errors
    /// An unknown token, an unset variable or an unknown user: never passed on.
    pub(super) fn expand(&self, keyword: &str, value: &str, env: &Env) -> Result<String, Error> {
        let value = self.expand_home(keyword, value)?;
        let mut expanded = String::new();
        let mut rest = value.as_str();
        while let Some(at) = rest.find(['%', '$']) {
            let (before, token) = rest.split_at(at);
            expanded.push_str(before);
            rest = match token.strip_prefix("${") {
                Some(name) => {
                    let (name, after) = name.split_once('}').ok_or_else(|| Error::BadValue {
                        keyword: keyword.to_owned(),
                        value: value.clone(),
                    })?;
                    let text = env.get(name).ok_or_else(|| Error::UnsetVariable {
                        keyword: keyword.to_owned(),
                        variable: name.to_owned(),
                    })?;
                    expanded.push_str(text);
                    after
                }
                None => self.expand_one(keyword, &value, token, &mut expanded)?,
            };
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn expand_one<'a>(
        &self,
        keyword: &str,
        value: &str,
        token: &'a str,
        expanded: &mut String,
    ) -> Result<&'a str, Error> {
        if let Some(after) = token.strip_prefix('$') {
            expanded.push('$');
            return Ok(after);
        }
        let mut characters = token.chars();
        characters.next();
        let name = characters.next();
        let text = name
            .and_then(|name| self.token(name))
            .ok_or_else(|| Error::UnknownToken {
                keyword: keyword.to_owned(),
                value: value.to_owned(),
                token: name.map_or("%".to_owned(), |name| format!("%{name}")),
            })?;
        expanded.push_str(&text);
        Ok(characters.as_str())
    }

    fn token(&self, name: char) -> Option<String> {
        Some(match name {
            '%' => "%".to_owned(),
            'C' => self.connection_hash(),
            'd' => self.home.clone(),
            'h' => self.host_name.clone(),
            'i' => self.uid.clone(),
            // Jump hosts are refused, so their list is always empty.
            'j' => String::new(),
            'k' => self.key_name.clone(),
            'L' => self.local_host.split('.').next()?.to_owned(),
            'l' => self.local_host.clone(),
            'n' => self.typed_host.clone(),
            'p' => self.port.clone(),
            'r' => self.remote_user.clone(),
            'u' => self.local_user.clone(),
            _ => return None,
        })
    }

    fn connection_hash(&self) -> String {
        let hash = Sha1::new()
            .chain_update(&self.local_host)
            .chain_update(&self.host_name)
            .chain_update(&self.port)
            .chain_update(&self.remote_user)
            .finalize();
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect()
    }

    fn expand_home(&self, keyword: &str, value: &str) -> Result<String, Error> {
        let Some(rest) = value.strip_prefix('~') else {
            return Ok(value.to_owned());
        };
        let (user, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if user.is_empty() {
            return Ok(format!("{}{path}", self.home));
        }
        match Account::named(user) {
            Some(account) => Ok(format!("{}{path}", account.home.display())),
            None => Err(Error::BadValue {
                keyword: keyword.to_owned(),
                value: value.to_owned(),
            }),
        }
    }
}

/// True when a value needs the name of this machine, which costs a program to find out.
pub(super) fn needs_local_host(value: &str) -> bool {
    ["%l", "%L", "%C"].iter().any(|token| value.contains(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_expanded() {
        let tokens = Tokens {
            home: "/h".to_owned(),
            host_name: "web.example".to_owned(),
            uid: "7".to_owned(),
            key_name: "alias".to_owned(),
            local_host: "here.lan".to_owned(),
            typed_host: "web".to_owned(),
            port: "22".to_owned(),
            remote_user: "dev".to_owned(),
            local_user: "me".to_owned(),
        };
        let env = Env::of([("KEYS", "/keys")]);
        let cases = [
            ("/plain", "/plain"),
            ("~/.ssh/id", "/h/.ssh/id"),
            ("~", "/h"),
            ("~root/x", "/root/x"),
            ("%d/%h/%n/%p", "/h/web.example/web/22"),
            ("%r-%u-%i-%k-%j-%l-%L", "dev-me-7-alias--here.lan-here"),
            ("100%%", "100%"),
            ("${KEYS}/%r", "/keys/dev"),
            ("a$b", "a$b"),
            ("%C", "26bc02c2750a6b940d5fbf228e13bc4c1960b3ae"),
        ];
        for (value, expected) in cases {
            let found = tokens.expand("IdentityFile", value, &env).unwrap();
            assert_eq!(found, expected, "{value}");
        }
        let refused = ["%z", "%", "a%", "${NONE}/x", "${KEYS", "~nosuchuser/x"];
        for value in refused {
            assert!(
                tokens.expand("IdentityFile", value, &env).is_err(),
                "{value}"
            );
        }
    }
}
