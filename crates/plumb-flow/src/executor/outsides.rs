//! What executions reach outside, a unit of work for each thread.

use std::path::Path;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use crate::queue::ExecutionId;
use crate::transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SqlAnswer, UnitOfWork, Unreachable,
};

/// Where units of work come from.
pub(crate) trait Outsides: Send + Sync {
    /// One for a thread that does messages of the queue.
    fn unit(&self) -> Box<dyn UnitOfWork + Send>;

    /// One for a thread that does synchronous calls, which are not given out again.
    fn direct(&self) -> Box<dyn UnitOfWork + Send>;
}

/// A runtime without data servers and back ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoOutsides;

impl Outsides for NoOutsides {
    fn unit(&self) -> Box<dyn UnitOfWork + Send> {
        Box::new(Inside::default())
    }

    fn direct(&self) -> Box<dyn UnitOfWork + Send> {
        self.unit()
    }
}

/// Work that stays inside: whatever reaches out is refused.
#[derive(Debug, Default)]
struct Inside {
    nowhere: Unreachable,
    begun: Vec<ExecutionId>,
}

impl Outside for Inside {
    fn sql(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError> {
        self.nowhere.sql(server, text, values)
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        self.nowhere.call(request)
    }

    fn transform(&mut self, stylesheet: &Path, document: &[u8]) -> Result<Vec<u8>, OutsideError> {
        self.nowhere.transform(stylesheet, document)
    }
}

impl UnitOfWork for Inside {
    fn begin(&mut self, id: ExecutionId) {
        self.begun.push(id);
    }

    fn undo(&mut self) {
        self.begun.pop();
    }

    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        self.begun.drain(..).map(|id| (id, Ok(()))).collect()
    }
}

/// Counts the time that is spent outside.
pub(super) struct Timed<'a> {
    pub(super) outside: &'a mut dyn UnitOfWork,
    pub(super) ns: u64,
}

impl Timed<'_> {
    fn timed<T>(&mut self, ask: impl FnOnce(&mut dyn UnitOfWork) -> T) -> T {
        let began_ns = MonotonicClock.now_ns();
        let answer = ask(self.outside);
        self.ns += MonotonicClock.now_ns() - began_ns;
        answer
    }
}

impl Outside for Timed<'_> {
    fn sql(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError> {
        self.timed(|outside| outside.sql(server, text, values))
    }

    fn sql_later(
        &mut self,
        server: &str,
        text: &str,
        values: &[Option<&str>],
    ) -> Result<(), OutsideError> {
        self.timed(|outside| outside.sql_later(server, text, values))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        self.timed(|outside| outside.call(request))
    }

    fn transform(&mut self, stylesheet: &Path, document: &[u8]) -> Result<Vec<u8>, OutsideError> {
        // a stylesheet is computed here: its time is the execution's
        self.outside.transform(stylesheet, document)
    }
}
