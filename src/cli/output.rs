//! Standard output and standard error. The only file that writes them.

use std::io::{self, IsTerminal as _, Write as _};

use mcpsnoop::base;

use super::{
    failure::{CLOSED_OUTPUT, Exit, Failure, Shape},
    wrap::wrapped,
};

/// Narrower terminals break lines as they like.
const NARROWEST: u16 = 20;

/// Writes to standard output; a closed reader ends the process quietly.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    write_bytes(text.as_bytes())
}

/// Writes bytes to standard output and flushes.
pub(super) fn write_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| output_failure(&error))
}

/// What a failed write to standard output means.
pub(super) fn output_failure(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failure::silent(CLOSED_OUTPUT)
    } else {
        Failure::new(Exit::Failed, "standard output cannot be written").because(error)
    }
}

/// One line on standard error. Nothing can be done when that fails.
pub(super) fn note(line: &str) {
    complain_raw(&format!("{}\n", fitted(&base::line(line))));
}

/// Text as it fits the terminal that standard error is; as it is where it is none.
fn fitted(text: &str) -> String {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    match size.map(|size| size.ws_col) {
        Some(columns @ NARROWEST..) => wrapped(text, usize::from(columns)),
        _ => text.to_owned(),
    }
}

/// Prints a failure: `error:`, `caused by:`, `hint:`.
pub(super) fn complain(failure: &Failure) {
    if failure.sentence.is_empty() {
        return;
    }
    if failure.shape == Shape::Line {
        let because = failure.causes.iter().map(|cause| format!(": {cause}"));
        let next = failure.hints.iter().map(|hint| format!("; {hint}"));
        let line: String = because.chain(next).collect();
        return note(&format!("mcpsnoop: {}{line}", failure.sentence));
    }
    let colour = io::stderr().is_terminal() && base::Env::read().os("NO_COLOR").is_none();
    let mut text = line("error", "1;31", &failure.sentence, colour);
    for cause in &failure.causes {
        text += &line("caused by", "1", cause, colour);
    }
    for hint in &failure.hints {
        text += &line("hint", "1;36", hint, colour);
    }
    complain_raw(&text);
}

/// Writes text that is already safe to standard error in one call.
pub(super) fn complain_raw(text: &str) {
    if io::stderr().lock().write_all(text.as_bytes()).is_err() {
        // Standard error is gone: there is nobody left to tell.
    }
}

/// Asks a question on standard error and reads one line from standard input.
pub(super) fn ask(question: &str) -> String {
    complain_raw(question);
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer) {
        Ok(_) => answer.trim().to_owned(),
        Err(_) => String::new(),
    }
}

fn line(word: &str, style: &str, text: &str, colour: bool) -> String {
    let text = format!("{word}: {}", base::block(text).replace('\n', "\n  "));
    let text = fitted(&text);
    match text.split_once(':') {
        Some((head, rest)) if colour => format!("\u{1b}[{style}m{head}:\u{1b}[0m{rest}\n"),
        _ => format!("{text}\n"),
    }
}
