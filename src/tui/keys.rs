//! The one table of keys: input, help and footer read it (tui.md 17.1, 9.5).

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a user means with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Leave the program at once.
    Quit,
    /// One layer back.
    Back,
    /// Open the command line.
    Command,
    /// Open or close the help.
    Help,
    /// Freeze what is shown.
    Pause,
    /// Stop the process.
    Suspend,
    /// Move by so many rows or lines.
    Step(i8),
    /// Move by so many halves of a page.
    Half(i8),
    /// To the first row or line.
    First,
    /// To the last row or line.
    Last,
    /// Open what is selected.
    Open,
    /// Open the filter or search prompt.
    Slash,
    /// Only problem rows, and back.
    Problems,
    /// Next hit or previous hit.
    Hit(i8),
    /// Previous or next session.
    Session(i8),
    /// Previous or next problem row.
    Problem(i8),
    /// Next or previous related frame.
    Pair(i8),
    /// Next or previous frame of the list.
    Frame(i8),
    /// Copy what is selected.
    Copy,
    /// Copy the value at the cursor.
    CopyValue,
    /// Open or close the hosts.
    Hosts,
    /// Next form of the time column.
    TimeMode,
    /// Next form of the body.
    BodyMode,
    /// Hide what is there, or repaint.
    Clear,
    /// Follow the newest row.
    Follow,
    /// Sort by the column with this key.
    Sort(char),
    /// Sort by the column beside.
    SortBeside(i8),
    /// Soft wrap on or off.
    Wrap,
    /// Scroll sideways.
    Sideways(i8),
    /// Try a host again.
    Retry,
    /// Give a host up.
    Disconnect,
}

/// Where a key means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The table of sessions.
    Sessions,
    /// The table of frames.
    Stream,
    /// One frame.
    Inspector,
    /// The table of hosts.
    Hosts,
    /// The help.
    Help,
    /// The messages.
    Messages,
}

/// Group of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Finding.
    Find,
    /// Reading.
    Read,
    /// Moving.
    Go,
    /// Doing.
    Do,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bind {
    /// Keys as `spell` writes them.
    pub(super) keys: &'static [&'static str],
    /// Where.
    pub(super) places: &'static [Place],
    /// What is meant.
    pub(super) action: Action,
    /// Group and words of the help: key as shown, words. Lines that another line tells have none.
    pub(super) help: Option<(Group, &'static str, &'static str)>,
}

use Place::{Help, Hosts, Inspector, Messages, Sessions, Stream};

const ALL: &[Place] = &[Sessions, Stream, Inspector, Hosts, Help, Messages];
const TABLES: &[Place] = &[Sessions, Stream, Hosts];
const TEXTS: &[Place] = &[Inspector, Help, Messages];
const FRAMES: &[Place] = &[Stream, Inspector];
const HOME: &[Place] = &[Sessions];
const LIST: &[Place] = &[Stream];
const ONE: &[Place] = &[Inspector];
const LINKS: &[Place] = &[Hosts];
const FILTERED: &[Place] = &[Sessions, Stream];

const fn bind(keys: &'static [&'static str], places: &'static [Place], action: Action) -> Bind {
    Bind {
        keys,
        places,
        action,
        help: None,
    }
}

impl Bind {
    const fn help(mut self, group: Group, key: &'static str, words: &'static str) -> Self {
        self.help = Some((group, key, words));
        self
    }
}

use Group::{Do, Find, Go, Read};

