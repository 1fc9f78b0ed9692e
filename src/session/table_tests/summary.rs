//! Session-model.md 20: its tables as tests.

use super::*;

#[test]
fn health_20() {
    let health = |text: &str, expected: Health| {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.health(), expected, "{text}");
        });
    };
    health("< T \"x\", > Q1 a, < E1 -1", Health::Bad);
    health("> Q1 a, < E1 -1, > Q2 b", Health::Error);
    health("> Q1 a", Health::Pending);
    health("> Q1 call b, < R1 IR{k;st=A}", Health::Ok);
    health("> Q1 subscriptions/listen", Health::Ok);
    health("#1 > Q1 a, #3 > N b", Health::Ok);
    health("> Q1 notifications/initialized", Health::Ok);
}
