//! What executions reach outside, a unit of work for each thread.

use crate::queue::ExecutionId;
use crate::transaction::{
    BackEndAnswer, BackEndRequest, Outside, OutsideError, SqlAnswer, UnitOfWork,
};

/// Where units of work come from.
pub(crate) trait Outsides: Send + Sync {
    /// One for a thread of its own.
    fn unit(&self) -> Box<dyn UnitOfWork + Send>;
}

/// A runtime without data servers, back ends and stylesheets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoOutsides;

impl Outsides for NoOutsides {
    fn unit(&self) -> Box<dyn UnitOfWork + Send> {
        Box::new(Inside::default())
    }
}

/// Work that stays inside: whatever reaches out is refused.
#[derive(Debug, Default)]
struct Inside(Vec<ExecutionId>);

impl Outside for Inside {
    fn sql(
        &mut self,
        server: &str,
        _: &str,
        _: &[Option<&str>],
    ) -> Result<SqlAnswer, OutsideError> {
        Err(OutsideError::Refused(format!("there is no data server `{server}`: none is configured")))
    }

    fn call(&mut self, request: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        let server = request.server;
        Err(OutsideError::Refused(format!("there is no back end `{server}`: none is configured")))
    }

    fn transform(&mut self, _: &std::path::Path, _: &[u8]) -> Result<Vec<u8>, OutsideError> {
        Err(OutsideError::Refused("stylesheets are not configured".into()))
    }
}

impl UnitOfWork for Inside {
    fn begin(&mut self, id: ExecutionId) {
        self.0.push(id);
    }

    fn undo(&mut self) {
        self.0.pop();
    }

    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        self.0.drain(..).map(|id| (id, Ok(()))).collect()
    }
}
