//! `mcpsnoop export`: one recorded session as one document (export.md 1, 2).

use std::{
    io::{self, IsTerminal as _, Write as _},
    os::fd::AsFd as _,
    path::{Path, PathBuf},
};

use mcpsnoop::{
    base::quoted,
    record::{FileIdentity, Liveness, LogInput, OutputPath, StateDir, liveness_of, scan_log},
    reports::{self, Exported, JsonOptions, Loader, write_json, write_jsonl},
    session::{Filter, FilterScope},
};

use super::{
    ending::{self, Endings},
    export_notes,
    naming::{self, Named},
};
use crate::cli::{
    context::Context,
    export_args::ExportArgs,
    failure::{Exit, Failure},
    output,
};

/// What can be written, and its name.
const FORMATS: [(&str, Format); 2] = [("json", Format::Json), ("jsonl", Format::Jsonl)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Jsonl,
}

/// What is asked for, as far as it can be wrong before anything is read.
struct Asked {
    format: Format,
    filter: Option<(String, Filter)>,
}

/// Writes the session.
pub(super) fn run(args: &ExportArgs, context: &Context) -> Result<Exit, Failure> {
    let asked = Asked::read(args)?;
    let state = StateDir::locate(&context.env).dir;
    let named = Named {
        command: "export",
        exit: Exit::Failed,
        argument: args.session.as_deref(),
    };
    let explained = |error| naming::explained(&error, &named, state.as_ref(), context);
    let path = naming::choose(named.argument, state.as_ref(), context).map_err(explained)?;
    if path.is_none() && io::stdin().is_terminal() {
        return Err(Failure::usage("standard input is the terminal itself")
            .hint("pipe a log into it: xz -dc old.jsonl.xz | mcpsnoop export -"));
    }
    let input = open(path.as_deref()).map_err(explained)?;
    let target = Target::look(&args.output)?;
    target.refuse_input(&input)?;
    target.refuse_log(state.as_ref())?;
    let mut exported = match read(input, args.inner.as_deref(), context) {
        Ok(exported) => exported,
        Err(reports::Error::Log(error)) => return Err(explained(error)),
        Err(error) => return Err(of_report(&error)),
    };
    if let Some(path) = path.filter(|_| exported.is_torn())
        && liveness_of(&path, context.clock.now()) == Liveness::Recording
    {
        exported.set_recording();
    }
    export_notes::tell(&exported, args.inner.is_some());
    target.write(&mut |out| asked.write(&exported, context, out))
}

impl Asked {
    fn read(args: &ExportArgs) -> Result<Self, Failure> {
        let name = args.format.trim().to_ascii_lowercase();
        let known = FORMATS.iter().find(|(known, _)| *known == name);
        let Some((_, format)) = known else {
            let names = FORMATS.map(|(name, _)| name).join(", ");
            let given = quoted(&args.format);
            return Err(Failure::usage(format!("no such format: {given}"))
                .hint(format!("formats: {names}")));
        };
        let Some(query) = &args.filter else {
            return Ok(Self {
                format: *format,
                filter: None,
            });
        };
        if *format == Format::Jsonl {
            return Err(
                Failure::usage("`--filter` is not for jsonl: a log keeps all its frames")
                    .hint("filter the document instead: -T json"),
            );
        }
        let filter = Filter::parse(query, FilterScope::Rows)
            .map_err(|error| Failure::usage(format!("bad filter: {error}")))?;
        if let Some(hint) = filter.hint() {
            output::note(&format!("note: {hint}"));
        }
        Ok(Self {
            format: *format,
            filter: Some((query.clone(), filter)),
        })
    }

    fn write(
        &self,
        exported: &Exported,
        context: &Context,
        out: &mut dyn io::Write,
    ) -> Result<(), reports::Error> {
        match self.format {
            Format::Jsonl => write_jsonl(exported, out),
            Format::Json => {
                let filter = self.filter.as_ref();
                let options = JsonOptions {
                    generated_at: context.clock.now(),
                    filter: filter.map(|(query, filter)| (query.as_str(), filter)),
                };
                let events = write_json(exported, options, out)?;
                if events == 0 && filter.is_some() {
                    output::note("note: no frame matches the filter");
                }
                Ok(())
            }
        }
    }
}

fn open(path: Option<&Path>) -> Result<LogInput, mcpsnoop::record::Error> {
    match path {
        Some(path) => LogInput::open(path),
        None => LogInput::standard_input(),
    }
}

