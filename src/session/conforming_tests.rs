//! Properties of session-model.md 23: nobody is accused in a conforming capture, nor when values of it
//! were redacted or frames of it lost.

use super::{
    property_tests::{folded, key},
    table_tests::fold,
    *,
};
use crate::record::script;

/// Conforming captures: `Ok`, not one error or warning (P10), and none after values were redacted
/// (P11) or frames were lost (P12).
const CONFORMING: [&str; 20] = [
    "> Q1 initialize{protocolVersion:2024-11-05}, < R1 {protocolVersion:2024-11-05}, > N notifications/initialized, > Q2 tools/list, < R2 {tools:[s]}, > Q3 call s, < N progress{progressToken:1,progress:1}, < R3 {content:[]}",
    "> [Q1 call a, Q2 call b]\n< [R2, R1]",
    "> Q0 initialize{protocolVersion:2025-03-26}, < R0 {protocolVersion:2025-03-26}\n> [Q1 call a, Q2 call b]\n< [R2, R1]",
    "> Q0 initialize{protocolVersion:2025-11-25}, < R0 {protocolVersion:2025-11-25}, > Q0 initialize{protocolVersion:2025-03-26}, < R0 {protocolVersion:2025-03-26}\n> [Q1 ping, Q2 ping]\n< [R1, R2]",
    "> Q0 initialize{protocolVersion:2025-11-25}, < R0 {protocolVersion:2025-11-25}, > Q1 ping, < R1 {}, > Q0 initialize{protocolVersion:2025-11-25}, < R0 {protocolVersion:2025-11-25}, > Q1 ping, < R1 {}",
    "> Q1 call a, > N cancelled{1}, < Q1 roots/list, > R1 {}",
    "> Q1 call a, > N cancelled{1}, < R1 {}, > Q2 call a, < R2 {}, > N cancelled{2}, < Q2 ping, > R2 {}",
    "> Q1 initialize{protocolVersion:2025-11-25} [x=1], < R1 {protocolVersion:2025-11-25} [x=1], > N notifications/initialized [x=2], < H202 [x=2], < H405 [x=3], > Q2 call t [x=4], < R2 {} [x=4]",
    "> Q1 initialize{protocolVersion:2025-11-25} [c=a x=1], < R1 {protocolVersion:2025-11-25} [c=a x=1 peer=p], > Q2 call t [c=a x=2 peer=p], < Q1 ping [c=a x=2], > R1 {} [c=b x=3 peer=p], < H202 [c=b x=3], < R2 {} [c=a x=2], < R2 {} [c=c x=4 m=GET]",
    "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 {}",
    "> Q1 call s [v=2026-07-28], < R1 {resultType:task,taskId:t,status:working}, < N notifications/tasks{t,completed}, > Q2 subscriptions/listen, < N x, > N cancelled{2}, < R2 {}, > Q1 call s [v=2026-07-28], < R1 {}",
    "> Q1 server/discover, < E1 -32601, > Q2 initialize{protocolVersion:2025-11-25}, < R2 {protocolVersion:2025-11-25}, > Q3 ping, < R3 {}",
    "> Q1 call s{task:{},_meta:{progressToken:p}}, < N progress{progressToken:p,progress:1}, < R1 {task:{taskId:t,status:working}}, < N progress{progressToken:p,progress:2}, < N notifications/tasks/status{t,completed}, > Q2 tasks/result{t}, < R2 {content:[]}, > Q3 call s{_meta:{progressToken:p}}, < R3 {}",
    "> Q1 call a{_meta:{progressToken:p}}, < N progress{progressToken:p,progress:5}, > N cancelled{1}, < N progress{progressToken:p,progress:6}, > Q2 call b{_meta:{progressToken:p}}, < N progress{progressToken:p,progress:7}, < N progress{progressToken:p,progress:1}, < R2 {}",
    "> Q1 listen{toolsListChanged}, < N …/acknowledged{sub 1}, < N tools/list_changed{sub 1}, > Q2 call s{_meta:{progressToken:p}}, < R2 task t working, < N notifications/tasks{t,input_required}, > Q3 tasks/update{t}, < R3 {}, < N notifications/tasks{t,completed}",
    "> Q1 call t [x=4 v=2026-07-28], closed: client [x=4], > Q2 call u [x=5 v=2026-07-28], closed: server, shutdown [x=5]",
    "> Q1 call t [x=4 v=2025-11-25], closed: client [x=4], < R1 {} [x=6]",
    "> Q1 initialize{protocolVersion:2025-11-25} [x=1], < H401 ch=\"Bearer\" [x=1], > Q1 initialize{protocolVersion:2025-11-25} [x=2], < R1 {protocolVersion:2025-11-25} [x=2], > N notifications/initialized [x=3], < H202 [x=3], > Q2 call t [x=4], < R2 {} [x=4]",
    "> Q1 tools/list [v=2026-07-28], < R1 {tools:[a],nextCursor:p,ttlMs:60000,cacheScope:public}, > Q2 tools/list{cursor:p} [v=2026-07-28], < R2 {tools:[b],ttlMs:60000,cacheScope:public}, > Q3 call a [v=2026-07-28], < R3 {content:[]}, < N notifications/tools/list_changed, > Q4 tools/list [v=2026-07-28], < R4 {tools:[a],ttlMs:60000,cacheScope:public}",
    "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{j}, > Q3 retry{j}, < R3 {}, < Q1 elicitation/create{form}, > R1 {action:accept}",
];

