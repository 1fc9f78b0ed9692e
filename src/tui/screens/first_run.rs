//! The card of an empty first run (tui.md D7, mock-up 22.10).

use crate::{
    base::{Shown, quoted, quoted_bytes},
    feed::Mode,
    record::HostName,
    tui::{
        app::App,
        canvas::{Canvas, cells},
        dialog::frame,
        ink::Ink,
        theme::Role,
    },
};

/// Cells inside the card.
const INNER: u16 = 70;

/// True when there is nothing at all to show and no other machine to wait for.
pub(in crate::tui) fn is_due(app: &App) -> bool {
    let local_only = app
        .outside
        .hosts()
        .iter()
        .all(|host| host.state.host == HostName::local());
    !app.is_file && local_only && app.all_sessions().is_empty() && app.outside.older_sessions() == 0
}

/// The line that a client's configuration needs: `y` copies it.
pub(in crate::tui) fn configuration(app: &App) -> String {
    let program = app.program.as_ref().map_or_else(
        || "mcpsnoop".to_owned(),
        |path| path.to_string_lossy().into_owned(),
    );
    let mut line = format!(
        "\"command\": {}, \"args\": [\"--\", \"node\", \"server.js\"]",
        json(&program)
    );
    if let Some(home) = &app.moved_home {
        line = format!("{line}, \"env\": {{\"MCPSNOOP_HOME\": {}}}", json(home));
    }
    line
}

fn json(text: &str) -> String {
    let mut out = Vec::new();
    crate::wire::json::write_string(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Draws the card.
pub(in crate::tui) fn view(app: &App, canvas: &mut Canvas<'_>) {
    let inner = INNER.min(canvas.regions.width.saturating_sub(4));
    let mut lines = lines(app, inner);
    let room = usize::from(canvas.regions.height.saturating_sub(5));
    lines.truncate(room);
    let height = cells(lines.len()) + 2;
    let x = (canvas.regions.width.saturating_sub(inner + 4)) / 2;
    let y = 1 + (canvas.regions.height.saturating_sub(2 + height)) / 2;
    frame(canvas, (x, y), inner, &lines);
}

fn lines(app: &App, inner: u16) -> Vec<Ink> {
    let text = |line: &'static str| Ink::lit(Role::Text, line);
    let right = "waiting for traffic";
    let gap = usize::from(inner).saturating_sub(8 + right.len());
    let mut lines = vec![
        Ink::lit(Role::Accent, "mcpsnoop")
            .and_say(Role::Text, " ".repeat(gap))
            .and_lit(Role::Muted, right),
    ];
    if let Some((dir, count)) = &app.elsewhere {
        let here = app.base_dir.clone().unwrap_or_default();
        let there = quoted_bytes(dir.as_os_str().as_encoded_bytes());
        lines.push(
            Ink::lit(Role::Text, "no sessions in ")
                .and(Role::Text, here)
                .and_say(Role::Text, format!("; {there} has {count}:")),
        );
        lines.push(Ink::say(
            Role::Accent,
            format!(
                "     MCPSNOOP_HOME={} mcpsnoop",
                quoted(&dir.to_string_lossy())
            ),
        ));
    }
    lines.extend([
        Ink::default(),
        text("1  put mcpsnoop in front of your server in the client's config"),
        Ink::lit(
            Role::Accent,
            "     \"command\": \"mcpsnoop\", \"args\": [\"--\", \"node\", \"server.js\"]",
        ),
        Ink::lit(Role::Accent, "     y").and_lit(Role::Text, " copies it"),
        Ink::default(),
        text("2  start a new client session: servers are launched at its start"),
        Ink::default(),
        text("another machine    mcpsnoop remote user@host"),
        text("only looking       mcpsnoop demo"),
        Ink::default(),
        hub(app),
    ]);
    lines
}

/// `hub ready` only after the bind succeeded.
fn hub(app: &App) -> Ink {
    let local = app.outside.host(&HostName::local());
    match local.and_then(|host| host.state.mode) {
        Some(Mode::Socket) => {
            let socket = app.socket.clone().unwrap_or_default();
            Ink::lit(Role::Live, "hub ready")
                .and_lit(Role::Text, "  ")
                .and(Role::Muted, socket)
        }
        Some(Mode::Log { .. }) => {
            let reason = local
                .and_then(crate::tui::outside::Host::reason)
                .unwrap_or_else(|| Shown::literal("see :messages"));
            Ink::lit(Role::Live, "following the logs")
                .and_lit(Role::Muted, "  ")
                .and(Role::Muted, reason)
        }
        Some(Mode::History) | None => Ink::lit(Role::Muted, "hub starting"),
    }
}
