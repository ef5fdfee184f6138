//! The answer: how many users fit, what they need, and how sure that is.

mod answer;
mod curve;
mod drawn;
mod knee;
mod memory;
mod next;
mod places;
mod sensitivity;
mod steps;

use plumb_measure::statistics::Bounded;
use serde::Serialize;

pub use answer::{Answer, Predicted, PredictedStep};
pub use curve::CurvePoint;
pub use knee::Knee;
pub use memory::MEMORY;
pub use next::{Enlarged, Upgrade};
pub use places::Need;
pub use sensitivity::{SHIFT, Sensitivity};

pub(crate) use drawn::bounded;
use drawn::{knee_users, predicted, within};

use crate::analysis::{Analysis, AnalysisError, Figure};
use crate::ladder::{FailedStep, Ladder, LadderError, counted_users};
use crate::landscape::{Landscape, Resource};
use crate::line::Line;
use crate::model::{Generator, Model, ModelError, Setup};
use crate::scalability::Scalability;

/// How far the two models may disagree, and the model be off the ladder, as a share.
pub const DISAGREE_MAX: f64 = 0.15;
/// How far beyond what was measured a question may lie.
pub const RANGE_MAX: f64 = 2.0;
/// How far single steps may be from the common shape of the tail before it is no shape.
const TAIL_MISFIT_MAX: f64 = 0.25;
/// Landscapes that are drawn for an interval.
pub(crate) const DRAWS: usize = 200;
/// Landscapes that are drawn where each is solved many times.
pub const DRAWS_ENLARGED: usize = 40;
/// Share of the highest throughput of the model at which a ladder has shown its knee.
const KNEE_SHOWN: f64 = 0.85;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Users at once.
    pub users: u32,
    /// Their think time, seconds; `None`: that of the ladder.
    pub think_s: Option<f64>,
    /// What is to be kept.
    pub target: Option<Target>,
    /// Where everything that is drawn begins.
    pub seed: u64,
}

/// A response time that is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Which figure of them.
    pub figure: Figure,
    /// At most this, seconds.
    pub most_s: f64,
}

/// Why there is no answer at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizingError {
    /// The ladder answers nothing.
    #[error(transparent)]
    Ladder(#[from] LadderError),
    /// There is no model of it.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot be solved.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

/// What is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizing {
    /// What was asked.
    pub question: Question,
    /// The ladder that it is answered from.
    pub ladder: Ladder,
    /// The landscape that explains it.
    pub model: Model,
    /// The Universal Scalability Law of the ladder; absent where it cannot be fitted.
    pub scalability: Option<Scalability>,
    /// Memory over users; absent where nobody recorded it.
    pub memory: Option<Line>,
    /// The knee of what was measured.
    pub knee: Knee,
    /// The model along the users of the ladder, up to as many as may be asked for.
    pub curve: Vec<CurvePoint>,
    /// What the highest step would have been from the others alone; absent where too few are left.
    pub held_out: Option<PredictedStep>,
    /// The steps whose mean response time the model misses: outside its interval, and by more than
    /// [`DISAGREE_MAX`] beside what the step itself leaves open; in the order of their users.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<PredictedStep>,
    /// Why the question is not answered, in sentences, with what to measure next; empty when it is.
    pub refusals: Vec<String>,
    /// The answer; absent when it is refused.
    pub answer: Option<Answer>,
}

/// Answers `question` from `ladder`.
///
/// # Errors
/// [`SizingError`] where there is not even a model; a model that must not be used for this question
/// is a refusal in [`Sizing::refusals`].
pub fn size(ladder: Ladder, setup: &Setup, question: Question) -> Result<Sizing, SizingError> {
    let model = Model::fit(&ladder, setup)?;
    let pairs: Vec<(f64, f64)> =
        ladder.steps().iter().map(|step| (step.users, step.throughput_per_s)).collect();
    let scalability = Scalability::fit(&pairs).ok();
    let remembered = ladder.steps().iter().filter_map(|it| Some((it.users, it.memory_bytes?)));
    let memory = Line::through(&remembered.collect::<Vec<_>>());
    let knee = knee(&ladder, &model, question.seed)?;
    let knee = memory::or_memory(knee, &ladder, &model, memory.as_ref())?;
    let held_out = steps::held_out(&ladder, setup, question.seed)?;
    let apart = steps::apart(&ladder, &model, question.seed)?;
    let curve = curve::of(&ladder, &model, question.seed)?;
    let mut sizing = Sizing {
        question,
        model,
        scalability,
        memory,
        knee,
        curve,
        held_out,
        apart,
        refusals: Vec::new(),
        answer: None,
        ladder,
    };
    sizing.refusals = sizing.refuses()?;
    if sizing.refusals.is_empty() {
        sizing.answer = Some(sizing.answered()?);
    }
    Ok(sizing)
}

