//! What happens when: a calendar of events.
//!
//! # Source
//! Brown, Calendar queues: a fast O(1) priority queue implementation for the simulation event set
//! problem, CACM 1988. The days of a year are buckets without an order. One is sorted when it begins:
//! what is added to it from then on stands in a heap beside it, and what lies beyond the year in another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Days of a year; a power of two.
const DAYS: u64 = 1 << 16;

/// A moment, seconds from 0 up, and what happens then. Of one moment, what has the smaller code
/// happens first, so that a simulation is the same wherever it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) at_s: f64,
    pub(super) code: u64,
}

type Entry = Reverse<u128>; // the bits of the moment, in the order of the moments, then the code

/// Events, taken out in the order in which they happen.
#[derive(Debug)]
pub(super) struct Calendar {
    days_per_s: f64,
    today: u64,
    now: Vec<Entry>, // the next one last
    added: BinaryHeap<Entry>,
    year: Vec<Vec<Entry>>,
    in_year: usize,
    beyond: BinaryHeap<Entry>,
}

impl Calendar {
    /// A calendar whose days are `day_s` seconds long.
    pub(super) fn new(day_s: f64) -> Self {
        let year = (0..DAYS).map(|_| Vec::new()).collect();
        let (added, beyond) = (BinaryHeap::new(), BinaryHeap::new());
        let days_per_s = 1.0 / day_s.max(1e-12);
        Self { days_per_s, today: 0, now: Vec::new(), added, year, in_year: 0, beyond }
    }

    /// Adds an event, at the present or later.
    pub(super) fn add(&mut self, event: Event) {
        let entry = Reverse((u128::from(event.at_s.to_bits()) << 64) | u128::from(event.code));
        let day = self.day(event.at_s);
        if day <= self.today {
            self.added.push(entry);
        } else if day - self.today < DAYS {
            self.bucket(day).push(entry);
            self.in_year += 1;
        } else {
            self.beyond.push(entry);
        }
    }

    /// Takes out the event that happens next.
    pub(super) fn next(&mut self) -> Option<Event> {
        loop {
            let entry = match (self.now.last(), self.added.peek()) {
                // of two entries the larger happens first, as in a heap
                (Some(sorted), Some(added)) if added > sorted => self.added.pop(),
                (Some(_), _) => self.now.pop(),
                (None, Some(_)) => self.added.pop(),
                (None, None) => None,
            };
            if let Some(entry) = entry {
                return Some(Event { at_s: moment(entry), code: code(entry) });
            }
            self.turn()?;
        }
    }

    /// Goes to the next day, or where the year is empty to the day on which something happens.
    fn turn(&mut self) -> Option<()> {
        if self.in_year == 0 {
            let first = self.beyond.peek()?;
            self.today = self.day(moment(*first));
        } else {
            self.today += 1;
        }
        while let Some(first) = self.beyond.peek() {
            let day = self.day(moment(*first));
            if day >= self.today + DAYS {
                break;
            }
            let Some(entry) = self.beyond.pop() else { break };
            if day <= self.today {
                self.added.push(entry);
            } else {
                self.bucket(day).push(entry);
                self.in_year += 1;
            }
        }
        // the room of the day that is over is used again
        let at = place(self.today);
        std::mem::swap(&mut self.now, &mut self.year[at]);
        self.in_year -= self.now.len();
        self.now.sort_unstable();
        Some(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "days are counted from 0, whole")]
    #[expect(clippy::cast_sign_loss, reason = "moments are not before 0")]
    fn day(&self, at_s: f64) -> u64 {
        (at_s * self.days_per_s) as u64
    }

    fn bucket(&mut self, day: u64) -> &mut Vec<Entry> {
        &mut self.year[place(day)]
    }
}

fn place(day: u64) -> usize {
    (day % DAYS) as usize
}

fn moment(Reverse(entry): Entry) -> f64 {
    f64::from_bits((entry >> 64) as u64)
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn code(Reverse(entry): Entry) -> u64 {
    entry as u64
}

#[cfg(test)]
mod tests {
    use plumb_measure::statistics::SplitMix64;

    use super::*;

    #[test]
    fn events_come_in_the_order_of_a_sorted_list() {
        for day_s in [1e-6, 1e-3, 10.0, 1e6] {
            let mut random = SplitMix64::new(3);
            let mut calendar = Calendar::new(day_s);
            let mut now = 0.0;
            let mut waiting: Vec<(u64, u64)> = Vec::new();
            for code in 0..20_000 {
                for _ in 0..random.below(3) {
                    let at_s: f64 = now + random.uniform().powi(4) * 1_000.0;
                    calendar.add(Event { at_s, code });
                    waiting.push((at_s.to_bits(), code));
                }
                if random.below(2) == 0 {
                    let earliest = waiting.iter().min().copied();
                    let found = calendar.next();
                    assert_eq!(found.map(|it| (it.at_s.to_bits(), it.code)), earliest);
                    if let Some(found) = found {
                        now = found.at_s;
                        let at = waiting.iter().position(|it| Some(*it) == earliest).unwrap();
                        waiting.swap_remove(at);
                    }
                }
                if waiting.len() > 500 {
                    break;
                }
            }
            waiting.sort_unstable();
            for (bits, code) in waiting {
                let found = calendar.next().unwrap();
                assert_eq!((found.at_s.to_bits(), found.code), (bits, code));
            }
            assert_eq!(calendar.next(), None);
        }
    }
}
