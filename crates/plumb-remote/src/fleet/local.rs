//! Remotes on this machine: processes that speak over their standard streams.

use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use super::Heard;
use crate::link::{LinkEnded, inbox, outbox};
use crate::message::Order;
use crate::nats::NATS_VARIABLES;

/// Bytes of a complaint that are kept.
const WORDS_MAX: u64 = 4_096;

/// How long a process has to end by itself once nobody can ask anything of it any more: it takes away
/// what it has begun to write.
const FAREWELL_NS: u64 = 1_000_000_000;

/// A remote process.
#[derive(Debug)]
pub struct Local {
    child: Child,
    /// Ends with what the process says of itself, and so with it.
    over: Receiver<()>,
}

/// Remote processes; they end with this. It is dropped behind whatever asks something of them.
#[derive(Debug, Default)]
pub(super) struct Locals(pub(super) Vec<Local>);

impl Local {
    /// Starts the remote `name`; what it says goes to `heard` as that of number `at`, and what is
    /// asked of it through the sender.
    pub(super) fn start(
        program: &Path,
        name: &str,
        at: usize,
        heard: Sender<Heard>,
    ) -> io::Result<(Self, Sender<Order>)> {
        let mut command = Command::new(program);
        // the server of the controller is none of a process that speaks over its streams
        NATS_VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        let mut child = command
            .args(["remote", "--pipe", "--name", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0) // Ctrl-C is the controller's: it lets its remotes hand over what they have
            .spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((to, from), complaints) =
            streams.ok_or_else(|| io::Error::other("it has no streams"))?;
        let (words, over) = last_words(complaints);
        inbox(BufReader::new(from), heard, move |said| {
            let said = said.map_err(|ended| {
                let words = words.lock().unwrap_or_else(PoisonError::into_inner);
                match ended {
                    LinkEnded::Closed if !words.is_empty() => {
                        io::Error::other(words.as_str()).into()
                    }
                    ended => ended,
                }
            });
            (at, said)
        });
        let (orders, _) = outbox(to); // it ends with the process
        Ok((Self { child, over }, orders))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

impl Drop for Locals {
    fn drop(&mut self) {
        let until_ns = MonotonicClock.now_ns() + FAREWELL_NS;
        for local in &self.0 {
            let left_ns = until_ns.saturating_sub(MonotonicClock.now_ns());
            let _ = local.over.recv_timeout(Duration::from_nanos(left_ns)); // then it is ended
        }
    }
}

/// The last line that a process complains with, as long as it runs, and what ends when it does.
fn last_words(complaints: ChildStderr) -> (Arc<Mutex<String>>, Receiver<()>) {
    let words = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&words);
    let (runs, over) = mpsc::channel();
    thread::spawn(move || {
        let _runs: Sender<()> = runs;
        let mut complaints = BufReader::new(complaints);
        let mut line = Vec::new();
        while let Ok(1..) = complaints.by_ref().take(WORDS_MAX).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !text.is_empty() {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = text;
            }
            line.clear();
        }
    });
    (words, over)
}
