//! Floods of progress, tasks and subscriptions: each frame stays cheap and what is kept is bounded
//! (session-model.md 22.3, 23 P9). A fold that looks at all that came before would take hours.

use std::sync::Arc;

use super::{table_tests::check_sums, *};
use crate::{
    record::{Envelope, HostName, Payload, Seq, SessionKey, script},
    wire::Raw,
};

/// Frames of one kind: more than any of the bounds.
const FLOOD: u64 = 30_000;

struct Flood {
    key: SessionKey,
    model: Model,
    templates: Vec<Envelope>,
    seq: u64,
}

impl Flood {
    fn new() -> Self {
        Self {
            key: SessionKey {
                host: HostName::local(),
                id: Arc::from("s"),
            },
            model: Model::new(Limits::LIVE),
            templates: script::session("> Q1 x, < R1 {}").unwrap(),
            seq: 0,
        }
    }

    /// A frame of the client (true) or the server, without `jsonrpc`.
    fn send(&mut self, from_client: bool, rest: &str) {
        self.seq += 1;
        let mut envelope = self.templates[usize::from(!from_client)].clone();
        envelope.seq = Seq(self.seq);
        let json = format!("{{\"jsonrpc\":\"2.0\",{rest}}}");
        envelope.payload = Payload::Raw(Raw::new(json.into()));
        self.model
            .ingest(&self.key, &envelope, None, None, &mut Vec::new());
    }

    fn ask(&mut self, id: u64, token: &str) {
        self.send(
            true,
            &format!(
                "\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"t\",\"_meta\":{{\"progressToken\":{token}}}}}"
            ),
        );
    }

    fn told(&mut self, token: &str, value: u64) {
        self.send(
            false,
            &format!(
                "\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":{value}}}"
            ),
        );
    }

    fn session(&self) -> &Session {
        let session = self.model.session(&self.key).unwrap();
        check_sums(session);
        session
    }
}

#[test]
fn cancelled_calls_wait_for_their_answers_only_while_these_could_be_linked() {
    let mut flood = Flood::new();
    flood.model = Model::new(Limits {
        rows: Some(100),
        ..Limits::LIVE
    });
    for id in 0..66_000 {
        flood.send(true, &format!("\"id\":{id},\"method\":\"x\""));
        flood.send(
            true,
            &format!("\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}"),
        );
    }
    let session = flood.model.session(&flood.key).unwrap();
    check_sums(session);
    assert_eq!(session.counters().cancelled, 66_000);
    assert!(session.calls().count() <= 65_537);
}

#[test]
fn progress_of_one_call() {
    let mut flood = Flood::new();
    flood.ask(1, "\"p\"");
    for value in 0..FLOOD {
        flood.told("\"p\"", value);
    }
    flood.send(false, "\"id\":1,\"result\":{}");
    let session = flood.session();
    let call = session.call(CallId(0)).unwrap();
    assert_eq!(u64::from(call.progress_count), FLOOD);
    assert!(call.linked.len() <= 256);
    let told = call.progress.as_deref().unwrap();
    assert_eq!(told.value.as_deref(), Some(&*(FLOOD - 1).to_string()));
    assert_eq!(session.counters().warnings, 0);
}

#[test]
fn one_token_of_many_requests() {
    let mut flood = Flood::new();
    for id in 0..FLOOD {
        flood.ask(id, "7");
        if id % 16 == 0 {
            flood.told("7", 1);
        }
    }
    let session = flood.session();
    // Beyond what is looked at nobody is accused of what cannot be told apart.
    assert_eq!(session.counters().warnings, 31);
    assert_eq!(session.counters().pending, FLOOD);
}

#[test]
fn tokens_of_many_answered_requests() {
    let mut flood = Flood::new();
    for id in 0..FLOOD / 4 {
        flood.ask(id, &id.to_string());
        flood.send(false, &format!("\"id\":{id},\"result\":{{}}"));
        // The first one is used again and again, and so is not forgotten.
        flood.told("0", 1);
    }
    flood.told("1", 1);
    let session = flood.session();
    assert_eq!(session.machine.hops.token_order.len(), 4_096);
    assert_eq!(session.forgotten().progress_tokens, FLOOD / 4 - 4_096);
    assert_eq!(session.counters().warnings, FLOOD / 4);
}

