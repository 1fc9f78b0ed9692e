//! Hosts that come back: when the user asks, after a failure that seemed final, and beside other
//! viewers (remote.md 8, 9.5).

use std::{
    fs,
    time::{Duration, Instant},
};

use mcpsnoop::{
    feed::{FeedEvent, FeedRequest, HostState, LinkState, Mode},
    record::HostName,
    remote::{ModeChoice, Target},
};

use crate::{
    remote::{Demo, Far, Watching, watch},
    sshd::keygen,
    support::{home::Home, terminal::Terminal, wait::wait_for},
};

fn states<'a>(told: &'a [FeedEvent], host: &str) -> Vec<&'a HostState> {
    let of_host = |event: &'a FeedEvent| match event {
        FeedEvent::Host(state) if &*state.host.0 == host => Some(state),
        _ => None,
    };
    told.iter().filter_map(of_host).collect()
}

/// Waits for the newest state of a host to be like this, after the first `from` events.
fn until_state(
    watching: &Watching,
    host: &str,
    from: usize,
    mut pleases: impl FnMut(&HostState) -> bool,
) -> HostState {
    watching.until("state", |told| {
        let newest = *states(told.get(from..)?, host).last()?;
        pleases(newest).then(|| newest.clone())
    })
}

fn comes_back(watching: &Watching, host: &str) {
    let name = HostName(host.into());
    for _ in 0..2 {
        watching.until_live();
        let before = watching.told().len();
        watching.ask(FeedRequest::Disconnect(name.clone()));
        let closed = until_state(watching, host, before, |state| {
            state.link == LinkState::Closed
        });
        assert_eq!(closed.reason, None, "the user knows why");
        let before = watching.told().len();
        watching.ask(FeedRequest::Reconnect(name.clone()));
        until_state(watching, host, before, |state| {
            state.link == LinkState::Live && state.mode == Some(Mode::Socket)
        });
    }
}

#[test]
fn a_host_that_was_disconnected_connects_again_when_asked() {
    let Some(far) = Far::start("") else { return };
    far.append("busy-1", 1, 10);
    let watching = watch(far.options());
    watching.until_frames("busy-1", 10);
    comes_back(&watching, "web1");
    far.append("busy-1", 11, 20);
    watching.until_frames("busy-1", 20);
    let (results, _) = watching.stop();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
}

#[test]
fn the_demo_connects_again_when_asked() {
    let demo = Demo::start();
    let watching = demo.watch();
    comes_back(&watching, "demo");
}

#[test]
fn a_host_that_waits_or_was_never_up_can_be_disconnected_too() {
    let Some(far) = Far::start("") else { return };
    let targets = ["web1", "web2:1"].map(|target| Target::parse(target).unwrap());
    let watching = Watching::start(targets.to_vec(), far.options());
    let host = "web2";
    let tries = until_state(
        &watching,
        host,
        0,
        |state| matches!(state.link, LinkState::Reconnecting { attempt, .. } if attempt >= 2),
    );
    assert!(tries.reason.is_some());
    watching.ask(FeedRequest::Disconnect(HostName(host.into())));
    until_state(&watching, host, 0, |state| state.link == LinkState::Closed);
    let before = watching.told().len();
    watching.ask(FeedRequest::Reconnect(HostName(host.into())));
    let again = until_state(&watching, host, before, |state| {
        matches!(state.link, LinkState::Reconnecting { .. })
    });
    assert!(
        matches!(again.link, LinkState::Reconnecting { attempt: 1, .. }),
        "the tries begin anew: {again:?}"
    );
    let told = watching.told();
    let link_up =
        |state: &&HostState| matches!(state.link, LinkState::Backfilling | LinkState::Live);
    assert!(
        !states(&told, host).iter().any(link_up),
        "it never was connected, and nothing says so"
    );
}

#[test]
fn what_gave_up_says_so_and_tries_again_when_asked() {
    let cases = [
        (
            "AllowStreamLocalForwarding no",
            ModeChoice::Socket,
            "leave out --mode",
        ),
        ("ForceCommand cat", ModeChoice::Auto, "`sftp` subsystem"),
    ];
    for (setting, mode, hint) in cases {
        let Some(far) = Far::start(setting) else {
            return;
        };
        let mut options = far.options();
        (options.mode, options.stays) = (mode, true);
        let watching = watch(options);
        let gave_up = |before: usize| {
            until_state(&watching, "web1", before, |state| {
                state.link == LinkState::Lost
            })
        };
        let reason = gave_up(0).reason.unwrap();
        for words in ["given up", "tries again", hint] {
            assert!(reason.contains(words), "{words}: {reason}");
        }
        let before = watching.told().len();
        watching.ask(FeedRequest::Reconnect(HostName("web1".into())));
        until_state(&watching, "web1", before, |state| {
            state.link == LinkState::Backfilling || state.link == LinkState::Lost
        });
        gave_up(before);
        drop(watching.stop());
    }
}

#[test]
fn the_socket_of_another_viewer_is_ours_soon_after_it_left() {
    let Some(far) = Far::start("") else { return };
    let first = watch(far.options());
    assert_eq!(first.until_live(), Mode::Socket);
    let second = watch(far.options());
    assert!(matches!(second.until_live(), Mode::Log { .. }));
    drop(first.stop());
    let left = Instant::now();
    let ours = until_state(&second, "web1", 0, |state| state.mode == Some(Mode::Socket));
    assert_eq!(ours.reason, None);
    assert!(
        left.elapsed() < Duration::from_secs(12),
        "{:?}",
        left.elapsed()
    );
}

#[test]
fn two_logins_of_one_account_are_two_hosts_and_one_login_is_one() {
    let Some(far) = Far::start("") else { return };
    let config = fs::read_to_string(&far.sshd.config).unwrap();
    let bad = far.sshd.dir.path().join("bad_key");
    keygen(&bad, "ed25519", "");
    let first = format!("Host badkey\n  IdentityFile {}\n", bad.display());
    let only = config.replace("Host *", "Host build01 build02");
    assert_ne!(only, config);
    let shared = config
        .lines()
        .filter(|line| !line.contains("IdentityFile"))
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(&far.sshd.config, format!("{first}{only}\n{shared}")).unwrap();
    let targets = ["badkey", "build01", "build02"].map(|target| Target::parse(target).unwrap());
    let watching = Watching::start(targets.to_vec(), far.options());
    until_state(&watching, "build01", 0, |state| {
        state.link == LinkState::Live
    });
    until_state(&watching, "badkey", 0, |state| {
        state.link == LinkState::Lost
    });
    let folded = until_state(&watching, "build02", 0, |state| {
        state.link == LinkState::Closed
    });
    assert!(folded.reason.unwrap().contains("given twice"));
}

#[test]
fn the_viewer_disconnects_a_host_and_connects_it_again() {
    let home = Home::new();
    let mut command = home.mcpsnoop();
    command.args(["demo", "--remote", "--speed", "0"]);
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_text("live");
    terminal.keys(":hosts\r");
    terminal.wait_text("live socket");
    for _ in 0..2 {
        terminal.keys("x");
        terminal.wait_text("Disconnect this host?");
        // A dialog that has just come up takes no key: it may have been meant for something else.
        wait_for("the disconnected host", || {
            terminal.keys("y");
            let screen = terminal.screen();
            screen
                .contains("closed by you, r connects again")
                .then_some(())
        });
        terminal.keys("r");
        terminal.wait_screen("the host live again", |screen| {
            screen.contains("live socket") && !screen.contains("closed by you")
        });
    }
    terminal.keys(":q\r");
    assert_eq!(terminal.wait(), 0);
}
