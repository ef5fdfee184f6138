//! The transactions that are in force, with what they reach, and how others take their place.

mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use plumb_engine::clock;
use plumb_measure::Span;
use serde::{Deserialize, Serialize};

use crate::{FlowError, Transactions};
use plumb_data::DataServers;
use plumb_transaction::Transaction;
use plumb_transaction::xslt::Stylesheets;

pub(crate) use watch::{fill, watch};

/// A stylesheet is compiled within this, or refused.
const STYLESHEET_TIME: Span = Span::from_ms(10_000);

/// Transactions that came into force together, with the data servers and back ends that they reach.
/// With the last execution that began with a version the sessions end that no other version has.
#[derive(Debug)]
pub(crate) struct Version {
    /// Of their files.
    pub(crate) digest: String,
    pub(crate) transactions: Transactions,
    pub(crate) servers: Arc<DataServers>,
}

/// The transactions in force. An execution keeps the [`Version`] that it began with.
#[derive(Debug)]
pub(crate) struct Live {
    folder: PathBuf,
    /// Transactions that are named outside of the folder and have to be in it.
    needed: Vec<String>,
    stylesheets: Arc<Stylesheets>,
    current: RwLock<Arc<Version>>,
    state: Mutex<LiveState>,
}

/// What became of the files so far.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LiveState {
    /// Since when the transactions in force are, in UTC.
    pub(crate) since: String,
    /// Times that others took their place.
    pub(crate) reloads: u64,
    /// Times that what the files say could not be put into force.
    pub(crate) failures: u64,
    /// Why the last change of the files is not in force; `None`: it is.
    pub(crate) problem: Option<String>,
}

/// What a look at the files came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reloaded {
    /// They say what is in force already.
    Same,
    /// They are in force now.
    New {
        /// Of the files.
        digest: String,
        /// Transactions.
        count: usize,
        /// Data servers and back ends that are others now, are new, or are there no more.
        changed: Vec<String>,
    },
    /// They cannot be put into force, and what was in force still is.
    Kept(String),
}

impl Live {
    /// Puts the transactions of `folder` into force; `needed` ones have to be among them.
    ///
    /// # Errors
    /// [`FlowError`] when they cannot be read, or something is wrong with them.
    pub(crate) fn open(
        folder: &Path,
        needed: Vec<String>,
        stylesheets: Arc<Stylesheets>,
    ) -> Result<Self, FlowError> {
        let version = read(folder, &needed, &stylesheets, None)?;
        let since = clock::utc(clock::wall_ns());
        let state = LiveState { since, reloads: 0, failures: 0, problem: None };
        Ok(Self {
            folder: folder.into(),
            needed,
            stylesheets,
            current: RwLock::new(Arc::new(version)),
            state: Mutex::new(state),
        })
    }

    /// What is in force.
    pub(crate) fn current(&self) -> Arc<Version> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What became of the files so far.
    pub(crate) fn state(&self) -> LiveState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the files again and puts them into force, all of them or none.
    pub(crate) fn reload(&self) -> Reloaded {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current();
        let read = read(&self.folder, &self.needed, &self.stylesheets, Some(&before));
        let version = match read {
            Err(error) => {
                // what was compiled to be looked at is not needed
                self.stylesheets.keep(&before.transactions.stylesheets());
                let problem = error.to_string();
                state.failures += 1;
                state.problem = Some(problem.clone());
                return Reloaded::Kept(problem);
            }
            Ok(version) => version,
        };
        state.problem = None;
        let changed = version.servers.changed_since(&before.servers);
        if version.digest == before.digest && changed.is_empty() {
            return Reloaded::Same;
        }
        self.stylesheets.keep(&version.transactions.stylesheets());
        let (digest, count) = (version.digest.clone(), version.transactions.all().count());
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(version);
        state.since = clock::utc(clock::wall_ns());
        state.reloads += 1;
        Reloaded::New { digest, count, changed }
    }

    /// Why the stylesheets in force were not compiled, where there are some; they are when the
    /// program for it has been installed.
    pub(crate) fn uncompiled(&self) -> Option<String> {
        if self.current().transactions.stylesheets().is_empty() {
            return None;
        }
        self.stylesheets.problem()
    }

    /// The files in force that do not stand in the folder itself, as far as is known.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let version = self.current();
        let stylesheets = version.transactions.stylesheets();
        let stylesheets = stylesheets.iter().map(|it| self.folder.join(it.path()));
        stylesheets.chain(version.servers.files().map(Path::to_path_buf)).collect()
    }
}

/// The transactions of `folder`, all of them right, and what they reach; of that, what is described
/// as `before` stays.
fn read(
    folder: &Path,
    needed: &[String],
    stylesheets: &Arc<Stylesheets>,
    before: Option<&Version>,
) -> Result<Version, FlowError> {
    let mut transactions = Transactions::read(folder)?;
    // without the program everything else works
    if stylesheets.problem().is_none() {
        transactions.check_stylesheets(stylesheets, STYLESHEET_TIME);
    }
    let mut problems: Vec<String> =
        transactions.problems().iter().map(ToString::to_string).collect();
    let servers = DataServers::read(folder).unwrap_or_else(|problem| {
        problems.push(problem);
        DataServers::new(Vec::new())
    });
    if problems.is_empty() {
        problems = problems_outside(&transactions, &servers, folder);
    }
    if !problems.is_empty() {
        return Err(FlowError::Wrong(problems.join("\n")));
    }
    let servers = servers.with_stylesheets(Arc::clone(stylesheets));
    let servers = match before {
        Some(before) => servers.keeping(&before.servers),
        None => servers,
    };
    if let Some(missing) = needed.iter().find(|name| transactions.find(name).is_none()) {
        let (name, folder) = (missing.clone(), folder.into());
        return Err(FlowError::Unknown { nearest: transactions.nearest(missing), name, folder });
    }
    Ok(Version { digest: transactions.digest(), transactions, servers: Arc::new(servers) })
}