#[test]
fn many_tasks() {
    let mut flood = Flood::new();
    for id in 0..FLOOD / 2 {
        flood.ask(id, &id.to_string());
        flood.send(
            false,
            &format!("\"id\":{id},\"result\":{{\"resultType\":\"task\",\"taskId\":\"t{id}\",\"status\":\"working\"}}"),
        );
        if id % 4 == 0 {
            flood.send(
                false,
                &format!("\"method\":\"notifications/tasks\",\"params\":{{\"taskId\":\"t{id}\",\"status\":\"completed\"}}"),
            );
        }
    }
    for id in 0..FLOOD / 2 {
        flood.send(
            false,
            &format!("\"method\":\"notifications/tasks\",\"params\":{{\"taskId\":\"u{id}\",\"status\":\"working\"}}"),
        );
    }
    let session = flood.session();
    assert_eq!(session.tasks().len(), 10_000);
    let counters = session.counters();
    assert_eq!(session.forgotten().tasks, FLOOD - 10_000);
    assert_eq!(counters.completed, FLOOD / 8);
    // Nobody will tell of the end of those that were forgotten: they are owed nothing.
    assert_eq!(counters.pending, FLOOD / 8 * 3);
    assert!(session.machine.owed < 10_000, "{}", session.machine.owed);
}

#[test]
fn many_subscriptions() {
    let mut flood = Flood::new();
    let uri = "x".repeat(1_000);
    for id in 0..FLOOD / 4 {
        let listen = format!(
            "\"id\":{id},\"method\":\"subscriptions/listen\",\"params\":{{\"notifications\":{{\"resourceSubscriptions\":[\"{uri}\"]}}}}"
        );
        flood.send(true, &listen);
        let told = format!(
            "\"method\":\"m{id}\",\"params\":{{\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":0}}}}"
        );
        flood.send(false, &told);
        if id % 4 > 0 {
            flood.send(false, &format!("\"id\":{id},\"result\":{{}}"));
        }
    }
    let session = flood.session();
    let all: Vec<_> = session.subscriptions().collect();
    assert_eq!(all.len() as u64, FLOOD / 16 + 1_024);
    assert_eq!(session.forgotten().subscriptions, FLOOD / 16 * 3 - 1_024);
    assert_eq!(all[0].delivered.len(), 32);
    assert_eq!(all[0].delivered_more, FLOOD / 4 - 32);
    let kept: usize = all
        .iter()
        .flat_map(|told| &told.requested.uris)
        .map(|uri| uri.len())
        .sum();
    assert!(kept <= 4 << 20, "{kept}");
}

/// Requests of one HTTP exchange that nobody closes. A fold that looks at all that wait on it for each
/// frame takes minutes.
#[test]
fn one_exchange_of_very_many_requests() {
    let mut flood = Flood::new();
    flood.templates = script::session(
        "> Q1 x [c=a x=5], < R1 {} [c=a x=5], < H200 [unobserved c=a x=5], closed: server, shutdown [x=5]",
    )
    .unwrap();
    let tell = |flood: &mut Flood, template: usize| {
        flood.seq += 1;
        let mut envelope = flood.templates[template].clone();
        envelope.seq = Seq(flood.seq);
        flood
            .model
            .ingest(&flood.key, &envelope, None, None, &mut Vec::new());
    };
    let started = std::time::Instant::now();
    for id in 0..FLOOD {
        flood.send(true, &format!("\"id\":{id},\"method\":\"x\""));
    }
    for _ in 0..FLOOD {
        tell(&mut flood, 2);
        tell(&mut flood, 3);
    }
    let counters = flood.session().counters();
    assert_eq!(
        (counters.pending, counters.pending_uncertain),
        (FLOOD, FLOOD)
    );
    for id in 0..FLOOD {
        flood.send(false, "\"method\":\"notifications/tools/list_changed\"");
        flood.send(false, &format!("\"id\":{id},\"result\":{{}}"));
    }
    let counters = flood.session().counters();
    assert_eq!((counters.completed, counters.pending), (FLOOD, 0));
    assert_eq!(counters.warnings, 0);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
