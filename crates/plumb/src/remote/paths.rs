//! `plumb paths`: round trips between each two of several machines.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::{Exit, exit, signals};
use plumb_engine::{Stop, clock};
use plumb_experiment::{ExperimentFile, ServerSection, Start, Template};
use plumb_folder::PathsFolder;
use plumb_measure::{ByteSize, RemoteSelector, RunRecord, Span};
use plumb_page::table::{Column, Table};
use plumb_remote::{Hello, Nats};
use serde::Serialize;

use super::{measure_there, target};
use crate::experiment::{ServerPlan, Servers};
use crate::job::{into_folder, measurement};

/// The name of the JSON form.
const SCHEMA: &str = "plumb.paths/1";
/// Machines whose paths are measured at most: a round trip of each path takes its time.
const MACHINES_MAX: usize = 32;
/// A path is named when it takes so much longer than the median of all.
const SLOW: f64 = 2.0;

#[derive(Args, Clone, Debug)]
struct PathsOptions {
    /// The remotes, as --remotes names them: all, NAME,..., KEY=VALUE,... or nats://HOST:PORT/...
    #[arg(value_name = "REMOTES")]
    remotes: RemoteSelector,

    /// Length of the measurement of each path
    #[arg(long = "for", value_name = "TIME", default_value = "2s")]
    for_time: Span,

    /// Payload of a message
    #[arg(long, value_name = "SIZE", default_value = "1000B")]
    size: ByteSize,

    /// The label with which each remote says by which address the others reach it
    #[arg(long, value_name = "KEY", default_value = "address")]
    address_label: String,

    /// Folder for the runs [default: plumb-runs/TIME-paths]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print one JSON document, and nothing else
    #[arg(long)]
    json: bool,
}

/// The paths of a landscape, measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Paths {
    schema: &'static str,
    started: String,
    size: ByteSize,
    machines: Vec<String>,
    paths: Vec<NetPath>,
}

/// From one machine to another.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct NetPath {
    from: String,
    to: String,
    /// The median and the 99th percentile of the round trip, nanoseconds; absent where there is none.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    /// Whether the figures may be used.
    valid: bool,
    /// What speaks against them, or why there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
}

/// The command line of `plumb paths`.
pub(crate) fn command() -> Command {
    PathsOptions::augment_args(Command::new("paths"))
        .about("Measure the round trip between each two of several machines")
        .long_about(
            "Measure the round trip between each two of several machines.\n\nOne remote after the other \
             starts an echo server, and the others measure to it, one at a time. Each remote must be \
             started with --allow \"net serve\" --allow \"net ping\", with an --allow-target around the \
             addresses of the others, and with --label address=ADDRESS.",
        )
        .after_help(
            "Exit codes: 0 every path was measured; 1 one was not, or its figures are not valid.",
        )
}

/// Measures all paths, and prints them.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = PathsOptions::from_arg_matches(words)?;
    let RemoteSelector::Nats { url, of } = &options.remotes else {
        bail!("the paths of one machine are measured by `plumb net ping`");
    };
    let stop = signals::stop()?;
    let there = Nats::connect(&target::of_controller(url.as_deref())?, &stop)?.there(of)?;
    let machines = machines(there, &options.address_label)?;
    let started = clock::utc(clock::wall_ns());
    let folder = match &options.out {
        Some(path) => PathsFolder::create_new(path)?,
        None => {
            let stem = format!("{}-paths", started.replace(':', ""));
            PathsFolder::create_in(Path::new("plumb-runs"), &stem)?
        }
    };
    let measured = match all_paths(&machines, &options, folder.path(), &stop) {
        Ok(measured) => measured,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let paths = Paths {
        schema: SCHEMA,
        started,
        size: options.size,
        machines: machines.iter().map(|(name, _)| name.clone()).collect(),
        paths: measured,
    };
    let json = serde_json::to_string_pretty(&paths)? + "\n";
    folder.write_paths(&json)?;
    exit::print(&match options.json {
        true => json,
        false => format!("{}runs: {}\n", paths.shown(), folder.path().display()),
    })?;
    Ok(match () {
        () if stop.asked() => Exit::Interrupted,
        () if paths.paths.iter().all(|path| path.valid) => Exit::Ran,
        () => Exit::Finding,
    })
}

