//! Session-model.md 20: its table as tests, and what envelopes say of a session (2.4).

use super::*;
use crate::record::script::START;

pub(super) const ROWS: &[(&str, usize)] = &[("20", HEALTH.len() + 1)];

/// The row on `activity` has a test of its own.
const HEALTH: [(&str, &str, Health); 6] = [
    (
        "invalid 1, errors 3",
        "< T \"x\", > Q1 a, < E1 -1, > Q2 a, < E2 -1, > Q3 a, < E3 -1",
        Health::Bad,
    ),
    (
        "errors 1, warnings 2",
        "> Q1 a, < E1 -1, > Q2 server/discover [v=2026-07-28], < R2 {}",
        Health::Error,
    ),
    ("warnings 1", "> Q1 a, < R1 {}", Health::Warn),
    (
        "one open `pending/responder` call",
        "> Q1 a",
        Health::Pending,
    ),
    (
        "only a parked call, or only an open stream",
        "> Q1 call b, < R1 IR{k;st=A}",
        Health::Ok,
    ),
    (
        "the only open call is `uncertain`",
        "#1 > Q1 a, #3 > N b",
        Health::Ok,
    ),
];

#[track_caller]
fn check_health(text: &str, warnings: u64, expected: Health) {
    fold_and_change(text, |session| {
        session.machine.counters.warnings = warnings;
        assert_eq!(session.health(), expected, "{text}");
    });
}

/// Warnings are counted from outside here: which frame gets one is told by other tables.
fn fold_and_change(text: &str, look: impl FnOnce(&mut Session)) {
    let mut session = Session::new(key(), true, false, true);
    for envelope in script::session(text).unwrap() {
        session.take(&envelope, None, None, &mut Vec::new());
    }
    look(&mut session);
}

#[test]
fn health_20() {
    for (row, text, expected) in HEALTH {
        let warnings = match row {
            "errors 1, warnings 2" => 2,
            "warnings 1" => 1,
            _ => 0,
        };
        check_health(text, warnings, expected);
    }
    for (text, expected) in [
        ("> Q1 a, < E1 -1, > Q2 b", Health::Error),
        ("> Q1 subscriptions/listen", Health::Ok),
        ("> Q1 notifications/initialized", Health::Ok),
        ("> Q1 call t [x=4], < H200 unobserved [x=4]", Health::Ok),
        ("> Q1 server/discover, > Q2 initialize, < R2 {}", Health::Ok),
    ] {
        check_health(text, 0, expected);
    }
    fold("#1 > Q1 a, #3 > N b", Limits::NONE, |session| {
        assert_eq!(session.missing_frames(), 1);
    });
}

#[test]
fn activity_20() {
    let text = "@0 < N a, @540000 < N a, @600000 < N a, @600000 < N a, @600000 meta {}";
    let now = Timestamp::from_nanos(START.as_nanos() + 600_000_000_000);
    let expected = [0, 0, 0, 0, 1, 0, 0, 2];
    fold(text, Limits::NONE, |session| {
        assert_eq!(session.activity(8, 120, now), expected);
    });
    let limits = Limits {
        body_bytes: Some(1),
        rows: Some(1),
    };
    fold(text, limits, |session| {
        assert_eq!(session.activity(8, 120, now), expected);
    });
}

#[test]
fn fields_2_4() {
    let text = "meta {command:[a,b],cwd:\"/w\"}, > Q1 ping, < T \"{\" [trunc], meta {target:\"http://h\"}, \
                end{exit_code:3,closed_by:client,dropped:2}";
    fold(text, Limits::NONE, |session| {
        let command: Vec<&str> = session
            .command()
            .unwrap()
            .iter()
            .map(|word| &**word)
            .collect();
        assert_eq!(command, ["a", "b"]);
        assert_eq!(
            (session.cwd(), session.target()),
            (Some("/w"), Some("http://h"))
        );
        assert_eq!(session.end(), Some((Some(3), None)));
        assert_eq!(session.closed_by(), Some("client"));
        assert!(!session.server_failed());
        assert_eq!(session.dropped_by_writer(), Some(2));
        assert_eq!(session.counters().truncated, 1);
        assert_eq!(&**session.label(), "server");
    });
    fold(
        "> Q1 ping, end{exit_code:1,closed_by:server}",
        Limits::NONE,
        |session| {
            assert_eq!(session.closed_by(), Some("server"));
            assert!(session.server_failed());
        },
    );
    fold("> Q1 ping, end{exit_code:1}", Limits::NONE, |session| {
        assert_eq!(
            (session.closed_by(), session.server_failed()),
            (None, false)
        );
    });
}
