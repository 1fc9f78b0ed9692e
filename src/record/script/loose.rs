//! Values as scripts abbreviate them: `{k:v}`, `{a,b;st=S}`, bare words, `[R]`, `…`.

use crate::wire::json;

/// What `[R]` stands for.
pub(super) const PLACEHOLDER: &str = "\"[REDACTED]\"";

/// Words that take the next word as their value: `sub 1`, `_meta 2026-07-28`.
const HEADS: [&str; 4] = ["sub", "_meta", "clientInfo", "serverInfo"];

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Loose {
    /// A scalar in JSON.
    Json(String),
    /// A bare word, several words included.
    Word(String),
    /// An array.
    Array(Vec<Self>),
    /// An object, or a list of words in braces.
    Object(Vec<Entry>),
}

/// One entry in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// `None` for a bare value.
    pub(super) key: Option<String>,
    /// The value.
    pub(super) value: Loose,
}

/// JSON of a text.
pub(super) fn quote(text: &str) -> String {
    let mut out = Vec::new();
    json::write_string(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

impl Loose {
    /// Reads a whole text; `None` when something is left or does not close.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut cursor = Cursor {
            rest: text.trim_start(),
        };
        let value = cursor.value(",;}]", 64)?;
        cursor.rest.trim().is_empty().then_some(value)
    }

    /// The JSON that it stands for; a bare word in braces is a member that is `true`.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Json(text) => text.clone(),
            Self::Word(text) => quote(text),
            Self::Array(all) => {
                let all: Vec<_> = all.iter().map(Self::json).collect();
                format!("[{}]", all.join(","))
            }
            Self::Object(entries) => {
                let all: Vec<_> = entries
                    .iter()
                    .map(|entry| match &entry.key {
                        Some(key) => format!("{}:{}", quote(key), entry.value.json()),
                        None => format!("{}:true", quote(&entry.value.word())),
                    })
                    .collect();
                format!("{{{}}}", all.join(","))
            }
        }
    }

    /// The text of a scalar, without quotes.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Word(text) => text.clone(),
            Self::Json(text) => {
                json::string(text.as_bytes()).map_or_else(|| text.clone(), Into::into)
            }
            other => other.json(),
        }
    }

    /// A word as a text, so that `1` stays a number only where it was asked for.
    pub(super) fn text_json(&self) -> String {
        match self {
            Self::Json(text) if text.starts_with('"') => text.clone(),
            other => quote(&other.word()),
        }
    }
}

struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn split(&mut self, at: usize) -> Option<&'a str> {
        let (head, rest) = self.rest.split_at_checked(at)?;
        self.rest = rest;
        Some(head)
    }

    fn value(&mut self, ends: &str, depth: usize) -> Option<Loose> {
        let depth = depth.checked_sub(1)?;
        self.skip();
        if self.take("[R]") {
            return Some(Loose::Json(PLACEHOLDER.into()));
        }
        if self.take("{") {
            return self.object(depth);
        }
        if self.take("[") {
            return self.array(depth);
        }
        if self.rest.starts_with('"') {
            return self.string();
        }
        let end = self.rest.find(|c| ends.contains(c));
        let word = self.split(end.unwrap_or(self.rest.len()))?.trim();
        Some(match json::whole_value(word.as_bytes()) {
            Some(_) => Loose::Json(word.into()),
            None => Loose::Word(word.into()),
        })
    }

    fn string(&mut self) -> Option<Loose> {
        let end = json::value_end(self.rest.as_bytes(), 0, 1).ok()?;
        self.split(end).map(|text| match text {
            "\"[R]\"" => Loose::Json(PLACEHOLDER.into()),
            text => Loose::Json(text.into()),
        })
    }

    fn array(&mut self, depth: usize) -> Option<Loose> {
        let mut all = Vec::new();
        loop {
            self.skip();
            if self.take("]") {
                return Some(Loose::Array(all));
            }
            if self.take("…") || self.take(",") {
                continue;
            }
            if self.rest.is_empty() {
                return None;
            }
            all.push(self.value(",]", depth)?);
        }
    }

    fn object(&mut self, depth: usize) -> Option<Loose> {
        let mut all = Vec::new();
        loop {
            self.skip();
            if self.take("}") {
                return Some(Loose::Object(all));
            }
            if self.take("…") || self.take(",") || self.take(";") {
                continue;
            }
            if self.rest.is_empty() {
                return None;
            }
            all.push(self.entry(depth)?);
        }
    }

    fn entry(&mut self, depth: usize) -> Option<Entry> {
        if self.take("[R]") {
            let value = Loose::Json(PLACEHOLDER.into());
            return Some(Entry { key: None, value });
        }
        if self.rest.starts_with('"') {
            let text = self.string()?;
            self.skip();
            if !self.take(":") {
                return Some(Entry {
                    key: None,
                    value: text,
                });
            }
            return Some(Entry {
                key: Some(text.word()),
                value: self.value(",;}", depth)?,
            });
        }
        let end = self
            .rest
            .find(|c: char| ":=,;}".contains(c) || c.is_whitespace())?;
        let key = self.split(end)?.to_owned();
        self.skip();
        let has_head = HEADS.contains(&key.as_str()) && !self.rest.starts_with([',', ';', '}']);
        if self.take(":") || self.take("=") || has_head {
            let value = self.value(",;}", depth)?;
            return Some(Entry {
                key: Some(key),
                value,
            });
        }
        let end = self.rest.find([',', ';', '}'])?;
        let more = self.split(end)?.trim();
        let word = if more.is_empty() {
            key
        } else {
            format!("{key} {more}")
        };
        let value = match json::whole_value(word.as_bytes()) {
            Some(_) => Loose::Json(word),
            None => Loose::Word(word),
        };
        Some(Entry { key: None, value })
    }
}
