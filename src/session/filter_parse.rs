//! Reading a filter: words joined by and, quotes, `!`, and the keys of step A (tui.md 10, 1.1).

use super::{
    filter::{Field, Filter, FilterError, FilterScope, Term, Test, Value},
    filter_match::{self, Folded},
};

/// What can stand before the colon, its meaning, and the hint when it is mistyped.
type KeyRow = (&'static str, Field, &'static str);

const ROW_KEYS: [KeyRow; 12] = [
    ("method", Field::Method, "did you mean method:"),
    ("m", Field::Method, ""),
    ("tool", Field::Tool, "did you mean tool:"),
    ("t", Field::Tool, ""),
    ("id", Field::Id, "did you mean id:"),
    ("kind", Field::Kind, "did you mean kind:"),
    ("k", Field::Kind, ""),
    ("dir", Field::Dir, "did you mean dir:"),
    ("d", Field::Dir, ""),
    ("status", Field::Status, "did you mean status:"),
    ("s", Field::Status, ""),
    ("has", Field::Has, "did you mean has:"),
];

const SESSION_KEYS: [KeyRow; 9] = [
    ("session", Field::Session, "did you mean session:"),
    ("host", Field::Host, "did you mean host:"),
    ("client", Field::Client, "did you mean client:"),
    ("kind", Field::Kind, "did you mean kind:"),
    ("k", Field::Kind, ""),
    ("state", Field::State, "did you mean state:"),
    ("status", Field::Status, "did you mean status:"),
    ("s", Field::Status, ""),
    ("has", Field::Has, "did you mean has:"),
];

/// Reads a filter.
///
/// # Errors
/// As `Filter::parse`.
pub(super) fn parse(text: &str, scope: FilterScope) -> Result<Filter, FilterError> {
    let mut parser = Parser {
        chars: text.chars().collect(),
        at: 0,
        scope,
        filter: Filter::default(),
    };
    parser.run()?;
    Ok(parser.filter)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    scope: FilterScope,
    filter: Filter,
}

impl Parser {
    fn run(&mut self) -> Result<(), FilterError> {
        loop {
            while self.peek().is_some_and(char::is_whitespace) {
                self.at += 1;
            }
            if self.peek().is_none() {
                return Ok(());
            }
            self.term()?;
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn term(&mut self) -> Result<(), FilterError> {
        let negated = self.negation();
        if let Some(field) = self.key() {
            return self.field(negated, field);
        }
        let start = self.at;
        let text = match self.quoted(false)? {
            Some(text) => text,
            None => self.word(false),
        };
        if text.is_empty() {
            // A lone `!`: nothing is asked yet.
            return Ok(());
        }
        self.look_for_hint(start);
        if !negated {
            self.filter.words.push(text.clone());
        }
        let test = Test::Text(Folded::new(&text));
        self.filter.terms.push(Term { negated, test });
        Ok(())
    }

    /// `!` always negates; `-` only before a key or a quote, so that `-32601` is text.
    fn negation(&mut self) -> bool {
        match self.peek() {
            Some('!') => {
                self.at += 1;
                true
            }
            Some('-') => {
                self.at += 1;
                let quote = self.peek() == Some('"') && self.closing_quote(false).is_some();
                let before_key = self.key_ahead().is_some();
                if !(quote || before_key) {
                    self.at -= 1;
                }
                quote || before_key
            }
            _ => false,
        }
    }

    fn keys(&self) -> &'static [KeyRow] {
        match self.scope {
            FilterScope::Rows => &ROW_KEYS,
            FilterScope::Sessions => &SESSION_KEYS,
        }
    }

    /// The word up to the first colon of this term.
    fn before_colon(&self, start: usize) -> Option<String> {
        let rest = self.chars.get(start..)?;
        let end = rest
            .iter()
            .position(|symbol| *symbol == ':' || symbol.is_whitespace())?;
        (rest.get(end) == Some(&':')).then(|| {
            let name: String = rest.iter().take(end).collect();
            name.to_lowercase()
        })
    }

    fn key_ahead(&self) -> Option<(Field, usize)> {
        let name = self.before_colon(self.at)?;
        let row = self.keys().iter().find(|(key, ..)| *key == name)?;
        Some((row.1, name.chars().count() + 1))
    }

    fn key(&mut self) -> Option<Field> {
        let (field, length) = self.key_ahead()?;
        self.at += length;
        Some(field)
    }

    fn field(&mut self, negated: bool, field: Field) -> Result<(), FilterError> {
        let mut values = Vec::new();
        loop {
            let start = self.at;
            let value = self.value()?;
            let at_end = self.peek().is_none();
            if value.text.is_empty() && !value.quoted {
                if values.is_empty() && at_end && !value.exact {
                    return Ok(());
                }
                // A comma at the very end is somebody still typing.
                if !at_end || values.is_empty() {
                    return Err(error("empty alternative", start));
                }
            } else {
                filter_match::check_value(field, &value, self.scope)
                    .map_err(|message| error(&message, start))?;
                values.push(value);
            }
            if self.peek() != Some(',') {
                break;
            }
            self.at += 1;
        }
        let test = Test::Field(field, values);
        self.filter.terms.push(Term { negated, test });
        Ok(())
    }

    fn value(&mut self) -> Result<Value, FilterError> {
        let exact = self.peek() == Some('=');
        if exact {
            self.at += 1;
        }
        let (text, quoted) = match self.quoted(true)? {
            Some(text) => (text, true),
            None => (self.word(true), false),
        };
        Ok(Value {
            text: Folded::new(&text),
            exact,
            quoted,
        })
    }

    /// Position of the quote that closes the one at the present place: one that is followed by a
    /// blank, a comma in values, or the end.
    fn closing_quote(&self, in_value: bool) -> Option<usize> {
        let mut escaped = false;
        for (at, symbol) in self.chars.iter().enumerate().skip(self.at + 1) {
            match symbol {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let next = self.chars.get(at + 1);
                    let ends =
                        next.is_none_or(|next| next.is_whitespace() || (in_value && *next == ','));
                    // The first closing quote decides: pasted JSON is plain text.
                    return ends.then_some(at);
                }
                _ => {}
            }
        }
        None
    }