fn knee(ladder: &Ladder, model: &Model, seed: u64) -> Result<Knee, SizingError> {
    let landscape = model.landscape();
    let drawn = model.drawn(DRAWS, seed, Generator::Included);
    let users = knee_users(&landscape, &drawn, model.think_s);
    let limit = |it: &Landscape| it.bottleneck().map_or(f64::NAN, |it| it.rate_max_per_s());
    let limits = drawn.iter().map(|(it, _)| limit(it)).collect();
    let value = limit(&landscape);
    let limit_per_s = Bounded::of_draws(value, limits).unwrap_or(Bounded::around(value, 0.0));
    let bottleneck = landscape.bottleneck().map_or_else(String::new, |it| it.name);
    let shown = ladder.throughput_max_per_s() >= KNEE_SHOWN * value
        && ladder.highest().users >= users.value;
    let explained = !is_off(model);
    let behind_failures = is_behind_failures(ladder, users);
    Ok(Knee { bottleneck, users, limit_per_s, shown, explained, behind_failures })
}

/// True when operations failed with no more than so many users.
fn is_behind_failures(ladder: &Ladder, users: Bounded) -> bool {
    ladder.failed().is_some_and(|failed| failed.users <= users.value)
}

/// Most users of a ladder of whom anything may be said: [`RANGE_MAX`] times those that were measured,
/// and fewer than those with whom operations failed.
pub(crate) fn reach(ladder: &Ladder) -> f64 {
    let highest = ladder.highest().users;
    let most = RANGE_MAX * highest;
    ladder.failed().map_or(most, |failed| most.min(failed.users - 1.0).max(highest))
}

/// True when the model is further from a step than it may be.
fn is_off(model: &Model) -> bool {
    model.worst.1.abs() > DISAGREE_MAX
}

impl Sizing {
    /// Takes the answer away for what is known of the ladder beside its figures; `why` is said first.
    pub fn refuse(&mut self, why: String) {
        self.answer = None;
        self.refusals.insert(0, why);
    }

    /// Think time of the question, seconds.
    #[must_use]
    pub fn think_s(&self) -> f64 {
        self.question.think_s.unwrap_or(self.model.think_s)
    }

    /// The users of the question as users who think as those of the ladder did: as many as ask
    /// equally often when nobody waits.
    #[must_use]
    pub fn users_of_ladder(&self) -> f64 {
        let alone_s = self.model.landscape().alone_s();
        f64::from(self.question.users) * (self.model.think_s + alone_s) / (self.think_s() + alone_s)
    }

    /// Most users who think as those of the ladder did of whom anything may be said.
    #[must_use]
    pub fn reach_users(&self) -> f64 {
        reach(&self.ladder)
    }

    /// The same of users who think as asked.
    #[must_use]
    pub fn users_max(&self) -> f64 {
        let alone_s = self.model.landscape().alone_s();
        self.reach_users() * (self.think_s() + alone_s) / (self.model.think_s + alone_s)
    }

    /// The users with whom the limit of the server's memory is reached; `None` where it is not
    /// limited, or not shown that users add anything.
    fn users_held(&self) -> Option<Bounded> {
        memory::full(&self.model, self.memory.as_ref())
    }

    /// Why so many users are more than the memory of the server holds; `None` where it holds them.
    pub(crate) fn short_of_memory(&self, users: u32) -> Option<String> {
        memory::short(&self.model, self.memory.as_ref(), users)
    }

    fn refuses(&self) -> Result<Vec<String>, SizingError> {
        let asked = self.users_of_ladder();
        let failed = self.ladder.failed().filter(|failed| failed.users <= asked.round());
        let mut refusals: Vec<String> =
            failed.map(|it| self.short_of_success(it)).into_iter().collect();
        refusals.extend(is_off(&self.model).then(|| self.departure()));
        let highest = self.ladder.highest().users;
        if failed.is_none() && asked > RANGE_MAX * highest {
            refusals.push(format!(
                "{} users with {:.3} s of think time ask as often as {asked:.0} users of this ladder, \
                 more than twice the {highest:.0} that were measured; measure up to at least {:.0} \
                 users with its think time of {:.3} s",
                self.question.users,
                self.think_s(),
                (asked / RANGE_MAX).ceil(),
                self.model.think_s,
            ));
        }
        refusals.extend(self.short_of_memory(self.question.users));
        if failed.is_none() {
            refusals.extend(self.disagreement(asked.min(RANGE_MAX * highest))?);
        }
        if self.target_needs_tail() && self.model.tail.misfit > TAIL_MISFIT_MAX {
            refusals.push(format!(
                "the 95th percentiles of the steps scatter by {:.0} % around the model, so that none \
                 can be predicted; measure longer steps, or ask for the mean with --target mean=TIME",
                self.model.tail.misfit * 100.0
            ));
        }
        Ok(refusals)
    }

