//! Session-model.md 11.5 and 11.6: the view of the hops, and bounds that hostile peers meet.

use super::*;
use crate::{
    record::{Envelope, Payload, Seq},
    wire::Raw,
};

/// Each hop as `id asked server client`, and what else is true of it.
fn hops_of(session: &Session, call: u32) -> Vec<String> {
    let call = session.call(CallId(call)).unwrap();
    let interaction = call.interaction();
    let all = interaction.hops.iter().map(|hop| {
        let mut text = format!(
            "{} [{}] {} {}",
            &**hop.request_id,
            hop.asked.join(" "),
            hop.server_nanos / 1_000_000,
            hop.client_nanos / 1_000_000
        );
        for (on, word) in [
            (hop.asked_unknown, " asked_unknown"),
            (hop.pending, " pending"),
            (hop.state_issue.is_some(), " issue"),
            (hop.response.is_some(), " answered"),
            (hop.response_at.is_some(), " at"),
        ] {
            text.push_str(if on { word } else { "" });
        }
        text
    });
    all.collect()
}

#[test]
fn hops_tell_whose_time_it_was() {
    let rounds = "> Q1 call b, @400 < R1 IR{k,s:sampling;st=A}, @12400 > Q2 retry{k,s;st=A}, @12700 < R2 IR{s:roots;st=B}, @37700 > Q3 retry{s;st=C}";
    let first = "1 [elicitation/create sampling/createMessage] 400 0 answered at";
    let second = "2 [roots/list] 300 12000 answered at";
    fold(rounds, Limits::NONE, |session| {
        let third = "3 [] 0 25000 pending issue";
        assert_eq!(hops_of(session, 0), [first, second, third]);
        let call = session.call(CallId(0)).unwrap();
        let interaction = call.interaction();
        assert!(interaction.hops_complete && !interaction.is_measurable);
    });
    let settled = format!("{rounds}, @38200 < R3 {{}}");
    fold(
        &settled,
        Limits {
            body_bytes: Some(1),
            ..Limits::NONE
        },
        |session| {
            let third = "3 [] 500 25000 issue answered at";
            assert_eq!(hops_of(session, 0), [first, second, third]);
            let call = session.call(CallId(0)).unwrap();
            let interaction = call.interaction();
            assert!(interaction.hops_complete && interaction.is_measurable);
            assert_eq!(interaction.duration_nanos, 38_200_000_000);
            assert_eq!(interaction.round_trips, 3);
        },
    );
    // A request of the server: the shares swap.
    let swapped = "< Q1 x, @400 > R1 IR{k;st=A}, @1000 < Q2 retry{k;st=A}, @1100 > R2 {}";
    fold(swapped, Limits::NONE, |session| {
        let hops = [
            "1 [elicitation/create] 0 400 answered at",
            "2 [] 600 100 answered at",
        ];
        assert_eq!(hops_of(session, 0), hops);
        assert!(session.call(CallId(0)).unwrap().interaction().hops_complete);
    });
    // Time of a task belongs to no request.
    let task = "> Q1 call b, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1100 < R2 task t working, @9000 < N notifications/tasks{t,completed}";
    fold(task, Limits::NONE, |session| {
        assert_eq!(hops_of(session, 0)[1], "2 [] 100 600 answered at");
        let call = session.call(CallId(0)).unwrap();
        assert!(!call.interaction().hops_complete);
        assert_eq!(call.duration_nanos(), Some(9_000_000_000));
    });
    let redacted = r#"> Q1 call b, < R1 {resultType:input_required,inputRequests:"[REDACTED]",requestState:S} [red], > Q2 retry{k;st=S}"#;
    fold(redacted, Limits::NONE, |session| {
        assert_eq!(hops_of(session, 0)[0], "1 [] 0 0 asked_unknown answered at");
    });
    fold(
        "> Q1 call b, < R1 {}, > Q2 call b, < R2 IR{k}",
        Limits::NONE,
        |session| {
            for call in session.calls() {
                assert!(call.interaction().hops.is_empty() && call.interaction().hops_complete);
            }
            // An ordinary call keeps no rounds.
            assert!(session.call(CallId(0)).unwrap().rounds.is_none());
        },
    );
}

