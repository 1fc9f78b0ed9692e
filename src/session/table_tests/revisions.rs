//! Session-model.md 14: its table as tests, and the rows of 21 on capabilities.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("14.3", PAGE.len()), ("21", 1)];

const PAGE: [(&str, &str); 8] = [
    (
        "`> Q1 initialize{2026-07-28}`, `< R1 {2025-11-25}`",
        "version=2025-11-25 era=legacy",
    ),
    (
        "`> Q1 server/discover [v=2026-07-28]`, `< E1 -32601`, `> Q2 initialize`, `< R2 {2025-11-25}`, `> Q3 ping`",
        "version=2025-11-25 revisions=2025-11-25:2 era=legacy not-mixed",
    ),
    (
        "`> Q1 server/discover{_meta 2026-07-28, clientInfo X}`, `< R1 {supportedVersions:[…],_meta serverInfo S}`",
        "version=2026-07-28 era=modern client=X server=S",
    ),
    (
        "`> Q1 server/discover`, `< R1 {supportedVersions:[A,B],serverInfo S}`",
        "version=A server=S supported=A,B",
    ),
    (
        "`> Q1 call t`, `< R1 {}`",
        "version=- capabilities=unknown/unknown era=unknown",
    ),
    (
        "`> Q1 call t [v=2026-07-28]`, `> Q2 call t [v=2025-11-25]`",
        "mixed revisions=2026-07-28:1,2025-11-25:1 era=dual version=2025-11-25",
    ),
    (
        "> Q1 initialize{2026-07-28,capabilities:{extensions:{tasks}}}, < R1 {2026-07-28,capabilities:{tools:{}}}",
        "extensions=tasks:advertised/absent",
    ),
    (
        "> Q1 initialize{capabilities:{extensions:\"[REDACTED]\"}} [red], < R1 {capabilities:{extensions:{tasks:{}}}}",
        "extensions=tasks:unknown/advertised",
    ),
];

fn word(raw: Option<&crate::wire::Raw>) -> String {
    raw.map_or("unknown".into(), |raw| {
        String::from_utf8_lossy(raw.bytes()).into_owned()
    })
}

/// Every word that is true of a session.
fn words(session: &Session) -> Vec<String> {
    let list = |all: Vec<String>| {
        if all.is_empty() {
            "-".into()
        } else {
            all.join(",")
        }
    };
    let advert = |advert: Advert| match advert {
        Advert::Unknown => "unknown",
        Advert::Absent => "absent",
        Advert::Advertised => "advertised",
    };
    let extensions = session
        .extensions()
        .into_iter()
        .map(|one| format!("{}:{}/{}", one.name, advert(one.client), advert(one.server)));
    let revisions = session
        .revisions()
        .map(|one| format!("{}:{}", one.version, one.requests));
    let clients = session.clients().iter().chain(session.unidentified());
    let clients = clients.map(|client| {
        let revisions = client.revisions.iter();
        let revisions: Vec<_> = revisions
            .map(|one| format!("{}:{}", one.version, one.requests))
            .collect();
        format!(
            "{}({};{};{})",
            client.implementation.name,
            client.requests,
            client.scopes.len(),
            revisions.join("+")
        )
    });
    let name = |who: Option<&Implementation>| who.map_or("-".into(), |who| who.name.to_string());
    let supported = session
        .machine
        .peers
        .stated
        .supported
        .list
        .iter()
        .map(ToString::to_string);
    vec![
        format!("version={}", session.protocol_version().unwrap_or("-")),
        format!("era={}", session.era().as_str()),
        format!("client={}", name(session.client())),
        format!("server={}", name(session.server())),
        format!("supported={}", list(supported.collect())),
        format!("revisions={}", list(revisions.collect())),
        format!("extensions={}", list(extensions.collect())),
        format!("clients={}", list(clients.collect())),
        format!(
            "capabilities={}/{}",
            word(session.client_capabilities()),
            word(session.server_capabilities())
        ),
        format!(
            "info={}/{}",
            word(session.client_info()),
            word(session.server_info())
        ),
        if session.is_mixed() {
            "mixed"
        } else {
            "not-mixed"
        }
        .to_owned(),
    ]
}

#[track_caller]
fn check_words(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        let found = words(session);
        for wanted in expected.split_whitespace() {
            assert!(
                found.iter().any(|word| word == wanted),
                "{text}\n{wanted}: {found:?}"
            );
        }
    });
}

#[test]
fn revisions_14_3() {
    for (text, expected) in PAGE {
        check_words(text, expected);
    }
}

