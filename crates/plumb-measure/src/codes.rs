//! Status codes, counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds::{COUNT_MAX, TooMany};

/// How often each status code came; a handful of codes, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<u16, u64>", into = "BTreeMap<u16, u64>")]
pub struct Codes {
    counts: Vec<(u16, u64)>,
}

impl Codes {
    /// Counts `n` answers with `code`.
    pub fn count(&mut self, code: u16, n: u64) {
        match self.counts.binary_search_by_key(&code, |(known, _)| *known) {
            Ok(at) => self.counts[at].1 += n,
            Err(at) => self.counts.insert(at, (code, n)),
        }
    }

    /// True when no code came.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The codes that came, ascending, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.counts.iter().copied()
    }
}

impl TryFrom<BTreeMap<u16, u64>> for Codes {
    type Error = TooMany;

    fn try_from(counts: BTreeMap<u16, u64>) -> Result<Self, TooMany> {
        match counts.values().find(|n| **n > COUNT_MAX) {
            Some(n) => Err(TooMany(*n)),
            None => Ok(Self { counts: counts.into_iter().collect() }),
        }
    }
}

impl From<Codes> for BTreeMap<u16, u64> {
    fn from(codes: Codes) -> Self {
        codes.counts.into_iter().collect()
    }
}
