//! The modes that fold logs in a process of their own: reader, analyzer and model as the viewer runs them.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::sync_channel},
    time::Duration,
};

use mcpsnoop::{
    feed::{FeedEvent, FeedFrame, Origin},
    findings::Analyzer,
    record::{HostName, Line, LineReader, Place, ReadEvent, SessionKey},
    session::{Limits, Model},
};
use nix::time::{ClockId, clock_gettime};

use crate::{Outcome, heap, logs, measure::median, mix, usage};

/// Bytes of one read, as `open` reads.
const CHUNK: usize = 1 << 20;
/// Reads that may wait, as `open` has them.
const READS_AHEAD: usize = 8;

/// An analyzer with what each frame is given beside its line.
pub(crate) struct Folder {
    analyzer: Analyzer,
    host: HostName,
    log: Arc<PathBuf>,
    live: bool,
    pub(crate) frames: u64,
}

impl Folder {
    /// Of a log that is opened.
    pub(crate) fn of_log(limits: Limits, log: &Path) -> Self {
        Self {
            analyzer: Analyzer::new(limits),
            host: HostName::local(),
            log: Arc::new(log.to_owned()),
            live: false,
            frames: 0,
        }
    }

    /// Of sessions that are watched.
    pub(crate) fn live(limits: Limits) -> Self {
        Self {
            live: true,
            ..Self::of_log(limits, Path::new("watched.jsonl"))
        }
    }

    /// Folds one event of a reader; a damaged line is an error of the bench.
    pub(crate) fn take(&mut self, event: ReadEvent) {
        let ReadEvent::Line { line, offset } = event else {
            panic!("{event:?}");
        };
        self.fold(line, offset);
    }

    fn fold(&mut self, line: Line, offset: u64) {
        self.frames += 1;
        let frame = FeedFrame {
            key: SessionKey {
                host: self.host.clone(),
                id: Arc::clone(&line.envelope.session_id),
            },
            place: Some(Place {
                log: Arc::clone(&self.log),
                offset,
                length: line.bytes.len() as u32,
            }),
            origin: if self.live {
                Origin::Socket
            } else {
                Origin::Log
            },
            arrived: if self.live { line.envelope.ts } else { None },
            line,
        };
        self.analyzer.ingest(&FeedEvent::Frame(Box::new(frame)));
    }

    pub(crate) fn model(&self) -> &Model {
        self.analyzer.model()
    }

    /// What a viewer does about once a second.
    pub(crate) fn settle(&mut self) {
        self.analyzer.settle();
    }

    /// Takes all sessions out; gives how many there were.
    pub(crate) fn remove_all(&mut self) -> usize {
        let keys: Vec<SessionKey> = self
            .model()
            .sessions()
            .map(|session| session.key().clone())
            .collect();
        keys.iter().filter(|key| self.analyzer.remove(key)).count()
    }
}

/// Processor time of the calling thread.
pub(crate) fn thread_time() -> Outcome<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// `fold LOG THREADS`: decodes and folds the log; prints its frames and the seconds of the busiest thread.
pub(crate) fn serve_log(words: &[String]) -> Outcome<()> {
    let [log, threads] = words else {
        return Err("usage: fold LOG THREADS".into());
    };
    let log = Path::new(log);
    let mut folder = Folder::of_log(Limits::FACTS, log);
    let busiest = if threads == "1" {
        read(log, |reader, bytes| {
            reader.push(bytes, &mut |event| folder.take(event));
            true
        })?;
        thread_time()?
    } else {
        on_two(log, &mut folder)?
    };
    let sessions: u64 = folder
        .model()
        .sessions()
        .map(|session| session.counters().frames)
        .sum();
    println!("{sessions} {}", busiest.as_secs_f64());
    // The process ends: nobody pays for giving the model back, the viewer neither.
    std::mem::forget(folder);
    Ok(())
}

