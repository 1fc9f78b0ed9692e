//! The first steps on a connection: where the state directory is, and the socket in it (remote.md
//! 6, 8.1).

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;

use super::{
    far_error::SftpError,
    link::Connected,
    names::is_log_name,
    options::RemoteLocation,
    place::{FarPlace, Nonces, directory_trouble, path_trouble},
    probe::{Answer, Candidate, Probed, Source, candidates, flagged},
    publish::{Published, Refusal, clear_leftovers, is_temporary, publish},
    sftp::{Kind, Sftp},
    verdict::Owner,
};
use crate::base::Clock;

/// Names of a candidate's directory among which a log is looked for.
const FIRST_NAMES: usize = 1_000;
/// Names of a state directory that are looked at for leftovers.
const LEFTOVER_NAMES: usize = 10_000;

/// Time for clearing them: our socket waits for it.
const CLEARING: Duration = Duration::from_secs(3);

/// The state directory that was chosen, and what must be said about it.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) state: Arc<str>,
    pub(super) source: Source,
    pub(super) notices: Vec<String>,
}

/// Chooses the state directory.
///
/// # Errors
/// When SFTP ends.
pub(super) async fn locate(
    sftp: &Sftp,
    location: Option<&RemoteLocation>,
    probed: Option<&Probed>,
    user: &str,
) -> Result<Located, SftpError> {
    if let Some(location) = location {
        let Candidate { state, source } = flagged(location);
        return Ok(Located {
            state: state.into(),
            source,
            notices: Vec::new(),
        });
    }
    let nothing = Answer::default();
    let answer = probed.map_or(&nothing, |probed| &probed.answer);
    // What the environment names is looked at while the start directory is asked for: most often
    // that is the home directory, and names nothing new.
    let early = candidates(answer, None, user);
    let (start, early_looks) = tokio::join!(sftp.realpath("."), look_at(sftp, &early));
    let start = match start {
        Ok(start) if start.starts_with('/') && !start.chars().any(char::is_control) => Some(start),
        Err(error) if error.ends_session() => return Err(error),
        _ => None,
    };
    let early_looks = early_looks?;
    let all = candidates(answer, start.as_deref(), user);
    let new: Vec<_> = all
        .iter()
        .filter(|candidate| !early.contains(candidate))
        .cloned()
        .collect();
    let new_looks = look_at(sftp, &new).await?;
    let looked: Vec<_> = early
        .iter()
        .zip(early_looks)
        .chain(new.iter().zip(new_looks))
        .collect();
    let looks: Vec<_> = all
        .iter()
        .filter_map(|one| {
            let known = looked.iter().find(|(candidate, _)| *candidate == one);
            known.map(|(_, look)| *look)
        })
        .collect();
    Ok(pick(&all, &looks))
}

async fn look_at(sftp: &Sftp, all: &[Candidate]) -> Result<Vec<Look>, SftpError> {
    let looks = all.iter().map(|candidate| look(sftp, candidate));
    join_all(looks).await.into_iter().collect()
}

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// It has logs.
    Logs,
    /// The directory above `.local/state/mcpsnoop` exists.
    Home,
    Nothing,
}

async fn look(sftp: &Sftp, candidate: &Candidate) -> Result<Look, SftpError> {
    if has_logs(sftp, &candidate.state).await? {
        return Ok(Look::Logs);
    }
    let home = candidate
        .state
        .strip_suffix("/.local/state/mcpsnoop")
        .unwrap_or(&candidate.state);
    match sftp.stat(home).await {
        Ok(_) => Ok(Look::Home),
        Err(error) if error.ends_session() => Err(error),
        Err(_) => Ok(Look::Nothing),
    }
}

