//! Recordings in the words and figures that their page shows.

use crate::recording::{
    Check, Command, Counter, Fact, Key, Recording as Shown, Recordings, Remark,
};
use plumb_check::Report;
use plumb_measure::counted;
use plumb_nmon::{Recording, Row, Troubles};

use crate::moments::Moments;
use crate::{charts, figures, together, windows};

/// Names of sections that are spelled out.
const NAMED: usize = 20;

/// All files on one page.
#[must_use]
pub fn of(files: &[crate::Shown]) -> Recordings {
    let list = files.iter().flat_map(|file| {
        let recordings = &file.read.recordings;
        file.recordings().enumerate().map(move |(at, (recording, checked))| {
            let ends = recordings.get(at + 1).map_or(u64::MAX, |next| next.line);
            let begins = if at == 0 { 0 } else { recording.line };
            let last = at + 1 == recordings.len();
            let troubles = &file.read.troubles;
            Shown {
                file: file.path.display().to_string(),
                troubles: remarks(troubles, begins, ends),
                troubles_left_out: if last { troubles.left_out() } else { 0 },
                ..one(recording, checked)
            }
        })
    });
    Recordings {
        version: env!("CARGO_PKG_VERSION").into(),
        together: together::of(files),
        list: list.collect(),
    }
}

/// The troubles from line `begins` to before `ends`.
fn remarks(troubles: &Troubles, begins: u64, ends: u64) -> Vec<Remark> {
    let here = troubles.list().iter().filter(|trouble| (begins..ends).contains(&trouble.line));
    here.map(|trouble| Remark { line: trouble.line, text: trouble.kind.to_string() }).collect()
}

fn one(recording: &Recording, checked: &Report) -> Shown {
    let moments = Moments::of(&recording.timeline);
    let rows = recording.summary();
    let totals = figures::totals(recording);
    let charts::Charts { first, further, idle } = charts::of(recording, &moments);
    Shown {
        host: figures::host(recording),
        about: format!("{} \u{b7} {}", figures::recorded(recording), figures::span(recording)),
        keys: keys(recording, &rows),
        counters: rows.iter().map(counter).collect(),
        totals: totals.into_iter().map(|(name, value)| fact(name, value)).collect(),
        commands: commands(recording),
        charts: first,
        further,
        notes: notes(recording, &moments, &idle),
        time: moments.time,
        facts: facts(recording),
        check: check(checked),
        ..Shown::default()
    }
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    Fact { name: name.to_owned(), value: value.into() }
}

fn counter(row: &Row) -> Counter {
    Counter {
        name: row.counter.clone(),
        unit: row.unit.to_owned(),
        average: row.stat.average(),
        min: row.stat.min(),
        max: row.stat.max(),
        missing: row.stat.missing(),
        source: row.source.clone(),
    }
}

fn commands(recording: &Recording) -> Vec<Command> {
    let commands = recording.processes.iter().map(|process| Command {
        name: process.command.clone(),
        cpu_s: process.cpu_s,
        cpu_max_percent: process.cpu_max_percent,
        resident_max_kib: process.resident_max_kib,
    });
    commands.collect()
}

/// The figures asked for first, as far as they were recorded.
fn keys(recording: &Recording, rows: &[Row]) -> Vec<Key> {
    let row = |name: &str| rows.iter().find(|row| row.counter == name);
    let mut keys = Vec::new();
    if let Some(busy) = recording.cores_busy() {
        let (average, most) = (busy.stat.average(), figures::figure(busy.stat.max()));
        keys.push(key("cores busy", figures::figure(average), format!("at most {most}")));
        let time = format!("{:.1} s", busy.cpu_s());
        keys.push(key("processor time", time, format!("in {:.0} s", busy.stat.seconds())));
    }
    if let Some(busy) = row("Processor busy").and_then(|row| Some((row, row.stat.average()?))) {
        let most = busy.0.stat.max().unwrap_or_default();
        keys.push(key(
            "processors busy",
            format!("{:.1} %", busy.1),
            format!("at most {most:.1} %"),
        ));
    }
    let memory = ["Memory available", "Memory free or cached", "Memory free"];
    let memory = memory.iter().find_map(|name| row(name));
    if let Some((row, least)) = memory.and_then(|row| Some((row, row.stat.min()?))) {
        let about = format!("least of it; average {}", mebibytes(row.stat.average()));
        keys.push(key(&row.counter.to_lowercase(), mebibytes(Some(least)), about));
    }
    for (name, [read, write], traffic) in [
        ("disks", ["read", "written"], recording.disks()),
        ("network", ["received", "sent"], recording.network()),
    ] {
        let Some(traffic) = traffic else { continue };
        let [reads, writes] =
            [traffic.read_bytes(), traffic.write_bytes()].map(|bytes| Some(figures::mib(bytes)));
        let all = reads.zip(writes).map(|(one, other)| one + other);
        let about = format!("{} {read}, {} {write}", mebibytes(reads), mebibytes(writes));
        keys.push(key(name, mebibytes(all), about));
    }
    keys
}

