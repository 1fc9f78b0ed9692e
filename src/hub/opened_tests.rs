//! One log as a source: files, streams, growth, refusals.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use super::{OpenedLog, OpenedSource, run_opened};
use crate::{
    base::Clock,
    feed::{BodyOutcome, FeedEvent, FeedReceiver, FeedRequest, LinkState, Progress, channel},
    record::{Error, Place, Seq},
};

const DEADLINE: Duration = Duration::from_secs(20);

fn lines(id: &str, seqs: impl IntoIterator<Item = u64>) -> String {
    let line = |seq| {
        format!(
            "{{\"session_id\":\"{id}\",\"server_label\":\"\",\"seq\":{seq},\"ts\":\"2026-09-01T08:00:00Z\",\
             \"direction\":\"stderr\",\"transport\":\"stdio\",\"text\":\"x\"}}\n"
        )
    };
    seqs.into_iter().map(line).collect()
}

/// What was told, in short words.
#[derive(Default)]
struct Heard {
    words: Vec<String>,
    places: Vec<Place>,
    progress: Vec<Progress>,
}

/// An opened log that is being read on a thread of its own.
struct Run {
    receiver: FeedReceiver,
    requests: SyncSender<FeedRequest>,
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), Error>>,
    heard: Heard,
}

impl Run {
    fn start(source: OpenedSource, follow: bool) -> Self {
        let (feed, receiver) = channel();
        let (requests, asked) = sync_channel(4);
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let log = OpenedLog {
            source,
            follow,
            clock: Clock::start(),
        };
        let thread = std::thread::spawn(move || {
            run_opened(&log, &feed, &asked, &|| is_stopped.load(Ordering::SeqCst))
        });
        Self {
            receiver,
            requests,
            stop,
            thread,
            heard: Heard::default(),
        }
    }

    /// Waits until a word was said.
    fn until(&mut self, word: &str) {
        let since = Instant::now();
        while !self.heard.words.iter().any(|said| said == word) {
            assert!(
                since.elapsed() < DEADLINE,
                "no `{word}` in {:?}",
                self.heard.words
            );
            let events = self.receiver.wait(10_000, DEADLINE).expect("it ended");
            self.heard.take(events);
        }
    }

    fn ask(&self, seq: u8) {
        let key = crate::record::SessionKey {
            host: crate::record::HostName::local(),
            id: "a".into(),
        };
        let place = self.heard.places.get(usize::from(seq) - 1).cloned();
        let request = FeedRequest::ReadBody {
            key,
            seq: Seq(u64::from(seq)),
            place: place.unwrap_or_else(|| Place {
                log: Arc::new(PathBuf::from("-")),
                offset: 0,
                length: 0,
            }),
        };
        self.requests.send(request).unwrap();
    }

    fn end(mut self) -> (Result<(), Error>, Vec<String>) {
        self.stop.store(true, Ordering::SeqCst);
        let since = Instant::now();
        while !self.thread.is_finished() {
            assert!(since.elapsed() < DEADLINE, "it does not stop");
            std::thread::yield_now();
        }
        let result = self.thread.join().unwrap();
        while let Ok(events) = self.receiver.take(100_000) {
            self.heard.take(events);
        }
        (result, self.heard.words)
    }
}

impl Heard {
    fn take(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            let word = match event {
                FeedEvent::Frame(frame) => {
                    self.places.extend(frame.place);
                    let live = if frame.arrived.is_some() { "~" } else { "" };
                    format!("{live}{}{}", frame.key.id, frame.line.envelope.seq)
                }
                FeedEvent::Gap { key, from, to } => format!("gap {}{from}-{to}", key.id),
                FeedEvent::GapFilled { key, from, .. } => format!("late {}{from}", key.id),
                FeedEvent::Notice { text, .. } => text,
                FeedEvent::Host(host) if host.link == LinkState::Live => "live".to_owned(),
                FeedEvent::Body { seq, outcome, .. } => match outcome {
                    BodyOutcome::Line(line) => format!("body {seq} {}", line.len()),
                    BodyOutcome::Unavailable(why) => format!("body {seq}: {why}"),
                },
                FeedEvent::End(ending) => format!("end, damaged {}", ending.damaged),
                FeedEvent::Progress(progress) => {
                    self.progress.push(progress);
                    continue;
                }
                _ => continue,
            };
            self.words.push(word);
        }
    }
}