/// Names and addresses of those who are there.
fn machines(there: Vec<Hello>, label: &str) -> anyhow::Result<Vec<(String, String)>> {
    if !(2..=MACHINES_MAX).contains(&there.len()) {
        bail!("{} remotes answer to that: paths lie between 2 to {MACHINES_MAX}", there.len());
    }
    let known = |hello: Hello| match hello.labels.get(label) {
        Some(address) => Ok((hello.name, address.clone())),
        None => Err(anyhow!(
            "{} does not say where it can be reached: start it with --label {label}=ADDRESS",
            hello.name
        )),
    };
    there.into_iter().map(known).collect()
}

/// The paths between all `machines`, as far as nobody ends that.
fn all_paths(
    machines: &[(String, String)],
    options: &PathsOptions,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<Vec<NetPath>> {
    let mut all = Vec::new();
    for to in machines {
        all.extend(paths_to(to, machines, options, folder, stop)?);
        if stop.asked() {
            break;
        }
    }
    Ok(all)
}

/// The paths of all others to one machine, which has a server as long as they are measured.
fn paths_to(
    (to, address): &(String, String),
    machines: &[(String, String)],
    options: &PathsOptions,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<Vec<NetPath>> {
    let others = || machines.iter().map(|(name, _)| name).filter(|name| *name != to);
    let mut servers = Servers::default();
    let started = serve(&mut servers, &selected(options, to), address, stop);
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            let none = |from: &String| NetPath::none(from, to, &exit::said(&error));
            return Ok(others().map(none).collect());
        }
    };
    let mut paths = Vec::new();
    for from in others() {
        if stop.asked() {
            break;
        }
        let out = folder.join(format!("{from}-to-{to}"));
        let words = [
            "net".to_owned(),
            "ping".into(),
            server.clone(),
            format!("--for={}", options.for_time),
            format!("--size={}", options.size),
            into_folder(&out)?,
        ];
        let mut job = measurement(&words)?;
        let remote: RemoteSelector =
            selected(options, from).parse().map_err(|why: String| anyhow!(why))?;
        paths.push(match measure_there(&remote, job.as_mut(), &words, stop) {
            Ok(run) => NetPath::of(from, to, &run.record),
            Err(error) => NetPath::none(from, to, &exit::said(&error)),
        });
    }
    Ok(paths)
}

/// The remote `name` among those of the options.
fn selected(options: &PathsOptions, name: &str) -> String {
    match &options.remotes {
        RemoteSelector::Nats { url: Some(url), .. } => format!("{url}/{name}"),
        RemoteSelector::Nats { url: None, .. } | RemoteSelector::Local(_) => name.to_owned(),
    }
}

/// Starts an echo server on `remote`; where it listens.
fn serve(
    servers: &mut Servers,
    remote: &str,
    address: &str,
    stop: &Stop,
) -> anyhow::Result<String> {
    let command = format!("on {remote} net serve --listen {address}:0 --quiet");
    let name = toml::Spanned::new(0..0, "echo".to_owned());
    let section = ServerSection {
        name,
        run: Some(toml::Spanned::new(0..0, command.clone())),
        exec: None,
        ready: None,
        address: None,
        start: Start::Block,
        timeout: None,
    };
    let file = ExperimentFile { server: vec![section], ..ExperimentFile::default() };
    let plans = ServerPlan::all(&file)?;
    let ready = servers.ready(
        &plans,
        &[Template::parse(&command).map_err(|_| anyhow!("`{command}`"))?],
        stop,
    )?;
    ready.into_iter().next().context("it listens nowhere")
}

impl NetPath {
    fn of(from: &str, to: &str, record: &RunRecord) -> Self {
        let times = record.results.first().and_then(|result| result.response_ns.as_ref());
        Self {
            from: from.into(),
            to: to.into(),
            p50_ns: times.map(|times| times.p50),
            p99_ns: times.map(|times| times.p99),
            valid: record.validity.valid && times.is_some(),
            reasons: record.validity.reasons.iter().map(|found| found.text.clone()).collect(),
        }
    }

    fn none(from: &str, to: &str, why: &str) -> Self {
        let reasons = vec![why.to_owned()];
        Self { from: from.into(), to: to.into(), p50_ns: None, p99_ns: None, valid: false, reasons }
    }
}

