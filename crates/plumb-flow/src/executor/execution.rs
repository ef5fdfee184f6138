//! One message goes through its transaction, whatever happens there.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

use super::inside::{ActionTime, Inside};
use super::outsides::Timed;
use super::trace::BoundedTrace;
use crate::live::Version;
use plumb_queue::{ExecutionId, Kept, Message};
use plumb_transaction::{
    Body, Completed, Failed, FailureKind, OutsideError, Persist, Request, SessionTimes,
    Transaction, UnitOfWork, run,
};

/// How an attempt went, before what it did outside is committed.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) result: Result<Completed, Failed>,
    pub(super) trace: String,
    pub(super) persist: Persist,
    pub(super) retention: Span,
    pub(super) execution_ns: u64,
    /// Of it, outside.
    pub(super) data_ns: u64,
    /// Of it, in the commit.
    pub(super) commit_ns: u64,
    /// Of it, in each of the outermost actions.
    pub(super) actions: Vec<ActionTime>,
}

/// Takes `message` through its transaction of `version`, with `trace_size` bytes for what it did; `parent` is
/// the `traceparent` of whoever asked.
pub(super) fn attempt(
    version: &Version,
    message: &Message,
    outside: &mut dyn UnitOfWork,
    (trace_size, parent): (usize, Option<&str>),
) -> Attempt {
    let began_ns = MonotonicClock.now_ns();
    let Some(transaction) = version.transactions.find(&message.transaction) else {
        let problem = format!("there is no transaction `{}` any more", message.transaction);
        return Attempt {
            result: Err(failed(problem)),
            trace: String::new(),
            persist: Persist::OnError,
            retention: Span::from_ns(0),
            execution_ns: 0,
            data_ns: 0,
            commit_ns: 0,
            actions: Vec::new(),
        };
    };
    let Transaction { persist, retention, time_limit, .. } = *transaction;
    let inside = Inside::default();
    let mut trace = BoundedTrace::new(persist, trace_size, time_limit, inside.clone());
    trace.line(&format!("{} of version {}", transaction.name, version.digest));
    let mut outside = Timed { outside, ns: 0, inside, trace: parent };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let find = |name: &str| version.transactions.find(name);
        run(transaction, &request(message), &find, &mut outside, &mut trace)
    }));
    let result = result.unwrap_or_else(|cause| Err(failed(panicked(&*cause))));
    if let Err(failed) = &result {
        trace.line(&format!("failed: {failed}"));
    }
    let data_ns = outside.ns;
    let execution_ns = MonotonicClock.now_ns() - began_ns;
    let actions = trace.take_actions();
    let (commit_ns, trace) = (0, trace.finish());
    Attempt { result, trace, persist, retention, execution_ns, data_ns, commit_ns, actions }
}

fn request(message: &Message) -> Request<'_> {
    let parameters: BTreeMap<String, String> = message.parameters.iter().cloned().collect();
    let body = match &*message.media_type {
        "application/json" => Body::Json(&message.body),
        _ => Body::Xml(&message.body),
    };
    Request { body, parameters }
}

fn failed(problem: String) -> Failed {
    Failed { actions: Vec::new(), problem, kind: FailureKind::Refused }
}

/// What a panic says.
fn panicked(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().copied();
    let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
    format!("the execution broke off: {}", text.unwrap_or("no cause is known"))
}

/// How what was done outside ended, message by message.
pub(super) type Committed = Vec<(ExecutionId, Result<(), OutsideError>)>;

/// Commits what was done outside, and says what of the time was no work of the data servers. A unit of
/// work that breaks off says nothing of any message.
pub(super) fn commit(mut unit: Box<dyn UnitOfWork + Send>) -> (Committed, SessionTimes) {
    let before = unit.session_times();
    let committed = catch_unwind(AssertUnwindSafe(|| unit.commit())).unwrap_or_default();
    (committed, unit.session_times().since(before))
}

impl Attempt {
    /// Takes over how the commit of what the execution `id` did outside ended. What nothing is said
    /// of may or may not be committed: another attempt finds out.
    pub(super) fn end_with(&mut self, id: ExecutionId, committed: &Committed) {
        let broken = Err(OutsideError::Lost("the commit broke off".into()));
        let ended = committed.iter().find(|(of, _)| *of == id).map_or(&broken, |(_, ended)| ended);
        let Err(error) = ended else { return };
        let kind = match error {
            OutsideError::Lost(_) => FailureKind::Lost,
            OutsideError::Refused(_) => FailureKind::Refused,
            OutsideError::Late(_) => FailureKind::TimeLimit,
            // what it did is there already
            OutsideError::DoneBefore => return,
        };
        let failed = Failed { actions: vec!["commit".into()], problem: error.to_string(), kind };
        if self.persist != Persist::Never {
            self.trace += &format!("failed: {failed}\n");
        }
        self.result = Err(failed);
    }

    /// What its transaction wants to be kept of it.
    pub(super) fn take_kept(&mut self) -> Option<Kept> {
        let wanted = match self.persist {
            Persist::Always => true,
            Persist::OnError => self.result.is_err(),
            Persist::Never => false,
        };
        let trace = std::mem::take(&mut self.trace);
        wanted.then_some(Kept { trace, retention: self.retention })
    }
}
