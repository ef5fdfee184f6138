//! Made-up machines with known work.

mod orphans;

use super::*;
use std::fs;
use std::path::Path;

const MS: u64 = 1_000_000;

/// A made-up machine: what its files say at one moment.
#[derive(Clone, Default)]
struct Machine {
    /// The first line of `/proc/stat` behind its name.
    ticks: &'static str,
    /// Number, parent, name, user and system ticks, those of children that ended.
    processes: Vec<(u32, u32, &'static str, [u64; 4])>,
    /// Those of them that ended, and that nobody has waited for.
    zombies: &'static [u32],
    /// First processes of pid namespaces.
    firsts: &'static [u32],
    /// Run time of the root of the control groups, nanoseconds.
    control_groups_ns: Option<u64>,
    /// Run time booked by the run queue of the only processor, nanoseconds.
    run_queue_ns: Option<u64>,
}

impl Machine {
    fn at_ms(&self, at_ms: u64) -> Ledger {
        let folder = tempfile::tempdir().unwrap();
        self.below(folder.path(), at_ms)
    }

    /// The same for whoever reads files later on.
    fn below(&self, at: &Path, at_ms: u64) -> Ledger {
        write(at, "proc/stat", &format!("cpu {}\ncpu0 {}\n", self.ticks, self.ticks));
        for (pid, parent, name, [user, system, children_user, children_system]) in &self.processes {
            let state = if self.zombies.contains(pid) { "Z" } else { "S" };
            let text = format!(
                "{pid} ({name}) {state} {parent} 0 0 0 0 0 0 0 0 0 {user} {system} {children_user} \
                 {children_system} 20 0 1 0 7 0 9\n"
            );
            write(at, &format!("proc/{pid}/stat"), &text);
            let inner = if self.firsts.contains(pid) { "\t1" } else { "" };
            write(at, &format!("proc/{pid}/status"), &format!("NSpid:\t{pid}{inner}\nx: 1\n"));
        }
        if let Some(ns) = self.control_groups_ns {
            write(at, "sys/fs/cgroup/cpuacct/release_agent", "\n");
            write(at, "sys/fs/cgroup/cpuacct/cpuacct.usage", &format!("{ns}\n"));
        }
        if let Some(ns) = self.run_queue_ns {
            write(at, "proc/schedstat", &format!("version 17\ncpu0 0 0 0 0 0 0 {ns} 0 0\n"));
        }
        let ledger = Ledger::take(&Root::below(at)).unwrap();
        Ledger { at_ns: at_ms * MS, ..ledger }
    }
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Nanoseconds of so many ticks on this machine.
fn ticks_ns(ticks: u64) -> u64 {
    ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
}

const KTHREADD: (u32, u32, &str, [u64; 4]) = (2, 0, "kthreadd", [0; 4]);
const INIT: (u32, u32, &str, [u64; 4]) = (1, 0, "init", [0; 4]);

#[test]
fn by_ticks_foreign_is_what_is_left() {
    let before = Machine {
        ticks: "0 0 0 0 0 0 0 0",
        processes: vec![INIT, (10, 1, "x", [5, 5, 0, 0]), (20, 1, "x", [100, 0, 0, 0])],
        ..Machine::default()
    };
    let after = Machine {
        ticks: "500 20 280 1000 0 0 200 0",
        processes: vec![
            INIT,
            (10, 1, "x", [105, 105, 0, 0]),
            (20, 1, "x", [200, 50, 50, 0]),
            (21, 20, "x", [80, 20, 0, 0]),
            (30, 1, "stranger", [9, 9, 0, 0]),
        ],
        ..Machine::default()
    };
    let (before, after) = (before.at_ms(0), after.at_ms(20_000));
    let load = before.foreign_until(&after, &[10, 20]);
    assert_eq!(load.source, Some(ForeignSource::Ticks));
    assert_eq!((load.known_ns, load.foreign_ns), (ticks_ns(500), Some(ticks_ns(300))));
    assert_eq!((load.interrupt_ticks, load.all_ns), (200, 20_000 * MS));
    let side = Side::Trees { heads: &[20], but: 10 };
    let per_operation = before.cpu_per_operation(&after, side, 1000).unwrap();
    let (user_ns, system_ns) = (ticks_ns(230) / 1000, ticks_ns(70) / 1000);
    assert_eq!(per_operation, CpuPerOperation { user_ns, system_ns, ticks: 300 });
    assert_eq!(before.cpu_ns_per_operation(&after, side, 1000), Some(ticks_ns(300) / 1000));
    assert_eq!(before.interrupt_ns_per_operation(&load, 1000), Some(ticks_ns(200) / 1000));
}

#[test]
fn ticks_that_do_not_add_up_are_no_negative_load() {
    let machine = |ticks, used| Machine {
        ticks,
        processes: vec![(10, 1, "x", [used, 0, 0, 0])],
        ..Machine::default()
    };
    let before = machine("0 0 0 0", 0).at_ms(0);
    let after = machine("100 0 0 200", 120).at_ms(3_000);
    assert_eq!(before.foreign_until(&after, &[10]).foreign_ns, Some(0));
}

#[test]
fn a_container_without_run_queues_and_with_few_ticks_tells_nothing() {
    let machine = |ticks, used| Machine {
        ticks,
        processes: vec![INIT, (10, 1, "x", [0; 4]), (20, 1, "y", [used, 0, 0, 0])],
        ..Machine::default()
    };
    let (before, after) = (machine("0 0 0 0", 0).at_ms(0), machine("100 0 0 99", 199).at_ms(1_990));
    let load = before.foreign_until(&after, &[10]);
    assert_eq!((load.foreign_ns, load.source, load.share_pct()), (None, None, None));
    let side = Side::Trees { heads: &[20], but: 10 };
    let few = before.cpu_per_operation(&after, side, 5).unwrap_err();
    assert_eq!(few, NotMeasured::TooFewTicks(199));
    let none = before.cpu_per_operation(&after, side, 0).unwrap_err();
    assert_eq!(none, NotMeasured::NoOperations);
    assert_eq!(before.cpu_ns_per_operation(&after, side, 0), None);
}

#[test]
fn a_short_window_is_judged_by_the_clocks_of_the_other_processes() {
    let machine = |hog, softirq, ours| Machine {
        ticks: "0 0 0 0",
        processes: vec![
            INIT,
            KTHREADD,
            (3, 2, "ksoftirqd/0", [0, softirq, 0, 0]),
            (10, 1, "plumb", [ours, 0, 0, 0]),
            (30, 1, "hog", [hog, 0, 0, 0]),
            (31, 1, "idler", [7, 0, 0, 0]),
        ],
        ..Machine::default()
    };
    let (before, after) = (machine(50, 0, 3).at_ms(0), machine(53, 8, 20).at_ms(300));
    let load = before.foreign_until(&after, &[10]);
    assert_eq!(load.source, Some(ForeignSource::Processes));
    assert_eq!(load.foreign_ns, Some(ticks_ns(3)));
    let named: Vec<_> = load.busiest(3).map(|(work, _)| (work.pid, work.name.as_str())).collect();
    assert_eq!(named, [(30, "hog")], "whoever did nothing is no culprit");
    let short = machine(53, 8, 20).at_ms(19);
    assert_eq!(before.foreign_until(&short, &[10]).foreign_ns, None, "shorter than two ticks");
}

#[test]
fn what_ended_is_told_by_whoever_waited_for_it() {
    let before = Machine {
        ticks: "0 0 0 0",
        processes: vec![
            INIT,
            KTHREADD,
            (40, 1, "make", [1, 0, 10, 0]),
            (41, 40, "cc", [70, 5, 0, 0]), // will end, with 100 ticks altogether
            (50, 1, "shell", [0, 0, 0, 0]),
            (51, 50, "daemon", [600, 0, 0, 0]), // ends with its parent; init waits for both
        ],
        ..Machine::default()
    };
    let after = Machine {
        ticks: "0 0 0 0",
        processes: vec![
            (1, 0, "init", [0, 0, 602, 0]),
            KTHREADD,
            (40, 1, "make", [2, 0, 110 + 30, 0]), // and another that came and went in 30 ticks
        ],
        ..Machine::default()
    };
    let load = before.at_ms(0).foreign_until(&after.at_ms(1_000), &[]);
    assert_eq!(load.source, Some(ForeignSource::Processes));
    let ticks: Vec<_> = load.processes.iter().map(|work| (work.pid, work.ns)).collect();
    assert_eq!(ticks, [(40, ticks_ns(1 + 25 + 30)), (1, ticks_ns(2))]);
}

#[test]
fn a_number_that_was_given_anew_is_another_process() {
    let machine = |begun: u64, used: u64| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "proc/stat", "cpu 0 0 0 0\ncpu0 0 0 0 0\n");
        write(
            folder.path(),
            "proc/2/stat",
            "2 (kthreadd) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 9\n",
        );
        let text = format!("60 (x) S 1 0 0 0 0 0 0 0 0 0 {used} 0 0 0 20 0 1 0 {begun} 0 9\n");
        write(folder.path(), "proc/60/stat", &text);
        Ledger::take(&Root::below(folder.path())).unwrap()
    };
    let after = Ledger { at_ns: 1_000 * MS, ..machine(9, 40) };
    let before = Ledger { at_ns: 0, ..machine(7, 30) };
    assert_eq!(before.foreign_until(&after, &[]).foreign_ns, Some(ticks_ns(40)));
}

