//! Everything this machine is watched by: one reading after the other, over open descriptors.

use std::collections::BTreeMap;

use plumb_engine::clock;
use plumb_measure::{Clock, LinkSpeed};
use plumb_procfs::kernel::Counters;
use plumb_procfs::process::{Chosen, Everyone, Wanted};
use plumb_procfs::rdma::Rdma;
use plumb_procfs::{Buffer, Devices, Label, Root, Shape, Source, State};
use serde::Serialize;

use crate::sample::Sample;
use crate::smc::Smc;
use crate::snapshot::{Part, Snapshot};
use crate::subject::Subject;

/// Subjects that one file of the kernel tells, in the order in which they are read: the time of
/// the processors first, because everything else is compared with it. A record of `diskstats` is a
/// disk with all its partitions, the last one of `interrupts` has all lines of the architecture.
const FILES: [(Subject, &str, Shape); 15] = [
    (Subject::Cpu, "stat", Shape::Whole),
    (Subject::Load, "loadavg", Shape::Whole),
    (Subject::Memory, "meminfo", Shape::Whole),
    (Subject::Paging, "vmstat", Shape::FixedRecords),
    (Subject::Disks, "diskstats", Shape::UnevenRecords),
    (Subject::Network, "net/dev", Shape::Records),
    (Subject::Tcp, "net/snmp", Shape::Whole),
    (Subject::TcpExtra, "net/netstat", Shape::Whole),
    (Subject::Softirqs, "softirqs", Shape::Whole),
    (Subject::Softnet, "net/softnet_stat", Shape::Records),
    (Subject::Interrupts, "interrupts", Shape::UnevenRecords),
    (Subject::Files, "sys/fs/file-nr", Shape::Line),
    (Subject::PressureCpu, "pressure/cpu", Shape::Whole),
    (Subject::PressureMemory, "pressure/memory", Shape::Whole),
    (Subject::PressureIo, "pressure/io", Shape::Whole),
];

/// What moves slowly or costs the kernel most is read no more often than this: the kernel counts
/// loads every five seconds, and the lines of interrupts and the hundreds of counters of `vmstat`,
/// `snmp` and `netstat` cost more than all other files together. A little less than a second: samples
/// of a finer pace come a little early or late.
const SLOW_NS: u64 = 900_000_000;

/// What is to be watched.
#[derive(Clone, Debug, Default)]
pub struct MonitorPlan {
    /// Where /proc and /sys are.
    pub root: Root,
    /// Subjects nobody wants.
    pub without: Vec<Subject>,
    /// Processes to follow.
    pub processes: Vec<Wanted>,
    /// Speeds of links that are known better than their drivers tell.
    pub links: Vec<LinkSpeed>,
    /// Time between two looks at all processes, nanoseconds; `None`: never.
    pub top_every_ns: Option<u64>,
    /// Time between two samples as it is meant to be, nanoseconds; `None`: they come at no pace.
    /// From a second on every sample has everything, also one that comes early after a late one.
    pub every_ns: Option<u64>,
}

impl MonitorPlan {
    fn speeds(&self) -> BTreeMap<Label, u64> {
        let speed = |link: &LinkSpeed| (Label::new(link.interface().as_bytes()), link.mbit());
        self.links.iter().map(speed).collect()
    }
}

/// What one sampler costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// What it watches.
    pub subject: Subject,
    /// Processor time of one reading, nanoseconds.
    pub cpu_ns: u64,
}

/// Watches one machine. Taking a sample opens nothing and allocates nothing once the first two are
/// taken and as long as the machine has the same devices.
pub struct Monitor {
    clock: Box<dyn Clock + Send>,
    buffer: Buffer,
    files: [Source; FILES.len()],
    devices: Devices,
    rdma: Rdma,
    smc: Smc,
    chosen: Chosen,
    everyone: Option<Everyone>,
    without: Vec<Subject>,
    /// What moves slowly is read when its last reading is older than this.
    slow_ns: u64,
    before: Snapshot,
    now: Snapshot,
    taken: u64,
    sample: Sample,
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitor").field("taken", &self.taken).finish_non_exhaustive()
    }
}

