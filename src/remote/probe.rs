//! What is asked of the far side before anything else: environment, user, clock (remote.md 6).

use std::{sync::Arc, time::Duration};

use russh::ChannelMsg;

use super::{link::Connected, options::RemoteLocation, sftp::close_quietly};
use crate::base::{Clock, Timestamp};

/// Output that is read at most.
const OUTPUT_LIMIT: usize = 64 << 10;
/// Time for the whole probe.
const TIME: Duration = Duration::from_secs(10);
/// Time for the server to close the channel after it.
const CLOSE_TIME: Duration = Duration::from_millis(500);

/// What the script told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) home: Option<String>,
    pub(super) mcpsnoop_home: Option<String>,
    pub(super) xdg_state_home: Option<String>,
    pub(super) uid: Option<u32>,
    pub(super) now: Option<Timestamp>,
}

/// The probe's answer and what the clocks say.
#[derive(Clone, Debug, Default)]
pub(super) struct Probed {
    pub(super) answer: Answer,
    /// What the clocks say.
    pub(super) clock_offset: Option<ClockOffset>,
}

/// Remote clock minus ours as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockOffset {
    /// Milliseconds.
    pub(super) millis: i64,
    /// The true offset differs from it by no more than so many milliseconds: half a second, because
    /// the far side tells whole ones, and half a round trip (remote.md 6.3).
    pub(super) within: u64,
}

/// The script. It is sent on the standard input of `sh`, so that the login shell sees one word.
pub(super) fn script(token: &str) -> String {
    format!(
        "printf '\\nMCPSNOOP %s begin\\n' {token}\n\
         for k in HOME MCPSNOOP_HOME XDG_STATE_HOME; do eval \"v=\\${{$k-}}\"; printf '%s=%s\\n' \"$k\" \"$v\"; done\n\
         printf 'uid=%s\\nsys=%s\\n' \"$(id -u)\" \"$(uname -s)\"\n\
         printf 'now=%s\\n' \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"\n\
         printf 'MCPSNOOP %s end\\n' {token}\n"
    )
}

/// Reads the script's output; `None` while its end line is missing, an error when it cannot be
/// used at all.
pub(super) fn read(output: &[u8], token: &str) -> Result<Option<Answer>, Unusable> {
    let begin = format!("MCPSNOOP {token} begin");
    let end = format!("MCPSNOOP {token} end");
    let mut lines = output
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    if !lines.any(|line| line == begin.as_bytes()) {
        return Ok(None);
    }
    let mut answer = Answer::default();
    for line in lines {
        if line == end.as_bytes() {
            return Ok(Some(answer));
        }
        let Ok(line) = str::from_utf8(line) else {
            return Err(Unusable);
        };
        if line.chars().any(char::is_control) {
            return Err(Unusable);
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        // Relative values of the environment count as unset (remote.md 6).
        let path = || value.starts_with('/').then(|| value.to_owned());
        match key {
            "HOME" => answer.home = path(),
            "MCPSNOOP_HOME" => answer.mcpsnoop_home = path(),
            "XDG_STATE_HOME" => answer.xdg_state_home = path(),
            "uid" => answer.uid = value.parse().ok(),
            "now" => answer.now = Timestamp::parse(value),
            _ => {}
        }
    }
    Ok(None)
}

/// The output cannot be the script's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unusable;

/// Runs the script; `None` when exec is not usable, for whatever reason (remote.md 6.2: silently).
pub(super) async fn run(link: &Arc<Connected>, clock: Clock) -> Option<Probed> {
    for command in ["sh", "/bin/sh"] {
        let opening = link.handle.channel_open_session();
        let mut channel = tokio::time::timeout(TIME, opening).await.ok()?.ok()?;
        let token = random_name(16);
        let talking = talk(&mut channel, clock, command, &token);
        let talked = tokio::time::timeout(TIME, talking).await;
        end(&mut channel).await;
        match talked {
            Ok(Some(probed)) => return Some(probed),
            Ok(None) => {}
            Err(_) => return None,
        }
    }
    None
}

/// Ends the channel. The slot is free again only when the server has closed its side too (remote.md
/// 14.3), which it does by itself when `sh` has ended; two closes that cross are never reported.
async fn end(channel: &mut russh::Channel<russh::client::Msg>) {
    let closing =
        async { while !matches!(channel.wait().await, None | Some(ChannelMsg::Close)) {} };
    if tokio::time::timeout(CLOSE_TIME, closing).await.is_err() {
        // It hangs; our own close has to do.
    }
    close_quietly(channel).await;
}

async fn talk(
    channel: &mut russh::Channel<russh::client::Msg>,
    clock: Clock,
    command: &str,
    token: &str,
) -> Option<Probed> {
    channel.exec(true, command).await.ok()?;
    let sent = clock.now();
    channel.data_bytes(script(token).into_bytes()).await.ok()?;
    channel.eof().await.ok()?;
    let mut output = Vec::new();
    loop {
        match channel.wait().await? {
            ChannelMsg::Data { data } => {
                output.extend_from_slice(&data);
                if let Some(answer) = read(&output, token).ok()? {
                    let received = clock.now();
                    let clock_offset = answer.now.map(|theirs| offset(sent, received, theirs));
                    return Some(Probed {
                        answer,
                        clock_offset,
                    });
                }
                if output.len() > OUTPUT_LIMIT {
                    return None;
                }
            }
            ChannelMsg::Failure | ChannelMsg::Eof | ChannelMsg::Close => return None,
            _ => {}
        }
    }
}

/// Remote clock minus ours: the remote second was read between the two local moments, and it is
/// half a second late on the average.
fn offset(sent: Timestamp, received: Timestamp, theirs: Timestamp) -> ClockOffset {
    let trip = i128::from(received.nanos_since(sent).max(0));
    // A hostile clock may be centuries away.
    let middle = i128::from(sent.as_nanos()) + trip / 2;
    let nanos = i128::from(theirs.as_nanos()) + 500_000_000 - middle;
    ClockOffset {
        millis: i64::try_from(nanos / 1_000_000).unwrap_or(0),
        within: 500 + u64::try_from(trip / 2_000_000).unwrap_or(0),
    }
}

/// A state directory that may be the right one, and why it is a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) state: String,
    pub(super) source: Source,
}

