//! Byte counts and how they are printed.

use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

/// Prints `210 B`, `1.1 KiB`, `1.4 MiB` with binary units, rounded half up (history.md 4).
impl fmt::Display for ByteCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_024 {
            return write!(out, "{} B", self.0);
        }
        let mut tenths = u128::from(self.0) * 10;
        let mut last = "B";
        for unit in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            tenths = if last == "B" { tenths } else { tenths / 1_024 };
            last = unit;
            let rounded = (tenths + 512) / 1_024;
            if rounded < 10_240 || unit == "EiB" {
                return write!(out, "{}.{} {unit}", rounded / 10, rounded % 10);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_binary_units_rounded_half_up() {
        let cases = [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_126, "1.1 KiB"),
            (1_048_525, "1.0 MiB"),
            (1_048_576, "1.0 MiB"),
            (1_468_006, "1.4 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (count, text) in cases {
            assert_eq!(ByteCount(count).to_string(), text);
        }
    }
}
