//! The filter language: what a filter asks, and its answers for rows and sessions (tui.md 10, 1.1).

use bytes::Bytes;

use super::{
    filter_match::{self, Folded},
    filter_parse,
    row::Body,
    session::Session,
};

/// What a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterScope {
    /// Rows of the sessions screen.
    Sessions,
    /// Rows of a stream.
    Rows,
}

/// Why a filter cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (col {column})")]
pub struct FilterError {
    /// What is wrong.
    pub message: String,
    /// Column of the first character that is, from 1.
    pub column: usize,
}

/// A key of the language, with its alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Method,
    Tool,
    Id,
    Kind,
    Dir,
    Status,
    Has,
    Session,
    Host,
    Client,
    State,
}

/// One value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: Folded,
    /// Written `=word`: equals instead of contains.
    pub(super) exact: bool,
    /// Written in quotes: `*` and `?` stand for themselves.
    pub(super) quoted: bool,
}

/// What a term asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Text(Folded),
    Field(Field, Vec<Value>),
}

/// One word of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) negated: bool,
    pub(super) test: Test,
}

/// A filter that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub(super) terms: Vec<Term>,
    pub(super) words: Vec<String>,
    pub(super) hint: Option<&'static str>,
}

impl Filter {
    /// Reads a filter. A `key:` alone at the end is left out, so that typing on is no error.
    ///
    /// # Errors
    /// Unterminated quote, unknown value of an enumerated key, bad number.
    pub fn parse(text: &str, scope: FilterScope) -> Result<Self, FilterError> {
        filter_parse::parse(text, scope)
    }

    /// True when it asks nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// A word that looks like a mistyped key: `did you mean status:`.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    /// The plain words, for highlighting.
    pub fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// Tests a session.
    pub fn matches_session(&self, session: &Session) -> bool {
        self.terms
            .iter()
            .all(|term| filter_match::session(&term.test, session) != term.negated)
    }

    /// Tests the row at a position; `None` when its body lies on disk only and decides.
    pub fn matches_row(&self, session: &Session, position: usize) -> Option<bool> {
        let Some(row) = session.row(position) else {
            return Some(false);
        };
        let mut known = Some(true);
        for term in &self.terms {
            match filter_match::row(&term.test, session, &row) {
                Some(found) if found == term.negated => return Some(false),
                Some(_) => {}
                None => known = None,
            }
        }
        known
    }
}

impl Filter {
    /// Tests the text terms alone, with the body of the row at hand (`json`, else text). It decides
    /// for a row to which `matches_row` answers `None`.
    pub fn matches_text(
        &self,
        session: &Session,
        position: usize,
        body: Bytes,
        json: bool,
    ) -> bool {
        let Some(mut row) = session.row(position) else {
            return false;
        };
        row.body = Body::Held { bytes: body, json };
        let mut texts = self
            .terms
            .iter()
            .filter(|term| matches!(term.test, Test::Text(_)));
        texts.all(|term| filter_match::row(&term.test, session, &row) == Some(!term.negated))
    }
}
