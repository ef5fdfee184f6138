//! Shell commands of the user: bounded in time and in what they may say.

mod group;
mod heard;
mod kept;

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use wait4::{ResUse, Wait4 as _};

pub use self::group::end_group;
use self::heard::Heard;
use crate::guard::Guard;

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
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    with_own(shell)
}

/// `command` with the path of this program in `PLUMB`.
fn with_own(mut command: Command) -> Result<Command, ShellError> {
    command.env(OWN, env::current_exe().map_err(ShellError::Own)?);
    Ok(command)
}

/// Runs `command` with `sh -c` to its end, and returns what it printed. It ends with this process.
///
/// # Errors
/// When it cannot be started, fails, or does not end within `timeout`; when it says that it could
/// not measure now ([`ShellError::Disturbed`]); when `stop` is asked for.
pub fn run(command: &str, timeout: Span, stop: &Stop) -> Result<String, ShellError> {
    let guard = Some(Guard::ready()?);
    Ok(carried_out(&mut of(command)?, Words::Heard, command, (timeout, stop), guard)?.printed)
}

/// Runs `command` to its end as [`run`] does, whoever asks for an end: a system is switched back so.
/// It comes to its end even when this process is killed.
///
/// # Errors
/// When it cannot be started, fails, or does not end within `timeout`.
pub fn finish(command: &str, timeout: Span) -> Result<(), ShellError> {
    let never = Stop::new()?;
    let words = Words::Kept(kept::file());
    carried_out(&mut of(command)?, words, command, (timeout, &never), None).map(drop)
}

/// Runs `command` to its end as [`run`] does, and says what that took. A shell is started only for
/// a command that needs one; what it prints goes nowhere.
///
/// # Errors
/// As those of [`run`].
pub fn timed(command: &str, timeout: Span, stop: &Stop) -> Result<CommandCost, ShellError> {
    let mut program = without_shell(command).map_or_else(|| of(command), with_own)?;
    let guard = Some(Guard::ready()?);
    Ok(carried_out(&mut program, Words::Complaints, command, (timeout, stop), guard)?.cost)
}

/// What a command took, with all the processes that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandCost {
    /// From its start to its end, nanoseconds.
    pub wall_ns: u64,
    /// Processor time in its own code, nanoseconds.
    pub user_ns: u64,
    /// Processor time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// The most memory that one of its processes had, bytes; `None` where that was no more than this
    /// program has itself: the kernel counts the memory of whoever starts a process, until it has
    /// become another program.
    pub memory_bytes: Option<u64>,
}

/// What becomes of what a command says.
enum Words {
    /// All of it is heard while it is at work.
    Heard,
    /// Only what it complains about is.
    Complaints,
    /// What it complains about is kept in this file, where there is one. Nothing that it says comes
    /// through a pipe: it would be ended by one that nobody reads any more.
    Kept(Option<File>),
}

impl Words {
    /// Standard output and standard error of the command.
    fn streams(&self) -> io::Result<(Stdio, Stdio)> {
        Ok(match self {
            Self::Heard => (Stdio::piped(), Stdio::piped()),
            Self::Complaints => (Stdio::null(), Stdio::piped()),
            Self::Kept(None) => (Stdio::null(), Stdio::null()),
            Self::Kept(Some(file)) => (Stdio::null(), file.try_clone()?.into()),
        })
    }
}

/// What came of a command that succeeded.
struct Success {
    printed: String,
    cost: CommandCost,
}

