//! What is said of a value of another kind than is expected: what stands there, and how it is written.

use serde::de::{Expected, Unexpected};
use toml::de::DeTable;

/// That `found` is of another kind than `expected`.
pub(super) fn wrong_kind(found: Unexpected<'_>, expected: &dyn Expected) -> String {
    let (wanted, remedy) = wanted(found, &expected.to_string());
    let remedy = remedy.map(|remedy| format!(": write {remedy}"));
    format!("{}, expected {wanted}{}", said(found), remedy.unwrap_or_default())
}

/// That `found` is of the kind that is expected, and none of the values that may stand there.
pub(super) fn wrong_value(found: Unexpected<'_>, expected: &dyn Expected) -> String {
    let (wanted, _) = wanted(found, &expected.to_string());
    let value = literal(found).unwrap_or_else(|| found.to_string());
    format!("`{value}` cannot be, expected {wanted}")
}

/// What stands there, in words.
fn said(found: Unexpected<'_>) -> String {
    let kind = match found {
        Unexpected::Bool(_) => "a truth value",
        number if is_number(number) => "a number",
        Unexpected::Str(text) => return format!("`{text}` is a text"),
        Unexpected::Seq => return "this is a list".to_owned(),
        Unexpected::Map => return "this is a table".to_owned(),
        other => return format!("this is a {other}"),
    };
    format!("`{}` is {kind}", literal(found).unwrap_or_default())
}

/// What is said of the value that is `written` in the document, with a number as it stands there: 7.10 is
/// 7.1 to whoever reads it.
pub(super) fn as_written(message: &str, written: &str) -> String {
    let is_word =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.' | '_');
    let said = message.strip_prefix('`').and_then(|rest| rest.split_once('`'));
    match said {
        Some((number, rest))
            if number.parse::<f64>().is_ok()
                && !written.is_empty()
                && written.chars().all(is_word) =>
        {
            format!("`{written}`{rest}")
        }
        _ => message.to_owned(),
    }
}

fn is_number(found: Unexpected<'_>) -> bool {
    matches!(found, Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_))
}

/// Whether a document may have `number` outside quotes: 010 may not stand there.
fn is_written_so(number: &str) -> bool {
    !number.starts_with('+') && DeTable::parse(&format!("x = {number}")).is_ok()
}

/// A value as it is written outside quotes.
fn literal(found: Unexpected<'_>) -> Option<String> {
    match found {
        Unexpected::Bool(is) => Some(is.to_string()),
        Unexpected::Unsigned(number) => Some(number.to_string()),
        Unexpected::Signed(number) => Some(number.to_string()),
        Unexpected::Float(number) => Some(format!("{number:?}")),
        Unexpected::Str(text) => Some(text.to_owned()),
        _ => None,
    }
}

/// What serde calls `expected`, as people call it, and how `found` is written there.
fn wanted(found: Unexpected<'_>, expected: &str) -> (String, Option<String>) {
    let text = match found {
        Unexpected::Str(text) => Some(text),
        _ => None,
    };
    let whole = |range: &str| {
        let number = text.filter(|text| text.parse::<u64>().is_ok() && is_written_so(text));
        (format!("a whole number{range}"), number.map(|number| format!("{number} without quotes")))
    };
    match expected {
        "a string" | "path string" => {
            // 7.10 is another text than 7.1
            let remedy = match found {
                Unexpected::Bool(is) => Some(format!("\"{is}\"")),
                _ if is_number(found) => Some("it in quotes".to_owned()),
                _ => None,
            };
            ("a text".into(), remedy)
        }
        "a sequence" => {
            let one = match text {
                Some(text) => Some(format!("[{text:?}]")),
                None => literal(found).map(|it| format!("[{it}]")),
            };
            ("a list".into(), one)
        }
        "a boolean" => {
            let said = text.filter(|text| matches!(*text, "true" | "false"));
            ("true or false".into(), said.map(|said| format!("{said} without quotes")))
        }
        "u8" => whole(" from 0 to 255"),
        "u16" => whole(" from 0 to 65535"),
        "u32" | "u64" | "usize" => whole(" of 0 or more"),
        "i8" | "i16" | "i32" | "i64" | "isize" => whole(""),
        "f32" | "f64" => {
            let number = text.filter(|text| text.parse::<f64>().is_ok() && is_written_so(text));
            ("a number".into(), number.map(|number| format!("{number} without quotes")))
        }
        "a character" => ("one character in quotes".into(), None),
        nonzero if nonzero.starts_with("a nonzero ") => whole(" above zero"),
        table if table == "a map" || table.starts_with("struct ") => {
            ("a table".into(), Some("{ KEY = VALUE }".into()))
        }
        other => (other.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;

    use serde::Deserialize;

    use super::super::read;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    struct Kinds {
        text: String,
        list: Vec<String>,
        is: bool,
        port: u16,
        users: u64,
        streams: Option<NonZeroU32>,
        share: f64,
        table: BTreeMap<String, String>,
        mark: Option<char>,
    }

    #[test]
    fn every_kind_of_value_is_told_how_it_is_written() {
        for (line, problem) in [
            ("text = 200", "`200` is a number, expected a text: write it in quotes"),
            ("text = 7.10", "`7.10` is a number, expected a text: write it in quotes"),
            ("text = 0x1F", "`0x1F` is a number, expected a text: write it in quotes"),
            ("text = 0.5", "`0.5` is a number, expected a text: write it in quotes"),
            ("text = true", "`true` is a truth value, expected a text: write \"true\""),
            ("text = []", "this is a list, expected a text"),
            ("text = {}", "this is a table, expected a text"),
            ("text = 1979-05-27", "this is a date or time, expected a text"),
            ("list = \"^ok\"", "`^ok` is a text, expected a list: write [\"^ok\"]"),
            ("list = 5", "`5` is a number, expected a list: write [5]"),
            (
                "is = \"true\"",
                "`true` is a text, expected true or false: write true without quotes",
            ),
            ("is = 1", "`1` is a number, expected true or false"),
            (
                "users = \"10\"",
                "`10` is a text, expected a whole number of 0 or more: write 10 \
             without quotes",
            ),
            ("users = \"ten\"", "`ten` is a text, expected a whole number of 0 or more"),
            ("users = \"010\"", "`010` is a text, expected a whole number of 0 or more"),
            ("users = \"+10\"", "`+10` is a text, expected a whole number of 0 or more"),
            ("users = 10.0", "`10.0` is a number, expected a whole number of 0 or more"),
            ("users = -1_000", "`-1_000` cannot be, expected a whole number of 0 or more"),
            ("share = \"010.5\"", "`010.5` is a text, expected a number"),
            ("users = 0.5", "`0.5` is a number, expected a whole number of 0 or more"),
            ("users = -1", "`-1` cannot be, expected a whole number of 0 or more"),
            ("port = 70000", "`70000` cannot be, expected a whole number from 0 to 65535"),
            ("streams = 0", "`0` cannot be, expected a whole number above zero"),
            ("share = \"0.5\"", "`0.5` is a text, expected a number: write 0.5 without quotes"),
            ("table = 1", "`1` is a number, expected a table: write { KEY = VALUE }"),
            ("mark = \"ab\"", "`ab` cannot be, expected one character in quotes"),
        ] {
            assert_eq!(read::<Kinds>(line).unwrap_err().problem, problem, "{line}");
        }
    }
}
