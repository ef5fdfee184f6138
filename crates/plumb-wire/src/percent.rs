//! Percent signs in paths, queries and forms.
//!
//! # Source
//! RFC 3986, sections 2.1 and 2.3; URL Standard, section 5, for forms.

use std::borrow::Cow;
use std::fmt::Display;

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode, utf8_percent_encode,
};

/// Everything but letters, digits and `-._~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Everything but letters, digits and `*-._`; a space is written as `+`.
const RESERVED_IN_FORMS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b' ');
/// What a request line cannot hold.
const INVISIBLE: &AsciiSet = &CONTROLS.add(b' ');

/// `text` as a part of a path or a query, in pieces: everything but letters, digits and `-._~` is
/// encoded.
pub fn encoded(text: &str) -> impl Iterator<Item = &str> + Display {
    utf8_percent_encode(text, RESERVED)
}

/// `text` as a name or a value of a form.
#[must_use]
pub fn form_encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED_IN_FORMS).to_string().replace(' ', "+")
}

/// Visible ASCII as it is, everything else encoded.
pub(crate) fn visible(target: &str) -> String {
    utf8_percent_encode(target, INVISIBLE).to_string()
}

/// `bytes` as text: those that are no UTF-8 are encoded, one by one.
pub(crate) fn utf8_or_encoded(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text += chunk.valid();
        text.extend(percent_encode(chunk.invalid(), NON_ALPHANUMERIC));
    }
    Cow::Owned(text)
}

/// `text` without percent signs; `None` where what follows one is no pair of digits, or what comes
/// out is no UTF-8.
#[must_use]
pub fn decoded(text: &str) -> Option<Cow<'_, str>> {
    let is_pair = |behind: &str| {
        let pair = behind.as_bytes().get(..2);
        pair.is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
    };
    let sound = text.split('%').skip(1).all(is_pair);
    sound.then(|| percent_decode_str(text).decode_utf8().ok()).flatten()
}

/// A name or a value of a query or a form, where a plus sign means a space; otherwise as
/// [`decoded`].
#[must_use]
pub fn form_decoded(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        return decoded(&text.replace('+', " ")).map(|value| Cow::Owned(value.into_owned()));
    }
    decoded(text)
}

/// The same of whatever somebody sent: a percent sign that begins no pair of digits stands for
/// itself, and bytes that are not UTF-8 become replacement characters.
#[must_use]
pub fn form_decoded_lossy(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_plain_is_encoded() {
        assert_eq!(encoded("a-._~b c/\u{e9}+").to_string(), "a-._~b%20c%2F%C3%A9%2B");
        assert_eq!(form_encoded("a b&c=\u{e9}/*~+"), "a+b%26c%3D%C3%A9%2F*%7E%2B");
        assert_eq!(visible("/a b%20\u{e9}\u{7f}?c=d"), "/a%20b%20%C3%A9%7F?c=d");
    }

    #[test]
    fn percent_signs_are_read() {
        assert_eq!(decoded("a%20b%27+").unwrap(), "a b'+");
        assert_eq!(form_decoded("a+b%2B").unwrap(), "a b+");
        for wrong in ["%", "%2", "%zz", "%ff", "%+1", "%%41", "+%"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
            assert_eq!(form_decoded(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whatever_was_sent_becomes_text() {
        for (sent, text) in [
            ("x+y%3D", "x y="),
            ("%C3%BC", "\u{fc}"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(form_decoded_lossy(sent), text);
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(text: String) {
            let (plain, form) = (encoded(&text).to_string(), form_encoded(&text));
            prop_assert_eq!(decoded(&plain).unwrap(), text.as_str());
            prop_assert_eq!(form_decoded(&form).unwrap(), text.as_str());
            prop_assert_eq!(form_decoded_lossy(&form), text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in r"(\PC|[%+0-9a-f]){0,40}") {
            let lossy = form_decoded_lossy(&text);
            if let Some(strict) = form_decoded(&text) {
                prop_assert_eq!(strict, lossy);
            }
        }
    }
}