/// True when the first names of the directory hold a log.
async fn has_logs(sftp: &Sftp, state: &str) -> Result<bool, SftpError> {
    let directory = match sftp.open_directory(&format!("{state}/sessions")).await {
        Ok(directory) => directory,
        Err(error) if error.ends_session() => return Err(error),
        Err(_) => return Ok(false),
    };
    let mut found = false;
    let mut seen = 0;
    while !found && seen < FIRST_NAMES {
        let entries = match sftp.read_directory(&directory).await {
            Ok(Some(entries)) => entries,
            Err(error) if error.ends_session() => return Err(error),
            // A directory that cannot be read has no logs for us.
            Ok(None) | Err(_) => break,
        };
        seen += entries.len();
        found = entries.iter().any(|entry| {
            is_log_name(&entry.name)
                && entry
                    .attributes
                    .is_none_or(|attributes| attributes.kind == Kind::Regular)
        });
    }
    sftp.close_soon(&directory);
    Ok(found)
}

fn pick(all: &[Candidate], looks: &[Look]) -> Located {
    let with_logs: Vec<&Candidate> = all
        .iter()
        .zip(looks)
        .filter(|(_, look)| **look == Look::Logs)
        .map(|(candidate, _)| candidate)
        .collect();
    // Of the guesses, the first whose home exists.
    let best = all
        .iter()
        .zip(looks)
        .find(|(candidate, look)| candidate.source != Source::Guess || **look != Look::Nothing)
        .map(|(candidate, _)| candidate)
        .or(all.first());
    let Some(best) = best else {
        return Located {
            state: "/".into(),
            source: Source::Guess,
            notices: vec!["the home directory is not known; use --remote-home".to_owned()],
        };
    };
    let chosen = with_logs.first().copied().unwrap_or(best);
    let mut notices = Vec::new();
    if chosen.source == Source::Guess {
        let home = chosen.state.trim_end_matches("/.local/state/mcpsnoop");
        notices.push(format!("assuming remote home {home}; use --remote-home"));
    }
    if chosen.state != best.state {
        notices.push(format!(
            "no sessions in {}; those in {} are shown",
            best.state, chosen.state
        ));
    }
    notices.extend(
        with_logs
            .iter()
            .skip(1)
            .map(|other| format!("{} has sessions too", other.state)),
    );
    Located {
        state: chosen.state.as_str().into(),
        source: chosen.source,
        notices,
    }
}

/// A socket of ours on the far side, and the directory that it lies in.
#[derive(Clone, Debug)]
pub(super) struct Attached {
    pub(super) place: Arc<FarPlace>,
    pub(super) published: Published,
}

/// Why there is no socket of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoSocket {
    pub(super) reason: String,
    /// Another viewer has it, and gives it up when it leaves.
    pub(super) is_lent: bool,
}

impl From<String> for NoSocket {
    fn from(reason: String) -> Self {
        Self {
            reason,
            is_lent: false,
        }
    }
}

impl From<Refusal> for NoSocket {
    fn from(refusal: Refusal) -> Self {
        Self {
            reason: refusal.words().to_owned(),
            is_lent: refusal == Refusal::Owned(Owner::RemoteViewer),
        }
    }
}

/// Makes the state directory if it is missing, and publishes our listener in it; answers the reason
/// where that is not possible.
///
/// # Errors
/// When the connection or SFTP ends on the way.
pub(super) async fn attach(
    link: Arc<Connected>,
    sftp: Arc<Sftp>,
    located: Located,
    probed: Option<Probed>,
    nonces: Nonces,
    clock: Clock,
    mark: Arc<str>,
) -> Result<Result<Attached, NoSocket>, SftpError> {
    // A host may name a path of a thousand parts: none of them is asked for.
    if let Some(trouble) = path_trouble(&located.state) {
        return Ok(Err(trouble.into()));
    }
    if located.source != Source::Guess
        && let Err(error) = make_directories(&sftp, &located.state).await
        && error.ends_session()
    {
        return Err(error);
    }
    let directory = match sftp.stat(&located.state).await {
        Ok(directory) => directory,
        Err(error) if error.ends_session() => return Err(error),
        Err(error) => {
            return Ok(Err(
                format!("the state directory cannot be used: {error}").into()
            ));
        }
    };
    let uid = probed.as_ref().and_then(|probed| probed.answer.uid);
    if let Some(trouble) = directory_trouble(&directory, uid) {
        return Ok(Err(trouble.into()));
    }
    let place = Arc::new(FarPlace {
        link,
        sftp,
        state: located.state,
        nonces,
        clock,
        mark,
        directory,
    });
    let published = match publish(&*place).await? {
        Ok(published) => published,
        Err(refusal) => return Ok(Err(refusal.into())),
    };
    // sshd makes the socket as the user that we are: the directory must not be another's.
    if let Some(trouble) = directory_trouble(&directory, published.attributes.uid) {
        super::publish::leave(&*place, &published).await?;
        return Ok(Err(trouble.into()));
    }
    if let Some(offset) = probed.and_then(|probed| probed.clock_offset) {
        let remote_now = clock.now().as_secs() + offset.millis / 1_000;
        let clearing = async {
            let names = temporary_names(&place).await;
            clear_leftovers(&*place, &names, &published, remote_now).await
        };
        if !matches!(tokio::time::timeout(CLEARING, clearing).await, Ok(Ok(()))) {
            // They stay for the next viewer; our socket is there all the same.
        }
    }
    Ok(Ok(Attached { place, published }))
}

