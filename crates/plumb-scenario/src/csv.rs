//! Comma-separated values. The `csv` crate reads whatever comes; here every mistake in a file of users
//! has its place, before anything is asked with half of it.

use serde::{Deserialize, Serialize};

/// Why a text is no CSV, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct CsvError {
    /// From 1.
    /// Its line in the file, from one.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In words.
    pub problem: &'static str,
}

/// A line of cells, and the line of the text at which it begins, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Its line in the file, from one.
    pub line: usize,
    /// Its values.
    pub cells: Vec<String>,
}

/// What double quotes are in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quotes {
    /// A cell in quotes may hold delimiters, line ends and doubled quotes.
    #[default]
    AroundCells,
    /// Characters like others: every delimiter ends a cell, and every line end a line.
    Characters,
}

/// The records of `text`, cells separated by `delimiter`. Lines end with LF or CRLF. Empty lines are
/// left out.
///
/// Where quotes stand around cells, a record is an error for one that is not closed, or that stands
/// within a cell; nothing follows it.
///
/// # Source
/// RFC 4180, section 2.
pub fn records(text: &str, delimiter: char, quotes: Quotes) -> Records<'_> {
    Records { rest: text, line: 1, column: 1, delimiter, quotes }
}

/// See [`records`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
    delimiter: char,
    quotes: Quotes,
}

impl Iterator for Records<'_> {
    type Item = Result<Record, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.line_end() {}
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        let cells = self.cells();
        if cells.is_err() {
            self.rest = "";
        }
        Some(cells.map(|cells| Record { line, cells }))
    }
}

