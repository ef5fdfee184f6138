//! A server of others that a test starts for itself.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that ends with the test.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) folder: tempfile::TempDir,
    /// On the loopback interface.
    pub(crate) port: u16,
    command: fn(&Path, u16) -> Command,
    ready: &'static str,
}

impl ServerProcess {
    /// Runs `command`, made for a folder and a port, until the server writes `ready` to its log.
    pub(crate) fn start(
        folder: tempfile::TempDir,
        command: fn(&Path, u16) -> Command,
        ready: &'static str,
    ) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = begun(command(folder.path(), port), ready);
        Self { child, folder, port, command, ready }
    }

    /// Ends it without a word to it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Has it end by itself.
    pub(crate) fn interrupt(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it once more, after its end.
    pub(crate) fn again(&mut self) {
        self.child = begun((self.command)(self.folder.path(), self.port), self.ready);
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn begun(mut command: Command, ready: &str) -> Child {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_ready = |line: String| line.contains(ready);
    assert!(log.by_ref().map_while(Result::ok).any(is_ready), "it did not come up");
    // a full pipe would hold it up
    std::thread::spawn(move || log.for_each(drop));
    child
}
