//! What a dialog step has at hand: who asks, its session, programs, the database.

use std::cell::Cell;
use std::sync::Arc;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use plumb_serve::Log;
use plumb_serve::database::DatabaseTimes;

use crate::answer::{Answer, Called, Failure};
use crate::asked::Asked;
use crate::config::CostConfig;
use crate::database::{Database, wait};
use crate::program::{self, Program};
use crate::services::Services;
use crate::session::{COOKIE, Context};

/// The time that getting programs took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadTime {
    pub(crate) time_ns: u64,
    /// Of that, in database calls.
    pub(crate) database: DatabaseTimes,
}

/// One step in its work process.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) services: &'a Services,
    pub(crate) log: &'a Log,
    pub(crate) database: &'a mut Database,
    pub(crate) asked: &'a Asked,
    pub(crate) load: LoadTime,
    /// The time that asking the lock server took, nanoseconds.
    pub(crate) lock_ns: Cell<u64>,
    /// What calls of the back end took, and what it told of them.
    pub(crate) called: Called,
}

/// Whose session a step has.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) context: Context,
    /// The name of a session that stays.
    name: Option<String>,
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        services: &'a Services,
        log: &'a Log,
        database: &'a mut Database,
        asked: &'a Asked,
    ) -> Self {
        Self {
            services,
            log,
            database,
            asked,
            load: LoadTime::default(),
            lock_ns: Cell::new(0),
            called: Called::default(),
        }
    }

    /// The program `name`, compiled.
    ///
    /// # Errors
    /// [`Failure`] when there is none, or the database fails.
    pub(crate) fn program(&mut self, name: &str) -> Result<Arc<Program>, Failure> {
        let (began_ns, before) = (MonotonicClock.now_ns(), self.database.times());
        let services = self.services;
        let found = program::load(name, &services.buffer, &services.program_costs, self.database);
        self.load.time_ns += MonotonicClock.now_ns() - began_ns;
        self.load.database = self.load.database.and(self.database.times().since(before));
        Ok(found?)
    }

    /// Does `work` in the session of whoever asks: rolled in, and rolled out.
    ///
    /// # Errors
    /// What `work` says, or [`Failure`] when nobody is proved to ask.
    pub(crate) fn visited(
        &mut self,
        work: impl FnOnce(&mut Self, &Visit) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let visit = self.roll_in()?;
        let ending = Ending { services: self.services, visit };
        let services = self.services;
        let done = self.spend(&services.step_costs).and_then(|()| work(self, &ending.visit));
        drop(ending);
        done
    }

    fn roll_in(&mut self) -> Result<Visit, Failure> {
        let (sessions, now_ns) = (&self.services.sessions, MonotonicClock.now_ns());
        if let Some(name) = self.asked.request.cookie(COOKIE)
            && let Some(context) = sessions.roll_in(name, now_ns)
        {
            return Ok(Visit { context, name: Some(name.into()) });
        }
        let user = self.user()?;
        Ok(Visit { context: sessions.for_one_step(user, now_ns)?, name: None })
    }

    /// Logs on: whoever the request proves, with the record that the database has of them, which is
    /// read once. Over a connection a user logs on once, and again after another one.
    ///
    /// # Errors
    /// [`Failure`] when it proves nobody, or the database fails.
    pub(crate) fn user(&mut self) -> Result<String, Failure> {
        let user = self.services.accounts.user(self.asked.request.headers());
        let user = user.ok_or_else(Failure::unauthorized)?;
        let (services, connection) = (self.services, self.asked.request.peer.connection);
        if !services.log_ons.has(connection, user) {
            self.spend(&services.log_on_costs)?;
            services.log_ons.keep(connection, user);
        }
        if services.records.has(user) {
            return Ok(user.to_owned());
        }
        let statement = "SELECT name FROM app_user WHERE name = $1";
        let row = self.database.row(statement, &[user.into()])?;
        let name = row.map(|mut row| row.take_text(0)).ok_or_else(Failure::unauthorized)?;
        services.records.keep(&name);
        Ok(name)
    }

    /// Takes what something costs in addition to its work.
    fn spend(&mut self, costs: &CostConfig) -> Result<(), Failure> {
        if let Some(time) = costs.database_wait {
            wait(self.database, time)?;
        }
        if let Some(time) = costs.cpu {
            program::burn(time);
        }
        Ok(())
    }
}

/// Ends the visit with its step, however that ends.
struct Ending<'a> {
    services: &'a Services,
    visit: Visit,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let sessions = &self.services.sessions;
        match &self.visit.name {
            Some(name) => sessions.roll_out(name, &self.visit.context, MonotonicClock.now_ns()),
            None => sessions.end_of_step(&mut self.visit.context),
        }
    }
}
