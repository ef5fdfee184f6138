//! Pairs as forms and queries write them: `a=1&b=2`.

use crate::har::model::Pair;

/// The pairs of `text`, decoded. What has no `=` is a name without a value.
pub(crate) fn pairs(text: &str) -> Vec<Pair> {
    let parts = text.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Pair { name: decoded(name), value: decoded(value) }
        })
        .collect()
}

/// `text` with its `+` and percent signs resolved. A percent sign that begins no pair of digits
/// stands for itself, and bytes that are not UTF-8 become replacement characters.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, length) = match (first, behind) {
            (b'+', _) => (b' ', 1),
            (b'%', [high, low, ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'%', 1),
            },
            (byte, _) => (*byte, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_read(text in r"(\PC|[&=%+0-9a-f]){0,40}") {
            let found = pairs(&text);
            prop_assert!(found.len() <= text.len());
            prop_assert!(!text.contains('=') || !found.is_empty());
        }
    }

    #[test]
    fn pairs_are_decoded() {
        let pair = |name: &str, value: &str| Pair { name: name.into(), value: value.into() };
        assert_eq!(
            pairs("a=1&b%20c=x+y%3D&&empty=&flag&u=%C3%BC"),
            [
                pair("a", "1"),
                pair("b c", "x y="),
                pair("empty", ""),
                pair("flag", ""),
                pair("u", "ü")
            ]
        );
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%4"), "%zz%4");
        assert_eq!(decoded("%ff"), "\u{fffd}");
    }
}