#[test]
fn revisions_and_eras_beside_the_table() {
    let cases = [
        // Nothing is counted under a word that a server refused, nor does it show an era.
        (
            "> Q1 call t [v=2027-01-01], < E1 -32022 {supported:[2026-07-28]}, > Q2 call t [v=2026-07-28]",
            "revisions=2026-07-28:1 not-mixed supported=2026-07-28 era=modern",
        ),
        (
            "> Q1 server/discover [v=2026-07-28], < E1 -32601",
            "revisions=- era=unknown version=-",
        ),
        (
            "> Q1 server/discover [v=2026-07-28], < E1 -32601, > Q2 ping [v=2026-07-28]",
            "revisions=2026-07-28:2 era=modern",
        ),
        (
            "> Q1 server/discover [v=2026-07-28], > Q2 initialize, < R2 {2025-11-25}",
            "revisions=2025-11-25:1 era=legacy",
        ),
        // A greeting shows the era before it is answered; words that say nothing show none.
        (
            "> Q1 initialize{2025-11-25}",
            "version=- revisions=- era=legacy",
        ),
        ("> Q1 ping [v=latest]", "revisions=latest:1 era=unknown"),
        ("> Q1 ping [v=DRAFT-2027]", "era=modern"),
        ("> Q1 ping [v=2025-06-18]", "era=legacy"),
        (
            "> Q1 initialize, < R1 {2025-11-25}, > Q2 ping [v=2026-07-28]",
            "era=dual mixed version=2026-07-28",
        ),
        // The request that came last counts, whatever the order of answers.
        (
            "> Q1 initialize, > Q2 ping [v=2026-07-28], < R1 {2025-11-25}",
            "version=2026-07-28",
        ),
        // Over HTTP each client has its own.
        (
            "> Q1 initialize{clientInfo:{name:a}} [c=h:1 x=1], < R1 {2025-06-18} [c=h:1 x=1 peer=p], > Q2 ping [c=h:2 peer=p x=2]",
            "revisions=2025-06-18:2",
        ),
        (
            "> Q1 initialize{clientInfo:{name:a}} [c=h:1 x=1], < R1 {2025-06-18} [c=h:1 x=1], > Q2 ping [c=g:2 x=2]",
            "revisions=2025-06-18:1",
        ),
    ];
    for (text, expected) in cases {
        check_words(text, expected);
    }
}

#[test]
fn clients_14_2_5() {
    let cases = [
        (
            "> Q1 ping, > Q2 initialize{clientInfo:{name:a}}, < R2 {2025-11-25}, > Q3 ping",
            "clients=a(2;1;2025-11-25:2),(1;1;)",
        ),
        (
            "> Q1 ping{_meta 2026-07-28, clientInfo X}, > Q2 ping{_meta 2026-07-28, clientInfo Y}, > Q3 ping{_meta 2026-07-28, clientInfo X}",
            "clients=X(2;1;2026-07-28:2),Y(1;1;2026-07-28:1)",
        ),
        (
            "> Q1 ping{_meta 2026-07-28, clientInfo X} [c=g:1], > Q2 ping{_meta 2026-07-28, clientInfo X} [c=h:1]",
            "clients=X(2;2;2026-07-28:2)",
        ),
        (
            "> Q1 initialize{clientInfo:\"[R]\"} [red]",
            "clients=(1;1;) info=unknown/unknown",
        ),
    ];
    for (text, expected) in cases {
        check_words(text, expected);
    }
}

#[test]
fn capabilities_14_2() {
    let cases = [
        // An empty object is a statement; what is absent erases nothing.
        (
            "> Q1 initialize{capabilities:{}}, < R1 {capabilities:{}}",
            "capabilities={}/{} extensions=-",
        ),
        (
            "> Q1 initialize{capabilities:{roots:{}}}, < R1 {2025-11-25}, > Q2 initialize, < R2 {capabilities:{tools:{}}}, > Q3 initialize, < R3 {}",
            "capabilities={\"roots\":{}}/{\"tools\":{}}",
        ),
        (
            "> Q1 ping{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{\"a\":1}}}",
            "capabilities={\"a\":1}/unknown",
        ),
        // Only a greeting and its answer state them at the top level.
        (
            "> Q1 x{capabilities:{a:1}}, < R1 {capabilities:{b:1}}",
            "capabilities=unknown/unknown",
        ),
        // Unknown, not absent (21).
        (
            "> Q1 initialize{capabilities:\"[R]\"} [red]",
            "capabilities=unknown/unknown",
        ),
        (
            "> Q1 initialize{capabilities:{a:1}}, > Q2 initialize{capabilities:{a:\"[R]\"}} [red]",
            "capabilities={\"a\":1}/unknown",
        ),
        (
            "> Q1 initialize{capabilities:7}, < R1 {capabilities:{extensions:{e:{}}}}",
            "extensions=e:unknown/advertised",
        ),
        (
            "> Q1 initialize{capabilities:{extensions:{}}}, < R1 {capabilities:{extensions:{e:{},d:{}}}}",
            "extensions=d:absent/advertised,e:absent/advertised",
        ),
        (
            "> Q1 initialize{clientInfo:{name:a,title:T}}, < R1 {serverInfo:{name:b}}",
            "info={\"name\":\"a\",\"title\":\"T\"}/{\"name\":\"b\"}",
        ),
        // An ordinary result names the server in `_meta` only.
        (
            "> Q1 ping, < R1 {serverInfo:{name:b}}",
            "info=unknown/unknown server=-",
        ),
        ("> Q1 ping, < R1 {_meta serverInfo S}", "server=S"),
    ];
    for (text, expected) in cases {
        check_words(text, expected);
    }
}

#[test]
fn instructions_are_kept_up_to_64_kib() {
    let answer = |length: usize| {
        let text = "é".repeat(length / 2);
        format!("> Q1 initialize, < R1 {{instructions:\"{text}\"}}")
    };
    for (length, kept, cut) in [
        (10, 10, false),
        (65_536, 65_536, false),
        (65_538, 65_536, true),
    ] {
        fold(&answer(length), Limits::NONE, |session| {
            let (text, was_cut) = session.instructions().unwrap();
            assert_eq!((text.len(), was_cut), (kept, cut));
        });
    }
    fold(
        "> Q1 ping, < R1 {instructions:x}",
        Limits::NONE,
        |session| {
            assert_eq!(session.instructions(), None);
            assert!(session.server_capabilities().is_none());
        },
    );
}