/// Where a candidate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Flag,
    Environment,
    SftpStart,
    Guess,
}

/// The state directory that a location flag names.
pub(super) fn flagged(location: &RemoteLocation) -> Candidate {
    let state = match location {
        RemoteLocation::Home(home) => below_home(home),
        RemoteLocation::McpsnoopHome(state) => trimmed(state).to_owned(),
        RemoteLocation::XdgStateHome(state) => format!("{}/mcpsnoop", trimmed(state)),
    };
    Candidate {
        state,
        source: Source::Flag,
    }
}

/// All candidates without a flag, best first, each directory once (remote.md 6).
pub(super) fn candidates(answer: &Answer, start: Option<&str>, user: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut add = |state: String, source: Source| {
        if !found.iter().any(|known| known.state == state) {
            found.push(Candidate { state, source });
        }
    };
    if let Some(state) = &answer.mcpsnoop_home {
        add(trimmed(state).to_owned(), Source::Environment);
    }
    if let Some(state) = &answer.xdg_state_home {
        add(format!("{}/mcpsnoop", trimmed(state)), Source::Environment);
    }
    if let Some(home) = &answer.home {
        add(below_home(home), Source::Environment);
    }
    if let Some(start) = start.filter(|start| start.starts_with('/')) {
        add(below_home(start), Source::SftpStart);
    }
    if answer.home.is_none() && !user.contains('/') {
        let homes = if user == "root" {
            vec!["/root".to_owned()]
        } else {
            vec![format!("/home/{user}"), format!("/Users/{user}")]
        };
        for home in homes {
            add(below_home(&home), Source::Guess);
        }
    }
    found
}

