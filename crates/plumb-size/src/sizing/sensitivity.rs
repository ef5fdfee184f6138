//! What would change the number of users, and by how much.

use serde::Serialize;

use super::{Sizing, SizingError, count, memory};
use crate::analysis::Analysis;
use crate::landscape::Landscape;

/// By which share a figure is made smaller and larger.
pub const SHIFT: f64 = 0.1;

/// What it would change if one figure were a tenth smaller or larger, and all others as they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The station or delay, `think time`, `target` or `memory of a user`.
    pub name: String,
    /// Users within the target, or without one at the knee, as it is.
    pub users: f64,
    /// Users when the figure is a tenth smaller; absent where that is the end of the range.
    pub users_less: Option<f64>,
    /// Users when it is a tenth larger; likewise.
    pub users_more: Option<f64>,
}

impl Sensitivity {
    /// The larger change of the two, users.
    #[must_use]
    pub fn change(&self) -> f64 {
        let of = |users: Option<f64>| users.map_or(0.0, |it| (it - self.users).abs());
        of(self.users_less).max(of(self.users_more))
    }
}

/// Every figure in turn, the one that changes most first; nothing where the answer lies at the end of
/// the range, where no change can be seen.
pub(super) fn of(
    sizing: &Sizing,
    served: &Landscape,
    most: usize,
) -> Result<Vec<Sensitivity>, SizingError> {
    let think_s = sizing.think_s();
    let held = sizing.users_held();
    let asked = Asked { sizing, most, held: held.map(|it| it.value) };
    let as_is = Figures { landscape: served, think_s, target_times: 1.0, memory_times: 1.0 };
    let users = asked.users(as_is)?;
    let Some(users) = users.filter(|it| *it > 0.0) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut tell = |name: &str, of: &dyn Fn(f64) -> Result<Option<f64>, SizingError>| {
        let (users_less, users_more) = (of(1.0 - SHIFT)?, of(1.0 + SHIFT)?);
        found.push(Sensitivity { name: name.into(), users, users_less, users_more });
        Ok::<(), SizingError>(())
    };
    for name in served.stations() {
        tell(&name, &|times| {
            let mut changed = served.clone();
            if let Some(station) = changed.station_mut(&name) {
                station.service_s *= times;
            }
            asked.users(Figures { landscape: &changed, ..as_is })
        })?;
    }
    if think_s > 0.0 {
        tell("think time", &|times| asked.users(Figures { think_s: think_s * times, ..as_is }))?;
    }
    if sizing.question.target.is_some() {
        tell("target", &|times| asked.users(Figures { target_times: times, ..as_is }))?;
    }
    if held.is_some() {
        let of_a_user = |times| asked.users(Figures { memory_times: times, ..as_is });
        tell(memory::OF_A_USER, &of_a_user)?;
    }
    found.sort_by(|a, b| b.change().total_cmp(&a.change()));
    Ok(found)
}

/// The figures, one of them changed.
#[derive(Clone, Copy)]
struct Figures<'a> {
    landscape: &'a Landscape,
    think_s: f64,
    /// So many times as much as is asked.
    target_times: f64,
    /// So many times as much as a user takes.
    memory_times: f64,
}

/// What is asked of them.
struct Asked<'a> {
    sizing: &'a Sizing,
    most: usize,
    /// Users whom the memory of the server holds, where that is limited.
    held: Option<f64>,
}

impl Asked<'_> {
    /// Users within the target, without one those at the knee, as far as memory holds them; `None` at
    /// the end of the range.
    fn users(&self, of: Figures<'_>) -> Result<Option<f64>, SizingError> {
        let held = self.held.map_or(f64::INFINITY, |held| held / of.memory_times);
        let users = match self.sizing.question.target {
            Some(target) => {
                let solved = Analysis::of(of.landscape, of.think_s, self.most)?;
                let most_s = target.most_s * of.target_times;
                let tail = &self.sizing.model.tail;
                let within = solved.users_within(target.figure, most_s, tail);
                count(within.unwrap_or(0)).min(held.floor())
            }
            None => of.landscape.knee_users(of.think_s).unwrap_or(0.0).min(held),
        };
        Ok(Some(users).filter(|it| *it < count(self.most)))
    }
}
