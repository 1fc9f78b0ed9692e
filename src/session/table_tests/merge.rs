//! Session-model.md 2: its tables as tests.

use super::*;

#[test]
fn merging_2_1_and_2_3() {
    check("#1 > N a, #1 > N a", "| frames=1 conflicts=0");
    check("#1 > N a, #2 > N b, #5 > N c", "| missing=2");
    check(
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d",
        "| missing=1 frames=4",
    );
    check(
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d, #3 > N e, #3 > N e",
        "| missing=0 frames=5",
    );
    check("#3 > N a, #4 > N b", "| missing=2 not_loaded=0");
    check(
        "#1 > N a, #2 > N b, #6 end{dropped:3}",
        "| missing=3 dropped=3 frames=2",
    );
    check("#2 > N a, #1 > N b, #4 > N c, #3 > N d", "| missing=0");
}

#[test]
fn two_contents_of_one_number_leave_one_that_order_does_not_choose() {
    let cases = [
        ("#1 @5 > N a", "#1 @3 > N b", "b"),
        ("#1 @3 > N a", "#1 @5 > N b [red]", "b"),
        ("#1 @3 > N a", "#1 @3 > Q1 b", "?"),
    ];
    for (one, other, winner) in cases {
        let method = |text: &str| {
            fold(text, Limits::NONE, |session| {
                assert_eq!(session.counters().conflicts, 1, "{text}");
                assert_eq!(session.row_count(), 1);
                check_sums(session);
                session.row(0).unwrap().method.unwrap().to_owned()
            })
        };
        let forth = method(&format!("{one}\n{other}\n{other}"));
        let back = method(&format!("{other}\n{one}\n{one}"));
        assert_eq!(forth, back);
        assert!(winner == "?" || winner == forth);
    }
}
