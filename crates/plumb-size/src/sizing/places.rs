//! As many places as a target needs.

use plumb_measure::statistics::Bounded;
use serde::Serialize;

use super::drawn::bounded;
use super::{DRAWS_ENLARGED, RANGE_MAX, Sizing, SizingError, Target};
use crate::analysis::{Analysis, AnalysisError, Tail};
use crate::landscape::{Landscape, PLACES_MAX, Resource};
use crate::model::CORES;

/// What the users asked for need.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Needs {
    /// Every resource.
    pub(super) places: Vec<Need>,
    /// Landscapes of those drawn for the intervals in which twice the places that were measured do not
    /// keep the target; they count as twice.
    pub(super) unmet: usize,
}

/// How many places of a resource are needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// The resource.
    pub name: String,
    /// As many as were measured.
    pub had: u32,
    /// As many as are needed.
    pub places: Bounded,
}

/// The places that the users asked for need; `None` where more than twice of what was measured would
/// be needed.
pub(super) fn needs(
    sizing: &Sizing,
    served: &Landscape,
    drawn: &[(Landscape, Tail)],
    target: Target,
) -> Result<Option<Needs>, SizingError> {
    let users = sizing.question.users.max(1) as usize;
    let asked = Asked { think_s: sizing.think_s(), users, target };
    let Some(value) = asked.places(served, &sizing.model.tail)? else { return Ok(None) };
    let (mut draws, mut unmet) = (vec![Vec::new(); value.len()], 0);
    for (it, tail) in drawn.iter().take(DRAWS_ENLARGED) {
        let places = asked.places(it, tail)?;
        unmet += usize::from(places.is_none());
        let places = places.unwrap_or_else(|| it.resources().iter().map(twice).collect());
        draws.iter_mut().zip(places).for_each(|(of, places)| of.push(f64::from(places)));
    }
    let resources = served.resources().into_iter().zip(value).zip(draws);
    let need = |((resource, places), draws): ((Resource, u32), Vec<f64>)| Need {
        name: resource.name,
        had: resource.places,
        places: bounded(f64::from(places), draws),
    };
    Ok(Some(Needs { places: resources.map(need).collect(), unmet }))
}

/// What is asked of a landscape.
#[derive(Clone, Copy, Debug)]
struct Asked {
    think_s: f64,
    users: usize,
    target: Target,
}

impl Asked {
    /// The places of each resource with which the target is met; `None` where twice of what the
    /// landscape has are not enough.
    ///
    /// What is full first is enlarged, one place after the other, as far as the target needs it. A pool
    /// behind full processors is as full as they are, and more places of it would help nobody, so that
    /// it is the limits that tell, and not what is busy. What the target can do without is then taken
    /// away: of processors down to one, of everything else down to what the landscape has.
    fn places(self, landscape: &Landscape, tail: &Tail) -> Result<Option<Vec<u32>>, AnalysisError> {
        let had = landscape.resources();
        let order = order(&had);
        let Some(steps) = self.steps(landscape, tail, &had, &order)? else { return Ok(None) };
        let mut places = after(&had, &order[..steps]);
        let cores = |at: &usize| had[*at].name == CORES;
        let (cores, others): (Vec<usize>, Vec<usize>) = (0..had.len()).partition(cores);
        for at in others.into_iter().chain(cores) {
            let busy = f64::from(had[at].places) - had[at].free;
            let least = if had[at].name == CORES { 1 } else { had[at].places };
            // from `below` on, which is too few, up to what is enough
            let (mut below, mut enough) = (least - 1, places[at]);
            while enough - below > 1 {
                let middle = u32::midpoint(below, enough);
                places[at] = middle;
                let met = f64::from(middle) > busy && self.met(landscape, tail, &had, &places)?;
                if met { enough = middle } else { below = middle }
            }
            places[at] = enough;
        }
        Ok(Some(places))
    }

    /// How many steps of `order` meet the target: none, or twice as many each time until they do, and
    /// then no more than are needed. `None` where all of them do not.
    fn steps(
        self,
        landscape: &Landscape,
        tail: &Tail,
        had: &[Resource],
        order: &[usize],
    ) -> Result<Option<usize>, AnalysisError> {
        let met = |steps: usize| self.met(landscape, tail, had, &after(had, &order[..steps]));
        if met(0)? {
            return Ok(Some(0));
        }
        let (mut few, mut enough) = (0, 1.min(order.len()));
        while !met(enough)? {
            if enough == order.len() {
                return Ok(None);
            }
            (few, enough) = (enough, (enough * 2).min(order.len()));
        }
        while enough - few > 1 {
            let middle = usize::midpoint(few, enough);
            if met(middle)? { enough = middle } else { few = middle }
        }
        Ok(Some(enough))
    }

    /// True when a landscape of so many places meets the target.
    fn met(
        self,
        landscape: &Landscape,
        tail: &Tail,
        had: &[Resource],
        places: &[u32],
    ) -> Result<bool, AnalysisError> {
        let mut it = landscape.clone();
        for (resource, places) in had.iter().zip(places) {
            it.resize(&resource.name, *places);
        }
        let point = Analysis::of(&it, self.think_s, self.users)?.at(self.users);
        Ok(tail.figure_s(self.target.figure, &point) <= self.target.most_s)
    }
}

/// The numbers of the resources in the order in which they get one more place each, until all that
/// limit anything have [`RANGE_MAX`] times as many: always that which can do least.
fn order(had: &[Resource]) -> Vec<usize> {
    let mut built = had.to_vec();
    let mut order = Vec::new();
    let least = |built: &[Resource]| {
        let limits = built
            .iter()
            .enumerate()
            .filter(|(at, it)| it.held_s > 0.0 && it.places < twice(&had[*at]));
        let least = limits.min_by(|a, b| a.1.rate_max_per_s().total_cmp(&b.1.rate_max_per_s()));
        least.map(|(at, _)| at)
    };
    while let Some(at) = least(&built) {
        built[at].places += 1;
        built[at].free += 1.0;
        order.push(at);
    }
    order
}

/// The places of each resource after these steps.
fn after(had: &[Resource], steps: &[usize]) -> Vec<u32> {
    let mut places: Vec<u32> = had.iter().map(|it| it.places).collect();
    steps.iter().for_each(|at| places[*at] += 1);
    places
}

/// [`RANGE_MAX`] times the places of a resource, as far as a landscape may have so many.
pub(super) fn twice(of: &Resource) -> u32 {
    const { assert!((RANGE_MAX - 2.0).abs() < f64::EPSILON, "a range of twice what was measured") };
    of.places.saturating_mul(2).min(PLACES_MAX)
}

#[cfg(test)]
mod tests;