impl Monitor {
    /// A monitor by `clock`, which has not read anything yet.
    #[must_use]
    pub fn new(plan: &MonitorPlan, clock: Box<dyn Clock + Send>) -> Self {
        let root = &plan.root;
        let has = |subject: Subject| !plan.without.contains(&subject);
        let files = FILES.map(|(subject, path, shape)| {
            let mut source = Source::new(root.proc(path), shape);
            if !has(subject) {
                source.disable();
            }
            source
        });
        let everyone = plan.top_every_ns.filter(|_| has(Subject::Top));
        Self {
            clock,
            buffer: Buffer::new(),
            files,
            devices: Devices::new(root.clone(), plan.speeds()),
            rdma: if has(Subject::Rdma) { Rdma::new(root) } else { Rdma::disabled() },
            smc: if has(Subject::Smc) { Smc::new(root) } else { Smc::disabled() },
            chosen: Chosen::new(root.clone(), plan.processes.clone()),
            everyone: everyone.map(|every_ns| Everyone::new(root.clone(), every_ns)),
            without: plan.without.clone(),
            slow_ns: if plan.every_ns.is_some_and(|ns| ns >= SLOW_NS) { 0 } else { SLOW_NS },
            before: Snapshot::default(),
            now: Snapshot::default(),
            taken: 0,
            sample: Sample::default(),
        }
    }

    /// Reads what is due, and says what happened since the last reading; `None` the first time,
    /// when there is nothing to compare with.
    pub fn sample(&mut self) -> Option<&Sample> {
        self.sample_what_is_older_than(self.slow_ns)
    }

    /// The same, also with what need not be read again so soon: the last sample of a recording
    /// loses nothing.
    pub fn sample_everything(&mut self) -> Option<&Sample> {
        self.sample_what_is_older_than(0)
    }

    fn sample_what_is_older_than(&mut self, slow_ns: u64) -> Option<&Sample> {
        self.take(slow_ns);
        if self.taken < 2 {
            return None;
        }
        self.sample.fill(&self.before, &self.now);
        Some(&self.sample)
    }

