//! Both ends of a measured pipe: a server that answers calls, and the client's side of it.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use crate::{Outcome, space::Space};

const BLOCK: usize = 1 << 20;

/// Reads lines and answers those that have an id; the answer tells how many lines have come.
pub(crate) fn serve() -> Outcome<()> {
    let mut input = BufReader::with_capacity(BLOCK, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut lines) = (Vec::new(), 0_u64);
    while input.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        if let Some(id) = id_of(&line) {
            let id = String::from_utf8_lossy(id);
            let text = "x".repeat(1000);
            let answer = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"lines\":{lines}}}}}\n"
            );
            output.write_all(answer.as_bytes())?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// The id stands near the start of what `call` makes.
fn id_of(line: &[u8]) -> Option<&[u8]> {
    let head = line.get(..line.len().min(64))?;
    let key = b"\"id\":";
    let start = head.windows(key.len()).position(|window| window == key)? + key.len();
    let length = line.get(start..)?.iter().position(|byte| *byte == b',')?;
    line.get(start..start + length)
}

/// A call of `size` bytes, line end included.
pub(crate) fn call(id: u64, size: usize) -> Vec<u8> {
    let head = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":\""
    );
    padded(&head, "\"}}}\n", size)
}

/// A notification of `size` bytes that nobody answers.
pub(crate) fn notification(number: u64, size: usize) -> Vec<u8> {
    let head = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"data\":\"number {number} "
    );
    padded(&head, "\"}}\n", size)
}

fn padded(head: &str, tail: &str, size: usize) -> Vec<u8> {
    let padding = size.saturating_sub(head.len() + tail.len());
    [head.as_bytes(), &vec![b'y'; padding], tail.as_bytes()].concat()
}

/// A started command with the client's ends of its pipes.
pub(crate) struct Pipe {
    child: Child,
    pub(crate) input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl Pipe {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let output = BufReader::with_capacity(BLOCK, output);
        Ok(Self {
            child,
            input,
            output,
            line: Vec::new(),
        })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line and waits for the answer.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Outcome<()> {
        self.input.write_all(line)?;
        self.next_line()?;
        Ok(())
    }

    /// The next line of the output.
    pub(crate) fn next_line(&mut self) -> Outcome<&[u8]> {
        self.line.clear();
        if self.output.read_until(b'\n', &mut self.line)? == 0 {
            return Err("the command ended too early".into());
        }
        Ok(&self.line)
    }

    /// Closes the input and waits for the end.
    pub(crate) fn finish(self) -> Outcome<ExitStatus> {
        let Self {
            mut child,
            input,
            output,
            line: _,
        } = self;
        drop(input);
        drop(output);
        Ok(child.wait()?)
    }
}

/// The bare server.
pub(crate) fn bare(space: &Space) -> Outcome<Command> {
    let mut command = space.command(std::env::current_exe()?);
    command.arg("server");
    Ok(command)
}

/// The server behind a relay of two `cat`: what any relay of processes costs.
pub(crate) fn relay(space: &Space) -> Outcome<Command> {
    let mut command = space.command("sh");
    command
        .args(["-c", "cat | \"$0\" server | cat"])
        .arg(std::env::current_exe()?);
    Ok(command)
}

/// The server behind the shim.
pub(crate) fn wrapped(space: &Space, plan: &crate::Plan) -> Outcome<Command> {
    let mut command = space.program(plan);
    command
        .args(["--label", "bench", "--quiet", "--"])
        .arg(std::env::current_exe()?)
        .arg("server");
    Ok(command)
}
