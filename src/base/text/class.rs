//! What a character is: shown as itself, a mark on a base, a space, or unsafe (tui.md J3, J6).

use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_width::UnicodeWidthChar as _;

/// Most marks that one base carries; further ones are written in visible form (J6).
pub(super) const MOST_MARKS: usize = 3;

/// How a character may be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// As itself; it takes one or two cells.
    Plain,
    /// On the character before it; it takes no cell of its own.
    Mark,
    /// A space other than U+0020, of so many cells.
    Space(usize),
    /// Only in visible form.
    Unsafe,
}

/// Characters that letters, marks and symbols hide in, but that draw nothing (J3).
const IGNORABLE: [(u32, u32); 16] = [
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
];

/// Skin tones and the letters of flags: one terminal draws them as one with what is before them,
/// another beside it, so that cells were left behind (J5, J7).
const JOINED: &[(u32, u32)] = &[(0x1_F1E6, 0x1_F1FF), (0x1_F3FB, 0x1_F3FF)];

/// The class of a character.
pub(super) fn class_of(character: char) -> Class {
    if character == ' ' || character.is_ascii_graphic() {
        return Class::Plain;
    }
    let code = u32::from(character);
    if code < 0xA0
        || IGNORABLE
            .iter()
            .chain(JOINED)
            .any(|(first, last)| (*first..=*last).contains(&code))
    {
        return Class::Unsafe;
    }
    by_category(character)
}

fn by_category(character: char) -> Class {
    use GeneralCategory as Category;
    let width = character.width().unwrap_or(0);
    match get_general_category(character) {
        Category::Control
        | Category::Format
        | Category::Surrogate
        | Category::PrivateUse
        | Category::Unassigned
        | Category::LineSeparator
        | Category::ParagraphSeparator => Class::Unsafe,
        Category::SpaceSeparator => Class::Space(width.max(1)),
        Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => Class::Mark,
        // Second and third parts of a decomposed Korean syllable lie on the first one.
        _ if width == 0 => Class::Mark,
        _ => Class::Plain,
    }
}

/// True when a screen may hold this text in one cell: the last line of defence behind every
/// conversion (J9). Empty text is drawable.
pub fn is_drawable(symbol: &str) -> bool {
    let mut marks = 0;
    symbol
        .chars()
        .enumerate()
        .all(|(index, character)| match class_of(character) {
            Class::Plain => {
                marks = 0;
                true
            }
            Class::Mark => {
                marks += 1;
                (index > 0 || character.width().unwrap_or(0) > 0) && marks <= MOST_MARKS
            }
            Class::Space(_) | Class::Unsafe => false,
        })
}

/// Writes the visible form of a character.
pub(super) fn write_visible(out: &mut String, character: char) {
    match character {
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        _ => write_code(out, u32::from(character)),
    }
}

fn write_code(out: &mut String, code: u32) {
    let written = if code > 0xFFFF {
        write!(out, "\\u{{{code:x}}}")
    } else {
        write!(out, "\\u{code:04x}")
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// Writes the visible form of a byte that is not UTF-8.
pub(super) fn write_byte(out: &mut String, byte: u8) {
    let written = write!(out, "\\x{byte:02x}");
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}