/// The program of `command` and its words; `None` where a shell would do more than to tell words apart,
/// or knows the program itself only.
fn without_shell(command: &str) -> Option<Command> {
    const OF_SHELL: &str = "|&;<>()$`*?[]#~={}!%^\n";
    if command.contains(|c| OF_SHELL.contains(c)) {
        return None;
    }
    let words = shlex::split(command)?;
    let (name, rest) = words.split_first()?;
    let found = if name.contains('/') {
        std::path::Path::new(name).is_file()
    } else {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    found.then(|| {
        let mut program = Command::new(name);
        program.args(rest);
        program
    })
}

/// The most memory that this process has had, bytes; `None` where the system does not say it.
fn own_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

fn carried_out(
    program: &mut Command,
    words: Words,
    command: &str,
    (timeout, stop): (Span, &Stop),
    mut guard: Option<Guard>,
) -> Result<Success, ShellError> {
    let (out, err) = words.streams()?;
    let program = program.stdin(Stdio::null()).stdout(out).stderr(err);
    let began_ns = MonotonicClock.now_ns();
    let mut child = program
        .process_group(0) // so that it and all it starts can be ended together
        .spawn()
        .map_err(|source| ShellError::NotStarted { command: command.to_owned(), source })?;
    let mut heard = [
        Heard::of(child.stdout.take().map(OwnedFd::from)),
        Heard::of(child.stderr.take().map(OwnedFd::from)),
    ];
    let guarded = guard.as_mut().map_or(Ok(()), |guard| guard.over(&child));
    let ended = guarded
        .map_err(ShellError::from)
        .and_then(|()| wait(&child, &mut heard, command, timeout, stop));
    let wall_ns = MonotonicClock.now_ns() - began_ns;
    drop(guard); // the number of the command is another's once its end is taken
    let ended = ended.and_then(|()| Ok(child.wait4()?));
    if ended.is_err() {
        end_group(&mut child, FAREWELL);
    }
    let [printed, mut err] = heard.map(Heard::end);
    if let Words::Kept(file) = words {
        err = file.map_or_else(|| "what it said was not kept".into(), |file| kept::end(&file));
    }
    let ResUse { status, rusage } = ended?;
    if status.code() == Some(TEMPORARY) {
        return Err(ShellError::Disturbed(last_words(&err, &printed)));
    }
    if !status.success() {
        let (command, said) = (command.to_owned(), last_words(&err, &printed));
        return Err(ShellError::Failed { command, status, said });
    }
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let cost = CommandCost {
        wall_ns,
        user_ns: ns(rusage.utime),
        system_ns: ns(rusage.stime),
        memory_bytes: Some(rusage.maxrss).filter(|most| own_peak().is_some_and(|own| *most > own)),
    };
    Ok(Success { printed, cost })
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
        /// The last line of what it complained about or printed.
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
    #[error("`{command}` printed {figure}; a figure of zero or more is needed")]
    Negative {
        /// The command.
        command: String,
        /// The number.
        figure: f64,
    },
    /// The memory that it took is not told.
    #[error(
        "what `{command}` takes of memory cannot be told: it is no more than plumb itself takes; \
         name another figure"
    )]
    SmallerThanOurs {
        /// The command.
        command: String,
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

/// The last line of what a command complained about, or else of what it printed, as far as that was
/// heard.
fn last_words(complaint: &str, printed: &str) -> String {
    let last = |text: &str| {
        let line = text.trim_end().lines().next_back()?;
        Some(line.chars().take(SHOWN).collect::<String>())
    };
    let printed =
        || last(printed).map(|line| format!("it printed `{line}` and complained about nothing"));
    last(complaint).or_else(printed).unwrap_or_else(|| "it complained about nothing".into())
}

/// The last number that a command printed.
///
/// # Errors
/// When its last line ends in no number, or in one that is below zero.
pub fn figure(command: &str, printed: &str) -> Result<f64, ShellError> {
    let line = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    let number = line.split_whitespace().next_back().and_then(|word| word.parse::<f64>().ok());
    match number {
        Some(figure) if figure.is_finite() && figure >= 0.0 => Ok(figure),
        Some(figure) => Err(ShellError::Negative { command: command.to_owned(), figure }),
        None => Err(ShellError::NoNumber { command: command.to_owned(), line: line.to_owned() }),
    }
}

/// Waits for the end of a command, and reads meanwhile what it says. It is over when its process is:
/// what that left in the background may hold the same pipes for ever.
fn wait(
    child: &Child,
    heard: &mut [Heard],
    command: &str,
    timeout: Span,
    stop: &Stop,
) -> Result<(), ShellError> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).map_err(io::Error::from)?;
    let deadline_ns = MonotonicClock.now_ns().saturating_add(timeout.ns());
    loop {
        let left_ns = deadline_ns.saturating_sub(MonotonicClock.now_ns());
        let pipes = heard.iter().filter_map(Heard::pipe);
        let events: Vec<BorrowedFd<'_>> = pipes.chain([ended.as_fd()]).collect();
        stop.wait_for_any(&events, Span::from_ns(left_ns))?;
        // looked at without taking its end away, which only one call gets, with what it took
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let over = waitid(WaitId::Pid(Pid::from_child(child)), options).map_err(io::Error::from)?;
        match over {
            Some(_) => return Ok(()),
            None if stop.asked() => return Err(ShellError::Interrupted),
            None if left_ns == 0 => {
                return Err(ShellError::Late { command: command.to_owned(), timeout });
            }
            None => {
                for pipe in &mut *heard {
                    pipe.read();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_engine::wait_for;
    use rustix::io::ioctl_fionbio;
    use std::io::{Read as _, Write as _};

    #[test]
    fn the_last_number_of_the_last_line_is_the_figure() {
        assert_eq!(figure("x", "1\ntook 12.5\n\n").ok(), Some(12.5));
        assert_eq!(figure("x", "errors: 0\n").ok(), Some(0.0));
        for printed in ["", "fast\n", "12 ms\n", "-1\n", "NaN\n", "inf\n"] {
            assert!(figure("x", printed).is_err(), "{printed:?}");
        }
    }

    #[test]
    fn what_a_failed_command_printed_is_told_where_it_complained_about_nothing() {
        let stop = Stop::new().unwrap();
        let said =
            |command: &str| run(command, Span::from_ms(60_000), &stop).unwrap_err().to_string();
        for (command, words) in [
            ("echo 1 2; exit 3", "(exit status: 3): it printed `1 2` and complained about nothing"),
            ("echo 1; echo no >&2; exit 3", "(exit status: 3): no"),
            ("exit 3", "(exit status: 3): it complained about nothing"),
        ] {
            assert!(said(command).ends_with(words), "{}", said(command));
        }
    }

    #[test]
    fn what_a_command_took_is_told_whether_or_not_it_needs_a_shell() {
        let stop = Stop::new().unwrap();
        let minute: Span = "1m".parse().unwrap();
        for command in ["sleep 0.05", "sleep 0.05; true"] {
            assert_eq!(without_shell(command).is_none(), command.contains(';'));
            let cost = timed(command, minute, &stop).unwrap();
            assert!(cost.wall_ns >= 50_000_000, "{command}: {cost:?}");
            assert!(cost.user_ns + cost.system_ns < cost.wall_ns, "{cost:?}");
            assert_eq!(cost.memory_bytes, None, "it has less than this test");
        }
        let large = "head -c 300000000 /dev/zero | tail -c 200000000";
        let most = timed(large, minute, &stop).unwrap().memory_bytes;
        assert!(most.is_some_and(|most| (200_000_000..600_000_000).contains(&most)), "{most:?}");
        let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let cost = timed(busy, minute, &stop).unwrap();
        assert!(cost.user_ns > 0 && cost.user_ns <= cost.wall_ns + 20_000_000, "{cost:?}");
        assert!(without_shell("cd 'a b'").is_none() && without_shell("ls 'a b'").is_some());
        let failed = timed("ls /there/is/no/such", minute, &stop).unwrap_err().to_string();
        assert!(failed.contains("exit status: 2"), "{failed}");
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

    #[test]
    fn what_is_carried_out_to_its_end_tells_its_last_words_as_well() {
        let minute: Span = "1m".parse().unwrap();
        let error = finish("echo off; echo first >&2; echo last >&2; exit 3", minute);
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("(exit status: 3): last"), "{error}");
        finish("echo off && echo >&2", minute).unwrap();
    }

    #[test]
    fn a_command_is_over_when_its_process_is_whatever_it_leaves_behind() {
        let stop = Stop::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let minute = Span::from_ms(60_000);
        let [(begin, mut to_it), (heard, mut from_it)] = ["begin", "heard"].map(|name| {
            let path = folder.path().join(name).display().to_string();
            run(&format!("mkfifo '{path}'"), minute, &stop).unwrap();
            let fifo = File::options().read(true).write(true).open(&path).unwrap();
            (path, fifo)
        });
        // it speaks only when the command is over, and goes on afterwards
        let lines = format!(
            "trap '' PIPE\nread x < '{begin}'\n\
             if echo late >&2; then echo yes; else echo no; fi > '{heard}'\n"
        );
        std::fs::write(&script, lines).unwrap();
        let command = format!("echo first; timeout 20 sh '{}' & echo last", script.display());
        assert_eq!(run(&command, minute, &stop).unwrap(), "first\nlast\n");
        to_it.write_all(b"x\n").unwrap();
        ioctl_fionbio(&from_it, true).unwrap();
        wait_for([from_it.as_fd()], Span::from_ms(20_000)).unwrap();
        let mut answer = [0; 4];
        from_it.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"yes\n");
    }

    #[test]
    fn a_command_without_a_shell_finds_this_program_as_well() {
        let stop = Stop::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let own = env::current_exe().unwrap();
        std::fs::write(&script, format!("[ \"$PLUMB\" = '{}' ]", own.display())).unwrap();
        for end in ["", " || exit 1"] {
            let command = format!("sh '{}'{end}", script.display());
            assert_eq!(without_shell(&command).is_some(), end.is_empty());
            timed(&command, Span::from_ms(60_000), &stop).unwrap();
        }
    }
}
