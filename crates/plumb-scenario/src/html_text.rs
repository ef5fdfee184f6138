//! Character references of HTML: what a form holds is written with them.

use std::borrow::Cow;

/// Characters of a reference that are looked at: longer ones are none of those that are known.
const REFERENCE_MAX: usize = 10;

/// `text` with the characters that its references stand for. A reference that is not known stays as
/// it is.
///
/// # Source
/// HTML, sections 13.1.4 and 13.2.5.72, of named ones those that markup itself needs.
#[must_use]
pub fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let end = behind.bytes().take(REFERENCE_MAX).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&behind[..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &behind[end + 1..];
            }
            None => {
                out.push('&');
                rest = behind;
            }
        }
    }
    (out + rest).into()
}

fn character(reference: &str) -> Option<char> {
    if let Some(number) = reference.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| *character != '\0');
    }
    Some(match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_become_their_characters_and_everything_else_stays() {
        for (text, expected) in [
            ("/login?a=1&amp;b=2", "/login?a=1&b=2"),
            ("PHNhbWw&#43;&#x2B;&#x2b;=", "PHNhbWw+++="),
            ("&lt;&gt;&quot;&apos;&#39;", "<>\"''"),
            ("a & b &; &unknown; &#xD800; &#0; &amp", "a & b &; &unknown; &#xD800; &#0; &amp"),
            ("&amp;amp;", "&amp;"),
            ("none", "none"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(&|#|x|;|amp|[0-9a-f]|\\PC){0,30}") {
            let _ = decoded(&text);
        }
    }
}
