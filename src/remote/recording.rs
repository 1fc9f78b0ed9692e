//! Adds a new host key to a file of known hosts, under a lock (remote.md 4.12).

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use super::known_hosts::{KnownHosts, LookupName, Verdict, hash_name};

/// Why a key was not recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// The file cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The name has characters that mean something in such a file.
    #[error("the name cannot stand in a file of known hosts")]
    Name,
    /// The system has no random numbers.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
}

/// Appends one line for the key, unless it is there already. Waits for other programs that hold the
/// lock.
///
/// # Errors
/// The name cannot be recorded, or the file cannot be written.
pub(super) fn record(
    file: &Path,
    name: &LookupName,
    key_line: &str,
    blob: &[u8],
    hash_names: bool,
) -> Result<(), RecordError> {
    if !can_be_recorded(name) {
        return Err(RecordError::Name);
    }
    let shown_name = if hash_names {
        let mut salt = [0; 20];
        getrandom::fill(&mut salt).map_err(RecordError::Random)?;
        hash_name(&name.full, &salt).ok_or(RecordError::Name)?
    } else {
        name.full.clone()
    };
    let mut opened = open(file)?;
    flock(&opened, FlockOperation::LockExclusive).map_err(io::Error::from)?;
    if !is_regular(&opened)? {
        // `/dev/null` takes everything and keeps nothing.
        opened.write_all(format!("{shown_name} {key_line}\n").as_bytes())?;
        return Ok(());
    }
    let mut bytes = Vec::new();
    opened.seek(SeekFrom::Start(0))?;
    opened.read_to_end(&mut bytes)?;
    let mut present = KnownHosts::default();
    present.add(file, &bytes);
    if present.judge(name, blob) == Verdict::Known {
        return Ok(());
    }
    let newline = match bytes.last() {
        None | Some(b'\n') => "",
        Some(_) => "\n",
    };
    // The lock ends with the file handle.
    opened.write_all(format!("{newline}{shown_name} {key_line}\n").as_bytes())?;
    Ok(())
}

fn open(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent()
        && !folder.exists()
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)
}

fn is_regular(file: &File) -> io::Result<bool> {
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(kind.is_file())
}

/// Characters that would make a pattern, a list, a marker, a comment or a hash out of a name.
fn can_be_recorded(name: &LookupName) -> bool {
    let bare = name.plain.as_deref().unwrap_or(&name.full);
    !bare.is_empty()
        && !bare.starts_with('!')
        && !bare.chars().any(|character| {
            "@?*#[]|'\"\\,".contains(character)
                || character.is_whitespace()
                || character.is_control()
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const LINE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    fn blob() -> Vec<u8> {
        use base64::Engine as _;
        let key = LINE.split(' ').nth(1).unwrap();
        base64::engine::general_purpose::STANDARD
            .decode(key)
            .unwrap()
    }

    fn name(port: u16) -> LookupName {
        LookupName::new(None, "web1", port)
    }

    #[test]
    fn a_line_is_appended_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/kh");
        record(&file, &name(2200), LINE, &blob(), false).unwrap();
        record(&file, &name(2200), LINE, &blob(), false).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("[web1]:2200 {LINE}\n"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o600);
        assert_eq!(mode(file.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_missing_newline_is_added_and_names_are_hashed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kh");
        std::fs::write(&file, "# torn").unwrap();
        record(&file, &name(22), LINE, &blob(), true).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# torn\n|1|"), "{text}");
        let mut known = KnownHosts::default();
        known.add(&file, text.as_bytes());
        assert_eq!(known.judge(&name(22), &blob()), Verdict::Known);
    }

    #[test]
    fn odd_places_and_names() {
        record(Path::new("/dev/null"), &name(22), LINE, &blob(), false).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kh");
        for bad in ["a*", "a,b", "[x]", "!a", "a b", "a#", "@a", "a'"] {
            let name = LookupName::new(Some(bad), "x", 22);
            assert!(record(&file, &name, LINE, &blob(), false).is_err(), "{bad}");
        }
        assert!(!file.exists());
        assert!(record(dir.path(), &name(22), LINE, &blob(), false).is_err());
    }

    #[test]
    fn eight_writers_at_once_leave_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kh");
        std::thread::scope(|scope| {
            for port in 1..=8 {
                let file = &file;
                scope.spawn(move || record(file, &name(port), LINE, &blob(), false).unwrap());
            }
        });
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let expected: Vec<String> = (1..=8)
            .map(|port| format!("[web1]:{port} {LINE}"))
            .collect();
        assert_eq!(lines, expected);
    }
}
