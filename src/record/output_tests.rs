//! Tests of `output`: what is there before, after, and after a failure.

use std::{
    os::unix::fs::{OpenOptionsExt as _, symlink},
    sync::mpsc,
};

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.at(name);
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .unwrap();
        file.write_all(b"before, and longer than after").unwrap();
        file.set_permissions(Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Names in the folder, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn write(path: &Path) -> bool {
    let mut file = OutputPath::resolve(path).unwrap().open().unwrap();
    file.write_all(b"after").unwrap();
    let is_atomic = file.is_atomic();
    file.commit().unwrap();
    is_atomic
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_is_private_and_so_are_its_new_folders() {
    let folder = Folder::new();
    let path = folder.at("a/b/c.json");
    assert!(write(&path));
    assert_eq!(fs::read(&path).unwrap(), b"after");
    let modes = [mode(&path), mode(&folder.at("a/b")), mode(&folder.at("a"))];
    assert_eq!(modes, [0o600, 0o700, 0o700]);
}

#[test]
fn an_existing_file_is_replaced_and_keeps_its_mode() {
    let folder = Folder::new();
    let path = folder.file("out", 0o640);
    let before = FileIdentity::of(&fs::metadata(&path).unwrap());
    assert!(write(&path));
    assert_eq!(fs::read(&path).unwrap(), b"after");
    assert_eq!(mode(&path), 0o640);
    assert_ne!(FileIdentity::of(&fs::metadata(&path).unwrap()), before);
    assert_eq!(folder.names(), ["out"]);
}

#[test]
fn what_is_not_committed_leaves_nothing_behind() {
    let folder = Folder::new();
    let path = folder.file("out", 0o600);
    let mut file = OutputPath::resolve(&path).unwrap().open().unwrap();
    file.write_all(b"half").unwrap();
    assert_eq!(folder.names().len(), 2);
    assert!(folder.names()[0].starts_with(PREFIX));
    drop(file);
    assert_eq!(folder.names(), ["out"]);
    assert_eq!(fs::read(&path).unwrap(), b"before, and longer than after");
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_replaced() {
    let folder = Folder::new();
    let path = folder.file("out", 0o600);
    symlink("out", folder.at("one")).unwrap();
    symlink(folder.at("one"), folder.at("two")).unwrap();
    symlink("fresh", folder.at("dangling")).unwrap();
    assert!(write(&folder.at("two")));
    assert!(write(&folder.at("dangling")));
    assert_eq!(fs::read(&path).unwrap(), b"after");
    assert_eq!(fs::read(folder.at("fresh")).unwrap(), b"after");
    for link in ["one", "two", "dangling"] {
        assert!(fs::symlink_metadata(folder.at(link)).unwrap().is_symlink());
    }
    symlink("loop", folder.at("loop")).unwrap();
    assert!(OutputPath::resolve(&folder.at("loop")).is_err());
}

#[test]
fn one_file_is_known_by_every_name() {
    let folder = Folder::new();
    let path = folder.file("out", 0o600);
    fs::hard_link(&path, folder.at("hard")).unwrap();
    symlink("hard", folder.at("soft")).unwrap();
    folder.file("other", 0o600);
    let identity = FileIdentity::of(&fs::metadata(&path).unwrap());
    let is = |name: &str| OutputPath::resolve(&folder.at(name)).unwrap().is(identity);
    assert!(is("out") && is("hard") && is("soft") && is("./out"));
    assert!(!is("other") && !is("new"));
}

#[test]
fn folders_are_no_files() {
    let folder = Folder::new();
    for name in ["", "new/", "..", "x/.."] {
        let path = PathBuf::from(format!("{}/{name}", folder.0.path().display()));
        let error = OutputPath::resolve(&path).unwrap_err();
        let kind = error.kind();
        let is_folder = kind == io::ErrorKind::IsADirectory || kind == io::ErrorKind::NotFound;
        assert!(is_folder, "{name}: {error}");
    }
}

#[test]
fn what_is_no_regular_file_is_written_directly() {
    let folder = Folder::new();
    let fifo = folder.at("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let (told, heard) = mpsc::sync_channel(1);
    let reading = fifo.clone();
    let reader = std::thread::spawn(move || {
        told.send(fs::read(reading).unwrap()).unwrap();
    });
    assert!(OutputPath::resolve(&fifo).unwrap().is_direct());
    assert!(write(&fifo));
    assert_eq!(heard.recv().unwrap(), b"after");
    reader.join().unwrap();
    assert!(fs::metadata(&fifo).unwrap().file_type().is_fifo());

    let null = OutputPath::resolve(Path::new("/dev/null")).unwrap();
    assert!(null.is_direct());
    let path = folder.file("out", 0o600);
    let file = File::options().append(true).open(&path).unwrap();
    let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    assert!(write(Path::new(&name)));
    let kept = fs::read(&path).unwrap();
    assert_eq!(kept, b"before, and longer than afterafter");
}
