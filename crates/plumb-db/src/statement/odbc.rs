//! How databases say what is asked of all of them: some have no `SELECT` without a table.

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::{Parameter, Statement, Which};
use plumb_db_login::Product;

/// Text sent with the sized statement, twice.
static PARAMETER: LazyLock<String> = LazyLock::new(|| "x".repeat(200));
/// Text of each of its further rows.
const ROW: usize = 96;
/// Rows of its answer, of which the first two bring the text back.
const ROWS: usize = 10;

/// The table of one row that a product needs behind a `SELECT`, by what its driver's name of it begins with.
const TABLES: [(&str, &str); 7] = [
    ("DB2", " FROM SYSIBM.SYSDUMMY1"),
    ("FIREBIRD", " FROM RDB$DATABASE"),
    ("HDB", " FROM DUMMY"),
    ("INFORMIX", " FROM SYSTABLES WHERE TABID = 1"),
    ("MAXDB", " FROM DUAL"),
    ("ORACLE", " FROM DUAL"),
    ("SAP DB", " FROM DUAL"),
];

/// A statement of ours in the language of `product`; `None` for the user's own.
pub(crate) fn of(which: Which, product: &str) -> Option<Statement> {
    let product = product.to_ascii_uppercase();
    let table = TABLES.into_iter().find(|(name, _)| product.starts_with(name));
    let from = table.map_or("", |(_, from)| from);
    match which {
        Which::Trivial => Some(trivial(from)),
        Which::Sized => Some(sized(from)),
        Which::Own => None,
    }
}

/// `SELECT 1`.
pub(crate) fn trivial(from: &str) -> Statement {
    Statement::plain(Which::Trivial, &format!("SELECT 1{from}"), Product::Odbc)
}

/// The statement of everyday size. What databases have in common has no functions that make rows, so
/// each row is written out.
pub(crate) fn sized(from: &str) -> Statement {
    let value = format!("'{}'", *PARAMETER);
    Statement {
        inline: rows(from, &value),
        parameters: vec![Parameter::Text(&PARAMETER), Parameter::Text(&PARAMETER)],
        ..Statement::plain(Which::Sized, &rows(from, "?"), Product::Odbc)
    }
}

fn rows(from: &str, value: &str) -> String {
    let mut text = String::new();
    for row in 1..=ROWS {
        let comma = if row == 1 { "" } else { " UNION ALL " };
        let column = match row {
            1 | 2 => format!("CAST({value} AS CHAR(200))"),
            _ => format!("'{}'", "y".repeat(ROW)),
        };
        // a text takes no errors
        let _ = write!(text, "{comma}SELECT {row}, {column}{from}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_asked_in_its_own_language() {
        let trivial = |product| of(Which::Trivial, product).unwrap().text;
        assert_eq!(trivial("PostgreSQL"), "SELECT 1");
        assert_eq!(trivial("DB2/LINUXX8664"), "SELECT 1 FROM SYSIBM.SYSDUMMY1");
        assert_eq!(trivial("Oracle"), "SELECT 1 FROM DUAL");
        assert!(of(Which::Own, "Oracle").is_none());
        let sized = of(Which::Sized, "MaxDB").unwrap();
        assert_eq!(sized.text.matches(" FROM DUAL").count(), ROWS);
        assert_eq!((sized.text.matches('?').count(), sized.parameters.len()), (2, 2));
        assert!(!sized.inline.contains('?') && sized.inline.contains(&*PARAMETER));
    }
}