/// The first pass: everything that is read is read before the output is touched.
fn read(
    input: LogInput,
    wanted: Option<&str>,
    context: &Context,
) -> Result<Exported, reports::Error> {
    let folder = context.env.os("TMPDIR");
    let folder = folder.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let mut loader = Loader::new(input.path().to_owned(), wanted);
    let scanned = scan_log(input, &folder, &mut |event| loader.take(event));
    loader.finish(scanned.map_err(reports::Error::Log)?)
}

/// Where the document goes.
enum Target<'a> {
    StandardOutput,
    Path(&'a Path, OutputPath),
}

impl<'a> Target<'a> {
    fn look(path: &'a Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        match OutputPath::resolve(path) {
            Ok(found) => Ok(Self::Path(path, found)),
            Err(error) => Err(unwritable(path, &error)),
        }
    }

    /// An output that is the input would be read while it is written.
    fn refuse_input(&self, input: &LogInput) -> Result<(), Failure> {
        let Some(identity) = input.identity() else {
            return Ok(());
        };
        let same = match self {
            Self::Path(_, path) => path.is(identity),
            Self::StandardOutput => standard_output().is_some_and(|found| found == identity),
        };
        if !same {
            return Ok(());
        }
        Err(Failure::new(Exit::Failed, "output is the input file")
            .hint("name another file with -o"))
    }

    /// A recorded session is not replaced by what was made of another, least of all while its recorder
    /// writes.
    fn refuse_log(&self, state: Option<&StateDir>) -> Result<(), Failure> {
        let Self::Path(path, target) = self else {
            return Ok(());
        };
        let is_kept = state.is_some_and(|state| target.is_file_in(&state.sessions()));
        if !is_kept && !target.is_locked() {
            return Ok(());
        }
        let shown = mcpsnoop::base::quoted_bytes(path.as_os_str().as_encoded_bytes());
        let what = format!("output `{shown}` is the log of a recorded session");
        Err(Failure::new(Exit::Failed, what).hint("name another file with -o"))
    }

    fn write(
        self,
        write: &mut dyn FnMut(&mut dyn io::Write) -> Result<(), reports::Error>,
    ) -> Result<Exit, Failure> {
        let (path, target) = match self {
            Self::StandardOutput => {
                let mut out = io::stdout().lock();
                return match write(&mut out) {
                    Ok(()) => out
                        .flush()
                        .map(|()| Exit::Done)
                        .map_err(|error| output::output_failure(&error)),
                    Err(reports::Error::Write(error)) => Err(output::output_failure(&error)),
                    Err(error) => Err(of_report(&error)),
                };
            }
            Self::Path(path, target) => (path, target),
        };
        // Of what waits for a reader a signal is the way out; a temporary file must go first.
        let endings = if target.is_direct() {
            None
        } else {
            let installed = Endings::install();
            Some(installed.map_err(|error| unwritable(path, &error))?)
        };
        let mut file = target.open().map_err(|error| unwritable(path, &error))?;
        if !file.is_atomic() {
            output::note("note: not atomic, directory is not writable");
        }
        let written = match &endings {
            Some(endings) => write(&mut endings.guard(&mut file)),
            None => write(&mut file),
        };
        let ended = endings.as_ref().and_then(Endings::ended_by);
        if let Some(signal) = ended {
            drop(file);
            return Ok(ending::end_by(signal));
        }
        match written {
            Ok(()) => file
                .flush()
                .and_then(|()| file.commit())
                .map(|()| Exit::Done)
                .map_err(|error| unwritable(path, &error)),
            Err(reports::Error::Write(error)) => Err(unwritable(path, &error)),
            Err(error) => Err(of_report(&error)),
        }
    }
}

fn standard_output() -> Option<FileIdentity> {
    let file = io::stdout().as_fd().try_clone_to_owned().ok()?;
    let found = std::fs::File::from(file).metadata().ok()?;
    found.is_file().then(|| FileIdentity::of(&found))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let shown = mcpsnoop::base::quoted_bytes(path.as_os_str().as_encoded_bytes());
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a file in a directory that you may write with -o"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or name a file elsewhere with -o"
        }
        _ => "name another file with -o",
    };
    Failure::new(Exit::Failed, format!("cannot write `{shown}`"))
        .because(error)
        .hint(hint)
}

fn of_report(error: &reports::Error) -> Failure {
    let failure = Failure::new(Exit::Failed, error);
    match error {
        reports::Error::NoSession { held, .. } => {
            let named = held.iter().map(|id| quoted(id)).collect::<Vec<_>>();
            failure.hint(format!("it holds {}", named.join(", ")))
        }
        reports::Error::Changed => failure.hint("try again"),
        reports::Error::Log(error) => Failure::of_log(error, "export", Exit::Failed),
        reports::Error::ReadAgain(cause) | reports::Error::Write(cause) => failure.because(cause),
    }
}
