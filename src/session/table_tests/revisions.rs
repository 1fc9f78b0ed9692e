//! Session-model.md 14: its tables as tests.

use super::*;

#[test]
fn revisions_14_3() {
    let version = |text: &str, expected: Option<&str>| {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.protocol_version(), expected, "{text}");
        });
    };
    let initialize =
        "> Q1 initialize{protocolVersion:2026-07-28}, < R1 {protocolVersion:2025-11-25}";
    version(initialize, Some("2025-11-25"));
    version(
        "> Q1 server/discover [v=2026-07-28], < E1 -32601, > Q2 initialize{}, < R2 {protocolVersion:2025-11-25}, > Q3 ping",
        Some("2025-11-25"),
    );
    version(
        "> Q1 server/discover{}, < R1 {supportedVersions:[A,B],serverInfo:{name:S,version:1}}",
        Some("A"),
    );
    version("> Q1 call t, < R1 {}", None);
}
