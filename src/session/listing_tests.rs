//! Peers that list without end: each frame stays cheap, and what is kept stays within its bounds
//! (session-model.md 22.3, P9).

use std::{fmt::Write as _, sync::Arc};

use super::*;
use crate::record::{HostName, Seq, SessionKey, script};

/// A session that is fed message by message.
struct Fed {
    model: Model,
    key: SessionKey,
    template: crate::record::Envelope,
    seq: u64,
}

impl Fed {
    fn new() -> Self {
        Self {
            model: Model::new(Limits::LIVE),
            key: SessionKey {
                host: HostName::local(),
                id: Arc::from("s"),
            },
            template: script::session("> N x").unwrap().remove(0),
            seq: 0,
        }
    }

    fn take(&mut self, from_client: bool, json: String) {
        use crate::record::{Direction, Payload};
        self.seq += 1;
        self.template.seq = Seq(self.seq);
        self.template.direction = if from_client {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        };
        self.template.payload = Payload::Raw(crate::wire::Raw::new(json.into()));
        let facts = &mut Vec::new();
        self.model
            .ingest(&self.key, &self.template, None, None, facts);
    }

    fn list(&mut self, id: usize, params: &str, result: &str) {
        let version = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}";
        self.take(
            true,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\",\"params\":{{{params}{version}}}}}"),
        );
        self.take(
            false,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{result}}}}}"),
        );
    }

    fn session(&self) -> &Session {
        self.model.session(&self.key).unwrap()
    }

    #[track_caller]
    fn check_bounds(&self) -> [usize; 4] {
        let weight = self.session().machine.listings.weight();
        let [runs, pages, text, entries] = weight;
        assert!(runs <= 64 && pages <= 4_200, "{weight:?}");
        assert!(text <= 16 << 20 && entries <= 65_536 + 10_000, "{weight:?}");
        weight
    }
}

fn tools(names: impl Iterator<Item = usize>, padding: usize) -> String {
    let mut text = String::from("\"tools\":[");
    for (at, name) in names.enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let padding = "x".repeat(padding);
        write!(
            text,
            "{comma}{{\"name\":\"t{name}\",\"description\":\"{padding}\"}}"
        )
        .unwrap();
    }
    text.push(']');
    text
}

#[test]
fn a_client_that_lists_before_every_call_takes_no_memory() {
    let mut fed = Fed::new();
    let listing = tools(0..20, 10);
    for id in 0..25_000 {
        fed.list(id, "", &listing);
    }
    assert_eq!(fed.check_bounds()[..2], [1, 1]);
    let tools = fed.session().inventory(ListKind::Tools).unwrap();
    assert_eq!((tools.generation, tools.entries().len()), (25_000, 20));
}

#[test]
fn a_list_that_always_changes_keeps_its_last_state() {
    let mut fed = Fed::new();
    for id in 0..10_000 {
        fed.list(id, "", &tools(id..id + 3, 10));
    }
    assert_eq!(fed.check_bounds()[..2], [1, 1]);
    let tools = fed.session().inventory(ListKind::Tools).unwrap();
    assert_eq!(tools.entries()[0].name(), "t9999");
}

#[test]
fn listings_that_nobody_finishes_leave_one_by_one() {
    let mut fed = Fed::new();
    for id in 0..10_000 {
        let next = format!("{},\"nextCursor\":\"p\"", tools(id..id + 3, 10));
        fed.list(id, "", &next);
    }
    assert_eq!(fed.check_bounds()[0], 64);
    assert_eq!(fed.session().forgotten().listing_runs, 10_000 - 64);
    // The cursor of a run that has left is nobody's; that of the newest is.
    fed.list(99_999, "\"cursor\":\"p\",", &tools(7..8, 1));
    let tools = fed.session().inventory(ListKind::Tools).unwrap();
    assert!(tools.complete && tools.entries().len() == 4);
}

#[test]
fn cursors_that_never_end_stop_at_the_bound() {
    let mut fed = Fed::new();
    fed.list(0, "", &format!("{},\"nextCursor\":\"c1\"", tools(0..1, 1)));
    for id in 1..10_000 {
        let result = format!("\"tools\":[],\"nextCursor\":\"c{}\"", id + 1);
        fed.list(id, &format!("\"cursor\":\"c{id}\","), &result);
    }
    fed.check_bounds();
    let tools = fed.session().inventory(ListKind::Tools).unwrap();
    assert!(tools.overflows && !tools.complete && tools.entries().len() == 1);
    // Empty pages that lead to one another are no run that grows.
    for id in 10_000..15_000 {
        let next = if id % 2 == 0 { "a" } else { "b" };
        let result = format!("\"tools\":[],\"nextCursor\":\"{next}\"");
        fed.list(id, "\"cursor\":\"a\",", &result);
    }
    fed.check_bounds();
}

#[test]
fn one_listing_of_100_000_tools_is_counted_and_never_complete() {
    let mut fed = Fed::new();
    fed.list(1, "", &tools(0..100_000, 30));
    assert_eq!(fed.check_bounds()[3], 10_000);
    let found = fed.session().inventory(ListKind::Tools).unwrap();
    assert!(found.overflows && !found.complete);
    assert_eq!((found.entries().len(), found.surplus), (10_000, 90_000));
    assert_eq!(
        fed.session().usage().unwrap().unadvertised,
        Vec::<&str>::new()
    );
    for id in 2..10 {
        fed.list(id, "", &tools(id..id + 9_000, 30));
    }
    fed.check_bounds();
    let found = fed.session().inventory(ListKind::Tools).unwrap();
    assert!(found.complete && found.entries().len() == 9_000);
}

#[test]
fn one_name_100_000_times_is_one_tool_and_one_remark() {
    let mut fed = Fed::new();
    fed.list(1, "", &tools(std::iter::repeat_n(5, 100_000), 1));
    let session = fed.session();
    let found = session.inventory(ListKind::Tools).unwrap();
    assert!(found.complete && found.entries().len() == 1);
    let row = session.row(1).unwrap().id;
    let remarks = &session.extra(row).unwrap().remarks;
    assert_eq!(remarks.len(), 1);
    assert!(
        remarks[0]
            .text
            .ends_with("the first counts (99999 entries are left out)")
    );
}

#[test]
fn definitions_beyond_their_room_have_facts_without_text() {
    let mut fed = Fed::new();
    fed.list(1, "", &tools(0..2, 9 << 20));
    let found = fed.session().inventory(ListKind::Tools).unwrap();
    let [one, _] = found.entries()[..] else {
        panic!()
    };
    assert!(one.json().is_none() && one.cost().bytes > 9 << 20);
    assert_eq!(fed.session().forgotten().listing_texts, 1);
    assert_eq!(fed.check_bounds()[2], 0);
    fed.list(2, "", &tools(0..1, 9 << 20));
    let found = fed.session().inventory(ListKind::Tools).unwrap();
    assert!(found.entries()[0].json().is_some());
}

#[test]
fn equal_calls_without_end_are_reported_within_bounds() {
    let mut fed = Fed::new();
    for id in 0..100_000 {
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"t\",\"arguments\":{{\"a\":1}}}}}}"
        );
        fed.take(true, call);
    }
    let session = fed.session();
    assert_eq!(session.machine.repeats.count, 99_999);
    assert_eq!(session.repeated_calls().count(), 4_096);
}
