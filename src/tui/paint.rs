//! From cells to bytes: only what changed, in one buffer, every cell checked (tui.md J7, J9, PF9).

use std::io::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::{Color, Modifier},
};

use crate::base::{is_drawable, width};

/// Begin and end of an update that the terminal shows at once (DECSET 2026).
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Look of a cell.
type Look = (Color, Color, Modifier);

/// Writes what turns `before` into `after`; nothing when they are equal. Without `before`, or when
/// the sizes differ, the screen is cleared and written whole.
pub(super) fn paint(before: Option<&Buffer>, after: &Buffer, out: &mut Vec<u8>) {
    let before = before.filter(|before| before.area == after.area);
    let start = out.len();
    out.extend_from_slice(BEGIN);
    if before.is_none() {
        out.extend_from_slice(b"\x1b[0m\x1b[2J");
    }
    let body = out.len();
    let mut pen = Pen {
        at: None,
        look: None,
    };
    for y in 0..after.area.height {
        row(before, after, y, &mut pen, out);
    }
    if out.len() == body && before.is_some() {
        out.truncate(start);
        return;
    }
    out.extend_from_slice(b"\x1b[0m");
    out.extend_from_slice(END);
}

/// Where the cursor is and how it writes.
struct Pen {
    at: Option<(u16, u16)>,
    look: Option<Look>,
}

fn row(before: Option<&Buffer>, after: &Buffer, y: u16, pen: &mut Pen, out: &mut Vec<u8>) {
    let mut x = 0;
    while x < after.area.width {
        let Some(cell) = after.cell((x, y)) else {
            return;
        };
        let symbol = checked(cell);
        let cells = u16::try_from(width(symbol)).unwrap_or(1).max(1);
        let same = before.is_some_and(|before| {
            (x..x + cells).all(|x| before.cell((x, y)) == after.cell((x, y)))
        });
        // A wide character that would stand across the edge is not drawn.
        let symbol = if x + cells > after.area.width {
            " "
        } else {
            symbol
        };
        if !same && !cell.symbol().is_empty() {
            put(cell, symbol, (x, y), pen, out);
            // The terminal may count anything but ASCII differently: go there by position.
            pen.at = symbol.is_ascii().then_some((x + 1, y));
        }
        x += cells;
    }
}

fn put(cell: &Cell, symbol: &str, at: (u16, u16), pen: &mut Pen, out: &mut Vec<u8>) {
    if pen.at != Some(at) {
        let written = write!(out, "\x1b[{};{}H", at.1 + 1, at.0 + 1);
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
    }
    let look = (cell.fg, cell.bg, cell.modifier);
    if pen.look != Some(look) {
        style(look, out);
        pen.look = Some(look);
    }
    out.extend_from_slice(symbol.as_bytes());
}

/// The last line of defence: what may not reach a terminal becomes `?`, and fails a test.
fn checked(cell: &Cell) -> &str {
    let symbol = cell.symbol();
    let fine = is_drawable(symbol) && width(symbol) <= 2;
    debug_assert!(fine, "a cell that must not be drawn: {symbol:?}");
    if fine { symbol } else { "?" }
}

fn style((fg, bg, modifier): Look, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[0");
    let marks = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    for (mark, code) in marks {
        if modifier.contains(mark) {
            out.push(b';');
            out.extend_from_slice(code.as_bytes());
        }
    }
    color(fg, 30, out);
    color(bg, 40, out);
    out.push(b'm');
}

fn color(color: Color, base: u16, out: &mut Vec<u8>) {
    let written = match color {
        Color::Rgb(red, green, blue) => write!(out, ";{};2;{red};{green};{blue}", base + 8),
        Color::Indexed(index @ 0..8) => write!(out, ";{}", base + u16::from(index)),
        Color::Indexed(index @ 8..16) => write!(out, ";{}", base + 52 + u16::from(index)),
        Color::Indexed(index) => write!(out, ";{};5;{index}", base + 8),
        _ => Ok(()),
    };
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
}

/// The rows of a buffer as text, trailing blanks cut.
pub(super) fn text_of(buffer: &Buffer) -> Vec<String> {
    (0..buffer.area.height)
        .map(|y| {
            let row: String = (0..buffer.area.width)
                .filter_map(|x| buffer.cell((x, y)))
                .map(Cell::symbol)
                .collect();
            row.trim_end().to_owned()
        })
        .collect()
}
