//! The processes that somebody asked for, by number or by name.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::str::FromStr;

use super::{ProcessCounters, ProcessStat, Switches};
use crate::fields::{Words, lines};
use crate::label::Label;
use crate::root::Root;

/// Processes followed at once.
const FOLLOWED_MAX: usize = 256;
/// How often the context switches of a process are counted before they are not told.
const COUNTS_MAX: usize = 3;
/// Threads whose context switches are added up; a process with more has none told.
const THREADS_MAX: usize = 256;
/// Names are looked for, and files and context switches counted, no more often than this: each
/// costs several calls a process. A little less than a second, so that a sample a second has them
/// although it may come a little early.
const SLOW_NS: u64 = 900_000_000;

/// Which processes to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The one of this number.
    Pid(u32),
    /// All of this name.
    Name(String),
}

/// Why a text names no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the number of a process, or its name as `ps -e` shows it")]
pub struct WantedError;

impl FromStr for Wanted {
    type Err = WantedError;

    fn from_str(text: &str) -> Result<Self, WantedError> {
        if text.is_empty() {
            return Err(WantedError);
        }
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().map(Self::Pid).map_err(|_| WantedError),
            false => Ok(Self::Name(text.into())),
        }
    }
}

impl Wanted {
    fn is(&self, stat: &ProcessStat) -> bool {
        match self {
            Self::Pid(pid) => stat.pid == *pid,
            Self::Name(name) => stat.name == kept_name(name),
        }
    }
}

/// What the kernel keeps of the name of a process, fifteen bytes, as a process of that name is called
/// here.
#[must_use]
pub fn kept_name(name: &str) -> Label {
    Label::new(&name.as_bytes()[..name.len().min(15)])
}

/// One process that is followed.
#[derive(Debug)]
struct Followed {
    pid: u32,
    begun: u64,
    stat: File,
    /// Its context switches when they were last counted.
    switches: Option<Switches>,
}

/// Follows processes.
#[derive(Debug)]
pub struct Chosen {
    root: Root,
    wanted: Vec<Wanted>,
    followed: Vec<Followed>,
    slow_at_ns: Option<u64>,
}

impl Chosen {
    /// Follows whoever is `wanted`, from the first reading on.
    #[must_use]
    pub fn new(root: Root, wanted: Vec<Wanted>) -> Self {
        Self { root, wanted, followed: Vec::new(), slow_at_ns: None }
    }

