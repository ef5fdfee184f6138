//! The transactions that are in force, and how others take their place.

mod watch;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use plumb_engine::clock;
use plumb_measure::Span;
use serde::Serialize;

use crate::xslt::Stylesheets;
use crate::{FlowError, Transactions};

pub(crate) use watch::watch;

/// A stylesheet is compiled within this, or refused.
const STYLESHEET_TIME: Span = Span::from_ms(10_000);

/// Transactions that came into force together.
#[derive(Debug)]
pub(crate) struct Version {
    /// Of their files.
    pub(crate) digest: String,
    pub(crate) transactions: Transactions,
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
#[derive(Clone, Debug, Serialize)]
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
    /// They are in force now: their digest, and how many.
    New(String, usize),
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
        let version = read(folder, &needed, &stylesheets)?;
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
        match read(&self.folder, &self.needed, &self.stylesheets) {
            Err(error) => {
                let problem = error.to_string();
                state.failures += 1;
                state.problem = Some(problem.clone());
                Reloaded::Kept(problem)
            }
            Ok(version) if version.digest == self.current().digest => {
                state.problem = None;
                Reloaded::Same
            }
            Ok(version) => {
                self.stylesheets.keep(&version.transactions.stylesheets());
                let new = (version.digest.clone(), version.transactions.all().count());
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(version);
                state.since = clock::utc(clock::wall_ns());
                state.reloads += 1;
                state.problem = None;
                Reloaded::New(new.0, new.1)
            }
        }
    }
}

/// The transactions of `folder`, all of them right.
fn read(folder: &Path, needed: &[String], stylesheets: &Stylesheets) -> Result<Version, FlowError> {
    let mut transactions = Transactions::read(folder)?;
    transactions.check_stylesheets(stylesheets, STYLESHEET_TIME);
    if !transactions.problems().is_empty() {
        let problems: Vec<String> =
            transactions.problems().iter().map(ToString::to_string).collect();
        return Err(FlowError::Wrong(problems.join("\n")));
    }
    if let Some(missing) = needed.iter().find(|name| transactions.find(name).is_none()) {
        let (name, folder) = (missing.clone(), folder.into());
        return Err(FlowError::Unknown { nearest: transactions.nearest(missing), name, folder });
    }
    Ok(Version { digest: transactions.digest(), transactions })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::xslt::XsltLimits;

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
        let Reloaded::New(digest, 2) = live.reload() else { panic!("b is new") };
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
        assert_eq!(live.reload(), Reloaded::New(first.digest.clone(), 1));
        assert_eq!((live.state().problem, live.state().reloads), (None, 2));
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
