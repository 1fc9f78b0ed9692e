//! How a user names a session (history.md 1).

use std::{fs, io, path::Path, path::PathBuf};

use rustix::fs::OFlags;

use super::{
    catalogue::{Catalogue, LogFile, is_log_name},
    error::Error,
    head::{self, Head},
    naming::is_safe_id,
    statedir::StateDir,
};
use crate::base::edits;

/// Candidates that an ambiguous prefix names.
const SHOWN_CANDIDATES: usize = 10;
/// Similar ids that are named when nothing fits.
const SHOWN_NEAREST: usize = 3;
/// Shortest prefix that may name a session.
const SHORTEST_PREFIX: usize = 3;

/// The log that a user's words name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChoice {
    /// `-`.
    StandardInput,
    /// A path that was given, or the file of an id that was given.
    Named(PathBuf),
    /// Found by label, prefix or as the newest: to be announced on standard error.
    Found {
        /// The log.
        path: PathBuf,
        /// Its session id.
        id: String,
        /// Its last change.
        modified: crate::base::Timestamp,
    },
}

/// Applies history.md 1, rules 1 to 8. Without a state directory nothing is recorded that a name
/// could stand for.
///
/// # Errors
/// Not found, a directory, several candidates, or no logs.
pub fn choose_session(
    argument: Option<&str>,
    dir: Option<&StateDir>,
) -> Result<SessionChoice, Error> {
    let Some(name) = argument else {
        return dir.map_or(Err(Error::NoStateDir), newest);
    };
    if name == "-" {
        return Ok(SessionChoice::StandardInput);
    }
    let path = Path::new(name);
    let is_directory = match fs::metadata(path) {
        Ok(meta) if !meta.is_dir() => return Ok(SessionChoice::Named(path.to_owned())),
        Ok(_) => true,
        Err(error) if is_absent(&error) => false,
        Err(source) => {
            return Err(Error::Read {
                path: path.to_owned(),
                source,
            });
        }
    };
    match choose_recorded(name, dir) {
        Err(Error::NotFound { .. }) if is_directory => Err(Error::IsDirectory {
            path: path.to_owned(),
        }),
        choice => choice,
    }
}

/// The same by id, label or prefix alone (rules 4 to 7), whatever files have that name.
///
/// # Errors
/// Not found, several candidates, or a directory of logs that cannot be read.
pub fn choose_recorded(name: &str, dir: Option<&StateDir>) -> Result<SessionChoice, Error> {
    let not_found = |nearest| Error::NotFound {
        name: name.to_owned(),
        nearest,
    };
    let Some(dir) = dir.filter(|_| !has_form_of_path(name) && is_safe_id(name)) else {
        return Err(not_found(Vec::new()));
    };
    if let Some(choice) = by_id(name, dir) {
        return Ok(choice);
    }
    let logs = Catalogue::walk(&dir.sessions())?.logs;
    if let Some(choice) = by_label(name, &logs) {
        return Ok(choice);
    }
    match by_prefix(name, &logs)? {
        Some(choice) => Ok(choice),
        None => Err(not_found(nearest(name, &logs))),
    }
}

/// No such file; a name that no file can have is none either.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
    )
}

fn has_form_of_path(name: &str) -> bool {
    is_log_name(name.as_ref()) || name.contains('/')
}

fn by_id(id: &str, dir: &StateDir) -> Option<SessionChoice> {
    let path = dir.sessions().join(format!("{id}.jsonl"));
    fs::metadata(&path)
        .is_ok_and(|meta| meta.is_file())
        .then_some(SessionChoice::Named(path))
}

/// The newest log of a label; one with only control records if there is no other.
fn by_label(label: &str, logs: &[LogFile]) -> Option<SessionChoice> {
    let mut only_control = None;
    for log in logs {
        let Some(head) = head_of(log).filter(|head| head.label.as_deref() == Some(label)) else {
            continue;
        };
        if head.may_have_frames {
            return Some(found(log));
        }
        only_control = only_control.or(Some(log));
    }
    only_control.map(found)
}

