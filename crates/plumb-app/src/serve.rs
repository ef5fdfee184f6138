//! `plumb app serve`: threads, listeners, and the way they end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Listener, Stop};
use plumb_measure::Span;
use plumb_serve::database::Dialect;
use plumb_serve::settings::is_open;
use plumb_serve::{HttpServer, Log, ServeError, TemporaryFolder, acceptor};

use crate::config::{Config, DatabaseConfig, FrontConfig};
use crate::database::{Database, DatabaseTarget, prepare};
use crate::dispatcher::work;
use crate::front::Front;
use crate::instance::Instance;
use crate::options::ServeOptions;
use crate::{AppError, PORT};

/// Work processes without a step have this long to end when nothing is left of the farewell.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// Serving as a job.
#[derive(Debug)]
pub struct Serve {
    config: Config,
    quiet: bool,
}

impl Serve {
    /// Checks the options and the configuration; it listens once it runs.
    ///
    /// # Errors
    /// [`AppError`] when they ask for the impossible.
    pub fn new(options: &ServeOptions) -> Result<Self, AppError> {
        let config = options.config()?;
        if config.users.is_empty()
            && let Some(listen) = config.listen.iter().find(|listen| is_open(listen, PORT))
        {
            return Err(AppError::Plan(format!(
                "everybody knows the password of the demo user, and {listen} can be reached from \
                 elsewhere: name users under [users] in the configuration"
            )));
        }
        Ok(Self { config, quiet: options.quiet })
    }

    fn serve(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), AppError> {
        let tls = self.config.tls.as_ref().map(acceptor).transpose()?;
        let listeners = Listener::bind_all(&self.config.listen, PORT)?;
        let (target, _folder) = open_database(&self.config)?;
        let (events, told) = mpsc::channel();
        let instance = Arc::new(Instance::new(self.config.clone(), target, events)?);
        let front = Front::new(Arc::clone(&instance));
        let FrontConfig { threads, farewell, .. } = self.config.front;
        let server = HttpServer::new(front, tls, threads, farewell)?;
        announce(&listeners, out)?;
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.quiet { &mut nowhere } else { log };
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            let working = start(&instance);
            let served = server.run(listeners, stop);
            instance.dispatcher.queue.close();
            let left = served.as_ref().copied().unwrap_or(Span::from_ns(0));
            wait_for(&working, left, &instance.log);
            instance.log.close();
            Ok(served.map(|_| ())?)
        })
    }
}

/// Starts the work processes; what comes back is silent until the last of them has ended.
///
/// Nobody waits for one that hangs: a call of another server may take longer than a farewell, so
/// they are threads that the end of the program ends.
fn start(instance: &Instance) -> mpsc::Receiver<Never> {
    let (present, working) = mpsc::channel();
    for number in 0..instance.config.dispatcher.work_processes {
        let (dispatcher, services) =
            (Arc::clone(&instance.dispatcher), Arc::clone(&instance.services));
        let (log, present) = (Arc::clone(&instance.log), present.clone());
        std::thread::spawn(move || {
            work(&dispatcher, &services, &log, number);
            drop(present);
        });
    }
    working
}

/// Nobody has one: a channel of them tells only that its other end is gone.
#[derive(Debug)]
enum Never {}

/// Waits until every work process has ended, or `left` has passed.
fn wait_for(working: &mpsc::Receiver<Never>, left: Span, log: &Log) {
    // those without a step end at once
    let left = Duration::from_nanos(left.ns()).max(LAST_MOMENT);
    if matches!(working.recv_timeout(left), Err(mpsc::RecvTimeoutError::Timeout)) {
        log.tell("steps under way were cut after front.farewell");
    }
}

impl Verb for Serve {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}

/// The database of `config`, with all its tables; a temporary one goes with its folder.
///
/// # Errors
/// [`ServeError::Database`] with what to try.
pub(crate) fn open_database(
    config: &Config,
) -> Result<(DatabaseTarget, Option<TemporaryFolder>), AppError> {
    let (target, folder) = match &config.database.url {
        Some(url) => {
            let DatabaseConfig { password, .. } = &config.database;
            (DatabaseTarget::parse(url, password.as_ref(), config.database.limits())?, None)
        }
        None => {
            let what = "make a folder for the database";
            let folder = TemporaryFolder::new("plumb-app-");
            let folder = folder.map_err(|cause| ServeError::System { what, cause })?;
            (DatabaseTarget::file(folder.join("app.db")), Some(folder))
        }
    };
    let mut database = Database::new(target.clone());
    let users: Vec<String> = config.accounts().into_keys().collect();
    prepare(&mut database, &users).map_err(|error| ServeError::Database {
        url: target.to_string(),
        cause: error.to_string(),
        remedy: match database.dialect() {
            Dialect::Sqlite => "is its folder there, and may this user write to it?",
            Dialect::Postgres => "is it started, and may this user create tables there?",
        },
    })?;
    Ok((target, folder))
}
