//! Writes an nmon file of any length, or reads one and prints its summary: for measuring.
//!
//! ```text
//! week write FILE SNAPSHOTS
//! week read FILE
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _, stdout};
use std::path::Path;

use jiff::ToSpan as _;
use jiff::civil::DateTime;
use plumb_nmon::{
    CpuShares, Disk, Host, Interface, Memory, MountPoint, Options, Processes, Snapshot, TopProcess,
    Writer,
};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", file, snapshots] => write(Path::new(file), snapshots.parse()?),
        ["read", file] => read(Path::new(file)),
        _ => Err("usage: week write FILE SNAPSHOTS | week read FILE".into()),
    }
}

const CPUS: u32 = 8;

fn write(file: &Path, snapshots: u32) -> Result<(), Box<dyn Error>> {
    let started = DateTime::constant(2026, 10, 22, 0, 0, 0, 0);
    let host = Host {
        name: "week01".to_owned(),
        system: ["Linux", "6.1.0", "#1 SMP", "x86_64"].map(str::to_owned).to_vec(),
        command: "week write".to_owned(),
        version: "1".to_owned(),
        started,
        interval_s: 1,
        snapshots: Some(snapshots.into()),
        cpus: CPUS,
        notes: Vec::new(),
    };
    let mut writer = Writer::new(BufWriter::new(File::create(file)?), host)?;
    let mut noise = Noise(1);
    for second in 0..snapshots {
        let time = started.checked_add(i64::from(second).seconds())?;
        writer.snapshot(&snapshot(time, &mut noise))?;
    }
    writer.finish(&[])?;
    Ok(())
}

fn snapshot(time: DateTime, noise: &mut Noise) -> Snapshot {
    let cpus: Vec<(u32, CpuShares)> = (0..CPUS).map(|cpu| (cpu, noise.shares())).collect();
    Snapshot {
        time,
        cpu: noise.shares(),
        cpus,
        cpus_online: CPUS,
        memory: Memory {
            total: Some(24_105.6),
            free: noise.upto(20_000.0),
            cached: noise.upto(3_000.0),
            buffers: noise.upto(100.0),
            ..Memory::default()
        },
        paging: ["pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault"]
            .map(|name| (name.to_owned(), noise.upto(5_000.0).map(f64::round)))
            .to_vec(),
        processes: Processes {
            runnable: noise.upto(20.0).map(f64::round),
            blocked: Some(0.0),
            switches_per_s: noise.upto(60_000.0),
            forks_per_s: noise.upto(10.0),
        },
        interfaces: ["lo", "eth0", "eth1"]
            .map(|name| Interface {
                name: name.to_owned(),
                read_kb_per_s: noise.upto(120_000.0),
                write_kb_per_s: noise.upto(120_000.0),
                read_packets_per_s: noise.upto(90_000.0),
                write_packets_per_s: noise.upto(90_000.0),
            })
            .to_vec(),
        disks: ["sda", "sdb", "sdc", "sdd"]
            .map(|name| Disk {
                name: name.to_owned(),
                busy_percent: noise.upto(100.0),
                read_kb_per_s: noise.upto(90_000.0),
                write_kb_per_s: noise.upto(90_000.0),
                transfers_per_s: noise.upto(5_000.0),
                block_kb: noise.upto(64.0),
            })
            .to_vec(),
        mount_points: vec![MountPoint { path: "/".to_owned(), used_percent: Some(52.25) }],
        top: vec![TopProcess {
            pid: 123,
            command: "disp+work".to_owned(),
            cpu_percent: noise.upto(100.0),
            resident_kb: noise.upto(90_000.0),
            ..TopProcess::default()
        }],
        tables: Vec::new(),
    }
}

/// A source of figures that need no more than to differ (xorshift).
struct Noise(u64);

impl Noise {
    fn upto(&mut self, most: f64) -> Option<f64> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let share = f64::from(u32::try_from(self.0 >> 32).ok()?) / f64::from(u32::MAX);
        Some(share * most)
    }

    fn shares(&mut self) -> CpuShares {
        let (user, system) = (self.upto(60.0), self.upto(30.0));
        let idle = user.zip(system).map(|(user, system)| 100.0 - user - system);
        CpuShares { user, system, wait: Some(0.0), idle, steal: Some(0.0) }
    }
}

fn read(file: &Path) -> Result<(), Box<dyn Error>> {
    let read = plumb_nmon::open(file, &Options::default())?;
    let mut out = stdout();
    for recording in &read.recordings {
        let (snapshots, seconds) =
            (recording.timeline.stamps().len(), recording.timeline.duration_s());
        writeln!(out, "{:?}: {snapshots} snapshots, {seconds} s", recording.facts.host())?;
        for row in recording.summary() {
            let [average, min, max] = [row.stat.average(), row.stat.min(), row.stat.max()]
                .map(|figure| figure.unwrap_or(f64::NAN));
            let (counter, unit) = (row.counter, row.unit);
            writeln!(
                out,
                "{counter:24} {unit:5} {average:12.2} {min:12.2} {max:12.2}  {}",
                row.source
            )?;
        }
    }
    for trouble in read.troubles.list() {
        writeln!(out, "{trouble}")?;
    }
    Ok(())
}
