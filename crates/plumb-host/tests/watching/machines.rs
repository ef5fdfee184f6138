//! Machines of several kinds, each recorded or made up at two moments one second apart: what is
//! said of the time between.

use crate::kit::{Held, Machine, check};
use plumb_host::facts::HostFacts;
use plumb_host::{Monitor, MonitorPlan, Sample, Subject, Usage};
use plumb_procfs::{Root, State};

const SECOND: u64 = 1_000_000_000;

fn golden(name: &'static str) {
    let sample = Machine::new(name).second(SECOND);
    let text = serde_json::to_string_pretty(&sample).expect("a sample is plain values") + "\n";
    check(&format!("sample-{name}.json"), &text);
}

#[test]
fn a_virtual_machine_of_two_processors() {
    golden("two");
}

#[test]
fn a_machine_of_96_processors_with_rdma() {
    golden("large");
}

#[test]
fn an_old_kernel() {
    golden("old");
}

#[test]
fn what_is_written_as_json_is_read_back() {
    for name in ["two", "large", "old"] {
        let sample = Machine::new(name).second(SECOND);
        let text = serde_json::to_string(&sample).expect("a sample is plain values");
        assert_eq!(serde_json::from_str::<Sample>(&text).expect("it was just written"), sample);
        let facts = HostFacts::read(&Machine::new(name).root());
        let text = serde_json::to_string(&facts).expect("facts are plain values");
        assert_eq!(serde_json::from_str::<HostFacts>(&text).expect("it was just written"), facts);
    }
}

#[test]
fn processors_that_were_switched_off_are_left_out() {
    let sample = Machine::new("large").second(SECOND);
    assert_eq!(sample.cpus.len(), 88);
    assert!(sample.cpus.iter().all(|cpu| !(40..48).contains(&cpu.number)));
    assert!(sample.interrupts.is_empty(), "their columns stand for other processors now");
    assert_eq!(sample.cpu.map(|cpu| cpu.online), Some(88));
}

#[test]
fn one_processor_receives_for_all() {
    let sample = Machine::new("large").second(SECOND);
    let spread = Usage::of([&sample]).receive().expect("something was received");
    assert_eq!(spread.to_string(), "receive work is handled by 1.0 of 96 CPUs");
    assert_eq!(spread.hottest_cpu, 3);
    let findings: Vec<String> = spread.findings(Some(8)).iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 3, "{findings:#?}");
    assert!(spread.findings(Some(1)).len() < 3, "with one queue nothing can be shared");
}

#[test]
fn counters_that_wrapped_went_on_and_those_that_fell_began_again() {
    let sample = Machine::new("large").second(SECOND);
    let three = sample.receive.iter().find(|each| each.cpu == 3).expect("it is switched on");
    assert_eq!((three.net_rx, three.packets), (600_000, Some(1_900_000)));
    let disks: Vec<&str> = sample.disks.iter().map(|disk| disk.name.as_str()).collect();
    assert!(!disks.contains(&"sda"), "another disk has taken the name: {disks:?}");
    assert!(sample.disks.iter().all(|disk| disk.busy_pct <= 100.0));
}

#[test]
fn rdma_is_added_to_hardware_and_bonds_are_not() {
    let sample = Machine::new("large").second(SECOND);
    let traffic = sample.traffic();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1.0, "{a} is not {b}");
    close(traffic.received_bytes_per_s, 2.9e9 + 0.8e9);
    close(traffic.rdma_bytes_per_s, 1.2e9);
    let port = sample.rdma[0];
    assert_eq!((port.name.as_str(), port.interface.as_str()), ("mlx5_0/1", "ens1f0"));
    let slave = sample.interfaces.iter().find(|each| each.name.as_str() == "ens1f0");
    close(slave.and_then(|each| each.used_pct).expect("it tells its speed"), 48.0 + 25.6);
}

