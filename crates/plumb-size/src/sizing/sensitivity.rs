//! What would change the number of users, and by how much.

use serde::Serialize;

use super::{Sizing, SizingError, count};
use crate::analysis::Analysis;
use crate::landscape::Landscape;

/// By which share a figure is made smaller and larger.
pub const SHIFT: f64 = 0.1;

/// What it would change if one figure were a tenth smaller or larger, and all others as they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The station or delay, `think time` or `target`.
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
    let asked = Asked { sizing, most };
    let think_s = sizing.think_s();
    let users = asked.users(served, think_s, 1.0)?;
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
            asked.users(&changed, think_s, 1.0)
        })?;
    }
    if think_s > 0.0 {
        tell("think time", &|times| asked.users(served, think_s * times, 1.0))?;
    }
    if sizing.question.target.is_some() {
        tell("target", &|times| asked.users(served, think_s, times))?;
    }
    found.sort_by(|a, b| b.change().total_cmp(&a.change()));
    Ok(found)
}

/// What is asked of each landscape.
struct Asked<'a> {
    sizing: &'a Sizing,
    most: usize,
}

impl Asked<'_> {
    /// Users within so many times the target, without one those at the knee; `None` at the end of the
    /// range.
    fn users(
        &self,
        landscape: &Landscape,
        think_s: f64,
        times_target: f64,
    ) -> Result<Option<f64>, SizingError> {
        let users = match self.sizing.question.target {
            Some(target) => {
                let solved = Analysis::of(landscape, think_s, self.most)?;
                let most_s = target.most_s * times_target;
                let tail = &self.sizing.model.tail;
                count(solved.users_within(target.figure, most_s, tail)?.unwrap_or(0))
            }
            None => landscape.knee_users(think_s).unwrap_or(0.0),
        };
        Ok(Some(users).filter(|it| *it < count(self.most)))
    }
}
