//! Pairs as forms and queries write them: `a=1&b=2`.

use plumb_wire::percent::form_decoded_lossy as decoded;

use plumb_scenario::har::Pair;

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
    }
}