/// What dead viewers may have left, as far as the directory can be read.
async fn temporary_names(place: &FarPlace) -> Vec<(String, super::sftp::Attributes)> {
    let mut found = Vec::new();
    let Ok(directory) = place.sftp.open_directory(&place.state).await else {
        return found;
    };
    let mut seen = 0;
    while seen < LEFTOVER_NAMES
        && let Ok(Some(entries)) = place.sftp.read_directory(&directory).await
    {
        seen += entries.len();
        found.extend(
            entries
                .into_iter()
                .filter(|entry| is_temporary(&entry.name))
                .filter_map(|entry| Some((entry.name, entry.attributes?))),
        );
    }
    place.sftp.close_soon(&directory);
    found
}

/// Makes the missing part of a path, each directory with mode 0700.
async fn make_directories(sftp: &Sftp, path: &str) -> Result<(), SftpError> {
    if sftp.stat(path).await.is_ok() {
        return Ok(());
    }
    let mut so_far = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        so_far.push('/');
        so_far.push_str(part);
        match sftp.stat(&so_far).await {
            Ok(_) => {}
            Err(SftpError::NotFound) => sftp.make_directory(&so_far).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(state: &str, source: Source) -> Candidate {
        Candidate {
            state: state.to_owned(),
            source,
        }
    }

    fn check(cases: &[(&str, Source, Look)], state: &str, notices: &[&str]) {
        let all: Vec<_> = cases
            .iter()
            .map(|(state, source, _)| candidate(state, *source))
            .collect();
        let looks: Vec<_> = cases.iter().map(|(_, _, look)| *look).collect();
        let located = pick(&all, &looks);
        assert_eq!(
            (&*located.state, located.notices.as_slice()),
            (
                state,
                notices
                    .iter()
                    .map(|notice| (*notice).to_owned())
                    .collect::<Vec<_>>()
                    .as_slice()
            )
        );
    }

    #[test]
    fn picks_the_directory_with_sessions() {
        use Look::{Home, Logs, Nothing};
        use Source::{Environment, Guess, SftpStart};
        check(&[("/a", Environment, Nothing)], "/a", &[]);
        check(
            &[("/a", Environment, Logs), ("/b", SftpStart, Nothing)],
            "/a",
            &[],
        );
        check(
            &[("/a", Environment, Home), ("/b", SftpStart, Logs)],
            "/b",
            &["no sessions in /a; those in /b are shown"],
        );
        check(
            &[("/a", Environment, Logs), ("/b", SftpStart, Logs)],
            "/a",
            &["/b has sessions too"],
        );
        check(
            &[
                ("/home/x/.local/state/mcpsnoop", Guess, Nothing),
                ("/Users/x/.local/state/mcpsnoop", Guess, Home),
            ],
            "/Users/x/.local/state/mcpsnoop",
            &["assuming remote home /Users/x; use --remote-home"],
        );
        let unknown = pick(&[], &[]);
        assert_eq!(&*unknown.state, "/");
    }
}
