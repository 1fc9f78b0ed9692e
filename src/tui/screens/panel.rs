//! A text that scrolls and can be searched: the base of help and messages (tui.md 9).

use std::ops::Range;

use crate::tui::{
    canvas::{Canvas, Extent},
    ink::Ink,
    search::find_all,
    theme::{Ground, Role},
    window::moved,
};

/// State of a text on screen.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct State {
    /// First line on screen.
    pub(in crate::tui) top: usize,
    /// What is searched for.
    pub(in crate::tui) search: String,
    /// Which hit is the current one.
    pub(in crate::tui) hit: usize,
    /// Stay at the last line.
    pub(in crate::tui) at_end: bool,
}

impl State {
    /// Scrolls.
    pub(in crate::tui) fn step(&mut self, by: isize, lines: usize, height: usize) {
        let last = lines.saturating_sub(height);
        self.top = moved(self.top.min(last), by, last + 1);
        self.at_end = self.top == last;
    }

    /// Searches for another text and goes to its first hit from here on.
    pub(in crate::tui) fn find(&mut self, text: &str, lines: &[Ink], height: usize) {
        text.clone_into(&mut self.search);
        let hits = self.hits(lines);
        self.hit = hits
            .iter()
            .position(|(line, _)| *line >= self.top)
            .unwrap_or(0);
        self.show(&hits, height);
    }

    /// Goes to the next hit or the previous one; answers whether it went round.
    pub(in crate::tui) fn next(&mut self, direction: i8, lines: &[Ink], height: usize) -> bool {
        let hits = self.hits(lines);
        if hits.is_empty() {
            return false;
        }
        let next = if direction > 0 {
            self.hit + 1
        } else {
            self.hit + hits.len() - 1
        };
        let wrapped = (direction > 0 && next >= hits.len()) || (direction < 0 && next < hits.len());
        self.hit = next % hits.len();
        self.show(&hits, height);
        wrapped
    }

    fn show(&mut self, hits: &[(usize, Range<usize>)], height: usize) {
        if let Some((line, _)) = hits.get(self.hit)
            && !(self.top..self.top + height).contains(line)
        {
            self.top = line.saturating_sub(height / 3);
        }
    }

    fn hits(&self, lines: &[Ink]) -> Vec<(usize, Range<usize>)> {
        let all = lines.iter().enumerate();
        all.flat_map(|(index, line)| {
            find_all(&line.plain(), &self.search)
                .into_iter()
                .map(move |hit| (index, hit))
        })
        .collect()
    }

    /// `3/17 match`, when there is a search.
    pub(in crate::tui) fn match_words(&self, lines: &[Ink]) -> Option<String> {
        let hits = (!self.search.is_empty()).then(|| self.hits(lines).len())?;
        Some(if hits == 0 {
            "no match".to_owned()
        } else {
            format!("{}/{hits} match", self.hit.min(hits - 1) + 1)
        })
    }

    /// Draws the lines from `y` on.
    pub(in crate::tui) fn view(&self, canvas: &mut Canvas<'_>, y: u16, height: u16, lines: &[Ink]) {
        let hits = self.hits(lines);
        let top = self
            .top
            .min(lines.len().saturating_sub(usize::from(height)));
        for offset in 0..height {
            let index = top + usize::from(offset);
            let Some(line) = lines.get(index) else { break };
            let shown = mark(line, &hits, index, self.hit);
            let shown = shown.cut(usize::from(canvas.regions.width), canvas.signs.elision);
            canvas.put(0, y + offset, canvas.regions.width, &shown, Ground::Page);
        }
        let extent = Extent {
            top,
            shown: usize::from(height),
            all: lines.len(),
        };
        canvas.scrollbar(y, height, extent, &[]);
    }

    /// `1-22 of 61`, `all 13 lines` or `1 line`.
    pub(in crate::tui) fn words_of(top: usize, lines: usize, height: usize) -> Ink {
        let words = if lines == 1 {
            "1 line".to_owned()
        } else if lines <= height {
            format!("all {lines} lines")
        } else {
            let top = top.min(lines - height);
            format!("{}-{} of {lines}", top + 1, top + height)
        };
        Ink::say(Role::Muted, words)
    }
}

/// Marks the hits on one line.
pub(in crate::tui) fn mark(
    line: &Ink,
    hits: &[(usize, Range<usize>)],
    index: usize,
    current: usize,
) -> Ink {
    let own: Vec<_> = hits
        .iter()
        .enumerate()
        .filter(|(_, (at, _))| *at == index)
        .map(|(number, (_, range))| {
            (
                range.clone(),
                if number == current {
                    Ground::MatchNow
                } else {
                    Ground::Match
                },
            )
        })
        .collect();
    grounds(line, &own)
}

/// Puts grounds under byte ranges of a line.
pub(in crate::tui) fn grounds(line: &Ink, ranges: &[(Range<usize>, Ground)]) -> Ink {
    if ranges.is_empty() {
        return line.clone();
    }
    let mut out = Ink::default();
    let mut base = 0;
    for span in line.spans() {
        let length = span.text.plain().len();
        let mut at = 0;
        for (range, ground) in ranges {
            let start = range.start.saturating_sub(base).clamp(at, length);
            let end = range.end.saturating_sub(base).clamp(start, length);
            out = out.and_on(span.role, span.ground, span.text.between(at..start));
            out = out.and_on(span.role, *ground, span.text.between(start..end));
            at = end;
        }
        out = out.and_on(span.role, span.ground, span.text.between(at..length));
        base += length;
    }
    out
}
