//! What executions reach outside, in units of work.

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use super::inside::Inside;
use crate::live::Version;
use plumb_data::Origin;
use plumb_transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SqlAnswer, SqlRequest, UnitOfWork,
    XsltRequest,
};

/// Where units of work come from.
pub(crate) trait Outsides: Send + Sync {
    /// One for messages of a queue that are done by `version`.
    fn unit(&self, version: &Version, origin: Origin) -> Box<dyn UnitOfWork + Send>;

    /// One for a synchronous call that is done by `version`, which is not given out again.
    fn direct(&self, version: &Version) -> Box<dyn UnitOfWork + Send>;
}

/// What a version of the transactions describes itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described;

impl Outsides for Described {
    fn unit(&self, version: &Version, origin: Origin) -> Box<dyn UnitOfWork + Send> {
        Box::new(version.servers.unit(origin))
    }

    fn direct(&self, version: &Version) -> Box<dyn UnitOfWork + Send> {
        Box::new(version.servers.direct())
    }
}

/// What an execution reaches, with the time that is spent at data servers and back ends.
pub(super) struct Timed<'a> {
    pub(super) outside: &'a mut dyn UnitOfWork,
    pub(super) ns: u64,
    pub(super) inside: Inside,
    /// The `traceparent` of whoever asked.
    pub(super) trace: Option<&'a str>,
}

impl Timed<'_> {
    fn timed<T>(&mut self, ask: impl FnOnce(&mut dyn UnitOfWork) -> T) -> (T, u64) {
        let began_ns = MonotonicClock.now_ns();
        let answer = ask(self.outside);
        let took_ns = MonotonicClock.now_ns() - began_ns;
        self.ns += took_ns;
        (answer, took_ns)
    }

    fn asked<T>(&mut self, ask: impl FnOnce(&mut dyn UnitOfWork) -> T) -> T {
        let before = self.outside.session_times();
        let (answer, took_ns) = self.timed(ask);
        self.inside.asked(took_ns, self.outside.session_times().since(before));
        answer
    }
}

impl Outside for Timed<'_> {
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError> {
        self.asked(|outside| outside.sql(request))
    }

    fn sql_later(&mut self, request: &SqlRequest<'_>) -> Result<(), OutsideError> {
        self.asked(|outside| outside.sql_later(request))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        let request = BackEndRequest { trace: self.trace, ..*request };
        let (answer, took_ns) = self.timed(|outside| outside.call(&request));
        self.inside.called(took_ns, answer.as_ref().map_or(&[], |answer| &answer.told));
        answer
    }

    fn transform(&mut self, request: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError> {
        // a stylesheet is computed on this machine: its time is the execution's
        self.outside.transform(request)
    }
}
