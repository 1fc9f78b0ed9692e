//! Lengths of time: how people write them and how screens print them.

use std::{fmt, time::Duration};

/// A measured length of time, printed as screens print it (tui.md 16.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Prints `0.4ms`, `12ms`, `1.31s`, `12.3s`, `2m05s`, `1h05m` or `3d04h`.
impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (micros, secs) = (self.0.as_micros(), self.0.as_secs());
        match secs {
            0 if micros < 950 => write!(out, "0.{}ms", (micros + 50) / 100),
            0 if micros < 999_500 => write!(out, "{}ms", (micros + 500) / 1_000),
            0..10 if micros < 9_995_000 => {
                let hundredths = (micros + 5_000) / 10_000;
                write!(out, "{}.{:02}s", hundredths / 100, hundredths % 100)
            }
            0..60 if micros < 59_950_000 => {
                let tenths = (micros + 50_000) / 100_000;
                write!(out, "{}.{}s", tenths / 10, tenths % 10)
            }
            0..3_600 => {
                let secs = secs.max(60);
                write!(out, "{}m{:02}s", secs / 60, secs % 60)
            }
            3_600..86_400 => write!(out, "{}h{:02}m", secs / 3_600, secs / 60 % 60),
            _ => write!(out, "{}d{:02}h", secs / 86_400, secs / 3_600 % 24),
        }
    }
}

/// Why a length of time could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Not of the form `1h30m`, `250ms` or, for ages, `30d`.
    #[error("not a length of time")]
    Shape,
    /// Zero, negative or beyond what a clock can hold.
    #[error("out of range")]
    Range,
}

const NANOS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const DAY: u64 = 86_400;
/// The largest age in days that nanoseconds of 64 bits hold (history.md 4).
const MOST_DAYS: u64 = 106_751;

/// Reads decimal numbers with the units `ns us µs ms s m h`, joined: `1h30m`, `1.5s` (history.md 4).
///
/// # Errors
/// `Shape` when it is not of that form, `Range` when it does not fit.
pub fn parse_duration(text: &str) -> Result<Duration, SpanError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u128 = 0;
    while !rest.is_empty() || text.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or(SpanError::Shape)?;
        let (number, tail) = rest.split_at_checked(digits).ok_or(SpanError::Shape)?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end).ok_or(SpanError::Shape)?;
        let (_, scale) = NANOS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or(SpanError::Shape)?;
        total = total
            .checked_add(scaled(number, *scale)?)
            .ok_or(SpanError::Range)?;
        rest = tail;
    }
    u64::try_from(total)
        .map(Duration::from_nanos)
        .map_err(|_wide| SpanError::Range)
}

/// Reads an age: a duration, whole days `30d` or whole weeks `2w`, above zero (history.md 4).
///
/// # Errors
/// `Shape` when it is not of that form, `Range` when it is zero or too large.
pub fn parse_age(text: &str) -> Result<Duration, SpanError> {
    let days = |number: &str, each: u64| {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SpanError::Shape);
        }
        let count: u64 = number.parse().map_err(|_wide| SpanError::Range)?;
        let days = count
            .checked_mul(each)
            .filter(|days| *days <= MOST_DAYS)
            .ok_or(SpanError::Range)?;
        Ok(Duration::from_secs(days * DAY))
    };
    let age = match (text.strip_suffix('d'), text.strip_suffix('w')) {
        (Some(number), _) => days(number, 1)?,
        (None, Some(number)) => days(number, 7)?,
        (None, None) => parse_duration(text)?,
    };
    if age.is_zero() {
        Err(SpanError::Range)
    } else {
        Ok(age)
    }
}

/// A decimal number times a scale, exact to the nanosecond.
fn scaled(number: &str, scale: u128) -> Result<u128, SpanError> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits_only = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + part.len() == 0 || !digits_only(whole) || !digits_only(part) {
        return Err(SpanError::Shape);
    }
    let number_of = |text: &str| {
        if text.is_empty() {
            Ok(0)
        } else {
            text.parse::<u128>()
        }
    };
    let whole = number_of(whole).map_err(|_wide| SpanError::Range)?;
    let part_digits = part.get(..part.len().min(15)).unwrap_or("");
    let part = number_of(part_digits).map_err(|_wide| SpanError::Range)?;
    let power = 10_u128.pow(u32::try_from(part_digits.len()).unwrap_or(0));
    whole
        .checked_mul(scale)
        .and_then(|nanos| nanos.checked_add(part * scale / power))
        .ok_or(SpanError::Range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_written() {
        let cases = [
            ("0", 0),
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("1h30m", 5_400_000_000_000),
            ("3us", 3_000),
            ("3µs", 3_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
        for text in ["", "5", "-1h", "1d", "h", "1..5s", ".s", "1 h", "9999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ages_are_durations_or_whole_days_or_weeks() {
        let day = Duration::from_secs(DAY);
        assert_eq!(parse_age("30d"), Ok(day * 30));
        assert_eq!(parse_age("2w"), Ok(day * 14));
        assert_eq!(parse_age("72h"), Ok(day * 3));
        assert_eq!(parse_age("106751d"), Ok(day * 106_751));
        for text in [
            "0",
            "0d",
            "-1h",
            "106752d",
            "1d12h",
            "",
            "1.5d",
            "d",
            "99999999999999999999d",
        ] {
            assert!(parse_age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_print_in_at_most_six_cells() {
        let cases = [
            (0, "0.0ms"),
            (400_000, "0.4ms"),
            (960_000, "1ms"),
            (12_000_000, "12ms"),
            (999_600_000, "1.00s"),
            (1_310_000_000, "1.31s"),
            (9_996_000_000, "10.0s"),
            (12_340_000_000, "12.3s"),
            (59_960_000_000, "1m00s"),
            (125_000_000_000, "2m05s"),
            (3_900_000_000_000, "1h05m"),
            (273_600_000_000_000, "3d04h"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Span(Duration::from_nanos(nanos)).to_string(), text);
        }
    }
}
