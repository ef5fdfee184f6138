//! What is done when a load is over, however it ended: by its users, and once for the load.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use plumb_engine::{Crew, Extent, LoadPlan, LoadResult, Stop};
use plumb_measure::{LoadPart, PartRecord, ResultRecord, Span, grouped};
use plumb_scenario::variables::{Slot, Value};

use super::drive::drive_players;
use super::{CompiledScenario, ScenarioLoad, records, shape};
use crate::HttpError;
use crate::route::{Route, Supervision};
use crate::scenario::compile::FINISH;
use crate::scenario::player::{Player, User};
use crate::scenario::user_script::Script;

/// The steps begin within this when nothing is said.
const USUAL: Span = Span::from_ms(10_000);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Finish {
    parts: Vec<PartRecord>,
    remarks: Vec<String>,
}

impl ScenarioLoad {
    /// Lets the users of `load` finish.
    pub(super) fn finish_users(
        &self,
        route: &Route,
        compiled: &CompiledScenario,
        load: &mut LoadResult<Player>,
    ) -> Finish {
        let mut crews: Vec<(Arc<Script>, Vec<User>)> = Vec::new();
        for script in &compiled.scripts {
            let own = load.protocols.iter_mut().filter(|it| it.script().name == script.name);
            let users: Vec<User> = own.flat_map(Player::take_left).collect();
            if !users.is_empty() {
                crews.push((Arc::clone(script), users));
            }
        }
        if crews.is_empty() {
            return Finish::default();
        }
        let counts: Vec<usize> = crews.iter().map(|(_, users)| users.len()).collect();
        let players = crews.into_iter().map(|(script, users)| Player::finishing(script, users));
        let done = self.drive_finish(route, compiled, &counts, players.collect());
        Finish::of(done, compiled)
    }

    /// Does once what belongs to no user.
    pub(super) fn finish_load(&self, route: &Route, extracted: &[(Slot, Value)]) -> Finish {
        let compiled = match self.compile(extracted) {
            Ok(compiled) => compiled,
            Err(error) => return Finish::failed(&error),
        };
        let Some(script) = &compiled.finish else { return Finish::default() };
        let player = Player::new(Arc::clone(script), Default::default(), None);
        let done = self.drive_finish(route, &compiled, &[1], vec![player]);
        Finish::of(done, &compiled)
    }

    /// Drives `players`, each with so many users. A signal that ended the load does not end this.
    fn drive_finish(
        &self,
        route: &Route,
        compiled: &CompiledScenario,
        users: &[usize],
        players: Vec<Player>,
    ) -> Result<LoadResult<Player>, HttpError> {
        let file = self.source.file();
        let limit = file.finish_timeout.unwrap_or(USUAL);
        let like = self.options.drive.plan(file);
        let plan = |users: &usize| LoadPlan {
            part: LoadPart::default(), // those of this process
            connections: NonZeroUsize::new(*users).unwrap_or(NonZeroUsize::MIN),
            threads: NonZeroUsize::MIN,
            warmup: Span::from_ns(0),
            extent: Extent::For(limit),
            operation_timeout: like.operation_timeout.min(limit),
            connect_timeout: like.connect_timeout.min(limit),
            ..like.clone()
        };
        let plans: Vec<LoadPlan> = users.iter().map(plan).collect();
        let crews: Vec<Crew<'_>> =
            plans.iter().map(|plan| Crew { plan, user_schedule: None }).collect();
        let players = RefCell::new(players.into_iter().map(Some).collect::<Vec<_>>());
        let nobody =
            |number: usize| Player::finishing(Arc::clone(&compiled.scripts[number]), Vec::new());
        let player = |number: usize| {
            players.borrow_mut()[number].take().unwrap_or_else(|| nobody(number)) // asked once
        };
        let stop = Stop::new().map_err(plumb_engine::EngineError::system("make a socket pair"))?;
        let by = Supervision::none(&stop);
        Ok(drive_players(route, &crews, shape(compiled), player, by)?.0)
    }
}

impl Finish {
    fn failed(error: &HttpError) -> Self {
        let remarks = vec![format!("the finish steps were not done: {error}")];
        Self { parts: Vec::new(), remarks }
    }

    fn of(done: Result<LoadResult<Player>, HttpError>, compiled: &CompiledScenario) -> Self {
        let load = match done {
            Ok(load) => load,
            Err(error) => return Self::failed(&error),
        };
        let rows: Range<usize> = compiled.finished..compiled.prepared.0;
        let figures = &load.recorder.rows()[rows.clone()];
        let mut parts = records("finish", &compiled.rows[rows], figures, &load);
        parts.retain(|part| part.operations > 0 || !part.failures.is_empty());
        for part in &mut parts {
            let scenario = part.labels.remove("scenario").unwrap_or_default();
            let named = scenario.strip_prefix(FINISH).filter(|name| !name.is_empty());
            part.labels.extend(named.map(|name| ("scenario".to_owned(), name.to_owned())));
        }
        let mut remarks = Vec::new();
        let failed = load.recorder.failures().total();
        if failed > 0 {
            let all = failed + load.recorder.operations();
            let first = load.protocols.iter().flat_map(Player::complaints).next();
            remarks.push(format!(
                "{} of the {} requests of finish steps failed: {}",
                grouped(failed),
                grouped(all),
                first.map_or_else(|| "the server did not answer".into(), |first| first.to_string())
            ));
        }
        Self { parts, remarks }
    }

    /// Writes it down with `result`.
    pub(super) fn add_to(self, result: &mut ResultRecord) {
        result.finish.extend(self.parts);
        for remark in self.remarks {
            result.validity = std::mem::take(&mut result.validity).with_remark(&remark);
        }
    }
}

/// What several processes did when their parts of a load were over, each under its number.
pub(super) fn of_all(results: &[&ResultRecord]) -> Vec<PartRecord> {
    let numbered = (1..).zip(results);
    let parts = numbered.flat_map(|(number, result): (usize, _)| {
        result.finish.iter().map(move |part| {
            let mut labels: BTreeMap<String, String> = part.labels.clone();
            labels.insert("remote".into(), number.to_string());
            PartRecord { labels, ..part.clone() }
        })
    });
    parts.collect()
}