    fn quoted(&mut self, in_value: bool) -> Result<Option<String>, FilterError> {
        if self.peek() != Some('"') {
            return Ok(None);
        }
        let Some(end) = self.closing_quote(in_value) else {
            let rest = self.chars.iter().skip(self.at + 1);
            if rest.clone().any(|symbol| *symbol == '"') {
                return Ok(None);
            }
            return Err(error("unterminated quote", self.at));
        };
        let mut text = String::new();
        let mut escaped = false;
        for symbol in self.chars.iter().take(end).skip(self.at + 1) {
            match symbol {
                '\\' if !escaped => escaped = true,
                '"' | '\\' => {
                    text.push(*symbol);
                    escaped = false;
                }
                other => {
                    if std::mem::take(&mut escaped) {
                        text.push('\\');
                    }
                    text.push(*other);
                }
            }
        }
        self.at = end + 1;
        Ok(Some(text))
    }

    fn word(&mut self, in_value: bool) -> String {
        let start = self.at;
        while let Some(symbol) = self.peek()
            && !symbol.is_whitespace()
            && !(in_value && symbol == ',')
        {
            self.at += 1;
        }
        self.chars.iter().take(self.at).skip(start).collect()
    }

    fn look_for_hint(&mut self, start: usize) {
        let Some(name) = self.before_colon(start) else {
            return;
        };
        let nearest = self
            .keys()
            .iter()
            .filter(|(_, _, hint)| !hint.is_empty())
            .map(|(key, _, hint)| (distance(&name, key), *hint))
            // At least half of the word is right: `foo:bar` is no mistyped `tool:`.
            .filter(|(distance, _)| *distance <= 2 && distance * 2 <= name.chars().count())
            .min();
        if let Some((_, hint)) = nearest {
            self.filter.hint = Some(hint);
        }
    }
}

fn error(message: &str, at: usize) -> FilterError {
    FilterError {
        message: message.to_owned(),
        column: at + 1,
    }
}

/// Edits between two short words: insert, remove, replace, swap of neighbours.
pub(super) fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let width = other.len() + 1;
    let mut table = vec![vec![0_usize; width]; one.len() + 1];
    let cell = |table: &[Vec<usize>], row: usize, column: usize| -> usize {
        let row = table.get(row);
        row.and_then(|row| row.get(column))
            .copied()
            .unwrap_or(usize::MAX - 1)
    };
    for row in 0..=one.len() {
        for column in 0..width {
            let value = if row == 0 || column == 0 {
                row + column
            } else {
                let (mine, theirs) = (one.get(row - 1), other.get(column - 1));
                let replaced = cell(&table, row - 1, column - 1) + usize::from(mine != theirs);
                let removed = cell(&table, row - 1, column) + 1;
                let inserted = cell(&table, row, column - 1) + 1;
                let mut best = replaced.min(removed).min(inserted);
                if row > 1
                    && column > 1
                    && mine == other.get(column - 2)
                    && one.get(row - 2) == theirs
                {
                    best = best.min(cell(&table, row - 2, column - 2) + 1);
                }
                best
            };
            if let Some(slot) = table.get_mut(row).and_then(|row| row.get_mut(column)) {
                *slot = value;
            }
        }
    }
    cell(&table, one.len(), other.len())
}
