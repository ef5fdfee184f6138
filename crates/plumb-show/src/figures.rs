//! Figures and facts of a recording in words, the same in every format.

use plumb_measure::counted;
use plumb_nmon::{Recording, Stamp, Traffic};

/// The name of the host.
pub(crate) fn host(recording: &Recording) -> String {
    recording.facts.host().unwrap_or("a host without a name").to_owned()
}

/// The system and the program that recorded it.
pub(crate) fn recorded(recording: &Recording) -> String {
    let recorder = recording.facts.recorder().unwrap_or_else(|| "an unknown program".to_owned());
    format!("{}, recorded by {recorder}", recording.system())
}

/// The first and the last moment, by the host's own clock.
pub(crate) fn ends(recording: &Recording) -> Option<[String; 2]> {
    let [first, .., last] = recording.timeline.stamps() else { return None };
    let words =
        |stamp: &Stamp| stamp.local().map_or_else(|| "?".to_owned(), |time| time.to_string());
    Some([words(first), words(last)])
}

/// From when to when, and how many snapshots.
pub(crate) fn span(recording: &Recording) -> String {
    let count = recording.timeline.stamps().len();
    let Some([first, last]) = ends(recording) else {
        return counted(count as u64, "snapshot");
    };
    let seconds = recording.timeline.duration_s();
    let zone = recording.facts.time_zone().map(|zone| format!(", {zone}")).unwrap_or_default();
    format!("{first} to {last} of its own clock{zone}, {count} snapshots, {seconds:.0} s")
}

/// What the counters come to over the whole recording, by name.
pub(crate) fn totals(recording: &Recording) -> Vec<(&'static str, String)> {
    let mut list = Vec::new();
    if let Some(busy) = recording.cores_busy() {
        let (cpu_s, seconds) = (busy.cpu_s(), busy.stat.seconds());
        let words = format!("{cpu_s:.1} s in {seconds:.0} s: {}", busy.rule);
        list.push(("processor time", words));
    }
    for (name, verbs, traffic) in [
        ("network", ["received", "sent"], recording.network()),
        ("RDMA", ["received", "sent"], recording.rdma()),
        ("disks", ["read", "written"], recording.disks()),
    ] {
        list.extend(traffic.map(|traffic| (name, both_ways(&traffic, verbs))));
    }
    list
}

fn both_ways(traffic: &Traffic, [read, write]: [&str; 2]) -> String {
    let (reads, writes) = (mib(traffic.read_bytes()), mib(traffic.write_bytes()));
    let mut words =
        format!("{reads:.1} MiB {read}, {writes:.1} MiB {write}: {}", traffic.counted.join(" "));
    if !traffic.left_out.is_empty() {
        words += &format!("; left out: {}", traffic.left_out.join(" "));
    }
    words
}

/// Bytes in MiB.
pub(crate) fn mib(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// A figure of a counter; `-` without any.
pub(crate) fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100_000.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}
