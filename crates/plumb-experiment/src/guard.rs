//! No server and no command is left behind: each ends with the experiment even when that is killed.

use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// Says that it is there, reads the number of a process group, waits for the end of what it reads, and
/// asks the group to end. Whoever of it is there ten seconds later is killed: a shell hands the signal
/// to nobody, and one that it starts in that moment may not have got it.
const WATCH: &str =
    "echo; read -r group || exit; read _; kill -TERM \"-$group\" 2>/dev/null || exit
    for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 \"-$group\" 2>/dev/null || exit; done
    kill -KILL \"-$group\" 2>/dev/null";

/// A process that ends another and all it started when this one is gone, however that came.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// Its other end is closed with this process, and by nobody before.
    line: PipeWriter,
}

impl Guard {
    /// A guard of nobody yet: one that is there before what it guards takes no time from it.
    ///
    /// # Errors
    /// When no process can be started, or it ends at once.
    pub fn ready() -> io::Result<Self> {
        let (watched, line) = io::pipe()?;
        let (mut said, out) = io::pipe()?;
        let child = Command::new("/bin/sh")
            .args(["-c", WATCH])
            .stdin(watched)
            .stdout(out)
            .stderr(Stdio::null())
            .process_group(0) // Ctrl-C is not for it
            .spawn()?;
        let guard = Self { child, line };
        // until then it is being loaded, for which it needs a processor
        said.read_exact(&mut [0])?;
        Ok(guard)
    }

    /// Guards `process`, which leads a process group of its own.
    ///
    /// # Errors
    /// When the guard is gone.
    pub fn over(&mut self, process: &Child) -> io::Result<()> {
        self.line.write_all(format!("{}\n", process.id()).as_bytes())
    }

    /// The process is ended by its owner: nobody else may use its number from now on.
    pub fn dismiss(&mut self) {
        // it does nothing but wait, and may be ended at any time
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.dismiss();
    }
}
