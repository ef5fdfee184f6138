//! Statements in the form in which `performance_schema` keeps them.

/// A statement without values, spaces and quotes of names, so that it is told again in the form that the
/// server keeps.
#[must_use]
pub fn squeezed(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        match next {
            quote @ ('\'' | '"') => {
                while let Some(inner) = chars.next() {
                    match inner {
                        '\\' => {
                            chars.next();
                        }
                        it if it == quote && chars.next_if_eq(&quote).is_none() => break,
                        _ => {}
                    }
                }
                out.push('?');
            }
            digit if digit.is_ascii_digit() && !out.ends_with(is_of_name) => {
                while chars.next_if(|it| it.is_ascii_alphanumeric() || *it == '.').is_some() {}
                out.push('?');
            }
            '`' => {}
            it if it.is_whitespace() => {
                // a space keeps a number from being the end of the name before it
                if out.ends_with(is_of_name) {
                    out.push(' ');
                }
            }
            it => out.extend(it.to_lowercase()),
        }
    }
    out.retain(|it| it != ' ');
    out
}

fn is_of_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_' || it == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_told_again_in_the_form_that_the_server_keeps() {
        for (asked, kept) in [
            ("SELECT 1", "SELECT ? "),
            ("select a1 from t where b = 'it''s'", "SELECT `a1` FROM `t` WHERE `b` = ? "),
            ("SELECT REPEAT(MD5(\"x\\\"y\"), 3)", "SELECT REPEAT ( `MD5` (?) , ? ) "),
            ("select 2 from t2", "SELECT ? FROM `t2` "),
        ] {
            assert_eq!(squeezed(asked), squeezed(kept), "{asked}");
        }
        assert_ne!(squeezed("select 1 from a"), squeezed("select ? from `b`"));
    }

    proptest::proptest! {
        #[test]
        fn no_statement_brings_it_down(text in "[-'\"`a-z0-9 \\\\.é]{0,40}") {
            let _ = squeezed(&text);
        }
    }
}
