//! One overflow of each store, by its name (session-model.md 22.3).

use std::fmt::Write as _;

use super::*;
use crate::{
    record::{Envelope, Payload, Seq, script},
    session::{
        call::{CallId, Resolved},
        definition::ListKind,
        freshness::Fresh,
        hops::{ClientKey, Side},
        late::Frame,
        property_tests::key,
        resolving::{Need, Refusal},
        revisions::Counted,
        row::RowId,
        seqs::Seqs,
        stats::ToolStats,
    },
    wire::Raw,
};

/// A machine that is fed message by message.
#[derive(Default)]
struct Fed {
    machine: Machine,
    seq: u64,
}

impl Fed {
    fn take(&mut self, mut envelope: Envelope) {
        self.seq += 1;
        envelope.seq = Seq(self.seq);
        let frame = Frame {
            envelope,
            place: None,
            arrived: None,
        };
        let arrival = frame.arrival(&Seqs::default(), false, true);
        self.machine
            .frame(&frame.envelope, arrival, &mut Vec::new());
    }

    fn script(&mut self, text: &str) {
        for envelope in script::session(text).unwrap() {
            self.take(envelope);
        }
    }

    /// A message of the client (true) or the server, without `jsonrpc`.
    fn send(&mut self, from_client: bool, rest: &str) {
        thread_local! {
            static TEMPLATES: Vec<Envelope> = script::session("> Q1 x, < R1 {}").unwrap();
        }
        let at = usize::from(!from_client);
        let mut envelope = TEMPLATES.with(|templates| templates[at].clone());
        let json = format!("{{\"jsonrpc\":\"2.0\",{rest}}}");
        envelope.payload = Payload::Raw(Raw::new(json.into()));
        self.take(envelope);
    }

    fn ask(&mut self, id: u64, method: &str, params: &str) {
        let rest = format!("\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}");
        self.send(true, &rest);
    }

    fn answer(&mut self, id: u64, result: &str) {
        self.send(false, &format!("\"id\":{id},\"result\":{{{result}}}"));
    }

    /// What was forgotten, as `store=count`.
    fn forgotten(&self) -> String {
        let forgotten = self.machine.forgotten();
        let all = forgotten.named();
        let all: Vec<_> = all.map(|(name, count)| format!("{name}={count}")).collect();
        all.join(" ")
    }
}

#[track_caller]
fn check(fill: impl FnOnce(&mut Fed), expected: &str) {
    let mut fed = Fed::default();
    fill(&mut fed);
    assert_eq!(fed.forgotten(), expected);
}

fn of_peer(peer: u32) -> ClientKey {
    ClientKey {
        peer,
        ..ClientKey::default()
    }
}

fn client_info(name: u64) -> String {
    format!(
        "\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{{\"name\":\"c{name}\",\"version\":\"1\"}}"
    )
}

fn tools(names: std::ops::Range<u32>, more: &str) -> String {
    let mut list = String::from("\"tools\":[");
    for name in names {
        write!(list, "{{\"name\":\"t{name}\"{more}}},").unwrap();
    }
    list.pop();
    list + "]"
}

#[test]
fn usual_traffic_forgets_nothing() {
    check(
        |fed| {
            fed.ask(1, "initialize", &client_info(1));
            fed.answer(1, "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}");
            fed.ask(2, "tools/list", "");
            fed.answer(2, &tools(0..9, ",\"annotations\":{\"readOnlyHint\":true}"));
            fed.ask(3, "tools/call", "\"name\":\"t1\"");
            fed.answer(3, "");
        },
        "",
    );
}

#[test]
fn calls() {
    check(
        |fed| {
            fed.ask(1, "x", "");
            let open = &mut fed.machine.open;
            open.extend((9_000..108_999).map(|at| (Seq(at.into()), CallId(at))));
            fed.ask(2, "x", "");
        },
        "calls=1",
    );
}

#[test]
fn tasks() {
    let known = |fed: &mut Fed, count: usize| {
        for at in 0..count {
            let added = fed.machine.tasks.add(Side::Server, &at.to_string(), None);
            assert!(added.is_none());
        }
        let rest = "\"method\":\"notifications/tasks\",\"params\":{\"taskId\":\"t\",\"status\":\"working\"}";
        fed.send(false, rest);
    };
    check(|fed| known(fed, 9_999), "");
    check(|fed| known(fed, 10_000), "tasks=1");
}

#[test]
fn subscriptions() {
    check(
        |fed| {
            for id in 0..1_025 {
                fed.ask(id, "subscriptions/listen", "\"notifications\":{}");
                fed.answer(id, "");
            }
        },
        "subscriptions=1",
    );
    let texts = |fed: &mut Fed| {
        assert!(fed.machine.streams.has_room(4 << 20));
        fed.ask(
            1,
            "subscriptions/listen",
            "\"notifications\":{\"resourceSubscriptions\":[\"a\",\"b\"]}",
        );
    };
    check(texts, "subscription_texts=2");
}

