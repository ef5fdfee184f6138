//! A MariaDB server of the test's own, as an ordinary user, in a folder that goes with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use super::postgres::{as_nobody, copy, free_port, made_once, own_folder, shown};
use super::{Ended, PLUMB, Program};

/// The user of the server, and the password that nothing may show.
pub(crate) const USER: &str = "plumb";
pub(crate) const PASSWORD: &str = "open-sesame-7";
const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALLER: &str = "/usr/bin/mariadb-install-db";
/// Attempts to find a port that nobody else takes in between.
const ATTEMPTS: u32 = 5;

/// A server that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct MariaDb {
    program: Option<Program>,
    folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl MariaDb {
    /// A server with these words, and a database `erp`.
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::with_files(words, &[])
    }

    /// The same with `files`, by name and content, in its data folder.
    pub(crate) fn with_files(words: &[&str], files: &[(&str, &str)]) -> Self {
        assert!(
            Path::new(SERVER).exists(),
            "MariaDB is needed: apt-get install mariadb-server (./test installs it)"
        );
        let folder = own_folder();
        copy(&cluster(), &folder.path().join("data"));
        for (name, content) in files {
            fs::write(folder.path().join("data").join(name), content).expect("it is ours");
        }
        let users = folder.path().join("users.sql");
        let sql = format!(
            "CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n\
             GRANT ALL ON *.* TO {USER}@'%';\nCREATE DATABASE IF NOT EXISTS erp;\n"
        );
        fs::write(&users, sql).expect("it is ours");
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let (path, serving) = serving(folder.path(), port, words);
            let serving: Vec<&str> = serving.iter().map(String::as_str).collect();
            let program = Program::start_as(&path, &serving, folder.path());
            if ready(&program) {
                let address = format!("127.0.0.1:{port}");
                return Self { program: Some(program), folder, address };
            }
        }
        panic!("no server came up on any of {ATTEMPTS} ports");
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        url(&self.address)
    }

    /// The file of its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// A folder of the server's, to run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What MariaDB's own client makes of `sql`, whose statements end with `//`: rows.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let socket = format!("--socket={}", shown(&self.socket()));
        let user = format!("--user={USER}");
        let words =
            ["--no-defaults", &socket, &user, "-N", "-B", "--delimiter=//", "-e", sql, "erp"];
        let mut client = Command::new("mariadb");
        let ended = client.args(words).env("MYSQL_PWD", PASSWORD).output().expect("a client");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(ended.status.success(), "{sql}: {}", said(&ended.stderr));
        said(&ended.stdout)
    }

    /// Ends it at once, without a word to its clients.
    pub(crate) fn stop(&mut self) {
        if let Some(program) = self.program.take() {
            program.signal(Signal::KILL);
            program.wait();
        }
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The URL of a server at `address`.
pub(crate) fn url(address: &str) -> String {
    format!("mysql://{USER}@{address}/erp")
}

/// Starts `plumb db ping` with these in its environment, and without anything of this machine's user.
pub(crate) fn start(variables: &[&str], url: &str, words: &[&str], folder: &Path) -> Program {
    let home = format!("HOME={}", folder.display());
    let words = [&[home.as_str()], variables, &[PLUMB, "db", "ping", url], words].concat();
    Program::start_as(Path::new("/usr/bin/env"), &words, folder)
}

/// Runs `plumb db ping` with the password to its end.
pub(crate) fn ping(url: &str, words: &[&str], folder: &Path) -> Ended {
    start(&[&format!("MYSQL_PWD={PASSWORD}")], url, words, folder).wait()
}

fn serving(folder: &Path, port: u16, words: &[&str]) -> (PathBuf, Vec<String>) {
    let file = |name: &str| shown(&folder.join(name));
    let mut all = vec![
        "--no-defaults".to_owned(),
        format!("--datadir={}", file("data")),
        format!("--tmpdir={}", shown(folder)),
        format!("--socket={}", file("socket")),
        format!("--init-file={}", file("users.sql")),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".into(),
        "--skip-name-resolve".into(),
        "--innodb-buffer-pool-size=16M".into(),
        "--innodb-flush-log-at-trx-commit=0".into(),
    ];
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    as_nobody(SERVER.as_ref(), &all)
}

fn ready(program: &Program) -> bool {
    loop {
        let line = program.log_line();
        if line.contains("ready for connections") {
            return true;
        }
        if line.contains("Bind on TCP/IP port") {
            return false;
        }
    }
}

/// A new data folder, made once and copied for every server: making one takes longer than most tests.
fn cluster() -> PathBuf {
    made_once(&format!("mariadb-of-{}", geteuid().as_raw()), |folder| {
        let words = [
            "--no-defaults",
            &format!("--datadir={}", shown(&folder.join("data"))),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            &format!("--tmpdir={}", shown(folder)),
        ];
        let (path, words) = as_nobody(INSTALLER.as_ref(), &words);
        let ended = Command::new(path).args(words).output().expect("MariaDB is installed");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    })
}