/// Folds frames that are built one by one.
struct Built {
    model: Model,
    seq: u64,
    templates: Vec<Envelope>,
}

impl Built {
    fn new() -> Self {
        Self {
            model: Model::new(Limits::LIVE),
            seq: 0,
            templates: script::session("> Q1 x, < R1 {}").unwrap(),
        }
    }

    fn frame(&mut self, from_client: bool, json: String) {
        let mut envelope = self.templates[usize::from(!from_client)].clone();
        self.seq += 1;
        envelope.seq = Seq(self.seq);
        envelope.payload = Payload::Raw(Raw::new(json.into()));
        self.model
            .ingest(&key(), &envelope, None, None, &mut Vec::new());
    }

    fn ask(&mut self, id: u64, params: &str) {
        self.frame(
            true,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params}}}}}"#),
        );
    }

    fn answer(&mut self, id: u64, result: &str) {
        self.frame(
            false,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{result}}}}}"#),
        );
    }

    fn session(&self) -> &Session {
        self.model.session(&key()).unwrap()
    }
}

const ASKS: &str = r#""resultType":"input_required","inputRequests":{"k":{"method":"x"}}"#;
const NAME: &str = r#""name":"t""#;
const ANSWERS: &str = r#""inputResponses":{"k":{}}"#;

#[test]
fn at_the_bound_the_oldest_parked_call_is_retired() {
    let mut built = Built::new();
    for id in 0..1_025 {
        built.ask(id, NAME);
        built.answer(id, &format!(r#"{ASKS},"requestState":"S{id}""#));
    }
    built.ask(5_000, &format!(r#"{NAME},{ANSWERS},"requestState":"S0""#));
    built.ask(5_001, &format!(r#"{NAME},{ANSWERS},"requestState":"S1""#));
    let session = built.session();
    check_sums(session);
    assert_eq!(session.counters().retired_exchanges, 1);
    let call = |id| session.call(CallId(id)).unwrap().into_owned();
    assert!(call(0).retired && call(0).status() == DisplayStatus::Input);
    assert_eq!((call(1).hop_count, call(1_025).hop_count), (2, 1));
    assert_eq!(session.call_count(), 1_026);
}

/// Each of these takes hours when one frame looks at all former ones.
#[test]
fn hostile_exchanges_stay_cheap() {
    // 10^5 parked calls with one state and one key set, retries that fit them all.
    let mut built = Built::new();
    for id in 0..100_000 {
        built.ask(id, &format!(r#"{NAME},"arguments":{id}"#));
        built.answer(id, &format!(r#"{ASKS},"requestState":"S""#));
        if id % 1_024 == 1_023 {
            built.ask(
                1_000_000 + id,
                &format!(r#"{NAME},{ANSWERS},"requestState":"S""#),
            );
        }
    }
    let session = built.session();
    check_sums(session);
    assert!(session.counters().retired_exchanges > 90_000);
    assert_eq!(session.counters().warnings, 0);
    // One operation of many hops.
    let mut built = Built::new();
    built.ask(0, NAME);
    for id in 0..3_000 {
        built.answer(id, &format!(r#"{ASKS},"requestState":"S{id}""#));
        built.ask(
            id + 1,
            &format!(r#"{NAME},{ANSWERS},"requestState":"S{id}""#),
        );
    }
    let call = built.session().call(CallId(0)).unwrap().into_owned();
    let interaction = call.interaction();
    assert_eq!(
        (interaction.round_trips, interaction.hops.len()),
        (3_001, 256)
    );
    assert!(!interaction.hops_complete);
    assert_eq!(built.session().counters().warnings, 0);
}
