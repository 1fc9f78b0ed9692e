//! Text with roles, and the one way onto the screen: cluster by cluster into cells.

use ratatui::buffer::Buffer;

use super::theme::{Ground, Role, Theme};
use crate::base::{Keep, Shown, clusters, width as cells_of};

/// A stretch of text with its meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// The text.
    pub(super) text: Shown,
    /// What it means.
    pub(super) role: Role,
    /// What lies under it.
    pub(super) ground: Ground,
}

/// A line of text with roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ink {
    spans: Vec<Span>,
}

impl Ink {
    /// One stretch.
    pub(super) fn of(role: Role, text: Shown) -> Self {
        Self::default().and(role, text)
    }

    /// A literal of the program.
    pub(super) fn lit(role: Role, text: &'static str) -> Self {
        Self::of(role, Shown::literal(text))
    }

    /// Text that the program put together; converted like any other.
    pub(super) fn say(role: Role, text: impl AsRef<str>) -> Self {
        Self::of(role, Shown::row(text.as_ref().as_bytes()))
    }

    /// Adds a stretch.
    #[must_use]
    pub(super) fn and(mut self, role: Role, text: Shown) -> Self {
        self.spans.push(Span {
            text,
            role,
            ground: Ground::Page,
        });
        self
    }

    /// Adds a literal of the program.
    #[must_use]
    pub(super) fn and_lit(self, role: Role, text: &'static str) -> Self {
        self.and(role, Shown::literal(text))
    }

    /// Adds text that the program put together.
    #[must_use]
    pub(super) fn and_say(self, role: Role, text: impl AsRef<str>) -> Self {
        self.and(role, Shown::row(text.as_ref().as_bytes()))
    }

    /// Adds a stretch on a ground.
    #[must_use]
    pub(super) fn and_on(mut self, role: Role, ground: Ground, text: Shown) -> Self {
        self.spans.push(Span { text, role, ground });
        self
    }

    /// Adds another line.
    #[must_use]
    pub(super) fn join(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// The stretches.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Cells.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// True without text.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    /// The bare text.
    pub(super) fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.plain()).collect()
    }

    /// At most `width` cells; the beginning stays.
    #[must_use]
    pub(super) fn cut(&self, width: usize, elision: &'static str) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        if width == 0 {
            return Self::default();
        }
        let mut left = width.saturating_sub(1);
        let mut kept = Self::default();
        for span in &self.spans {
            let own = span.text.width();
            let fits = own <= left;
            let text = if fits {
                span.text.clone()
            } else {
                // More follows, also where this stretch alone would just fit.
                let more = span.text.clone().and(&Shown::literal("  "));
                more.cut(left + 1, Keep::Head, elision)
            };
            kept = kept.and_on(span.role, span.ground, text);
            left = left.saturating_sub(own);
            if !fits {
                break;
            }
        }
        kept
    }
}

/// Where and how a line is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Column.
    pub(super) x: u16,
    /// Line.
    pub(super) y: u16,
    /// Most cells.
    pub(super) width: u16,
    /// What lies under stretches that have no ground of their own.
    pub(super) ground: Ground,
}

/// Draws a line; answers the cells used. What has no room is left out.
pub(super) fn draw(buffer: &mut Buffer, theme: Theme, spot: Spot, ink: &Ink) -> u16 {
    let edge = buffer.area.right().min(spot.x.saturating_add(spot.width));
    if spot.y >= buffer.area.bottom() {
        return 0;
    }
    let mut x = spot.x;
    for span in ink.spans() {
        let ground = if span.ground == Ground::Page {
            spot.ground
        } else {
            span.ground
        };
        for piece in span.text.pieces() {
            let role = if piece.escaped {
                Role::Escape
            } else {
                span.role
            };
            let style = theme.style(role, ground);
            for unit in clusters(&piece.text) {
                let cells = u16::try_from(cells_of(unit)).unwrap_or(1).max(1);
                if x.saturating_add(cells) > edge {
                    return x - spot.x;
                }
                for offset in 0..cells {
                    if let Some(cell) = buffer.cell_mut((x + offset, spot.y)) {
                        cell.set_symbol(if offset == 0 { unit } else { "" });
                        cell.set_style(style);
                    }
                }
                x += cells;
            }
        }
    }
    x - spot.x
}

/// Paints the ground of a whole stretch of a line, such as the selected row.
pub(super) fn fill(buffer: &mut Buffer, theme: Theme, spot: Spot) {
    let style = theme.style(Role::Text, spot.ground);
    for x in spot.x..spot.x.saturating_add(spot.width).min(buffer.area.right()) {
        if let Some(cell) = buffer.cell_mut((x, spot.y)) {
            cell.set_style(style);
        }
    }
}

/// A text in lines of at most this many cells, cut behind blanks where there are any.
pub(super) fn wrapped(text: &Shown, width: usize) -> Vec<Shown> {
    let mut parts = Vec::new();
    let mut rest = text.clone();
    loop {
        let plain = rest.plain();
        let Some(most) = rest.breaks(width).first().copied() else {
            parts.push(rest);
            return parts;
        };
        let blank = plain.get(..most).and_then(|head| head.rfind(' '));
        let end = blank.map_or(most, |blank| blank + 1);
        parts.push(rest.between(0..end));
        rest = rest.between(end..plain.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_behind_blanks_and_nothing_is_lost() {
        let cases: [(&str, &[&str]); 4] = [
            ("short", &["short"]),
            ("one two three four", &["one two ", "three four"]),
            ("abcdefghijklmnop", &["abcdefghij", "klmnop"]),
            ("a bcdefghijklmnop", &["a ", "bcdefghijk", "lmnop"]),
        ];
        for (text, expected) in cases {
            let parts = wrapped(&Shown::row(text.as_bytes()), 10);
            let parts: Vec<_> = parts.iter().map(Shown::plain).collect();
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn a_cut_shows_also_where_a_stretch_just_fits() {
        let ink = Ink::lit(Role::Text, "ab")
            .and_lit(Role::Muted, " ")
            .and_lit(Role::Text, "cd");
        let cases = [(5, "ab cd"), (4, "ab ~"), (3, "ab~"), (2, "a~"), (1, "~")];
        for (width, expected) in cases {
            assert_eq!(ink.cut(width, "~").plain(), expected, "{width}");
        }
    }
}
