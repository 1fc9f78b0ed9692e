//! Instants as the log writes them, and the one clock that may be read.

use std::{fmt, time::Instant};

/// An instant: nanoseconds since the Unix epoch, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Builds an instant from nanoseconds since the Unix epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Signed nanoseconds from `earlier` to `self`; negative when the clock went back.
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Reads RFC 3339 with any offset, up to nine fraction digits, `t` and `z` in either case
    /// (log-format 7.1). `None` when the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        parse_utc(text.as_bytes()).or_else(|| {
            let instant: jiff::Timestamp = text.to_ascii_uppercase().parse().ok()?;
            i64::try_from(instant.as_nanosecond()).ok().map(Self)
        })
    }

    /// RFC 3339 at an offset from UTC in minutes, the fraction without trailing zeros (export.md 3).
    pub fn at_offset(self, minutes: i16) -> String {
        let shift = i64::from(minutes) * 60 * 1_000_000_000;
        let shown = Self(self.0.saturating_add(shift));
        let (year, month, day) = civil(shown.as_secs().div_euclid(86_400));
        let second = shown.as_secs().rem_euclid(86_400);
        // Written by the million, so without the machinery of formats where the year is a usual one.
        let mut text = String::with_capacity(35);
        if (0..10_000).contains(&year) {
            push_digits(&mut text, year, 4);
        } else {
            text += &year.to_string();
        }
        for (mark, number) in [
            ('-', month),
            ('-', day),
            ('T', second / 3_600),
            (':', second / 60 % 60),
            (':', second % 60),
        ] {
            text.push(mark);
            push_digits(&mut text, number, 2);
        }
        let nanos = self.0.rem_euclid(1_000_000_000);
        if nanos > 0 {
            text.push('.');
            push_digits(&mut text, nanos, 9);
            text.truncate(text.trim_end_matches('0').len());
        }
        if minutes == 0 {
            text.push('Z');
            return text;
        }
        let offset = i64::from(minutes.unsigned_abs());
        text.push(if minutes < 0 { '-' } else { '+' });
        push_digits(&mut text, offset / 60, 2);
        text.push(':');
        push_digits(&mut text, offset % 60, 2);
        text
    }

    /// The offset that a text which `parse` accepts is written at, in minutes.
    pub fn offset_of(text: &str) -> i16 {
        let Some([sign @ (b'+' | b'-'), hours @ .., b':', tens, ones]) =
            text.as_bytes().last_chunk::<6>()
        else {
            return 0;
        };
        let number = |digits: [u8; 2]| -> Option<i64> {
            let [tens, ones] = digits;
            Some(digit(tens)? * 10 + digit(ones)?)
        };
        let minutes = number(*hours)
            .zip(number([*tens, *ones]))
            .and_then(|(hours, minutes)| i16::try_from(hours * 60 + minutes).ok())
            .unwrap_or(0);
        if *sign == b'-' { -minutes } else { minutes }
    }

    /// Seconds of the Unix epoch, rounded down.
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }
}

/// Writes RFC 3339 in UTC with microseconds, as the log does (log-format 7.1).
impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.as_secs().div_euclid(86_400));
        let second = self.as_secs().rem_euclid(86_400);
        let micros = self.0.rem_euclid(1_000_000_000) / 1_000;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(
            out,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
        )
    }
}

/// Appends the last `count` decimal digits of a number that is not negative.
fn push_digits(text: &mut String, number: i64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from_digit(u32::try_from(digit).unwrap_or(0), 10).unwrap_or('0'));
    }
}

