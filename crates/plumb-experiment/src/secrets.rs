//! The file of an experiment without its secrets.

use std::ops::Range;

use plumb_wire::secret::{MASK, in_commands, in_header_line, is_secret, masked};
use toml::Spanned;
use toml::Value;
use toml::de::{DeTable, DeValue};

/// The option whose value is a header line.
const HEADER: &str = "header";

/// `text`, the file of an experiment or of a ladder, without the secrets of its commands, the header
/// lines among the `options` of variants, and what they `set` under the name of a secret.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let document = DeTable::parse(text).ok();
    let mut masks = document.map_or_else(Vec::new, |document| of_variants(document.get_ref()));
    masks.sort_by_key(|(at, _)| at.start);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, mask) in masks {
        out += &text[from..at.start];
        out += &Value::from(mask).to_string();
        from = at.end;
    }
    out += &text[from..];
    masked(&out, &in_commands(&out))
}

/// Where values of variants hold secrets, and what stands there instead.
fn of_variants(document: &DeTable<'_>) -> Vec<(Range<usize>, String)> {
    let variants = document.get("variant").and_then(|it| it.get_ref().as_array());
    let mut masks = Vec::new();
    for variant in variants.into_iter().flat_map(|all| all.iter()) {
        let section = |name: &str| {
            let table = variant.get_ref().as_table().and_then(|it| it.get(name));
            table.and_then(|it| it.get_ref().as_table()).into_iter().flatten()
        };
        for (name, value) in section("set") {
            if is_secret(name.get_ref()) {
                masks.push((value.span(), MASK.to_owned()));
            }
        }
        for (_, value) in section("options").filter(|(name, _)| name.get_ref() == HEADER) {
            masks.extend(without_secret(value));
        }
    }
    masks
}

/// The header line `value` without its secret, when it has one.
fn without_secret(value: &Spanned<DeValue<'_>>) -> Option<(Range<usize>, String)> {
    let line = value.get_ref().as_str()?;
    let found = in_header_line(line);
    (!found.is_empty()).then(|| (value.span(), masked(line, &found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentFile;

    #[test]
    fn values_of_variants_are_masked_and_all_else_stays() {
        let file = r#"# rounds
rounds = 6
[[variant]]
name = "key"
words = "--header 'X-Api-Key: s3cret'"
options = { header = "X-Api-Key: s3cret \"s3cret\"", nagle = true }
set = { api_key = 's3cret', "pin" = 5678, pool = 20 }
[[variant]]
name = "plain"
[variant.options]
header = 'Accept: text/html'
[variant.set]
token = """
s3cret"""
[[factor]]
name = "session"
levels = [1, 10]
"#;
        let masked = without_secrets(file);
        assert!(!masked.contains("s3cret") && !masked.contains("5678"), "{masked}");
        let kept = ["# rounds\nrounds = 6", "nagle = true", "pool = 20", "'Accept: text/html'"];
        for kept in kept.iter().chain(&["levels = [1, 10]"]) {
            assert!(masked.contains(kept), "{kept}: {masked}");
        }
        let read: ExperimentFile = toml::from_str(&masked).unwrap();
        let [key, _] = &read.variant[..] else { panic!("{masked}") };
        assert_eq!(key.options["header"].get_ref().to_string(), "X-Api-Key: MASKED");
        assert_eq!(key.set["api_key"].get_ref().to_string(), "MASKED");
        assert_eq!(without_secrets(&masked), masked);
    }

    #[test]
    fn a_ladder_and_what_is_no_toml_lose_the_secrets_of_their_commands() {
        for (text, expected) in [
            (
                "[ladder]\nrun = \"http load --header X-Token:a\"\npools = { session = 5 }\n",
                "[ladder]\nrun = \"http load --header X-Token:MASKED\"\npools = { session = 5 }\n",
            ),
            ("run = --header X-Token:a b", "run = --header X-Token:MASKED b"),
            ("variant = 1\n", "variant = 1\n"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }
}