    /// Where the model leaves the ladder, and what may be the reason: a server that does less is held up
    /// by what no figure tells of; one that does more has more places than were said, or needs less for an
    /// operation than the model takes it to need.
    fn departure(&self) -> String {
        let (worst, off) = self.model.worst;
        let share = off.abs() * 100.0;
        let apart = format!("with {} the model is {share:.0} %", counted_users(worst));
        if off > 0.0 {
            return format!(
                "{apart} above the throughput that was measured: something that was not measured limits it; \
                 watch every machine, name pools with --pool and parts that have a queue of their own with \
                 --servers"
            );
        }
        let first = self.ladder.lowest();
        let half = first.mean_half_s.filter(|half| *half > 0.0);
        let known = half.map_or_else(String::new, |half| format!(" +- {:.2} ms", half * 1e3));
        let users = counted_users(first.users);
        let mean = format!("mean {:.2} ms{known}", first.mean_s * 1e3);
        let needs = format!(
            "the server needs less for an operation than the step with {users} says, from which the model \
             has its times ({mean}); measure that step longer, and steps of few users beside it. If they \
             stay apart, operations become cheaper under load (caches, batches), of which the model knows \
             nothing"
        );
        let below = format!("{apart} below the throughput that was measured");
        match self.full_at(worst) {
            Some(full) => format!(
                "{below}, which is more than {:.1}/s, all that {} {} can do by the model: either there is \
                 more of that than was said or recorded (--pool, --servers, --cores), or {needs}",
                full.rate_max_per_s(),
                full.places,
                full.name,
            ),
            None if worst <= first.users => format!(
                "{below}: in this step, from which the model has its times ({mean}), operations wait for \
                 each other already; measure steps of fewer users"
            ),
            None => format!("{below}: {needs}"),
        }
    }

    /// What could not do by the model what was measured in the step of so many `users`.
    fn full_at(&self, users: f64) -> Option<Resource> {
        let step = self.ladder.steps().iter().find(|step| step.users >= users)?;
        let full = self.model.landscape().bottleneck()?;
        (step.throughput_per_s > full.rate_max_per_s()).then_some(full)
    }

    /// Why nothing is said of users with whom operations failed when they were measured.
    fn short_of_success(&self, failed: &FailedStep) -> String {
        let FailedStep { users, what } = failed;
        let asked = self.users_of_ladder();
        let often = match self.question.think_s {
            Some(_) => format!(", who ask as often as {asked:.0} of this ladder,"),
            None => String::new(),
        };
        format!(
            "with {users:.0} users {what}, so that no model says what {} users{often} get; find what \
             fails, and measure these steps again",
            self.question.users
        )
    }

    fn target_needs_tail(&self) -> bool {
        self.question.target.is_some_and(|target| target.figure == Figure::P95)
    }

    /// What the two models say of as many users of the ladder as were asked for.
    fn disagreement(&self, users: f64) -> Result<Option<String>, SizingError> {
        let Some(scalability) = &self.scalability else { return Ok(None) };
        let whole = whole(users);
        let network = Analysis::of(&self.model.landscape(), self.model.think_s, whole)?;
        let network = network.throughput_per_s(whole);
        let law = scalability.throughput_per_s(users);
        let apart = (law / network - 1.0).abs();
        Ok((apart > DISAGREE_MAX).then(|| {
            format!(
                "at {users:.0} users of this ladder the scalability law says {law:.1}/s and the \
                 network {network:.1}/s, {:.0} % apart; measure a step of {users:.0} users",
                apart * 100.0
            )
        }))
    }

    fn answered(&self) -> Result<Answer, SizingError> {
        let think_s = self.think_s();
        let users = self.question.users.max(1) as usize;
        let drawn = self.model.drawn(DRAWS, self.question.seed, Generator::LeftOut);
        let served = self.model.served();
        let tail = &self.model.tail;
        let (at, [throughput_per_s, mean_s, p95_s]) =
            predicted(&served, tail, &drawn, think_s, users)?;
        let most = whole(self.users_max());
        let users_within = match self.question.target {
            Some(target) => {
                let found = within(&served, tail, &drawn, think_s, most, target)?;
                let limit = self.model.setup.memory_limit_bytes;
                Some(memory::capped(found, limit, self.memory.as_ref()))
            }
            None => None,
        };
        let needs = match self.question.target {
            Some(target) => places::needs(self, &served, &drawn, target)?,
            None => None,
        };
        let needs_unmet = needs.as_ref().map_or(0, |it| it.unmet);
        let remembered = self.ladder.highest().users * RANGE_MAX;
        let memory = self.memory.filter(|_| f64::from(self.question.users) <= remembered);
        Ok(Answer {
            think_s,
            throughput_per_s,
            mean_s,
            p95_s,
            at,
            users_within,
            needs: needs.map(|it| it.places),
            needs_unmet,
            memory_bytes: memory.map(|line| line.at(f64::from(self.question.users))),
            upgrades: next::upgrades(self, &served, drawn, most)?,
            sensitivity: sensitivity::of(self, &served, most)?,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "limited to what a network may have")]
#[expect(clippy::cast_sign_loss, reason = "users are not negative")]
pub(crate) fn whole(users: f64) -> usize {
    (users.round().max(1.0) as usize).min(crate::network::USERS_MAX)
}

#[expect(clippy::cast_precision_loss, reason = "at most two million users")]
fn count(users: usize) -> f64 {
    users as f64
}

#[cfg(test)]
mod failed_tests;
#[cfg(test)]
mod tests;