fn by_prefix(prefix: &str, logs: &[LogFile]) -> Result<Option<SessionChoice>, Error> {
    if prefix.chars().count() < SHORTEST_PREFIX {
        return Ok(None);
    }
    let fitting: Vec<_> = logs
        .iter()
        .filter(|log| log.id().starts_with(prefix))
        .collect();
    match fitting.as_slice() {
        [] => Ok(None),
        [log] => Ok(Some(found(log))),
        several => Err(Error::Ambiguous {
            name: prefix.to_owned(),
            candidates: several
                .iter()
                .take(SHOWN_CANDIDATES)
                .map(|log| {
                    let label = head_of(log).and_then(|head| head.label);
                    let label = label.as_deref().unwrap_or_default().to_owned();
                    (log.id(), label, log.modified)
                })
                .collect(),
            others: several.len().saturating_sub(SHOWN_CANDIDATES),
        }),
    }
}

/// The newest log that holds more than control records.
fn newest(dir: &StateDir) -> Result<SessionChoice, Error> {
    let sessions = dir.sessions();
    let catalogue = Catalogue::walk(&sessions)?;
    let choice = catalogue
        .logs
        .iter()
        .find(|log| head_of(log).is_some_and(|head| head.may_have_frames));
    match choice {
        Some(log) => Ok(found(log)),
        None if catalogue.logs.is_empty() && catalogue.empty == 0 => {
            Err(Error::NoLogs { dir: sessions })
        }
        None => Err(Error::NoReadableLogs { dir: sessions }),
    }
}

fn found(log: &LogFile) -> SessionChoice {
    SessionChoice::Found {
        path: log.path.to_path_buf(),
        id: log.id(),
        modified: log.modified,
    }
}

/// The beginning of a log, if it can be read.
fn head_of(log: &LogFile) -> Option<Head> {
    let mut file = head::open(&log.path, OFlags::empty()).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    Head::read(&mut file).ok()
}

