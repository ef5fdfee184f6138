//! What the header of a table may say.

use plumb_wire::document::nearest;

use crate::error::ReadError;
use crate::figure::{Rounding, Style};
use crate::formula::Formula;
use crate::table::{
    Base, Better, COLUMNS_MAX, Column, Extremes, Improvement, Row, Rule, Table, Time,
};
use crate::unit::{Quantity, Unit, quantity};

/// The header while it is read: the columns are known only at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub(crate) style: Style,
    /// A separator of cells that the header names.
    pub(crate) separator: Option<char>,
    link: Option<(u64, String)>,
    rows: Option<(u64, String)>,
    columns: Vec<Said>,
}

/// One thing said about a column.
#[derive(Clone, Debug)]
struct Said {
    line: u64,
    column: String,
    key: String,
    value: String,
}

const KEYS: &str = "unit, part-of, formula, total, improvement, better, relative-to, between, \
                    at-most, at-least, same-as, directions";

/// The words for the whole table.
const WORDS: [&str; 6] = ["column", "decimal", "rounding", "separator", "link", "rows"];

/// Refuses a word that is almost a known one: taken for a remark it would leave out a check.
pub(crate) fn meant(line: u64, word: &str, known: &[&str]) -> Result<(), ReadError> {
    let almost = |known: &&str| {
        known.chars().next() == word.chars().next() && known.len().abs_diff(word.len()) <= 1
    };
    match nearest(word, known.iter().copied()).filter(almost) {
        Some(known) => {
            Err(ReadError::at(line, format!("{word:?} is not known; did you mean {known}?")))
        }
        None => Ok(()),
    }
}

impl Header {
    /// Reads `key: value` of a line; a line without a colon is a remark.
    pub(crate) fn line(&mut self, line: u64, text: &str) -> Result<(), ReadError> {
        let Some((key, value)) = text.split_once(':') else { return Ok(()) };
        let value = value.trim();
        match key.trim() {
            "column" => self.column(line, value),
            other => self.set(line, other, value),
        }
    }

    /// Sets what holds for the whole table; an unknown word is a remark, unless it is almost a
    /// known one.
    pub(crate) fn set(&mut self, line: u64, key: &str, value: &str) -> Result<(), ReadError> {
        let expected = |what: &str| Err(ReadError::at(line, format!("{key}: expected {what}")));
        match (key, value) {
            ("decimal", "." | "point") => self.style.decimal = '.',
            ("decimal", "," | "comma") => self.style.decimal = ',',
            ("decimal", _) => return expected("point or comma"),
            ("rounding", "nearest") => self.style.rounding = Rounding::Nearest,
            ("rounding", "cut") => self.style.rounding = Rounding::Cut,
            ("rounding", _) => return expected("nearest or cut"),
            ("separator", "tab") => self.separator = Some('\t'),
            ("separator", "," | "comma") => self.separator = Some(','),
            ("separator", ";" | "semicolon") => self.separator = Some(';'),
            ("separator", _) => return expected("comma, semicolon or tab"),
            ("link", value) => self.link = Some((line, value.to_owned())),
            ("rows", value) => self.rows = Some((line, value.to_owned())),
            (key, _) => meant(line, key, &WORDS)?,
        }
        Ok(())
    }

