//! A sample as a line of an nmon file.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_procfs::kernel::DiskKind;

use super::sections;
use super::unit::{kb, mb, whole};
use crate::sample::{CpuShare, ProcessSample, Sample};

/// `sample` as the nmon writer takes it, by the wall clock of `zone`.
pub(crate) fn snapshot(sample: &Sample, zone: &TimeZone) -> plumb_nmon::Snapshot {
    plumb_nmon::Snapshot {
        time: local(sample.wall_ns, zone),
        cpu: sample.cpu.map_or_else(plumb_nmon::CpuShares::default, |cpu| shares(&cpu.share)),
        cpus: sample.cpus.iter().map(|share| (share.number, shares(share))).collect(),
        cpus_online: sample.cpu.map_or(0, |cpu| u32::try_from(cpu.online).unwrap_or(u32::MAX)),
        memory: memory(sample),
        paging: paging(sample),
        processes: plumb_nmon::Processes {
            runnable: sample.cpu.map(|cpu| whole(cpu.running)),
            blocked: sample.cpu.map(|cpu| whole(cpu.blocked)),
            switches_per_s: sample.cpu.map(|cpu| cpu.context_switches_per_s),
            forks_per_s: sample.cpu.map(|cpu| cpu.forks_per_s),
        },
        interfaces: interfaces(sample),
        disks: disks(sample),
        mount_points: Vec::new(),
        top: processes(sample).map(process).collect(),
        tables: sections::of(sample),
    }
}

/// The wall clock of `zone`.
pub(crate) fn local(wall_ns: u64, zone: &TimeZone) -> jiff::civil::DateTime {
    let time = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
    time.to_zoned(zone.clone()).datetime()
}

/// nmon counts nice with user, and interrupts with system.
fn shares(share: &CpuShare) -> plumb_nmon::CpuShares {
    plumb_nmon::CpuShares {
        user: Some(share.user_pct + share.nice_pct),
        system: Some(share.system_pct + share.irq_pct + share.softirq_pct),
        wait: Some(share.iowait_pct),
        idle: Some(share.idle_pct),
        steal: share.steal_pct,
    }
}

fn memory(sample: &Sample) -> plumb_nmon::Memory {
    let Some(memory) = &sample.memory else {
        return plumb_nmon::Memory::default();
    };
    plumb_nmon::Memory {
        total: Some(mb(memory.total_bytes)),
        free: Some(mb(memory.free_bytes)),
        shared: Some(mb(memory.shared_bytes)),
        // nmon's is that of /proc/meminfo, without what the kernel can free of its own
        cached: Some(mb(memory.cached_bytes.saturating_sub(memory.slab_reclaimable_bytes))),
        active: Some(mb(memory.active_bytes)),
        inactive: Some(mb(memory.inactive_bytes)),
        buffers: Some(mb(memory.buffers_bytes)),
        swap_total: Some(mb(memory.swap_total_bytes)),
        swap_free: Some(mb(memory.swap_total_bytes.saturating_sub(memory.swap_used_bytes))),
        swap_cached: Some(mb(memory.swap_cached_bytes)),
    }
}

fn paging(sample: &Sample) -> Vec<(String, Option<f64>)> {
    let paging = sample.paging.as_ref();
    let count = |name: &str, value: Option<u64>| (name.to_owned(), value.map(whole));
    vec![
        count("pswpin", paging.map(|paging| paging.swapped_in)),
        count("pswpout", paging.map(|paging| paging.swapped_out)),
        count("pgmajfault", paging.map(|paging| paging.major_faults)),
        count("allocstall", paging.map(|paging| paging.direct_reclaims)),
        count("workingset_refault_anon", paging.map(|paging| paging.refaults_anonymous)),
        count("workingset_refault_file", paging.map(|paging| paging.refaults_file)),
        count("oom_kill", paging.map(|paging| paging.oom_kills)),
    ]
}

fn interfaces(sample: &Sample) -> Vec<plumb_nmon::Interface> {
    let each = sample.interfaces.iter().map(|interface| plumb_nmon::Interface {
        name: interface.name.to_string(),
        read_kb_per_s: Some(kb(interface.received_bytes_per_s)),
        write_kb_per_s: Some(kb(interface.sent_bytes_per_s)),
        read_packets_per_s: Some(interface.received_packets_per_s),
        write_packets_per_s: Some(interface.sent_packets_per_s),
    });
    each.collect()
}

fn disks(sample: &Sample) -> Vec<plumb_nmon::Disk> {
    let whole_disks = sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole);
    let each = whole_disks.map(|disk| {
        let transfers = disk.reads_per_s + disk.writes_per_s;
        let bytes = disk.read_bytes_per_s + disk.write_bytes_per_s;
        plumb_nmon::Disk {
            name: disk.name.to_string(),
            busy_percent: Some(disk.busy_pct),
            read_kb_per_s: Some(kb(disk.read_bytes_per_s)),
            write_kb_per_s: Some(kb(disk.write_bytes_per_s)),
            transfers_per_s: Some(transfers),
            block_kb: (transfers > 0.0).then(|| kb(bytes) / transfers),
        }
    });
    each.collect()
}

/// The processes that were asked for, and of those that use most the others.
fn processes(sample: &Sample) -> impl Iterator<Item = &ProcessSample> {
    let asked_for = &sample.processes;
    let is_asked_for = |process: &ProcessSample| asked_for.iter().any(|it| it.pid == process.pid);
    asked_for.iter().chain(sample.top.iter().filter(move |process| !is_asked_for(process)))
}

