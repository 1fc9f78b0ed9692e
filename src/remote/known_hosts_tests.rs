//! Lines, names and verdicts of known hosts files.

use std::process::Command;

use proptest::prelude::*;

use super::*;

const A: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
const B: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN+Wjn4+4Fcvl2JlKpggT+wCRxpSvtqqpVrQrKN1/A22";
/// A type that the key crate does not know.
const ODD: &str = "ssh-odd AAAAB3NzaC1vZGQAAAADYWJj";

fn blob(key: &str) -> Vec<u8> {
    let (kind, key) = key.split_once(' ').unwrap();
    read_key(kind.as_bytes(), key.as_bytes()).unwrap().1
}

fn verdict(file: &str, name: &LookupName) -> String {
    let mut hosts = KnownHosts::default();
    hosts.add(Path::new("kh"), file.as_bytes());
    let text = match hosts.judge(name, &blob(A)) {
        Verdict::Known => "known".to_owned(),
        Verdict::New => "new".to_owned(),
        Verdict::Changed(lines) => {
            let numbers: Vec<String> = lines.iter().map(|line| line.line.to_string()).collect();
            format!("changed {}", numbers.join(","))
        }
        Verdict::Revoked(line) => format!("revoked {}", line.line),
    };
    match hosts.damaged.as_slice() {
        [] => text,
        damaged => format!("{text}, damaged {}", damaged.join(" ")),
    }
}

#[test]
fn files_decide_on_a_key() {
    let at_22 = LookupName::new(None, "Web1", 22);
    let hashed = hash_name("web1", b"0123456789abcdefghij").unwrap();
    let cases = [
        (String::new(), "new"),
        (format!("web1 {A}"), "known"),
        (format!("WEB1 {A}"), "known"),
        (format!("web1 {B}"), "changed 1"),
        (format!("web1 {ODD}"), "changed 1"),
        (format!("web1 {B}\nweb1 {A}"), "known"),
        (
            format!("# c\n\nother {B}\n  web1 {B}\nweb1 {ODD}"),
            "changed 4,5",
        ),
        (format!("\t web1,10.0.0.1\t\t{A} comment here\r\n"), "known"),
        (format!("10.0.0.1,web1 {A}"), "known"),
        (format!("we?1 {A}"), "known"),
        (format!("w*1 {B}"), "changed 1"),
        (format!("* {A}"), "known"),
        (format!("*,!web1 {A}"), "new"),
        (format!("!web1,* {B}"), "new"),
        (format!("!web2,web1 {A}"), "known"),
        (format!("{hashed} {A}"), "known"),
        (format!("{hashed} {B}"), "changed 1"),
        (format!("|1|bad|bad {B}"), "new"),
        (format!("|2|x|y {B}"), "new"),
        (format!("web2 {B}"), "new"),
        (format!("[web1]:22 {B}"), "new"),
        (format!("@revoked web1 {A}"), "revoked 1"),
        (format!("web1 {A}\n@revoked\t*\t{A}"), "revoked 2"),
        (format!("  @revoked   * {A}"), "revoked 1"),
        (format!("@revoked web1 {B}"), "new"),
        (format!("@cert-authority * {A}"), "new"),
        (format!("@cert-authority web1 {B}\nweb1 {A}"), "known"),
        (format!("@unknown web1 {B}"), "new, damaged kh:1"),
        ("web1".to_owned(), "new, damaged kh:1"),
        ("web1 ssh-ed25519".to_owned(), "new, damaged kh:1"),
        ("web1 ssh-ed25519 AAAA!".to_owned(), "new, damaged kh:1"),
        (
            A.replace("ssh-ed25519", "web1 ssh-rsa"),
            "new, damaged kh:1",
        ),
        (
            format!("web1 ssh-ed25519 AAAAC3Nz\nweb1 {A}"),
            "known, damaged kh:1",
        ),
    ];
    for (file, expected) in &cases {
        assert_eq!(verdict(file, &at_22), *expected, "{file:?}");
    }
}

#[test]
fn a_port_is_part_of_the_name() {
    let name = LookupName::new(None, "web1", 2222);
    let hashed = hash_name("[web1]:2222", b"0123456789abcdefghij").unwrap();
    let cases = [
        (format!("[web1]:2222 {A}"), "known"),
        (format!("[web1]:2222 {B}"), "changed 1"),
        (format!("{hashed} {B}"), "changed 1"),
        (format!("web1 {A}"), "known"),
        (format!("web1 {B}"), "new"),
        (format!("web1 {A}\n[web1]:2222 {B}"), "changed 2"),
        (format!("[web1]:* {A}"), "known"),
        (format!("@revoked web1 {A}"), "revoked 1"),
        (format!("@revoked * {A}"), "revoked 1"),
    ];
    for (file, expected) in &cases {
        assert_eq!(verdict(file, &name), *expected, "{file:?}");
    }
    let alias = LookupName::new(Some("Alias"), "web1", 2222);
    assert_eq!(alias.full, "Alias");
    assert_eq!(verdict(&format!("alias {A}"), &alias), "known");
}

#[test]
fn a_byte_that_is_no_text_damages_one_line_only() {
    let mut hosts = KnownHosts::default();
    let file = [b"web1 \xff\xff x\n".as_slice(), b"web1 ", A.as_bytes()].concat();
    hosts.add(Path::new("kh"), &file);
    let name = LookupName::new(None, "web1", 22);
    assert_eq!(hosts.judge(&name, &blob(A)), Verdict::Known);
    assert_eq!(hosts.damaged, ["kh:1"]);
}

#[test]
fn known_types_are_asked_for() {
    let mut hosts = KnownHosts::default();
    hosts.add(Path::new("kh"), format!("web1 {ODD}\nx {A}").as_bytes());
    let name = LookupName::new(None, "web1", 2222);
    assert_eq!(hosts.key_types(&name), ["ssh-odd"]);
    assert_eq!(hosts.other_names(&blob(A)), ["x"]);
}

#[test]
fn revoked_keys_are_found_in_a_plain_list() {
    let list = format!("# revoked\n{B}\n\n{A} comment\n");
    let found = find_revoked(Path::new("r"), list.as_bytes(), &blob(A)).unwrap();
    assert_eq!(found.line, 4);
    assert!(find_revoked(Path::new("r"), b"x y\n", &blob(A)).is_none());
    assert!(is_binary_revocation_list(b"SSHKRL\n\0rest"));
}

/// `ssh-keygen -F` on the same file finds a name exactly when we do.
#[test]
fn hashes_agree_with_ssh_keygen() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kh");
    let hashed = hash_name("[web1]:2222", b"abcdefghijklmnopqrst").unwrap();
    fs::write(&file, format!("{hashed} {A}\n")).unwrap();
    let found = |name: &str| {
        Command::new("ssh-keygen")
            .args(["-F", name, "-f"])
            .arg(&file)
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(found("[web1]:2222"));
    assert!(!found("web1"));
}

proptest! {
    #[test]
    fn no_bytes_stop_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut hosts = KnownHosts::default();
        hosts.add(Path::new("kh"), &bytes);
        let name = LookupName::new(None, "web1", 22);
        prop_assert_ne!(hosts.judge(&name, b"x"), Verdict::Known);
    }

    #[test]
    fn a_pattern_matches_itself(name in "[a-z0-9.-]{1,20}") {
        prop_assert!(pattern_matches(name.as_bytes(), &name));
        prop_assert!(pattern_matches(b"*", &name));
        let starred = format!("*{}*", name.chars().next().unwrap());
        prop_assert!(pattern_matches(starred.as_bytes(), &name));
    }
}
