//! A server of plumb as a child.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::ni::Client;
use super::web::Web;
use super::{Ended, Program};

/// `plumb net serve`, `plumb net delay`, `plumb host serve`, `plumb lock serve` or `plumb app
/// serve`, ready.
#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    /// Where it listens, as it says.
    pub(crate) address: String,
}

impl Server {
    /// A server on a free port of 127.0.0.1.
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::listening("127.0.0.1:0", words)
    }

    /// A server on `address`.
    pub(crate) fn listening(address: &str, words: &[&str]) -> Self {
        let words = [&["net", "serve", "--listen", address], words].concat();
        Self::ready(Program::start(&words, Path::new(".")))
    }

    /// A server on a free port of 127.0.0.1 under a limit of the shell's `ulimit`.
    pub(crate) fn limited(limit: &str) -> Self {
        let words = ["net", "serve", "--listen", "127.0.0.1:0"];
        Self::ready(Program::limited(limit, &words, Path::new(".")))
    }

    /// A server of samples on a free port of 127.0.0.1.
    pub(crate) fn of_samples(words: &[&str]) -> Self {
        let words = [&["host", "serve", "--listen", "127.0.0.1:0"], words].concat();
        Self::ready(Program::start(&words, Path::new(".")))
    }

    /// A line of `plumb net delay` to `target` on a free port of 127.0.0.1.
    pub(crate) fn of_delay(target: &str, words: &[&str]) -> Self {
        let words = [&["net", "delay", target], words].concat();
        Self::ready(Program::start(&words, Path::new(".")))
    }

    /// A lock server on a free port of 127.0.0.1.
    pub(crate) fn of_locks() -> Self {
        let words = ["lock", "serve", "--listen", "127.0.0.1:0"];
        Self::ready(Program::start(&words, Path::new(".")))
    }

    /// An application server on a free port of 127.0.0.1.
    pub(crate) fn of_pages(words: &[&str]) -> Self {
        let words = [&["app", "serve", "--listen", "127.0.0.1:0"], words].concat();
        Self::ready(Program::start(&words, Path::new(".")))
    }

    /// The same with a configuration.
    pub(crate) fn configured(config: &str) -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("app.toml");
        fs::write(&file, config).expect("a temporary folder can be written");
        let file = file.display().to_string();
        (folder, Self::of_pages(&[&file]))
    }

    /// A connection that speaks HTTP.
    pub(crate) fn web(&self) -> Web {
        Web::connect(&self.address)
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.program.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.program.signal(signal);
    }

    /// The server that `program` becomes.
    pub(crate) fn ready(program: Program) -> Self {
        let line = program.line();
        let address = line.strip_prefix("listening on ");
        let address = address.unwrap_or_else(|| panic!("`{line}` says no address")).to_owned();
        Self { program, address }
    }

    /// A client that speaks NI by hand.
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.address)
    }

    /// The next line of the log, without its time.
    pub(crate) fn log(&self) -> String {
        let line = self.program.log_line();
        let (time, event) = line.split_once(' ').expect("a time, then the event");
        assert!(time.len() == 20 && time.ends_with('Z'), "`{line}` begins with no time");
        event.to_owned()
    }

    /// The next address that it listens on, behind the first.
    pub(crate) fn also(&self) -> String {
        let line = self.program.line();
        line.strip_prefix("listening on ").expect("an address").to_owned()
    }

    /// The log up to the next line that says how a client ended; that line.
    pub(crate) fn farewell(&self) -> String {
        loop {
            let line = self.log();
            if line.contains(" gone after ") {
                return line;
            }
        }
    }

    /// Sends SIGTERM, and waits for the end.
    pub(crate) fn stop(self) -> Ended {
        self.program.signal(Signal::TERM);
        self.wait()
    }

    /// Ends it without a chance to do anything.
    pub(crate) fn kill(self) {
        self.program.signal(Signal::KILL);
        let ended = self.program.wait();
        assert_eq!(ended.code, None, "{ended:#?}");
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(self) -> Ended {
        self.program.wait()
    }
}
