//! Session-model.md 6: its tables as tests.

use super::*;

/// Rows of the tables of the page that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("6", PAGE.len())];

/// 6.
const PAGE: [(&str, &str); 7] = [
    (
        "> Q1 call b, @400 < R1 IR{k;st=A}, @12400 > Q2 retry{k;st=A}, @12700 < R2 IR{s;st=B}, @37700 > Q3 retry{s;st=B}, @38200 < R3 {}",
        "completed server=1200 client=37000 38200ms hops=3 !",
    ),
    (
        "> Q1 call b, @400 < R1 IR{k;st=A}, @12400 > Q2 retry{k;st=A}, @12700 < R2 IR{s;st=B}",
        "input server=700 client=12000 no-duration hops=2 !",
    ),
    (
        "> Q1 call t, @5000 < R1 IR{k;st=A}, @3000 > Q2 retry{k;st=A}, @10000 < R2 {}",
        "completed server=10000 client=0 10000ms hops=2 !",
    ),
    (
        "> Q1 call t, @400 < R1 IR{;st=A}, @9000 < R1 IR{;st=A} (resent), @20000 > Q2 retry{;st=A}, @20500 < R2 {}",
        "completed server=900 client=19600 20500ms hops=2",
    ),
    (
        "> Q1 call t, @2000 > N cancelled{1}, @9000 < R1 {}",
        "cancelled late server=9000 client=0 9000ms hops=1",
    ),
    (
        "< Q1 sampling/createMessage, @3000 > R1 {}",
        "completed server=0 client=3000 3000ms hops=1",
    ),
    (
        "> Q1 call t, @400 < R1 IR{k;st=A}, @9000 > N cancelled{1}",
        "input server=400 client=0 no-duration hops=1",
    ),
];

#[test]
fn times_6() {
    for (text, expected) in PAGE {
        check(text, expected);
    }
}

#[test]
fn shares_of_operations_that_end_otherwise() {
    let cases = [
        // A cancellation while the server works is the server's time, the wait before it the client's.
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 > N cancelled{2}",
            "cancelled server=900 client=600 no-duration hops=2",
        ),
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 > N cancelled{2}, @2000 < R2 {}",
            "cancelled late server=1400 client=600 2000ms hops=2",
        ),
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 < E2 -32603",
            "failed server=900 client=600 1500ms hops=2",
        ),
        // A late interim result is a late answer, and does not park.
        (
            "> Q1 call t, @400 > N cancelled{1}, @1000 < R1 IR{k;st=A}",
            "cancelled late server=1000 client=0 1000ms hops=1 | parked=0",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}