#[test]
fn control_groups_see_what_no_process_tells_any_more() {
    let machine = |total_ms: u64, ours| Machine {
        ticks: "0 0 0 0",
        processes: vec![KTHREADD, (10, 1, "plumb", [ours, 0, 0, 0])],
        control_groups_ns: Some(total_ms * MS),
        run_queue_ns: Some(0),
        ..Machine::default()
    };
    let (before, after) = (machine(1_000, 0).at_ms(0), machine(1_270, 12).at_ms(300));
    let load = before.foreign_until(&after, &[10]);
    assert_eq!(load.source, Some(ForeignSource::ControlGroups));
    assert_eq!(load.foreign_ns, Some(270 * MS - ticks_ns(12)));
    assert!(load.processes.is_empty());
}

#[test]
fn run_queues_tell_in_a_container_when_the_window_is_long() {
    let machine = |queue_ms: u64, ours| Machine {
        ticks: "0 0 0 0",
        processes: vec![INIT, (10, 1, "plumb", [ours, 0, 0, 0])],
        run_queue_ns: Some(queue_ms * MS),
        ..Machine::default()
    };
    let before = machine(0, 0).at_ms(0);
    let load = before.foreign_until(&machine(900, 20).at_ms(1_000), &[10]);
    assert_eq!(load.source, Some(ForeignSource::RunQueues));
    assert_eq!(load.foreign_ns, Some(900 * MS - ticks_ns(20)));
    let short = before.foreign_until(&machine(900, 20).at_ms(999), &[10]);
    assert_eq!(short.foreign_ns, None);
}