/// The ids that differ in few letters from what was asked for, as a whole, in their beginning of
/// its length, or in the label in front of the numbers; nearest first.
fn nearest(name: &str, logs: &[LogFile]) -> Vec<String> {
    let letters = name.chars().count();
    let most = (letters / 3).max(1);
    let mut near: Vec<(usize, String)> = logs
        .iter()
        .filter_map(|log| {
            let id = log.id();
            let label = id
                .split('-')
                .take_while(|part| !part.bytes().all(|byte| byte.is_ascii_digit()))
                .collect::<Vec<_>>()
                .join("-");
            let start: String = id.chars().take(letters).collect();
            let distance = [&id, &start, &label]
                .into_iter()
                .map(|other| edits(name, other))
                .min()?;
            (distance <= most).then_some((distance, id))
        })
        .collect();
    // Stable: among equals the newest stays first.
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(SHOWN_NEAREST);
    near.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    struct Fixture {
        folder: tempfile::TempDir,
        dir: StateDir,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let dir = StateDir::at(folder.path().join("state"));
            Self { folder, dir }
        }

        fn log(&self, name: &str, text: &str, second: u64) {
            self.dir.create().unwrap();
            let path = self.dir.sessions().join(name);
            fs::write(&path, text).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
                .unwrap();
        }

        /// The id that an argument leads to, with `=` in front when it is not announced.
        fn choose(&self, argument: Option<&str>) -> String {
            match choose_session(argument, Some(&self.dir)) {
                Ok(SessionChoice::StandardInput) => "stdin".into(),
                Ok(SessionChoice::Named(path)) => {
                    format!("={}", path.file_stem().unwrap().display())
                }
                Ok(SessionChoice::Found { id, .. }) => id,
                Err(error) => error.to_string(),
            }
        }
    }

    fn line(id: &str, label: &str, direction: &str) -> String {
        format!(
            "{{\"session_id\":\"{id}\",\"server_label\":\"{label}\",\"seq\":1,\"direction\":\"{direction}\"}}\n"
        )
    }

    fn filled() -> Fixture {
        let all = Fixture::new();
        all.log("files-1-aa.jsonl", &line("files-1-aa", "files", "c2s"), 100);
        all.log("files-2-bb.jsonl", &line("files-2-bb", "files", "c2s"), 200);
        all.log(
            "files-3-cc.jsonl",
            &line("files-3-cc", "files", "meta"),
            300,
        );
        all.log("web-4-dd.jsonl", &line("web-4-dd", "web", "c2s"), 150);
        all.log("broken.jsonl", "hello\n", 400);
        all.log("empty.jsonl", "", 500);
        all
    }

    #[test]
    fn each_rule_finds_its_log() {
        let all = filled();
        let path = all.folder.path().join("mine.jsonl");
        fs::write(&path, "x").unwrap();
        let cases = [
            (None, "files-2-bb"),
            (Some("-"), "stdin"),
            (Some(path.to_str().unwrap()), "=mine"),
            (Some("files-1-aa"), "=files-1-aa"),
            (Some("empty"), "=empty"),
            (Some("files"), "files-2-bb"),
            (Some("web"), "web-4-dd"),
            (Some("web-"), "web-4-dd"),
            (Some("files-3"), "files-3-cc"),
            (Some("files-"), "`files-` fits 3 sessions"),
            (Some("we"), "session log `we` not found"),
            (
                Some("nothing.jsonl"),
                "session log `nothing.jsonl` not found",
            ),
            (Some("../state"), "session log `../state` not found"),
            (Some(""), "session log `` not found"),
            (Some("-x"), "session log `-x` not found"),
            (Some("/"), "`/` is a directory"),
            (Some("src"), "`src` is a directory"),
        ];
        for (argument, expected) in cases {
            assert_eq!(all.choose(argument), expected, "{argument:?}");
        }
    }

    #[test]
    fn a_name_of_a_file_can_be_looked_up_as_a_label() {
        let all = filled();
        let recorded = |name: &str, dir| choose_recorded(name, dir).map_err(|it| it.to_string());
        let Ok(SessionChoice::Found { id, .. }) = recorded("files", Some(&all.dir)) else {
            panic!("the label is there");
        };
        assert_eq!(id, "files-2-bb");
        for name in ["src", "-", "Cargo.toml", "./files", "files.jsonl"] {
            let none = Err(format!("session log `{name}` not found"));
            assert_eq!(recorded(name, Some(&all.dir)), none);
            assert_eq!(recorded(name, None), none);
        }
    }

    #[test]
    fn without_a_state_directory_only_paths_name_logs() {
        let choose = |name| choose_session(name, None).map_err(|error| error.to_string());
        let file = SessionChoice::Named("Cargo.toml".into());
        assert_eq!(choose(Some("Cargo.toml")), Ok(file));
        assert_eq!(
            choose(Some("files")),
            Err("session log `files` not found".to_owned())
        );
        assert_eq!(
            choose(None),
            Err("there is no state directory, so no session can be found".to_owned())
        );
    }

    #[test]
    fn a_label_of_failed_launches_leads_to_the_newest() {
        let all = Fixture::new();
        all.log("a-1.jsonl", &line("a-1", "a", "meta"), 100);
        all.log("a-2.jsonl", &line("a-2", "a", "meta"), 200);
        assert_eq!(all.choose(Some("a")), "a-2");
        let sessions = all.dir.sessions();
        let none = format!("no readable session logs found in `{}`", sessions.display());
        assert_eq!(all.choose(None), none);
        let bare = Fixture::new();
        let none = format!(
            "no session logs found in `{}`",
            bare.dir.sessions().display()
        );
        assert_eq!(bare.choose(None), none);
        assert!(!bare.dir.base().exists());
    }

    #[test]
    fn similar_ids_are_named_nearest_first() {
        let all = filled();
        let nearest = |name: &str| match choose_session(Some(name), Some(&all.dir)) {
            Err(Error::NotFound { nearest, .. }) => nearest,
            other => panic!("{other:?}"),
        };
        assert_eq!(nearest("flies"), ["files-3-cc", "files-2-bb", "files-1-aa"]);
        assert_eq!(nearest("ffiles-2"), ["files-2-bb"]);
        assert_eq!(
            nearest("files-1-ab"),
            ["files-1-aa", "files-2-bb", "files-3-cc"]
        );
        assert_eq!(nearest("wob"), ["web-4-dd"]);
        assert_eq!(nearest("entirely-else"), Vec::<String>::new());
    }

    #[test]
    fn an_ambiguous_prefix_lists_ten() {
        let all = Fixture::new();
        for index in 0..13 {
            let id = format!("many-{index}");
            all.log(&format!("{id}.jsonl"), &line(&id, "other", "c2s"), index);
        }
        let Err(Error::Ambiguous {
            candidates, others, ..
        }) = choose_session(Some("many"), Some(&all.dir))
        else {
            panic!("not ambiguous");
        };
        assert_eq!((candidates.len(), others), (10, 3));
        assert_eq!((&*candidates[0].0, &*candidates[0].1), ("many-12", "other"));
    }
}