/// The common spelling, `2026-09-01T08:00:00.000120Z`, read without a calendar library.
fn parse_utc(text: &[u8]) -> Option<Timestamp> {
    let (head, tail) = text.split_at_checked(19)?;
    let two = |at: usize| -> Option<i64> {
        let (tens, ones) = (digit(*head.get(at)?)?, digit(*head.get(at + 1)?)?);
        Some(tens * 10 + ones)
    };
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| head.get(*at) == Some(mark))
        || !matches!(head.get(10)?, b'T' | b't')
    {
        return None;
    }
    let year = two(0)? * 100 + two(2)?;
    let (month, day, hour, minute, second) = (two(5)?, two(8)?, two(11)?, two(14)?, two(17)?);
    if !(1..=12).contains(&month)
        || !(1..=days_in(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let fraction = match tail.split_last()? {
        (b'Z' | b'z', []) => 0,
        (b'Z' | b'z', [b'.', digits @ ..]) if (1..=9).contains(&digits.len()) => digits
            .iter()
            .map(|byte| digit(*byte))
            .chain(std::iter::repeat(Some(0)))
            .take(9)
            .try_fold(0, |sum, next| Some(sum * 10 + next?))?,
        _ => return None,
    };
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction)
        .map(Timestamp)
}

fn digit(byte: u8) -> Option<i64> {
    byte.is_ascii_digit().then(|| i64::from(byte - b'0'))
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the Unix epoch to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that lies `days` after the Unix epoch.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Wall time at start plus a monotonic clock, so that a clock step never shows (log-format 7.3).
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    started: Instant,
}

/// Both clocks at one moment. The steady one stands still while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct ClockReading {
    /// The monotonic clock.
    pub steady: Instant,
    /// The wall clock as it is set now.
    pub wall: Timestamp,
}

impl Clock {
    /// Reads the system's clocks once.
    pub fn start() -> Self {
        Self {
            wall: wall(),
            started: Instant::now(),
        }
    }

    /// Reads both clocks anew, to notice that the machine slept.
    pub fn reading(&self) -> ClockReading {
        ClockReading {
            steady: Instant::now(),
            wall: wall(),
        }
    }

    /// The present instant.
    pub fn now(&self) -> Timestamp {
        self.at(Instant::now())
    }

    /// The instant of a monotonic reading.
    pub fn at(&self, reading: Instant) -> Timestamp {
        let passed = reading.saturating_duration_since(self.started).as_nanos();
        Timestamp(
            self.wall
                .0
                .saturating_add(i64::try_from(passed).unwrap_or(i64::MAX)),
        )
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the wall clock"
)]
fn wall() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = since_epoch.map_or(0, |span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
    Timestamp(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_spellings_of_the_log() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-09-01T08:00:00.000120Z", 1_788_249_600_000_120_000),
            ("2026-09-01t08:00:00.1z", 1_788_249_600_100_000_000),
            ("2026-09-01T10:00:00+02:00", 1_788_249_600_000_000_000),
            ("2024-02-29T23:59:59.999999999Z", 1_709_251_199_999_999_999),
            ("1969-12-31T23:59:59.5Z", -500_000_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(Timestamp::parse(text), Some(Timestamp(nanos)), "{text}");
        }
        for text in [
            "",
            "2026-09-01",
            "2026-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-09-01T08:00:00",
            "x",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
        assert_eq!(
            Timestamp(1_788_249_600_000_120_999).to_string(),
            "2026-09-01T08:00:00.000120Z"
        );
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn an_instant_is_shown_as_it_was_recorded() {
        for text in [
            "2026-09-01T08:00:00Z",
            "2026-09-01T08:00:00.1Z",
            "2026-09-01T08:00:00.000000009Z",
            "2026-09-01T10:00:00.25+02:00",
            "2026-08-31T22:15:00-09:45",
            "1969-12-31T23:59:59.5Z",
        ] {
            let instant = Timestamp::parse(text).unwrap();
            assert_eq!(instant.at_offset(Timestamp::offset_of(text)), text);
        }
        for (text, minutes) in [
            ("2026-09-01T08:00:00z", 0),
            ("x", 0),
            ("2026-09-01T08:00:00+00:00", 0),
        ] {
            assert_eq!(Timestamp::offset_of(text), minutes, "{text}");
        }
    }

    #[test]
    fn civil_dates_agree_with_the_calendar_library() {
        for day in (-200_000_i64..400_000).step_by(97) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
        let now = Timestamp(1_790_000_000_000_000_000);
        let other: jiff::Timestamp = now.to_string().parse().unwrap();
        assert_eq!(other.as_nanosecond(), i128::from(now.as_nanos()));
    }
}
