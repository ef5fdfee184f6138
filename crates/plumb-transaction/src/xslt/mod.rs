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

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use plumb_measure::Span;

use deadline::Deadline;
use pool::Pool;
use stylesheet::STYLESHEET_BYTES_MAX;

pub use error::XsltError;
pub use pool::XsltFigures;
pub use stylesheet::Stylesheet;
pub(crate) use stylesheet::is_below;

/// What processes of stylesheets may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XsltLimits {
    /// Of a document, bytes.
    pub document_bytes: u32,
    /// Processes of one stylesheet at the same time, 1 at least.
    pub processes: usize,
}

/// Address space that a process has beside what a document takes: the libraries, mostly.
const BASE_BYTES: u64 = 192 << 20;
/// Address space for each byte of a document or stylesheet: what its tree, the tree of the result and the text of
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
        BASE_BYTES + BYTES_PER_BYTE * u64::from(self.frame_bytes())
    }

    /// Bytes of what a process is given at most: a stylesheet may be larger than documents.
    fn frame_bytes(&self) -> u32 {
        self.document_bytes.max(STYLESHEET_BYTES_MAX)
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
    pools: Mutex<Pools>,
    counts: Arc<pool::Counts>,
}

/// The processes of all stylesheets, by their texts: one that was changed is another.
#[derive(Debug, Default)]
struct Pools {
    kept: HashMap<Arc<[u8]>, Arc<Pool>>,
    /// Of texts that are not in force any more: they end with the last message that uses them.
    passing: HashMap<Arc<[u8]>, Weak<Pool>>,
    /// Whose processes stay; `None`: those of all.
    in_force: Option<HashSet<Arc<[u8]>>>,
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
        let pool = self.pool(stylesheet)?;
        // it may come into force, with the process that has compiled it
        self.pools().kept.insert(Arc::clone(stylesheet.text()), Arc::clone(&pool));
        pool.check(stylesheet, &Deadline::after(patience))
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

    /// Ends the processes of all stylesheets but these, once each has done its document. A message
    /// that began with another one is given processes, which end with it.
    pub fn keep(&self, stylesheets: &[Arc<Stylesheet>]) {
        self.pools().keep(stylesheets.iter().map(|it| Arc::clone(it.text())).collect());
    }

    /// How many processes there are and were.
    #[must_use]
    pub fn figures(&self) -> XsltFigures {
        self.counts.figures()
    }

    fn pool(&self, stylesheet: &Stylesheet) -> Result<Arc<Pool>, XsltError> {
        let mut pools = self.pools();
        if let Some(pool) = pools.get(stylesheet.text()) {
            return Ok(pool);
        }
        let program = match &self.program {
            Some(program) => program.clone(),
            None => program::find()?,
        };
        let pool = Arc::new(Pool::new(program, self.limits, Arc::clone(&self.counts)));
        pools.add(stylesheet.text(), &pool);
        Ok(pool)
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pools {
    fn get(&self, text: &[u8]) -> Option<Arc<Pool>> {
        let passing = || self.passing.get(text).and_then(Weak::upgrade);
        self.kept.get(text).cloned().or_else(passing)
    }

    fn add(&mut self, text: &Arc<[u8]>, pool: &Arc<Pool>) {
        if self.in_force.as_ref().is_none_or(|texts| texts.contains(text)) {
            self.kept.insert(Arc::clone(text), Arc::clone(pool));
        } else {
            self.passing.insert(Arc::clone(text), Arc::downgrade(pool));
        }
    }

    fn keep(&mut self, texts: HashSet<Arc<[u8]>>) {
        let gone = self.kept.extract_if(|text, _| !texts.contains(text));
        self.passing.extend(gone.map(|(text, pool)| (text, Arc::downgrade(&pool))));
        self.passing.retain(|_, pool| pool.strong_count() > 0);
        self.in_force = Some(texts);
    }
}