/// One thread reads and decodes ahead of the one that folds.
fn on_two(log: &Path, folder: &mut Folder) -> Outcome<Duration> {
    let (to, ahead) = sync_channel::<Vec<ReadEvent>>(READS_AHEAD);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let read = read(log, |reader, bytes| {
                let mut events = Vec::new();
                reader.push(bytes, &mut |event| events.push(event));
                to.send(events).is_ok()
            });
            // An error of another thread has to be a text.
            read.and_then(|()| thread_time())
                .map_err(|error| error.to_string())
        });
        for events in ahead {
            events.into_iter().for_each(|event| folder.take(event));
        }
        let reading = reader.join().map_err(|_| "the reader panicked")??;
        Ok(reading.max(thread_time()?))
    })
}

/// Reads a log in chunks until `take` says false.
fn read(log: &Path, mut take: impl FnMut(&mut LineReader, &[u8]) -> bool) -> Outcome<()> {
    let mut file = File::open(log)?;
    let mut reader = LineReader::at(0);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 || !take(&mut reader, &chunk[..length]) {
            return Ok(());
        }
    }
}

/// Frames of one session, made in blocks so that making them is not measured.
struct Source {
    seq: u64,
    size: usize,
    reader: LineReader,
    block: String,
}

impl Source {
    fn new(size: usize) -> Self {
        Self {
            seq: 0,
            size,
            reader: LineReader::at(0),
            block: String::new(),
        }
    }

    /// Makes and folds that many frames; gives the processor time of decoding and folding.
    fn fold(&mut self, frames: u64, folder: &mut Folder) -> Outcome<Duration> {
        let mut spent = Duration::ZERO;
        let mut left = frames;
        let mut raw = String::new();
        while left > 0 {
            let count = left.min(2_000);
            self.block.clear();
            for _ in 0..count {
                self.seq += 1;
                raw.clear();
                let direction = mix::frame(self.seq, self.size, &mut raw)?;
                let line = logs::Line {
                    session: "pace-1-000000000001",
                    label: "pace",
                    seq: self.seq,
                    micros: logs::instant(self.seq),
                    direction,
                    transport: "stdio",
                    payload: ("raw", &raw),
                    more: "",
                };
                line.write(&mut self.block)?;
            }
            let started = thread_time()?;
            self.reader
                .push(self.block.as_bytes(), &mut |event| folder.take(event));
            spent += thread_time()? - started;
            left -= count;
        }
        Ok(spent)
    }
}

/// `pace FRAMES SIZE ROUNDS`: prints nanoseconds a frame of the first and of the last tenth, medians of the rounds.
pub(crate) fn serve_pace(words: &[String]) -> Outcome<()> {
    let [frames, size, rounds] = words else {
        return Err("usage: pace FRAMES SIZE ROUNDS".into());
    };
    let (frames, size): (u64, usize) = (frames.parse()?, size.parse()?);
    let tenth = frames / 10;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for _ in 0..rounds.parse()? {
        let mut folder = Folder::of_log(Limits::FACTS, Path::new("pace.jsonl"));
        let mut source = Source::new(size);
        let nanos = |spent: Duration| spent.as_nanos() as f64 / tenth as f64;
        first.push(nanos(source.fold(tenth, &mut folder)?));
        source.fold(frames - 2 * tenth, &mut folder)?;
        last.push(nanos(source.fold(tenth, &mut folder)?));
    }
    println!("{} {}", median(&first), median(&last));
    Ok(())
}

/// `hold FRAMES SIZE`: prints bytes that a frame takes beside bodies, allocated and resident, and the bodies held.
pub(crate) fn serve_hold(words: &[String]) -> Outcome<()> {
    let [frames, size] = words else {
        return Err("usage: hold FRAMES SIZE".into());
    };
    let (frames, size): (u64, usize) = (frames.parse()?, size.parse()?);
    heap::start();
    let mut source = Source::new(size);
    let resident = usage::resident_bytes(std::process::id());
    let mut folder = Folder::of_log(Limits::FILE, Path::new("hold.jsonl"));
    source.fold(frames, &mut folder)?;
    let bodies = folder.model().body_bytes() as f64;
    let block = source.block.capacity() as f64;
    let a_frame = |bytes: f64| (bytes - bodies - block) / frames as f64;
    let resident = usage::resident_bytes(std::process::id()) - resident;
    println!(
        "{} {} {}",
        a_frame(heap::live() as f64),
        a_frame(resident),
        bodies / f64::from(1 << 20)
    );
    Ok(())
}
