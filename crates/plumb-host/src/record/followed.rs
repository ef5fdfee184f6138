//! Columns of processes: of one by its number, or of all of a name together, which come and go
//! while the columns stay.

use plumb_procfs::Label;
use plumb_procfs::process::{Wanted, kept_name};

use crate::sample::{ProcessSample, Sample};

/// The figures of a group. Those of several processes are added up; memory that they share counts
/// in each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Together {
    pub(super) processes: u64,
    pub(super) cpu_pct: Option<f64>,
    pub(super) user_pct: Option<f64>,
    pub(super) system_pct: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) files: Option<u64>,
    pub(super) voluntary_switches_per_s: Option<f64>,
    pub(super) involuntary_switches_per_s: Option<f64>,
}

/// Processes that share their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The one of this number.
    Pid(u32),
    /// All of this name.
    Name(Label),
}

impl Group {
    /// A group for everything that is followed; where that is not known, for every name in
    /// `sample`.
    pub(super) fn all(followed: &[Wanted], sample: &Sample) -> Vec<Self> {
        let of_wanted = |wanted: &Wanted| match wanted {
            Wanted::Pid(pid) => Self::Pid(*pid),
            Wanted::Name(name) => Self::Name(kept_name(name)),
        };
        let seen = sample.processes.iter().map(|process| Self::Name(process.name));
        let all = followed.iter().map(of_wanted).chain(seen.filter(|_| followed.is_empty()));
        let mut groups = Vec::new();
        for group in all {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// What stands before the names of its columns.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Pid(pid) => format!("process{pid}"),
            Self::Name(name) => format!("process_{}", name.as_str().replace([',', '"', ':'], "_")),
        }
    }

    pub(super) fn has(&self, process: &ProcessSample) -> bool {
        match self {
            Self::Pid(pid) => process.pid == *pid,
            Self::Name(name) => process.name == *name,
        }
    }

    /// What the processes of the group in `sample` did together.
    pub(super) fn together(&self, sample: &Sample) -> Together {
        let all = || sample.processes.iter().filter(|process| self.has(process));
        let sum = |of: fn(&ProcessSample) -> Option<f64>| {
            all().filter_map(of).reduce(|sum, more| sum + more)
        };
        let count = |of: fn(&ProcessSample) -> Option<u64>| {
            all().filter_map(of).reduce(u64::saturating_add)
        };
        Together {
            processes: all().count() as u64,
            cpu_pct: sum(|process| Some(process.cpu_pct)),
            user_pct: sum(|process| Some(process.user_pct)),
            system_pct: sum(|process| Some(process.system_pct)),
            resident_bytes: count(|process| Some(process.resident_bytes)),
            threads: count(|process| Some(process.threads)),
            files: count(|process| process.files),
            voluntary_switches_per_s: sum(|process| process.voluntary_switches_per_s),
            involuntary_switches_per_s: sum(|process| process.involuntary_switches_per_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::PROCESSES;
    use super::super::row::Row;
    use super::*;

    fn process(pid: u32, name: &str, files: Option<u64>) -> ProcessSample {
        let name = Label::new(name.as_bytes());
        ProcessSample { pid, name, cpu_pct: 25.0, threads: 2, files, ..ProcessSample::default() }
    }

    fn cells(group: Group, processes: Vec<ProcessSample>) -> String {
        let mut line = String::new();
        let together = group.together(&Sample { processes, ..Sample::default() });
        let mut row = Row::new(&mut line);
        PROCESSES.iter().for_each(|(_, cell)| row.cell(cell(&together)));
        line
    }

    #[test]
    fn processes_of_a_name_are_added_up_and_leave_their_columns_when_they_go() {
        let followed = ["postgres".parse().unwrap(), "42".parse().unwrap()];
        let groups = Group::all(&followed, &Sample::default());
        let [postgres, one] = groups[..] else { panic!("{groups:?}") };
        let both = vec![process(7, "postgres", Some(3)), process(9, "postgres", None)];
        assert_eq!(cells(postgres, both.clone()), ",2,50,0,0,0,4,3,,");
        assert_eq!(cells(one, both), ",0,,,,,,,,");
        assert_eq!(cells(one, vec![process(42, "x", None)]), ",1,25,0,0,0,2,,,");
        assert_eq!(
            (postgres.title(), one.title()),
            ("process_postgres".into(), "process42".into())
        );
    }

    #[test]
    fn a_name_is_as_long_as_the_kernel_keeps_it() {
        let followed = ["a-very-long-process-name".parse().unwrap()];
        let groups = Group::all(&followed, &Sample::default());
        assert!(groups[0].has(&process(1, "a-very-long-pro", None)));
    }

    #[test]
    fn of_an_unknown_server_every_name_has_its_columns() {
        let processes = vec![process(1, "a", None), process(2, "b", None), process(3, "a", None)];
        let groups = Group::all(&[], &Sample { processes, ..Sample::default() });
        assert_eq!(groups.len(), 2);
    }
}
