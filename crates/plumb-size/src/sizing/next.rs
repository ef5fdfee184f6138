//! What is full first, and what is next when there is enough of it.

use plumb_measure::statistics::Bounded;
use serde::Serialize;

use super::drawn::{knee_users, within};
use super::memory::{self, MEMORY};
use super::{RANGE_MAX, Sizing, SizingError, count};
use crate::analysis::Tail;
use crate::landscape::{Landscape, PLACES_MAX};

/// Bottlenecks that are told.
const UPGRADES: usize = 4;
/// Memory is added by an eighth of what was measured.
const MEMORY_PARTS: u64 = 8;

/// A bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Upgrade {
    /// What was enlarged before, on top of what the rows before it enlarged; absent in the first.
    pub enlarged: Option<Enlarged>,
    /// Now full first.
    pub bottleneck: String,
    /// Users from which on it is; absent beyond twice the users that were measured.
    pub knee_users: Option<Bounded>,
    /// Largest number of users within the target; absent without one, where the end of the range
    /// is within it, and with the knee.
    pub users_within: Option<Bounded>,
    /// True when twice of what was measured is not enough for anything else to be full first:
    /// nothing further is answered.
    pub last: bool,
}

/// A resource and how much of it there is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Enlarged {
    /// Its name.
    pub name: String,
    /// Places before, of `memory` bytes.
    pub from: u64,
    /// As many as are enough for something else to be full first.
    pub to: u64,
}

/// A landscape and the memory of its server, as they might be.
#[derive(Clone)]
struct Built<'a> {
    sizing: &'a Sizing,
    landscape: Landscape,
    drawn: Vec<(Landscape, Tail)>,
    memory_bytes: Option<u64>,
}

/// The bottlenecks one after the other: each row has just enough more of the one before.
pub(super) fn upgrades(
    sizing: &Sizing,
    served: &Landscape,
    drawn: Vec<(Landscape, Tail)>,
    most: usize,
) -> Result<Vec<Upgrade>, SizingError> {
    let memory_bytes = sizing.model.setup.memory_limit_bytes;
    let mut built = Built { sizing, landscape: served.clone(), drawn, memory_bytes };
    let (mut upgrades, mut enlarged, mut last) = (Vec::new(), None, false);
    while let Some(full) = built.full().filter(|_| upgrades.len() < UPGRADES) {
        let (name, knee) = full;
        let beyond = knee.value > count(most);
        let users_within = if beyond { None } else { built.users_within(most)? };
        upgrades.push(Upgrade {
            enlarged,
            bottleneck: name.clone(),
            knee_users: (!beyond).then_some(knee),
            users_within,
            last,
        });
        if beyond || last {
            break;
        }
        let from = built.amount(&name);
        last = !built.enlarge(&name, served);
        enlarged = Some(Enlarged { from, to: built.amount(&name), name });
    }
    Ok(upgrades)
}

impl Built<'_> {
    /// What is full first, and with how many users.
    fn full(&self) -> Option<(String, Bounded)> {
        let name = self.first()?;
        let users = if name == MEMORY {
            self.held()?
        } else {
            knee_users(&self.landscape, &self.drawn, self.sizing.think_s())
        };
        Some((name, users))
    }

    /// What is full first.
    fn first(&self) -> Option<String> {
        let knee = self.landscape.knee_users(self.sizing.think_s());
        let by_landscape = self.landscape.bottleneck().map(|it| it.name).zip(knee);
        let by_memory = self.held().map(|users| (MEMORY.to_owned(), users.value));
        let all = by_landscape.into_iter().chain(by_memory);
        all.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(name, _)| name)
    }

    /// The users whom memory holds; `None` where nothing limits it.
    fn held(&self) -> Option<Bounded> {
        memory::held(self.memory_bytes?, self.sizing.memory.as_ref()?)
    }

    /// Users within the target, whom memory must hold as well; `None` without a target, and at the end
    /// of the range.
    fn users_within(&self, most: usize) -> Result<Option<Bounded>, SizingError> {
        let Some(target) = self.sizing.question.target else { return Ok(None) };
        let (think_s, tail) = (self.sizing.think_s(), &self.sizing.model.tail);
        let found = within(&self.landscape, tail, &self.drawn, think_s, most, target)?;
        let found = memory::capped(found, self.memory_bytes, self.sizing.memory.as_ref());
        Ok(Some(found).filter(|it| it.value < count(most)))
    }

    fn amount(&self, name: &str) -> u64 {
        if name == MEMORY {
            return self.memory_bytes.unwrap_or(0);
        }
        let resources = self.landscape.resources();
        resources.iter().find(|it| it.name == name).map_or(0, |it| u64::from(it.places))
    }

    /// Adds to `name` until something else is full first, at most to twice of what was `served`;
    /// false when it still is then.
    fn enlarge(&mut self, name: &str, served: &Landscape) -> bool {
        let had = served.resources().into_iter().find(|it| it.name == name);
        let had = had.map_or(self.sizing.model.setup.memory_limit_bytes.unwrap_or(0), |it| {
            u64::from(it.places)
        });
        let (add, most) = if name == MEMORY {
            ((had / MEMORY_PARTS).max(1), twice(had))
        } else {
            (1, twice(had).min(u64::from(PLACES_MAX)))
        };
        let mut amount = self.amount(name);
        let mut is_first = self.first().is_some_and(|it| it == name);
        while is_first && amount < most {
            amount = (amount + add).min(most);
            self.set(name, amount);
            is_first = self.first().is_some_and(|it| it == name);
        }
        // those that were drawn say nothing of what is first, and there are many of them
        if name != MEMORY {
            self.drawn.iter_mut().for_each(|(it, _)| _ = it.resize(name, places(amount)));
        }
        !is_first
    }

    /// As much of it, but for the landscapes that were drawn.
    fn set(&mut self, name: &str, amount: u64) {
        if name == MEMORY {
            self.memory_bytes = Some(amount);
        } else {
            self.landscape.resize(name, places(amount));
        }
    }
}

fn places(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

/// [`RANGE_MAX`] times as much.
fn twice(amount: u64) -> u64 {
    const { assert!((RANGE_MAX - 2.0).abs() < f64::EPSILON, "a range of twice what was measured") };
    amount.saturating_mul(2)
}
