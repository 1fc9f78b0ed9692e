//! Rooms import only what the table allows, through the door, and some crates belong to one room.

use std::path::Path;

use super::{
    files::{self, SourceFile},
    paths,
    rooms::{ALONE, ROOMS},
};

/// What is wrong with the imports of one file.
fn faults(name: &str, text: &str) -> Vec<String> {
    let module = module_of(name);
    let room = module.first().map_or("", String::as_str);
    let row = ROOMS.iter().find(|row| row.name == room);
    let allowed = |other: &str| {
        room == other || room.is_empty() || row.is_some_and(|row| row.may_import.contains(&other))
    };
    let mut faults = Vec::new();
    for path in paths::of(&module, text) {
        let [first, rest @ ..] = path.as_slice() else {
            continue;
        };
        let inside = ["crate", "mcpsnoop"].contains(&first.as_str());
        let other = rest
            .first()
            .filter(|_| inside)
            .and_then(|name| ROOMS.iter().find(|row| row.name == name));
        if let Some(other) = other.filter(|other| !allowed(other.name)) {
            faults.push(format!(
                "{name}: `{room}` must not import `{}`: {}",
                other.name,
                path.join("::")
            ));
        }
        let owner = ALONE.iter().find(|(package, _)| package == first);
        if let Some((package, owner)) = owner.filter(|(_, owner)| *owner != room) {
            faults.push(format!(
                "{name}: `{package}` belongs to `{owner}` alone: {}",
                path.join("::")
            ));
        }
    }
    faults
}

/// The module of a file: `src/record/reader.rs` is `record`, `reader`.
fn module_of(name: &str) -> Vec<String> {
    let path = Path::new(name)
        .strip_prefix("src")
        .expect("a file of src")
        .with_extension("");
    let mut module: Vec<_> = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        module.pop();
    }
    module
}

#[test]
fn rooms_import_only_what_they_may() {
    let faults: Vec<_> = files::rust("src/")
        .iter()
        .flat_map(|file| faults(&file.name, &file.text))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_room_has_its_row_and_its_door() {
    for SourceFile { name, text } in files::rust("src/") {
        let module = module_of(&name);
        let Some(room) = module.first() else {
            continue;
        };
        assert!(
            ROOMS.iter().any(|row| row.name == room),
            "{name}: the table has no room `{room}`"
        );
        // Only a room's door opens a module to others.
        let open = |line: &str| line.starts_with("pub mod ") || line.starts_with("pub(crate) mod ");
        let door = name == format!("src/{room}/mod.rs");
        let opened = text
            .lines()
            .map(str::trim_start)
            .find(|line| open(line) && !door);
        assert!(opened.is_none(), "{name}: a second door: {opened:?}");
    }
}

#[test]
fn foreign_imports_are_faults() {
    let check = |name: &str, text: &str, expected: usize| {
        let found = faults(name, text);
        assert_eq!(found.len(), expected, "{name}: {found:?}");
    };
    check(
        "src/feed/merge.rs",
        "use crate::{base::Clock, record::Seq};",
        0,
    );
    check(
        "src/feed/merge.rs",
        "use crate::{base::Clock, wire::Raw};",
        1,
    );
    check("src/hub/hub.rs", "fn f() { crate::remote::run(); }", 1);
    check(
        "src/hub/hub.rs",
        "mod tests { use super::super::super::tui::App; }",
        1,
    );
    check("src/remote/link.rs", "use russh::client;", 0);
    check("src/hub/link.rs", "use russh::client;", 1);
    check("src/tui/app.rs", "fn f(area: ratatui::layout::Rect) {}", 0);
    check(
        "src/session/app.rs",
        "fn f(area: ratatui::layout::Rect) {}",
        1,
    );
    check(
        "src/cli/mod.rs",
        "use mcpsnoop::{tui, remote}; use clap::Parser;",
        0,
    );
    check(
        "src/base/mod.rs",
        "use clap::Parser; use crate::cli::Failure;",
        2,
    );
    check("src/main.rs", "mod cli; fn main() { cli::main() }", 0);
}
