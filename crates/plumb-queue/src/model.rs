//! Histories against a model that is a list.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use std::sync::Arc;

use plumb_measure::Span;

use super::testing::{HeldClock, accept, again, claim, dead, flush, message, settle};
use super::{Ending, ExecutionId, Filter, Message, Queue, QueueClock as _, State};

#[derive(Clone, Debug)]
pub(super) enum Step {
    Accept { transaction: usize, order_key: Option<u8>, idempotency_key: Option<u8>, bytes: usize },
    Claim(usize),
    Settle(prop::sample::Index, HowEnded),
    Pass(u64),
    SetBack(u64),
    Rest(usize, u64),
    Retry(usize),
    Forget(usize, Option<State>),
    Open,
}

#[derive(Clone, Debug)]
pub(super) enum HowEnded {
    Done,
    Again(u64),
    Dead,
}

const NAMES: [&str; 3] = ["orders", "stocks", "prices"];

/// Any step.
pub(super) fn step() -> impl Strategy<Value = Step> {
    let key = || prop::option::weighted(0.4, 0..4_u8);
    let ended = prop_oneof![
        4 => Just(HowEnded::Done),
        2 => (0..5_000_u64).prop_map(HowEnded::Again),
        1 => Just(HowEnded::Dead),
    ];
    let state = prop::option::of(prop_oneof![
        Just(State::Waiting),
        Just(State::Failed),
        Just(State::Running),
    ]);
    prop_oneof![
        8 => (0..3_usize, key(), key(), 0..9_000_usize).prop_map(
            |(transaction, order_key, idempotency_key, bytes)| Step::Accept {
                transaction, order_key, idempotency_key, bytes
            }
        ),
        6 => (1..5_usize).prop_map(Step::Claim),
        7 => (any::<prop::sample::Index>(), ended).prop_map(|(which, how)| Step::Settle(which, how)),
        3 => (1..4_000_u64).prop_map(Step::Pass),
        1 => (2_000..100_000_u64).prop_map(Step::SetBack),
        1 => (0..3_usize, 0..2_000_u64).prop_map(|(which, ms)| Step::Rest(which, ms)),
        1 => (0..3_usize).prop_map(Step::Retry),
        1 => ((0..3_usize), state).prop_map(|(most, state)| Step::Forget(most, state)),
        1 => Just(Step::Open),
    ]
}

/// A message as the model knows it.
#[derive(Clone, Debug)]
struct Known {
    id: u64,
    message: Message,
    state: State,
    failures: u32,
    due_ms: u64,
    /// The interval that ends then.
    after_ms: u64,
    /// It was due before the clock was set back: whoever had seen that may give it out.
    was_due: bool,
}

/// What may be given out.
#[derive(Debug, Default)]
struct Ready {
    certain: Vec<u64>,
    /// Of order keys with one that was dead and is back: one of each key, whichever. What was due before the
    /// clock was set back, too.
    possible: Vec<u64>,
    /// All of such a key wait and are due: that none of them is given out would be wrong.
    stands_still: bool,
}

impl Known {
    fn lives(&self) -> bool {
        matches!(self.state, State::Waiting | State::Running)
    }

    /// Its order key, of its transaction.
    fn key(&self) -> (Arc<str>, Option<String>) {
        (self.message.transaction.clone(), self.message.order_key.clone())
    }
}

/// All of the queue, as simply as can be.
#[derive(Debug, Default)]
struct Model {
    known: Vec<Known>,
    keys: HashMap<(usize, u8), u64>,
    rests: HashMap<String, u64>,
    /// Order keys of dead messages that came back: each store has an order of its own for them.
    back: HashSet<(Arc<str>, Option<String>)>,
}

impl Model {
    fn get(&mut self, id: u64) -> &mut Known {
        self.known.iter_mut().find(|known| known.id == id).expect("the model knows it")
    }

    /// Those of a transaction that may be given out now, all at once: none rests, is put off, or
    /// stands behind another one of its key.
    fn ready(&self, name: &str, clock: &HeldClock) -> Ready {
        let (now_ms, now_ns) = (clock.wall_ms(), clock.now_ns());
        let mut ready = Ready::default();
        if self.rests.get(name).is_some_and(|until_ns| *until_ns > now_ns) {
            return ready;
        }
        let of_name = |known: &&Known| &*known.message.transaction == name;
        let all: Vec<&Known> = self.known.iter().filter(of_name).filter(|it| it.lives()).collect();
        for known in &all {
            let of_key = |other: &&&Known| {
                known.message.order_key.is_some()
                    && other.message.order_key == known.message.order_key
            };
            let mut others = all.iter().filter(of_key);
            if known.state != State::Waiting || known.due_ms > now_ms && !known.was_due {
                continue;
            }
            if known.due_ms > now_ms {
                ready.possible.push(known.id);
                continue;
            }
            if !self.back.contains(&known.key()) {
                if others.all(|other| other.id >= known.id) {
                    ready.certain.push(known.id);
                }
            } else if others.clone().all(|other| other.state == State::Waiting) {
                ready.possible.push(known.id);
                ready.stands_still |= others.all(|other| other.due_ms <= now_ms);
            }
        }
        ready
    }

