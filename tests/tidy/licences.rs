//! Licences of all locked packages against a short list; `.deny.toml` has the same list for cargo-deny.

use std::process::Command;

use serde::Deserialize;

use super::files::root;

/// Licences that ask for nothing but the notice.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Zlib",
];

/// Packages that may have another one; the reason stands in `.deny.toml`.
const EXCEPTIONS: &[(&str, &str)] = &[("terminfo", "WTFPL")];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    license: Option<String>,
}

/// Whether one of the ways to read a licence expression is allowed throughout.
fn is_allowed(package: &str, expression: &str) -> bool {
    let one = |name: &str| ALLOWED.contains(&name) || EXCEPTIONS.contains(&(package, name));
    let alternatives = |words: &str| words.split(" OR ").any(|name| one(name.trim()));
    // Parentheses occur only around alternatives that stand beside AND.
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    let (open, closed) = (expression.replace(['(', ')'], ""), expression.contains('('));
    if closed || !open.contains(" OR ") {
        return open.split(" AND ").all(alternatives);
    }
    open.split(" OR ")
        .any(|words| words.split(" AND ").all(|name| one(name.trim())))
}

#[test]
fn every_locked_package_has_an_allowed_licence() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("metadata");
    assert!(metadata.packages.len() > 10);
    let licence = |package: &Package| package.license.clone().unwrap_or_default();
    let foreign = metadata
        .packages
        .iter()
        .filter(|package| !is_allowed(&package.name, &licence(package)));
    let foreign: Vec<_> = foreign
        .map(|package| format!("{}: {}", package.name, licence(package)))
        .collect();
    assert!(foreign.is_empty(), "{}", foreign.join("\n"));
}

#[test]
fn the_two_lists_are_the_same() {
    let rules =
        std::fs::read_to_string(root().join(".deny.toml")).expect("the rules of cargo-deny");
    let quoted = rules
        .split("allow = [")
        .nth(1)
        .and_then(|rest| rest.split(']').next())
        .expect("a list");
    let listed: Vec<_> = quoted.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed, ALLOWED);
    for (package, licence) in EXCEPTIONS {
        assert!(
            rules.contains(&format!("crate = \"{package}\", allow = [\"{licence}\"]")),
            "{package}"
        );
    }
}

#[test]
fn expressions_are_read() {
    let check = |expression: &str, expected| {
        assert_eq!(is_allowed("x", expression), expected, "{expression}");
    };
    check("MIT", true);
    check("MIT/Apache-2.0", true);
    check("Apache-2.0 / MIT", true);
    check("GPL-3.0", false);
    check("", false);
    check("GPL-3.0 OR MIT", true);
    check("MIT AND GPL-3.0", false);
    check("Apache-2.0 AND ISC", true);
    check("(MIT OR GPL-3.0) AND Unicode-3.0", true);
    check("(MIT OR Apache-2.0) AND GPL-3.0", false);
    check("MPL-2.0", false);
    assert!(is_allowed("terminfo", "WTFPL"));
}
