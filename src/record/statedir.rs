//! Where sessions live (log-format 1).

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::private::{create_private_dir, is_private_dir, user};
use crate::base::Env;

/// Longest socket path that every platform can bind, in bytes (log-format 1.2.3).
pub const SOCKET_PATH_LIMIT: usize = 103;

/// The state directory, resolved once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    base: PathBuf,
    /// It lies in the shared temporary directory, so it is used only if it is ours and private.
    is_temporary: bool,
}

/// How the state directory was found, and what must be said about it.
#[derive(Clone, Debug)]
pub struct Located {
    /// The directory; `None` when there is no place that is safe to use.
    pub dir: Option<StateDir>,
    /// One line each for standard error.
    pub warnings: Vec<String>,
}

impl StateDir {
    /// Resolves by `MCPSNOOP_HOME`, `XDG_STATE_HOME`, home, temporary directory; creates nothing.
    pub fn locate(env: &Env) -> Located {
        let mut warnings = Vec::new();
        let dir = locate(env, &mut warnings);
        Located { dir, warnings }
    }

    /// Takes a directory as it is.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            is_temporary: false,
        }
    }

    /// The other directories that the rules could have named, for `no sessions in A; B has 12`.
    pub fn others(&self, env: &Env) -> Vec<Self> {
        let mut all = Vec::new();
        let named = env
            .os("MCPSNOOP_HOME")
            .and_then(|value| named(env, value).map(|(base, _warning)| base));
        for base in named.into_iter().chain(xdg(env)).chain(default(env)) {
            all.push(Self::at(base));
        }
        // The shared directory counts only where nobody else could have written (log-format 1.1.4).
        all.extend(Some(temporary(env)).filter(|dir| is_private_dir(&dir.base)));
        let mut others: Vec<Self> = Vec::new();
        for dir in all {
            if dir.base != self.base && !others.iter().any(|other| other.base == dir.base) {
                others.push(dir);
            }
        }
        others
    }

    /// The directory itself.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// `sessions/` below it.
    pub fn sessions(&self) -> PathBuf {
        self.base.join("sessions")
    }

    /// `hub.sock` below it.
    pub fn socket(&self) -> PathBuf {
        self.base.join("hub.sock")
    }

    /// Creates the directory and `sessions/` at mode 0700 where they are missing.
    ///
    /// # Errors
    /// The system's reason; `PermissionDenied` when a directory in the shared temporary directory
    /// is not ours alone.
    pub fn create(&self) -> io::Result<()> {
        create_private_dir(&self.base)?;
        if self.is_temporary && !is_private_dir(&self.base) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        create_private_dir(&self.sessions())
    }

    /// Why the socket must not be used: writable by others, owned by another, path too long.
    pub fn socket_trouble(&self) -> Option<String> {
        let socket = self.socket();
        let length = socket.as_os_str().len();
        if length > SOCKET_PATH_LIMIT {
            return Some(format!(
                "the socket path {} has {length} bytes, above {SOCKET_PATH_LIMIT}: set a \
                 shorter MCPSNOOP_HOME",
                shown(&socket)
            ));
        }
        let meta = fs::metadata(&self.base).ok()?;
        if meta.uid() != user() {
            return Some(format!("{} belongs to another user", shown(&self.base)));
        }
        (meta.mode() & 0o022 != 0)
            .then(|| format!("{} can be written by others", shown(&self.base)))
    }
}

