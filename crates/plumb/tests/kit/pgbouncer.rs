//! pgbouncer in front of a PostgreSQL server of the test's own.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::Program;
use super::postgres::{self, PASSWORD, Postgres, USER};

const PROGRAM: &str = "/usr/sbin/pgbouncer";
/// Attempts to find a port that nobody else takes in between.
const ATTEMPTS: u32 = 5;

/// For how long a client has one of the pooler's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lending {
    Session,
    Transaction,
    Statement,
}

impl Lending {
    pub(crate) const ALL: [Self; 3] = [Self::Session, Self::Transaction, Self::Statement];

    fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }

    /// Connections to the server: one, so that all clients meet over it, unless each keeps its own.
    fn connections(self) -> u32 {
        match self {
            Self::Session => 20,
            Self::Transaction | Self::Statement => 1,
        }
    }
}

/// What becomes of the options that a client asks for when it connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartUp {
    /// The client is refused.
    Refused,
    /// They are dropped: the usual remedy.
    Dropped,
}

/// A pooler that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct PgBouncer {
    program: Program,
    folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl PgBouncer {
    /// A pooler that lends connections to `server`.
    pub(crate) fn start(server: &Postgres, lending: Lending, options: StartUp) -> Self {
        assert!(
            Path::new(PROGRAM).exists(),
            "pgbouncer is needed: apt-get install pgbouncer (./test installs it)"
        );
        let folder = postgres::own_folder();
        for _ in 0..ATTEMPTS {
            let address = format!("127.0.0.1:{}", postgres::free_port());
            let settings = settings(&server.address, &address, lending, options, folder.path());
            let file = folder.path().join("pgbouncer.ini");
            fs::write(&file, settings).expect("it is ours");
            let users = folder.path().join("users");
            fs::write(&users, format!("\"{USER}\" \"{PASSWORD}\"\n")).expect("it is ours");
            let (path, words) = postgres::as_nobody(PROGRAM.as_ref(), &[&postgres::shown(&file)]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let program = Program::start_as(&path, &words, folder.path());
            if ready(&program, &address) {
                return Self { program, folder, address };
            }
        }
        panic!("no pooler came up on any of {ATTEMPTS} ports");
    }

    /// Its URL for the first database.
    pub(crate) fn url(&self) -> String {
        postgres::url(&self.address)
    }
}

fn settings(
    server: &str,
    address: &str,
    lending: Lending,
    options: StartUp,
    folder: &Path,
) -> String {
    let (host, port) = server.split_once(':').expect("host and port");
    let (here, own_port) = address.split_once(':').expect("host and port");
    let dropped = match options {
        StartUp::Refused => "",
        StartUp::Dropped => "ignore_startup_parameters = options\n",
    };
    format!(
        "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = {here}\n\
         listen_port = {own_port}\nunix_socket_dir =\nauth_type = scram-sha-256\n\
         auth_file = {}\npool_mode = {}\ndefault_pool_size = {}\n{dropped}",
        folder.join("users").display(),
        lending.name(),
        lending.connections()
    )
}

/// Waits until it serves `address`; false when somebody else does.
fn ready(program: &Program, address: &str) -> bool {
    let mut listens = false;
    loop {
        let line = program.log_line();
        listens |= line.contains(&format!("listening on {address}"));
        if line.contains("process up") {
            return listens;
        }
    }
}
