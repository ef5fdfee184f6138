//! What a change asks for, held against what was measured.

use crate::analysis::{Analysis, AnalysisError};
use crate::ladder::FailedStep;
use crate::landscape::Landscape;
use crate::simulation::Load;
use crate::sizing::{RANGE_MAX, Sizing, whole};

/// True of more than twice the places of a resource that were measured.
pub(super) fn grown(landscape: &Landscape, had: &Landscape) -> bool {
    let had = had.resources();
    landscape.resources().iter().any(|it| {
        let before = had.iter().find(|had| had.name == it.name);
        before.is_some_and(|had| f64::from(it.places) > RANGE_MAX * f64::from(had.places))
    })
}

/// True of a load beyond what may be said from the ladder.
pub(super) fn is_beyond(sizing: &Sizing, load: Load) -> bool {
    match load {
        Load::Closed { users, think_s, .. } => {
            users_of_ladder(sizing, users, think_s) > sizing.reach_users()
        }
        Load::Open { rate_per_s } => rate_per_s > RANGE_MAX * sizing.ladder.throughput_max_per_s(),
    }
}

/// The users of the ladder who ask as often as `users` with such a think time, when nobody waits.
fn users_of_ladder(sizing: &Sizing, users: u32, think_s: f64) -> f64 {
    let alone_s = sizing.model.landscape().alone_s();
    f64::from(users) * (sizing.model.think_s + alone_s) / (think_s + alone_s)
}

/// The step in which operations failed although no more was asked than of `load`. Arrivals are held
/// against what one user less gets by the model, as nobody knows what the step would have got.
pub(super) fn failed(sizing: &Sizing, load: Load) -> Result<Option<FailedStep>, AnalysisError> {
    let Some(failed) = sizing.ladder.failed() else { return Ok(None) };
    let is_reached = match load {
        Load::Closed { users, think_s, .. } => {
            users_of_ladder(sizing, users, think_s).round() >= failed.users
        }
        Load::Open { rate_per_s } => {
            let less = whole(failed.users) - 1;
            let solved = Analysis::of(&sizing.model.landscape(), sizing.model.think_s, less)?;
            rate_per_s > solved.at(less).throughput_per_s
        }
    };
    Ok(is_reached.then(|| failed.clone()))
}