    /// The clock, which was at `before_ms`, is before the beginning of some intervals: they begin now.
    fn rebase(&mut self, before_ms: u64, now_ms: u64) {
        for known in &mut self.known {
            known.was_due |= known.due_ms <= before_ms;
            if known.due_ms - known.after_ms > now_ms {
                known.due_ms = now_ms + known.after_ms;
            }
        }
    }

    /// Keys of which nothing is left are in the order of their ids again.
    fn forget_keys(&mut self) {
        let Self { known, back, .. } = self;
        back.retain(|key| known.iter().any(|known| known.lives() && known.key() == *key));
    }

    fn counts(&self) -> (u64, u64, u64) {
        let count = |states: &[State]| {
            self.known.iter().filter(|known| states.contains(&known.state)).count() as u64
        };
        (
            count(&[State::Waiting, State::Running]),
            count(&[State::Running]),
            count(&[State::Failed]),
        )
    }
}

/// The queue beside its model.
pub(super) struct Pair<O> {
    open: O,
    queue: Option<Box<dyn Queue>>,
    model: Model,
    clock: Arc<HeldClock>,
}

impl<O: Fn(&Arc<HeldClock>) -> Box<dyn Queue>> Pair<O> {
    /// An empty queue, as `open` opens it.
    pub(super) fn new(open: O) -> Self {
        let clock = HeldClock::new();
        let queue = Some(open(&clock));
        Self { open, queue, model: Model::default(), clock }
    }

    /// Takes all steps.
    pub(super) fn run(mut self, steps: Vec<Step>) -> Result<(), TestCaseError> {
        steps.into_iter().try_for_each(|step| {
            self.take(step)?;
            self.model.forget_keys();
            Ok(())
        })
    }

