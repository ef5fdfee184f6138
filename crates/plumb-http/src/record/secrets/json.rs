//! Secrets in JSON, found without understanding all of it: the rest of the text stays as it is,
//! byte for byte, also where it is no JSON.

use super::{MASK, is_secret};

/// `text` with the strings and numbers of secret names masked, also in a list.
pub(super) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(string) = next_string(text, at) {
        at = string.end;
        let Some(value) = value_behind(text, at) else { continue };
        at = value;
        if !is_secret(string.content(text)) {
            continue;
        }
        // a list of secrets is as secret as one; anything else ends where it is
        let list = text[at..].starts_with('[');
        at += usize::from(list);
        loop {
            at += blanks(&text[at..]);
            let (from, until) = match scalar(text, at) {
                Some(found) => found,
                None => break,
            };
            out += &text[copied..from];
            out.push('"');
            out += MASK;
            out.push('"');
            (copied, at) = (until, until);
            at += blanks(&text[at..]);
            if !list || !text[at..].starts_with(',') {
                break;
            }
            at += 1;
        }
    }
    out + &text[copied..]
}

/// A string: where it begins and ends, quotes included. One that does not end goes to the end.
struct Quoted {
    start: usize,
    end: usize,
}

impl Quoted {
    fn content<'a>(&self, text: &'a str) -> &'a str {
        text[self.start + 1..self.end].trim_end_matches('"')
    }
}

/// The next string at `from` or behind it.
fn next_string(text: &str, from: usize) -> Option<Quoted> {
    let start = from + text[from..].find('"')?;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(Quoted { start, end: at + 1 }),
            _ => {}
        }
    }
    Some(Quoted { start, end: text.len() })
}

/// Where the value begins, when a colon follows at `at`.
fn value_behind(text: &str, at: usize) -> Option<usize> {
    let colon = at + blanks(&text[at..]);
    let value = text[colon..].strip_prefix(':')?;
    Some(colon + 1 + blanks(value))
}

/// The string or number that begins at `at`.
fn scalar(text: &str, at: usize) -> Option<(usize, usize)> {
    match text[at..].bytes().next()? {
        b'"' => next_string(text, at).map(|string| (string.start, string.end)),
        b'-' | b'0'..=b'9' => {
            let number = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let length = text[at..].find(|c| !number(c)).unwrap_or(text.len() - at);
            Some((at, at + length))
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

    use super::*;

    #[test]
    fn only_secrets_change() {
        for (text, expected) in [
            (r#"{"user":"a", "password" : "s\"x" }"#, r#"{"user":"a", "password" : "MASKED" }"#),
            (r#"{"a":{"pin":-1.5e3},"b":[1]}"#, r#"{"a":{"pin":"MASKED"},"b":[1]}"#),
            (r#"{"token":null,"pwd":true}"#, r#"{"token":null,"pwd":true}"#),
            (r#"{"tokens":["a", "b" ],"x":"y"}"#, r#"{"tokens":["MASKED", "MASKED" ],"x":"y"}"#),
            (
                r#"{"credentials":{"user":"u","password":"p"}}"#,
                r#"{"credentials":{"user":"u","password":"MASKED"}}"#,
            ),
            (r#"{"note":"password","password":"x"}"#, r#"{"note":"password","password":"MASKED"}"#),
            (r#"{"password":"cut of"#, r#"{"password":"MASKED""#),
            ("no json", "no json"),
            ("", ""),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in r#"(\PC|["\\:,\[\]{} ]|"password"|"pin"){0,60}"#) {
            let once = masked(&text);
            prop_assert_eq!(masked(&once), once.clone());
        }

        #[test]
        fn a_secret_is_gone_from_whatever_json_it_stood_in(value in "[a-z]{12,20}", before: String) {
            let document = serde_json::json!({"a": before, "b": [{"x-token": value}], "pwd": value});
            let text = masked(&document.to_string());
            prop_assert!(!text.contains(&value) || before.contains(&value), "{}", text);
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back["a"], &document["a"]);
        }
    }
}