/// The first rule of log-format 1.1 that applies.
fn locate(env: &Env, warnings: &mut Vec<String>) -> Option<StateDir> {
    if let Some(value) = env.os("MCPSNOOP_HOME") {
        let Some((base, is_relative)) = named(env, value) else {
            warnings.push(format!(
                "MCPSNOOP_HOME is {}, and there is no folder to begin it from",
                shown(value)
            ));
            return None;
        };
        if is_relative {
            warnings.push(format!(
                "MCPSNOOP_HOME is the relative path {}: using {}, which others started \
                 elsewhere will not find",
                shown(value),
                shown(&base)
            ));
        }
        return Some(StateDir::at(base));
    }
    if let Some(base) = xdg(env) {
        return Some(StateDir::at(base));
    }
    if let Some(value) = env.os("XDG_STATE_HOME") {
        warnings.push(format!(
            "XDG_STATE_HOME is the relative path {}: ignored",
            shown(value)
        ));
    }
    if let Some(base) = default(env) {
        return Some(StateDir::at(base));
    }
    let dir = temporary(env);
    let is_missing =
        fs::symlink_metadata(&dir.base).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if !is_missing && !is_private_dir(&dir.base) {
        warnings.push(format!(
            "there is no home folder, and {} is not a private folder of this user: nothing is \
             recorded",
            shown(&dir.base)
        ));
        return None;
    }
    Some(dir)
}

/// A path in a sentence: on one line, without anything that acts on a terminal.
fn shown(path: impl AsRef<OsStr>) -> String {
    format!("`{}`", path.as_ref().to_string_lossy().escape_debug())
}

/// The folder that `MCPSNOOP_HOME` names, and whether it was relative.
fn named(env: &Env, value: &OsStr) -> Option<(PathBuf, bool)> {
    let home = env.home();
    let path = shellexpand::path::tilde_with_context(value, || home.as_ref());
    if home.is_none() && path.starts_with("~") {
        return None;
    }
    if path.is_absolute() {
        return Some((path.into_owned(), false));
    }
    Some((env.current_dir()?.join(path), true))
}

fn xdg(env: &Env) -> Option<PathBuf> {
    let value = Path::new(env.os("XDG_STATE_HOME")?);
    value.is_absolute().then(|| value.join("mcpsnoop"))
}

fn default(env: &Env) -> Option<PathBuf> {
    env.home().map(|home| home.join(".local/state/mcpsnoop"))
}

