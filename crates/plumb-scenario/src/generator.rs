//! What built-in values are made from: the draws of a user, its number and its turn, counters, and
//! the time of day.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_measure::LoadPart;

use crate::draw::Draw;

/// Keeps the draws of built-in values apart from those of think times: a script that asks for one
/// more of these thinks as long as before.
const VALUES: u64 = 0x6d61_6465_2076_616c;

/// What the built-in values of one user come from.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(crate) draw: Draw,
    /// The user, from 1; 0 where there is none.
    pub(crate) user: u64,
    /// The turn of its script, from 1; 0 where there is none.
    pub(crate) iteration: u64,
    /// How often it has asked each counter of its own.
    counts: Vec<u64>,
    /// Nanoseconds since 1970.
    pub(crate) wall_ns: fn() -> u64,
}

impl Generator {
    /// The values of user number `user`, from 0, under `seed`; `wall_ns` tells the time of day in
    /// nanoseconds since 1970.
    #[must_use]
    pub fn of_user(seed: u64, user: u64, wall_ns: fn() -> u64) -> Self {
        Self {
            draw: Draw::of_user(seed ^ VALUES, user),
            user: user.saturating_add(1),
            iteration: 1,
            counts: Vec::new(),
            wall_ns,
        }
    }

    /// Values that are made before anybody asks: there is no user and no turn.
    #[must_use]
    pub fn of_load(seed: u64, wall_ns: fn() -> u64) -> Self {
        Self { user: 0, iteration: 0, ..Self::of_user(seed, u64::MAX, wall_ns) }
    }

    /// Says which turn of the script begins, from 1.
    pub fn begin_iteration(&mut self, iteration: u64) {
        self.iteration = iteration;
    }

    /// How often `counter` had been asked before, by this user or by all.
    pub(crate) fn count(&mut self, counter: &Counter) -> u64 {
        match &counter.of_load {
            Some(shared) => shared.next(),
            None => {
                if self.counts.len() <= counter.number {
                    self.counts.resize(counter.number + 1, 0);
                }
                let count = &mut self.counts[counter.number];
                *count += 1;
                *count - 1
            }
        }
    }
}

impl Default for Generator {
    /// The values of nobody, in 1970.
    fn default() -> Self {
        Self::of_user(0, 0, || 0)
    }
}

/// A counter of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    /// Its place among those of a user.
    number: usize,
    /// Where it is that of all users together.
    of_load: Option<Shared>,
}

/// A count that all users of a load go on with.
#[derive(Clone, Debug)]
struct Shared {
    count: Arc<AtomicU64>,
    /// Whose numbers are those of this process: they are dealt in turn.
    part: LoadPart,
}

impl Shared {
    fn next(&self) -> u64 {
        self.part.number(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.count, &other.count)
    }
}

impl Eq for Shared {}

/// The counters of a load, by name.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    part: LoadPart,
    known: Vec<(Box<str>, Counter)>,
}

impl Counters {
    /// None yet; `part` says which numbers are those of this process.
    pub(crate) fn new(part: LoadPart) -> Self {
        Self { part, known: Vec::new() }
    }

    /// The counter `name` of each user, or of the whole load.
    pub(crate) fn named(&mut self, name: &str, of_load: bool) -> Counter {
        let same = |(known, counter): &&(Box<str>, Counter)| {
            **known == *name && counter.of_load.is_some() == of_load
        };
        if let Some((_, counter)) = self.known.iter().find(same) {
            return counter.clone();
        }
        let shared = || Shared { count: Arc::default(), part: self.part };
        let counter = Counter { number: self.known.len(), of_load: of_load.then(shared) };
        self.known.push((name.into(), counter.clone()));
        counter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_count_for_themselves_and_together() {
        let mut counters = Counters::new(LoadPart::default());
        let (own, all) = (counters.named("n", false), counters.named("n", true));
        assert_ne!(own, all);
        assert_eq!(counters.named("n", true), all);
        let user = |number| Generator::of_user(1, number, || 0);
        let (mut one, mut two) = (user(0), user(1));
        let counted: Vec<u64> = [&mut one, &mut two]
            .into_iter()
            .flat_map(|user| [user.count(&own), user.count(&all), user.count(&own)])
            .collect();
        assert_eq!(counted, [0, 0, 1, 0, 1, 1]);
        assert_eq!((one.user, two.user), (1, 2));
    }

    #[test]
    fn the_parts_of_a_load_never_count_alike() {
        let part = |text: &str| text.parse::<LoadPart>().unwrap();
        let count = |part| {
            let counter = Counters::new(part).named("n", true);
            let mut user = Generator::default();
            [user.count(&counter), user.count(&counter)]
        };
        assert_eq!((count(part("1/2")), count(part("2/2"))), ([0, 2], [1, 3]));
    }
}
