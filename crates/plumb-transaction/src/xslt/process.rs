//! One process of the program that applies a stylesheet.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use plumb_wire::stylesheet::{FrameHead, FrameKind, HEAD_BYTES};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::XsltLimits;
use super::deadline::Deadline;

/// What it says when it cannot start is read so far, bytes.
const SAID_BYTES_MAX: u64 = 4096;
/// The signals that end a process whose filter refuses a call, that somebody kills, and that its own
/// timer ends.
const SIGSYS: i32 = 31;
const SIGKILL: i32 = 9;
const SIGALRM: i32 = 14;

/// A process, killed when it is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// Why there is no answer. The process is of no use any more.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It answered with an error.
    Failed { line: u32, problem: String },
    /// Its answer is too large.
    TooLarge { found: u32 },
    /// It ended.
    Ended { how: String, by_others: bool },
    /// It is not done in time.
    Late,
    /// The pipes to it fail.
    Broken(io::Error),
}

impl Process {
    /// Starts the program, which confines itself.
    pub(super) fn start(program: &Path, limits: XsltLimits) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(limits.frame_bytes().to_string())
            .arg(limits.memory_bytes().to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(zone) = std::env::var_os("TZ") {
            command.env("TZ", zone);
        }
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        let process = Self { child, input, output };
        ioctl_fionbio(&process.input, true)?;
        ioctl_fionbio(&process.output, true)?;
        Ok(process)
    }

    /// Whether it has not ended meanwhile.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a frame and takes the answer, of `most` bytes.
    pub(super) fn exchange(
        &mut self,
        kind: FrameKind,
        body: &[u8],
        most: u32,
        deadline: &Deadline,
    ) -> Result<Vec<u8>, NoAnswer> {
        let length = u32::try_from(body.len()).map_err(|_| broken("a frame of 4 GiB"))?;
        let head = FrameHead { kind, number: deadline.seconds_left(), length };
        self.send(&head.encode(), deadline)?;
        self.send(body, deadline)?;
        let mut head = [0; HEAD_BYTES];
        self.receive(&mut head, deadline)?;
        let head = FrameHead::decode(head).ok_or_else(|| broken("an answer of no kind"))?;
        if head.length > most {
            return Err(NoAnswer::TooLarge { found: head.length });
        }
        let mut answer = vec![0; head.length as usize];
        self.receive(&mut answer, deadline)?;
        match head.kind {
            FrameKind::Done => Ok(answer),
            FrameKind::Failed => Err(NoAnswer::Failed {
                line: head.number,
                problem: String::from_utf8_lossy(&answer).into_owned(),
            }),
            FrameKind::Stylesheet | FrameKind::Document => Err(broken("an answer that asks")),
        }
    }

    fn send(&mut self, mut bytes: &[u8], deadline: &Deadline) -> Result<(), NoAnswer> {
        while !bytes.is_empty() {
            match self.input.write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => wait(&self.input, PollFlags::OUT, deadline)?,
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::BrokenPipe => return Err(self.ended()),
                    _ => return Err(NoAnswer::Broken(error)),
                },
            }
        }
        Ok(())
    }

    fn receive(&mut self, mut bytes: &mut [u8], deadline: &Deadline) -> Result<(), NoAnswer> {
        while !bytes.is_empty() {
            match self.output.read(bytes) {
                Ok(0) => return Err(self.ended()),
                Ok(received) => bytes = &mut bytes[received..],
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => wait(&self.output, PollFlags::IN, deadline)?,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(NoAnswer::Broken(error)),
                },
            }
        }
        Ok(())
    }

    /// How it ended, and what it said.
    fn ended(&mut self) -> NoAnswer {
        let mut said = Vec::new();
        if let Some(stderr) = &mut self.child.stderr {
            // what it could not say is not there; how it ended is
            let _ = stderr.take(SAID_BYTES_MAX).read_to_end(&mut said);
        }
        match self.child.wait() {
            // its own timer was earlier than the one here
            Ok(status) if status.signal() == Some(SIGALRM) => NoAnswer::Late,
            Ok(status) => {
                let by_others = status.signal() == Some(SIGKILL);
                let how = how_it_ended(status, String::from_utf8_lossy(&said).trim());
                NoAnswer::Ended { how, by_others }
            }
            Err(error) => NoAnswer::Broken(error),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // both fail for a process that has ended, which is what is wanted
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn how_it_ended(status: ExitStatus, said: &str) -> String {
    match (status.signal(), said) {
        (Some(SIGSYS), _) => "plumb-xslt was stopped at a system call that it may not make".into(),
        (Some(SIGKILL), _) => "plumb-xslt was killed by somebody else".into(),
        (Some(signal), _) => format!(
            "plumb-xslt broke down (signal {signal}); its memory may have been too little for this \
             document"
        ),
        (None, "") => "plumb-xslt ended without an answer".into(),
        (None, said) => said.into(),
    }
}

fn broken(problem: &str) -> NoAnswer {
    NoAnswer::Broken(io::Error::new(io::ErrorKind::InvalidData, problem))
}

/// Waits until the pipe goes on, or the deadline.
fn wait(pipe: impl AsFd, what: PollFlags, deadline: &Deadline) -> Result<(), NoAnswer> {
    let Some(left) = deadline.left() else { return Err(NoAnswer::Late) };
    let left = Timespec::try_from(left).ok();
    match poll(&mut [PollFd::new(&pipe, what)], left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(NoAnswer::Broken(error.into())),
    }
}
