//! Reading back from a log: one body at its place, else near it (remote.md 9.3), and the frames of a
//! page.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    elsewhere::is_run_of,
    far_error::SftpError,
    names::is_log_name,
    range::RangeReader,
    sftp::{Kind, Open, Sftp},
};
use crate::feed::{FeedEvent, Recall, RecallStep, Recalling};
use crate::record::{Decoder, Line, LineReader, Place, ReadEvent, Seq, SessionKey};

/// Longest body that is read back (log-format 13: a line).
const LONGEST_BODY: u64 = 128 << 20;
/// So far from its place a line is looked for, on either side. The place of a live line is a
/// forecast over at most 4,096 lines that its recorder was to append (`Follower::predicted`); what
/// lies further off is another log.
const AROUND: u64 = 8 << 20;

/// Reads the line of a frame.
///
/// # Errors
/// The reason for the user.
pub(super) async fn read_body(
    sftp: &Arc<Sftp>,
    key: &SessionKey,
    seq: Seq,
    place: &Place,
) -> Result<Bytes, String> {
    if u64::from(place.length) > LONGEST_BODY {
        return Err("the line is too long".to_owned());
    }
    let (file, size) = open_log(sftp, &place.log.to_string_lossy()).await?;
    let mut search = Search::new(key, seq, place, size, AROUND);
    let read = search.run(sftp, &file).await;
    sftp.close_soon(&file);
    read.map_err(|error| error.to_string())?
        .ok_or_else(|| "the log has no such frame near its place any more".to_owned())
}

/// Reads the frames of a page.
///
/// # Errors
/// The reason for the user.
pub(super) async fn read_frames(
    sftp: &Arc<Sftp>,
    wanted: &Recall,
) -> Result<Vec<FeedEvent>, String> {
    let (file, size) = open_log(sftp, &wanted.log.to_string_lossy()).await?;
    let read = recall(sftp, &file, Recalling::new(wanted.clone(), size)).await;
    sftp.close_soon(&file);
    read.map_err(|error| error.to_string())
}

async fn recall(
    sftp: &Arc<Sftp>,
    file: &Open,
    mut recalling: Recalling,
) -> Result<Vec<FeedEvent>, SftpError> {
    while let RecallStep::Read { offset, length } = recalling.step() {
        let mut range = RangeReader::new(sftp, file, offset, offset + length);
        let mut bytes = Vec::new();
        while let Some(part) = range.next().await? {
            bytes.extend_from_slice(&part);
        }
        recalling.push(&bytes);
    }
    Ok(recalling.finish())
}

/// Opens a log, and tells its size.
async fn open_log(sftp: &Arc<Sftp>, path: &str) -> Result<(Open, u64), String> {
    if !is_log_name(path.rsplit('/').next().unwrap_or_default()) {
        return Err("it lies in no log".to_owned());
    }
    let words = |error: SftpError| error.to_string();
    // A FIFO in its place would hold up the server's answers.
    let found = sftp.lstat(path).await.map_err(words)?;
    if found.kind != Kind::Regular {
        return Err("the log is no regular file any more".to_owned());
    }
    let file = sftp.open_file(path).await.map_err(words)?;
    Ok((file, found.size))
}

/// Looks for one frame in a log. Pure but for `run`.
struct Search<'a> {
    key: &'a SessionKey,
    seq: Seq,
    offset: u64,
    length: u64,
    size: u64,
    /// How far from its place the line is looked for.
    around: u64,
    /// Bytes of the line that the window begins in are passed over.
    skips: bool,
    /// Offset of the next byte that is taken.
    at: u64,
    reader: LineReader,
    /// The nearest line so far, with its distance.
    nearest: Option<(u64, Bytes)>,
}

impl<'a> Search<'a> {
    fn new(key: &'a SessionKey, seq: Seq, place: &Place, size: u64, around: u64) -> Self {
        let at = place.offset.saturating_sub(around);
        Self {
            key,
            seq,
            offset: place.offset,
            length: u64::from(place.length),
            size,
            around,
            skips: at > 0,
            at,
            reader: LineReader::at(at),
            nearest: None,
        }
    }

    async fn run(&mut self, sftp: &Arc<Sftp>, file: &Open) -> Result<Option<Bytes>, SftpError> {
        let mut line = Vec::new();
        let end = self.offset.saturating_add(self.length);
        let mut range = RangeReader::new(sftp, file, self.offset, end);
        while let Some(bytes) = range.next().await? {
            line.extend_from_slice(&bytes);
        }
        drop(range);
        let line = Bytes::from(line);
        if let Ok(read) = Decoder::default().decode(line.clone())
            && self.is_it(&read)
        {
            return Ok(Some(line));
        }
        let mut range = RangeReader::new(sftp, file, self.at, self.window_end());
        while let Some(bytes) = range.next().await? {
            if self.push(&bytes) {
                break;
            }
        }
        Ok(self.finish())
    }

    /// Where looking ends: behind a line of this length that begins as far off as may be.
    fn window_end(&self) -> u64 {
        let most = self.offset.saturating_add(self.around + self.length + 1);
        most.min(self.size)
    }