    fn queue(&self) -> &dyn Queue {
        self.queue.as_deref().unwrap()
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Accept { transaction, order_key, idempotency_key, bytes } => {
                self.accept(transaction, order_key, idempotency_key, bytes)?;
            }
            Step::Claim(most) => self.claim(most)?,
            Step::Settle(which, how) => self.settle(which, &how),
            Step::Pass(ms) => self.clock.pass(ms),
            Step::SetBack(ms) => {
                let before_ms = self.clock.wall_ms();
                self.clock.set_back(ms);
                // the first claim after it sees it
                let rests = |pair: &Self, ms| {
                    NAMES.iter().for_each(|name| pair.queue().rest(name, Span::from_ms(ms)));
                };
                rests(self, 1_000_000);
                prop_assert!(claim(self.queue(), 1).is_empty());
                flush(self.queue());
                rests(self, 0);
                self.model.rests.clear();
                self.model.rebase(before_ms, self.clock.wall_ms());
            }
            Step::Rest(which, ms) => {
                let known = self.model.known.iter();
                if known.clone().any(|known| &*known.message.transaction == NAMES[which]) {
                    self.queue().rest(NAMES[which], Span::from_ms(ms));
                    let until_ns = self.clock.now_ns() + ms * 1_000_000;
                    self.model.rests.insert(NAMES[which].into(), until_ns);
                }
            }
            Step::Retry(most) => self.retry(most)?,
            Step::Forget(most, state) => self.forget(most, state)?,
            Step::Open => self.open(),
        }
        let figures = self.queue().figures();
        let found = (figures.waiting, figures.running, figures.failed);
        prop_assert_eq!(found, self.model.counts());
        Ok(())
    }

    fn accept(
        &mut self,
        transaction: usize,
        order_key: Option<u8>,
        idempotency_key: Option<u8>,
        bytes: usize,
    ) -> Result<(), TestCaseError> {
        let sent = Message {
            order_key: order_key.map(|key| key.to_string()),
            idempotency_key: idempotency_key.map(|key| key.to_string()),
            ..message(NAMES[transaction], &"x".repeat(bytes))
        };
        let accepted = accept(self.queue(), sent.clone()).unwrap();
        let before = idempotency_key.and_then(|key| self.model.keys.get(&(transaction, key)));
        if let Some(before) = before {
            prop_assert_eq!((accepted.id.0, accepted.repeated), (*before, true));
            return Ok(());
        }
        prop_assert!(!accepted.repeated);
        let id = accepted.id.0;
        prop_assert!(self.model.known.last().is_none_or(|last| last.id < id), "ids rise");
        if let Some(key) = idempotency_key {
            self.model.keys.insert((transaction, key), id);
        }
        let state = State::Waiting;
        self.model.known.push(Known {
            id,
            message: sent,
            state,
            failures: 0,
            due_ms: 0,
            after_ms: 0,
            was_due: false,
        });
        Ok(())
    }

    fn claim(&mut self, most: usize) -> Result<(), TestCaseError> {
        let claimed = claim(self.queue(), most);
        let Some(first) = claimed.first() else {
            for name in NAMES {
                let ready = self.model.ready(name, &self.clock);
                let nothing = ready.certain.is_empty() && !ready.stands_still;
                prop_assert!(nothing, "{ready:?} of {name} is not given out");
            }
            return Ok(());
        };
        let name = first.message.transaction.clone();
        let Ready { certain, possible, .. } = self.model.ready(&name, &self.clock);
        let given = |id: &u64| claimed.iter().any(|one| one.id.0 == *id);
        let whole = claimed.len() == most || certain.iter().all(given);
        prop_assert!(whole && claimed.len() <= most, "{claimed:?} of {certain:?}");
        prop_assert!(claimed.windows(2).all(|pair| pair[0].id < pair[1].id));
        let mut keys: Vec<&String> =
            claimed.iter().filter_map(|one| one.message.order_key.as_ref()).collect();
        let count = keys.len();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), count, "two of one key: {:?}", claimed);
        for one in claimed {
            let ready = certain.contains(&one.id.0) || possible.contains(&one.id.0);
            prop_assert!(ready, "{one:?} is not ready");
            let known = self.model.get(one.id.0);
            prop_assert_eq!(&one.message, &known.message);
            prop_assert_eq!(one.failures, known.failures);
            known.state = State::Running;
        }
        Ok(())
    }

    fn settle(&mut self, which: prop::sample::Index, how: &HowEnded) {
        let running = |known: &&Known| known.state == State::Running;
        let running: Vec<u64> = self.model.known.iter().filter(running).map(|one| one.id).collect();
        if running.is_empty() {
            return;
        }
        let id = *which.get(&running);
        let now_ms = self.clock.wall_ms();
        let known = self.model.get(id);
        known.failures += 1;
        known.was_due = false;
        let ending = match how {
            HowEnded::Done => {
                self.model.known.retain(|known| known.id != id);
                Ending::Done
            }
            HowEnded::Again(ms) => {
                known.state = State::Waiting;
                (known.due_ms, known.after_ms) = (now_ms + ms, *ms);
                again(*ms)
            }
            HowEnded::Dead => {
                known.state = State::Failed;
                dead()
            }
        };
        settle(self.queue(), ExecutionId(id), ending);
    }

    fn retry(&mut self, most: usize) -> Result<(), TestCaseError> {
        let filter = Filter { most, ..Filter::default() };
        let retried = self.queue().retry(&filter).unwrap();
        let Model { known, back, .. } = &mut self.model;
        let dead = known.iter_mut().filter(|known| known.state == State::Failed);
        let mut count = 0;
        for known in dead.take(most) {
            count += 1;
            known.state = State::Waiting;
            (known.failures, known.due_ms, known.after_ms) = (0, 0, 0);
            if known.message.order_key.is_some() {
                back.insert(known.key());
            }
        }
        prop_assert_eq!(retried, count);
        Ok(())
    }

    fn forget(&mut self, most: usize, state: Option<State>) -> Result<(), TestCaseError> {
        let filter = Filter { most, state, ..Filter::default() };
        let meant = |known: &Known| {
            known.state != State::Running && state.is_none_or(|state| state == known.state)
        };
        let all = self.model.known.iter().filter(|known| meant(known)).count();
        let forgotten = self.queue().forget(&filter).unwrap();
        prop_assert_eq!(forgotten, all.min(most) as u64);
        let left = Filter { most: usize::MAX, ..Filter::default() };
        let left = self.queue().list(&left).unwrap();
        let before = self.model.known.len() as u64;
        let still = |known: &Known| left.iter().any(|one| one.id.0 == known.id);
        self.model.known.retain(|known| !meant(known) || still(known));
        prop_assert_eq!(self.model.known.len() as u64, before - forgotten);
        Ok(())
    }

    /// Closes it and opens it again: what was given out waits again, and nobody rests.
    fn open(&mut self) {
        self.queue = None;
        self.queue = Some((self.open)(&self.clock));
        self.model.rests.clear();
        for known in &mut self.model.known {
            if known.state == State::Running {
                known.state = State::Waiting;
            }
        }
    }
}