    /// True when there is somebody to follow.
    #[must_use]
    pub fn wants_any(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Reads the counters of every process that is wanted and there.
    pub fn read(&mut self, at_ns: u64, counters: &mut Vec<ProcessCounters>) {
        counters.clear();
        let slow = self.slow_at_ns.is_none_or(|at| at_ns.saturating_sub(at) >= SLOW_NS);
        if slow {
            self.slow_at_ns = Some(at_ns);
            self.look_for_new();
        }
        let root = &self.root;
        self.followed.retain_mut(|followed| {
            let Some(stat) = followed.read() else { return false };
            let mut each = ProcessCounters::of(&stat);
            if slow {
                each.files = open_files(root, followed.pid);
                followed.switches = switches(root, followed.pid, at_ns);
            }
            // the next count is compared with this one, however many samples lie between
            each.switches = followed.switches;
            counters.push(each);
            true
        });
    }

    /// Follows what is wanted and not followed yet.
    fn look_for_new(&mut self) {
        let known: BTreeSet<u32> = self.followed.iter().map(|followed| followed.pid).collect();
        let by_name = self.wanted.iter().any(|wanted| matches!(wanted, Wanted::Name(_)));
        let candidates: Vec<u32> = if by_name {
            numbers_in(&self.root, "")
        } else {
            let pids = self.wanted.iter().filter_map(|wanted| match wanted {
                Wanted::Pid(pid) => Some(*pid),
                Wanted::Name(_) => None,
            });
            pids.collect()
        };
        for pid in candidates {
            if known.contains(&pid) || self.followed.len() >= FOLLOWED_MAX {
                continue;
            }
            let Ok(stat) = File::open(self.root.proc(&format!("{pid}/stat"))) else { continue };
            let mut followed = Followed { pid, begun: 0, stat, switches: None };
            let Some(found) = followed.read() else { continue };
            if self.wanted.iter().any(|wanted| wanted.is(&found)) {
                followed.begun = found.begun;
                self.followed.push(followed);
            }
        }
        self.followed.sort_by_key(|followed| followed.pid);
    }
}

impl Followed {
    /// What the process says; `None` once it is gone, even if its number stands for another one.
    fn read(&self) -> Option<ProcessStat> {
        let mut text = [0; 1024]; // 52 numbers and a short name
        let length = self.stat.read_at(&mut text, 0).ok()?;
        let stat = ProcessStat::parse(&text[..length])?;
        (self.begun == 0 || stat.begun == self.begun).then_some(stat)
    }
}

/// The open files of a process; `None` when they may not be counted.
fn open_files(root: &Root, pid: u32) -> Option<u64> {
    let folder = root.proc(&format!("{pid}/fd"));
    let length = fs::metadata(&folder).ok()?.len();
    if length > 0 {
        return Some(length); // since Linux 6.2 the folder's size is their number
    }
    Some(fs::read_dir(folder).ok()?.count() as u64)
}

/// The context switches of all threads of a process; counted anew where a thread ended meanwhile.
fn switches(root: &Root, pid: u32, at_ns: u64) -> Option<Switches> {
    (0..COUNTS_MAX).find_map(|_| switches_once(root, pid, at_ns))
}

fn switches_once(root: &Root, pid: u32, at_ns: u64) -> Option<Switches> {
    let mut sum = Switches { at_ns, ..Switches::default() };
    let threads = numbers_in(root, &format!("{pid}/task"));
    if threads.is_empty() || threads.len() > THREADS_MAX {
        return None;
    }
    let mut text = Vec::with_capacity(2048);
    for thread in threads {
        text.clear();
        let path = root.proc(&format!("{pid}/task/{thread}/status"));
        File::open(path).and_then(|mut file| file.read_to_end(&mut text)).ok()?;
        let (voluntary, involuntary) = switches_of(&text)?;
        sum.voluntary = sum.voluntary.saturating_add(voluntary);
        sum.involuntary = sum.involuntary.saturating_add(involuntary);
    }
    Some(sum)
}

/// The voluntary and involuntary context switches in the text of `status`.
fn switches_of(text: &[u8]) -> Option<(u64, u64)> {
    let of =
        |name: &[u8]| lines(text).find_map(|line| Words::of(line.strip_prefix(name)?).number());
    Some((of(b"voluntary_ctxt_switches:")?, of(b"nonvoluntary_ctxt_switches:")?))
}

/// The numbers among the names in a folder of /proc: processes, or threads.
pub(super) fn numbers_in(root: &Root, folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(root.proc(folder)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_wanted_by_number_or_by_name() {
        assert_eq!("42".parse(), Ok(Wanted::Pid(42)));
        assert_eq!("postgres".parse(), Ok(Wanted::Name("postgres".into())));
        assert_eq!("".parse::<Wanted>(), Err(WantedError));
        assert_eq!("99999999999".parse::<Wanted>(), Err(WantedError));
    }

    #[test]
    fn a_name_in_another_script_is_found_also_when_the_kernel_cut_it() {
        let is = |wanted: &str, kept: &[u8]| {
            let name = Label::new(kept);
            let wanted: Wanted = wanted.parse().unwrap();
            wanted.is(&ProcessStat { name, ..ProcessStat::default() })
        };
        assert!(is("ä€ß", "ä€ß".as_bytes()));
        assert!(!is("ä€ß", "ß€ä".as_bytes()));
        let long = "ääääääääää";
        assert!(is(long, &long.as_bytes()[..15]));
    }

    #[test]
    fn this_process_is_followed() {
        let pid = std::process::id();
        let mut chosen = Chosen::new(Root::default(), vec![Wanted::Pid(pid)]);
        let mut counters = Vec::new();
        chosen.read(1, &mut counters);
        assert_eq!(counters.len(), 1);
        assert_eq!(counters[0].pid, pid);
        assert!(counters[0].files.is_some_and(|files| files > 2), "{counters:?}");
        assert!(counters[0].switches.is_some(), "{counters:?}");
        chosen.read(2, &mut counters);
        assert_eq!(counters[0].files, None, "they are counted once a second");
        let counted = |counters: &[ProcessCounters]| counters[0].switches.map(|it| it.at_ns);
        assert_eq!(counted(&counters), Some(1), "the last count is there for the next one");
        chosen.read(1 + SLOW_NS, &mut counters);
        assert_eq!(counted(&counters), Some(1 + SLOW_NS));
    }

    #[test]
    fn context_switches_are_found_in_a_status() {
        let text = b"Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(switches_of(text), Some((5, 7)));
        assert_eq!(switches_of(b"Name:\tx\n"), None);
    }
}
