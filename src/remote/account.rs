//! Accounts of this machine: ssh takes home directories from the user database, not from HOME.

use std::{fs, path::PathBuf};

use crate::base::Env;

const USER_DATABASE: &str = "/etc/passwd";

/// An account of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    /// Login name.
    pub(super) name: String,
    /// Home directory.
    pub(super) home: PathBuf,
}

impl Account {
    /// The account that runs this program: user database, else USER and HOME (accounts of a
    /// directory service are not in the file).
    pub(super) fn of_this_process(env: &Env) -> Option<Self> {
        let uid = rustix::process::getuid().as_raw().to_string();
        find(|fields| fields.get(2).copied() == Some(uid.as_str())).or_else(|| {
            Some(Self {
                name: env.get("USER").or_else(|| env.get("LOGNAME"))?.to_owned(),
                home: env.home()?,
            })
        })
    }

    /// The account with a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        find(|fields| fields.first().copied() == Some(name))
    }
}

fn find(is_wanted: impl Fn(&[&str]) -> bool) -> Option<Account> {
    let bytes = fs::read(USER_DATABASE).ok()?;
    find_in(&String::from_utf8_lossy(&bytes), is_wanted)
}

fn find_in(database: &str, is_wanted: impl Fn(&[&str]) -> bool) -> Option<Account> {
    database.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        if !is_wanted(&fields) {
            return None;
        }
        Some(Account {
            name: (*fields.first()?).to_owned(),
            home: PathBuf::from(fields.get(5)?),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_name() {
        let database = "root:x:0:0:root:/root:/bin/sh\nbroken\ndev:x:7:7::/home/dev:/bin/sh\n";
        let found = find_in(database, |fields| fields.first() == Some(&"dev")).unwrap();
        assert_eq!(found.home, PathBuf::from("/home/dev"));
        assert!(find_in(database, |fields| fields.first() == Some(&"broken")).is_none());
        assert!(find_in(database, |fields| fields.first() == Some(&"x")).is_none());
    }
}