    /// Takes the next bytes; true when nothing nearer can come.
    fn push(&mut self, bytes: &[u8]) -> bool {
        let mut bytes = bytes;
        if self.skips {
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.at += bytes.len() as u64;
                return false;
            };
            bytes = bytes.get(end + 1..).unwrap_or_default();
            self.skips = false;
            self.at += end as u64 + 1;
            self.reader = LineReader::at(self.at);
        }
        self.at += bytes.len() as u64;
        let mut reader = std::mem::take(&mut self.reader);
        reader.push(bytes, &mut |event| self.take(event));
        self.reader = reader;
        let next = self.reader.confirmed();
        self.nearest
            .as_ref()
            .is_some_and(|(best, _)| next > self.offset.saturating_add(*best))
    }

    /// What was found; a last line without its end counts too.
    fn finish(&mut self) -> Option<Bytes> {
        if self.at >= self.size && !self.skips {
            let mut reader = std::mem::take(&mut self.reader);
            reader.finish(&mut |event| self.take(event));
        }
        self.nearest.take().map(|(_, line)| line)
    }

    fn take(&mut self, event: ReadEvent) {
        let ReadEvent::Line { line, offset } = event else {
            return;
        };
        let distance = offset.abs_diff(self.offset);
        let is_nearer = self
            .nearest
            .as_ref()
            .is_none_or(|(best, _)| distance < *best);
        if is_nearer && self.is_it(&line) {
            self.nearest = Some((distance, line.bytes));
        }
    }

    /// A later run has a number behind its id that is not in the line.
    fn is_it(&self, line: &Line) -> bool {
        line.envelope.seq == self.seq && is_run_of(&self.key.id, &line.envelope.session_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::HostName;

    fn line(id: &str, seq: u64, pad: usize) -> String {
        let pad = "x".repeat(pad);
        format!(
            "{{\"session_id\":\"{id}\",\"seq\":{seq},\"direction\":\"stderr\",\"text\":\"{pad}\"}}\n"
        )
    }

    /// How far the tests look.
    const NEAR: u64 = 4_000;

    /// Looks for frame `seq` of a session with a forecast place; answers its line and how many bytes
    /// were read.
    fn found(
        log: &str,
        id: &str,
        seq: u64,
        offset: usize,
        chunk: usize,
    ) -> (Option<String>, usize) {
        let key = SessionKey {
            host: HostName("h".into()),
            id: id.into(),
        };
        let place = Place {
            log: Arc::new("/s/a.jsonl".into()),
            offset: offset as u64,
            length: 100,
        };
        let mut search = Search::new(&key, Seq(seq), &place, log.len() as u64, NEAR);
        let begin = usize::try_from(search.at).unwrap();
        let end = usize::try_from(search.window_end()).unwrap();
        let mut read = 0;
        let window = log.as_bytes().get(begin..end).unwrap_or_default();
        for part in window.chunks(chunk) {
            read += part.len();
            if search.push(part) {
                break;
            }
        }
        let line = search.finish();
        let line = line.map(|line| String::from_utf8(line.to_vec()).unwrap() + "\n");
        (line, read)
    }

    #[test]
    fn a_wrong_forecast_is_looked_for_near_its_place_alone() {
        let mut log = String::new();
        let mut offsets = Vec::new();
        for seq in 0..1_000 {
            offsets.push(log.len());
            log += &line("a", seq + 1, 40);
        }
        let reach = usize::try_from(NEAR).unwrap() / (log.len() / 1_000);
        for chunk in [1, 100, 100_000] {
            for (at, is_found) in [
                (500, true),
                (501, true),
                (495, true),
                (500 + reach - 2, true),
                (500 - reach + 2, true),
                (500 + reach + 2, false),
                (500 - reach - 4, false),
            ] {
                let (line_found, read) = found(&log, "a", 501, offsets[at], chunk);
                let expected = is_found.then(|| line("a", 501, 40));
                assert_eq!(line_found, expected, "{at}");
                assert!(read <= 2 * usize::try_from(NEAR).unwrap() + 101, "{read}");
            }
        }
    }

    #[test]
    fn ends_of_logs_are_no_trouble() {
        let short = line("a", 1, 10) + &line("a", 2, 10);
        let (none, read) = found(&short, "a", 2, 50_000, 100);
        assert_eq!((none, read), (None, 0), "the log became shorter");
        let torn = short.trim_end();
        for chunk in [1, 7, 1_000] {
            assert_eq!(found(torn, "a", 2, 3, chunk).0, Some(line("a", 2, 10)));
        }
    }

    #[test]
    fn of_two_runs_the_nearer_one_is_taken() {
        let (first, second) = (line("a", 1, 10), line("a", 1, 20));
        let between = line("b", 1, 3_000);
        let log = first.clone() + &between + &second;
        let behind = first.len() + between.len();
        for (place, expected) in [(1, &first), (behind - 2, &second), (behind + 1, &second)] {
            let (line, _) = found(&log, "a#2", 1, place, 64);
            assert_eq!(line.as_ref(), Some(expected), "{place}");
        }
        assert_eq!(found(&log, "c", 1, 0, 64).0, None);
    }
}
