//! Parts that a test needs from the machine, and what happens without one.

use std::{fs::OpenOptions, io::Write as _, path::PathBuf};

use mcpsnoop::base::Env;

/// Finds a program in `PATH` or among the system's services; without it the test is skipped: return at once.
pub(crate) fn need(program: &str) -> Option<PathBuf> {
    let path = Env::read().os("PATH").cloned().unwrap_or_default();
    let found = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        skip(program);
    }
    found
}

/// Notes that the running test is skipped for want of `part`; with `CI=true` that is a failure.
///
/// `scripts/check` names the file of the notes in `MCPSNOOP_SKIPPED` and counts its lines.
pub(crate) fn skip(part: &str) {
    let env = Env::read();
    assert!(
        env.get("CI") != Some("true"),
        "{part} is missing: run scripts/setup"
    );
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    let note = format!("skipped: no {part}: {test}\n");
    if let Some(file) = env.os("MCPSNOOP_SKIPPED") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .expect("the file of skipped tests");
        file.write_all(note.as_bytes()).expect("a noted skip");
    }
}

#[test]
fn a_program_is_found_in_the_path() {
    let shell = need("sh").expect("a shell");
    assert!(shell.is_absolute());
}
