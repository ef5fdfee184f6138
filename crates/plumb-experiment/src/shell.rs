//! Shell commands of the user: bounded in time and in what they may say.

use std::env;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use plumb_engine::{Stop, wait_for};
use plumb_measure::Span;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Bytes that are kept of what a command says.
const SAID_MAX: u64 = 1 << 20;
/// Time to end after being asked to.
const FAREWELL: Span = Span::from_ms(2_000);
/// The exit code of a command that may succeed another time: `EX_TEMPFAIL` of sysexits.h.
const TEMPORARY: i32 = 75;
/// Characters of what a failed command said that are shown.
const SHOWN: usize = 300;

/// The variable in which a command finds the path of this program.
const OWN: &str = "PLUMB";

/// `command` for `sh -c`, with the path of this program in `PLUMB`: whatever is called plumb
/// elsewhere may be another version.
///
/// # Errors
/// When the path of this program is not known.
pub fn of(command: &str) -> Result<Command, ShellError> {
    let own = env::current_exe().map_err(ShellError::Own)?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env(OWN, own);
    Ok(shell)
}

/// Runs `command` with `sh -c` to its end, and returns what it printed.
///
/// # Errors
/// When it cannot be started, fails, or does not end within `timeout`; when it says that it could
/// not measure now ([`ShellError::Disturbed`]); when `stop` is asked for.
pub fn run(command: &str, timeout: Span, stop: &Stop) -> Result<String, ShellError> {
    let mut child = of(command)?
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0) // so that it and all it starts can be ended together
        .spawn()
        .map_err(|source| ShellError::NotStarted { command: command.to_owned(), source })?;
    let out = child.stdout.take().map(collect);
    let err = child.stderr.take().map(collect);
    let ended = wait(&mut child, command, timeout, stop);
    if ended.is_err() {
        end_group(&mut child, FAREWELL);
    }
    let said = |reader: Option<thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (out, err) = (said(out), said(err));
    let status = ended?;
    if status.code() == Some(TEMPORARY) {
        return Err(ShellError::Disturbed(last_words(&err)));
    }
    if !status.success() {
        let (command, said) = (command.to_owned(), last_words(&err));
        return Err(ShellError::Failed { command, status, said });
    }
    Ok(out)
}

/// Why a shell command has no figure.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The path of this program is not known.
    #[error("the program does not find itself")]
    Own(#[source] io::Error),
    /// There is no process.
    #[error("cannot start `{command}`")]
    NotStarted {
        /// The command.
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// It says that it could not measure now, and may succeed another time; its last line.
    #[error("disturbed: {0}")]
    Disturbed(String),
    /// It ended with an error.
    #[error("`{command}` failed ({status}): {said}")]
    Failed {
        /// The command.
        command: String,
        /// Its exit code or signal.
        status: ExitStatus,
        /// The last line of what it complained about.
        said: String,
    },
    /// It was still at work when its time was over.
    #[error("`{command}` did not end within {timeout}: allow it more time (command-timeout)")]
    Late {
        /// The command.
        command: String,
        /// How long it had.
        timeout: Span,
    },
    /// Somebody asked for the end.
    #[error("interrupted")]
    Interrupted,
    /// Its end cannot be waited for.
    #[error(transparent)]
    Unwatched(#[from] io::Error),
    /// What it printed is no figure.
    #[error("`{command}` printed {figure}; a figure above zero is needed")]
    NotPositive {
        /// The command.
        command: String,
        /// The number.
        figure: f64,
    },
    /// It printed no number.
    #[error("`{command}` must print a number at the end of its last line, not `{line}`")]
    NoNumber {
        /// The command.
        command: String,
        /// Its last line.
        line: String,
    },
}

/// The last line of what a command complained about.
fn last_words(complaint: &str) -> String {
    let last = complaint.trim_end().lines().next_back().unwrap_or("it said nothing");
    last.chars().take(SHOWN).collect()
}

/// The last number that a command printed.
///
/// # Errors
/// When its last line ends in no number, or in one that is not above zero.
pub fn figure(command: &str, printed: &str) -> Result<f64, ShellError> {
    let line = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    let number = line.split_whitespace().next_back().and_then(|word| word.parse::<f64>().ok());
    match number {
        Some(figure) if figure.is_finite() && figure > 0.0 => Ok(figure),
        Some(figure) => Err(ShellError::NotPositive { command: command.to_owned(), figure }),
        None => Err(ShellError::NoNumber { command: command.to_owned(), line: line.to_owned() }),
    }
}

fn wait(
    child: &mut Child,
    command: &str,
    timeout: Span,
    stop: &Stop,
) -> Result<ExitStatus, ShellError> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(io::Error::from)?;
    stop.wait_for(ended.as_fd(), timeout)?;
    match child.try_wait()? {
        Some(status) => Ok(status),
        None if stop.asked() => Err(ShellError::Interrupted),
        None => Err(ShellError::Late { command: command.to_owned(), timeout }),
    }
}

/// Ends a command that leads a group of its own, and all it started; it is asked first, and has
/// `farewell` to follow.
pub fn end_group(child: &mut Child, farewell: Span) {
    let group = Pid::from_child(child);
    // a group that is gone already needs no end
    let _ = kill_process_group(group, Signal::TERM);
    if let Ok(ended) = pidfd_open(group, PidfdFlags::empty()) {
        // whatever the wait says, it is ended now
        let _ = wait_for([ended.as_fd()], farewell);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

fn collect(from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut from = from;
        let mut said = Vec::new();
        // what cannot be read was not said; the rest is read so that the command can go on
        let _ = from.by_ref().take(SAID_MAX).read_to_end(&mut said);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        String::from_utf8_lossy(&said).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_the_last_line_is_the_figure() {
        assert_eq!(figure("x", "1\ntook 12.5\n\n").ok(), Some(12.5));
        for printed in ["", "fast\n", "12 ms\n", "0\n", "-1\n", "NaN\n", "inf\n"] {
            assert!(figure("x", printed).is_err(), "{printed:?}");
        }
    }

    #[test]
    fn a_command_that_fails_or_lasts_too_long_is_an_error_with_its_words() {
        let stop = Stop::new().unwrap();
        let minute: Span = "1m".parse().unwrap();
        assert_eq!(run("echo 5", minute, &stop).unwrap(), "5\n");
        let error = run("echo no such table >&2; exit 3", minute, &stop).unwrap_err().to_string();
        assert!(error.contains("no such table") && error.contains('3'), "{error}");
        let short: Span = "50ms".parse().unwrap();
        let error = run("sleep 60 & sleep 60", short, &stop).unwrap_err().to_string();
        assert!(error.contains("command-timeout"), "{error}");
    }
}
