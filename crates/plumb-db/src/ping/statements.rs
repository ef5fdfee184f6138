//! Which statements a ping asks.

use std::path::Path;

use plumb_db_login::Product;

use crate::DbError;
use crate::options::PingOptions;
use crate::statement::{Statement, Which};

/// A file with a statement is no larger.
const FILE_MAX: u64 = 1 << 20;

/// Those that are known, and the user's `own`, as far as they are asked.
pub(super) fn statements(
    options: &PingOptions,
    own: Option<Statement>,
    product: Product,
) -> Vec<Statement> {
    let asked = |which| options.ask.is_empty() || options.ask.contains(&which);
    let known = [
        (Which::Trivial, Some(Statement::trivial(product))),
        (Which::Sized, Some(Statement::sized(product))),
    ];
    known
        .into_iter()
        .chain([(Which::Own, own)])
        .filter(|(which, _)| asked(*which))
        .filter_map(|(_, statement)| statement)
        .collect()
}

/// The user's statement, from the command line or from a file.
///
/// # Errors
/// [`DbError`] when the file cannot be read, or there is nothing in it.
pub(super) fn own_statement(
    options: &PingOptions,
    product: Product,
) -> Result<Option<Statement>, DbError> {
    let text = match (&options.statement, &options.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read(file)?,
        (None, None) => return Ok(None),
    };
    let statement = Statement::own(&text, product);
    if statement.text.is_empty() {
        return Err(DbError::Options("the statement is empty: write for example SELECT 1".into()));
    }
    // SQL Server takes several at once, and settings may come first
    if statement.is_control() && matches!(product, Product::Postgres | Product::Mysql) {
        let word = match statement.first_word() {
            "" => "a comment that is run".to_owned(),
            word => word.to_ascii_uppercase(),
        };
        return Err(DbError::Options(format!(
            "the own statement begins with {word}: what begins, ends or sets transactions and sessions is not measured"
        )));
    }
    Ok(Some(statement))
}

/// The text of `file`, without the byte order mark that tools of Windows write in front of it: a server would
/// take it for a part of the first word.
fn read(file: &Path) -> Result<String, DbError> {
    let complain = |complaint: String| DbError::File { file: file.into(), complaint };
    let size = std::fs::metadata(file).map_err(|error| complain(error.to_string()))?.len();
    if size > FILE_MAX {
        return Err(complain("a statement of more than 1 MiB is not read".into()));
    }
    let text = std::fs::read_to_string(file).map_err(|error| complain(error.to_string()))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_statement() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.sql");
        for written in ["SELECT 1;\r\n", "\u{feff}SELECT 1;\r\n"] {
            std::fs::write(&file, written).unwrap();
            assert_eq!(read(&file).unwrap(), "SELECT 1;\r\n");
        }
    }
}