/// What is wrong with what `transactions` reach, a text each.
fn problems_outside(
    transactions: &Transactions,
    servers: &DataServers,
    folder: &Path,
) -> Vec<String> {
    let of = |transaction: &Transaction| {
        let path = folder.join(format!("{}.toml", transaction.name));
        let problems = servers.problems_of(transaction).into_iter();
        problems.map(move |problem| format!("{}: {problem}", path.display()))
    };
    transactions.all().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use plumb_transaction::xslt::XsltLimits;

    fn open(folder: &Path, needed: &[&str]) -> Result<Live, FlowError> {
        let needed = needed.iter().map(|name| (*name).to_owned()).collect();
        Live::open(folder, needed, Arc::new(Stylesheets::new(XsltLimits::default())))
    }

    const GOOD: &str = "[[action]]\nlog = \"one\"\n";

    #[test]
    fn files_come_into_force_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.toml"), GOOD).unwrap();
        let live = open(folder.path(), &["a"]).unwrap();
        let first = live.current();
        assert_eq!(live.reload(), Reloaded::Same);
        fs::write(path("b.toml"), GOOD.replace("one", "two")).unwrap();
        let Reloaded::New { digest, count: 2, .. } = live.reload() else { panic!("b is new") };
        assert!(digest != first.digest && live.current().digest == digest);
        // whoever began with the first version still has it
        assert!(first.transactions.find("b").is_none());

        fs::write(path("b.toml"), "[[action]]\nlog = \"${none}\"\n").unwrap();
        let Reloaded::Kept(problem) = live.reload() else { panic!("b is wrong") };
        assert!(problem.contains("b.toml, line 2"), "{problem}");
        assert_eq!((live.current().digest.clone(), live.state().failures), (digest.clone(), 1));
        assert_eq!(live.state().problem, Some(problem));

        fs::remove_file(path("b.toml")).unwrap();
        fs::rename(path("a.toml"), path("c.toml")).unwrap();
        let Reloaded::Kept(problem) = live.reload() else { panic!("a is needed") };
        assert!(problem.contains("has no transaction `a`"), "{problem}");
        fs::rename(path("c.toml"), path("a.toml")).unwrap();
        let (digest, changed) = (first.digest.clone(), Vec::new());
        assert_eq!(live.reload(), Reloaded::New { digest, count: 1, changed });
        assert_eq!((live.state().problem, live.state().reloads), (None, 2));
    }

    #[test]
    fn what_is_described_as_before_stays_and_what_is_not_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let servers = "[server.a]\nurl = \"a.db\"\n[server.b]\nurl = \"b.db\"\n";
        let ends = "[back-end.erp]\nurl = \"http://erp\"\nuser = \"u\"\npassword-file = \"word\"\n";
        write("one.toml", "[[action]]\nsql = \"SELECT 1\"\nserver = \"a\"\n");
        write("data-servers.toml", servers);
        write("back-ends.toml", ends);
        write("word", "secret");
        let live = open(folder.path(), &[]).unwrap();
        let first = live.current();
        let changed = || match live.reload() {
            Reloaded::New { changed, .. } => changed,
            other => panic!("{other:?}"),
        };
        // a line more is another text, and the same servers
        write("data-servers.toml", &format!("# ours\n{servers}"));
        assert_eq!(changed(), Vec::<String>::new());
        write("data-servers.toml", &servers.replace("a.db\"", "a.db\"\nretries = 1"));
        assert_eq!(changed(), ["a"]);
        let second = live.current();
        let pool = |of: &Version, name: &str| Arc::clone(of.servers.pool(name).unwrap());
        assert!(!Arc::ptr_eq(&pool(&first, "a"), &pool(&second, "a")));
        assert!(Arc::ptr_eq(&pool(&first, "b"), &pool(&second, "b")));
        // a password is part of it, though it stands in no text that has a digest
        write("word", "other");
        assert_eq!(changed(), ["erp"]);
        assert_eq!(live.current().digest, second.digest);
        assert_eq!(live.reload(), Reloaded::Same);
        // one that a transaction needs cannot go
        write("data-servers.toml", "[server.b]\nurl = \"b.db\"\n");
        let Reloaded::Kept(problem) = live.reload() else { panic!("a is needed") };
        let expected = "one.toml: sql in line 2: data-servers.toml has no data server `a`";
        assert!(problem.contains(expected), "{problem}");
        write("data-servers.toml", "[server.a]\nurll = \"a.db\"\n");
        let Reloaded::Kept(problem) = live.reload() else { panic!("it is wrong") };
        assert!(problem.contains("data-servers.toml, line 2, column 1"), "{problem}");
        assert!(live.current().servers.pool("a").is_some());
    }

    #[test]
    fn what_is_wrong_at_the_beginning_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path(), &[]).is_err());
        fs::write(folder.path().join("a.toml"), "action = 1\n").unwrap();
        let error = open(folder.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("a.toml, line 1"), "{error}");
    }
}