fn process(process: &ProcessSample) -> plumb_nmon::TopProcess {
    plumb_nmon::TopProcess {
        pid: process.pid,
        command: process.name.to_string(),
        cpu_percent: Some(process.cpu_pct),
        user_percent: Some(process.user_pct),
        system_percent: Some(process.system_pct),
        resident_kb: Some(kb(whole(process.resident_bytes))),
        major_faults: Some(whole(process.major_faults)),
        threads: Some(whole(process.threads)),
        seconds: Some(whole(process.interval_ns) / 1e9),
        ..plumb_nmon::TopProcess::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_procfs::Label;

    #[test]
    fn interrupts_are_the_systems_and_times_are_local() {
        let share = CpuShare {
            user_pct: 10.0,
            nice_pct: 2.0,
            system_pct: 3.0,
            softirq_pct: 4.0,
            ..CpuShare::default()
        };
        let sample =
            Sample { wall_ns: 1_300_634_013_250_000_000, cpus: vec![share], ..Sample::default() };
        let snapshot = snapshot(&sample, &TimeZone::fixed(jiff::tz::offset(1)));
        assert_eq!(snapshot.time.to_string(), "2011-03-20T16:13:33.25");
        let (_, cpu) = snapshot.cpus[0];
        assert_eq!((cpu.user, cpu.system, cpu.steal), (Some(12.0), Some(7.0), None));
        assert_eq!(snapshot.memory.total, None);
        assert!(snapshot.tables.is_empty());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let sample = Sample {
            wall_ns: 1_300_634_013_000_000_000,
            cpu: Some(crate::sample::CpuSample {
                online: 2,
                interrupts_per_s: 1_250.0,
                ..Default::default()
            }),
            memory: Some(crate::sample::MemorySample {
                available_bytes: Some(5_004 << 20),
                ..Default::default()
            }),
            load: Some(crate::sample::LoadSample { threads: 897, ..Default::default() }),
            files: Some(crate::sample::FilesSample { open: 520, limit: 1_000 }),
            cpus: vec![
                CpuShare::default(),
                CpuShare { number: 1, user_pct: 25.0, ..CpuShare::default() },
            ],
            disks: vec![crate::sample::DiskSample {
                name: Label::new(b"sda"),
                queue_mean: 0.4,
                ..Default::default()
            }],
            rdma: vec![crate::sample::RdmaSample {
                name: Label::new(b"mlx5_0/1"),
                ..Default::default()
            }],
            receive: vec![crate::sample::ReceiveSample { net_rx: 7, ..Default::default() }],
            smc: Some(crate::sample::SmcSample { fallbacks: 3, ..Default::default() }),
            ..Sample::default()
        };
        let host = plumb_nmon::Host {
            name: "db7".into(),
            system: vec!["Linux".into()],
            command: "plumb host record".into(),
            version: "1".into(),
            started: local(sample.wall_ns, &TimeZone::UTC),
            interval_s: 1,
            snapshots: None,
            cpus: 2,
            notes: Vec::new(),
        };
        let mut writer = plumb_nmon::Writer::new(Vec::new(), host).unwrap();
        for second in 0..3 {
            let wall_ns = sample.wall_ns + second * 1_000_000_000;
            writer
                .snapshot(&snapshot(&Sample { wall_ns, ..sample.clone() }, &TimeZone::UTC))
                .unwrap();
        }
        let bytes = writer.finish(&[]).unwrap();
        let read = plumb_nmon::read(&bytes, &plumb_nmon::Options::default()).unwrap();
        let [recording] = read.recordings.as_slice() else { panic!("one recording") };
        assert_eq!(recording.timeline.stamps().len(), 3);
        let sections: Vec<&str> =
            recording.sections.iter().map(|each| each.name.as_str()).collect();
        for name in [
            "CPU_ALL", "CPU002", "MEM", "DISKBUSY", "NETRX", "AVAIL", "QUEUE", "SYSTEM", "IRQ",
            "IBREAD", "SMC",
        ] {
            assert!(sections.contains(&name), "{name} is not among {sections:?}");
        }
        let rows = recording.summary();
        let average = |counter: &str| {
            let row = rows.iter().find(|row| row.counter == counter);
            row.and_then(|row| row.stat.average()).unwrap_or_else(|| panic!("no {counter}"))
        };
        // the counters by which a host is judged elsewhere, too
        for (counter, expected) in [
            ("Memory available", 5_004.0),
            ("Disk queue length", 0.4),
            ("Threads", 897.0),
            ("Open files", 520.0),
            ("Interrupts", 1_250.0),
        ] {
            let found = average(counter);
            assert!((found - expected).abs() < 1e-9, "{counter}: {found}");
        }
    }

    #[test]
    fn processes_that_were_asked_for_stand_once() {
        let process = |pid| ProcessSample { pid, interval_ns: 5_000_000_000, ..Default::default() };
        let sample = Sample {
            processes: vec![ProcessSample { interval_ns: 1_000_000_000, ..process(7) }],
            top: vec![process(9), process(7)],
            ..Sample::default()
        };
        let top = snapshot(&sample, &TimeZone::UTC).top;
        let seen: Vec<_> = top.iter().map(|process| (process.pid, process.seconds)).collect();
        assert_eq!(seen, [(7, Some(1.0)), (9, Some(5.0))]);
    }
}
