//! Starting the command as the client would have started it (capture.md 5.1).

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

use super::error::Error;

/// Starts the command between three pipes, in our process group, with an empty signal mask. Called
/// on the main thread: the system sends the death signal when the launching thread ends.
///
/// # Errors
/// The command is not there or cannot be run.
pub(super) fn launch(command: &[OsString]) -> Result<Child, Error> {
    let (program, mut child) = prepared(command)?;
    child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    die_with_us(&mut child);
    child.spawn().map_err(|source| refused(program, source))
}

/// `--no-trace`: replaces this process with the command; returns only when that fails.
pub fn exec_plain(command: &[OsString]) -> Error {
    match prepared(command) {
        Ok((program, mut child)) => {
            let source = child.exec();
            refused(program, source)
        }
        Err(error) => error,
    }
}

fn prepared(command: &[OsString]) -> Result<(&OsString, Command), Error> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::NotFound {
            program: OsString::new(),
        });
    };
    let mut child = Command::new(program);
    child.args(arguments);
    Ok((program, child))
}

fn refused(program: &OsString, source: io::Error) -> Error {
    let program = program.clone();
    if source.kind() == io::ErrorKind::NotFound {
        Error::NotFound { program }
    } else {
        Error::NotExecutable { program, source }
    }
}

/// Killing the shim kills the server, as it would have without the shim (capture.md 5.1.6).
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "a death signal can only be set between fork and exec; both calls there are plain system calls"
)]
fn die_with_us(child: &mut Command) {
    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
    let us = getpid();
    // SAFETY: the closure runs in the forked child and only makes system calls; it allocates
    // nothing and takes no lock.
    unsafe {
        child.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the setting.
            if getppid() == Some(us) {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ))
            }
        });
    }
}

/// Other systems have no death signal: the child sees the end of its input.
#[cfg(not(target_os = "linux"))]
const fn die_with_us(_child: &mut Command) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_start_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plain");
        std::fs::write(&file, "x").unwrap();
        let start = |program: OsString| launch(&[program]).map(drop);
        let missing = start("no-such-program-anywhere".into());
        assert!(
            matches!(missing, Err(Error::NotFound { .. })),
            "{missing:?}"
        );
        let plain = start(file.into());
        assert!(
            matches!(plain, Err(Error::NotExecutable { .. })),
            "{plain:?}"
        );
        assert!(matches!(launch(&[]), Err(Error::NotFound { .. })));
    }
}
