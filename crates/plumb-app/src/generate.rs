//! `plumb app generate`: every program compiled, over all work processes.

use std::sync::Mutex;
use std::sync::PoisonError;

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::{Clock as _, show_ns};
use plumb_serve::ServeError;

use crate::AppError;
use crate::config::Config;
use crate::database::{Database, DatabaseError, DatabaseTarget};
use crate::options::GenerateOptions;
use crate::program::{self, LoadError};
use crate::serve::open_database;

/// Generating as a job.
#[derive(Debug)]
pub struct Generate {
    config: Config,
    rounds: u32,
}

/// What one work process did.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    programs: u64,
    bytes: u64,
    cpu_ns: u64,
    database_ns: u64,
}

impl Generate {
    /// Checks the options and the configuration.
    ///
    /// # Errors
    /// [`AppError`] when they ask for the impossible.
    pub fn new(options: &GenerateOptions) -> Result<Self, AppError> {
        Ok(Self { config: options.config()?, rounds: options.rounds })
    }

    fn generate(&self, out: Output<'_>, stop: &Stop) -> Result<(), AppError> {
        let (target, _folder) = open_database(&self.config)?;
        let failed = |error: DatabaseError| database_error(&target, error.to_string());
        let names = program::names(&mut Database::new(target.clone())).map_err(failed)?;
        let rounds = (0..self.rounds).flat_map(|_| names.iter().map(String::as_str));
        let work = Mutex::new(rounds);
        let began_ns = MonotonicClock.now_ns();
        let processes = self.config.dispatcher.work_processes;
        let take = || {
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            if stop.asked() { None } else { work.next() }
        };
        let shares: Vec<Result<Share, LoadError>> = std::thread::scope(|threads| {
            let running: Vec<_> = (0..processes)
                .map(|_| threads.spawn(|| self.share(Database::new(target.clone()), take)))
                .collect();
            running.into_iter().filter_map(|process| process.join().ok()).collect()
        });
        let took_ns = MonotonicClock.now_ns() - began_ns;
        let mut all = Share::default();
        for share in shares {
            let share = share.map_err(|error| database_error(&target, error.to_string()))?;
            all.programs += share.programs;
            all.bytes += share.bytes;
            all.cpu_ns += share.cpu_ns;
            all.database_ns += share.database_ns;
        }
        report(out, &all, processes, took_ns)?;
        Ok(())
    }

    fn share<'a>(
        &self,
        mut database: Database,
        take: impl Fn() -> Option<&'a str>,
    ) -> Result<Share, LoadError> {
        let mut share = Share::default();
        while let Some(name) = take() {
            let program = program::compile(name, &self.config.programs, &mut database)?;
            share.programs += 1;
            share.bytes += program.bytes() as u64;
        }
        share.cpu_ns = clock::thread_cpu_ns();
        share.database_ns = database.spent_ns();
        Ok(share)
    }
}

fn report(out: Output<'_>, all: &Share, processes: usize, took_ns: u64) -> Result<(), AppError> {
    let each = |ns: u64| ns.checked_div(all.programs).map_or("none".into(), show_ns);
    let rate = u128::from(all.programs) * 1_000_000_000 / u128::from(took_ns.max(1));
    let programs = plumb_measure::counted(all.programs, "program");
    writeln!(out, "{programs} compiled, {} bytes", all.bytes)?;
    writeln!(out, "work processes      {processes}")?;
    writeln!(out, "elapsed             {}, {rate} programs/s", show_ns(took_ns))?;
    let (cpu, database) = (show_ns(all.cpu_ns), show_ns(all.database_ns));
    writeln!(out, "processor time      {cpu}, {} a program", each(all.cpu_ns))?;
    writeln!(out, "in database calls   {database}, {} a program", each(all.database_ns))?;
    Ok(())
}

fn database_error(target: &DatabaseTarget, cause: String) -> AppError {
    let remedy = "its programs cannot be read or compiled: start with a new database";
    ServeError::Database { url: target.to_string(), cause, remedy }.into()
}

impl Verb for Generate {
    fn run(&mut self, out: Output<'_>, _log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.generate(out, stop)?)
    }
}
