//! Finding and reading the files of the tree.

use std::path::{Path, PathBuf};

/// A text file of the tree.
pub(crate) struct SourceFile {
    /// Its path from the root, with `/`.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The root of the tree.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file of the tree that belongs to the project; nothing that a build or a tool left there.
pub(crate) fn all() -> Vec<SourceFile> {
    let mut names = Vec::new();
    walk(root(), &mut names);
    names.sort();
    let read = |path: PathBuf| {
        let text = String::from_utf8(std::fs::read(&path).expect("a file")).ok()?;
        let name = path.strip_prefix(root()).expect("a path below the root");
        Some(SourceFile {
            name: name.to_string_lossy().replace('\\', "/"),
            text,
        })
    };
    names.into_iter().filter_map(read).collect()
}

/// Every Rust file below `folder`.
pub(crate) fn rust(folder: &str) -> Vec<SourceFile> {
    let mut files = all();
    files.retain(|file| {
        file.name.starts_with(folder)
            && Path::new(&file.name).extension().is_some_and(|e| e == "rs")
    });
    files
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let skipped = ["target", ".git", "node_modules", "__pycache__"];
        if path
            .file_name()
            .is_some_and(|name| skipped.iter().any(|skipped| name == *skipped))
        {
            continue;
        }
        if path.is_dir() {
            walk(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

#[test]
fn every_rust_file_says_what_it_is_for() {
    let silent: Vec<_> = rust("src/")
        .into_iter()
        .chain(rust("tests/"))
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.name)
        .collect();
    assert!(
        silent.is_empty(),
        "these files do not open with `//! …`: {silent:?}"
    );
}

#[test]
fn no_test_is_ignored() {
    let ignored = |file: &SourceFile| {
        let lines = file.text.lines().map(str::trim_start);
        lines.into_iter().any(|line| {
            line.starts_with("#[ignore")
                || line.starts_with("#[cfg_attr") && line.contains("ignore")
        })
    };
    let files: Vec<_> = rust("")
        .into_iter()
        .filter(ignored)
        .map(|file| file.name)
        .collect();
    assert!(
        files.is_empty(),
        "a test that is not run proves nothing: {files:?}"
    );
}

/// Hosts of registries and paths of one machine, in two pieces so that this file does not name them.
const FOREIGN: &[[&str; 2]] = &[
    ["registry.npm", "js"],
    ["pypi.", "org"],
    ["python", "hosted.org"],
    ["index.crates", ".io"],
    ["static.crates", ".io"],
    ["deb.deb", "ian.org"],
    ["--index", "-url"],
    ["/wo", "rk/"],
    ["/root", "/."],
];

#[test]
fn no_file_names_a_registry_host_or_a_machine() {
    let mut found = Vec::new();
    for file in all() {
        for (number, line) in file.text.lines().enumerate() {
            let foreign = FOREIGN
                .iter()
                .map(|pieces| pieces.concat())
                .find(|words| line.contains(words));
            found.extend(foreign.map(|words| format!("{}:{}: {words}", file.name, number + 1)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn locked_packages_come_from_the_default_registries() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).expect("a lock file");
    let sources = |name| {
        let lock: String = read(name);
        lock.lines()
            .filter(|line| line.starts_with("source = "))
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    };
    let locks = [
        "Cargo.lock",
        "tests/bench/Cargo.lock",
        "tests/peers/rust/Cargo.lock",
    ];
    for source in locks.into_iter().flat_map(sources) {
        assert!(source.contains("/rust-lang/crates.io-index"), "{source}");
    }
    assert!(
        !read("tests/peers/package-lock.json").contains("\"resolved\""),
        "npm's lock file names a host"
    );
    assert!(!read("tests/peers/requirements.txt").contains("://"));
}