fn below_home(home: &str) -> String {
    format!("{}/.local/state/mcpsnoop", trimmed(home))
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// Random lower-case base-32 characters.
pub(super) fn random_name(length: usize) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = vec![0; length];
    if getrandom::fill(&mut bytes).is_err() {
        // Nothing here is a secret: without a random source two programs differ by their number.
        let number = std::process::id().to_le_bytes();
        for (byte, part) in bytes.iter_mut().zip(number.iter().cycle()) {
            *byte = *part;
        }
    }
    bytes
        .into_iter()
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 32)))
        .map(|byte| char::from(*byte))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "abc234";

    fn check(output: &str, expected: &Result<Option<Answer>, Unusable>) {
        assert_eq!(&read(output.as_bytes(), TOKEN), expected, "{output:?}");
    }

    #[test]
    fn reads_only_what_lies_between_its_lines() {
        let full = Answer {
            home: Some("/home/dev".to_owned()),
            uid: Some(1000),
            now: Timestamp::parse("2026-10-20T08:00:00Z"),
            ..Answer::default()
        };
        let body = "HOME=/home/dev\nMCPSNOOP_HOME=\nXDG_STATE_HOME=state\nuid=1000\nsys=Linux\nnow=2026-10-20T08:00:00Z\n";
        check(
            &format!(
                "Welcome!\nHOME=/evil\n\nMCPSNOOP {TOKEN} begin\n{body}MCPSNOOP {TOKEN} end\nbye\n"
            ),
            &Ok(Some(full.clone())),
        );
        // A startup file that prints without a newline.
        check(
            &format!(
                "hi\nMCPSNOOP {TOKEN} begin\r\n{}MCPSNOOP {TOKEN} end\r\n",
                body.replace('\n', "\r\n")
            ),
            &Ok(Some(full)),
        );
        check("", &Ok(None));
        check("This account is SFTP only\n", &Ok(None));
        check(&format!("MCPSNOOP {TOKEN} begin\n{body}"), &Ok(None));
        check(
            &format!("MCPSNOOP {TOKEN} begin\n{body}MCPSNOOP {TOKEN} end"),
            &Ok(None),
        );
        check("MCPSNOOP other begin\nMCPSNOOP other end\n", &Ok(None));
        check(
            &format!("MCPSNOOP {TOKEN} begin\nHOME=/a\u{1b}[2J\n"),
            &Err(Unusable),
        );
        check(
            &format!("MCPSNOOP {TOKEN} begin\nMCPSNOOP {TOKEN} end\n"),
            &Ok(Some(Answer::default())),
        );
    }

    #[test]
    fn candidates_come_in_their_order() {
        let check = |answer: &Answer, start: Option<&str>, user: &str, expected: &[&str]| {
            let states: Vec<_> = candidates(answer, start, user)
                .into_iter()
                .map(|candidate| candidate.state)
                .collect();
            assert_eq!(states, expected);
        };
        let tail = "/.local/state/mcpsnoop";
        let all = Answer {
            home: Some("/home/dev".to_owned()),
            mcpsnoop_home: Some("/srv/snoop/".to_owned()),
            xdg_state_home: Some("/x".to_owned()),
            ..Answer::default()
        };
        let home = format!("/home/dev{tail}");
        check(
            &all,
            Some("/home/dev"),
            "dev",
            &["/srv/snoop", "/x/mcpsnoop", &home],
        );
        check(
            &all,
            Some("/data"),
            "dev",
            &["/srv/snoop", "/x/mcpsnoop", &home, &format!("/data{tail}")],
        );
        check(
            &Answer::default(),
            Some("/"),
            "dev",
            &[tail, &home, &format!("/Users/dev{tail}")],
        );
        check(&Answer::default(), None, "root", &[&format!("/root{tail}")]);
        check(&Answer::default(), None, "a/../b", &[]);
    }

    #[test]
    fn flags_name_the_directory() {
        let cases = [
            (
                RemoteLocation::Home("/h/".to_owned()),
                "/h/.local/state/mcpsnoop",
            ),
            (RemoteLocation::McpsnoopHome("/m".to_owned()), "/m"),
            (RemoteLocation::XdgStateHome("/x".to_owned()), "/x/mcpsnoop"),
        ];
        for (location, state) in cases {
            assert_eq!(flagged(&location).state, state);
        }
    }

    #[test]
    fn clock_offset_counts_from_the_middle() {
        let second = 1_000_000_000;
        let at = |seconds: i64| Timestamp::from_nanos(seconds * second);
        let cases = [
            (12, at(11), 500, 1_500),
            (10, at(10 + 86_400), 86_400_500, 500),
            (10, at(10 - 86_400), -86_399_500, 500),
            (10, Timestamp::from_nanos(i64::MIN), -9_223_372_046_354, 500),
            (10, Timestamp::from_nanos(i64::MAX), 9_223_372_027_354, 500),
        ];
        for (received, theirs, millis, within) in cases {
            let measured = offset(at(10), at(received), theirs);
            assert_eq!(measured, ClockOffset { millis, within });
        }
    }

    #[test]
    fn random_names_differ_and_stay_in_their_alphabet() {
        let names: std::collections::HashSet<_> = (0..100).map(|_| random_name(6)).collect();
        assert!(names.len() > 90);
        assert!(names.iter().all(|name| {
            name.len() == 6
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte))
        }));
    }
}
