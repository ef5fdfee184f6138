//! Conditions: whether a step is done.

use plumb_wire::expression::Comparison;

use crate::placeholder::{Piece, pieces};
use crate::template::{Missing, Template, TemplateError};
use crate::variables::{Names, Slot, Variables};

/// A condition: a variable that must have become `true`, or a comparison of two templates.
///
/// `==` and `!=` compare texts, `<`, `<=`, `>` and `>=` numbers. A side may stand in single
/// quotes: `'a == b'`. What is written as another language writes it, and would never hold, is
/// refused.
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
    #[error(
        "a condition has one comparison, and nothing that joins several; put texts that hold one \
         into single quotes"
    )]
    Several,
    /// No comparison, and nothing that becomes `true`.
    #[error(
        "`{text}` never becomes `true`: write a comparison with ==, !=, <, <=, > or >=, or one \
         variable alone"
    )]
    NeverTrue {
        /// What is written.
        text: String,
    },
    /// A sign beside that of the comparison.
    #[error(
        "`{sign}` is no comparison: write ==, !=, <, <=, > or >=, and a text that begins with a \
         sign in single quotes"
    )]
    Sign {
        /// What is written.
        sign: String,
    },
    /// A side in double quotes, which would be part of the text.
    #[error(
        "`{text}` is a text with its double quotes: put texts into single ones, '{inner}', or \
         '{text}' where the others belong to it"
    )]
    DoubleQuotes {
        /// What is written.
        text: String,
        /// The same without its quotes.
        inner: String,
    },
    /// Where a number is compared, a text that is none.
    #[error("`{text}` is no number; == and != compare texts")]
    NoNumber {
        /// The text.
        text: String,
    },
    /// A side that another language would compute.
    #[error(
        "`{text}` is not computed: a sum is written ${{sum(NUMBER, NUMBER)}}, a text that looks like \
         one in single quotes"
    )]
    Arithmetic {
        /// What is written.
        text: String,
    },
    /// The name of a variable as a text that is compared with a text.
    #[error("`{name}` is a text, always the same: the variable is written ${{{name}}}")]
    NoVariable {
        /// The name.
        name: String,
    },
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
            let never = || ConditionError::NeverTrue { text: text.trim().into() };
            return match side(text, names) {
                Ok(left) if can_become_true(text, &left) => Ok(Self { left, comparison: None }),
                // a text in quotes beside something else
                Ok(_) | Err(ConditionError::Quote) => Err(never()),
                Err(error) => Err(error),
            };
        };
        let (left, right) = (&text[..at], &text[at + word.len()..]);
        if operator_in(right)?.is_some() || joins(left) || joins(right) {
            return Err(ConditionError::Several);
        }
        check_sign(left, word, right)?;
        let sides = [(left, side(left, names)?), (right, side(right, names)?)];
        check_sides(&sides, operator, names)?;
        let [(_, left), (_, right)] = sides;
        Ok(Self { left, comparison: Some((operator, right)) })
    }

    /// The variables it needs.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let right = self.comparison.iter().flat_map(|(_, right)| right.slots());
        self.left.slots().chain(right)
    }

    /// True when nothing but variables decides it: as long as they stay it stays, and nothing is drawn
    /// or counted by asking.
    pub fn is_of_variables(&self) -> bool {
        let right = self.comparison.as_ref().map(|(_, right)| right);
        ![Some(&self.left), right].into_iter().flatten().any(Template::has_values)
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

/// True when what stands without a comparison may become `true`: variables and calls, or the word.
fn can_become_true(text: &str, template: &Template) -> bool {
    if let Some(constant) = template.constant() {
        return ["true", "false"].contains(&constant);
    }
    // a number of values is never `true`
    let may = |piece: &Piece<'_>| matches!(piece, Piece::Placeholder(inner) if !inner.ends_with(":count"));
    pieces(unquoted(text.trim()).unwrap_or_default()).iter().all(may)
}

/// True when conditions are joined there, as other languages do.
fn joins(text: &str) -> bool {
    let joined = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if text.contains(" && ") || text.contains(" || "));
    !is_quoted(text.trim()) && pieces(text).iter().any(joined)
}

/// A sign that touches that of the comparison makes another one of it, as `===` and `=>`.
fn check_sign(left: &str, word: &str, right: &str) -> Result<(), ConditionError> {
    let before = left.chars().next_back().filter(|it| ['=', '!'].contains(it));
    let behind = right.chars().next().filter(|it| ['=', '!', '~'].contains(it));
    if before.is_none() && behind.is_none() {
        return Ok(());
    }
    let signs = before.into_iter().chain(word.chars()).chain(behind);
    Err(ConditionError::Sign { sign: signs.collect() })
}

/// Refuses sides that can only be meant as something else.
fn check_sides(
    sides: &[(&str, Template); 2],
    operator: Comparison,
    names: &Names,
) -> Result<(), ConditionError> {
    let of_texts = matches!(operator, Comparison::Equal | Comparison::Unequal);
    let both_fixed = sides.iter().all(|(_, template)| template.constant().is_some());
    let in_double = |text: &&str| text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    // on both sides they are part of both texts; of a number they are never
    let both_double = of_texts && sides.iter().all(|(text, _)| in_double(&text.trim()));
    for (text, template) in sides {
        let text = text.trim();
        if in_double(&text) && !both_double {
            let inner = &text[1..text.len() - 1];
            return Err(ConditionError::DoubleQuotes { text: text.into(), inner: inner.into() });
        }
        if is_arithmetic(text) {
            return Err(ConditionError::Arithmetic { text: text.into() });
        }
        let Some(constant) = template.constant() else { continue };
        if both_fixed && !is_quoted(text) && names.all().any(|name| name == constant) {
            return Err(ConditionError::NoVariable { name: constant.into() });
        }
        if !of_texts && number(constant).is_err() {
            return Err(ConditionError::NoNumber { text: constant.into() });
        }
    }
    Ok(())
}

/// True of variables and numbers with signs of arithmetic between them.
fn is_arithmetic(text: &str) -> bool {
    let pieces = pieces(text);
    let has_values = pieces.iter().any(|piece| matches!(piece, Piece::Placeholder(_)));
    let written = pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Placeholder(_) => "0",
    });
    let written: String = written.collect();
    let words: Vec<&str> = written.split_whitespace().collect();
    let is_sign = |word: &&str| ["+", "-", "*", "/", "%"].contains(word);
    has_values
        && words.len() > 2
        && words.iter().skip(1).step_by(2).all(is_sign)
        && words.len() % 2 == 1
        && words.iter().step_by(2).all(|word| number(word).is_ok())
}

fn is_quoted(text: &str) -> bool {
    text.starts_with('\'')
}

/// What stands within the single quotes around `text`, if some do.
fn unquoted(text: &str) -> Result<&str, ConditionError> {
    match text.strip_prefix('\'') {
        Some(rest) => rest.strip_suffix('\'').ok_or(ConditionError::Quote),
        None => Ok(text),
    }
}

fn side(text: &str, names: &mut Names) -> Result<Template, ConditionError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ConditionError::Empty);
    }
    let inner = unquoted(text)?;
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
mod tests;
