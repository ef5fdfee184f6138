//! Counts that are read more seldom than the samples they stand in are taken: each stands for the
//! time since the one before, and so for all samples between.

use std::collections::VecDeque;

use crate::track::{Counter, TrackPlace};

/// Places that wait for their counts at most; a count that comes later leaves them without.
const HELD_MAX: usize = 1_024;

/// One sample.
pub(crate) struct Line<const N: usize> {
    /// Time for which it stands, seconds.
    pub(crate) interval_s: f64,
    /// The counts that were read with it.
    pub(crate) counts: [Option<f64>; N],
    /// Its place in the track; `None` before the run.
    pub(crate) place: Option<TrackPlace>,
}

/// The places that wait for counts.
pub(crate) struct Backlog<const N: usize> {
    /// Which figure each count makes; `None` for one that is not recorded.
    counters: [Option<Counter>; N],
    held: VecDeque<TrackPlace>,
    /// Seconds since each count was last read.
    since_s: [f64; N],
    /// Places at the front that have each.
    settled: [usize; N],
}

impl<const N: usize> Backlog<N> {
    pub(crate) fn new(counters: [Option<Counter>; N]) -> Self {
        Self { counters, held: VecDeque::new(), since_s: [0.0; N], settled: [0; N] }
    }

    /// Takes a sample, and hands over the places that are complete.
    pub(crate) fn add(&mut self, line: &Line<N>, mut complete: impl FnMut(TrackPlace)) {
        self.held.extend(line.place);
        for at in 0..N {
            self.since_s[at] += line.interval_s;
            let (Some(counter), Some(count)) = (self.counters[at], line.counts[at]) else {
                continue;
            };
            let rate = count / self.since_s[at];
            for place in self.held.iter_mut().skip(self.settled[at]) {
                place.values[counter as usize] = rate;
            }
            self.settled[at] = self.held.len();
            self.since_s[at] = 0.0;
        }
        let recorded = self.counters.iter().zip(&self.settled).filter(|(it, _)| it.is_some());
        let settled = recorded.map(|(_, settled)| *settled).min();
        let settled = settled.filter(|_| self.held.len() <= HELD_MAX).unwrap_or(self.held.len());
        self.held.drain(..settled).for_each(&mut complete);
        for each in &mut self.settled {
            *each = each.saturating_sub(settled);
        }
    }

    /// Hands over the places that have waited in vain.
    pub(crate) fn end(self, complete: impl FnMut(TrackPlace)) {
        self.held.into_iter().for_each(complete);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: u32, counts: [Option<f64>; 2]) -> Line<2> {
        let from_s = f64::from(at) / 4.0;
        let place = TrackPlace { from_s, to_s: from_s + 0.25, values: [f64::NAN; 9] };
        Line { interval_s: 0.25, counts, place: Some(place) }
    }

    fn rates(lines: Vec<Line<2>>, counters: [Option<Counter>; 2]) -> Vec<[String; 2]> {
        let mut places = Vec::new();
        let mut backlog = Backlog::new(counters);
        for line in lines {
            backlog.add(&line, |place| places.push(place));
        }
        backlog.end(|place| places.push(place));
        let of = |place: &TrackPlace, counter: Counter| place.values[counter as usize].to_string();
        let both = [Counter::Swapped, Counter::SentAgain];
        places.iter().map(|place| both.map(|counter| of(place, counter))).collect()
    }

    #[test]
    fn a_count_stands_for_all_samples_since_the_one_before() {
        let both = [Some(Counter::Swapped), Some(Counter::SentAgain)];
        let lines = vec![
            line(0, [Some(0.0), Some(1.0)]),
            line(1, [None, Some(2.0)]),
            line(2, [None, None]),
            line(3, [Some(6.0), Some(5.0)]),
            line(4, [None, Some(0.0)]),
        ];
        let found = rates(lines, both);
        let expected = [["0", "4"], ["8", "8"], ["8", "10"], ["8", "10"], ["NaN", "0"]]
            .map(|both| both.map(str::to_owned));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_recorded_holds_nothing_up() {
        let mut backlog = Backlog::new([None, Some(Counter::SentAgain)]);
        let mut complete = 0;
        backlog.add(&line(0, [None, Some(1.0)]), |_| complete += 1);
        assert_eq!(complete, 1);
    }

    #[test]
    fn a_count_that_never_comes_holds_no_more_than_a_bounded_number_up() {
        let mut backlog = Backlog::new([Some(Counter::Swapped), None]);
        let mut complete = 0;
        for at in 0..3_000 {
            backlog.add(&line(at, [None, None]), |_| complete += 1);
        }
        assert!(complete >= 3_000 - HELD_MAX, "{complete}");
    }
}
