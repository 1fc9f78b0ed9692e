//! Words of remarks: who sent what, values of the wire made harmless and short (session-model.md 24).

use super::{atoms::clip, hops::Side};
use crate::base::{Timestamp, quoted};

/// Characters of a value that are quoted.
const MAX_SHOWN: usize = 120;

impl Side {
    /// The peer, in words.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// A value of the wire: quoted where characters have to be escaped, cut at 120 characters with the
/// number of those that were left out (findings.md 1.6).
pub(super) fn shown(value: &[u8]) -> String {
    // A value may be megabytes long; what is behind the part that is shown is only counted.
    let text = String::from_utf8_lossy(value);
    let end = text.char_indices().nth(MAX_SHOWN).map(|(at, _)| at);
    let Some(end) = end else {
        return quoted(&text);
    };
    let left_out = text.chars().count() - MAX_SHOWN;
    format!("{}… ({left_out} more characters)", quoted(clip(&text, end)))
}

/// `250 ms`, rounded; nothing when a time is unknown or the clock went back.
pub(super) fn distance(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<String> {
    let nanos = to?.nanos_since(from?);
    let nanos = u64::try_from(nanos).ok()?;
    Some(format!("{} ms", nanos.saturating_add(500_000) / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_harmless_and_short() {
        assert_eq!(shown(b"\"a\""), "\"a\"");
        assert!(!shown(b"\x1b[31m\n").contains(['\x1b', '\n']));
        let long = shown("ü".repeat(500).as_bytes());
        assert!(long.starts_with("üü") && long.ends_with("… (380 more characters)"));
    }

    #[test]
    fn distances_are_rounded_and_never_negative() {
        let at = |nanos| Some(Timestamp::from_nanos(nanos));
        assert_eq!(distance(at(0), at(750_400_000)).unwrap(), "750 ms");
        assert_eq!(distance(at(0), at(750_500_000)).unwrap(), "751 ms");
        assert_eq!(distance(at(5), at(0)), None);
        assert_eq!(distance(None, at(0)), None);
    }
}
