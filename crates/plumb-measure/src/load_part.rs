//! A load that several processes or machines drive together.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several parts of a load, each driven by a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, try_from = "Form")]
pub struct LoadPart {
    /// From 0.
    index: u32,
    of: NonZeroU32,
}

/// As it is written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    index: u32,
    of: NonZeroU32,
}

impl TryFrom<Form> for LoadPart {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Self, Self::Error> {
        let Form { index, of } = form;
        if index < of.get() { Ok(Self { index, of }) } else { Err("a part behind the last one") }
    }
}

impl Default for LoadPart {
    /// All of it.
    fn default() -> Self {
        Self { index: 0, of: NonZeroU32::MIN }
    }
}

impl FromStr for LoadPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| {
            let number = number.parse::<NonZeroU32>().ok()?;
            Some((number, of.parse::<NonZeroU32>().ok().filter(|of| number <= *of)?))
        });
        match numbers {
            Some((number, of)) => Ok(Self { index: number.get() - 1, of }),
            None => Err("expected I/N, such as 2/4".into()),
        }
    }
}

impl LoadPart {
    /// How many parts there are.
    #[must_use]
    pub fn of(self) -> NonZeroU32 {
        self.of
    }

    /// This part of `count` things: together all of them, none twice.
    #[must_use]
    pub fn count(self, count: u64) -> u64 {
        let (of, index) = (u64::from(self.of.get()), u64::from(self.index));
        count / of + u64::from(index < count % of)
    }

    /// This part of `connections`, one at least; see [`holds`](Self::holds).
    #[must_use]
    pub fn connections(self, connections: NonZeroUsize) -> NonZeroUsize {
        let mine = usize::try_from(self.count(connections.get() as u64)).ok();
        mine.and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
    }

    /// True when every part of `count` things has one at least.
    #[must_use]
    pub fn holds(self, count: u64) -> bool {
        count >= u64::from(self.of.get())
    }

    /// The number among all parts of what this one calls `number`: they are dealt in turn.
    #[must_use]
    pub fn number(self, number: u64) -> u64 {
        u64::from(self.index) + number * u64::from(self.of.get())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_read_or_refused() {
        assert_eq!("2/4".parse::<LoadPart>().unwrap().count(10), 3);
        for wrong in ["", "0/4", "5/4", "1/0", "1", "a/b"] {
            assert!(wrong.parse::<LoadPart>().is_err(), "{wrong}");
        }
        let part: LoadPart = serde_json::from_str(r#"{"index":3,"of":4}"#).unwrap();
        assert_eq!(part, "4/4".parse().unwrap());
        assert!(serde_json::from_str::<LoadPart>(r#"{"index":4,"of":4}"#).is_err());
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(count in 0_u32..10_000, of in 1_u32..300) {
            let of = NonZeroU32::new(of).unwrap();
            let parts: Vec<LoadPart> = (0..of.get()).map(|index| LoadPart { index, of }).collect();
            let counts: Vec<u64> = parts.iter().map(|part| part.count(u64::from(count))).collect();
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
            // dealt in turn, each number is one part's
            let mut numbers: Vec<u64> = parts
                .iter()
                .zip(counts)
                .flat_map(|(part, count)| (0..count).map(|number| part.number(number)))
                .collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..u64::from(count)).collect::<Vec<_>>());
        }
    }
}
