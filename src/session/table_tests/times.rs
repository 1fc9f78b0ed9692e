//! Session-model.md 6: its tables as tests.

use super::*;

#[test]
fn times_6() {
    let rounds =
        "> Q1 call b, @400 < R1 IR{k;st=A}, @12400 > Q2 retry{k;st=A}, @12700 < R2 IR{s;st=B}";
    check(rounds, "input server=700 client=12000 no-duration hops=2");
    check(
        &format!("{rounds}, @37700 > Q3 retry{{s;st=B}}, @38200 < R3 {{}}"),
        "completed server=1200 client=37000 38200ms hops=3",
    );
    let cases = [
        (
            "> Q1 call t, @5000 < R1 IR{k;st=A}, @3000 > Q2 retry{k;st=A}, @10000 < R2 {}",
            "completed server=10000 client=0 10000ms hops=2",
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
    for (text, expected) in cases {
        check(text, expected);
    }
}
