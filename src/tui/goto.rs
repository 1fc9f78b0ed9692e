//! `:goto`: a frame by its number, by a time, or by a request id (tui.md 12).

use jiff::{civil, tz::TimeZone};

use super::{
    app::{App, Screen},
    naming::Offset,
    picks::lower_bound,
};
use crate::{
    base::Timestamp,
    feed::Severity,
    record::Seq,
    session::{RowId, Session},
};

/// Where to.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Seq(Seq),
    Id(String),
    /// A time of day on the day of the selected frame.
    Clock(civil::Time),
    /// An instant.
    Instant(Timestamp),
}

impl Target {
    fn parse(word: &str) -> Option<Self> {
        if let Some(id) = word
            .strip_prefix("id=")
            .or_else(|| word.strip_prefix("id:"))
        {
            return (!id.is_empty()).then(|| Self::Id(id.to_owned()));
        }
        if let Ok(seq) = word.parse() {
            return Some(Self::Seq(Seq(seq)));
        }
        if let Some(instant) = Timestamp::parse(word) {
            return Some(Self::Instant(instant));
        }
        let is_clock = word.len() >= 4 && word.get(..3).is_some_and(|head| head.contains(':'));
        is_clock.then(|| word.parse().ok().map(Self::Clock))?
    }

    /// The row, or what there is to say.
    fn find(
        &self,
        session: &Session,
        from: Option<RowId>,
        zone: &TimeZone,
        offset: Offset,
    ) -> Result<RowId, String> {
        match self {
            Self::Seq(seq) => {
                let position = lower_bound(
                    session,
                    RowId {
                        seq: *seq,
                        index: 0,
                    },
                );
                let row = session.row(position).map(|row| row.id);
                row.filter(|id| id.seq == *seq)
                    .ok_or_else(|| format!("frame {seq} is not held"))
            }
            Self::Id(id) => {
                newest_with_id(session, id).ok_or_else(|| format!("no frame with id {id} is held"))
            }
            Self::Instant(instant) => first_since(session, *instant, offset),
            Self::Clock(time) => {
                let day = from
                    .and_then(|id| session.row(session.position(id)?)?.ts)
                    .or_else(|| session.last())
                    .ok_or("no frame of this session has a time")?;
                let instant = on_the_day_of(offset.shift(day), *time, zone)
                    .ok_or("that day does not have this time")?;
                first_since(session, instant, offset)
            }
        }
    }
}

fn on_the_day_of(day: Timestamp, time: civil::Time, zone: &TimeZone) -> Option<Timestamp> {
    let day = jiff::Timestamp::from_nanosecond(day.as_nanos().into()).ok()?;
    let date = day.to_zoned(zone.clone()).date();
    let instant = date.to_datetime(time).to_zoned(zone.clone()).ok()?;
    let nanos = instant.timestamp().as_nanosecond();
    i64::try_from(nanos).ok().map(Timestamp::from_nanos)
}

/// The newest frame with this id as sent, or without the quotes of a string.
fn newest_with_id(session: &Session, id: &str) -> Option<RowId> {
    let mut rows = (0..session.row_count())
        .rev()
        .filter_map(|position| session.row(position));
    let found = rows.find(|row| {
        row.json_id
            .is_some_and(|known| known == id || super::detail::unquoted(known) == id)
    })?;
    let call = found.call.and_then(|call| session.call(call));
    let request = call.and_then(|call| {
        let hop = call.hops.iter().find(|hop| hop.answer == Some(found.id))?;
        Some(hop.request)
    });
    Some(request.unwrap_or(found.id))
}

/// The first frame at or after an instant: clocks may step back, so all are looked at.
fn first_since(session: &Session, instant: Timestamp, offset: Offset) -> Result<RowId, String> {
    (0..session.row_count())
        .filter_map(|position| session.row(position))
        .find(|row| row.ts.is_some_and(|ts| offset.shift(ts) >= instant))
        .map(|row| row.id)
        .ok_or_else(|| "all frames are older".to_owned())
}

impl App {
    /// Runs `:goto`; false when the words say no frame.
    pub(super) fn goto_command(&mut self, words: &[String]) -> bool {
        let Some(target) = words.first().and_then(|word| Target::parse(word)) else {
            return self.refuse("which frame? :goto NUMBER, 14:07:02 or id=ID");
        };
        let Some(key) = self.stream_key().cloned() else {
            return self.refuse("open a session first");
        };
        let Some(session) = self.session(&key) else {
            return self.refuse("open a session first");
        };
        let selected = self.streams.get(&key).and_then(|state| state.selected);
        let offset = self.offset_of(session);
        match target.find(session, selected, &self.settings.zone, offset) {
            Err(words) => {
                let is_asked = match target {
                    Target::Seq(seq) => self.recall_row(RowId { seq, index: 0 }),
                    _ => false,
                };
                if !is_asked {
                    self.say(Severity::Warning, words);
                }
            }
            Ok(id) => {
                let listed = self.with_stream(|state, session| state.jump(session, id));
                self.stack
                    .retain(|screen| !matches!(screen, Screen::Inspector(_)));
                if listed == Some(false) {
                    self.inspect_row(id);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_number_a_time_or_an_id() {
        let clock =
            |hour, minute, second| Some(Target::Clock(civil::time(hour, minute, second, 0)));
        let cases = [
            ("318", Some(Target::Seq(Seq(318)))),
            ("14:07", clock(14, 7, 0)),
            ("14:07:02", clock(14, 7, 2)),
            ("id=a-7", Some(Target::Id("a-7".into()))),
            ("id=", None),
            ("tomorrow", None),
            ("25:00", None),
            (
                "1970-01-01T00:00:01Z",
                Some(Target::Instant(Timestamp::from_nanos(1_000_000_000))),
            ),
        ];
        for (word, expected) in cases {
            assert_eq!(Target::parse(word), expected, "{word}");
        }
    }
}
