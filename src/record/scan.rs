//! One pass over a whole log: a thread reads and decodes ahead, the caller takes what it yields.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt as _,
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
};

use super::{
    error::Error,
    input::{From, KeptLog, LogInput, Spool},
    reader::{LineReader, ReadEvent},
};

/// Bytes of one read: large enough that the system call does not count.
const CHUNK: usize = 512 << 10;
/// Reads whose events wait for the caller.
const AHEAD: usize = 4;

/// What a pass over a log found beside its events.
#[derive(Debug)]
pub struct Scanned {
    /// The log, to be read again.
    pub log: KeptLog,
    /// It had bytes.
    pub has_bytes: bool,
    /// The last line is incomplete.
    pub torn: bool,
}

/// Reads a log through. A stream that is long is kept in an unlinked file in `spool`.
///
/// # Errors
/// The system's reason when reading, or keeping a stream, fails.
pub fn scan_log(
    input: LogInput,
    spool: &Path,
    take: &mut dyn FnMut(ReadEvent),
) -> Result<Scanned, Error> {
    let LogInput { path, from } = input;
    let (to, ahead) = sync_channel(AHEAD);
    let scanned = std::thread::scope(|scope| {
        let reader = scope.spawn(move || match from {
            From::File(file, start) => read_file(file, start, &to),
            From::Stream(stream) => read_stream(stream, Spool::new(spool), &to),
        });
        for events in ahead {
            let events: Vec<ReadEvent> = events;
            events.into_iter().for_each(&mut *take);
        }
        reader
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the reader of the log broke off")))
    });
    scanned.map_err(|source| Error::Read { path, source })
}

fn read_file(file: File, start: u64, to: &SyncSender<Vec<ReadEvent>>) -> io::Result<Scanned> {
    let mut pass = Pass::new(LineReader::at(start), to);
    let mut buffer = vec![0; CHUNK];
    let mut offset = start;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => break,
            Ok(count) => {
                offset += count as u64;
                pass.push(buffer.get(..count).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let torn = pass.finish();
    Ok(Scanned {
        log: KeptLog::file(file),
        has_bytes: offset > start,
        torn,
    })
}

fn read_stream(
    mut stream: Box<dyn Read + Send>,
    mut spool: Spool,
    to: &SyncSender<Vec<ReadEvent>>,
) -> io::Result<Scanned> {
    let mut pass = Pass::new(LineReader::at(0), to);
    let mut buffer = vec![0; CHUNK];
    let mut has_bytes = false;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                has_bytes = true;
                spool.push(bytes)?;
                pass.push(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let torn = pass.finish();
    Ok(Scanned {
        log: spool.finish(),
        has_bytes,
        torn,
    })
}

/// Decodes what was read and hands it on.
struct Pass<'a> {
    reader: LineReader,
    to: &'a SyncSender<Vec<ReadEvent>>,
}

impl<'a> Pass<'a> {
    fn new(reader: LineReader, to: &'a SyncSender<Vec<ReadEvent>>) -> Self {
        Self { reader, to }
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        self.reader.push(bytes, &mut |event| events.push(event));
        self.send(events);
    }

    fn finish(&mut self) -> bool {
        let mut events = Vec::new();
        let torn = self.reader.finish(&mut |event| events.push(event));
        self.send(events);
        torn
    }

    fn send(&self, events: Vec<ReadEvent>) {
        if !events.is_empty() && self.to.send(events).is_err() {
            // The caller panicked: its panic goes on when this thread has ended.
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const LINES: &str = "{\"session_id\":\"s\",\"seq\":1,\"direction\":\"c2s\"}\nnonsense\n{\"session_id\":\"s\",\"seq\":2,\"direction\":\"s2c\"}\n{\"torn";

    fn seen(input: LogInput, folder: &Path) -> (String, Scanned) {
        let mut seen = Vec::new();
        let scanned = scan_log(input, folder, &mut |event| match event {
            ReadEvent::Line { line, offset } => {
                seen.push(format!("{}@{offset}", line.envelope.seq));
            }
            ReadEvent::Damage(damage) => seen.push(format!("line {}", damage.line)),
        });
        (seen.join(" "), scanned.unwrap())
    }

    #[test]
    fn files_and_streams_give_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        File::create(&path)
            .unwrap()
            .write_all(LINES.as_bytes())
            .unwrap();
        let stream = LogInput {
            path: "-".into(),
            from: From::Stream(Box::new(io::Cursor::new(LINES))),
        };
        for input in [LogInput::open(&path).unwrap(), stream] {
            let (text, scanned) = seen(input, folder.path());
            assert_eq!(text, "1@0 line 2 2@54");
            assert!(scanned.torn && scanned.has_bytes);
            assert_eq!(&scanned.log.read(45, 8).unwrap()[..], b"nonsense");
        }
    }

    #[test]
    fn a_file_that_was_begun_is_read_from_there() {
        let file = {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(LINES.as_bytes()).unwrap();
            file
        };
        let input = LogInput {
            path: "-".into(),
            from: From::File(file, 54),
        };
        let (text, scanned) = seen(input, Path::new("/"));
        assert_eq!(text, "2@54");
        assert!(scanned.torn);
    }
}
