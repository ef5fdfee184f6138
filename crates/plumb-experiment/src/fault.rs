//! What is wrong in an experiment file.

use std::fmt;
use std::ops::Range;

use plumb_wire::document::Wrong;
use toml::Spanned;

use crate::template::Unclear;

/// A problem and the value that has it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The value, in bytes of the file.
    at: Range<usize>,
    /// What of the value is wrong, as it is written; `None`: all of it.
    part: Option<String>,
    problem: String,
}

impl Fault {
    /// A problem of one value.
    pub fn at<T>(value: &Spanned<T>, problem: impl Into<String>) -> Self {
        Self { at: value.span(), part: None, problem: problem.into() }
    }

    /// A problem of the file as a whole.
    pub fn of_all(problem: impl Into<String>) -> Self {
        Self { at: 0..0, part: None, problem: problem.into() }
    }

    /// A name in a template that stands for nothing; `known` are those that would.
    pub fn unclear(
        value: &Spanned<String>,
        unclear: &Unclear,
        known: impl IntoIterator<Item = String>,
    ) -> Self {
        let Some(name) = &unclear.name else {
            let problem = "`${` has no `}`; write `$${` for the characters themselves";
            let rest = value.get_ref()[unclear.at.start..].to_owned();
            return Self { part: Some(rest), ..Self::at(value, problem) };
        };
        let known: Vec<String> = known.into_iter().collect();
        let meant = plumb_wire::document::nearest(name, &known);
        let meant = meant.map(|name| format!("; did you mean `${{{name}}}`?"));
        let all = format!("known here: {}", known.join(", "));
        let problem = format!(
            "`${{{name}}}` is no factor, value or server; {all}{}; write `$${{` for the characters \
             `${{`",
            meant.unwrap_or_default()
        );
        Self { part: Some(format!("${{{name}}}")), ..Self::at(value, problem) }
    }

    /// The problem with its place in the file, which has `text`; `None` when it is one of the file
    /// as a whole.
    pub fn placed(&self, text: &str) -> Option<Wrong> {
        let within = text.get(self.at.clone()).filter(|within| !within.is_empty())?;
        let found = self.part.as_ref().and_then(|part| {
            let start = self.at.start + within.find(part.as_str())?;
            Some(start..start + part.len())
        });
        Some(Wrong::at(text, &found.unwrap_or_else(|| self.at.clone()), &self.problem))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for Fault {}
