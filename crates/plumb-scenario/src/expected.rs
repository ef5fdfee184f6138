//! The statuses that count as correct answers.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A set of status codes, written `2xx`, `200,304` or `200,3xx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    text: String,
    /// One bit a code, from 0 to 1023.
    codes: [u64; 16],
}

/// Why a text names no statuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no status: write codes such as 200, or classes such as 2xx")]
pub struct NoStatus {
    text: String,
}

impl Expected {
    /// Every status.
    #[must_use]
    pub fn any() -> Self {
        Self { text: "any".into(), codes: [u64::MAX; 16] }
    }

    /// True when `status` is among them.
    #[must_use]
    #[inline]
    pub fn has(&self, status: u16) -> bool {
        self.codes.get(usize::from(status >> 6)).is_some_and(|bits| bits >> (status & 63) & 1 == 1)
    }

    fn add(&mut self, status: u16) {
        if let Some(bits) = self.codes.get_mut(usize::from(status >> 6)) {
            *bits |= 1 << (status & 63);
        }
    }
}

impl FromStr for Expected {
    type Err = NoStatus;

    fn from_str(text: &str) -> Result<Self, NoStatus> {
        let mut expected = Self { text: text.into(), codes: [0; 16] };
        for word in text.split(',') {
            let wrong = || NoStatus { text: word.into() };
            match word.strip_suffix("xx") {
                Some(class) => {
                    let class: u16 = class.parse().map_err(|_| wrong())?;
                    if !(1..=9).contains(&class) {
                        return Err(wrong());
                    }
                    (class * 100..(class + 1) * 100).for_each(|code| expected.add(code));
                }
                None => {
                    let code: u16 = word.parse().map_err(|_| wrong())?;
                    if !(100..=999).contains(&code) {
                        return Err(wrong());
                    }
                    expected.add(code);
                }
            }
        }
        Ok(expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Expected {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_classes_are_told_apart() {
        let expected: Expected = "2xx,304".parse().unwrap();
        assert!([200, 204, 299, 304].into_iter().all(|code| expected.has(code)));
        assert!([0, 199, 300, 303, 401, 999, u16::MAX].into_iter().all(|code| !expected.has(code)));
        assert_eq!(expected.to_string(), "2xx,304");
        assert!(Expected::any().has(401));
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for text in ["", "xx", "0xx", "20x", "99", "1000", "200,", "ok", "-1"] {
            assert!(text.parse::<Expected>().is_err(), "{text}");
        }
    }
}
