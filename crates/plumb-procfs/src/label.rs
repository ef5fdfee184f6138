//! Names of things of the kernel, kept in place: a sample with hundreds of them allocates nothing.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name that is kept; the kernel's own names of disks and interfaces are no longer.
const LENGTH_MAX: usize = 31;

/// A name of up to 31 bytes of UTF-8. Control characters, those that are not seen or turn the
/// direction of text, and bytes that are no UTF-8 become `?`, so that a name can neither garble a
/// terminal nor a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    bytes: [u8; LENGTH_MAX],
    length: u8, // at most LENGTH_MAX
}

impl Label {
    /// The name in `bytes`, cut to whole characters within 31 bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut label = Self::default();
        for chunk in bytes.utf8_chunks() {
            let shown = chunk.valid().chars().map(|c| if is_shown(c) { c } else { '?' });
            for c in shown.chain(chunk.invalid().iter().map(|_| '?')) {
                if !label.push(c) {
                    return label;
                }
            }
        }
        label
    }

    /// Appends `c`; false when there is no room for it.
    fn push(&mut self, c: char) -> bool {
        let Some(room) = self.bytes.get_mut(usize::from(self.length)..) else { return false };
        if room.len() < c.len_utf8() {
            return false;
        }
        for _ in c.encode_utf8(room).bytes() {
            self.length += 1;
        }
        true
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// The name as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// False for control characters, and for those that take no room or turn the direction of text.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(String::deserialize(deserializer)?.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_printable_and_bounded() {
        assert_eq!(Label::new(b"eth0").as_str(), "eth0");
        assert_eq!(Label::new(b"\x1b[2Jx").as_str(), "?[2Jx");
        assert_eq!(Label::new(&[b'a'; 99]).as_str().len(), 31);
        assert_eq!(format!("{:>6}", Label::new(b"sda")), "   sda");
        assert_eq!(Label::new("\u{202e}a\u{85}\u{200b}".as_bytes()).as_str(), "?a??");
    }

    #[test]
    fn a_name_in_another_script_stays_and_is_cut_to_whole_characters() {
        assert_eq!(Label::new("ä€ß".as_bytes()).as_str(), "ä€ß");
        assert_eq!(Label::new(b"\xffx\xc3").as_str(), "?x?");
        let long = Label::new("€".repeat(20).as_bytes());
        assert_eq!(long.as_str(), "€".repeat(10));
        assert_eq!(Label::new(long.as_bytes()), long);
    }
}
