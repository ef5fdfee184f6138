//! Data servers and back ends: where the actions of transactions reach out of the runtime.
//!
//! [`DataServers`] has a pool of sessions for each database. [`Work`] is what messages do there: the
//! messages of one unit share a transaction, each is recorded in it by its queue and id, and one that is
//! refused does not keep the others from being committed.

mod back_end;
mod back_end_file;
mod call_key;
mod check;
mod described;
mod done;
mod file;
mod http;
mod insert;
mod pool;
mod presence;
mod server;
mod share;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use plumb_serve::Log;
use plumb_wire::document::nearest;

pub use back_end::{BackEndFigures, BackEnds};
pub use back_end_file::{BackEndPlan, FILE as BACK_ENDS_FILE, Keep, Keys};
pub use file::{DateForm, FILE as DATA_SERVERS_FILE, ServerPlan};
pub use pool::{Lease, Pool, PoolFigures};
pub use work::Work;

use self::described::Description;
use self::server::{CommitMode, DataServer};
use plumb_queue::{ExecutionId, QueueId};
use plumb_transaction::OutsideError;
use plumb_transaction::xslt::{Stylesheets, XsltLimits};

/// Where the messages of a unit of work come from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Their queue: their ids are those of no other message of it.
    pub queue: QueueId,
    /// When each of them was accepted, milliseconds since 1970; one that is not there counts as the
    /// oldest of all.
    pub accepted_ms: BTreeMap<ExecutionId, u64>,
}

/// All data servers and back ends of a folder of transactions.
#[derive(Debug)]
pub struct DataServers {
    servers: BTreeMap<String, Arc<DataServer>>,
    back_ends: BackEnds,
    stylesheets: Arc<Stylesheets>,
    /// Where it is told which of them cannot be used.
    log: OnceLock<Arc<Log>>,
}

impl DataServers {
    /// Those that the files of `folder` describe; nothing is connected yet. A folder without the
    /// files has none.
    ///
    /// # Errors
    /// What is wrong in the files, with its place.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let back_ends = BackEnds::new(back_end_file::read(folder)?);
        Ok(Self { back_ends, ..Self::new(file::read(folder)?) })
    }

    /// Those of `plans`, without back ends.
    #[must_use]
    pub fn new(plans: Vec<ServerPlan>) -> Self {
        let servers = plans.into_iter().map(|plan| (plan.name.clone(), DataServer::new(plan)));
        let servers = servers.map(|(name, server)| (name, Arc::new(server))).collect();
        let stylesheets = Arc::new(Stylesheets::new(XsltLimits::default()));
        Self { servers, back_ends: BackEnds::default(), stylesheets, log: OnceLock::new() }
    }

    /// The same, but for what `before` has described in the same words, which stays as it is: with
    /// its sessions, and with its figures.
    #[must_use]
    pub fn keeping(mut self, before: &Self) -> Self {
        for (name, server) in &mut self.servers {
            if let Some(old) = before.servers.get(name)
                && old.pool.plan().description == server.pool.plan().description
            {
                *server = Arc::clone(old);
            }
        }
        self.back_ends.keep(&before.back_ends);
        if let Some(log) = before.log.get() {
            self.tell(log);
        }
        self
    }

    /// Tells `log` when a data server or a back end can be used no more, and when it can again.
    pub fn tell(&self, log: &Arc<Log>) {
        self.log.get_or_init(|| Arc::clone(log));
        self.servers.values().for_each(|server| server.pool.presence().tell(log));
        self.back_ends.tell(log);
    }

    /// The names of those that are others than in `before`, are new, or are there no more.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let is_kept = |name: &str| match (self.servers.get(name), before.servers.get(name)) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let names: BTreeSet<&str> = self.names().chain(before.names()).collect();
        let servers = names.into_iter().filter(|name| !is_kept(name)).map(str::to_owned);
        servers.chain(self.back_ends.changed_since(&before.back_ends)).collect()
    }

    /// The files that are named in the descriptions, beside those of the descriptions.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let servers = self.servers.values().map(|server| &server.pool.plan().description);
        let all = servers.chain(self.back_ends.descriptions());
        all.flat_map(Description::files).map(PathBuf::as_path)
    }

    /// The same, with the processes that apply stylesheets.
    #[must_use]
    pub fn with_stylesheets(self, stylesheets: Arc<Stylesheets>) -> Self {
        Self { stylesheets, ..self }
    }

    /// The processes that apply stylesheets.
    #[must_use]
    pub fn stylesheets(&self) -> &Arc<Stylesheets> {
        &self.stylesheets
    }

    /// Opens the sessions that there shall be at the start, once. A server that is not there yet is one
    /// for its first statement, too.
    pub fn fill(&self) {
        for server in self.servers.values().filter(|server| server.pool.plan().enabled) {
            let _ = server.pool.fill(); // the log is told
        }
    }

    /// What messages of a queue do: they are recorded where they change something, so that one
    /// that is given out again is not done again.
    #[must_use]
    pub fn unit(self: &Arc<Self>, origin: Origin) -> Work {
        Work::new(Arc::clone(self), CommitMode::Recorded, origin)
    }

    /// What a message does that comes once, and whose caller waits.
    #[must_use]
    pub fn direct(self: &Arc<Self>) -> Work {
        Work::new(Arc::clone(self), CommitMode::Direct, Origin::default())
    }

    /// What is done at once, and undone at the end.
    #[must_use]
    pub fn trial(self: &Arc<Self>) -> Work {
        Work::new(Arc::clone(self), CommitMode::Trial, Origin::default())
    }

    /// Names of the data servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The pool of a data server.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<&Arc<Pool>> {
        self.servers.get(name).map(|server| &server.pool)
    }

    /// The pools, each with the name of its data server.
    pub fn pools(&self) -> impl Iterator<Item = (&str, &Arc<Pool>)> {
        self.servers.iter().map(|(name, server)| (name.as_str(), &server.pool))
    }

    /// The back ends.
    #[must_use]
    pub fn back_ends(&self) -> &BackEnds {
        &self.back_ends
    }

    fn find(&self, name: &str) -> Result<Arc<DataServer>, OutsideError> {
        let refused = |problem: String| Err(OutsideError::Refused(problem));
        if name.is_empty() {
            let mut all = self.servers.values();
            return match (all.next(), all.next()) {
                (Some(only), None) => Ok(Arc::clone(only)),
                (None, _) => {
                    refused(format!("there is no data server: describe one in {DATA_SERVERS_FILE}"))
                }
                _ => {
                    let names: Vec<&str> = self.names().collect();
                    refused(format!("say which: server = one of {}", names.join(", ")))
                }
            };
        }
        if let Some(server) = self.servers.get(name) {
            return Ok(Arc::clone(server));
        }
        let meant = nearest(name, self.names());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        refused(format!("{DATA_SERVERS_FILE} has no data server `{name}`{meant}"))
    }

    fn takes_alone(&self, id: ExecutionId) -> bool {
        // each is asked: none may keep it
        self.servers.values().fold(false, |alone, server| server.takes_alone(id) | alone)
    }
}

/// Whether a statement only reads, as far as its first word tells.
fn is_read(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(|it| it.is_alphabetic()).collect();
    ["select", "values", "show", "table"].iter().any(|known| word.eq_ignore_ascii_case(known))
}
