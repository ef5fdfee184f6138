//! What executions reach outside, a unit of work for each thread.

use std::sync::Arc;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};

use crate::data::DataServers;
use crate::transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SqlAnswer, UnitOfWork,
};
use crate::xslt::Stylesheet;

/// Where units of work come from.
pub(crate) trait Outsides: Send + Sync {
    /// One for a thread that does messages of the queue.
    fn unit(&self) -> Box<dyn UnitOfWork + Send>;

    /// One for a thread that does synchronous calls, which are not given out again.
    fn direct(&self) -> Box<dyn UnitOfWork + Send>;
}

impl Outsides for Arc<DataServers> {
    fn unit(&self) -> Box<dyn UnitOfWork + Send> {
        Box::new(DataServers::unit(self))
    }

    fn direct(&self) -> Box<dyn UnitOfWork + Send> {
        Box::new(DataServers::direct(self))
    }
}

/// What an execution reaches, with the time that is spent at data servers and back ends.
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

    fn transform(
        &mut self,
        stylesheet: &Stylesheet,
        document: &[u8],
        patience: Span,
    ) -> Result<Vec<u8>, OutsideError> {
        // a stylesheet is computed on this machine: its time is the execution's
        self.outside.transform(stylesheet, document, patience)
    }
}