fn temporary(env: &Env) -> StateDir {
    let folder = env
        .os("TMPDIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| "/tmp".into());
    StateDir {
        base: folder.join(format!("mcpsnoop-{}", user())),
        is_temporary: true,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Checks the directory and the number of warnings.
    fn check(pairs: &[(&str, &str)], expected: &str, warnings: usize) {
        let env = Env::of(pairs.iter().copied()).within("/w");
        let located = StateDir::locate(&env);
        let base = located.dir.unwrap().base().to_owned();
        assert_eq!(base, Path::new(expected), "{pairs:?}");
        assert_eq!(located.warnings.len(), warnings, "{:?}", located.warnings);
    }

    #[test]
    fn the_first_rule_that_applies_names_the_directory() {
        let home = ("HOME", "/home/u");
        check(&[("MCPSNOOP_HOME", "/s"), home], "/s", 0);
        check(&[("MCPSNOOP_HOME", "~/s/t"), home], "/home/u/s/t", 0);
        check(&[("MCPSNOOP_HOME", "~//s"), home], "/home/u/s", 0);
        check(&[("MCPSNOOP_HOME", "~"), home], "/home/u", 0);
        check(&[("MCPSNOOP_HOME", "s"), home], "/w/s", 1);
        check(&[("MCPSNOOP_HOME", "~x"), home], "/w/~x", 1);
        let default = "/home/u/.local/state/mcpsnoop";
        check(&[("MCPSNOOP_HOME", ""), home], default, 0);
        check(&[("XDG_STATE_HOME", "/x"), home], "/x/mcpsnoop", 0);
        check(&[("XDG_STATE_HOME", "x"), home], default, 1);
        check(&[home], default, 0);
        let none = StateDir::locate(&Env::of([("MCPSNOOP_HOME", "~/s")]));
        assert_eq!((none.dir, none.warnings.len()), (None, 1));
        let none = StateDir::locate(&Env::of([("MCPSNOOP_HOME", "s")]));
        assert_eq!((none.dir, none.warnings.len()), (None, 1));
    }

    #[test]
    fn the_temporary_directory_must_be_private_and_ours() {
        let folder = tempfile::tempdir().unwrap();
        let env = Env::of([("TMPDIR", folder.path())]);
        let base = folder.path().join(format!("mcpsnoop-{}", user()));
        let usable = || StateDir::locate(&env).dir;

        let dir = usable().unwrap();
        assert_eq!(dir.base(), base);
        dir.create().unwrap();
        assert_eq!((mode(&base), usable()), (0o700, Some(dir.clone())));
        for bad in [0o755, 0o770, 0o600] {
            set_mode(&base, bad);
            let located = StateDir::locate(&env);
            assert_eq!((located.dir, located.warnings.len()), (None, 1));
        }
        set_mode(&base, 0o755);
        assert!(dir.create().is_err());
        fs::rename(&base, folder.path().join("elsewhere")).unwrap();
        set_mode(&folder.path().join("elsewhere"), 0o700);
        symlink(folder.path().join("elsewhere"), &base).unwrap();
        assert_eq!(usable(), None);
        assert!(dir.create().is_err());
    }

    #[test]
    fn directories_are_private_and_existing_ones_keep_their_mode() {
        let folder = tempfile::tempdir().unwrap();
        let dir = StateDir::at(folder.path().join("a/b"));
        dir.create().unwrap();
        for path in [
            folder.path().join("a"),
            dir.base().to_owned(),
            dir.sessions(),
        ] {
            assert_eq!(mode(&path), 0o700, "{path:?}");
        }
        assert_eq!(dir.socket_trouble(), None);
        set_mode(dir.base(), 0o775);
        dir.create().unwrap();
        assert_eq!(mode(dir.base()), 0o775);
        assert!(dir.socket_trouble().unwrap().contains("written by others"));
        set_mode(dir.base(), 0o755);
        assert_eq!(dir.socket_trouble(), None);
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(StateDir::at(folder.path().join("file")).create().is_err());
    }

    #[test]
    fn long_socket_paths_are_refused_by_their_bytes() {
        for (length, is_refused) in [(SOCKET_PATH_LIMIT, false), (SOCKET_PATH_LIMIT + 1, true)] {
            let base = format!("/{}", "x".repeat(length - "//hub.sock".len()));
            let dir = StateDir::at(base);
            assert_eq!(dir.socket().as_os_str().len(), length);
            assert_eq!(dir.socket_trouble().is_some(), is_refused);
        }
    }

    #[test]
    fn the_other_directories_are_named_once() {
        let shared = tempfile::tempdir().unwrap();
        let env = Env::of([
            ("HOME", "/home/u"),
            ("XDG_STATE_HOME", "/x"),
            ("MCPSNOOP_HOME", "~/s"),
            ("TMPDIR", shared.path().to_str().unwrap()),
        ]);
        let names = |dir: &StateDir| -> Vec<String> {
            let others = dir.others(&env);
            others
                .iter()
                .map(|other| other.base().display().to_string())
                .collect()
        };
        let temporary = shared.path().join(format!("mcpsnoop-{}", user()));
        let temporary = temporary.to_str().unwrap();
        let default = "/home/u/.local/state/mcpsnoop";
        let here = StateDir::locate(&env).dir.unwrap();
        assert_eq!(names(&here), ["/x/mcpsnoop", default], "there is none");
        create_private_dir(Path::new(temporary)).unwrap();
        assert_eq!(names(&here), ["/x/mcpsnoop", default, temporary]);
        assert_eq!(
            names(&StateDir::at(default)),
            ["/home/u/s", "/x/mcpsnoop", temporary]
        );
        fs::set_permissions(temporary, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(names(&here), ["/x/mcpsnoop", default], "others may write");
    }
}