    /// The counters of the last reading.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.now
    }

    /// What has become of each sampler.
    #[must_use]
    pub fn states(&self) -> Vec<(Subject, State)> {
        let files = FILES.iter().zip(&self.files);
        let mut states: Vec<(Subject, State)> =
            files.map(|((subject, ..), source)| (*subject, source.state().clone())).collect();
        states.push((Subject::Rdma, self.rdma.state().clone()));
        states.push((Subject::Smc, self.smc.state().clone()));
        let active = |yes: bool| if yes { State::Active } else { State::Disabled };
        let followed = self.chosen.wants_any() && !self.without.contains(&Subject::Processes);
        states.push((Subject::Processes, active(followed)));
        states.push((Subject::Top, active(self.everyone.is_some())));
        states
    }

    /// What each sampler costs, as the mean of `rounds` readings. Reads everything that often; the
    /// next sample reaches back to the last round.
    pub fn costs(&mut self, rounds: u32) -> Vec<Cost> {
        let rounds = rounds.max(1);
        let subjects: Vec<Subject> = self
            .states()
            .into_iter()
            .filter(|(_, state)| state.is_active())
            .map(|(s, _)| s)
            .collect();
        let mut costs = Vec::new();
        for subject in subjects {
            self.read(subject); // opens what is not open yet
            let start_ns = clock::thread_cpu_ns();
            (0..rounds).for_each(|_| self.read(subject));
            let used_ns = clock::thread_cpu_ns() - start_ns;
            costs.push(Cost { subject, cpu_ns: used_ns / u64::from(rounds) });
        }
        costs
    }

    fn take(&mut self, slow_ns: u64) {
        std::mem::swap(&mut self.before, &mut self.now);
        self.taken += 1;
        self.now.wall_ns = clock::wall_ns();
        self.now.at_ns = self.clock.now_ns();
        self.now.ticks_per_s = rustix::param::clock_ticks_per_second();
        self.now.page_bytes = rustix::param::page_size() as u64;
        for (subject, ..) in FILES {
            if !self.keeps(subject, slow_ns) {
                self.read(subject);
            }
        }
        for subject in [Subject::Rdma, Subject::Smc, Subject::Processes] {
            self.read(subject);
        }
        match &self.everyone {
            Some(everyone) if everyone.is_due(self.now.at_ns) => self.read(Subject::Top),
            _ => std::mem::swap(&mut self.before.everyone, &mut self.now.everyone),
        }
        self.now.thread_cpu_ns = clock::thread_cpu_ns();
        self.now.end_ns = self.clock.now_ns();
    }

    /// True when `subject` moves slowly, was read less than `slow_ns` ago, and need not be read
    /// again: then what was read stays the one to compare the next reading with.
    fn keeps(&mut self, subject: Subject, slow_ns: u64) -> bool {
        if self.taken <= 2 {
            return false; // the first sample that is shown has everything
        }
        let (before, now) = (&mut self.before, &mut self.now);
        let since_ns = now.at_ns.saturating_sub(slow_ns);
        match subject {
            Subject::Load => kept(since_ns, &mut before.loadavg, &mut now.loadavg),
            Subject::Memory => kept(since_ns, &mut before.meminfo, &mut now.meminfo),
            Subject::Paging => kept(since_ns, &mut before.vmstat, &mut now.vmstat),
            Subject::Tcp => kept(since_ns, &mut before.snmp, &mut now.snmp),
            Subject::TcpExtra => kept(since_ns, &mut before.netstat, &mut now.netstat),
            Subject::Interrupts => kept(since_ns, &mut before.interrupts, &mut now.interrupts),
            Subject::Files => kept(since_ns, &mut before.file_nr, &mut now.file_nr),
            _ => false,
        }
    }

    fn read(&mut self, subject: Subject) {
        match subject {
            Subject::Cpu => self.read_file(subject, |now| &mut now.stat),
            Subject::Load => self.read_file(subject, |now| &mut now.loadavg),
            Subject::Memory => self.read_file(subject, |now| &mut now.meminfo),
            Subject::Paging => self.read_file(subject, |now| &mut now.vmstat),
            Subject::Disks => {
                self.read_file(subject, |now| &mut now.diskstats);
                self.devices.tell_disks(&mut self.now.diskstats.counters);
            }
            Subject::Network => {
                self.read_file(subject, |now| &mut now.net_dev);
                self.devices.tell_interfaces(&mut self.now.net_dev.counters);
            }
            Subject::Tcp => self.read_file(subject, |now| &mut now.snmp),
            Subject::TcpExtra => self.read_file(subject, |now| &mut now.netstat),
            Subject::Softirqs => self.read_file(subject, |now| &mut now.softirqs),
            Subject::Softnet => self.read_file(subject, |now| &mut now.softnet),
            Subject::Interrupts => self.read_file(subject, |now| &mut now.interrupts),
            Subject::Files => self.read_file(subject, |now| &mut now.file_nr),
            Subject::PressureCpu => self.read_file(subject, |now| &mut now.pressure[0]),
            Subject::PressureMemory => self.read_file(subject, |now| &mut now.pressure[1]),
            Subject::PressureIo => self.read_file(subject, |now| &mut now.pressure[2]),
            Subject::Rdma => {
                let at_ns = self.clock.now_ns();
                let read = self.rdma.read(&mut self.buffer, &mut self.now.rdma.counters);
                self.now.rdma.at_ns = read.then_some(at_ns);
            }
            Subject::Smc => {
                let at_ns = self.clock.now_ns();
                let read = self.smc.read(&mut self.now.smc.counters);
                self.now.smc.at_ns = read.then_some(at_ns);
            }
            Subject::Processes => {
                let wanted = self.chosen.wants_any() && !self.without.contains(&subject);
                let at_ns = self.clock.now_ns();
                if wanted {
                    self.chosen.read(at_ns, &mut self.now.chosen.counters);
                }
                self.now.chosen.at_ns = wanted.then_some(at_ns);
            }
            Subject::Top => {
                let at_ns = self.clock.now_ns();
                if let Some(everyone) = &mut self.everyone {
                    everyone.read(at_ns, &mut self.now.everyone.counters);
                    self.now.everyone.at_ns = Some(at_ns);
                }
            }
        }
    }

    /// Reads the file that tells `subject`.
    fn read_file<T: Counters>(
        &mut self,
        subject: Subject,
        part: impl FnOnce(&mut Snapshot) -> &mut Part<T>,
    ) {
        let Some(place) = FILES.iter().position(|(of, ..)| *of == subject) else { return };
        let source = &mut self.files[place];
        let part = part(&mut self.now);
        part.at_ns = None;
        let at_ns = self.clock.now_ns();
        let Some(text) = source.read(&mut self.buffer) else { return };
        match part.counters.parse(text) {
            Ok(()) => part.at_ns = Some(at_ns),
            Err(lacking) => {
                let path = source.path();
                source.fail(format!("{path} is of an unknown form: {lacking}"));
            }
        }
    }
}

