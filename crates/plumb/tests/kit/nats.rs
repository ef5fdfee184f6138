//! A NATS server of the test's own, with a folder that goes with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::Program;

/// A server that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Nats {
    server: PathBuf,
    program: Option<Program>,
    folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl Nats {
    /// With JetStream, for whoever knows `token`; `Err` says why there is none.
    pub(crate) fn start(token: &str) -> Result<Self, String> {
        let asked = Command::new("nats-server").arg("--version").output();
        let version = asked.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
        let minor = version.as_deref().ok().and_then(|said| said.trim().split_once("v2."));
        let minor = minor.and_then(|(_, rest)| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < 10) {
            return Err("there is no nats-server of 2.10 or later in PATH".into());
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lines = format!(
            "authorization {{ token: \"{token}\" }}\n\
             jetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
            folder.path().display()
        );
        Ok(Self::started("nats-server".into(), folder, &lines))
    }

    /// The servers of any version that are installed: the one in `PATH`, and that of the system's
    /// packages; with these further lines in their configuration.
    pub(crate) fn each(lines: &str) -> Vec<Self> {
        let there = |program: &PathBuf| {
            Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success())
        };
        let mut programs = vec![PathBuf::from("nats-server"), "/usr/sbin/nats-server".into()];
        programs.retain(there);
        let started = programs.into_iter().map(|program| {
            Self::started(program, tempfile::tempdir().expect("a temporary folder"), lines)
        });
        started.collect()
    }

    fn started(server: PathBuf, folder: TempDir, lines: &str) -> Self {
        let address = super::free_address();
        let config = format!("listen: \"{address}\"\n{lines}");
        fs::write(folder.path().join("server.conf"), config).expect("a file");
        let program = Some(serve(&server, folder.path()));
        Self { server, program, folder, address }
    }

    /// Ends it without a word to it, and starts it again on its folder.
    pub(crate) fn kill_and_start_again(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Starts one that was killed again on its folder.
    pub(crate) fn start_again(&mut self) {
        self.program = Some(serve(&self.server, self.folder.path()));
    }

    /// Ends it without a word to it.
    pub(crate) fn kill(&mut self) {
        if let Some(program) = self.program.take() {
            program.signal(Signal::KILL);
            program.wait();
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A server that is ready.
fn serve(server: &Path, folder: &Path) -> Program {
    let program = Program::start_as(server, &["-c", "server.conf"], folder);
    while !program.log_line().contains("Server is ready") {}
    program
}