#[test]
fn answers() {
    check(
        |fed| {
            for _ in 0..129 {
                fed.ask(1, "x", "");
                fed.answer(1, "");
            }
        },
        "answered_requests=1",
    );
    check(
        |fed| (0..65).for_each(|id| fed.answer(id, "")),
        "early_answers=1",
    );
    check(
        |fed| {
            let row = RowId::default();
            let cut = &mut fed.machine.cut;
            cut.extend((9_000..9_000 + 4_096).map(|exchange| (exchange, (0, row))));
            fed.script("> Q1 call t [x=4], < T \"{\"id\":1,\"result\":{\" [trunc x=4]");
        },
        "cut_answers=1",
    );
    check(
        |fed| {
            fed.machine.exchanges.extend(9_000..9_000 + 65_536);
            fed.script("> Q1 call t [x=4]");
        },
        "exchanges=65536",
    );
}

#[test]
fn progress_tokens() {
    let many = |fed: &mut Fed, same: bool| {
        for id in 0..if same { 33 } else { 4_097 } {
            let token = if same { 7 } else { id };
            fed.ask(id, "x", &format!("\"_meta\":{{\"progressToken\":{token}}}"));
            if !same {
                fed.answer(id, "");
            }
        }
    };
    check(|fed| many(fed, true), "progress_tokens=1");
    check(|fed| many(fed, false), "progress_tokens=1");
}

#[test]
fn peers() {
    let greet = |fed: &mut Fed, count| {
        (0..count).for_each(|at| fed.ask(at, "initialize", &client_info(at)));
    };
    check(|fed| greet(fed, 1_024), "");
    check(|fed| greet(fed, 1_025), "clients=1");
    check(
        |fed| {
            (0..1_025).for_each(|host| fed.script(&format!("> Q{host} initialize [c=h{host}:1]")));
        },
        "client_scopes=961 id_scopes=1",
    );
    let with = |fill: fn(&mut crate::session::peers::Peers), expected| {
        check(|fed| fill(&mut fed.machine.peers), expected);
    };
    with(
        |peers| (0..65).for_each(|peer| peers.count(of_peer(peer))),
        "client_scopes=1",
    );
    with(
        |peers| {
            (0..4_098).for_each(|conn| {
                peers.client_key(None, conn, (None, false), false);
            });
        },
        "connections=4097",
    );
    with(
        |peers| {
            (0..65_537).for_each(|name| {
                peers.number(&name.to_string());
            });
        },
        "peers=1",
    );
    check(
        |fed| (0..65).for_each(|id| fed.ask(id, "server/discover", "")),
        "probes=1",
    );
}

#[test]
fn revisions() {
    check(
        |fed| {
            (0..1_025).for_each(|name| {
                fed.machine.peers.revisions.number(&name.to_string());
            });
        },
        "revisions=1",
    );
    check(
        |fed| {
            (0..4_097).for_each(|peer| {
                fed.machine.peers.revisions.negotiate(of_peer(peer), "x");
            });
        },
        "negotiations=4096",
    );
}

#[test]
fn refusals() {
    let refusal = |seq| Refusal {
        call: None,
        row: RowId::default(),
        seq: Seq(seq),
        exchange: seq,
        client: ClientKey::default(),
        counted: Counted::default(),
        needs: [(Need::Greeting, Resolved::Era)].into_iter().collect(),
    };
    check(
        |fed| {
            (0..4_097).for_each(|seq| {
                fed.machine.refusals.add(refusal(seq));
            });
        },
        "refusals=1",
    );
    let who = |who| ClientKey {
        who,
        ..ClientKey::default()
    };
    check(
        |fed| (0..4_097).for_each(|at| fed.machine.refusals.succeeded(who(at))),
        "successes=4096",
    );
}

#[test]
fn states() {
    let state = |at: u32| std::array::from_fn(|byte| at.to_le_bytes()[byte % 4]);
    check(
        |fed| (0..4_097).for_each(|at| fed.machine.issued.issue(state(at), 0)),
        "request_states=1",
    );
}

