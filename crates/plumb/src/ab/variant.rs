//! One of the things compared, and how a block of it is measured.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use clap::ArgMatches;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{Job, Measure};
use plumb_measure::{
    Clock as _, DriverFacts, Figure, Plan, ResultRecord, RunRecord, SCHEMA, Span, Status, Target,
    Validity,
};
use plumb_report::{RunFolder, html};

use super::{program, shell};
use crate::measure::{measure, plain};
use crate::{commands, host, layers, progress};

/// Intervals that a block is written down in: fine enough to cut off a warm-up.
const INTERVALS: u64 = 20;
const INTERVAL_MIN_MS: u64 = 50;
const INTERVAL_MAX_MS: u64 = 1_000;
/// Options that a block gets from the experiment.
const OURS: [&str; 3] = ["--out", "--json", "--markdown"];

/// One of the things compared.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) name: String,
    /// As the user wrote it.
    pub(crate) command: String,
    /// The shell command that switches the system to it.
    pub(crate) before: Option<String>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The words of a command line of ours.
    Plumb(Vec<String>),
    /// A shell command that prints a figure.
    Shell { timeout: Span },
}

impl Variant {
    /// A shell command that prints a figure.
    pub(crate) fn shell(
        name: String,
        command: String,
        before: Option<String>,
        timeout: Span,
    ) -> Self {
        Self { name, command, before, kind: Kind::Shell { timeout } }
    }

    /// A command of ours that measures; `block` is its length unless it says so itself.
    pub(crate) fn plumb(
        name: String,
        command: &str,
        before: Option<String>,
        block: Span,
    ) -> anyhow::Result<Self> {
        let words =
            shlex::split(command).ok_or_else(|| anyhow!("`{command}`: a quote is not closed"))?;
        let words: Vec<String> = match words.split_first() {
            Some((first, rest)) if first == "plumb" => rest.to_vec(),
            _ => words,
        };
        if let Some(word) = words.iter().find(|word| OURS.contains(&word.as_str())) {
            bail!("`{command}`: {word} belongs to plumb ab itself, not to one of its commands");
        }
        let mut variant =
            Self { name, command: command.into(), before, kind: Kind::Plumb(words.clone()) };
        let (_, matches) = parse(&words).with_context(|| format!("`{command}`"))?;
        let Kind::Plumb(words) = &mut variant.kind else {
            return Ok(variant);
        };
        let leaf = leaf(&matches);
        let lacks = |id: &str| {
            leaf.try_contains_id(id).is_ok()
                && leaf.value_source(id) != Some(clap::parser::ValueSource::CommandLine)
        };
        if lacks("for_time") && lacks("count") {
            words.push(format!("--for={block}"));
        }
        if lacks("interval") {
            let length = leaf.try_get_one::<Span>("for_time").ok().flatten();
            let ms = length.unwrap_or(&block).ns() / 1_000_000 / INTERVALS;
            words.push(format!("--interval={}ms", ms.clamp(INTERVAL_MIN_MS, INTERVAL_MAX_MS)));
        }
        let words = words.clone();
        job(&words).with_context(|| format!("`{command}`"))?;
        Ok(variant)
    }

    /// Measures one block of it into `folder`; `title` stands before the progress.
    pub(crate) fn measure(&self, folder: &Path, title: &str, stop: &Stop) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Plumb(words) => {
                let mut words = words.clone();
                words.push(format!("--out={}", folder.display()));
                let mut job = job(&words)?;
                let command = std::iter::once("plumb".to_owned()).chain(words).collect();
                measure(job.as_mut(), command, title, stop).map(drop)
            }
            Kind::Shell { timeout } => {
                progress::say(&format!("{title}{}", self.command));
                let asked = self.ask_shell(*timeout, folder, stop);
                progress::clear();
                asked
            }
        }
    }

    fn ask_shell(&self, timeout: Span, path: &Path, stop: &Stop) -> anyhow::Result<()> {
        let folder = RunFolder::create_new(path)?;
        let began_ns = MonotonicClock.now_ns();
        let started = clock::utc(clock::wall_ns());
        let asked = shell::run(&self.command, timeout, stop)
            .and_then(|printed| shell::figure(&self.command, &printed));
        let figure = match asked {
            Ok(figure) => figure,
            Err(error) => {
                folder.discard();
                return Err(error);
            }
        };
        let duration_ns = MonotonicClock.now_ns() - began_ns;
        let record = record_of(&self.command, started, figure, duration_ns);
        folder.write_record(&record)?;
        folder.write_report(&html::render(&record))?;
        Ok(())
    }
}

/// The run record of a command that printed `figure`.
fn record_of(command: &str, started: String, figure: f64, duration_ns: u64) -> RunRecord {
    let result = ResultRecord {
        operations: 1,
        duration_ns,
        figures: vec![Figure {
            name: plumb_lab::FIGURE.into(),
            value: figure,
            unit: String::new(),
            formula: "the last number the command printed".into(),
        }],
        validity: Validity::of_all([]),
        driver: DriverFacts { wait: "shell".into(), threads: 1, ..DriverFacts::default() },
        ..ResultRecord::default()
    };
    RunRecord {
        schema: SCHEMA.into(),
        plumb: program(),
        started,
        status: Status::Complete,
        plan: Plan {
            layer: "exec".into(),
            verb: "figure".into(),
            command: vec!["sh".into(), "-c".into(), command.into()],
            options: BTreeMap::new(),
            load: "closed".into(),
            seed: 0,
        },
        host: host::facts(&[]),
        far: None,
        target: Target {
            address: "whatever the command measures".into(),
            transport: None,
            server: None,
        },
        validity: Validity::of_all([]),
        floor: None,
        results: vec![result],
    }
}

/// The layer and the options that `words` name.
fn parse(words: &[String]) -> anyhow::Result<(String, ArgMatches)> {
    let line = std::iter::once("plumb").chain(words.iter().map(String::as_str));
    let matches = commands::all().try_get_matches_from(line).map_err(|error| {
        let text = error.to_string();
        anyhow!("{}", text.trim().trim_start_matches("error: ").to_owned())
    })?;
    match matches.subcommand() {
        Some((layer, matches)) if layers::find(layer).is_some() => {
            Ok((layer.to_owned(), matches.clone()))
        }
        _ => bail!("only commands that measure can be compared, for example `net ping HOST`"),
    }
}

/// The measurement that `words` ask for.
fn job(words: &[String]) -> anyhow::Result<Box<dyn Measure>> {
    let (name, matches) = parse(words)?;
    let layer = layers::find(&name).ok_or_else(|| anyhow!("there is no layer `{name}`"))?;
    match layer.job(&matches).map_err(plain)? {
        Job::Measure(job) => Ok(job),
        Job::Serve(_) => {
            bail!("a server measures nothing: start it yourself and compare commands that drive it")
        }
    }
}

fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}
