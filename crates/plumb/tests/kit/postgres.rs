//! A PostgreSQL server of the test's own, as an ordinary user, in a folder that goes with it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use super::namespace::Namespace;
use super::{Ended, PLUMB, Program};

/// The superuser of the server, and the password that nothing may show.
pub(crate) const USER: &str = "plumb";
pub(crate) const PASSWORD: &str = "open-sesame-7";
/// The user `nobody`, as whom it runs where the tests run as root.
const NOBODY: u32 = 65_534;
/// The port of a server that has its addresses for itself.
const USUAL_PORT: u16 = 5432;
/// Attempts to find a port that nobody else takes in between.
const ATTEMPTS: u32 = 5;

/// A server that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Postgres {
    program: Option<Program>,
    folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl Postgres {
    /// A server with these lines behind its configuration.
    pub(crate) fn start(lines: &str) -> Self {
        Self::with_files(lines, &[])
    }

    /// The same with `files`, by name and content, in its data folder.
    pub(crate) fn with_files(lines: &str, files: &[(&str, &str)]) -> Self {
        let folder = lay_down(lines, files);
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let (path, words) = serving(folder.path(), port);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let program = Program::start_as(&path, &words, folder.path());
            if ready(&program) {
                let address = format!("127.0.0.1:{port}");
                return Self { program: Some(program), folder, address };
            }
        }
        panic!("no server came up on any of {ATTEMPTS} ports");
    }

    /// Serves its data again, on the port that it had.
    pub(crate) fn start_again(&mut self) {
        self.stop();
        let port = self.address.rsplit(':').next().and_then(|it| it.parse().ok());
        let (path, words) = serving(self.folder.path(), port.expect("host and port"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let program = Program::start_as(&path, &words, self.folder.path());
        assert!(ready(&program), "its port is still free");
        self.program = Some(program);
    }

    /// A server on its usual port of `host` in the namespace `place`, for whoever knows the
    /// password; `Err` says why not.
    pub(crate) fn within(place: &Namespace, host: &str) -> Result<Self, String> {
        if newest().is_none() {
            return Err(
                "PostgreSQL is not installed (package postgresql; ./test installs it)".into()
            );
        }
        let everybody = [("pg_hba.conf", "host all all 0.0.0.0/0 scram-sha-256\n")];
        let folder = lay_down(&format!("listen_addresses = '{host}'"), &everybody);
        let (path, words) = serving(folder.path(), USUAL_PORT);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let program = place.start_as(&shown(&path), &words, folder.path());
        assert!(ready(&program), "nobody else listens there");
        let address = format!("{host}:{USUAL_PORT}");
        Ok(Self { program: Some(program), folder, address })
    }

    /// Its URL for the first database.
    pub(crate) fn url(&self) -> String {
        url(&self.address)
    }

    /// A folder of the server's, to run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until its log has `count` more lines with `text`.
    pub(crate) fn logged(&self, text: &str, count: usize) {
        let program = self.program.as_ref().expect("it runs");
        let mut seen = 0;
        while seen < count {
            seen += usize::from(program.log_line().contains(text));
        }
    }

    /// Stops every process of it, as a machine that hangs does: it takes connections and says
    /// nothing.
    pub(crate) fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        let program = self.program.as_ref().expect("it runs");
        program.signal(signal); // first, so that it starts no more
        let id = program.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        for child in children.expect("it runs").split_whitespace() {
            let child = child.parse().ok().and_then(Pid::from_raw).expect("a process");
            // one that has just ended needs no signal
            let _ = kill_process(child, signal);
        }
    }

    /// Ends it at once, without a word to its clients.
    pub(crate) fn stop(&mut self) {
        if self.program.is_some() {
            self.thaw();
        }
        if let Some(program) = self.program.take() {
            program.signal(Signal::QUIT);
            program.wait();
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The URL of a server at `address`.
pub(crate) fn url(address: &str) -> String {
    format!("postgres://{USER}@{address}/postgres")
}

/// Starts `plumb db ping` with the password, and without anything of this machine's user.
pub(crate) fn start(url: &str, words: &[&str], folder: &Path) -> Program {
    with_environment(&[&format!("PGPASSWORD={PASSWORD}")], url, words, folder)
}

/// The same with an environment of its own.
pub(crate) fn with_environment(
    variables: &[&str],
    url: &str,
    words: &[&str],
    folder: &Path,
) -> Program {
    let home = format!("HOME={}", folder.display());
    let words = [&[home.as_str()], variables, &[PLUMB, "db", "ping", url], words].concat();
    Program::start_as(Path::new("/usr/bin/env"), &words, folder)
}

/// Runs `plumb db ping` to its end.
pub(crate) fn ping(url: &str, words: &[&str], folder: &Path) -> Ended {
    start(url, words, folder).wait()
}

/// What PostgreSQL's own client makes of `sql` at `url`: rows, or its complaint.
pub(crate) fn try_psql(url: &str, sql: &str) -> Result<String, String> {
    let words = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, url];
    let mut client = Command::new(binaries().join("psql"));
    let ended = client.args(words).env("PGPASSWORD", PASSWORD).output().expect("it is installed");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if ended.status.success() { Ok(said(&ended.stdout)) } else { Err(said(&ended.stderr)) }
}

/// The program that asks a server.
pub(crate) fn client() -> String {
    shown(&binaries().join("psql"))
}

/// The same of what it must not complain of.
pub(crate) fn psql(url: &str, sql: &str) -> String {
    try_psql(url, sql).unwrap_or_else(|complaint| panic!("{sql}: {complaint}"))
}

/// The folder of a server with a data folder in it.
fn lay_down(lines: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = own_folder();
    let data = folder.path().join("data");
    copy(&cluster(), &data);
    for (name, content) in files {
        let file = data.join(name);
        fs::write(&file, content).expect("a new file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
        own(&file);
    }
    let settings = "fsync = off\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n";
    let file = data.join("postgresql.conf");
    let before = fs::read_to_string(&file).expect("initdb wrote it");
    fs::write(&file, format!("{before}\n{settings}{lines}\n")).expect("it is ours");
    folder
}

/// A new data folder, made once and copied for every server: making one takes longer than most
/// tests.
fn cluster() -> PathBuf {
    let version = binaries().parent().and_then(Path::file_name).map(PathBuf::from);
    let version = version.expect("its programs are in a folder of its version");
    let name = format!("postgresql-{}-small-of-{}", version.display(), geteuid().as_raw());
    made_once(&name, |folder| {
        let password = folder.join("password");
        fs::write(&password, PASSWORD).expect("a new file");
        own(&password);
        initialize(&folder.join("data"), &password);
    })
}

/// A data folder of this name, which `make` lays down as `data` in a folder, once for all tests.
pub(crate) fn made_once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !made.exists() {
        let folder = own_folder();
        make(folder.path());
        let beside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder of tests");
        let complete = beside.path().join("data");
        copy(&folder.path().join("data"), &complete);
        // somebody else may have made it meanwhile, and theirs is as good
        let renamed = fs::rename(&complete, &made);
        assert!(renamed.is_ok() || made.exists(), "{}: {renamed:?}", made.display());
    }
    made
}

/// A folder of whoever serves.
pub(crate) fn own_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    own(folder.path());
    folder
}

/// Copies a folder with its owners and permissions.
pub(crate) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} is copied", from.display());
}

