//! Words between quotation marks, as shells and files write them: one mark within another, with
//! backslashes before it.

use std::ops::Range;

/// A quotation mark with the backslashes before it: a file may have to write `"` as `\"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    backslashes: usize,
    sign: char,
}

impl Mark {
    /// The mark that `text` begins with.
    fn at_start(text: &str) -> Option<Self> {
        let behind = text.trim_start_matches('\\');
        let sign = behind.chars().next().filter(|c| is_quote(*c))?;
        Some(Self { backslashes: text.len() - behind.len(), sign })
    }

    /// Bytes of it.
    fn len(self) -> usize {
        self.backslashes + self.sign.len_utf8()
    }

    /// True when `other` ends what this one began. Each text around a mark doubles its backslashes and
    /// adds one; between plain apostrophes a backslash is one of the text.
    fn is_closed_by(self, other: Self) -> bool {
        let plain = self.sign == '\'' && self.backslashes == 0;
        let at_same_depth = other.backslashes % (2 * (self.backslashes + 1)) == self.backslashes;
        self.sign == other.sign && (plain || at_same_depth)
    }

    /// Where what this one began ends in `text` from `from` on, and where the text behind it begins.
    fn closing(self, text: &str, mut from: usize) -> Option<Range<usize>> {
        while let Some((at, found)) = next_mark(text, from) {
            from = at + found.len();
            if self.is_closed_by(found) {
                return Some(from - self.len()..from);
            }
        }
        None
    }
}

/// The marks that are open at a place of a text. A line begins without any.
#[derive(Clone, Debug)]
pub(super) struct Quoted<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Mark>,
}

impl<'a> Quoted<'a> {
    pub(super) fn start_of(text: &'a str) -> Self {
        Self { text, at: 0, open: Vec::new() }
    }

    /// This place.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes on to the byte `to`.
    pub(super) fn go_to(&mut self, to: usize) {
        while self.at < to {
            let line = self.text[self.at..to].find('\n').map_or(to, |length| self.at + length);
            match next_mark(&self.text[..line], self.at) {
                Some((at, mark)) => {
                    self.at = at + mark.len();
                    match self.open.iter().rposition(|open| open.is_closed_by(mark)) {
                        Some(depth) => self.open.truncate(depth),
                        None => self.open.push(mark),
                    }
                }
                None if line < to => {
                    self.at = line + 1;
                    self.open.clear();
                }
                None => self.at = to,
            }
        }
    }

    /// Goes on to the byte `to` as if nothing stood before it.
    pub(super) fn skip_to(&mut self, to: usize) {
        self.at = self.at.max(to);
    }

    /// The mark directly before this place, which is open.
    pub(super) fn just_opened(&self) -> Option<Mark> {
        let mark = *self.open.last()?;
        self.text[..self.at].ends_with(mark.sign).then_some(mark)
    }

    /// The byte behind the mark here when it closes `mark`.
    pub(super) fn behind_closing(&self, mark: Mark) -> Option<usize> {
        let here = Mark::at_start(&self.text[self.at..])?;
        mark.is_closed_by(here).then(|| self.at + here.len())
    }

    /// A mark stands at `at`.
    pub(super) fn is_mark(&self, at: usize) -> bool {
        Mark::at_start(&self.text[at..]).is_some()
    }

    /// From `from` to what closes `mark`, or to the end.
    pub(super) fn inside(&self, mark: Mark, from: usize) -> Vec<Range<usize>> {
        let closing = mark.closing(self.text, from);
        let whole = from..closing.map_or(self.text.len(), |closing| closing.start);
        vec![whole]
    }

    /// The word that begins at `from`: what stands outside of its own marks and between them, piece by
    /// piece. It goes on over blanks between marks and behind a backslash, and ends before what closes a
    /// mark that is open here.
    pub(super) fn word(&self, from: usize) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let first = Mark::at_start(&self.text[from..]);
        let Some(first) = first.filter(|mark| self.closed_by(*mark).is_none()) else {
            self.go_on(from, &mut pieces);
            return pieces;
        };
        let start = from + first.len();
        let Some(closing) = first.closing(self.text, start) else {
            let cut = start..self.text.len();
            return vec![cut];
        };
        pieces.push(start..closing.start);
        let ends = |c: char| matches!(c, ';' | ')' | ',' | ']'); // a shell's, or those of a list
        if !self.text[closing.end..].starts_with(ends) {
            self.go_on(closing.end, &mut pieces);
        }
        pieces
    }

    /// The pieces of a word from `at` on, a place outside of its own marks.
    fn go_on(&self, mut at: usize, pieces: &mut Vec<Range<usize>>) {
        let line = self.text[at..].find('\n').map_or(self.text.len(), |length| at + length);
        let mut start = at;
        while let Some(c) = self.text[at..line].chars().next() {
            let rest = &self.text[at..line];
            if c.is_whitespace() || rest.starts_with("\"\"\"") || rest.starts_with("'''") {
                break;
            }
            let Some(mark) = Mark::at_start(rest) else {
                let behind = rest.trim_start_matches('\\');
                let next = behind.chars().next().map_or(0, char::len_utf8);
                at += rest.len() - behind.len() + next;
                continue;
            };
            if let Some(open) = self.closed_by(mark) {
                at += mark.len() - open.len();
                break;
            }
            let inside = at + mark.len();
            match mark.closing(&self.text[..line], inside) {
                Some(closing) => {
                    pieces.extend([start..at, inside..closing.start]);
                    (at, start) = (closing.end, closing.end);
                }
                None => at = inside,
            }
        }
        pieces.push(start..at);
    }

    /// The innermost open mark that `mark` closes.
    fn closed_by(&self, mark: Mark) -> Option<Mark> {
        self.open.iter().rev().copied().find(|open| open.is_closed_by(mark))
    }
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// The first mark of `text` from the byte `from` on.
fn next_mark(text: &str, from: usize) -> Option<(usize, Mark)> {
    let sign = text[from..].find(is_quote).map(|length| from + length)?;
    let start = text[from..sign].trim_end_matches('\\').len() + from;
    Mark::at_start(&text[start..]).map(|mark| (start, mark))
}