/// Every key.
pub(super) const KEYS: &[Bind] = &[
    bind(&["!"], FILTERED, Action::Problems).help(Find, "!", "only problem rows, and back"),
    bind(&["/"], FILTERED, Action::Slash).help(Find, "/", "filter (below)"),
    bind(&["{"], FRAMES, Action::Problem(-1)).help(Find, "{  }", "previous, next problem"),
    bind(&["n"], ONE, Action::Hit(1)).help(Find, "n  N", "next, previous hit"),
    bind(&["n"], &[Help, Messages], Action::Hit(1)),
    bind(&["N"], TEXTS, Action::Hit(-1)),
    bind(&["/"], &[Inspector, Messages], Action::Slash).help(Find, "/", "search"),
    bind(&["/"], &[Help], Action::Slash),
    bind(&["enter"], HOME, Action::Open).help(Read, "enter", "open the stream"),
    bind(&["enter"], LIST, Action::Open).help(Read, "enter", "inspect the frame"),
    bind(&["enter"], LINKS, Action::Open).help(Read, "enter", "its sessions"),
    bind(&["enter"], TEXTS, Action::Back),
    bind(&["x"], FRAMES, Action::Pair(1)).help(Read, "x  X", "the other half, back"),
    bind(&["X"], FRAMES, Action::Pair(-1)),
    bind(&["m"], ONE, Action::BodyMode).help(Read, "m", "pretty, raw, text"),
    bind(&["t"], FRAMES, Action::TimeMode).help(Read, "t", "clock, since start, delta"),
    bind(&["ctrl-w"], ONE, Action::Wrap).help(Read, "ctrl-w", "wrap long lines or not"),
    bind(&["left"], ONE, Action::Sideways(-1)),
    bind(&["right"], ONE, Action::Sideways(1)),
    bind(&["f"], LIST, Action::Follow).help(Read, "f", "follow the newest"),
    bind(&["p"], ALL, Action::Pause).help(Read, "p", "pause, resume"),
    bind(&["j", "down", "ctrl-n"], TABLES, Action::Step(1)).help(
        Go,
        "j k d u",
        "row, half page (space page)",
    ),
    bind(&["k", "up", "ctrl-p"], TABLES, Action::Step(-1)),
    bind(&["j", "down"], TEXTS, Action::Step(1)).help(
        Go,
        "j k d u",
        "line, half page (space page)",
    ),
    bind(&["k", "up"], TEXTS, Action::Step(-1)),
    bind(&["ctrl-n"], ONE, Action::Frame(1)).help(Go, "ctrl-n p", "next, previous frame"),
    bind(&["ctrl-p"], ONE, Action::Frame(-1)),
    bind(&["ctrl-f", "pgdn", "space"], ALL, Action::Half(2)),
    bind(&["ctrl-b", "pgup"], ALL, Action::Half(-2)),
    bind(&["f"], TEXTS, Action::Half(2)),
    bind(&["b"], TEXTS, Action::Half(-2)),
    bind(&["d"], ALL, Action::Half(1)),
    bind(&["u", "ctrl-u"], ALL, Action::Half(-1)),
    bind(
        &["ctrl-d"],
        &[Stream, Hosts, Inspector, Help, Messages],
        Action::Half(1),
    ),
    bind(&["g", "home"], ALL, Action::First).help(Go, "g  G", "first, last"),
    bind(&["G", "end"], ALL, Action::Last),
    bind(&["["], &[Sessions, Stream, Inspector], Action::Session(-1)).help(
        Go,
        "[  ]",
        "previous, next session",
    ),
    bind(&["]"], &[Sessions, Stream, Inspector], Action::Session(1)),
    bind(&["o"], ALL, Action::Hosts).help(Go, "o", "hosts"),
    bind(&["r"], LINKS, Action::Retry).help(Do, "r", "try or log in now"),
    bind(&["x"], LINKS, Action::Disconnect).help(Do, "x", "disconnect (asks)"),
    bind(&["y"], HOME, Action::Copy).help(Do, "y", "copy the path of the log"),
    bind(&["y"], FRAMES, Action::Copy).help(Do, "y", "copy the frame as JSON"),
    bind(&["y"], &[Help, Messages, Hosts], Action::Copy).help(Do, "y", "copy as text"),
    bind(&["Y"], ONE, Action::CopyValue).help(Do, "Y", "copy the value at the cursor"),
    bind(&["}"], FRAMES, Action::Problem(1)),
    bind(&["ctrl-l"], LIST, Action::Clear).help(Do, "ctrl-l", "hide what is here, esc: back"),
    bind(
        &["ctrl-l"],
        &[Sessions, Hosts, Inspector, Help, Messages],
        Action::Clear,
    )
    .help(Do, "ctrl-l", "repaint"),
    bind(&["<"], TABLES, Action::SortBeside(-1)).help(Do, "<  >", "sort by the column beside"),
    bind(&[">"], TABLES, Action::SortBeside(1)),
    bind(&[":"], ALL, Action::Command).help(Do, ":", "command (below)"),
    bind(&["ctrl-z"], ALL, Action::Suspend).help(Do, "ctrl-z", "suspend"),
    bind(&["esc", "q"], ALL, Action::Back).help(Go, "esc  q", "back"),
    bind(&["?"], ALL, Action::Help).help(Go, "?", "this help"),
    bind(&["ctrl-c"], ALL, Action::Quit).help(Do, "ctrl-c", "quit"),
    bind(&["N"], HOME, Action::Sort('N')).help(Do, "shift", "+ a head's underlined letter: sort"),
    bind(&["R"], HOME, Action::Sort('R')),
    bind(&["S"], HOME, Action::Sort('S')),
    bind(&["E"], HOME, Action::Sort('E')),
    bind(&["L"], HOME, Action::Sort('L')),
    bind(&["H"], HOME, Action::Sort('H')),
    bind(&["C"], HOME, Action::Sort('C')),
    bind(&["P"], HOME, Action::Sort('P')),
    bind(&["D"], HOME, Action::Sort('D')),
    bind(&["A"], HOME, Action::Sort('A')),
    bind(&["T"], LIST, Action::Sort('T')).help(Do, "shift", "+ a head's underlined letter: sort"),
    bind(&["M"], LIST, Action::Sort('M')),
    bind(&["I"], LIST, Action::Sort('I')),
    bind(&["D"], LIST, Action::Sort('D')),
    bind(&["S"], LIST, Action::Sort('S')),
];

