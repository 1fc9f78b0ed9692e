//! Roles and the colours that they have (tui.md 16.1): drawing code names a meaning, never a colour.

use ratatui::style::{Color, Modifier, Style};

use super::options::ThemeName;

/// What a stretch of text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// Data.
    #[default]
    Text,
    /// Titles, tool names, the current crumb.
    Strong,
    /// Secondary text.
    Muted,
    /// Heads, rules, punctuation.
    Faint,
    /// Brand, keys, requests.
    Accent,
    /// A good outcome.
    Ok,
    /// A warning.
    Warn,
    /// An error.
    Err,
    /// An invalid frame.
    Bad,
    /// Recording, pending, follow.
    Live,
    /// A mark that redaction left.
    Redacted,
    /// The visible form of an unsafe character.
    Escape,
}

/// What lies under a stretch of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ground {
    /// The terminal's own background, which is never painted (V2).
    #[default]
    Page,
    /// The selected row.
    Selection,
    /// A search hit.
    Match,
    /// The current search hit.
    MatchNow,
}

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// No colour codes at all (V4).
    None,
    /// The palette of 16.
    Sixteen,
    /// The palette of 256.
    Indexed,
    /// Red, green and blue.
    True,
}

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theme {
    /// Background that the colours are made for.
    pub(super) name: ThemeName,
    /// Colours at hand.
    pub(super) depth: Depth,
}

/// One colour in the three depths; a 16-colour index of `None` is the default colour.
struct Tone {
    rgb: u32,
    indexed: u8,
    sixteen: Option<u8>,
}

const fn tone(rgb: u32, indexed: u8, sixteen: Option<u8>) -> Tone {
    Tone {
        rgb,
        indexed,
        sixteen,
    }
}

impl Theme {
    /// The style of a role on a ground.
    pub(super) fn style(self, role: Role, ground: Ground) -> Style {
        let mut style = Style::new();
        if self.depth != Depth::None {
            style = style.fg(self.color(&self.tone(role)));
        }
        style = style.add_modifier(self.modifier(role));
        self.on(style, ground)
    }

    fn tone(self, role: Role) -> Tone {
        let dark = match role {
            Role::Text => tone(0x00D6_D9DE, 253, None),
            Role::Strong => tone(0x00F4_F6F8, 255, None),
            Role::Muted => tone(0x00AB_B1BA, 249, None),
            Role::Faint => tone(0x0095_9CA6, 247, None),
            Role::Accent => tone(0x007D_B3F2, 111, Some(12)),
            Role::Ok => tone(0x0086_CC90, 114, Some(10)),
            Role::Warn | Role::Escape => tone(0x00E5_B84C, 179, Some(11)),
            Role::Err => tone(0x00F5_8A87, 210, Some(9)),
            Role::Bad => tone(0x00DF_9AE6, 176, Some(13)),
            Role::Live => tone(0x0062_CBCB, 80, Some(14)),
            Role::Redacted => tone(0x00C9_B08A, 180, None),
        };
        let light = match role {
            Role::Text => tone(0x0024_292F, 235, None),
            Role::Strong => tone(0x000B_0E12, 233, None),
            Role::Muted => tone(0x004E_5660, 240, None),
            Role::Faint => tone(0x005F_6771, 242, None),
            Role::Accent => tone(0x000A_55AD, 25, Some(4)),
            Role::Ok => tone(0x0014_6B2E, 22, Some(2)),
            Role::Warn | Role::Escape => tone(0x007A_4F00, 94, Some(3)),
            Role::Err => tone(0x00AE_1F21, 124, Some(1)),
            Role::Bad => tone(0x0084_379B, 90, Some(5)),
            Role::Live => tone(0x000A_636A, 23, Some(6)),
            Role::Redacted => tone(0x006B_5238, 58, None),
        };
        match self.name {
            ThemeName::Dark => dark,
            ThemeName::Light => light,
        }
    }

