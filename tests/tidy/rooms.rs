//! The rooms of `src`: what each may import, and which crates it has alone. `docs/ARCHITECTURE.md` explains them.

/// A room and the rooms it may import.
pub(crate) struct Room {
    pub(crate) name: &'static str,
    pub(crate) may_import: &'static [&'static str],
}

const fn room(name: &'static str, may_import: &'static [&'static str]) -> Room {
    Room { name, may_import }
}

/// Every room, from the ground up. A room that is not built yet has its row already.
pub(crate) const ROOMS: &[Room] = &[
    room("base", &[]),
    room("wire", &["base"]),
    room("record", &["base", "wire"]),
    room("redact", &["base", "wire", "record"]),
    room("feed", &["base", "record"]),
    room("session", &["base", "wire", "record"]),
    // `feed`, because the analyzer takes feed events.
    room("findings", &["base", "wire", "record", "feed", "session"]),
    room("inspect", &["base", "wire", "record", "redact"]),
    room(
        "reports",
        &[
            "base", "wire", "record", "feed", "session", "findings", "inspect",
        ],
    ),
    room("capture", &["base", "wire", "record", "redact", "feed"]),
    room("hub", &["base", "record", "feed"]),
    room("remote", &["base", "record", "feed"]),
    room("peer", &["base", "wire", "record", "session"]),
    room(
        "telemetry",
        &["base", "record", "feed", "session", "findings", "reports"],
    ),
    room("clients", &["base"]),
    room(
        "tui",
        &[
            "base", "wire", "record", "feed", "session", "findings", "reports",
        ],
    ),
    room("page", &["base", "inspect", "reports"]),
    // Belongs to the binary, so the compiler keeps every other room from importing it.
    room(
        "cli",
        &[
            "base",
            "wire",
            "record",
            "redact",
            "feed",
            "session",
            "findings",
            "inspect",
            "reports",
            "capture",
            "hub",
            "remote",
            "peer",
            "telemetry",
            "clients",
            "tui",
            "page",
        ],
    ),
];

/// Crates that one room has alone.
pub(crate) const ALONE: &[(&str, &str)] = &[
    ("russh", "remote"),
    ("russh_sftp", "remote"),
    ("ratatui", "tui"),
    ("crossterm", "tui"),
    ("clap", "cli"),
];
