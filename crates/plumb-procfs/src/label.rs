//! Names of things of the kernel, kept in place: a sample with hundreds of them allocates nothing.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name that is kept; the kernel's own names of disks and interfaces are no longer.
const LENGTH_MAX: usize = 31;

/// A name of up to 31 printable ASCII characters. Anything else in it becomes `?`, so that a name
/// can neither garble a terminal nor a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    bytes: [u8; LENGTH_MAX],
    length: u8, // at most LENGTH_MAX
}

impl Label {
    /// The name in `bytes`, cut after 31 characters.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut label = Self::default();
        for (to, from) in label.bytes.iter_mut().zip(bytes) {
            *to = if (b' '..=b'~').contains(from) { *from } else { b'?' };
            label.length += 1;
        }
        label
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
    }
}
