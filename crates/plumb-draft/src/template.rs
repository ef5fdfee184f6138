//! Texts as a scenario writes them.

/// `text` as a template that stands for itself.
#[must_use]
pub fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// The template of a variable.
#[must_use]
pub fn variable(name: &str) -> String {
    format!("${{{name}}}")
}

/// `name` as variables of a scenario are called: letters, digits and `_`, no digit in front.
#[must_use]
pub fn variable_name(name: &str) -> String {
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
