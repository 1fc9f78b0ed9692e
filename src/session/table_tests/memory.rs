//! Session-model.md 22: its tables as tests.

use super::*;

#[test]
fn memory_22_2() {
    let rows = |rows| Limits {
        rows: Some(rows),
        ..Limits::NONE
    };
    let bodies = |bytes| Limits {
        body_bytes: Some(bytes),
        ..Limits::NONE
    };
    let text = "> Q1 call t, > Q2 ping, < R2 {}, @500 < R1 {isError:true}";
    fold(text, rows(2), |session| {
        let tool = &session.tools()["t"];
        assert_eq!((tool.calls, tool.tool_errors), (1, 1));
        assert_eq!(tool.durations.percentile(50), 500_000_000);
        assert_eq!(session.row_count(), 2);
        assert_eq!(
            (session.counters().pending, session.counters().errors),
            (0, 1)
        );
        assert_eq!(session.counters().dropped_from_memory, 2);
        check_sums(session);
    });
    let text = "> Q1 call b, @400 < R1 IR{k;st=S}, @5000 > Q2 retry{k;st=S}, @5100 < R2 {}";
    fold(text, bodies(1), |session| {
        check_session(text, session, "completed server=500 client=4600 hops=2");
        let bodies: Vec<_> = (0..4).map(|at| session.row(at).unwrap().body).collect();
        assert!(matches!(bodies[0], Body::Released));
        assert!(matches!(bodies[3], Body::Held { .. }));
    });
}

#[test]
fn the_newest_body_is_held_whatever_its_size() {
    let limits = Limits {
        body_bytes: Some(1 << 20),
        ..Limits::NONE
    };
    let mut model = Model::new(limits);
    let big = format!("> N x{{\"a\":\"{}\"}}", "y".repeat(10 << 20));
    let frames = script::session(&format!("{big}\n> N small")).unwrap();
    let facts = &mut Vec::new();
    model.ingest(&key(), &frames[0], None, None, facts);
    assert!(model.body_bytes() > 10 << 20);
    model.ingest(&key(), &frames[1], None, None, facts);
    assert!(model.body_bytes() < 1_000);
    let session = model.session(&key()).unwrap();
    assert!(matches!(session.row(0).unwrap().body, Body::Released));
    assert!(model.remove(&key()));
    assert_eq!(model.body_bytes(), 0);
}
