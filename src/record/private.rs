//! Directories that only the user may enter, whatever the umask (log-format 1.2.1).

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::Path,
};

const MODE: u32 = 0o700;

/// The user that this process acts as.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Creates a directory and its missing parents at mode 0700; the mode of what exists stays.
///
/// # Errors
/// The system's reason; `NotADirectory` when something else is there.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_missing) => {}
    }
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        create_private_dir(parent)?;
    }
    match fs::DirBuilder::new().mode(MODE).create(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(MODE)),
        // Somebody else was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// True for a directory of this user with mode 0700 that is no symbolic link.
pub(super) fn is_private_dir(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == user() && meta.mode() & 0o7777 == MODE)
}
