//! `plumb host show`: what a recording of a host says, as tables of text.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use plumb_host::nmon::{self, Nmon, Options, Recording, Row, Traffic};

use crate::exit::Exit;

/// The command line of `plumb host show`.
pub(crate) fn command() -> Command {
    Command::new("show")
        .about("Sum up recordings of hosts: average, minimum and maximum of every counter")
        .long_about(
            "Sum up recordings of hosts: average, minimum and maximum of every counter, processors \
             busy with the rule by which they were counted, processor seconds, and the traffic of \
             disks and networks. Reads nmon files of Linux and AIX, plain or compressed with gzip.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .help("Recording of nmon, topas_nmon or plumb")
                .value_parser(value_parser!(PathBuf))
                .num_args(1..)
                .required(true),
        )
}

/// Shows the files that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    for path in words.get_many::<PathBuf>("file").into_iter().flatten() {
        let read = nmon::open(path, &Options::default())?;
        file(&mut io::stdout().lock(), path, &read)?;
    }
    Ok(Exit::Ran)
}

fn file(out: &mut impl Write, path: &Path, read: &Nmon) -> io::Result<()> {
    for recording in &read.recordings {
        writeln!(out, "{}", path.display())?;
        facts(out, recording)?;
        counters(out, &recording.summary())?;
        totals(out, recording)?;
        processes(out, recording)?;
    }
    for trouble in read.troubles.list() {
        writeln!(out, "{}: {trouble}", path.display())?;
    }
    match read.troubles.left_out() {
        0 => Ok(()),
        more => writeln!(out, "{}: and {more} more messages", path.display()),
    }
}

fn facts(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let facts = &recording.facts;
    let host = facts.host().unwrap_or("a host without a name");
    let recorder = facts.recorder().unwrap_or_else(|| "an unknown program".to_owned());
    writeln!(out, "  {host}, {}, recorded by {recorder}", recording.system())?;
    let stamps = recording.timeline.stamps();
    let [first, .., last] = stamps else {
        return writeln!(out, "  {} snapshots", stamps.len());
    };
    let [first, last] = [first, last]
        .map(|stamp| stamp.local().map_or_else(|| "?".to_owned(), |time| time.to_string()));
    let (count, seconds) = (stamps.len(), recording.timeline.duration_s());
    writeln!(out, "  {first} to {last} of its own clock, {count} snapshots, {seconds:.0} s")
}

fn counters(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let words: Vec<[String; 6]> = rows
        .iter()
        .map(|row| {
            let [average, min, max] =
                [row.stat.average(), row.stat.min(), row.stat.max()].map(figure);
            let missing = match row.stat.missing() {
                0 => String::new(),
                missing => format!("; {missing} missing"),
            };
            let source = format!("{}{missing}", row.source);
            [row.counter.clone(), row.unit.to_owned(), average, min, max, source]
        })
        .collect();
    let titles = ["counter", "unit", "average", "min", "max", "from"].map(str::to_owned);
    let all: Vec<&[String; 6]> = std::iter::once(&titles).chain(&words).collect();
    let width = |at: usize| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    writeln!(out)?;
    for [counter, unit, average, min, max, source] in all {
        writeln!(
            out,
            "  {counter:<c$}  {unit:<u$}  {average:>a$}  {min:>l$}  {max:>h$}  {source}",
            c = widths[0],
            u = widths[1],
            a = widths[2],
            l = widths[3],
            h = widths[4],
        )?;
    }
    writeln!(out)
}

fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100_000.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

fn totals(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    if let Some(busy) = recording.cores_busy() {
        let (cpu_s, seconds) = (busy.cpu_s(), busy.stat.seconds());
        writeln!(out, "  processor time  {cpu_s:.1} s in {seconds:.0} s: {}", busy.rule)?;
    }
    traffic(out, "network", ["received", "sent"], recording.network())?;
    traffic(out, "RDMA", ["received", "sent"], recording.rdma())?;
    traffic(out, "disks", ["read", "written"], recording.disks())
}

fn traffic(
    out: &mut impl Write,
    what: &str,
    [read, write]: [&str; 2],
    traffic: Option<Traffic>,
) -> io::Result<()> {
    let Some(traffic) = traffic else { return Ok(()) };
    let mib = |bytes: f64| bytes / 1_048_576.0;
    let (reads, writes) = (mib(traffic.read_bytes()), mib(traffic.write_bytes()));
    let counted = traffic.counted.join(" ");
    write!(out, "  {what:<14}  {reads:.1} MiB {read}, {writes:.1} MiB {write}: {counted}")?;
    if !traffic.left_out.is_empty() {
        write!(out, "; left out: {}", traffic.left_out.join(" "))?;
    }
    writeln!(out)
}

/// The commands that used most processor time.
fn processes(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    for process in recording.processes.iter().take(5) {
        let (cpu_s, command) = (process.cpu_s, &process.command);
        writeln!(out, "  process         {cpu_s:.1} s of processor time: {command}")?;
    }
    Ok(())
}
