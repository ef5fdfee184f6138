//! Texts that come from outside.

use serde::{Deserialize, Deserializer, de};

/// A text without control characters: neither database takes all of them, and no document shows
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(String);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match text.chars().find(char::is_ascii_control) {
            None => Ok(Self(text)),
            Some(found) => Err(de::Error::custom(format!(
                "a text holds the control character U+{:04X}: leave it out",
                u32::from(found)
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_refused_by_their_number() {
        let read = |json: &str| serde_json::from_str::<Text>(json).map_err(|it| it.to_string());
        assert_eq!(read("\"C-1 ä\"").unwrap().as_str(), "C-1 ä");
        for (json, code) in
            [("\"a\\u0000b\"", "U+0000"), ("\"a\\n\"", "U+000A"), ("\"\\u007f\"", "U+007F")]
        {
            assert!(read(json).unwrap_err().contains(code), "{json}");
        }
    }
}
