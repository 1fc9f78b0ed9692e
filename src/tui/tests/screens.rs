//! The screens as text, beside their mock-ups (tui.md 22).

use super::{
    rig::{Rig, host},
    samples,
};
use crate::feed::LinkState;

/// Compares with the stored text.
macro_rules! snapshot {
    ($name:expr, $value:expr) => {
        insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/tui"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!($name, $value) });
    };
}

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 10)];

fn each_size(name: &str, act: impl Fn(&mut Rig)) {
    for (width, height) in SIZES {
        let mut rig = Rig::new(width, height);
        rig.feed(samples::local());
        act(&mut rig);
        snapshot!(format!("{name}_{width}x{height}"), rig.text());
    }
}

#[test]
fn sessions() {
    each_size("sessions", |rig| rig.keys("j"));
}

#[test]
fn stream() {
    each_size("stream", |rig| {
        rig.type_text(":filesystem-482");
        rig.keys("enter");
    });
}

#[test]
fn inspector_with_a_search() {
    each_size("inspector", |rig| {
        rig.type_text(":filesystem-482");
        rig.keys("enter { { enter");
        rig.type_text("/users");
        rig.keys("enter");
    });
}

#[test]
fn help_over_the_stream() {
    each_size("help", |rig| {
        rig.type_text(":filesystem-482");
        rig.keys("enter ?");
    });
}

#[test]
fn messages() {
    each_size("messages", |rig| {
        rig.type_text(":nothing-of-that-name");
        rig.keys("enter esc");
        rig.wait(9_000);
        rig.type_text(":messages");
        rig.keys("enter");
    });
}

fn several_hosts(rig: &mut Rig) {
    rig.feed([
        host("build01", LinkState::Connecting, None),
        host("edge7", LinkState::Live, None),
        host("lab3", LinkState::Backfilling, None),
        host("build01", LinkState::Live, None),
    ]);
    rig.feed([crate::feed::FeedEvent::Progress(crate::feed::Progress {
        host: crate::record::HostName("lab3".into()),
        sessions_done: 6,
        sessions_total: 14,
        bytes_done: crate::base::ByteCount(222_298_112),
        bytes_total: crate::base::ByteCount(671_088_640),
        bytes_per_second: crate::base::ByteCount(42_991_616),
    })]);
    rig.feed(
        super::rig::Log::on("edge7", "sensor-1-000000000005", "sensor-bridge")
            .client(9_000, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .news(crate::record::Liveness::Recording, true)
            .events,
    );
    rig.feed(
        super::rig::Log::on("lab3", "vision-1-000000000006", "vision-tools")
            .recorded()
            .client(9_000, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .news(crate::record::Liveness::Recording, false)
            .events,
    );
    rig.feed([host(
        "edge7",
        LinkState::Lost,
        Some("host key changed, not retrying"),
    )]);
    rig.wait(9_000);
}

#[test]
fn sessions_of_several_hosts() {
    each_size("sessions_hosts", |rig| {
        several_hosts(rig);
        rig.keys("E");
    });
}

#[test]
fn hosts() {
    each_size("hosts", |rig| {
        several_hosts(rig);
        rig.keys("o j j");
    });
}

#[test]
fn first_run() {
    for (width, height) in SIZES {
        let mut rig = Rig::new(width, height);
        rig.app.elsewhere = Some(("/srv/mcp".into(), 12));
        rig.feed([host("local", LinkState::Live, None)]);
        snapshot!(format!("first_run_{width}x{height}"), rig.text());
    }
}

#[test]
fn disconnect_dialog() {
    each_size("dialog", |rig| {
        several_hosts(rig);
        rig.keys("o j j x");
    });
}

#[test]
fn unicode_signs() {
    let mut rig = Rig::with(80, 24, &[("MCPSNOOP_GLYPHS", "unicode")], false);
    rig.feed(samples::local());
    rig.type_text(":filesystem-482");
    rig.keys("enter");
    snapshot!("stream_unicode", rig.text());
}

/// Styles of a line: where each begins.
fn styles(rig: &mut Rig, y: u16) -> String {
    let buffer = rig.buffer();
    let mut out = Vec::new();
    let mut last = None;
    for x in 0..buffer.area.width {
        let cell = buffer.cell((x, y)).unwrap();
        let look = (cell.fg, cell.bg, cell.modifier);
        if last != Some(look) {
            out.push(format!("{x}: {:?} on {:?} {:?}", look.0, look.1, look.2));
            last = Some(look);
        }
    }
    out.join("\n")
}

#[test]
fn styles_of_the_selected_row() {
    for (name, env) in [
        ("dark", ("MCPSNOOP_THEME", "dark")),
        ("light", ("MCPSNOOP_THEME", "light")),
        ("sixteen", ("MCPSNOOP_COLOR", "16")),
        ("none", ("MCPSNOOP_COLOR", "never")),
    ] {
        let mut rig = Rig::with(80, 24, &[env], false);
        rig.feed(samples::local());
        rig.type_text(":filesystem-482");
        rig.keys("enter {");
        let y = u16::try_from(
            rig.lines()
                .iter()
                .position(|line| line.starts_with('>'))
                .unwrap(),
        )
        .unwrap();
        snapshot!(format!("styles_{name}"), styles(&mut rig, y));
    }
}
