//! What is remembered of requests, and how much room it takes.

use super::*;

#[test]
fn an_entry_stays_small() {
    assert!(size_of::<HopEntry>() <= 144, "{}", size_of::<HopEntry>());
}

fn entry() -> HopEntry {
    HopEntry {
        call: CallId(0),
        at: 0,
        side: Side::Client,
        key: None,
        conn: 0,
        exchange: 0,
        client: ClientKey::default(),
        answered: false,
        waiting: true,
        token: None,
        base: None,
        seq: Seq(1),
        declared: None,
        effective: None,
        counted: Counted::default(),
        hidden_names: (false, false),
        wants_task: false,
        task_id: None,
        hidden: false,
        freed: false,
        answer: Seq(0),
        answered_on: 0,
        shared: None,
        asked: None,
        signature_or_end: 0,
    }
}

#[test]
fn the_end_of_a_session_leaves_what_was_not_answered() {
    let key = Key::Small(7);
    let named = || HopEntry {
        key: Some(key.clone()),
        ..entry()
    };
    let mut hops = Hops::default();
    let [waits, answered, stopped] = [0, 1, 2].map(|_| hops.add(named()));
    hops.answer(answered, Seq(9), None);
    hops.stop(stopped);
    hops.release();
    assert!(hops.get(answered).is_none() && hops.forgot_any());
    assert_eq!(hops.slots.capacity(), 0);
    let found = |hops: &Hops| -> Vec<HopId> {
        hops.with_key(Side::Client, &key)
            .map(|(hop, _)| hop)
            .collect()
    };
    assert_eq!(found(&hops), [stopped, waits]);
    let late = hops.add(named());
    assert_eq!(found(&hops), [late, stopped, waits]);
    hops.answer(waits, Seq(12), None);
    assert!(hops.get(waits).is_some_and(|hop| hop.answered));
    for hop in [late, stopped, waits] {
        hops.forget(hop);
    }
    assert!(found(&hops).is_empty() && hops.left.is_empty());
    assert_eq!(hops.add(named()), late);
}

#[test]
fn a_short_session_takes_little_and_a_long_one_no_half_too_much() {
    let mut hops = Hops::default();
    hops.add(entry());
    assert!(hops.slots.capacity() <= 8, "{}", hops.slots.capacity());
    for _ in 0..GROWTH * 3 {
        hops.add(entry());
    }
    assert!(hops.slots.capacity() <= GROWTH * 3 / 8 * 9);
    assert!(hops.waits_on(0));
    (0..=GROWTH * 3).for_each(|hop| hops.stop(u32::try_from(hop).unwrap()));
    assert!(!hops.waits_on(0));
}
