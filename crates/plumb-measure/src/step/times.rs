//! The times of operations and of their parts, added up by how long the operations took.

use serde::{Deserialize, Serialize};

use crate::bounds::{count, few};
use crate::told_names::{NAMES_MAX, moved};
use crate::{Moments, ServerTimes, TracedOperations};

/// Bands of a power of two: what is in a band differs by at most an eighth.
const BANDS_BITS: u32 = 3;
/// Bands kept at most: the last has everything from 39 hours on.
const BANDS_MAX: usize = 360;
/// Sums of a band that are kept apart, for how well their means are known.
pub(super) const LANES: usize = 8;
/// Operations go to the same lane for 67 ms, so that what neighbours have in common is in one.
const LANE_BITS: u32 = 26;

/// Sums of times in bands of like operations: memory grows with the number of bands that were met,
/// never with the number of operations, and two of them are put together exactly.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTimes {
    #[serde(deserialize_with = "few::<BANDS_MAX, _, _>")]
    bands: Vec<Band>,
    #[serde(skip_serializing_if = "TracedOperations::is_empty", default)]
    traced: TracedOperations,
}

/// Operations that took about as long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Band {
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "few::<LANES, _, _>")]
    lanes: Vec<Sums>, // none, or LANES
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) example: Option<Example>,
}

/// Times of several operations, added up, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sums {
    #[serde(deserialize_with = "count")]
    pub(super) count: u64,
    /// From the due time to the send.
    pub(super) due: u64,
    /// From the send to the first byte.
    pub(super) wait: u64,
    /// From the first byte to the last.
    pub(super) receive: u64,
    /// What the server told, by the number of each name.
    #[serde(deserialize_with = "few::<NAMES_MAX, _, _>")]
    pub(super) told: Vec<u64>,
}

/// One operation of a band, as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Example {
    /// The operation with the smallest number stands for its band: drawn from its moments, so that
    /// the order in which recorders are put together does not matter.
    draw: u64,
    pub(super) sums: Sums,
}

impl StepTimes {
    /// Adds an operation with these `moments`, whose answer told `told`.
    pub fn record(&mut self, moments: Moments, told: &ServerTimes) {
        if let Some(trace) = told.trace() {
            self.traced.record(trace, moments);
        }
        self.record_parts(moments, told.iter());
    }

    /// Adds an operation with these `moments`, that had these parts: the number of each, and
    /// nanoseconds.
    pub(crate) fn record_parts(
        &mut self,
        moments: Moments,
        parts: impl Iterator<Item = (usize, u64)> + Clone,
    ) {
        let response = moments.last.saturating_sub(moments.due);
        let number = band_of(response);
        if self.bands.len() <= number {
            self.bands.resize_with(number + 1, Band::default);
        }
        let band = &mut self.bands[number];
        if band.lanes.is_empty() {
            band.lanes.resize_with(LANES, Sums::default);
        }
        let lane = usize::try_from(moments.last >> LANE_BITS).unwrap_or(0) % LANES;
        band.lanes[lane].record(moments, parts.clone());
        let draw = drawn(moments);
        if band.example.as_ref().is_none_or(|known| draw < known.draw) {
            let mut sums = Sums::default();
            sums.record(moments, parts);
            band.example = Some(Example { draw, sums });
        }
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.bands.len() < other.bands.len() {
            self.bands.resize_with(other.bands.len(), Band::default);
        }
        for (mine, theirs) in self.bands.iter_mut().zip(&other.bands) {
            mine.merge(theirs);
        }
        self.traced.merge(&other.traced);
    }

    /// Gives what was told new numbers: at the place of each number its new one.
    pub fn renumber(&mut self, numbers: &[Option<usize>]) {
        for band in &mut self.bands {
            band.lanes.iter_mut().for_each(|lane| moved(&mut lane.told, numbers));
            if let Some(example) = &mut band.example {
                moved(&mut example.sums.told, numbers);
            }
        }
    }

    /// The operations that were sent with a trace.
    #[must_use]
    pub fn traced(&self) -> &TracedOperations {
        &self.traced
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.traced.clear();
        self.bands.iter_mut().for_each(Band::clear);
    }

    /// True when nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.met().next().is_none()
    }

    /// The bands with operations, the fastest first, each with its number.
    pub(super) fn met(&self) -> impl Iterator<Item = (usize, &Band)> {
        self.bands.iter().enumerate().filter(|(_, band)| band.count() > 0)
    }
}

/// What is in it counts, not how much room it has.
impl PartialEq for StepTimes {
    fn eq(&self, other: &Self) -> bool {
        self.met().eq(other.met()) && self.traced == other.traced
    }
}

impl Eq for StepTimes {}

