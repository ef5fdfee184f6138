//! Texts as a scenario writes them, and as a form or a query does.

use std::fmt::Write as _;

/// `text` as a template that stands for itself.
pub(crate) fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// The template of a variable.
pub(crate) fn variable(name: &str) -> String {
    format!("${{{name}}}")
}

/// `text` as `application/x-www-form-urlencoded` has it.
///
/// # Source
/// URL Standard, section 5.2.
pub(crate) fn form_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}"); // a String takes everything
            }
        }
    }
    out
}

/// `name` as variables of a scenario are called: letters, digits and `_`, no digit in front.
pub(crate) fn variable_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.trim().chars().map(plain).collect();
    match name.chars().next() {
        None => "_".into(),
        Some('0'..='9') => format!("_{name}"),
        Some(_) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_variable_stays_text() {
        assert_eq!(literal("a ${b} $ {c}"), "a $${b} $ {c}");
    }

    #[test]
    fn forms_are_encoded_as_browsers_do() {
        assert_eq!(form_encoded("a b&c=\u{e9}/*"), "a+b%26c%3D%C3%A9%2F*");
    }

    #[test]
    fn any_name_becomes_one_of_a_variable() {
        for (name, expected) in [
            ("user.name", "user_name"),
            ("1st", "_1st"),
            ("", "_"),
            ("x-csrf-token", "x_csrf_token"),
        ] {
            assert_eq!(variable_name(name), expected);
        }
    }
}