impl Paths {
    /// A table with a row for each machine that asks and a column for each that answers, and what
    /// stands out.
    fn shown(&self) -> String {
        let columns = std::iter::once(Column::words("from \\ to"))
            .chain(self.machines.iter().map(|name| Column::latency(name.clone())));
        let mut table = Table::new(columns.collect());
        for from in &self.machines {
            let cell = |to: &String| {
                let path = self.paths.iter().find(|path| path.from == *from && path.to == *to);
                match path {
                    None => String::new(),
                    Some(NetPath { p50_ns: None, .. }) => "none".into(),
                    Some(path) => {
                        let doubt = if path.valid { "" } else { " (invalid)" };
                        let time = path.p50_ns.map(|ns| Span::from_ns(ns).to_string());
                        format!("{}{doubt}", time.unwrap_or_default())
                    }
                }
            };
            let cells = std::iter::once(from.clone()).chain(self.machines.iter().map(cell));
            table.push(cells.collect());
        }
        let (text, _) = table.text(100);
        let title = format!("Median round trip of {}", self.size);
        format!("{title}\n{text}\n{}\n{}", self.slowest(), self.doubts())
    }

    /// The path that takes much longer than the others, in a sentence.
    fn slowest(&self) -> String {
        let mut known: Vec<_> = self.paths.iter().filter(|path| path.valid).collect();
        known.sort_unstable_by_key(|path| path.p50_ns);
        let ns = |path: &NetPath| path.p50_ns.unwrap_or(0);
        let Some(last) = known.last() else { return "No path was measured.".into() };
        // of an even number it lies between the two in the middle
        let median_ns = u64::midpoint(ns(known[(known.len() - 1) / 2]), ns(known[known.len() / 2]));
        let ratio = plumb_measure::real(ns(last)) / plumb_measure::real(median_ns.max(1));
        if ratio < SLOW {
            return format!(
                "No path takes more than {SLOW} times the median of all, {}.",
                Span::from_ns(median_ns)
            );
        }
        format!(
            "Slowest: {} to {}, {} or {ratio:.1} times the median of all paths.",
            last.from,
            last.to,
            Span::from_ns(ns(last))
        )
    }

    /// What speaks against the figures, a line a path, whatever of it comes from a remote.
    fn doubts(&self) -> String {
        let doubted = self.paths.iter().filter(|path| !path.valid);
        let line = |path: &NetPath| {
            let why = path.reasons.first().map_or("", String::as_str);
            let why = why.replace(char::is_control, " ");
            format!("{} to {}: {why}\n", path.from, path.to)
        };
        doubted.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(times: &[(&str, &str, Option<u64>)]) -> Paths {
        let path = |(from, to, p50_ns): &(&str, &str, Option<u64>)| NetPath {
            p50_ns: *p50_ns,
            p99_ns: *p50_ns,
            valid: p50_ns.is_some(),
            ..NetPath::none(from, to, "nobody answers")
        };
        Paths {
            schema: SCHEMA,
            started: String::new(),
            size: ByteSize::new(1_000).unwrap(),
            machines: vec!["a".into(), "b".into(), "c".into()],
            paths: times.iter().map(path).collect(),
        }
    }

    #[test]
    fn the_slow_path_is_named_and_the_one_that_is_none() {
        let us = |n: u64| Some(n * 1_000);
        let shown = paths(&[
            ("a", "b", us(50)),
            ("b", "a", us(52)),
            ("a", "c", us(900)),
            ("c", "a", us(51)),
            ("b", "c", None),
        ]);
        let text = shown.shown();
        assert!(text.contains("Slowest: a to c, 900us"), "{text}");
        assert!(text.contains("b to c: nobody answers") && text.contains("none"), "{text}");
        let even = paths(&[("a", "b", us(50)), ("b", "a", us(52))]);
        assert!(
            even.slowest().starts_with("No path takes more than 2 times"),
            "{}",
            even.slowest()
        );
        let upper = paths(&[
            ("a", "b", us(50)),
            ("b", "a", us(50)),
            ("a", "c", us(50)),
            ("c", "a", us(100)),
            ("b", "c", us(190)),
            ("c", "b", us(190)),
        ]);
        assert!(upper.slowest().ends_with("190us or 2.5 times the median of all paths."));
        assert_eq!(paths(&[("a", "b", None)]).slowest(), "No path was measured.");
    }

    #[test]
    fn what_a_remote_says_of_a_path_steers_no_terminal() {
        let mut none = paths(&[("a", "b", None)]);
        none.paths[0].reasons = vec!["\u{1b}[2J\na to b: forged".into()];
        assert_eq!(none.doubts(), "a to b:  [2J a to b: forged\n");
    }
}