#[test]
fn listings() {
    check(
        |fed| {
            for id in 0..4_097 {
                fed.ask(id, "tools/list", "");
                fed.answer(id, &format!("\"tools\":[],\"nextCursor\":\"c{id}\""));
            }
        },
        "cursors=1 listing_runs=4033",
    );
    check(
        |fed| {
            fed.ask(1, "tools/list", "");
            fed.answer(1, &tools(0..10_007, ""));
        },
        "listing_entries=7",
    );
    let page = |bytes: usize| format!("[{{\"name\":\"a\",\"x\":\"{}\"}}]", "x".repeat(bytes));
    for (bytes, expected) in [(1 << 20, ""), (17 << 20, "listing_texts=1")] {
        check(
            |fed| {
                let listed = page(bytes);
                let listings = &mut fed.machine.listings;
                listings.page(ListKind::Tools, listed.as_bytes(), false);
            },
            expected,
        );
    }
    check(
        |fed| {
            fed.machine.listings.ever.extend(0..65_536);
            fed.ask(1, "tools/list", "");
            fed.answer(1, &tools(0..3, ""));
        },
        "listed_names=3",
    );
    check(
        |fed| {
            for (id, names) in [(1, 0..9_000), (2, 8_999..16_390)] {
                fed.ask(id, "tools/list", "");
                fed.answer(
                    id,
                    &tools(names, ",\"annotations\":{\"readOnlyHint\":true}"),
                );
            }
        },
        "harmless_tools=6",
    );
}

#[test]
fn names() {
    check(
        |fed| {
            let names = (0..10_000).map(|at: u32| (at.to_string().into(), ToolStats::default()));
            fed.machine.tools.extend(names);
            for (id, name) in [(1, "7"), (2, "a"), (3, "b")] {
                fed.ask(id, "tools/call", &format!("\"name\":\"{name}\""));
                fed.answer(id, "");
            }
        },
        "tool_names=2",
    );
    check(
        |fed| {
            (0..16_385).for_each(|name| {
                fed.machine.atoms.number(&name.to_string());
            });
        },
        "names=1",
    );
}

#[test]
fn caches() {
    let fresh = Fresh {
        received: 0,
        until: 0,
        seq: Seq(1),
        run: None,
    };
    check(
        |fed| {
            (0..4_097).for_each(|at| {
                fed.machine.caches.fresh.insert(at, fresh);
            });
        },
        "cache_entries=1",
    );
    check(
        |fed| {
            for at in 0..4_097 {
                let params = format!("{{\"uri\":\"u{at}\"}}");
                let params = Some(params.as_bytes());
                fed.machine.caches.updated(params, false, Seq(1));
            }
        },
        "cache_events=1",
    );
}

#[test]
fn repeats() {
    check(
        |fed| {
            (0..4_097_u32).for_each(|at| {
                fed.machine.repeats.add_attempt(at.into(), CallId(at));
            });
        },
        "call_signatures=1",
    );
    check(
        |fed| (0..4_098).for_each(|id| fed.ask(id, "tools/call", "\"name\":\"t\"")),
        "repeated_calls=1",
    );
}

#[test]
fn statements() {
    let greet = |fed: &mut Fed, capabilities: &str| {
        let params = format!("\"capabilities\":{{{capabilities}}}");
        fed.ask(1, "initialize", &params);
    };
    let long = format!("\"x\":\"{}\"", "x".repeat(256 << 10));
    check(|fed| greet(fed, &long), "statements=1");
    let named = |from: u32, to: u32| {
        let names: Vec<_> = (from..to).map(|name| format!("\"e{name}\":{{}}")).collect();
        format!("\"extensions\":{{{}}}", names.join(","))
    };
    check(|fed| greet(fed, &named(0, 1_024)), "");
    check(|fed| greet(fed, &named(0, 1_025)), "extensions=1");
    check(
        |fed| {
            greet(fed, &named(0, 1_000));
            let theirs = named(500, 1_100);
            fed.answer(1, &format!("\"capabilities\":{{{theirs}}}"));
        },
        "extensions=76",
    );
    let versions: Vec<_> = (0..257).map(|name| format!("\"v{name}\"")).collect();
    let versions = versions.join(",");
    check(
        |fed| {
            fed.ask(1, "server/discover", "");
            fed.answer(1, &format!("\"supportedVersions\":[{versions}]"));
        },
        "supported_versions=1",
    );
    check(
        |fed| {
            fed.ask(1, "x", "");
            let data = format!("{{\"supported\":[{versions}]}}");
            fed.send(
                false,
                &format!("\"id\":1,\"error\":{{\"code\":-32022,\"message\":\"\",\"data\":{data}}}"),
            );
        },
        "supported_versions=1",
    );
}

#[test]
fn conflicts() {
    let mut session = Session::new(key("s"), true, false, false);
    for seq in (1..=4_097).chain([1, 4_096]) {
        session.conflict(Seq(seq));
    }
    let forgotten = session.forgotten();
    let named: Vec<_> = forgotten.named().collect();
    assert_eq!(named, [("conflicts", 1)]);
    assert_eq!(session.counters().conflicts, 4_096);
}
