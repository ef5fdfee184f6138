//! Tables as JSON.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::figure::Style;
use crate::header::{Header, meant};
use crate::table::{COLUMNS_MAX, Cell, ROWS_MAX, Row, Table};

/// The words for the whole table.
const WORDS: [&str; 6] = ["columns", "rows", "decimal", "rounding", "link", "rows-rule"];

/// Reads `{"columns": [...], "rows": [...]}` and the words for the whole table.
pub(crate) fn read(text: &str) -> Result<Table, ReadError> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        ReadError::at(u64::try_from(error.line()).unwrap_or(0), format!("not JSON: {error}"))
    })?;
    let wrong = |message: &str| ReadError::at(1, message);
    let document = document.as_object().ok_or_else(|| wrong("expected one object"))?;
    let mut header = Header::default();
    for (key, value) in document {
        match key.as_str() {
            "columns" | "rows" => {}
            "decimal" | "rounding" | "link" | "rows-rule" => {
                let value = value.as_str();
                let value = value.ok_or_else(|| wrong(&format!("{key}: expected text")))?;
                header.set(1, if key == "rows-rule" { "rows" } else { key }, value)?;
            }
            key => meant(1, key, &WORDS)?,
        }
    }
    let columns = document.get("columns").and_then(Value::as_array);
    let columns = columns.ok_or_else(|| wrong("expected \"columns\": [ ... ]"))?;
    if columns.len() > COLUMNS_MAX {
        return Err(wrong("too many columns"));
    }
    let names: Vec<String> =
        columns.iter().map(|one| column(one, &mut header)).collect::<Result<_, _>>()?;
    let rows = document.get("rows").and_then(Value::as_array);
    let rows = rows.ok_or_else(|| wrong("expected \"rows\": [ ... ]"))?;
    if rows.len() > ROWS_MAX {
        return Err(wrong("too many rows"));
    }
    let rows = (1u64..)
        .zip(rows)
        .map(|(number, value)| row(number, value, &names, &header))
        .collect::<Result<_, _>>()?;
    header.table(&names, rows)
}

/// A column is its name, or an object with `name` and the words of the CSV header.
fn column(value: &Value, header: &mut Header) -> Result<String, ReadError> {
    if let Some(name) = value.as_str() {
        return Ok(name.trim().to_owned());
    }
    let said = value.as_object();
    let name = said.and_then(|said| said.get("name")).and_then(Value::as_str);
    let (Some(said), Some(name)) = (said, name) else {
        return Err(ReadError::at(1, "a column is its name, or an object with \"name\""));
    };
    for (key, value) in said.iter().filter(|(key, _)| *key != "name") {
        match value {
            Value::Array(values) => {
                for value in values {
                    header.say(1, name, key, &word(value))?;
                }
            }
            value => header.say(1, name, key, &word(value))?,
        }
    }
    Ok(name.trim().to_owned())
}

/// A row is an array, or an object by the names of the columns.
fn row(number: u64, value: &Value, names: &[String], header: &Header) -> Result<Row, ReadError> {
    let style = |value: &Value| match value {
        // a number of JSON has a point whatever the table's sign
        Value::Number(_) => Style { decimal: '.', ..header.style },
        _ => header.style,
    };
    let cell = |value: &Value| Cell::parse(&word(value), style(value));
    let by_name = |row: &Map<String, Value>| {
        names.iter().map(|name| row.get(name).map_or(Cell::Empty, cell)).collect()
    };
    match value {
        Value::Array(cells) if cells.len() <= names.len() => {
            Ok(Row { line: number, cells: cells.iter().map(cell).collect() })
        }
        Value::Object(row) => Ok(Row { line: number, cells: by_name(row) }),
        _ => {
            let message = format!("row {number}: expected an array with at most one cell a column");
            Err(ReadError::at(1, message))
        }
    }
}

/// Text as it is, a number as it is written; of a number, zeros behind the point are lost.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;

    #[test]
    fn rows_are_arrays_or_objects() {
        let text = r#"{"columns": ["a", {"name": "b", "unit": "%", "formula": ["a * 2", "a + a"]}],
                       "rows": [["1", "2.0"], {"b": 4, "a": 2.0}, [null]]}"#;
        let table = read(text).unwrap();
        assert_eq!(table.rows(), 3);
        assert_eq!(table.columns[1].rules.len(), 2);
        assert_eq!(table.rows[1].figure(1).unwrap().value, 4.0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("{", "not JSON"),
            ("[]", "expected one object"),
            ("{}", "expected \"columns\""),
            (r#"{"lnik": "1 Gbit/s", "columns": [], "rows": []}"#, "did you mean link?"),
            (r#"{"link": 10, "columns": [], "rows": []}"#, "link: expected text"),
            (r#"{"columns": [1], "rows": []}"#, "a column is its name"),
            (r#"{"columns": ["a"], "rows": [[1, 2]]}"#, "row 1: expected an array"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
