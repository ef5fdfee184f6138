//! A load that several processes or machines drive together.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use plumb_measure::Rate;

/// Remotes that are started on this machine at most.
const LOCAL_MAX: u32 = 256;

/// Which remotes are to drive a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteSelector {
    /// So many processes on this machine, started for it.
    Local(NonZeroU32),
}

impl FromStr for RemoteSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.strip_prefix("local:").and_then(|count| count.parse::<NonZeroU32>().ok());
        match count {
            Some(count) if count.get() <= LOCAL_MAX => Ok(Self::Local(count)),
            _ => Err(format!("expected local:N, with N from 1 to {LOCAL_MAX}")),
        }
    }
}

/// One of several parts of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadPart {
    /// From 0.
    index: u32,
    of: NonZeroU32,
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

    /// This part of a rate.
    #[must_use]
    pub fn rate(self, rate: Rate) -> Rate {
        rate.divided_by(self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_read_or_refused() {
        let local = "local:4".parse::<RemoteSelector>().unwrap();
        assert_eq!(local, RemoteSelector::Local(NonZeroU32::new(4).unwrap()));
        for wrong in ["", "local", "local:0", "local:257", "local:x", "4"] {
            assert!(wrong.parse::<RemoteSelector>().is_err(), "{wrong}");
        }
        assert_eq!("2/4".parse::<LoadPart>().unwrap().count(10), 3);
        for wrong in ["", "0/4", "5/4", "1/0", "1", "a/b"] {
            assert!(wrong.parse::<LoadPart>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_parts_are_the_whole(count: u32, of in 1_u32..300) {
            let of = NonZeroU32::new(of).unwrap();
            let parts = (0..of.get()).map(|index| LoadPart { index, of }.count(u64::from(count)));
            let parts: Vec<u64> = parts.collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), u64::from(count));
            prop_assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1);
        }
    }
}