    fn color(self, tone: &Tone) -> Color {
        match (self.depth, tone.sixteen) {
            (Depth::True, _) => Color::from_u32(tone.rgb),
            (Depth::Indexed, _) => Color::Indexed(tone.indexed),
            (Depth::Sixteen, Some(index)) => Color::Indexed(index),
            (Depth::Sixteen, None) | (Depth::None, _) => Color::Reset,
        }
    }

    fn modifier(self, role: Role) -> Modifier {
        let few = matches!(self.depth, Depth::None | Depth::Sixteen);
        let none = self.depth == Depth::None;
        match role {
            Role::Strong if few => Modifier::BOLD,
            Role::Err | Role::Bad if none => Modifier::BOLD,
            Role::Faint if few => Modifier::DIM,
            Role::Redacted if few => Modifier::ITALIC,
            Role::Escape if none => Modifier::UNDERLINED | Modifier::BOLD,
            Role::Escape => Modifier::UNDERLINED,
            _ => Modifier::empty(),
        }
    }

    fn on(self, style: Style, ground: Ground) -> Style {
        let few = matches!(self.depth, Depth::None | Depth::Sixteen);
        let dark = self.name == ThemeName::Dark;
        let back = |dark_tone: Tone, light_tone: Tone| {
            style.bg(self.color(if dark { &dark_tone } else { &light_tone }))
        };
        match ground {
            Ground::Page => style,
            Ground::Selection if few => style.add_modifier(Modifier::REVERSED),
            Ground::Selection => back(tone(0x002C_3440, 237, None), tone(0x00DC_E6F2, 254, None)),
            Ground::Match if few => style.add_modifier(Modifier::UNDERLINED),
            Ground::Match => back(tone(0x0055_470F, 58, None), tone(0x00FF_E8A3, 223, None)),
            Ground::MatchNow if few => style.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Ground::MatchNow => {
                let ink = if dark {
                    tone(0x001A_1A1A, 234, None)
                } else {
                    tone(0x00FF_FFFF, 231, None)
                };
                back(tone(0x00E5_B84C, 179, None), tone(0x008A_4B00, 94, None)).fg(self.color(&ink))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 12] = [
        Role::Text,
        Role::Strong,
        Role::Muted,
        Role::Faint,
        Role::Accent,
        Role::Ok,
        Role::Warn,
        Role::Err,
        Role::Bad,
        Role::Live,
        Role::Redacted,
        Role::Escape,
    ];

    fn light_of(rgb: u32) -> f64 {
        let part = |shift: u32| {
            let value = f64::from((rgb >> shift) & 0xFF) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    }

    fn contrast(a: u32, b: u32) -> f64 {
        let (a, b) = (light_of(a), light_of(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_readable_on_its_page_and_on_the_selection() {
        for (name, page, band) in [
            (ThemeName::Dark, 0x0012_1417, 0x002C_3440),
            (ThemeName::Light, 0x00FF_FFFF, 0x00DC_E6F2),
        ] {
            let theme = Theme {
                name,
                depth: Depth::True,
            };
            for role in ROLES {
                let ink = theme.tone(role).rgb;
                assert!(contrast(ink, page) >= 4.5, "{name:?} {role:?} page");
                assert!(contrast(ink, band) >= 4.5, "{name:?} {role:?} band");
            }
        }
    }

    #[test]
    fn no_colour_means_no_colour_codes() {
        let theme = Theme {
            name: ThemeName::Dark,
            depth: Depth::None,
        };
        for role in ROLES {
            for ground in [
                Ground::Page,
                Ground::Selection,
                Ground::Match,
                Ground::MatchNow,
            ] {
                let style = theme.style(role, ground);
                assert_eq!((style.fg, style.bg), (None, None), "{role:?} {ground:?}");
            }
        }
    }

    #[test]
    fn sixteen_colours_never_use_bright_black() {
        for name in [ThemeName::Dark, ThemeName::Light] {
            let theme = Theme {
                name,
                depth: Depth::Sixteen,
            };
            for role in ROLES {
                assert_ne!(theme.style(role, Ground::Page).fg, Some(Color::Indexed(8)));
            }
        }
    }
}
