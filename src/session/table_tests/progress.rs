//! Session-model.md 9: its tables as tests.

use super::*;

#[test]
fn progress_9_is_tied_to_its_call() {
    check(
        "> Q1 call t{_meta:{progressToken:\"p\"}}\n< N progress{progressToken:\"p\",progress:50}\n< N progress{progressToken:\"p\",progress:20}\n< R1 {}",
        "completed progress=2",
    );
}
