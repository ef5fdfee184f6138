//! Servers and recorders that a remote starts for the length of a run of its controller.

use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use plumb_command::signals::PARENT;
use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_remote::Led;
use rustix::process::{Pid, Signal, kill_process};

/// What a remote may start, where its own words allow it.
const SERVERS: [&str; 6] =
    ["app serve", "flow serve", "host record", "host serve", "lock serve", "net serve"];
/// The verb that leaves files.
const RECORDER: &str = "host record";
/// Bytes of a line that is passed on at most.
const LINE_MAX: u64 = 4_096;
/// How often a server that runs is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long one that was asked to end may take until it is ended.
const END_NS: u64 = 10_000_000_000;

/// True when a layer and a verb are those of a server.
pub(super) fn is_one(asked: &str) -> bool {
    SERVERS.contains(&asked)
}

/// True when `words` begin with a layer and a verb of a server.
pub(super) fn are_named(words: &[String]) -> bool {
    matches!(words, [layer, verb, ..] if is_one(&format!("{layer} {verb}")))
}

/// True when `words` are those of a recorder, which leaves files in a folder.
pub(super) fn leaves_files(words: &[String]) -> bool {
    matches!(words, [layer, verb, ..] if format!("{layer} {verb}") == RECORDER)
}

/// Refuses what this remote was not started for: a server opens its machine to others.
pub(super) fn check(asked: &str, allowed: &[String]) -> anyhow::Result<()> {
    if allowed.iter().any(|it| it == asked) {
        return Ok(());
    }
    bail!("this remote starts no servers for others unless it is started with --allow \"{asked}\"")
}

/// Starts the server that `words` ask for, tells `led` what it says, and ends it when `stop` is asked.
/// What it writes into the folder `out` is handed over: where that is concerns nobody.
///
/// # Errors
/// When it cannot be started, or ends by itself with an error.
pub(super) fn run(words: &[String], out: &str, led: &Led, stop: &Stop) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("this program cannot be found")?;
    let (said, says) = io::pipe()?;
    let mut server = Server {
        child: Command::new(program)
            .args(words)
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(says.try_clone()?)
            .stderr(says)
            .process_group(0) // what comes from a terminal is for us alone
            .spawn()?,
    };
    follow(&mut server, &lines_of(said), |line| led.said(without_folder(&line, out)), stop)
}

/// `line` without the place of the folder `out`, which does not last.
fn without_folder(line: &str, out: &str) -> String {
    line.replace(&format!("{out}/"), "").replace(out, "a folder of this remote")
}

/// Passes on the `lines` of a server until it has ended, and has it end when `stop` is asked, however
/// much it says meanwhile.
///
/// # Errors
/// When it ends by itself with an error, or does not end.
fn follow(
    server: &mut Server,
    lines: &mpsc::Receiver<String>,
    mut said: impl FnMut(String),
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut last = String::new();
    let mut until_ns = None;
    // it has ended when nobody can say anything any more
    loop {
        if stop.asked() {
            let now_ns = MonotonicClock.now_ns();
            let until_ns = *until_ns.get_or_insert_with(|| {
                server.ask_to_end();
                now_ns + END_NS
            });
            if now_ns >= until_ns {
                bail!("it did not end within {} s", END_NS / 1_000_000_000);
            }
        }
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => {
                last.clone_from(&line);
                said(line);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    let ended = server.child.wait()?;
    if stop.asked() || ended.success() {
        return Ok(());
    }
    bail!("it has ended: {last}")
}

/// A server that runs; it ends with this.
struct Server {
    child: Child,
}

impl Server {
    fn ask_to_end(&self) {
        // it may have ended
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

/// The lines of `said`, as they come.
fn lines_of(said: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut said = BufReader::new(said);
        let mut line = Vec::new();
        while let Ok(1..) = said.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(text).is_err() {
                break;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_started_only_where_their_remote_says_so() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(are_named(&words("net serve --listen 127.0.0.1:0")));
        assert!(!are_named(&words("net ping host")) && !are_named(&words("net")));
        assert!(
            leaves_files(&words("host record --for 1s")) && !leaves_files(&words("host serve"))
        );
        assert!(check("net serve", &["net".to_owned()]).is_err(), "a layer alone opens nothing");
        assert!(check("net serve", &[]).is_err());
        assert!(check("net serve", &["net serve".to_owned()]).is_ok());
    }

    #[test]
    fn a_folder_that_does_not_last_is_named_to_nobody() {
        let said = |line| without_folder(line, "/tmp/x1/run");
        assert_eq!(said("recording into /tmp/x1/run"), "recording into a folder of this remote");
        assert_eq!(said("/tmp/x1/run/vm.csv"), "vm.csv");
        assert_eq!(said("listening on 127.0.0.1:9"), "listening on 127.0.0.1:9");
    }

    #[test]
    fn a_server_that_never_stops_talking_is_ended_all_the_same() {
        let talks = "trap 'exit 0' TERM; while :; do echo hello; done";
        let mut child =
            Command::new("sh").args(["-c", talks]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let (mut server, stop) = (Server { child }, Stop::new().unwrap());
        let mut heard = 0;
        let said = |_| {
            heard += 1;
            stop.ask();
        };
        follow(&mut server, &lines, said, &stop).unwrap();
        assert!(heard > 0);
    }
}
