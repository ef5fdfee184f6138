//! What the figures of a load are called, and what they say of its scenarios together.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use plumb_engine::{LoadPlan, LoadResult, Pace, part_record};
use plumb_measure::{Distribution, PartRecord, Rate, Row as Figures, ScenarioFigures, Shape};

use super::{CompiledScenario, PlannedScenario};
use crate::scenario::compile::Row;
use crate::scenario::player::Player;
use crate::scenario::user_script::Script;

/// What the rows are called while they are measured; those of a preparation, and of what is done when
/// the load is over, have no name.
pub(super) fn names(rows: &[Row]) -> Vec<String> {
    let name = |row: &Row| match row.scenario.as_str() {
        scenario if scenario.starts_with('\0') => String::new(),
        scenario => format!("{scenario} {}", row.name),
    };
    rows.iter().map(name).collect()
}

/// The rows of what is recorded.
pub(super) fn shape(compiled: &CompiledScenario) -> Shape {
    Shape { operations: compiled.rows.len(), groups: compiled.groups.len() }
}

/// What distinguishes a point of the sweep.
pub(super) fn labels(parts: &[PlannedScenario]) -> BTreeMap<String, String> {
    BTreeMap::from([("users".to_owned(), users_of(parts).to_string())])
}

/// Users of the scenarios without a rate; of those with one, when there are no others.
pub(in crate::scenario::load) fn users_of(parts: &[PlannedScenario]) -> u64 {
    let closed: u64 = parts.iter().filter(|part| !part.open()).map(|part| part.users).sum();
    if closed > 0 { closed } else { parts.iter().map(|part| part.users).sum() }
}

/// The plans of all scenarios as one, for what is said of the whole load.
pub(super) fn together(parts: &[PlannedScenario]) -> LoadPlan {
    let sum = |of: fn(&LoadPlan) -> usize| {
        let all = parts.iter().map(|part| of(&part.plan)).sum();
        NonZeroUsize::new(all).unwrap_or(NonZeroUsize::MIN)
    };
    let like = parts[0].plan.clone(); // a file has a scenario
    let open = parts.iter().any(PlannedScenario::open);
    let rate = "1/s".parse::<Rate>().ok().filter(|_| open);
    LoadPlan {
        connections: sum(|plan| plan.connections.get()),
        threads: sum(|plan| plan.threads.get()),
        pace: rate.map_or(Pace::AsFast, Pace::Rate),
        ..like
    }
}

/// A record for each row of this kind.
pub(super) fn records<P>(
    kind: &str,
    rows: &[Row],
    figures: &[Figures],
    load: &LoadResult<P>,
) -> Vec<PartRecord> {
    rows.iter()
        .zip(figures)
        .map(|(row, figures)| PartRecord {
            labels: BTreeMap::from([
                ("scenario".to_owned(), row.scenario.clone()),
                (kind.to_owned(), row.name.clone()),
            ]),
            ..part_record(row.name.clone(), figures, load)
        })
        .collect()
}

/// What became of the users of each scenario, those of all its threads together.
pub(super) fn scenarios(
    parts: &[PlannedScenario],
    scripts: &[Arc<Script>],
    load: &LoadResult<Player>,
) -> Vec<ScenarioFigures> {
    let all = parts.iter().zip(scripts).zip(&load.crews);
    all.map(|((part, script), crew)| {
        let mut figures = ScenarioFigures {
            name: script.name.clone(),
            load: if part.open() { "open" } else { "closed" }.into(),
            users: part.users,
            dropped: crew.dropped,
            start_up_ns: Distribution::of(&crew.start_up),
            ..ScenarioFigures::default()
        };
        let players = load.protocols.iter();
        let own = players.filter(|player| player.script().name == script.name);
        own.for_each(|player| player.add_to(&mut figures));
        figures
    })
    .collect()
}