    /// Reads `name, key = value, key = value`.
    fn column(&mut self, line: u64, text: &str) -> Result<(), ReadError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default().trim();
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                let message = format!("expected key = value, found {:?}", part.trim());
                return Err(ReadError::at(line, message));
            };
            self.say(line, name, key.trim(), value.trim())?;
        }
        // a column that is only named must be there, too
        self.say(line, name, "", "")
    }

    /// Says one thing about a column.
    pub(crate) fn say(
        &mut self,
        line: u64,
        column: &str,
        key: &str,
        value: &str,
    ) -> Result<(), ReadError> {
        if self.columns.len() > 20 * COLUMNS_MAX {
            return Err(ReadError::at(line, "the header says too much"));
        }
        let word = |text: &str| text.trim().to_owned();
        let (column, key, value) = (word(column), word(key), word(value));
        self.columns.push(Said { line, column, key, value });
        Ok(())
    }

    /// Puts the header, the names of the columns and the rows together.
    pub(crate) fn table(self, names: &[String], rows: Vec<Row>) -> Result<Table, ReadError> {
        let mut columns: Vec<Column> = names
            .iter()
            .map(|name| Column { name: name.clone(), directions: 1.0, ..Column::default() })
            .collect();
        let names = Names(names);
        for said in &self.columns {
            let at = names.place(&said.column, said.line)?;
            if said.key == "unit" {
                columns[at].unit = Some(Unit::parse(&said.value));
            }
        }
        for said in &self.columns {
            let at = names.place(&said.column, said.line)?;
            match said.key.as_str() {
                "directions" => {
                    columns[at].directions = said.value.parse().map_err(|_| {
                        ReadError::at(said.line, "directions: expected a number, 1 or 2")
                    })?;
                }
                "" | "unit" | "better" | "relative-to" => {}
                _ => {
                    let rule = self.rule(said, &names)?;
                    columns[at].rules.push(rule);
                }
            }
        }
        let link = self.link.map(|(line, text)| link(line, &text)).transpose()?;
        let extremes = self.rows.map(|(line, text)| extremes(line, &text, &names)).transpose()?;
        Ok(Table { columns, rows, link, extremes })
    }

    fn rule(&self, said: &Said, names: &Names<'_>) -> Result<Rule, ReadError> {
        let Said { line, value, .. } = said;
        let formula = || names.formula(value, *line);
        Ok(match said.key.as_str() {
            "part-of" => Rule::PartOf(formula()?),
            "formula" => Rule::Is(formula()?),
            "at-most" => Rule::AtMost(formula()?),
            "at-least" => Rule::AtLeast(formula()?),
            "same-as" => Rule::SameAs(names.place(value, *line)?),
            "between" => {
                let (min, max) = two(said, " and ")?;
                Rule::Between(names.place(min, *line)?, names.place(max, *line)?)
            }
            "total" => {
                let (rate, time) = two(said, " over ")?;
                let time = match names.place(time, *line) {
                    Ok(column) => Time::Column(column),
                    Err(error) => match quantity(time) {
                        Some((value, unit)) if unit.kind == Quantity::Time => {
                            Time::Fixed(value * unit.to_base())
                        }
                        _ => return Err(error),
                    },
                };
                Rule::Total { rate: names.place(rate, *line)?, time }
            }
            "improvement" => {
                let (candidate, baseline) = two(said, " against ")?;
                Rule::Improvement(Improvement {
                    candidate: names.place(candidate, *line)?,
                    baseline: names.place(baseline, *line)?,
                    better: match self.also(said, "better") {
                        Some("lower") => Better::Lower,
                        Some("higher") => Better::Higher,
                        _ => {
                            let message = "improvement: say better = lower or better = higher";
                            return Err(ReadError::at(*line, message));
                        }
                    },
                    base: match self.also(said, "relative-to") {
                        None => None,
                        Some("baseline") => Some(Base::Baseline),
                        Some("candidate") => Some(Base::Candidate),
                        Some(_) => {
                            let message = "relative-to: expected baseline or candidate";
                            return Err(ReadError::at(*line, message));
                        }
                    },
                })
            }
            key => {
                let message = format!("{key:?} is not known; expected one of {KEYS}");
                return Err(ReadError::at(*line, message));
            }
        })
    }

    /// What else is said about the column of `said`.
    fn also(&self, said: &Said, key: &str) -> Option<&str> {
        let same =
            |other: &&Said| other.key == key && other.column.eq_ignore_ascii_case(&said.column);
        self.columns.iter().find(same).map(|other| other.value.as_str())
    }
}

fn two<'s>(said: &'s Said, between: &str) -> Result<(&'s str, &'s str), ReadError> {
    said.value.split_once(between).ok_or_else(|| {
        let message = format!("{}: expected two names with {:?} between", said.key, between.trim());
        ReadError::at(said.line, message)
    })
}

fn link(line: u64, text: &str) -> Result<(String, f64), ReadError> {
    let rate = quantity(text).filter(|(value, unit)| unit.is_data_rate() && *value > 0.0);
    rate.map(|(value, unit)| (text.to_owned(), value * unit.to_base()))
        .ok_or_else(|| ReadError::at(line, "link: expected a rate such as 10 Gbit/s"))
}

/// `Average between Min and Max in statistic`; without `in`, the first column says it.
fn extremes(line: u64, text: &str, names: &Names<'_>) -> Result<Extremes, ReadError> {
    let wrong = || {
        ReadError::at(line, "rows: expected Average between Min and Max, with `in COLUMN` behind")
    };
    let (average, rest) = text.split_once(" between ").ok_or_else(wrong)?;
    let (min, rest) = rest.split_once(" and ").ok_or_else(wrong)?;
    let (max, column) = match rest.split_once(" in ") {
        Some((max, column)) => (max, names.place(column, line)?),
        None => (rest, 0),
    };
    let word = |text: &str| text.trim().to_owned();
    Ok(Extremes { column, average: word(average), min: word(min), max: word(max) })
}

/// The names of the columns.
struct Names<'n>(&'n [String]);

impl Names<'_> {
    fn find(&self, name: &str) -> Option<usize> {
        let name = name.trim();
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        self.0.iter().position(|other| other.eq_ignore_ascii_case(name.trim()))
    }

    fn place(&self, name: &str, line: u64) -> Result<usize, ReadError> {
        self.find(name).ok_or_else(|| {
            let known: Vec<String> =
                self.0.iter().take(20).map(|name| name.escape_debug().to_string()).collect();
            let known = known.join(", ");
            let message = format!("there is no column {:?}; the table has {known}", name.trim());
            ReadError::at(line, message)
        })
    }

    fn formula(&self, text: &str, line: u64) -> Result<Formula, ReadError> {
        // the name of a column alone needs no brackets
        let whole = self.find(text).map(|_| format!("[{}]", text.trim().trim_matches(['[', ']'])));
        let text = whole.as_deref().unwrap_or(text);
        Formula::parse(text, &|name| self.find(name))
            .map_err(|message| ReadError::at(line, format!("formula {text:?}: {message}")))
    }
}
