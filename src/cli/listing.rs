//! What `remote --list` prints: a table, or one JSON object a session.

use mcpsnoop::{
    base::{quoted, width},
    remote::ListedSession,
    reports::json_string,
};

/// One JSON object a session, as in the stream (remote.md 12).
pub(super) fn json_list(rows: &[ListedSession]) -> String {
    let line = |row: &ListedSession| {
        format!(
            "{{\"type\":\"session\",\"host\":{},\"session_id\":{},\"file\":{},\"size\":{},\"modified\":\"{}\"}}\n",
            json_string(&row.host.0),
            json_string(&row.session),
            json_string(&format!("{}.jsonl", row.session)),
            row.size.0,
            row.modified
        )
    };
    rows.iter().map(line).collect()
}

/// A table for people; the host only where there are several.
pub(super) fn text_list(rows: &[ListedSession], several: bool) -> String {
    let zone = jiff::tz::TimeZone::system();
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let when = jiff::Timestamp::from_nanosecond(i128::from(row.modified.as_nanos()))
                .map_or_else(
                    |_| row.modified.to_string(),
                    |at| {
                        at.to_zoned(zone.clone())
                            .strftime("%Y-%m-%d %H:%M:%S")
                            .to_string()
                    },
                );
            [
                quoted(&row.session),
                row.size.to_string(),
                when,
                quoted(&row.host.0),
            ]
        })
        .collect();
    let widest = |column: usize, head: &str| {
        let most = cells
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| width(cell))
            .max();
        most.unwrap_or(0).max(head.len())
    };
    let (name, size) = (widest(0, "SESSION"), widest(1, "SIZE"));
    let mut text = String::new();
    let mut push = |cells: [&str; 4]| {
        let [session, bytes, when, host] = cells;
        let gap = name.saturating_sub(width(session));
        let line = format!(
            "{session}{:gap$}  {bytes:>size$}  {when:<19}  {}",
            "",
            if several { host } else { "" }
        );
        text.push_str(line.trim_end());
        text.push('\n');
    };
    push(["SESSION", "SIZE", "MODIFIED", "HOST"]);
    for [session, bytes, when, host] in &cells {
        push([session, bytes, when, host]);
    }
    text
}

#[cfg(test)]
mod tests {
    use mcpsnoop::{
        base::{ByteCount, Timestamp},
        record::HostName,
    };

    use super::*;

    #[test]
    fn names_of_foreign_logs_drive_no_terminal() {
        let row = ListedSession {
            host: HostName("h".into()),
            session: "b\u{202e}i\u{200b}\"".to_owned(),
            size: ByteCount(3),
            modified: Timestamp::default(),
        };
        let json = json_list(std::slice::from_ref(&row));
        let object: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(object["session_id"], row.session);
        assert_eq!(object["file"], format!("{}.jsonl", row.session));
        assert_eq!(object["size"], 3);
        for text in [json, text_list(&[row], false)] {
            assert!(text.is_ascii(), "{text}");
        }
    }
}
