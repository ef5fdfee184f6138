//! Texts of one byte a character, as browsers read them.

/// What stands in windows-1252 for the bytes 0x80 to 0x9f.
///
/// # Source
/// WHATWG, Encoding Standard, index windows-1252.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// True where a content type, in lower case, names such a charset.
///
/// # Source
/// WHATWG, Encoding Standard, 4.2: ISO-8859-1 is another name of windows-1252.
pub(crate) fn is_named_in(mime: &str) -> bool {
    let charset = mime.split(';').filter_map(|parameter| parameter.split_once('='));
    let charset = charset.filter(|(name, _)| name.trim() == "charset");
    let mut names = charset.map(|(_, value)| value.trim().trim_matches('"'));
    names.any(|name| ["iso-8859-1", "latin1", "windows-1252"].contains(&name))
}

/// The text of `bytes`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        byte => char::from(*byte),
    };
    bytes.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_character() {
        assert_eq!(text(b"\x805 \x84gr\xfcn\x93 \x96 \x9f\x81"), "€5 „grün“ – Ÿ\u{81}");
        assert!(is_named_in("text/xml; a=b; charset=\"iso-8859-1\""));
        assert!(!is_named_in("text/html") && !is_named_in("text/html; charset=iso-8859-15"));
    }
}
