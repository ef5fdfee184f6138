//! Sessions with one data server, kept between messages, up to a limit.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::database::{Database, DatabaseError, DatabaseTimes};

use super::file::ServerPlan;
use super::presence::Presence;
use plumb_transaction::{OutsideError, SessionTimes};

/// All sessions with one data server.
#[derive(Debug)]
pub struct Pool {
    plan: ServerPlan,
    state: Mutex<State>,
    /// A session came back, or a place for one.
    freed: Condvar,
    /// The sessions of the start have been opened, or tried to be.
    filled: AtomicBool,
    presence: Presence,
}

#[derive(Debug, Default)]
struct State {
    idle: VecDeque<Idle>,
    /// Of the places in use, those whose session is not logged on yet.
    opening: usize,
    figures: PoolFigures,
}

#[derive(Debug)]
struct Idle {
    database: Database,
    uses: u64,
}

/// How many sessions there are and were. Counts are since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// Sessions at most.
    pub maximum: usize,
    /// In use, or being opened.
    pub in_use: usize,
    /// The most that were in use.
    pub in_use_max: usize,
    /// Open and not in use.
    pub idle: usize,
    /// Messages, or groups of them, that wait for one at the moment.
    pub waiting: usize,
    /// Times that one was given out.
    pub taken: u64,
    /// Times that somebody had to wait for one.
    pub waited: u64,
    /// Nanoseconds in those waits.
    pub wait_ns: u64,
    /// The longest of them, nanoseconds.
    pub wait_max_ns: u64,
    /// Waits that ran out.
    pub ran_out: u64,
    /// Log-ons.
    pub log_ons: u64,
    /// Log-ons that failed.
    pub failed_log_ons: u64,
    /// Sessions that had been used often enough.
    pub replaced: u64,
    /// Sessions that failed the validation query.
    pub failed_validations: u64,
    /// Sessions that were lost in use, or while they were idle.
    pub lost: u64,
    /// The server lets nobody log on, and no session is left; or it was silent.
    pub away: bool,
}

/// A session, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    pool: Arc<Pool>,
    database: Option<Database>,
    uses: u64,
    waited_ns: u64,
    /// What its session had spent before.
    before: DatabaseTimes,
}

impl Pool {
    /// The pool of `plan`; nothing is connected yet.
    #[must_use]
    pub fn new(plan: ServerPlan) -> Self {
        let figures = PoolFigures { maximum: plan.maximum, ..PoolFigures::default() };
        let state = Mutex::new(State { figures, ..State::default() });
        let presence = Presence::new(format!("the data server {}", plan.name));
        let (freed, filled) = (Condvar::new(), AtomicBool::new(false));
        Self { plan, state, freed, filled, presence }
    }

    /// The settings.
    #[must_use]
    pub fn plan(&self) -> &ServerPlan {
        &self.plan
    }

    /// How many sessions there are and were.
    #[must_use]
    pub fn figures(&self) -> PoolFigures {
        self.look();
        let state = self.lock();
        PoolFigures { idle: state.idle.len(), away: self.presence.is_away(), ..state.figures }
    }

    /// Opens the sessions that there shall be at the start; the second time nothing happens.
    ///
    /// # Errors
    /// [`OutsideError::Lost`] for the first that is not opened; those before it stay.
    pub fn fill(self: &Arc<Self>) -> Result<(), OutsideError> {
        if self.filled.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut opened = Vec::new();
        while opened.len() + self.figures().idle < self.plan.initial {
            opened.push(self.take()?);
        }
        Ok(())
    }

    /// A session that is logged on, for whoever asks.
    ///
    /// # Errors
    /// [`OutsideError::Lost`] when none comes free in time or the server lets nobody in,
    /// [`OutsideError::Refused`] when the server is not enabled.
    pub fn take(self: &Arc<Self>) -> Result<Lease, OutsideError> {
        if !self.plan.enabled {
            let name = &self.plan.name;
            let problem = format!("the data server {name} is not enabled ({})", super::file::FILE);
            return Err(OutsideError::Refused(problem));
        }
        let until_ns = MonotonicClock.now_ns().saturating_add(self.plan.wait.ns());
        let mut waited_ns = 0;
        loop {
            let mut lease = self.place(until_ns)?;
            waited_ns += lease.waited_ns;
            lease.waited_ns = waited_ns;
            match lease.database.take() {
                Some(mut kept) => {
                    if self.is_valid(&mut kept) {
                        lease.database = Some(kept);
                        return Ok(lease);
                    }
                    // its place is free again, and another session may be idle
                }
                None => {
                    lease.database = Some(self.log_on(until_ns)?);
                    return Ok(lease);
                }
            }
        }
    }

