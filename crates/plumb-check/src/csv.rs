//! Tables as CSV.

use crate::error::ReadError;
use crate::header::Header;
use crate::table::{COLUMNS_MAX, Cell, ROWS_MAX, Row, Table};

/// Reads the header, the names and the rows.
pub(crate) fn read(text: &str) -> Result<Table, ReadError> {
    let mut header = Header::default();
    let mut names: Option<(Vec<String>, char)> = None;
    let mut rows = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let line = line.trim_end();
        if let Some(remark) = line.trim_start().strip_prefix('#') {
            header.line(number, remark)?;
        } else if line.trim().is_empty() {
        } else if let Some((names, separator)) = &names {
            let cells = cells(line, *separator);
            if cells.len() > names.len() {
                let (found, columns) = (cells.len(), names.len());
                let message = format!(
                    "{found} cells for {columns} columns; a figure with a {separator:?} in it \
                     needs quotes around it"
                );
                return Err(ReadError::at(number, message));
            }
            if rows.len() == ROWS_MAX {
                return Err(ReadError::at(number, format!("more than {ROWS_MAX} rows")));
            }
            let style = header.style;
            let cells = cells.iter().map(|cell| Cell::parse(cell, style)).collect();
            rows.push(Row { line: number, cells });
        } else {
            let separator = header.separator.unwrap_or_else(|| guessed(line));
            let titles: Vec<String> =
                cells(line, separator).iter().map(|cell| cell.trim().to_owned()).collect();
            if titles.len() > COLUMNS_MAX {
                return Err(ReadError::at(number, format!("more than {COLUMNS_MAX} columns")));
            }
            names = Some((titles, separator));
        }
    }
    let Some((names, _)) = names else {
        return Err(ReadError::at(1, "expected a line that names the columns, and rows behind it"));
    };
    header.table(&names, rows)
}

/// The sign between cells: a tab or a semicolon if the line with the names has one.
fn guessed(line: &str) -> char {
    ['\t', ';'].into_iter().find(|sign| line.contains(*sign)).unwrap_or(',')
}

/// The cells of a line. Within quotes a separator is text, and two quotes are one.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                cell.push('"');
                signs.next();
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            sign if sign == separator && !quoted => cells.push(std::mem::take(&mut cell)),
            sign => cell.push(sign),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_separators() {
        assert_eq!(cells(r#"a,"1,234", "x ""y""" ,"#, ','), ["a", "1,234", " x \"y\" ", ""]);
        assert_eq!(cells("a;1,5", ';'), ["a", "1,5"]);
    }

    #[test]
    fn a_table_is_read_with_its_header() {
        let text = "# a remark\n# source: of somebody, 2011: a table\n\
                    # column: b, unit = %, part-of = 100\n\na,b\nx,\"50.0\"\ny\n";
        let table = read(text).unwrap();
        assert_eq!(table.columns().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((table.rows(), table.rows[0].line), (2, 6));
        assert_eq!(table.rows[0].figure(1).unwrap().value, 50.0);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("", "line 1: expected a line that names"),
            ("a,b\n1,2,3\n", "line 2: 3 cells for 2 columns"),
            (
                "# column: c, unit = %\na,b\n",
                "line 1: there is no column \"c\"; the table has a, b",
            ),
            (
                "# column: a, unitt = %\na,b\n",
                "line 1: \"unitt\" is not known; expected one of unit",
            ),
            ("# column: a, formula = b +\na,b\n", "line 1: formula \"b +\": expected a number"),
            ("# column: a, improvement = a against b\na,b\n", "say better = lower"),
            ("# column: a, unit\na,b\n", "expected key = value"),
            ("# link: fast\na,b\n", "link: expected a rate such as 10 Gbit/s"),
            ("# colunm: a, unit = %\na,b\n", "\"colunm\" is not known; did you mean column?"),
            ("# decimal: x\na\n", "decimal: expected point or comma"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
