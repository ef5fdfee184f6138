//! A NATS server of the test's own, with JetStream in a folder that goes with it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::Program;

/// A server that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Nats {
    program: Option<Program>,
    folder: TempDir,
    /// Host and port.
    pub(crate) address: String,
}

impl Nats {
    /// For whoever knows `token`; `Err` says why there is none.
    pub(crate) fn start(token: &str) -> Result<Self, String> {
        Self::start_with(&format!("authorization {{ token: \"{token}\" }}\n"))
    }

    /// With these further lines in its configuration: for everybody without any.
    pub(crate) fn start_with(lines: &str) -> Result<Self, String> {
        let asked = Command::new("nats-server").arg("--version").output();
        let version = asked.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
        let minor = version.as_deref().ok().and_then(|said| said.trim().split_once("v2."));
        let minor = minor.and_then(|(_, rest)| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < 10) {
            return Err("there is no nats-server of 2.10 or later in PATH".into());
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = port.local_addr().expect("it is bound").to_string();
        drop(port);
        let config = format!(
            "listen: \"{address}\"\n{lines}\
             jetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
            folder.path().display()
        );
        fs::write(folder.path().join("server.conf"), config).expect("a file");
        let program = Some(serve(folder.path()));
        Ok(Self { program, folder, address })
    }

    /// Ends it without a word to it, and starts it again on its folder.
    pub(crate) fn kill_and_start_again(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Starts one that was killed again on its folder.
    pub(crate) fn start_again(&mut self) {
        self.program = Some(serve(self.folder.path()));
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
fn serve(folder: &Path) -> Program {
    let program = Program::start_as(Path::new("nats-server"), &["-c", "server.conf"], folder);
    while !program.log_line().contains("Server is ready") {}
    program
}
