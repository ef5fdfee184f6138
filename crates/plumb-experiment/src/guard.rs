//! No server is left behind: each ends with the experiment even when that is killed.

use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Waits for the end of what it reads, and asks a process group to end.
const WATCH: &str = "read _; kill -TERM \"-$0\" 2>/dev/null";

/// A process that ends a server when this one is gone, however that came.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// Its other end is closed with this process, and by nobody before.
    _line: PipeWriter,
}

impl Guard {
    /// Guards `server`, which leads a process group of its own.
    ///
    /// # Errors
    /// When no process can be started.
    pub fn of(server: &Child) -> io::Result<Self> {
        let (watched, line) = io::pipe()?;
        let child = Command::new("/bin/sh")
            .args(["-c", WATCH, &server.id().to_string()])
            .stdin(watched)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0) // Ctrl-C is not for it
            .spawn()?;
        Ok(Self { child, _line: line })
    }

    /// The server is ended by its owner: nobody else may use its number from now on.
    pub fn dismiss(&mut self) {
        // it does nothing but wait, and may be ended at any time
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