impl Band {
    pub(super) fn count(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.count).fold(0, u64::saturating_add)
    }

    fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Sums::clear);
        self.example = None;
    }

    fn merge(&mut self, other: &Self) {
        if self.lanes.len() < other.lanes.len() {
            self.lanes.resize_with(other.lanes.len(), Sums::default);
        }
        self.lanes.iter_mut().zip(&other.lanes).for_each(|(mine, theirs)| mine.add(theirs));
        if let Some(theirs) = &other.example
            && self.example.as_ref().is_none_or(|mine| theirs.draw < mine.draw)
        {
            self.example = Some(theirs.clone());
        }
    }

    /// Adds its sums to those of `lanes`.
    pub(super) fn add_to(&self, lanes: &mut [Sums; LANES]) {
        lanes.iter_mut().zip(&self.lanes).for_each(|(sum, mine)| sum.add(mine));
    }
}

impl Sums {
    fn record(&mut self, moments: Moments, told: impl Iterator<Item = (usize, u64)>) {
        let add = |sum: &mut u64, from: u64, to: u64| {
            *sum = sum.saturating_add(to.saturating_sub(from));
        };
        self.count += 1;
        add(&mut self.due, moments.due, moments.sent);
        add(&mut self.wait, moments.sent, moments.first);
        add(&mut self.receive, moments.first, moments.last);
        for (name, ns) in told {
            self.room(name + 1);
            self.told[name] = self.told[name].saturating_add(ns);
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.due = self.due.saturating_add(other.due);
        self.wait = self.wait.saturating_add(other.wait);
        self.receive = self.receive.saturating_add(other.receive);
        self.room(other.told.len());
        for (mine, theirs) in self.told.iter_mut().zip(&other.told) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    fn room(&mut self, names: usize) {
        if self.told.len() < names {
            self.told.resize(names, 0);
        }
    }

    fn clear(&mut self) {
        let mut told = std::mem::take(&mut self.told);
        told.clear();
        *self = Self { told, ..Self::default() };
    }

    /// From the due time to the last byte.
    pub(super) fn whole(&self) -> u64 {
        self.due.saturating_add(self.wait).saturating_add(self.receive)
    }
}

/// The number of the band of operations that took `ns`.
fn band_of(ns: u64) -> usize {
    let octave = 63 - (ns | (1 << BANDS_BITS)).leading_zeros();
    let within = ns >> (octave - BANDS_BITS);
    // below 8 ns each has its own; from there on eight for each power of two
    let number = u64::from(octave - BANDS_BITS) * (1 << BANDS_BITS) + within;
    usize::try_from(number).unwrap_or(BANDS_MAX).min(BANDS_MAX - 1)
}

/// A number drawn from the moments of an operation.
///
/// # Source
/// The mixing of `SplitMix64`.
fn drawn(moments: Moments) -> u64 {
    let mut bits = moments.sent.rotate_left(32) ^ moments.last;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn moments((sent, wait, receive): (u64, u64, u64)) -> Moments {
        Moments { due: sent / 2, sent, first: sent + wait, last: sent + wait + receive }
    }

    fn recorded(operations: &[((u64, u64, u64), u64)]) -> StepTimes {
        let mut times = StepTimes::default();
        for (at, told_ns) in operations {
            let mut told = ServerTimes::default();
            assert!(told.push(1, *told_ns));
            times.record(moments(*at), &told);
        }
        times
    }

    #[test]
    fn like_operations_meet_in_one_band_and_bands_are_in_order() {
        let numbers: Vec<usize> = (0..64).map(|bits| band_of(1 << bits)).collect();
        assert!(numbers.is_sorted() && numbers[63] == BANDS_MAX - 1, "{numbers:?}");
        assert_eq!(band_of(1_000_000), band_of(1_030_000));
        assert_ne!(band_of(1_000_000), band_of(1_200_000));
        assert!((0..4_000_u64).map(band_of).is_sorted());
    }

    fn any_operations() -> impl Strategy<Value = Vec<((u64, u64, u64), u64)>> {
        let one = (0_u64..1 << 33, 0_u64..1 << 30, 0_u64..1 << 20);
        proptest::collection::vec((one, 0_u64..1 << 30), 0..60)
    }

    proptest! {
        #[test]
        fn parts_put_together_in_any_order_are_the_whole(
            one in any_operations(),
            other in any_operations(),
        ) {
            let whole = recorded(&[one.clone(), other.clone()].concat());
            let mut merged = recorded(&other);
            merged.merge(&recorded(&one));
            prop_assert_eq!(&merged, &whole);
            let text = serde_json::to_string(&whole).unwrap();
            prop_assert_eq!(&serde_json::from_str::<StepTimes>(&text).unwrap(), &whole);
            merged.clear();
            prop_assert!(merged.is_empty());
        }
    }
}
