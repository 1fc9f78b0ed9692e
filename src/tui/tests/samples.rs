//! The sessions of the mock-ups (tui.md 22).

use super::rig::{Log, host};
use crate::{
    feed::{FeedEvent, LinkState},
    record::Liveness,
};

/// The stream of mock-up 22.2.
pub(super) fn filesystem() -> Log {
    Log::new("filesystem-48213-4c1f00000001", "filesystem")
        .start(&["node", "/srv/files/server.js", "--root", "."], "/home/u/src/app", 0)
        .client(1, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1"}}}"#)
        .server(4, r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-07-28","capabilities":{"tools":{}},"serverInfo":{"name":"fs","version":"1"}}}"#)
        .client(2_118, r#"{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"}}}"#)
        .server(2_130, r##"{"jsonrpc":"2.0","id":41,"result":{"content":[{"type":"text","text":"# files  A small server that reads"}]}}"##)
        .client(2_402, r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"retry policy of the client"},"_meta":{"progressToken":"p"}}}"#)
        .client(2_410, r#"{"jsonrpc":"2.0","id":43,"method":"tools/call","params":{"name":"run_query","arguments":{"sql":"select * from users"}}}"#)
        .text("stderr", 2_507, "warn: statement timeout is 30 s")
        .server(2_508, r#"{"jsonrpc":"2.0","id":43,"result":{"content":[{"type":"text","text":"no such table: users\u001b[31m"}],"isError":true}}"#)
        .server(2_911, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":3,"message":"index"}}"#)
        .server(3_302, r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":2,"total":3,"message":"rank"}}"#)
        .server(3_712, r#"{"jsonrpc":"2.0","id":42,"result":{"content":[{"type":"text","text":"3 results"}]}}"#)
        .client(4_020, r#"{"jsonrpc":"2.0","id":44,"method":"tools/call","params":{"name":"delete_branch","arguments":{"name":"old-ui"}}}"#)
        .server(4_060, r#"{"jsonrpc":"2.0","id":44,"result":{"resultType":"input_required","inputRequests":{"confirm":{"method":"elicitation/create","params":{"message":"sure?"}}},"requestState":"s1"}}"#)
        .client(10_212, r#"{"jsonrpc":"2.0","id":45,"method":"tools/call","params":{"name":"delete_branch","arguments":{"name":"old-ui"},"inputResponses":{"confirm":{"action":"accept"}},"requestState":"s1"}}"#)
        .server(10_221, r#"{"jsonrpc":"2.0","id":45,"result":{"content":[{"type":"text","text":"branch deleted"}]}}"#)
        .text("s2c", 10_400, "[debug] handler done")
        .client(10_511, r#"{"jsonrpc":"2.0","id":46,"method":"tools/list","params":{}}"#)
        .server(10_515, r#"{"jsonrpc":"2.0","id":46,"result":{"tools":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"}]}}"#)
        .client(10_900, r#"{"jsonrpc":"2.0","id":47,"method":"subscriptions/listen","params":{"toolsListChanged":true}}"#)
        .client(11_300, r#"{"jsonrpc":"2.0","id":48,"method":"tools/call","params":{"name":"deploy","arguments":{"env":"staging"}}}"#)
        .news(Liveness::Recording, true)
}

/// A short session that ended.
pub(super) fn ended(id: &str, label: &str, millis: i64) -> Log {
    Log::new(id, label)
        .recorded()
        .client(millis, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1.4.0"}}}"#)
        .server(millis + 3, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#)
        .news(Liveness::Ended, true)
}

/// Everything of the local table.
pub(super) fn local() -> Vec<FeedEvent> {
    let mut events = vec![host("local", LinkState::Live, None)];
    events.extend(filesystem().events);
    events.extend(
        Log::new("search-api-77-000000000003", "search-api")
            .client(12_000, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .server(12_002, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            .news(Liveness::Recording, true)
            .events,
    );
    events.extend(ended("index-1-000000000004", "build/index.js", -720_000).events);
    events.extend(ended("filesystem-911-4c1f00000002", "filesystem", -172_900_000).events);
    events.push(FeedEvent::Listing(crate::feed::Listing {
        host: crate::record::HostName::local(),
        total: 251,
        chosen: 4,
        skipped: 0,
    }));
    events
}