/// The words that serve the data folder in `folder` on `port`.
fn serving(folder: &Path, port: u16) -> (PathBuf, Vec<String>) {
    as_nobody(
        &binaries().join("postgres"),
        &["-D", &shown(&folder.join("data")), "-p", &port.to_string()],
    )
}

fn ready(program: &Program) -> bool {
    loop {
        let line = program.log_line();
        // where it logs to files it says no more; whoever connects may have to try again
        let said = ["ready to accept connections", "redirecting log output to logging collector"];
        if said.iter().any(|it| line.contains(it)) {
            return true;
        }
        if line.contains("could not create any TCP/IP sockets") {
            return false;
        }
    }
}

fn initialize(data: &Path, password: &Path) {
    let words = [
        "-D",
        &shown(data),
        "-U",
        USER,
        "-A",
        "scram-sha-256",
        &format!("--pwfile={}", password.display()),
        "--locale=C",
        "--encoding=UTF8",
        "--no-sync",
        "--wal-segsize=1", // it is copied for each server
    ];
    let (path, words) = as_nobody(&binaries().join("initdb"), &words);
    let made = Command::new(path).args(words).output().expect("PostgreSQL is installed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// The program at `program`, which refuses root, with its words.
pub(crate) fn as_nobody(program: &Path, words: &[&str]) -> (PathBuf, Vec<String>) {
    let program = program.to_owned();
    let words = words.iter().map(|word| (*word).to_owned());
    if !geteuid().is_root() {
        return (program, words.collect());
    }
    let id = |name: &str| format!("--{name}={NOBODY}");
    let head = [id("reuid"), id("regid"), "--clear-groups".into(), shown(&program)];
    ("/usr/bin/setpriv".into(), head.into_iter().chain(words).collect())
}

/// The newest PostgreSQL of this machine.
fn binaries() -> PathBuf {
    newest().expect("a PostgreSQL server is needed: apt-get install postgresql")
}

/// Where its programs are, if there is one.
fn newest() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions
        .map(|version| version.path().join("bin"))
        .filter(|folder| folder.join("initdb").exists())
        .max_by_key(|folder| {
            let version = folder.parent().and_then(Path::file_name);
            version.and_then(|it| it.to_str()?.parse::<u32>().ok())
        })
}

fn own(path: &Path) {
    if geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}
