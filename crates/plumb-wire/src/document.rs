//! Documents that people write in TOML: read with the place of what is wrong, and with what was
//! probably meant.

mod reader;
mod words;

use std::ops::Range;

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::de::DeTable;

use reader::Reader;
use words::as_written;

/// Characters of a line that an excerpt shows at most.
const SHOWN: usize = 100;
/// Names that are not more alike than this were not meant: the bound of the command line.
const ALIKE: f64 = 0.7;
/// Keys as they are called in files of another program, k6, and here.
const CALLED_ELSEWHERE: [(&str, &str); 2] = [("duration", "over"), ("target", "users")];

/// What is wrong in a document, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {problem}\n{excerpt}")]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In words, with what to write instead.
    pub problem: String,
    /// The line with a mark below the place.
    pub excerpt: String,
}

impl Wrong {
    /// `problem` at the bytes `at` of `text`.
    #[must_use]
    pub fn at(text: &str, at: &Range<usize>, problem: impl Into<String>) -> Self {
        let place = Position::of(text, at);
        Self {
            line: place.line,
            column: place.column,
            problem: problem.into(),
            excerpt: place.excerpt(),
        }
    }
}

/// Reads a document. For places of values that are judged later its type holds
/// [`toml::Spanned`]; it refuses unknown keys itself (`deny_unknown_fields`).
///
/// # Errors
/// [`Wrong`] where it is no TOML, or not what `T` expects. A key that is not known comes with the
/// one that was probably meant.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let wrong = |at: Option<Range<usize>>, message: &str| {
        Wrong::at(text, &at.unwrap_or_default(), explained(message))
    };
    let document = DeTable::parse(text).map_err(|error| wrong(error.span(), error.message()))?;
    T::deserialize(Reader::of_document(document)).map_err(|misfit| {
        let written = misfit.at.clone().and_then(|at| text.get(at)).unwrap_or_default();
        wrong(misfit.at, &as_written(&misfit.message, written))
    })
}

/// The known name that is most like `wrong`, if any is, whatever their case.
#[must_use]
pub fn nearest<N: AsRef<str>>(wrong: &str, known: impl IntoIterator<Item = N>) -> Option<N> {
    let wrong = wrong.to_lowercase();
    let alike = |name: &str| likeness(&wrong, &name.to_lowercase());
    let rated = known.into_iter().map(|name| (alike(name.as_ref()), name));
    let best = rated.filter(|(alike, _)| *alike > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, name)| name)
}

/// How alike two names are, from 0 to 1.
///
/// # Source
/// Matthew A. Jaro: Advances in Record-Linkage Methodology (1989).
#[must_use]
pub fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro(one, other)
}

/// A message of serde with the name that was probably meant before all that are possible.
fn explained(message: &str) -> String {
    let mut words = message.split('`').skip(1).step_by(2);
    match words.next() {
        Some(wrong) if message.starts_with("unknown ") => {
            let known: Vec<&str> = words.collect();
            let elsewhere = CALLED_ELSEWHERE.iter().find(|(theirs, _)| *theirs == wrong);
            let ours = elsewhere.map(|(_, ours)| *ours).filter(|ours| known.contains(ours));
            let meant = ours.or_else(|| nearest(wrong, known));
            let meant = meant.map(|name| format!("; did you mean `{name}`?"));
            format!("{message}{}", meant.unwrap_or_default())
        }
        _ => message.to_owned(),
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub struct Position<'a> {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In characters, at least 1.
    width: usize,
    /// The whole line.
    shown: &'a str,
}

impl<'a> Position<'a> {
    /// The place of the bytes `at` of `text`; what lies behind its end counts as its end.
    #[must_use]
    pub fn of(text: &'a str, at: &Range<usize>) -> Self {
        let start = boundary(text, at.start);
        let (before, behind) = text.split_at(start);
        let from = before.rfind('\n').map_or(0, |newline| newline + 1);
        let to = behind.find('\n').map_or(text.len(), |newline| start + newline);
        let end = boundary(text, at.end).clamp(start, to);
        Self {
            line: before.matches('\n').count() + 1,
            column: text[from..start].chars().count() + 1,
            width: text[start..end].chars().count().max(1),
            shown: &text[from..to],
        }
    }

    /// The line with a mark below the place, cut to what a person can look at.
    #[must_use]
    pub fn excerpt(&self) -> String {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let skipped = (self.column - 1).saturating_sub(SHOWN / 2);
        // what moves the cursor would move the mark
        let visible = |char: char| if char.is_control() { ' ' } else { char };
        let shown: String = self.shown.chars().skip(skipped).take(SHOWN).map(visible).collect();
        let indent = " ".repeat(self.column - 1 - skipped);
        let mark = "^".repeat(self.width.min(SHOWN / 2));
        let shown = shown.trim_end();
        format!("{margin} |\n{number} | {shown}\n{margin} | {indent}{mark}")
    }
}

/// The last beginning of a character at or before the byte `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut candidates = (0..=at.min(text.len())).rev();
    candidates.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Load {
        users: u32,
        think: Option<String>,
    }

    #[test]
    fn a_wrong_key_is_found_and_the_right_one_named() {
        let wrong = read::<Load>("users = 1\nthnik = \"1s\"\n").unwrap_err();
        assert_eq!((wrong.line, wrong.column), (2, 1));
        assert!(wrong.problem.ends_with("did you mean `think`?"), "{wrong}");
        assert!(wrong.excerpt.ends_with("2 | thnik = \"1s\"\n  | ^^^^^"), "{wrong}");
        let k6 = read::<Load>("target = 10\n").unwrap_err();
        assert!(k6.problem.ends_with("did you mean `users`?"), "{k6}");
        let far = read::<Load>("users = 1\nzzz = 1\n").unwrap_err();
        assert!(!far.problem.contains("did you mean"), "{far}");
    }

    #[test]
    fn names_are_compared_without_case() {
        assert_eq!(nearest("Async", ["async", "sync"]), Some("async"));
        assert_eq!(nearest("accept", ["Host", "Accept"]), Some("Accept"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = read::<Load>(&text);
        }

        #[test]
        fn any_place_can_be_shown(text in "(\\PC|\n){0,60}", from in 0usize..99, long in 0usize..99) {
            let place = Position::of(&text, &(from..from + long));
            prop_assert!(place.line >= 1 && place.column >= 1);
            prop_assert!(!place.excerpt().is_empty());
        }
    }
}
