//! Regular expressions of Java and Perl, as far as ours mean the same.

use regex::bytes::RegexBuilder;

/// `expression` as a scenario writes it.
///
/// # Errors
/// Why it cannot be written, in words.
pub(crate) fn carried(expression: &str) -> Result<String, String> {
    if is_possessive(expression) {
        return Err("its expression is possessive, which is not possible here".into());
    }
    match understood(expression) {
        Ok(()) => Ok(expression.to_owned()),
        // to others a brace that counts nothing is a character
        Err(why) => {
            let escaped = with_plain_braces(expression);
            understood(&escaped).map(|()| escaped).map_err(|_| why)
        }
    }
}

/// `text` as an expression that matches it and nothing else.
pub(crate) fn of_text(text: &str) -> String {
    regex::escape(text)
}

fn understood(expression: &str) -> Result<(), String> {
    let built = RegexBuilder::new(expression).unicode(false).build();
    built.map(|_| ()).map_err(|error| {
        // the expression with a mark below it stands in lines of its own
        let words = error.to_string();
        let last = words.lines().last().unwrap_or_default();
        format!("its expression is not understood: {}", last.trim_start_matches("error: "))
    })
}

/// True for `a*+` and its like: they would be read as something else.
fn is_possessive(expression: &str) -> bool {
    let bytes = expression.as_bytes();
    let (mut at, mut in_class) = (0, false);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'\\', _) => at += 1,
            (b'[', _) => in_class = true,
            (b']', _) => in_class = false,
            (b'*' | b'+' | b'?' | b'}', b'+') if !in_class => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// A backslash before each `{` that begins no count.
fn with_plain_braces(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len());
    let mut escaped = false;
    for (at, c) in expression.char_indices() {
        if c == '{' && !escaped && !begins_count(&expression[at + 1..]) {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// True for `3}`, `3,}` and `3,4}`.
fn begins_count(rest: &str) -> bool {
    let Some((inner, _)) = rest.split_once('}') else { return false };
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_means_the_same_stays() {
        for expression in ["a(.+?)b", r#""id": "(\d{2,})""#, "[*+]+", r"\*+x?", "a{2}b"] {
            assert_eq!(carried(expression).as_deref(), Ok(expression));
        }
        assert_eq!(carried(r#"{"id":(\d+)}"#).as_deref(), Ok(r#"\{"id":(\d+)}"#));
        assert_eq!(carried(&of_text("a.{b}")).as_deref(), Ok(r"a\.\{b\}"));
    }

    #[test]
    fn what_ours_cannot_do_is_said() {
        for (expression, words) in [
            ("a(?=b)", "look-around"),
            (r"(a)\1", "backreferences"),
            ("a*+", "possessive"),
            ("a(", "unclosed group"),
        ] {
            let why = carried(expression).unwrap_err();
            assert!(why.contains(words), "{expression}: {why}");
        }
    }

    proptest! {
        #[test]
        fn what_is_carried_is_understood(text in "(\\PC|[{}\\[\\]()*+?\\\\|0-9,]){0,20}") {
            if let Ok(expression) = carried(&text) {
                prop_assert_eq!(understood(&expression), Ok(()));
            }
            prop_assert_eq!(understood(&of_text(&text)), Ok(()));
        }
    }
}