/// Footer hints of a place beside `? help`, in the order of use.
pub(super) fn hints(place: Place) -> &'static [&'static str] {
    match place {
        Sessions => &[
            "! problems",
            "/ filter",
            "enter open",
            "o hosts",
            ": command",
            "y copy",
            "p pause",
        ],
        Stream => &[
            "! problems",
            "/ filter",
            "enter inspect",
            "x pair",
            "f follow",
            "p pause",
            "y copy",
            "o hosts",
            ": command",
        ],
        Inspector => &[
            "esc close",
            "x pair",
            "m mode",
            "y copy",
            "n N match",
            "} problem",
        ],
        Hosts => &["enter its sessions", "r retry", "x disconnect"],
        Help | Messages => &["j k scroll", "/ search", "esc close"],
    }
}

/// Hints that stay on screen whatever a notice takes, and the same in few words.
pub(super) const fn lasting_hints(place: Place) -> (&'static [&'static str], &'static str) {
    match place {
        Sessions => (&["enter open"], "enter open"),
        Stream => (&["enter inspect", "x pair", "y copy"], "enter x y"),
        Inspector | Hosts | Help | Messages => (&[], ""),
    }
}

/// What a key means at a place.
pub(super) fn action_of(key: &str, place: Place) -> Option<Action> {
    KEYS.iter()
        .find(|bind| bind.places.contains(&place) && bind.keys.contains(&key))
        .map(|bind| bind.action)
}

/// The name of a key: its character, or a word with `ctrl-` and `alt-` before it.
pub(super) fn spell(key: &KeyEvent) -> Option<String> {
    let word = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(character) => character.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "esc".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::PageUp => "pgup".to_owned(),
        KeyCode::PageDown => "pgdn".to_owned(),
        KeyCode::Backspace => "backspace".to_owned(),
        KeyCode::Delete => "delete".to_owned(),
        KeyCode::Tab => "tab".to_owned(),
        KeyCode::BackTab => "shift-tab".to_owned(),
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match (control, alt) {
        (true, _) => format!("ctrl-{}", word.to_lowercase()),
        (false, true) => format!("alt-{word}"),
        (false, false) => word,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_key_means_one_thing_at_a_place() {
        for place in ALL {
            let mut seen = HashSet::new();
            for bind in KEYS.iter().filter(|bind| bind.places.contains(place)) {
                for key in bind.keys {
                    assert!(seen.insert(*key), "{key} twice at {place:?}");
                }
            }
        }
    }

    #[test]
    fn keys_of_the_specification_do_what_it_says() {
        let cases = [
            ("j", Sessions, Some(Action::Step(1))),
            ("ctrl-d", Sessions, None),
            ("ctrl-d", Stream, Some(Action::Half(1))),
            ("f", Stream, Some(Action::Follow)),
            ("f", Inspector, Some(Action::Half(2))),
            ("N", Sessions, Some(Action::Sort('N'))),
            ("N", Inspector, Some(Action::Hit(-1))),
            ("x", Hosts, Some(Action::Disconnect)),
            ("x", Stream, Some(Action::Pair(1))),
            ("enter", Inspector, Some(Action::Back)),
            ("space", Stream, Some(Action::Half(2))),
            ("W", Sessions, None),
            ("e", Stream, None),
            ("w", Stream, None),
        ];
        for (key, place, action) in cases {
            assert_eq!(action_of(key, place), action, "{key} {place:?}");
        }
    }

    #[test]
    fn every_hint_names_a_key_of_its_place() {
        for place in ALL {
            for hint in hints(*place) {
                for key in hint.split(' ').take_while(|word| word.chars().count() == 1) {
                    assert!(action_of(key, *place).is_some(), "{hint} at {place:?}");
                }
            }
        }
    }

    #[test]
    fn keys_are_spelled_by_the_character_received() {
        let key = |code, modifiers| spell(&KeyEvent::new(code, modifiers));
        assert_eq!(
            key(KeyCode::Char('N'), KeyModifiers::SHIFT).as_deref(),
            Some("N")
        );
        assert_eq!(
            key(KeyCode::Char('d'), KeyModifiers::CONTROL).as_deref(),
            Some("ctrl-d")
        );
        assert_eq!(
            key(KeyCode::Char('b'), KeyModifiers::ALT).as_deref(),
            Some("alt-b")
        );
        assert_eq!(key(KeyCode::F(5), KeyModifiers::NONE), None);
    }
}
