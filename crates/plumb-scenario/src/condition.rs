//! Conditions: whether a step is done.

use plumb_wire::expression::Comparison;

use crate::placeholder::{Piece, pieces};
use crate::template::{Missing, Template, TemplateError};
use crate::variables::{Names, Slot, Variables};

/// A condition: a template that must have become `true`, or a comparison of two.
///
/// `==` and `!=` compare texts, `<`, `<=`, `>` and `>=` numbers. A side may stand in single
/// quotes: `'a == b'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    left: Template,
    comparison: Option<(Comparison, Template)>,
}

/// What is wrong in a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// One of its sides.
    #[error("{cause}")]
    Template {
        /// What is wrong there; the byte counts from the beginning of the side.
        cause: TemplateError,
    },
    /// Nothing on one side.
    #[error("nothing stands beside the comparison; an empty text is written ''")]
    Empty,
    /// More than two sides.
    #[error("a condition has one comparison; put texts that hold one into single quotes")]
    Several,
    /// A quote that is not closed, or closed too early.
    #[error("a text in single quotes begins and ends with one, and has none within")]
    Quote,
}

/// Why a condition is neither true nor false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// A variable has no text.
    Missing(Missing),
    /// A side that should be a number.
    NoNumber(String),
}

impl Undecided {
    /// The reason in words.
    #[must_use]
    pub fn words(&self, names: &Names) -> String {
        match self {
            Self::Missing(missing) => missing.words(names),
            Self::NoNumber(text) => format!("`{text}` is no number"),
        }
    }
}

impl Condition {
    /// Reads a condition; names that `names` does not know become known.
    ///
    /// # Errors
    /// [`ConditionError`] in words.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, ConditionError> {
        let Some((at, word, operator)) = operator_in(text)? else {
            return Ok(Self { left: side(text, names)?, comparison: None });
        };
        let (left, right) = (&text[..at], &text[at + word.len()..]);
        if operator_in(right)?.is_some() {
            return Err(ConditionError::Several);
        }
        Ok(Self { left: side(left, names)?, comparison: Some((operator, side(right, names)?)) })
    }

    /// The variables it needs.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let right = self.comparison.iter().flat_map(|(_, right)| right.slots());
        self.left.slots().chain(right)
    }

    /// True when the step is to be done.
    ///
    /// # Errors
    /// [`Undecided`] when a variable has no text, or a side is no number and should be one.
    pub fn holds(&self, variables: &Variables) -> Result<bool, Undecided> {
        let left = text_of(&self.left, variables)?;
        let Some((operator, right)) = &self.comparison else { return Ok(left == "true") };
        let right = text_of(right, variables)?;
        Ok(match operator {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less => number(&left)? < number(&right)?,
            Comparison::LessOrEqual => number(&left)? <= number(&right)?,
            Comparison::Greater => number(&left)? > number(&right)?,
            Comparison::GreaterOrEqual => number(&left)? >= number(&right)?,
        })
    }
}

/// The first comparison outside of quotes and braces: its byte, as written, and what it is.
fn operator_in(text: &str) -> Result<Option<(usize, &'static str, Comparison)>, ConditionError> {
    let (mut quoted, mut at) = (false, 0);
    for piece in pieces(text) {
        let Piece::Text(piece) = piece else {
            at += piece.bytes();
            continue;
        };
        for (within, char) in piece.char_indices() {
            if char == '\'' {
                quoted = !quoted;
            }
            let rest = &text[at + within..];
            let mut words = Comparison::WORDS.iter();
            match words.find(|(word, _)| !quoted && rest.starts_with(word)) {
                Some((word, operator)) => return Ok(Some((at + within, word, *operator))),
                None => continue,
            }
        }
        at += piece.len();
    }
    if quoted { Err(ConditionError::Quote) } else { Ok(None) }
}

fn side(text: &str, names: &mut Names) -> Result<Template, ConditionError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ConditionError::Empty);
    }
    let inner = match text.strip_prefix('\'') {
        Some(rest) => rest.strip_suffix('\'').ok_or(ConditionError::Quote)?,
        None => text,
    };
    let quotes = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if text.contains('\''));
    if pieces(inner).iter().any(quotes) {
        return Err(ConditionError::Quote);
    }
    Template::parse(inner, names).map_err(|cause| ConditionError::Template { cause })
}

fn text_of(template: &Template, variables: &Variables) -> Result<String, Undecided> {
    let mut bytes = Vec::new();
    template.write(variables, &mut bytes).map_err(Undecided::Missing)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn number(text: &str) -> Result<f64, Undecided> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| Undecided::NoNumber(text.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plumb_measure::LoadPart;
    use proptest::prelude::*;

    use super::*;
    use crate::generator::Generator;
    use crate::variables::Value;

    fn judged(text: &str) -> Result<bool, String> {
        let mut names = Names::with_values(LoadPart::default());
        let mut variables = Variables::with(Arc::default(), Generator::default());
        for (name, value) in [("a", "x"), ("n", "10"), ("yes", "true"), ("empty", "")] {
            variables.set(names.slot(name).unwrap(), Value::text(value));
        }
        variables.set(names.slot("list").unwrap(), Value::list(["1", "2"]));
        let condition = Condition::parse(text, &mut names).map_err(|error| error.to_string())?;
        condition.holds(&variables).map_err(|undecided| undecided.words(&names))
    }

    #[test]
    fn conditions_are_judged() {
        for (text, expected) in [
            ("${yes}", true),
            ("${a}", false),
            ("true", true),
            ("${a} == 'x'", true),
            ("${a}==x", true),
            ("${a} != 'x'", false),
            ("${empty} == ''", true),
            ("'${a} == x' == 'x == x'", true),
            ("${n} == 10.0", false),
            ("${n} < 9", false),
            ("${n} > 9", true),
            ("${n} >= 10 ", true),
            ("${n} <= 9.5", false),
            ("${list:count} > 1", true),
            ("${sum('1', 2)} == 3", true),
            ("${base64('a > b')} != '${lower(\"it's\")}'", true),
        ] {
            assert_eq!(judged(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_decided_is_said() {
        assert_eq!(judged("${a} > 1").unwrap_err(), "`x` is no number");
        assert_eq!(judged("${n} > nan").unwrap_err(), "`nan` is no number");
        assert_eq!(judged("${b}").unwrap_err(), "${b} has no value");
        assert!(judged("${list} == 1").unwrap_err().contains("is a list"));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for (text, part) in [
            ("", "nothing stands"),
            ("${a} ==", "nothing stands"),
            ("== 1", "nothing stands"),
            ("1 < 2 < 3", "one comparison"),
            ("${a} == 'x", "single quotes"),
            ("${a} == 'x'y", "single quotes"),
            ("${a", "without `}`"),
        ] {
            let problem = judged(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn the_variables_of_both_sides_are_needed() {
        let mut names = Names::default();
        let condition = Condition::parse("${a} == ${b}", &mut names).unwrap();
        assert_eq!(condition.slots().map(|slot| names.name(slot)).collect::<Vec<_>>(), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\\$\\{|\\}|'|==|<|a){0,20}") {
            let _ = judged(&text);
        }
    }
}
