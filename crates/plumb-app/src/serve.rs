//! `plumb app serve`: threads, listeners, and the way they end.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use plumb_engine::layer::{JobError, Server, announce, note_all};
use plumb_engine::{Address, Endpoint, Family, Listener, Stop};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::config::Config;
use crate::database::{Database, DatabaseTarget, TemporaryFolder, prepare};
use crate::dispatcher::work;
use crate::front::{self, Doors, Front};
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
            && let Some(listen) = config.listen.iter().find(|listen| !is_local(listen))
        {
            return Err(AppError::Plan(format!(
                "everybody knows the password of the demo user, and {listen} can be reached from \
                 elsewhere: name users under [users] in the configuration"
            )));
        }
        Ok(Self { config, quiet: options.quiet })
    }

    fn serve(
        &self,
        out: &mut (dyn Write + Send),
        log: &mut (dyn Write + Send),
        stop: &Stop,
    ) -> Result<(), AppError> {
        let tls = self.config.tls.as_ref().map(front::acceptor).transpose()?;
        let listeners = Listener::bind_all(&self.config.listen, PORT)?;
        let (target, _folder) = open_database(&self.config)?;
        let (events, told) = mpsc::channel();
        let instance = Arc::new(Instance::new(self.config.clone(), target, events)?);
        let runtime = runtime(self.config.front.threads)?;
        announce(&listeners, out)?;
        let (tell_stop, stopped) = watch::channel(false);
        let (present, mut everybody) = tokio::sync::mpsc::channel(1);
        let doors = Doors {
            front: Arc::new(Front::new(Arc::clone(&instance))),
            tls,
            stop: stopped,
            present,
        };
        let quiet = self.quiet;
        std::thread::scope(|threads| {
            threads.spawn(move || {
                if quiet {
                    note_all(&told, &mut io::sink());
                } else {
                    note_all(&told, log);
                }
            });
            threads.spawn(|| {
                // a kernel that refuses to wait ends the server, as if asked
                let _ = stop.wait_until(u64::MAX);
                let _ = tell_stop.send(true);
            });
            for number in 0..self.config.dispatcher.work_processes {
                let instance = Arc::clone(&instance);
                threads.spawn(move || work(&instance, number));
            }
            let farewell = Duration::from_nanos(self.config.front.farewell.ns());
            let served = runtime.block_on(async {
                let taking: Vec<_> = listeners
                    .into_iter()
                    .map(|listener| tokio::spawn(front::run(listener, doors.clone())))
                    .collect();
                drop(doors);
                let mut served = Ok(());
                for door in taking {
                    if let Ok(Err(cause)) = door.await {
                        stop.ask();
                        served = Err(AppError::System { what: "wait for connections", cause });
                    }
                }
                // nobody ever sends: it ends when the last connection is gone
                if tokio::time::timeout(farewell, everybody.recv()).await.is_err() {
                    instance.tell("connections under way were cut after front.farewell".into());
                }
                served
            });
            stop.ask();
            instance.queue.close();
            drop(runtime); // with it the last connections, which hold the instance
            drop(instance);
            served
        })
    }
}

impl Server for Serve {
    fn run(
        &mut self,
        out: &mut (dyn Write + Send),
        log: &mut (dyn Write + Send),
        stop: &Stop,
    ) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}

/// The database of `config`, with all its tables; a temporary one goes with its folder.
///
/// # Errors
/// [`AppError::Database`] with what to try.
pub(crate) fn open_database(
    config: &Config,
) -> Result<(DatabaseTarget, Option<TemporaryFolder>), AppError> {
    let (target, folder) = match &config.database.url {
        Some(url) => (DatabaseTarget::parse(url)?, None),
        None => {
            let folder = TemporaryFolder::new();
            let folder = folder.map_err(AppError::system("make a folder for the database"))?;
            (DatabaseTarget::Sqlite(folder.join("app.db")), Some(folder))
        }
    };
    let mut database = Database::new(target.clone());
    let users: Vec<String> = config.accounts().into_keys().collect();
    prepare(&mut database, &users).map_err(|error| AppError::Database {
        url: target.to_string(),
        cause: error.to_string(),
        remedy: "is it started, and may this user create tables there?",
    })?;
    Ok((target, folder))
}

fn runtime(threads: usize) -> Result<Runtime, AppError> {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(AppError::system("start the threads of the front"))
}

/// True for an address that only this machine reaches.
fn is_local(listen: &str) -> bool {
    let Ok(address) = Address::parse(listen, PORT) else { return true }; // refused later
    match Endpoint::resolve(&address, Family::Any) {
        Ok(endpoints) => endpoints.iter().all(|endpoint| match endpoint {
            Endpoint::Tcp(address) => address.ip().is_loopback(),
            Endpoint::Unix(_) | Endpoint::Own => true,
        }),
        Err(_) => true, // refused later
    }
}