/// The client is our process alone, the server everybody under test but us.
#[test]
fn both_sides_keep_their_own_time_whoever_began_whom() {
    const OURS: u32 = 10;
    let cpu = |parents: [u32; 3], tested: &[u32]| {
        let machine = |client: u64, server: u64| Machine {
            ticks: "0 0 0 0",
            processes: vec![
                INIT,
                KTHREADD,
                (OURS, 1, "plumb", [client, client / 4, 0, 0]),
                (20, parents[0], "shell", [0; 4]),
                (21, parents[1], "server", [server, server / 2, 0, 0]),
                (22, parents[2], "worker", [server, 0, 0, 0]),
            ],
            ..Machine::default()
        };
        let (before, after) = (machine(0, 0).at_ms(0), machine(400, 800).at_ms(9_000));
        let of = |side| before.cpu_per_operation(&after, side, 1).map(|it| it.ticks);
        let clock = |side| before.cpu_ns_per_operation(&after, side, 1);
        let client = Side::Process(OURS);
        let server = Side::Trees { heads: tested, but: OURS };
        assert_eq!(clock(client), of(client).ok().map(ticks_ns), "a total is its parts");
        assert_eq!(clock(server), of(server).ok().map(ticks_ns), "a total is its parts");
        let foreign = before.foreign_until(&after, &[&[OURS], tested].concat()).foreign_ns;
        (of(client), of(server), foreign)
    };
    let both = (Ok(500), Ok(2_000), Some(0));
    assert_eq!(cpu([OURS, OURS, 21], &[21]), both, "a child of ours, with a worker");
    assert_eq!(cpu([OURS, 20, 21], &[21]), both, "a grandchild");
    assert_eq!(cpu([1, 1, 21], &[21]), both, "somebody else");
    assert_eq!(cpu([1, 1, 1], &[21, 22]), both, "several of somebody else");
    assert_eq!(cpu([1, 1, 21], &[1]), both, "below somebody whom we descend from as well");
    let (client, server, _) = cpu([OURS, OURS, 21], &[OURS]);
    assert_eq!((client, server), (Ok(500), Ok(2_000)), "our children when we are under test");
    let (client, server, _) = cpu([1, 1, 1], &[OURS]);
    assert_eq!((client, server), (Ok(500), Err(NotMeasured::TooFewTicks(0))), "a thread of ours");
}

/// A process that spins until it is told to end, and is told however the test ends.
struct Hog(std::process::Child);

impl Hog {
    fn spin() -> Self {
        let mut command = std::process::Command::new("sh");
        // bounded, should nobody tell it
        command.args(["-c", "i=0; while [ $i -lt 50000000 ]; do i=$((i+1)); done"]);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_hog_of_this_machine_is_seen_with_as_much_as_its_own_clock_says() {
    let root = Root::of_this_machine();
    let hog = Hog::spin();
    let pid = hog.0.id();
    let used = |ledger: &Ledger| ledger.processes.own_ns_of(pid);
    let before = Ledger::take(&root).unwrap();
    // until it has used a quarter of a second, however busy the machine is, and the machine tells
    let (after, load) = loop {
        let after = Ledger::take(&root).unwrap();
        let ran_ns = used(&after).checked_sub(used(&before)).expect("it is still there");
        let load = before.foreign_until(&after, &[]);
        if ran_ns >= 250 * MS && load.foreign_ns.is_some() {
            break (after, load);
        }
    };
    let named = load.processes.iter().find(|work| work.pid == pid).expect("it ran");
    assert_eq!(named.ns, used(&after) - used(&before));
    let known = before.foreign_until(&after, &[pid]);
    if matches!(load.source, Some(ForeignSource::ControlGroups | ForeignSource::Processes)) {
        let (told, without) = (load.foreign_ns.unwrap(), known.foreign_ns.unwrap());
        // a tick of 10 ms at each end, on each of a few processors that others use meanwhile
        assert!(told + 40 * MS >= named.ns, "{told} of {}", named.ns);
        assert!(without + named.ns <= told + 40 * MS, "{without} of {told} without {}", named.ns);
    }
    assert!(known.processes.iter().all(|work| work.pid != pid), "what is known is not foreign");
}
