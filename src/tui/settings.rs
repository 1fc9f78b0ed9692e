//! What the environment says about looks and channels (tui.md 16, 20); unknown values are named.

use jiff::tz::TimeZone;

use super::{
    glyphs::Signs,
    options::{Glyphs, ThemeName},
    theme::{Depth, Theme},
};
use crate::base::Env;

/// How text is copied (A2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clipboard {
    /// `tmux load-buffer`.
    Tmux,
    /// The terminal's clipboard.
    Osc52,
    /// A program of this machine.
    Native,
    /// Nothing is copied.
    Off,
}

/// Everything that the environment decides.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Colours.
    pub(super) theme: Theme,
    /// Signs.
    pub(super) signs: Signs,
    /// Zone that times are shown in.
    pub(super) zone: TimeZone,
    /// Copy channel.
    pub(super) clipboard: Clipboard,
    /// The terminal is on another machine: fewer repaints.
    pub(super) over_ssh: bool,
    /// One line for each variable with an unknown value.
    pub(super) warnings: Vec<String>,
}

impl Settings {
    /// Reads the environment; `ascii` is the flag.
    pub(super) fn read(env: &Env, ascii: bool) -> Self {
        let mut warnings = Vec::new();
        let theme = Theme {
            name: theme_name(env, &mut warnings),
            depth: depth(env, &mut warnings),
        };
        let glyphs = if ascii {
            Glyphs::Ascii
        } else {
            glyphs(env, &mut warnings)
        };
        Self {
            theme,
            signs: Signs::of(glyphs),
            zone: zone(env),
            clipboard: clipboard(env, &mut warnings),
            over_ssh: over_ssh(env),
            warnings,
        }
    }
}

fn over_ssh(env: &Env) -> bool {
    env.get("SSH_CONNECTION").is_some() || env.get("SSH_TTY").is_some()
}

/// The value of one of our variables, if it is one of those that it may have.
fn choice<T: Copy>(
    env: &Env,
    name: &str,
    table: &[(&str, T)],
    warnings: &mut Vec<String>,
) -> Option<T> {
    let value = env.get(name)?;
    let found = table.iter().find(|(word, _)| *word == value);
    if found.is_none() && value != "auto" {
        let words: Vec<_> = table.iter().map(|(word, _)| *word).collect();
        warnings.push(format!(
            "{name}={value} is unknown; it may be auto, {}",
            words.join(", ")
        ));
    }
    found.map(|(_, choice)| *choice)
}

fn theme_name(env: &Env, warnings: &mut Vec<String>) -> ThemeName {
    let table = [("light", ThemeName::Light), ("dark", ThemeName::Dark)];
    choice(env, "MCPSNOOP_THEME", &table, warnings)
        .or_else(|| by_background(env.get("COLORFGBG")?))
        .unwrap_or(ThemeName::Dark)
}

/// `COLORFGBG` is `foreground;background`, in the palette of 16.
fn by_background(value: &str) -> Option<ThemeName> {
    let background: u8 = value.rsplit(';').next()?.parse().ok()?;
    Some(if matches!(background, 7 | 15) {
        ThemeName::Light
    } else {
        ThemeName::Dark
    })
}

fn depth(env: &Env, warnings: &mut Vec<String>) -> Depth {
    let table = [
        ("never", Depth::None),
        ("16", Depth::Sixteen),
        ("256", Depth::Indexed),
        ("truecolor", Depth::True),
    ];
    let term = env.get("TERM").unwrap_or("");
    let forced = choice(env, "MCPSNOOP_COLOR", &table, warnings);
    let guessed = match env.get("COLORTERM") {
        _ if env.get("NO_COLOR").is_some() => Depth::None,
        _ if term == "linux" => Depth::Sixteen,
        Some("truecolor" | "24bit") => Depth::True,
        _ if term.contains("256color") => Depth::Indexed,
        _ => Depth::Sixteen,
    };
    forced.unwrap_or(guessed)
}

fn glyphs(env: &Env, warnings: &mut Vec<String>) -> Glyphs {
    let table = [("unicode", Glyphs::Unicode), ("ascii", Glyphs::Ascii)];
    choice(env, "MCPSNOOP_GLYPHS", &table, warnings).unwrap_or_else(|| {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| env.get(name));
        let locale = locale.unwrap_or("").to_ascii_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Glyphs::Unicode
        } else {
            Glyphs::Ascii
        }
    })
}

