//! The end of a command with all that it started.

use std::fs;
use std::os::fd::AsFd as _;
use std::process::Child;

use plumb_engine::clock::MonotonicClock;
use plumb_engine::wait_for;
use plumb_measure::{Clock as _, Span};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Ends a command that leads a group of its own, and all it started; they are asked first, and have
/// `farewell` to follow, whoever of them ends first.
pub fn end_group(child: &mut Child, farewell: Span) {
    let group = Pid::from_child(child);
    let until_ns = MonotonicClock.now_ns().saturating_add(farewell.ns());
    // a group that is gone already needs no end
    let _ = kill_process_group(group, Signal::TERM);
    wait_for_end(group, until_ns);
    // its number stays taken meanwhile: the end of the one who leads the group is taken last
    while let Some(member) = one_of(group) {
        if !wait_for_end(member, until_ns) {
            break;
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Waits for the end of `process`, at most until `until_ns`; false when it is there still, or nobody
/// can tell.
fn wait_for_end(process: Pid, until_ns: u64) -> bool {
    let left_ns = until_ns.saturating_sub(MonotonicClock.now_ns());
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(ended) => wait_for([ended.as_fd()], Span::from_ns(left_ns)).is_ok() && left_ns > 0,
        Err(error) => error == Errno::SRCH,
    }
}

/// A process of `group` that has not ended.
fn one_of(group: Pid) -> Option<Pid> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find_map(|number: i32| {
        let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
        lives_in(group, &stat).then(|| Pid::from_raw(number)).flatten()
    })
}

/// Whether the process of which `stat` tells belongs to `group` and has not ended.
///
/// # Source
/// proc(5), /proc/pid/stat: number, name in parentheses, state, parent, process group.
fn lives_in(group: Pid, stat: &[u8]) -> bool {
    // a name may hold anything
    let behind_name = stat.iter().rposition(|byte| *byte == b')').map_or(stat.len(), |at| at + 1);
    let fields = String::from_utf8_lossy(&stat[behind_name..]);
    let mut fields = fields.split_ascii_whitespace();
    let ended = fields.next().is_none_or(|state| matches!(state, "Z" | "X"));
    let its_group = fields.nth(1).and_then(|number| number.parse().ok());
    !ended && its_group == Some(group.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell that dies of SIGTERM at once, and behind it a process with this `script`, which has said
    /// that it is ready.
    fn led(script: &str, folder: &Path) -> Child {
        fs::write(folder.join("script"), script).unwrap();
        let mut command = Command::new("sh");
        command.current_dir(folder).args(["-c", "sh ./script $$ | cat"]);
        let command = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }

    #[test]
    fn who_outlives_the_shell_that_leads_the_group_has_its_farewell_too() {
        let folder = tempfile::tempdir().unwrap();
        // it begins its own end when that of the shell is over
        let script = "trap 'until grep -q \"^State:.Z\" /proc/$1/status; do :; done
                  sh -c true; sh -c true; echo ended > it; exit' TERM
            sleep 60 & echo ready; wait\n";
        let mut child = led(script, folder.path());
        end_group(&mut child, Span::from_ms(60_000));
        assert_eq!(fs::read_to_string(folder.path().join("it")).unwrap_or_default(), "ended\n");
    }

    #[test]
    fn who_does_not_follow_within_the_farewell_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap '' TERM\necho ready; exec sleep 600\n";
        let mut child = led(script, folder.path());
        end_group(&mut child, Span::from_ms(50));
        // whoever lives holds the other end
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "");
    }

    #[test]
    fn a_process_is_told_by_its_group_whatever_its_name_is() {
        let group = Pid::from_raw(70).unwrap();
        assert!(lives_in(group, b"71 (a) Z (b) S 1 70 70 0"));
        assert!(lives_in(group, b"71 (\xff 1 2 3) R 1 70"));
        for other in ["71 (a) Z 1 70", "71 (a) S 70 71", "71 (a 1 70", "", "71 (a) S 1"] {
            assert!(!lives_in(group, other.as_bytes()), "{other}");
        }
    }
}
