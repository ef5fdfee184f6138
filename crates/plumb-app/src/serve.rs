//! `plumb app serve`: threads, listeners, and the way they end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;

use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Address, Endpoint, Family, Listener, Stop};
use plumb_serve::{HttpServer, ServeError, TemporaryFolder, acceptor};

use crate::config::{Config, FrontConfig};
use crate::database::{Database, DatabaseTarget, prepare};
use crate::dispatcher::work;
use crate::front::Front;
use crate::instance::Instance;
use crate::options::ServeOptions;
use crate::{AppError, PORT};

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
            && let Some(listen) = config.listen.iter().find(|listen| is_open(listen))
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
            for number in 0..self.config.dispatcher.work_processes {
                let instance = Arc::clone(&instance);
                threads.spawn(move || work(&instance, number));
            }
            let served = server.run(listeners, stop);
            instance.queue.close();
            drop(instance); // its log ends with it
            Ok(served?)
        })
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
        Some(url) => (DatabaseTarget::parse(url)?, None),
        None => {
            let what = "make a folder for the database";
            let folder = TemporaryFolder::new("plumb-app-");
            let folder = folder.map_err(|cause| ServeError::System { what, cause })?;
            (DatabaseTarget::Sqlite(folder.join("app.db")), Some(folder))
        }
    };
    let mut database = Database::new(target.clone());
    let users: Vec<String> = config.accounts().into_keys().collect();
    prepare(&mut database, &users).map_err(|error| ServeError::Database {
        url: target.to_string(),
        cause: error.to_string(),
        remedy: "is it started, and may this user create tables there?",
    })?;
    Ok((target, folder))
}

/// True for an address that others reach; one that is none is refused later.
fn is_open(listen: &str) -> bool {
    let found = Address::parse(listen, PORT).and_then(|it| Endpoint::resolve(&it, Family::Any));
    found.is_ok_and(|endpoints| !endpoints.iter().all(Endpoint::is_local))
}
