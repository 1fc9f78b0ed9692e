//! The offset from UTC at which each time of a log was written (export.md 3).

use crate::{base::Timestamp, wire::json};

/// Offsets by instant. Nearly always all times of a log have one.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    usual: Option<i16>,
    /// Instants that were written at another offset than the first one, sorted by `sort`.
    others: Vec<(Timestamp, i16)>,
}

impl Offsets {
    /// Takes the time of a line.
    pub(super) fn take(&mut self, line: &[u8], instant: Timestamp) {
        let minutes = written_offset(line);
        if *self.usual.get_or_insert(minutes) != minutes {
            self.others.push((instant, minutes));
        }
    }

    /// All lines were taken.
    pub(super) fn sort(&mut self) {
        self.others.sort_unstable();
    }

    /// The instant as it was written.
    pub(super) fn show(&self, instant: Timestamp) -> String {
        let found = self.others.binary_search_by_key(&instant, |(at, _)| *at);
        let other = found.ok().and_then(|at| self.others.get(at));
        let minutes = other.map_or(self.usual.unwrap_or(0), |(_, minutes)| *minutes);
        instant.at_offset(minutes)
    }
}

/// The offset of the member `ts`, which stands before the payload.
fn written_offset(line: &[u8]) -> i16 {
    let mut fields = json::Fields::new(line, 0);
    while let Ok(Some(key)) = fields.next_key()
        && let Ok(value) = fields.value(json::MAX_DEPTH)
    {
        if line.get(key) == Some(b"ts") {
            let text = line.get(value).and_then(json::string);
            return text.map_or(0, |text| Timestamp::offset_of(&text));
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_shown_as_it_was_written() {
        let times = [
            "2026-09-01T10:00:00.5+02:00",
            "2026-09-01T10:00:01+02:00",
            "2026-09-01T08:00:02Z",
            "2026-09-01T04:00:03-04:00",
        ];
        let mut offsets = Offsets::default();
        let instants = times.map(|time| Timestamp::parse(time).unwrap());
        for (time, instant) in times.iter().zip(instants) {
            let line = format!(r#"{{"seq":1,"x":{{"ts":"no"}},"ts":"{time}","raw":{{"ts":1}}}}"#);
            offsets.take(line.as_bytes(), instant);
        }
        offsets.sort();
        assert_eq!(instants.map(|instant| offsets.show(instant)), times);
        assert_eq!(offsets.others.len(), 2);
    }
}
