//! The declaration that an XML document may begin with.

/// Its parts, in their order.
const PARTS: [&str; 3] = ["version", "encoding", "standalone"];

/// The encoding that `declaration` names, which is what stands between `<?` and `?>`.
///
/// # Errors
/// What is wrong with it.
///
/// # Source
/// XML 1.0, productions 23 to 26, 32, 80 and 81.
pub(super) fn encoding_of(declaration: &str) -> Result<Option<&str>, String> {
    let wrong = |problem: &str| Err(format!("an XML declaration {problem}"));
    let mut rest = declaration.strip_prefix("xml").unwrap_or(declaration);
    let (mut next, mut encoding) = (0, None);
    loop {
        let part = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if part.is_empty() {
            break;
        }
        let is_apart = part.len() < rest.len();
        let named = part.split_once('=').map(|(name, value)| (name.trim_end(), value.trim_start()));
        let quoted = named.and_then(|(name, value)| {
            let quote = value.chars().next().filter(|char| matches!(char, '"' | '\''))?;
            let (value, behind) = value[1..].split_once(quote)?;
            Some((name, value, behind))
        });
        let Some((name, value, behind)) = quoted.filter(|_| is_apart) else {
            return wrong("that is not written as version=\"1.0\" encoding=\"UTF-8\"");
        };
        let Some(place) = PARTS.iter().position(|it| *it == name) else {
            return wrong(&format!("with `{name}`, which belongs to none"));
        };
        if place < next || (next == 0 && place > 0) {
            return wrong(
                "without a version, or in another order than version, encoding, standalone",
            );
        }
        if !is_value(place, value) {
            return wrong(&format!("with `{value}`, which is no {name}"));
        }
        if place == 1 {
            encoding = Some(value);
        }
        (next, rest) = (place + 1, behind);
    }
    if next == 0 { wrong("without a version") } else { Ok(encoding) }
}

fn is_value(place: usize, value: &str) -> bool {
    match place {
        0 => value.strip_prefix("1.").is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        }),
        1 => {
            let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            value.starts_with(|char: char| char.is_ascii_alphabetic()) && value.bytes().all(goes_on)
        }
        _ => ["yes", "no"].contains(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_its_parts_in_their_order() {
        for (text, encoding) in [
            ("xml version='1.0'", None),
            ("xml version=\"1.1\" ", None),
            ("xml\n version = '1.0'\tencoding = \"utf-8\" standalone='yes' ", Some("utf-8")),
            ("xml version='1.0' standalone='no'", None),
        ] {
            assert_eq!(encoding_of(text), Ok(encoding), "{text}");
        }
        for (text, problem) in [
            ("xml", "without a version"),
            ("xml encoding='utf-8'", "without a version"),
            ("xml version='2.0'", "`2.0`, which is no version"),
            ("xml version='1.'", "`1.`, which is no version"),
            ("xml version='1.0' standalone='maybe'", "`maybe`, which is no standalone"),
            ("xml version='1.0' encoding=''", "``, which is no encoding"),
            ("xml version='1.0' standalone='no' encoding='utf-8'", "another order"),
            ("xml version='1.0' version='1.0'", "another order"),
            ("xml version='1.0'encoding='utf-8'", "not written as"),
            ("xml version=1.0", "not written as"),
            ("xml version='1.0\"", "not written as"),
            ("xml version='1.0' x='1'", "`x`, which belongs to none"),
        ] {
            let told = encoding_of(text).unwrap_err();
            assert!(
                told.starts_with("an XML declaration ") && told.contains(problem),
                "{text}: {told}"
            );
        }
    }
}