fn file(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("log.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_file_is_read_to_its_end_and_its_bodies_stay_within_reach() {
    let dir = tempfile::tempdir().unwrap();
    let text =
        lines("a", [1, 2, 4]) + "{broken\n" + &lines("b", [1]) + "{\"session_id\":\"a\",\"se";
    let path = file(dir.path(), &text);
    let mut run = Run::start(OpenedSource::File(path), false);
    run.until("live");
    run.ask(2);
    run.until(&format!("body 2 {}", lines("a", [2]).len() - 1));
    let last = run.heard.progress.last().expect("progress").clone();
    assert_eq!(last.bytes_done.0, text.len() as u64);
    let (result, words) = run.end();
    assert!(result.is_ok());
    let expected = "a1 a2 b1 a4";
    let frames: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| word.len() == 2)
        .collect();
    assert_eq!(
        frames.join(" "),
        expected,
        "4 waits for what may stand crosswise"
    );
    for word in [
        "gap a3-3",
        "1 damaged line (first: line 4)",
        "the last line is incomplete",
        "end, damaged 1",
    ] {
        assert!(words.iter().any(|said| said == word), "{word} in {words:?}");
    }
}

#[test]
fn growth_is_followed_and_its_frames_are_live() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), &lines("a", [1, 2]));
    let mut run = Run::start(OpenedSource::File(path.clone()), true);
    run.until("live");
    let mut log = OpenOptions::new().append(true).open(&path).unwrap();
    log.write_all(lines("a", [3, 5, 4]).as_bytes()).unwrap();
    run.until("~a5");
    std::fs::write(&path, lines("a", [1])).unwrap();
    log.write_all(lines("a", [2, 3, 4, 5, 6]).as_bytes())
        .unwrap();
    run.until("~a6");
    let (_, words) = run.end();
    let frames: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| word.len() <= 3)
        .collect();
    assert_eq!(frames, ["a1", "a2", "~a3", "~a4", "~a5", "~a6"]);
}

#[test]
fn a_stream_is_read_to_its_end_and_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut run = Run::start(OpenedSource::Stream(path.clone()), true);
    let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(lines("a", [1, 2]).as_bytes()).unwrap();
    run.until("a2");
    writer
        .write_all(lines("a", [3]).trim_end().as_bytes())
        .unwrap();
    drop(writer);
    run.until("live");
    run.ask(2);
    run.until("body 2: this log was a stream and is not kept");
    let (result, words) = run.end();
    assert!(
        result.is_ok() && words.iter().any(|word| word == "a3"),
        "{words:?}"
    );
}

#[test]
fn a_stream_that_says_nothing_does_not_keep_the_run_from_stopping() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut run = Run::start(OpenedSource::Stream(path.clone()), false);
    let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(lines("a", [1]).as_bytes()).unwrap();
    run.until("a1");
    assert!(run.end().0.is_ok());
}

type Fits = fn(&Error) -> bool;

#[test]
fn what_is_no_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(&str, Fits); 3] = [
        ("", |error| matches!(error, Error::Empty { .. })),
        ("hello\n", |error| matches!(error, Error::NotALog { .. })),
        ("{\"jsonrpc\":\"2.0\"}", |error| {
            matches!(error, Error::NotALog { .. })
        }),
    ];
    for (text, fits) in cases {
        let path = file(dir.path(), text);
        let run = Run::start(OpenedSource::File(path), true);
        let error = run.thread.join().unwrap().unwrap_err();
        assert!(fits(&error), "{text:?}: {error:?}");
    }
    let refused = |path: &Path| {
        let run = Run::start(OpenedSource::File(path.to_owned()), false);
        run.thread.join().unwrap().unwrap_err()
    };
    assert!(matches!(refused(dir.path()), Error::IsDirectory { .. }));
    let absent = dir.path().join("absent");
    assert!(matches!(refused(&absent), Error::NotFound { .. }));
}

#[test]
fn a_viewer_that_goes_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), &lines("a", 1..=50_000));
    let run = Run::start(OpenedSource::File(path), true);
    drop(run.receiver);
    assert!(run.thread.join().unwrap().is_ok());
}
