//! Session-model.md 17: its tables as tests.

use super::*;

#[test]
fn tools_17() {
    let tool = |text: &str, look: fn(&ToolStats)| {
        fold(text, Limits::NONE, |session| look(&session.tools()["t"]));
    };
    tool(
        "> Q1 call t, @25 < R1 {}, > Q2 call t, @1000 > Q2 call t",
        |tool| {
            assert_eq!((tool.calls, tool.pending, tool.protocol_errors), (3, 1, 0));
            assert_eq!(tool.durations.percentile(50), 25_000_000);
            assert_eq!(tool.superseded, 1);
        },
    );
    tool(
        "> Q1 call t, @25 < R1 {}, @25 > Q2 call t, @1000 > N cancelled{2}",
        |tool| {
            assert_eq!((tool.calls, tool.cancelled), (2, 1));
            assert_eq!(tool.durations.percentile(50), 25_000_000);
            assert_eq!(tool.durations.len(), 1);
        },
    );
    tool("> Q1 call t, > N cancelled{1}, @2000 < R1 {}", |tool| {
        assert_eq!(tool.durations.percentile(50), 2_000_000_000);
    });
    tool(
        "> Q1 call t, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
        |tool| assert_eq!((tool.calls, tool.max_round_trips), (1, 3)),
    );
    tool(
        "> Q1 call t [x=1], @3 < H401 [x=1], > Q2 call t [x=2], @80 < R2 {} [x=2]",
        |tool| {
            assert_eq!((tool.calls, tool.durations.len()), (2, 1));
            assert_eq!(tool.durations.percentile(50), 80_000_000);
        },
    );
    tool("> Q1 call t, < R1 {content:[],isError:true}", |tool| {
        assert_eq!((tool.tool_errors, tool.protocol_errors), (1, 0));
        assert_eq!((tool.result_bytes, tool.max_result_bytes), (29, 29));
    });
}
