//! How numbers, ages and times look (tui.md 16.4, S4, S6).

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::base::{Span, Timestamp};

/// A counter of a table, at most four digits and never cut: `9999`, `10k`, `1.2M`.
pub(super) fn count(value: u64) -> String {
    let short = |unit: u64, sign: &str| {
        if value < unit * 10 {
            format!("{}.{}{sign}", value / unit, value % unit / (unit / 10))
        } else {
            format!("{}{sign}", value / unit)
        }
    };
    match value {
        0..10_000 => value.to_string(),
        10_000..1_000_000 => format!("{}k", value / 1_000),
        1_000_000..1_000_000_000 => short(1_000_000, "M"),
        _ => short(1_000_000_000, "G"),
    }
}

/// A count in prose: `48,210`.
pub(super) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 frame`, `12 frames`.
pub(super) fn plural(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(value), if value == 1 { one } else { many })
}

/// The age of something, in at most three cells: `0s`, `59m`, `47h`, `99d`, then weeks.
pub(super) fn age(nanos: i64) -> String {
    let secs = nanos.max(0) / 1_000_000_000;
    match secs {
        0..60 => format!("{secs}s"),
        60..3_600 => format!("{}m", secs / 60),
        3_600..172_800 => format!("{}h", secs / 3_600),
        172_800..8_640_000 => format!("{}d", secs / 86_400),
        _ => format!("{}w", secs / 604_800),
    }
}

/// A length of time out of nanoseconds.
pub(super) fn span(nanos: u64) -> String {
    Span(Duration::from_nanos(nanos)).to_string()
}

/// The time an open call has taken: tenths of a second up to ten, then as a span, with `+`.
pub(super) fn elapsed(nanos: u64) -> String {
    match nanos {
        1_000_000_000..10_000_000_000 => {
            format!(
                "{}.{}s+",
                nanos / 1_000_000_000,
                nanos % 1_000_000_000 / 100_000_000
            )
        }
        _ => format!("{}+", span(nanos)),
    }
}

/// Time of day with three decimals: `14:07:02.118`.
pub(super) fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).map_or_else(
        || "-".to_owned(),
        |time| {
            format!(
                "{:02}:{:02}:{:02}.{:03}",
                time.hour(),
                time.minute(),
                time.second(),
                time.millisecond()
            )
        },
    )
}

/// Time of day in whole seconds.
pub(super) fn short_time(at: Timestamp, zone: &TimeZone) -> String {
    time_of_day(at, zone).chars().take(8).collect()
}

/// The calendar day: `2026-09-01`.
pub(super) fn date(at: Timestamp, zone: &TimeZone) -> String {
    zoned(at, zone).map_or_else(|| "-".to_owned(), |time| time.date().to_string())
}

fn zoned(at: Timestamp, zone: &TimeZone) -> Option<jiff::Zoned> {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos())).ok()?;
    Some(instant.to_zoned(zone.clone()))
}

/// A signed distance in seconds with three decimals: `+12.345`, `-0.004`.
pub(super) fn delta(nanos: i64) -> String {
    let sign = if nanos < 0 { '-' } else { '+' };
    let millis = nanos.unsigned_abs() / 1_000_000;
    format!("{sign}{}.{:03}", millis / 1_000, millis % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_never_lose_digits() {
        let cases = [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10k"),
            (999_999, "999k"),
            (1_250_000, "1.2M"),
            (12_000_000, "12M"),
            (1_200_000_000, "1.2G"),
            (12_000_000_000, "12G"),
        ];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn prose_counts_are_grouped() {
        assert_eq!(plural(1, "frame", "frames"), "1 frame");
        assert_eq!(plural(48_210, "frame", "frames"), "48,210 frames");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn ages_take_three_cells() {
        let second = 1_000_000_000_i64;
        let cases = [
            (-5, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_599, "59m"),
            (3_600, "1h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (8_639_999, "99d"),
            (8_640_000, "14w"),
        ];
        for (secs, text) in cases {
            assert_eq!(age(secs * second), text);
        }
    }

    #[test]
    fn times_are_shown_in_the_zone() {
        let at = Timestamp::parse("2026-09-01T12:07:02.118999Z").unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(time_of_day(at, &zone), "14:07:02.118");
        assert_eq!(short_time(at, &zone), "14:07:02");
        assert_eq!(date(at, &TimeZone::UTC), "2026-09-01");
        assert_eq!(delta(12_345_678_900), "+12.345");
        assert_eq!(delta(-4_000_000), "-0.004");
        assert_eq!(elapsed(1_760_000_000), "1.7s+");
        assert_eq!(elapsed(65_000_000_000), "1m05s+");
    }
}
