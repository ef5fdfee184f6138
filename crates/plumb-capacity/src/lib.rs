//! `plumb size`: how many users fit, and what they need, from the folders of runs.
//!
//! What was measured becomes the steps of a ladder ([`plumb_size`] works with them), and its answer a
//! sentence, tables and a page.

mod apart;
mod changed;
mod charts;
mod declared;
mod figures;
mod next;
mod page;
mod recorded;
mod runs;
mod sales;
mod words;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_measure::{ByteSize, Span};
use plumb_size::analysis::Figure;
use plumb_size::ladder::Step;
use plumb_size::model::Setup;
use plumb_size::sizing::{Question, Sizing, Target};
use plumb_size::what_if::{self, WhatIf};
use serde::Serialize;

use plumb_options::{Form, FormOptions};

use declared::Repeated;
use recorded::{ClockOffset, Recorded};
use runs::Read;
use sales::SapsLike;

/// The name of the JSON form.
const SCHEMA: &str = "plumb.size/1";

#[derive(Args, Clone, Debug)]
struct SizeOptions {
    /// Folders of runs that make a load ladder, or one run of `--users 1,2,4,...`, or an experiment
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    /// Users at once that are asked for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    users: u32,

    /// Their think time between two operations; without it that of the ladder
    #[arg(long, value_name = "TIME")]
    think: Option<Span>,

    /// Response time to keep: p95=1s or mean=500ms
    #[arg(long, value_name = "FIGURE=TIME", value_parser = target)]
    target: Option<Target>,

    /// A pool of which an operation holds one place while the server works on it: NAME=PLACES, such
    /// as work-processes=10
    #[arg(long, value_name = "NAME=PLACES", value_parser = named_number)]
    pool: Option<(String, u32)>,

    /// A part of the server's account that has a queue of its own: PART=SERVERS, such as database=2
    #[arg(long, value_name = "PART=SERVERS", value_parser = named_number)]
    servers: Vec<(String, u32)>,

    /// Processors of the machine under test; without it those that the record knows of
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cores: Option<u32>,

    /// What nmon or Windows (CSV of perfmon, typeperf or relog) recorded of the machine under test
    /// meanwhile: its busy processors and memory are taken from there
    #[arg(long, value_name = "FILE")]
    recording: Option<PathBuf>,

    /// How far the clock of the recording is ahead of UTC, such as +01:00; without it what the file
    /// says, or that of this machine
    #[arg(long, value_name = "OFFSET", requires = "recording", allow_hyphen_values = true)]
    recording_clock: Option<ClockOffset>,

    /// Boxes that can be bought: cores=16,memory=64GiB
    #[arg(long = "box", value_name = "SIZE", value_parser = offered)]
    offered: Option<Offered>,

    /// What would be: changes such as "work-processes=40, cores=16, net.rtt=2ms, database.service/2",
    /// or another load, "arrivals=200/s, timeout=5s, retries=2, back-off=1s, work-processes.queue=100",
    /// "users=500, think=5s, sessions=100/20, burst=3*10s/60s" (three times as much for 10 s, 60 s
    /// between)
    #[arg(long, value_name = "CHANGES")]
    what_if: Option<String>,

    /// Say SAPS-like figures, not certified, of the highest valid step within the target; only of
    /// examples/scenarios/sales.toml
    #[arg(long)]
    saps_like: bool,

    /// Where everything that is drawn begins
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write the capacity report as well: one self-contained page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    form: FormOptions,
}

/// A box that can be bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Offered {
    cores: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
}

/// Everything that is said.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    sentence: String,
    runs: Read,
    sizing: Sizing,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<Offered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_if: Option<WhatIf>,
    /// The changes of `what_if`, as they were asked for; of a machine that drifted they are not made.
    #[serde(skip)]
    what_if_asked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saps_like: Option<Result<SapsLike, String>>,
    #[serde(skip)]
    command: String,
}

/// What is answered.
#[derive(Debug)]
pub struct Answered {
    /// In the form that was asked for.
    pub text: String,
    /// True when the runs do not answer the question.
    pub refused: bool,
}

/// The command line of `plumb size`.
#[must_use]
pub fn command() -> Command {
    SizeOptions::augment_args(Command::new("size"))
        .about("Size the next box from a load ladder")
        .long_about(
            "Sizes the next box from a load ladder: runs of `plumb http load --users 1,2,5,10,20,...` \
             against one landscape. Service demands follow from busy processors and throughput, a \
             closed queueing network from these; the Universal Scalability Law is fitted beside it. \
             Every figure has its interval; the highest step is predicted from the others, and its \
             error printed. What lies beyond twice of what was measured, or where the two models \
             disagree by more than 15 %, is not answered, and the command says what to measure next.",
        )
        .after_help(
            "Exit codes: 0 answered; 2 the runs are no ladder, or a word is wrong; 3 refused: the \
             runs do not answer this question.",
        )
}