impl Records<'_> {
    /// The next record, in which quotes are `quotes`; those behind it stay as they were.
    pub fn next_with(&mut self, quotes: Quotes) -> Option<Result<Record, CsvError>> {
        let others = std::mem::replace(&mut self.quotes, quotes);
        let record = self.next();
        self.quotes = others;
        record
    }

    fn cells(&mut self) -> Result<Vec<String>, CsvError> {
        let mut cells = Vec::new();
        loop {
            cells.push(if self.at_a_quote() { self.quoted()? } else { self.plain()? });
            if self.line_end() || self.rest.is_empty() {
                return Ok(cells);
            }
            self.pass(self.delimiter.len_utf8());
        }
    }

    fn at_a_quote(&self) -> bool {
        self.quotes == Quotes::AroundCells && self.rest.starts_with('"')
    }

    fn plain(&mut self) -> Result<String, CsvError> {
        let quote = self.quotes == Quotes::AroundCells;
        let ends = |char| char == self.delimiter || char == '\n' || (quote && char == '"');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        // the CR of a line end is no part of the cell
        let behind = &self.rest[end..];
        let cell = match self.rest[..end].strip_suffix('\r') {
            Some(cell) if behind.starts_with('\n') || behind.is_empty() => cell,
            _ => &self.rest[..end],
        };
        let cell = cell.to_owned();
        self.pass(cell.len());
        if self.at_a_quote() {
            return Err(self.wrong("a quote within a cell: put the cell into quotes and double it"));
        }
        Ok(cell)
    }

    fn quoted(&mut self) -> Result<String, CsvError> {
        let opened = self.wrong("the quote is not closed");
        let mut cell = String::new();
        self.pass(1);
        loop {
            let Some(end) = self.rest.find('"') else { return Err(opened) };
            cell.push_str(&self.rest[..end]);
            self.pass(end + 1);
            if !self.rest.starts_with('"') {
                break;
            }
            cell.push('"');
            self.pass(1);
        }
        let ends = self.rest.is_empty()
            || self.rest.starts_with(self.delimiter)
            || ["\n", "\r\n"].iter().any(|end| self.rest.starts_with(end))
            || self.rest == "\r";
        if ends { Ok(cell) } else { Err(self.wrong("more follows the closing quote of the cell")) }
    }

    /// Passes over the end of a line; false when the line goes on.
    fn line_end(&mut self) -> bool {
        let length = match self.rest.as_bytes() {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] | [b'\r'] => 1,
            _ => return false,
        };
        self.pass(length);
        true
    }

    fn pass(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += passed.matches('\n').count();
        self.column = match passed.rsplit_once('\n') {
            Some((_, behind)) => 1 + behind.chars().count(),
            None => self.column + passed.chars().count(),
        };
    }

    fn wrong(&self, problem: &'static str) -> CsvError {
        CsvError { line: self.line, column: self.column, problem }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str, delimiter: char) -> Result<Vec<Record>, CsvError> {
        records(text, delimiter, Quotes::AroundCells).collect()
    }

    fn cells(text: &str, delimiter: char) -> Vec<Vec<String>> {
        let records = all(text, delimiter).unwrap();
        records.into_iter().map(|record| record.cells).collect()
    }

    #[test]
    fn cells_are_separated() {
        assert_eq!(cells("a,b\r\nc,\n\n,d", ','), [["a", "b"], ["c", ""], ["", "d"]]);
        assert_eq!(cells("a;b,c\r\n", ';'), [["a", "b,c"]]);
        assert_eq!(cells("é→ü\n", '→'), [["é", "ü"]]);
        assert_eq!(cells("\"a,\"\"b\"\"\r\nc\",d\r\n", ','), [["a,\"b\"\r\nc", "d"]]);
        assert_eq!(cells("a,\"\"\r", ','), [["a", ""]]);
        assert_eq!(cells("a\rb,c\r\n", ','), [["a\rb", "c"]]);
        assert!(cells("\r\n\n", ',').is_empty() && cells("", ',').is_empty());
    }

    #[test]
    fn quotes_that_are_characters_hold_nothing_together() {
        let cells = |text| {
            let records = records(text, ';', Quotes::Characters);
            records.map(|record| record.unwrap().cells).collect::<Vec<_>>()
        };
        assert_eq!(cells("\"a;b\";c\r\n"), [["\"a", "b\"", "c"]]);
        assert_eq!(cells("{\"k\":1};\"\n"), [["{\"k\":1}", "\""]]);
    }

    #[test]
    fn records_know_their_lines() {
        let records = all("a\n\n\"b\nc\"\nd", ',').unwrap();
        assert_eq!(records.iter().map(|record| record.line).collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let wrong = |text| {
            let error = all(text, ',').unwrap_err();
            (error.line, error.column)
        };
        assert_eq!(wrong("a,b\né,b\"c"), (2, 4));
        assert_eq!(wrong("a\nb,\"c\nd"), (2, 3));
        assert_eq!(wrong("\"a\nb\"c"), (2, 3));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|\"|,|\n|\r\n|\r|a){0,40}") {
            if let Ok(records) = all(&text, ',') {
                prop_assert!(records.len() <= text.lines().count().max(1));
            }
        }

        #[test]
        fn another_implementation_reads_the_same(text in "(a|b|é|\"|,|\n|\r\n){0,40}") {
            if let Ok(ours) = all(&text, ',') {
                let mut reader = csv::ReaderBuilder::new();
                reader.has_headers(false).flexible(true);
                let theirs = reader.from_reader(text.as_bytes()).into_records();
                let theirs: Vec<Vec<String>> = theirs
                    .map(|record| record.expect("UTF-8").iter().map(str::to_owned).collect())
                    .collect();
                let ours: Vec<_> = ours.into_iter().map(|record| record.cells).collect();
                prop_assert_eq!(ours, theirs);
            }
        }

        #[test]
        fn what_is_written_is_read_again(
            written in prop::collection::vec(prop::collection::vec("(\\PC|\"|,|\n|\r|a){0,8}", 2), 1..5)
        ) {
            let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
            let line = |cells: &Vec<String>| cells.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text = written.iter().map(line).collect::<Vec<_>>().join("\r\n");
            prop_assert_eq!(cells(&text, ','), written);
        }
    }
}
