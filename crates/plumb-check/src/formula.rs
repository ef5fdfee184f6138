//! A formula over columns: `2 * size / 1024 / av2 * 1000`, `100 - [Idle %]`.

use crate::interval::Interval;

/// Deepest nesting, and most terms.
const DEPTH_MAX: usize = 32;
const TERMS_MAX: usize = 500;

/// A formula whose columns are places in the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Formula {
    pub(crate) text: String,
    root: Term,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(f64),
    Column(usize),
    Negative(Box<Term>),
    Both(Operation, Box<Term>, Box<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Plus,
    Minus,
    Times,
    Over,
}

impl Formula {
    /// Reads a formula; `place` finds a column by its name.
    pub(crate) fn parse(text: &str, place: &dyn Fn(&str) -> Option<usize>) -> Result<Self, String> {
        let mut parser = Parser { rest: text.trim(), place, terms: 0 };
        let root = parser.sum(0)?;
        match parser.rest.trim() {
            "" => Ok(Self { text: text.trim().to_owned(), root }),
            rest => Err(format!("expected an operator before {rest:?}")),
        }
    }

    /// The values that the formula can have; `None` when a figure is missing.
    pub(crate) fn value(&self, figure: &dyn Fn(usize) -> Option<Interval>) -> Option<Interval> {
        value(&self.root, figure)
    }
}

fn value(term: &Term, figure: &dyn Fn(usize) -> Option<Interval>) -> Option<Interval> {
    Some(match term {
        Term::Number(number) => Interval::exactly(*number),
        Term::Column(column) => figure(*column)?,
        Term::Negative(term) => value(term, figure)?.times(-1.0),
        Term::Both(operation, left, right) => {
            let (left, right) = (value(left, figure)?, value(right, figure)?);
            match operation {
                Operation::Plus => left.plus(right),
                Operation::Minus => left.minus(right),
                Operation::Times => left.by(right),
                Operation::Over => left.over(right),
            }
        }
    })
}

struct Parser<'t> {
    rest: &'t str,
    place: &'t dyn Fn(&str) -> Option<usize>,
    terms: usize,
}

impl Parser<'_> {
    fn sum(&mut self, depth: usize) -> Result<Term, String> {
        let mut left = self.product(depth)?;
        while let Some(sign) = self.one_of(&['+', '-', '−']) {
            let operation = if sign == '+' { Operation::Plus } else { Operation::Minus };
            let right = self.product(depth)?;
            left = Term::Both(operation, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Term, String> {
        let mut left = self.factor(depth)?;
        while let Some(sign) = self.one_of(&['*', '×', '/', ':']) {
            let times = matches!(sign, '*' | '×');
            let operation = if times { Operation::Times } else { Operation::Over };
            let right = self.factor(depth)?;
            left = Term::Both(operation, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn factor(&mut self, depth: usize) -> Result<Term, String> {
        self.terms += 1;
        if depth > DEPTH_MAX || self.terms > TERMS_MAX {
            return Err("the formula is too long".to_owned());
        }
        if self.one_of(&['-']).is_some() {
            return Ok(Term::Negative(Box::new(self.factor(depth + 1)?)));
        }
        if self.one_of(&['(']).is_some() {
            let inner = self.sum(depth + 1)?;
            self.one_of(&[')']).ok_or("a bracket is not closed")?;
            return Ok(inner);
        }
        if self.one_of(&['[']).is_some() {
            let (name, rest) = self.rest.split_once(']').ok_or("a name in [ ] is not closed")?;
            self.rest = rest;
            return self.column(name);
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| format!("{word:?} is not a number"))?;
            return Ok(Term::Number(number));
        }
        if word.is_empty() {
            return Err(format!("expected a number or a column before {:?}", excerpt(after)));
        }
        self.column(word)
    }

    fn column(&self, name: &str) -> Result<Term, String> {
        let found = (self.place)(name.trim()).map(Term::Column);
        found.ok_or_else(|| format!("there is no column {:?}", name.trim()))
    }

    fn one_of(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|c| signs.contains(c))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

fn excerpt(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    fn result(text: &str) -> Result<f64, String> {
        let place = |name: &str| ["a", "b", "Idle %"].iter().position(|other| *other == name);
        let formula = Formula::parse(text, &place)?;
        let figures = [10.0, 4.0, 77.5];
        let figure = |at: usize| Some(Interval::exactly(figures[at]));
        Ok(formula.value(&figure).ok_or("missing")?.middle())
    }

    #[test]
    fn formulas_are_worked_out_as_usual() {
        assert_eq!(result("a + 2 * b"), Ok(18.0));
        assert_eq!(result("(a + 2) * b / 2"), Ok(24.0));
        assert_eq!(result("100 - [Idle %]"), Ok(22.5));
        assert_eq!(result("-a - -b"), Ok(-6.0));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (text, expected) in [
            ("a +", "expected a number or a column"),
            ("a b", "expected an operator"),
            ("(a", "not closed"),
            ("[a", "not closed"),
            ("c", "no column \"c\""),
            ("1.2.3", "not a number"),
        ] {
            let error = result(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(result(&"(".repeat(100)).is_err());
        assert!(result(&"-".repeat(100)).is_err());
    }
}