/// Sizes what `words` name; `command` is the whole command line. Text has lines of `width` columns.
///
/// # Errors
/// When a word is wrong, the runs are no ladder, or the page cannot be written.
pub fn run(words: &ArgMatches, command: &[String], width: usize) -> anyhow::Result<Answered> {
    let options = SizeOptions::from_arg_matches(words)?;
    let changes = options.what_if.as_deref().map(what_if::changes).transpose()?;
    let recorded = options.recording.as_deref();
    let recorded =
        recorded.map(|file| Recorded::open(file, options.recording_clock, options.cores));
    let (read, ladder) = runs::read(&options.runs, recorded.transpose()?)?;
    let setup = Setup {
        cores: options.cores.unwrap_or(read.cores),
        quota: read.quota.filter(|_| options.cores.is_none()),
        server_quota: read.server_quota.filter(|_| options.cores.is_none()),
        pool: options.pool.clone().map_or_else(|| only_pool(&read), |pool| Ok(Some(pool)))?,
        servers: if options.servers.is_empty() {
            read.servers.clone().into_iter().collect()
        } else {
            options.servers.clone()
        },
        memory_limit_bytes: read.memory_limit_bytes,
    };
    let are_known = |step: &Step| step.busy_cores.is_some() || step.server_s.is_some();
    ensure!(
        setup.cores > 0 || !ladder.steps().iter().any(are_known),
        "the runs do not say how many processors there are: give --cores N"
    );
    let question = Question {
        users: options.users,
        think_s: options.think.map(seconds),
        target: options.target,
        seed: options.seed,
    };
    let mut sizing = plumb_size::sizing::size(ladder, &setup, question)?;
    let drifted: Vec<String> = read.repeated.iter().filter_map(Repeated::refusal).collect();
    drifted.iter().for_each(|why| sizing.refuse(why.clone()));
    let changes = changes.filter(|_| drifted.is_empty());
    let what_if = changes.map(|changes| what_if::what_if(&sizing, changes)).transpose()?;
    let saps_like = options.saps_like.then(|| {
        drifted.first().map_or(Ok(()), |why| Err(why.clone()))?;
        let steps = read.sales.as_ref().map_err(Clone::clone)?;
        let think_s = sizing.model.think_s;
        sales::figure(steps, think_s, question.target).map_err(|error| error.to_string())
    });
    let said = words::sentence(&sizing);
    let refused = !sizing.refusals.is_empty() || matches!(saps_like, Some(Err(_)));
    let report = Report {
        schema: SCHEMA,
        sentence: read.accepted_load.map_or(said.clone(), |it| it.beside(&said)),
        runs: read,
        sizing,
        offered: options.offered,
        what_if,
        what_if_asked: options.what_if,
        saps_like,
        command: command.join(" "),
    };
    if let Some(file) = &options.html {
        std::fs::write(file, words::page(&report).html()).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    Ok(Answered { text: text(&report, options.form.into(), width)?, refused })
}

/// The pool that the ladder names.
fn only_pool(read: &Read) -> anyhow::Result<Option<(String, u32)>> {
    ensure!(
        read.pools.len() <= 1,
        "the ladder names several pools: say with --pool NAME=PLACES of which one an operation holds \
         a place while the server works on it"
    );
    Ok(read.pools.clone().into_iter().next())
}

fn text(report: &Report, form: Form, width: usize) -> anyhow::Result<String> {
    Ok(match form {
        Form::Json => serde_json::to_string_pretty(report)? + "\n",
        Form::Text => words::page(report).text(width),
        Form::Markdown => words::page(report).markdown(),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a year in nanoseconds is known to a microsecond")]
fn seconds(span: Span) -> f64 {
    span.ns() as f64 / 1e9
}

fn target(text: &str) -> anyhow::Result<Target> {
    let wrong = || anyhow!("write p95=TIME or mean=TIME, such as p95=1s");
    let (figure, most) = text.split_once('=').ok_or_else(wrong)?;
    let figure = match figure.trim() {
        "p95" => Figure::P95,
        "mean" => Figure::Mean,
        _ => return Err(wrong()),
    };
    // other tools mean milliseconds: a target that nobody meant is always kept
    ensure!(!most.trim().ends_with(|last: char| last.is_ascii_digit()), wrong());
    let most_s = seconds(most.trim().parse()?);
    ensure!(most_s > 0.0, "a target of no time is kept by nobody");
    Ok(Target { figure, most_s })
}

fn named_number(text: &str) -> anyhow::Result<(String, u32)> {
    let pair = text.split_once('=').and_then(|(name, number)| {
        let number = number.trim().parse().ok().filter(|it| (1..=100_000).contains(it))?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), number))
    });
    pair.ok_or_else(|| anyhow!("write NAME=NUMBER, the number from 1 to 100,000"))
}

fn offered(text: &str) -> anyhow::Result<Offered> {
    let (mut cores, mut memory_bytes) = (None, None);
    for part in text.split(',') {
        let (key, value) = part.split_once('=').context("write cores=N,memory=SIZE")?;
        match key.trim() {
            "cores" => cores = value.trim().parse().ok().filter(|it: &u32| *it > 0),
            "memory" => memory_bytes = Some(value.trim().parse::<ByteSize>()?.bytes()),
            other => anyhow::bail!("a box has cores and memory, not `{other}`"),
        }
    }
    let cores = cores.context("a box has at least one core: write cores=N")?;
    ensure!(memory_bytes != Some(0), "a box has memory: write memory=SIZE, such as 64GiB");
    Ok(Offered { cores, memory_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_or_refused_with_what_to_write() {
        assert_eq!(target("p95=1s").unwrap(), Target { figure: Figure::P95, most_s: 1.0 });
        assert!(target("p99=1s").unwrap_err().to_string().contains("p95=TIME"));
        assert!(target("p95=0s").is_err() && target("p95=1").is_err());
        assert_eq!(named_number("work-processes=10").unwrap(), ("work-processes".into(), 10));
        assert!(named_number("x=0").is_err() && named_number("=1").is_err());
        let size = offered("cores=16,memory=64GiB").unwrap();
        assert_eq!((size.cores, size.memory_bytes), (16, Some(64 << 30)));
        assert!(offered("cores=0").is_err() && offered("memory=1GiB").is_err());
    }
}
