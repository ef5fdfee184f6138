//! Stylesheets: a program of its own, `plumb-xslt`, applies each of them, confined.
//!
//! [`Stylesheets`] keeps processes of that program, each with one stylesheet that it has compiled.
//! A process does one document at a time and is replaced after any error; one that is not done in
//! time is killed. What a hostile document or stylesheet breaks is that process alone.

mod deadline;
mod error;
mod pool;
mod process;
mod program;
mod stylesheet;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use plumb_measure::Span;

use deadline::Deadline;
use pool::Pool;

pub use error::XsltError;
pub use pool::XsltFigures;
pub use stylesheet::Stylesheet;
pub(crate) use stylesheet::is_below;

/// What processes of stylesheets may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XsltLimits {
    /// Of a document, or a stylesheet, bytes.
    pub document_bytes: u32,
    /// Processes of one stylesheet at the same time, 1 at least.
    pub processes: usize,
}

/// Address space that a process has beside what a document takes: the libraries, mostly.
const BASE_BYTES: u64 = 192 << 20;
/// Address space for each byte of a document: what its tree, the tree of the result and the text of
/// it take, and a stylesheet that doubles strings must not.
const BYTES_PER_BYTE: u64 = 30;
/// Bytes of a result for each byte that a document may have.
const RESULT_FACTOR: u32 = 4;

impl Default for XsltLimits {
    /// Documents of 16 MiB, as many processes as processors.
    fn default() -> Self {
        let processes = std::thread::available_parallelism().map_or(2, usize::from);
        Self { document_bytes: 16 << 20, processes }
    }
}

impl XsltLimits {
    /// Address space of a process, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        BASE_BYTES + BYTES_PER_BYTE * u64::from(self.document_bytes)
    }

    /// Bytes of a result at most.
    #[must_use]
    pub fn result_bytes(&self) -> u32 {
        self.document_bytes.saturating_mul(RESULT_FACTOR)
    }
}

/// All stylesheets in use, each with its processes.
#[derive(Debug)]
pub struct Stylesheets {
    /// `None`: to be found when it is first needed.
    program: Option<PathBuf>,
    limits: XsltLimits,
    /// By the text of the stylesheet: one that was changed is another.
    pools: Mutex<HashMap<Arc<[u8]>, Arc<Pool>>>,
    counts: Arc<pool::Counts>,
}

impl Stylesheets {
    /// Processes of the `plumb-xslt` that stands beside the running program, or in `PATH`.
    #[must_use]
    pub fn new(limits: XsltLimits) -> Self {
        Self { program: None, limits, pools: Mutex::default(), counts: Arc::default() }
    }

    /// Processes of this program.
    #[must_use]
    pub fn of_program(program: PathBuf, limits: XsltLimits) -> Self {
        Self { program: Some(program), ..Self::new(limits) }
    }

    /// Whether the stylesheet can be compiled, within `patience`.
    ///
    /// # Errors
    /// [`XsltError`].
    pub fn check(&self, stylesheet: &Stylesheet, patience: Span) -> Result<(), XsltError> {
        self.pool(stylesheet)?.check(stylesheet, &Deadline::after(patience))
    }

    /// What the stylesheet makes of the document, within `patience`, which the wait for a process
    /// is part of.
    ///
    /// # Errors
    /// [`XsltError`].
    pub fn transform(
        &self,
        stylesheet: &Stylesheet,
        document: &[u8],
        patience: Span,
    ) -> Result<Vec<u8>, XsltError> {
        if document.len() > self.limits.document_bytes as usize {
            let (found, most) = (document.len(), self.limits.document_bytes);
            return Err(XsltError::DocumentTooLarge { found, most });
        }
        self.pool(stylesheet)?.transform(stylesheet, document, &Deadline::after(patience))
    }

    /// Why no stylesheet can be applied; `None`: the program for it is there.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let missing = self.program.is_none().then(program::find)?.err()?;
        Some(missing.to_string())
    }

    /// Ends the processes of all stylesheets but these, once each has done its document.
    pub fn keep(&self, stylesheets: &[Arc<Stylesheet>]) {
        let is_kept = |text: &Arc<[u8]>| stylesheets.iter().any(|it| it.text() == text);
        self.pools().retain(|text, _| is_kept(text));
    }

    /// How many processes there are and were.
    #[must_use]
    pub fn figures(&self) -> XsltFigures {
        self.counts.figures()
    }

    fn pool(&self, stylesheet: &Stylesheet) -> Result<Arc<Pool>, XsltError> {
        let mut pools = self.pools();
        if let Some(pool) = pools.get(stylesheet.text()) {
            return Ok(Arc::clone(pool));
        }
        let program = match &self.program {
            Some(program) => program.clone(),
            None => program::find()?,
        };
        let pool = Arc::new(Pool::new(program, self.limits, Arc::clone(&self.counts)));
        pools.insert(Arc::clone(stylesheet.text()), Arc::clone(&pool));
        Ok(pool)
    }

    fn pools(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<[u8]>, Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
