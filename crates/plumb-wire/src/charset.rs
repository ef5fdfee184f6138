//! Texts of one byte a character, as browsers read them.

/// What stands in windows-1252 for the bytes 0x80 to 0x9f.
///
/// # Source
/// WHATWG, Encoding Standard, index windows-1252.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Other names of windows-1252.
const WINDOWS_NAMES: [&str; 10] = [
    "windows-1252",
    "cp1252",
    "x-cp1252",
    "iso-8859-1",
    "iso8859-1",
    "iso_8859-1",
    "latin1",
    "l1",
    "us-ascii",
    "ascii",
];
/// Names of ISO-8859-15.
const LATIN_9_NAMES: [&str; 4] = ["iso-8859-15", "iso8859-15", "iso_8859-15", "l9"];

/// A charset of one byte a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// windows-1252, and what is taken for it.
    Windows1252,
    /// ISO-8859-15.
    Latin9,
}

impl Charset {
    /// That of content with this `Content-Type`; `None` where it names none, or another.
    ///
    /// # Source
    /// WHATWG, Encoding Standard, 4.2: ISO-8859-1 is another name of windows-1252.
    #[must_use]
    pub fn of(content_type: &str) -> Option<Self> {
        let mut parameters = content_type.split(';').filter_map(|it| it.split_once('='));
        let (_, name) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
        let name = name.trim().trim_matches('"');
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        if WINDOWS_NAMES.iter().any(is) {
            Some(Self::Windows1252)
        } else if LATIN_9_NAMES.iter().any(is) {
            Some(Self::Latin9)
        } else {
            None
        }
    }

    /// The text of `bytes`.
    #[must_use]
    pub fn text(self, bytes: &[u8]) -> String {
        let one = match self {
            Self::Windows1252 => windows,
            Self::Latin9 => latin_9,
        };
        bytes.iter().map(|byte| one(*byte)).collect()
    }
}

fn windows(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

/// # Source
/// WHATWG, Encoding Standard, index iso-8859-15: eight are others than those of ISO-8859-1.
fn latin_9(byte: u8) -> char {
    match byte {
        0xa4 => '€',
        0xa6 => 'Š',
        0xa8 => 'š',
        0xb4 => 'Ž',
        0xb8 => 'ž',
        0xbc => 'Œ',
        0xbd => 'œ',
        0xbe => 'Ÿ',
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content_type: &str, bytes: &[u8]) -> Option<String> {
        Charset::of(content_type).map(|charset| charset.text(bytes))
    }

    #[test]
    fn every_byte_has_its_character() {
        let windows =
            text("text/xml; a=b; Charset=\"ISO-8859-1\"", b"\x805 \x84gr\xfcn\x93 \x96 \x9f\x81");
        assert_eq!(windows.as_deref(), Some("€5 „grün“ – Ÿ\u{81}"));
        let latin_9 = text("text/html; charset=iso-8859-15", b"\xa45 gr\xfcn \xbd\x80");
        assert_eq!(latin_9.as_deref(), Some("€5 grün œ\u{80}"));
        assert!(Charset::of("text/html").is_none());
        assert!(Charset::of("text/html; charset=iso-8859-2").is_none());
    }
}