#[test]
fn what_an_old_kernel_does_not_have_is_absent_and_said_so() {
    let mut machine = Machine::new("old");
    let sample = machine.second(SECOND);
    assert_eq!(sample.memory.and_then(|memory| memory.available_bytes), None);
    assert_eq!(sample.pressure, None);
    assert!(sample.cpu.is_some_and(|cpu| cpu.share.steal_pct.is_none()));
    let states = machine.monitor.states();
    let of = |subject| states.iter().find(|(each, _)| *each == subject).map(|(_, state)| state);
    assert!(matches!(of(Subject::PressureCpu), Some(State::Unsupported(_))));
    assert!(matches!(of(Subject::Rdma), Some(State::Unsupported(_))));
    assert!(matches!(of(Subject::Smc), Some(State::Unsupported(_))));
    assert_eq!(of(Subject::Cpu), Some(&State::Active));
}

#[test]
fn a_late_sample_carries_its_true_time() {
    let sample = Machine::new("old").second(4 * SECOND);
    assert_eq!(sample.interval_ns, 4 * SECOND);
    let switches = sample.cpu.expect("it can be read").context_switches_per_s;
    assert!((switches - 750.0).abs() < 1e-9, "3000 over 4 s are {switches}");
}

#[test]
fn a_file_that_makes_no_sense_fails_alone() {
    let mut machine = Machine::new("old");
    let stat = machine.path().join("proc/meminfo");
    let sample = {
        std::fs::write(&stat, "nothing of the kind\n").expect("a file");
        machine.monitor.sample_everything().expect("it is the second reading").clone()
    };
    assert_eq!(sample.memory, None);
    let states = machine.monitor.states();
    let memory = states.iter().find(|(subject, _)| *subject == Subject::Memory);
    let Some((_, State::Failed(reason))) = memory else { panic!("{memory:?}") };
    assert!(reason.contains("meminfo") && reason.contains("MemTotal"), "{reason}");
}

#[test]
fn what_a_large_machine_is() {
    let facts = HostFacts::read(&Machine::new("large").root());
    assert_eq!((facts.cpus_online, facts.memory_bytes), (96, 1_056_763_904 << 10));
    assert_eq!(facts.huge_bytes, 40 << 30);
    assert_eq!(facts.receive_queues("ens1f0"), Some(4));
    let bond = facts.interfaces.iter().find(|each| each.name == "bond0").expect("it is there");
    assert_eq!(bond.bond_mode.as_deref(), Some("802.3ad 4"));
    assert_eq!(bond.speed_mbit, Some(50_000));
}

#[test]
fn a_rate_is_over_the_time_since_its_own_last_reading() {
    const MS: u64 = 1_000_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let proc = folder.path().join("proc");
    std::fs::create_dir_all(&proc).expect("a folder");
    let vmstat = |faults: u64| {
        let text = format!("pswpin {faults}\npswpout 0\npgfault {faults}\npgmajfault 0\n");
        std::fs::write(proc.join("vmstat"), text).expect("a file");
    };
    std::fs::write(proc.join("stat"), "cpu 1 1 1 1\ncpu0 1 1 1 1\n").expect("a file");
    let clock = Held::default();
    let plan = MonitorPlan { root: Root::below(folder.path()), ..MonitorPlan::default() };
    let mut monitor = Monitor::new(&plan, Box::new(clock.clone()));
    vmstat(0);
    monitor.sample();
    // a hundred pages a second, looked at every half a second, once late and once early
    let mut rates = Vec::new();
    for ms in [500, 500, 700, 300, 500, 500] {
        let now_ms = clock.advance(ms * MS) / MS;
        vmstat(now_ms / 10);
        let sample = monitor.sample().expect("it is not the first reading");
        rates.push(sample.paging.map(|paging| paging.swapped_per_s));
    }
    let read: Vec<f64> = rates.into_iter().flatten().collect();
    assert!(read.len() >= 3 && read.iter().all(|rate| (rate - 100.0).abs() < 1e-9), "{read:?}");
}