fn zone(env: &Env) -> TimeZone {
    let named = env
        .get("TZ")
        .and_then(|name| TimeZone::get(name.trim_start_matches(':')).ok());
    named.unwrap_or_else(TimeZone::system)
}

fn clipboard(env: &Env, warnings: &mut Vec<String>) -> Clipboard {
    let table = [
        ("tmux", Clipboard::Tmux),
        ("osc52", Clipboard::Osc52),
        ("native", Clipboard::Native),
        ("off", Clipboard::Off),
    ];
    choice(env, "MCPSNOOP_CLIPBOARD", &table, warnings).unwrap_or_else(|| {
        let local = cfg!(target_os = "macos")
            || env.get("WAYLAND_DISPLAY").is_some()
            || env.get("DISPLAY").is_some();
        if env.get("TMUX").is_some() {
            Clipboard::Tmux
        } else if over_ssh(env) || !local {
            Clipboard::Osc52
        } else {
            Clipboard::Native
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings::read(&Env::of(pairs.iter().copied()), false)
    }

    #[test]
    fn depth_goes_by_the_first_word_said() {
        let cases: [(&[(&str, &str)], Depth); 8] = [
            (&[], Depth::Sixteen),
            (&[("TERM", "xterm-256color")], Depth::Indexed),
            (
                &[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")],
                Depth::True,
            ),
            (&[("COLORTERM", "24bit"), ("NO_COLOR", "1")], Depth::None),
            (&[("COLORTERM", "24bit"), ("NO_COLOR", "")], Depth::True),
            (
                &[("MCPSNOOP_COLOR", "16"), ("NO_COLOR", "1")],
                Depth::Sixteen,
            ),
            (
                &[("MCPSNOOP_COLOR", "never"), ("COLORTERM", "24bit")],
                Depth::None,
            ),
            (&[("TERM", "linux"), ("COLORTERM", "24bit")], Depth::Sixteen),
        ];
        for (pairs, depth) in cases {
            assert_eq!(settings(pairs).theme.depth, depth, "{pairs:?}");
        }
    }

    #[test]
    fn signs_go_by_the_locale() {
        let unicode = Signs::of(Glyphs::Unicode);
        let ascii = Signs::of(Glyphs::Ascii);
        let cases: [(&[(&str, &str)], Signs); 6] = [
            (&[], ascii),
            (&[("LANG", "en_US.UTF-8")], unicode),
            (&[("LANG", "ja_JP.utf8")], unicode),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], ascii),
            (&[("MCPSNOOP_GLYPHS", "unicode")], unicode),
            (
                &[("LANG", "de_DE.UTF-8"), ("MCPSNOOP_GLYPHS", "ascii")],
                ascii,
            ),
        ];
        for (pairs, signs) in cases {
            assert_eq!(settings(pairs).signs, signs, "{pairs:?}");
        }
    }

    #[test]
    fn the_copy_channel_goes_by_where_the_terminal_is() {
        let cases: [(&[(&str, &str)], Clipboard); 5] = [
            (&[("TMUX", "x"), ("SSH_TTY", "y")], Clipboard::Tmux),
            (
                &[("SSH_CONNECTION", "x"), ("DISPLAY", ":0")],
                Clipboard::Osc52,
            ),
            (&[("WAYLAND_DISPLAY", "wayland-0")], Clipboard::Native),
            (
                &[("MCPSNOOP_CLIPBOARD", "off"), ("TMUX", "x")],
                Clipboard::Off,
            ),
            (
                &[("MCPSNOOP_CLIPBOARD", "osc52"), ("TMUX", "x")],
                Clipboard::Osc52,
            ),
        ];
        for (pairs, channel) in cases {
            assert_eq!(settings(pairs).clipboard, channel, "{pairs:?}");
        }
    }

    #[test]
    fn unknown_values_are_named_and_the_default_is_used() {
        let read = settings(&[("MCPSNOOP_THEME", "pink"), ("COLORFGBG", "0;15")]);
        assert_eq!(read.theme.name, ThemeName::Light);
        assert_eq!(
            read.warnings,
            ["MCPSNOOP_THEME=pink is unknown; it may be auto, light, dark"]
        );
    }
}
