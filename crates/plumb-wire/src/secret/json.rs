//! Secrets in JSON, found without understanding all of it: also in a text that is none.

use std::ops::Range;

use super::{Found, is_secret};

/// The strings and numbers of secret names in `text`, also those in a list.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(key) = string_from(text, at) {
        at = behind(text, &key);
        let Some(value) = value_behind(text, at) else { continue };
        at = value;
        let name = &text[key];
        if !is_secret(name) {
            continue;
        }
        // a list of secrets is as secret as one; anything else ends where it is
        let is_list = text[at..].starts_with('[');
        at += usize::from(is_list);
        loop {
            at += blanks(&text[at..]);
            let Some((secret, end)) = scalar(text, at, name) else { break };
            at = end + blanks(&text[end..]);
            found.extend((!secret.at.is_empty()).then_some(secret));
            if !is_list || !text[at..].starts_with(',') {
                break;
            }
            at += 1;
        }
    }
    found
}

/// The inside of the first string at `from` or behind it. One that does not end goes to the end.
fn string_from(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text[from..].find('"')? + 1;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(start..at),
            _ => {}
        }
    }
    Some(start..text.len())
}

/// Where the text goes on behind the closing quotation mark of a string.
fn behind(text: &str, string: &Range<usize>) -> usize {
    (string.end + 1).min(text.len())
}

/// Where the value begins, when a colon follows at `at`.
fn value_behind(text: &str, at: usize) -> Option<usize> {
    let colon = at + blanks(&text[at..]);
    let value = text[colon..].strip_prefix(':')?;
    Some(colon + 1 + blanks(value))
}

/// The string or number that begins at `at`, and where it ends.
fn scalar(text: &str, at: usize, name: &str) -> Option<(Found, usize)> {
    match text[at..].bytes().next()? {
        b'"' => {
            let inside = string_from(text, at)?;
            let end = behind(text, &inside);
            Some((Found::text(name, inside), end))
        }
        b'-' | b'0'..=b'9' => {
            let number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let length = text[at..].find(|c| !number(c)).unwrap_or(text.len() - at);
            let secret = Found { name: name.into(), at: at..at + length, is_number: true };
            Some((secret, at + length))
        }
        _ => None,
    }
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::masked;
    use super::*;

    fn mask(text: &str) -> String {
        masked(text, &secrets(text))
    }

    #[test]
    fn only_secrets_change() {
        for (text, expected) in [
            (r#"{"user":"a", "password" : "s\"x" }"#, r#"{"user":"a", "password" : "MASKED" }"#),
            (r#"{"a":{"pin":-1.5e3},"b":[1]}"#, r#"{"a":{"pin":"MASKED"},"b":[1]}"#),
            (r#"{"token":null,"pwd":true}"#, r#"{"token":null,"pwd":true}"#),
            (r#"{"tokens":["a", 7 ],"x":"y"}"#, r#"{"tokens":["MASKED", "MASKED" ],"x":"y"}"#),
            (
                r#"{"credentials":{"user":"u","password":"p"}}"#,
                r#"{"credentials":{"user":"u","password":"MASKED"}}"#,
            ),
            (r#"{"note":"password","password":"x"}"#, r#"{"note":"password","password":"MASKED"}"#),
            (r#"{"password":"cut of"#, r#"{"password":"MASKED"#),
            (r#"{"password":""}"#, r#"{"password":""}"#),
            ("no json", "no json"),
            ("", ""),
        ] {
            assert_eq!(mask(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in r#"(\PC|["\\:,\[\]{} ]|"password"|"pin"){0,60}"#) {
            let once = mask(&text);
            prop_assert_eq!(mask(&once), once.clone());
        }

        #[test]
        fn a_secret_is_gone_from_whatever_json_it_stood_in(value in "[a-z]{12,20}", before: String) {
            let document = serde_json::json!({"a": before, "b": [{"x-token": value}], "pwd": value});
            let text = mask(&document.to_string());
            prop_assert!(!text.contains(&value) || before.contains(&value), "{}", text);
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back["a"], &document["a"]);
        }
    }
}