    /// A place among the sessions, with a session if one is idle.
    fn place(self: &Arc<Self>, until_ns: u64) -> Result<Lease, OutsideError> {
        let began_ns = MonotonicClock.now_ns();
        let mut state = self.lock();
        let mut waited = false;
        while state.figures.in_use >= self.plan.maximum {
            let now_ns = MonotonicClock.now_ns();
            if now_ns >= until_ns {
                state.figures.ran_out += 1;
                state.note_wait(waited, now_ns - began_ns);
                return Err(self.exhausted());
            }
            if !waited {
                waited = true;
                state.figures.waiting += 1;
            }
            let left = Duration::from_nanos(until_ns - now_ns);
            let woken = self.freed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        let waited_ns = MonotonicClock.now_ns() - began_ns;
        state.note_wait(waited, waited_ns);
        let waited_ns = if waited { waited_ns } else { 0 };
        let figures = &mut state.figures;
        figures.in_use += 1;
        figures.in_use_max = figures.in_use_max.max(figures.in_use);
        figures.taken += 1;
        // the session used last: those that nobody needs grow old at the other end
        let (database, uses) = match state.idle.pop_back() {
            Some(Idle { database, uses }) => (Some(database), uses),
            None => (None, 0),
        };
        let before = database.as_ref().map_or_else(DatabaseTimes::default, Database::times);
        Ok(Lease { pool: Arc::clone(self), database, uses, waited_ns, before })
    }

    fn exhausted(&self) -> OutsideError {
        let ServerPlan { name, maximum, wait, .. } = &self.plan;
        OutsideError::Lost(format!(
            "all {maximum} sessions with the data server {name} are in use, and none came free \
             within {wait} (pool.maximum, pool.wait)"
        ))
    }

    fn is_valid(&self, kept: &mut Database) -> bool {
        if !kept.stands() {
            self.lock().figures.lost += 1;
            return false;
        }
        let Some(query) = &self.plan.validation_query else { return true };
        let valid = kept.batch(query).is_ok();
        if !valid {
            self.lock().figures.failed_validations += 1;
        }
        valid
    }

    /// A new session; a server that takes nobody is asked again as often as the plan says.
    fn log_on(&self, until_ns: u64) -> Result<Database, OutsideError> {
        let mut left = self.plan.retries;
        self.lock().opening += 1;
        loop {
            let mut database = Database::new(self.plan.target.clone());
            let opened = match &self.plan.init_command {
                Some(command) => database.batch(command),
                None => database.log_on(),
            };
            let mut state = self.lock();
            match opened {
                Ok(()) => {
                    state.opening -= 1;
                    state.figures.log_ons += 1;
                    self.look();
                    return Ok(database);
                }
                Err(error) => {
                    state.figures.failed_log_ons += 1;
                    // it can be used over the sessions that there are
                    if state.idle.is_empty() && state.figures.in_use <= state.opening {
                        self.presence.failed(&error);
                    }
                    let now_ns = MonotonicClock.now_ns();
                    let interval_ns = self.plan.retry_interval.ns();
                    if left == 0 || now_ns.saturating_add(interval_ns) >= until_ns {
                        state.opening -= 1;
                        return Err(OutsideError::Lost(self.said(&error)));
                    }
                    left -= 1;
                    drop(state);
                    pause(Duration::from_nanos(interval_ns));
                }
            }
        }
    }

    /// Looks whether the server has answered since it could not be used.
    fn look(&self) {
        self.presence.answered(self.plan.target.answered_ns());
    }

    /// Whether the server can be used.
    pub(super) fn presence(&self) -> &Presence {
        &self.presence
    }

    /// What the database said, with the name of the server.
    pub(super) fn said(&self, error: &DatabaseError) -> String {
        format!("data server {}: {error}", self.plan.name)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits on what nobody ends.
pub(super) fn pause(time: Duration) {
    let never = Mutex::new(());
    let guard = never.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = Condvar::new().wait_timeout_while(guard, time, |()| true);
}

impl State {
    fn note_wait(&mut self, waited: bool, wait_ns: u64) {
        if waited {
            self.figures.waiting -= 1;
            self.figures.waited += 1;
            self.figures.wait_ns += wait_ns;
            self.figures.wait_max_ns = self.figures.wait_max_ns.max(wait_ns);
        }
    }
}

impl Lease {
    /// How long it was waited for because all sessions were in use, and what of the time since then
    /// was spent on the way and on logging on.
    #[must_use]
    pub fn times(&self) -> SessionTimes {
        let DatabaseTimes { way_ns, log_on_ns, .. } = (**self).times().since(self.before);
        SessionTimes { pool_ns: self.waited_ns, way_ns, log_on_ns }
    }
}

impl Deref for Lease {
    type Target = Database;

    fn deref(&self) -> &Database {
        self.database.as_ref().expect("a lease that is given out has a session")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Database {
        self.database.as_mut().expect("a lease that is given out has a session")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut kept = self.database.take();
        if let Some(database) = &mut kept {
            database.roll_back();
            self.pool.look();
        }
        let uses = self.uses + 1;
        let plan = &self.pool.plan;
        let mut state = self.pool.lock();
        state.figures.in_use -= 1;
        match kept {
            Some(database) if !database.connected() => state.figures.lost += 1,
            Some(_) if plan.use_count > 0 && uses >= plan.use_count => state.figures.replaced += 1,
            Some(database) => state.idle.push_back(Idle { database, uses }),
            None => {}
        }
        drop(state);
        self.pool.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plumb_measure::Span;
    use plumb_serve::database::DatabaseTarget;

    use super::*;

    fn plan(folder: &Path) -> ServerPlan {
        let target = DatabaseTarget::file(folder.join("data.db"));
        ServerPlan { maximum: 2, ..ServerPlan::new("plant", target) }
    }

    #[test]
    fn sessions_are_kept_bounded_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let wait = Span::from_ms(1);
        let pool = Arc::new(Pool::new(ServerPlan { wait, initial: 1, ..plan(folder.path()) }));
        pool.fill().unwrap();
        assert_eq!((pool.figures().idle, pool.figures().log_ons), (1, 1));
        let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
        let error = pool.take().unwrap_err();
        assert!(matches!(&error, OutsideError::Lost(text)
            if text.starts_with("all 2 sessions with the data server plant are in use")));
        let figures = pool.figures();
        assert_eq!((figures.in_use, figures.idle, figures.ran_out), (2, 0, 1));
        assert_eq!((figures.waiting, figures.waited), (0, 1));
        drop((first, second));
        let figures = pool.figures();
        assert_eq!((figures.in_use, figures.in_use_max, figures.idle), (0, 2, 2));
        assert_eq!((figures.log_ons, figures.taken), (2, 3));
    }

    #[test]
    fn whoever_waits_gets_the_session_that_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Arc::new(Pool::new(ServerPlan { maximum: 1, ..plan(folder.path()) }));
        let first = pool.take().unwrap();
        let waiting = std::thread::spawn({
            let pool = Arc::clone(&pool);
            move || pool.take().map(|lease| lease.times().pool_ns)
        });
        while pool.figures().waiting == 0 {
            std::thread::yield_now();
        }
        drop(first);
        assert!(waiting.join().unwrap().unwrap() > 0);
        let figures = pool.figures();
        assert_eq!((figures.waited, figures.log_ons, figures.taken), (1, 1, 2));
    }

    #[test]
    fn sessions_are_replaced_after_their_uses_and_when_they_are_not_valid() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Arc::new(Pool::new(ServerPlan { use_count: 2, ..plan(folder.path()) }));
        for _ in 0..4 {
            drop(pool.take().unwrap());
        }
        let figures = pool.figures();
        assert_eq!((figures.log_ons, figures.replaced, figures.idle), (2, 2, 0));
        let query = Some("SELECT x FROM valid".into());
        let plan = ServerPlan { validation_query: query, ..plan(folder.path()) };
        let pool = Arc::new(Pool::new(plan));
        let mut lease = pool.take().unwrap();
        lease.batch("CREATE TABLE valid(x)").unwrap();
        drop(lease);
        let mut lease = pool.take().unwrap();
        assert_eq!(pool.figures().failed_validations, 0);
        lease.batch("DROP TABLE valid").unwrap();
        drop(lease);
        drop(pool.take().unwrap());
        assert_eq!((pool.figures().failed_validations, pool.figures().log_ons), (1, 2));
    }

    #[test]
    fn a_server_that_takes_nobody_is_asked_again_as_often_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let target = DatabaseTarget::file(folder.path().join("none/data.db"));
        let retry_interval = Span::from_ms(1);
        let plan = ServerPlan { retries: 2, retry_interval, ..ServerPlan::new("plant", target) };
        let pool = Arc::new(Pool::new(plan));
        assert!(matches!(pool.take(), Err(OutsideError::Lost(_))));
        assert_eq!((pool.figures().failed_log_ons, pool.figures().in_use), (3, 0));
        let off = ServerPlan { enabled: false, ..pool.plan().clone() };
        assert!(matches!(Arc::new(Pool::new(off)).take(), Err(OutsideError::Refused(_))));
    }

    #[test]
    fn what_was_begun_and_not_committed_is_undone_when_the_session_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Arc::new(Pool::new(plan(folder.path())));
        let mut lease = pool.take().unwrap();
        lease.batch("CREATE TABLE t(x)").unwrap();
        lease.begin().unwrap();
        lease.batch("INSERT INTO t VALUES(1)").unwrap();
        drop(lease);
        let mut lease = pool.take().unwrap();
        assert!(!lease.in_transaction());
        assert_eq!(lease.row("SELECT count(*) FROM t", &[]).unwrap().unwrap().int(0), 0);
    }
}
