//! Error codes that the specifications name (session-model.md 8.5).

/// The name of an error code; `None` for every other one: those from -32000 to -32019 belong to
/// whoever sent them.
pub fn error_name(code: i64) -> Option<&'static str> {
    Some(match code {
        -32_700 => "parse error",
        -32_600 => "invalid request",
        -32_601 => "method not found",
        -32_602 => "invalid params",
        -32_603 => "internal error",
        -32_020 => "header mismatch",
        -32_021 => "missing required client capability",
        -32_022 => "unsupported protocol version",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_of_the_specifications_have_names() {
        let named: Vec<i64> = (-33_000..=0)
            .filter(|code| error_name(*code).is_some())
            .collect();
        let expected = [
            -32_700, -32_603, -32_602, -32_601, -32_600, -32_022, -32_021, -32_020,
        ];
        assert_eq!(named, expected);
        assert_eq!(error_name(-32_601), Some("method not found"));
        for foreign in [-32_000, -32_001, -32_002, -32_019, -32_042, -32_800] {
            assert_eq!(error_name(foreign), None, "{foreign}");
        }
    }
}