fn key(name: &str, value: String, about: String) -> Key {
    Key { name: name.to_owned(), value, about }
}

/// Figures in MiB, or in KiB or GiB where that is shorter.
fn mebibytes(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(mib) if mib >= 10_000.0 => format!("{:.1} GiB", mib / 1024.0),
        Some(mib) if mib >= 100.0 => format!("{mib:.0} MiB"),
        Some(mib) if mib >= 1.0 => format!("{mib:.1} MiB"),
        Some(mib) => format!("{:.0} KiB", mib * 1024.0),
    }
}

/// What a reader must know of the charts.
fn notes(recording: &Recording, moments: &Moments, idle: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    let snapshots = recording.timeline.stamps().len();
    if snapshots < 2 {
        notes.push("Nothing is drawn over time: that takes two snapshots or more.".to_owned());
        return notes;
    }
    if moments.time.clock_s.is_none() {
        notes.push(
            "The clock of the host was set meanwhile: time counts from the first snapshot."
                .to_owned(),
        );
    }
    if !idle.is_empty() {
        notes.push(format!("Zero throughout: {}.", idle.join(", ")));
    }
    match windows::Charts::of(recording).left_out {
        0 => {}
        n => notes.push(format!(
            "Not drawn, because they come after too many others: {} of counters.",
            counted(n as u64, "chart")
        )),
    }
    let names = charts::left_out(recording);
    if !names.is_empty() {
        let (named, more) = names.split_at(names.len().min(NAMED));
        let more = match more.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        notes.push(format!(
            "Not drawn, because they have more than six columns or nothing but zeros, or come \
             after too many others: {}{more}.",
            named.join(", ")
        ));
    }
    notes
}

/// What the recorder said, as far as people ask for it.
fn facts(recording: &Recording) -> Vec<Fact> {
    const KEYS: [(&str, &str); 9] = [
        ("OS", "system"),
        ("AIX", "AIX"),
        ("TL", "technology level"),
        ("hardware", "hardware"),
        ("MachineType", "machine type"),
        ("LPARNumberName", "partition"),
        ("cpus", "processors"),
        ("boottime", "started"),
        ("command", "recorded with"),
    ];
    let known = KEYS.iter().filter_map(|(key, name)| {
        let value = recording.facts.get(key)?.trim().trim_matches(',');
        (!value.is_empty()).then(|| fact(name, value.replace(',', ", ")))
    });
    let mut facts: Vec<Fact> = known.collect();
    if let Some(interval) = recording.timeline.interval_s() {
        facts.push(fact("interval", format!("{interval} s")));
    }
    let count = recording.timeline.stamps().len();
    facts.push(fact("snapshots", count.to_string()));
    if let Some([first, last]) = figures::ends(recording) {
        facts.push(fact("first snapshot", first));
        facts.push(fact("last snapshot", last));
    }
    facts
}

fn check(report: &Report) -> Check {
    let findings = report.findings().iter().map(|finding| {
        let (line, text) = (finding.line, finding.to_string());
        let own = text.strip_prefix(&format!("line {line}")).unwrap_or(&text);
        Remark { line, text: own.trim_start_matches([',', ' ']).to_owned() }
    });
    Check {
        comparisons: report.checks(),
        findings: findings.collect(),
        left_out: report.left_out(),
    }
}