/// Hands a part that was read after `since_ns` on from one snapshot to the next; false when it was
/// not.
fn kept<T>(since_ns: u64, before: &mut Part<T>, now: &mut Part<T>) -> bool {
    let recent = before.at_ns.is_some_and(|at_ns| at_ns > since_ns);
    if recent {
        std::mem::swap(before, now);
    }
    recent
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Clone, Default)]
    struct Held(Arc<AtomicU64>);

    impl Clock for Held {
        fn now_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_moves_slowly_is_read_once_a_second_and_at_the_end() {
        const STEP_NS: u64 = 100_000_000;
        let clock = Held::default();
        let mut monitor = Monitor::new(&MonitorPlan::default(), Box::new(clock.clone()));
        let after_ns = |ns: u64, monitor: &mut Monitor| {
            clock.0.fetch_add(ns, Ordering::Relaxed);
            monitor.sample().map(|sample| {
                (sample.memory.is_some(), sample.paging.is_some(), sample.cpu.is_some())
            })
        };
        assert_eq!(after_ns(STEP_NS, &mut monitor), None, "there is nothing to compare with");
        let mut with_memory = Vec::new();
        for sample in 1..=20 {
            let Some((memory, paging, _)) = after_ns(STEP_NS, &mut monitor) else { continue };
            assert_eq!(memory, paging);
            with_memory.extend(memory.then_some(sample));
        }
        assert_eq!(with_memory, [1, 10, 19]);
        clock.0.fetch_add(STEP_NS, Ordering::Relaxed);
        let last = monitor.sample_everything().unwrap();
        assert!(last.memory.is_some() && last.paging.is_some() && last.load.is_some());
    }

    #[test]
    fn a_sample_that_comes_early_after_a_late_one_has_everything() {
        const MS: u64 = 1_000_000;
        let clock = Held::default();
        let plan = MonitorPlan { every_ns: Some(1_000 * MS), ..MonitorPlan::default() };
        let mut monitor = Monitor::new(&plan, Box::new(clock.clone()));
        monitor.sample();
        for ms in [1_000, 1_000, 1_400, 600, 1_000, 1_899, 101] {
            clock.0.fetch_add(ms * MS, Ordering::Relaxed);
            let sample = monitor.sample().unwrap();
            assert_eq!(sample.interval_ns, ms * MS);
            assert!(sample.memory.is_some() && sample.paging.is_some(), "after {ms} ms");
            assert!(sample.load.is_some() && sample.files.is_some() && sample.tcp.is_some());
        }
    }
}
