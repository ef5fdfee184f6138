//! A recording for tests of what is written.

use jiff::ToSpan as _;
use jiff::civil::DateTime;
use plumb_nmon::{
    CpuShares, Disk, Host, Interface, Memory, MountPoint, Processes, Snapshot, Table, TopProcess,
    Writer,
};

/// A host that is recorded every `interval_s` seconds.
pub(crate) fn host(interval_s: u32) -> Host {
    Host {
        name: "box01".to_owned(),
        system: ["Linux", "6.1.0", "#1 SMP", "x86_64"].map(str::to_owned).to_vec(),
        command: "plumb host record, for a test".to_owned(),
        version: "0.1.0".to_owned(),
        started: START,
        interval_s,
        snapshots: None,
        cpus: 2,
        notes: vec![("/etc/release".to_owned(), vec!["PRETTY_NAME=\"Debian\"".to_owned()])],
    }
}

const START: DateTime = DateTime::constant(2026, 12, 31, 23, 59, 50, 0);

/// The snapshot of this number, from 0.
pub(crate) fn snapshot(number: u32) -> Snapshot {
    let shares = |user: f64| CpuShares {
        user: Some(user),
        system: Some(10.0),
        wait: Some(0.0),
        idle: Some(90.0 - user),
        steal: Some(0.0),
    };
    let interface = |name: &str| Interface {
        name: name.to_owned(),
        read_kb_per_s: Some(10.0 * f64::from(number + 1)),
        write_kb_per_s: Some(5.0),
        read_packets_per_s: Some(100.0),
        write_packets_per_s: Some(50.0),
    };
    let count = |name: &str, count: f64| (name.to_owned(), Some(count));
    Snapshot {
        time: START.checked_add((i64::from(number) * 10).seconds()).unwrap(),
        cpu: shares(30.25),
        cpus: vec![(0, shares(30.5)), (1, shares(30.0))],
        cpus_online: 2,
        memory: Memory {
            total: Some(24_105.6),
            free: Some(20_511.94),
            cached: Some(2748.1),
            buffers: Some(88.7),
            ..Memory::default()
        },
        paging: vec![count("pgpgin", 100.0), count("pswpin", 30.0), count("pswpout", 0.0)],
        processes: Processes {
            runnable: Some(3.0),
            blocked: Some(0.0),
            switches_per_s: Some(1735.5),
            forks_per_s: Some(15.0),
        },
        interfaces: vec![interface("lo"), interface("eth0")],
        disks: vec![Disk {
            name: "vda".to_owned(),
            busy_percent: Some(3.0),
            read_kb_per_s: Some(4.0),
            write_kb_per_s: Some(5.0),
            transfers_per_s: Some(6.0),
            block_kb: Some(7.5),
        }],
        mount_points: vec![MountPoint { path: "/".to_owned(), used_percent: Some(5.25) }],
        top: vec![TopProcess {
            pid: 123,
            command: "disp+work,1".to_owned(),
            cpu_percent: Some(1.99),
            resident_kb: Some(18_236.0),
            threads: Some(13.0),
            ..TopProcess::default()
        }],
        tables: vec![
            Table {
                section: "IBREAD".to_owned(),
                title: "InfiniBand Read KB/s".to_owned(),
                columns: vec!["mlx5_0-1".to_owned()],
                figures: vec![Some(123.0)],
            },
            Table {
                section: "SMCR".to_owned(),
                title: "SMC-R Traffic".to_owned(),
                columns: ["tx-KB/s", "rx-KB/s", "fallbacks"].map(str::to_owned).to_vec(),
                figures: vec![Some(1.0), None, Some(0.0)],
            },
        ],
    }
}

/// A file of so many snapshots.
pub(crate) fn written(snapshots: u32) -> String {
    let mut writer = Writer::new(Vec::new(), host(10)).unwrap();
    for number in 0..snapshots {
        writer.snapshot(&snapshot(number)).unwrap();
    }
    String::from_utf8(writer.finish(&[]).unwrap()).unwrap()
}
