//! `--cat`: the bytes of one remote log, straight to the output (remote.md 12).

use std::{io::Write, sync::Arc};

use super::{
    config::resolve,
    error::Error,
    far_error::{FarError, SftpError},
    listing::FarLog,
    names::{Chosen, choose, is_log_name, stem},
    options::{RemoteOptions, Target},
    prompt::Prompter,
    range::RangeReader,
    sftp::{Kind, Sftp},
    viewer::{Far, reach},
};
use crate::base::Clock;

/// Candidates that a message names.
const CANDIDATES: usize = 10;

/// `--cat`: writes one log's bytes up to its last newline. Answers whether a torn tail was left out.
///
/// # Errors
/// Whatever stopped it.
pub async fn cat_session<P: Prompter + 'static, W: Write + Send>(
    target: Target,
    session: &str,
    options: RemoteOptions,
    prompter: Arc<P>,
    out: &mut W,
) -> Result<bool, Error> {
    let resolved = resolve(&target, &options).await?;
    let far = reach(&resolved, &options, &prompter, Clock::start()).await?;
    let copied = copy(&far, session, out).await;
    far.close().await;
    Ok(copied?)
}

async fn copy<W: Write + Send>(far: &Far, session: &str, out: &mut W) -> Result<bool, FarError> {
    let ((), log) = tokio::join!(far.sftp.learn_limits(), find(far, session));
    let log = log?;
    let path = format!("{}/sessions/{}", far.located.state, log.name);
    let file = far.sftp.open_file(&path).await?;
    copy_open(&far.sftp, &file, log.size, out).await
}

/// An exact name needs no listing; anything else is looked up in one.
async fn find(far: &Far, session: &str) -> Result<FarLog, FarError> {
    let name = format!("{session}.jsonl");
    if is_log_name(&name) {
        let path = format!("{}/sessions/{name}", far.located.state);
        match far.sftp.lstat(&path).await {
            Ok(found) if found.kind == Kind::Regular => {
                return Ok(super::jobs::as_listed(&name.into(), &found));
            }
            Err(error) if error.ends_session() => return Err(error.into()),
            _ => {}
        }
    }
    let listing = far.list().await?;
    let ids: Vec<&str> = listing.logs.iter().map(|log| stem(&log.name)).collect();
    let chosen = match choose(session, &ids) {
        Chosen::One(id) => id,
        Chosen::Several(mut candidates) => {
            let others = candidates.len().saturating_sub(CANDIDATES);
            candidates.truncate(CANDIDATES);
            return Err(FarError::Ambiguous {
                name: session.to_owned(),
                candidates,
                others,
            });
        }
        Chosen::None(nearest) => {
            return Err(FarError::SessionNotFound {
                name: session.to_owned(),
                nearest,
            });
        }
    };
    listing
        .logs
        .iter()
        .find(|log| stem(&log.name) == chosen)
        .cloned()
        .ok_or(FarError::SessionNotFound {
            name: session.to_owned(),
            nearest: Vec::new(),
        })
}

/// Copies up to the last newline of what the file held when it was looked at.
async fn copy_open<W: Write + Send>(
    sftp: &Arc<Sftp>,
    file: &super::sftp::Open,
    size: u64,
    out: &mut W,
) -> Result<bool, FarError> {
    let mut range = RangeReader::new(sftp, file, 0, size);
    // Bytes behind the last newline so far: they are written once a newline follows.
    let mut tail = Vec::new();
    while let Some(bytes) = range.next().await? {
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            tail.extend_from_slice(&bytes);
            continue;
        };
        let (lines, rest) = bytes.split_at(end + 1);
        for part in [&tail, lines] {
            out.write_all(part).map_err(FarError::Output)?;
        }
        tail.clear();
        tail.extend_from_slice(rest);
    }
    if range.position() < size {
        return Err(
            SftpError::Refused("the log became shorter while it was read".to_owned()).into(),
        );
    }
    out.flush().map_err(FarError::Output)?;
    Ok(!tail.is_empty())
}