#[test]
fn p10_p12_conforming_captures_accuse_nobody_even_when_frames_are_lost() {
    for text in CONFORMING {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.health(), Health::Ok, "{text}");
            assert_eq!(session.counters().errors, 0, "{text}");
        });
        let all = script::session(text).unwrap();
        // All of the first frames in every choice, and every pair wherever it stands.
        let pairs = (0..all.len()).flat_map(|one| (0..=one).map(move |two| 1 << one | 1 << two));
        for lost in (0..1_u64 << all.len().min(10)).chain(pairs) {
            let kept: Vec<_> = all
                .iter()
                .enumerate()
                .filter(|(at, _)| lost & (1 << at) == 0)
                .map(|(_, envelope)| envelope.clone())
                .collect();
            let model = folded(&kept, usize::MAX, Limits::NONE);
            if let Some(session) = model.session(&key("s")) {
                let counters = session.counters();
                // A refusal whose good end was lost stays one.
                let refused = text.contains("E1 -32601") || text.contains("H401");
                assert!(refused || counters.errors == 0, "{text} {lost:b}");
                assert_eq!(
                    (counters.warnings, counters.invalid),
                    (0, 0),
                    "{text} {lost:b}"
                );
            }
        }
    }
}

/// The value with every scalar in turn replaced by the placeholder.
fn redactions(value: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::Value;
    let mut all = vec![Value::from("[REDACTED]")];
    let mut inside = |key: &dyn Fn(Value) -> Value, inner: &Value| {
        all.extend(redactions(inner).into_iter().map(key));
    };
    match value {
        Value::Object(members) => {
            for (name, inner) in members {
                let put = |new: Value| {
                    let mut changed = members.clone();
                    changed.insert(name.clone(), new);
                    Value::Object(changed)
                };
                inside(&put, inner);
            }
        }
        Value::Array(elements) => {
            for (at, inner) in elements.iter().enumerate() {
                let put = |new: Value| {
                    let mut changed = elements.clone();
                    changed[at] = new;
                    Value::Array(changed)
                };
                inside(&put, inner);
            }
        }
        _ => {}
    }
    all
}

#[test]
fn p11_redaction_of_any_value_accuses_nobody() {
    let mut tried = 0;
    for text in CONFORMING {
        let all = script::session(text).unwrap();
        for at in 0..all.len() {
            let crate::record::Payload::Raw(raw) = &all[at].payload else {
                continue;
            };
            let value = serde_json::from_slice(raw.bytes()).unwrap();
            for redacted in redactions(&value) {
                let mut changed = all.clone();
                let json = redacted.to_string();
                changed[at].payload =
                    crate::record::Payload::Raw(crate::wire::Raw::new(json.clone().into()));
                changed[at].redacted = true;
                let model = folded(&changed, usize::MAX, Limits::NONE);
                let counters = model.session(&key("s")).unwrap().counters();
                assert_eq!(counters.warnings, 0, "{text}\n{json}");
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}
