//! One of the things compared, and how a block of it is measured.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{
    Clock as _, DriverFacts, Figure, Plan, ResultRecord, RunRecord, SCHEMA, Span, Status, Target,
    Validity,
};
use plumb_report::{RunFolder, html};

use super::{program, shell};
use crate::job::{measurement, parse};
use crate::measure::measure;
use crate::{commands, host, options_file, progress};

/// Intervals that a block is written down in: fine enough to cut off a warm-up.
const INTERVALS: u64 = 20;
const INTERVAL_MIN_MS: u64 = 50;
const INTERVAL_MAX_MS: u64 = 1_000;
/// Options that a block gets from the experiment, by their names in the definition.
const OURS: [&str; 4] = ["out", "json", "markdown", options_file::PRINT];
/// Words of a command that measures: its layer and its verb.
const COMMAND_WORDS: usize = 2;

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
        let mut words = with_options(&words).with_context(|| format!("`{command}`"))?;
        let (_, matches) = parse(&words).with_context(|| format!("`{command}`"))?;
        let leaf = leaf(&matches);
        let takes = |id: &str| leaf.try_contains_id(id).is_ok();
        let says = |id: &str| leaf.value_source(id) == Some(ValueSource::CommandLine);
        let lacks = |id: &str| takes(id) && !says(id);
        if let Some(id) = OURS.iter().find(|id| takes(id) && says(id)) {
            let option = id.replace('_', "-");
            bail!("`{command}`: --{option} belongs to plumb ab itself, not to one of its commands");
        }
        if takes("jtl") && says("jtl") {
            bail!(
                "`{command}`: --jtl names one file, and each command runs many times: leave it out"
            );
        }
        if lacks("for_time") && lacks("count") {
            add(&mut words, format!("--for={block}"));
        }
        if lacks("interval") {
            let length = leaf.try_get_one::<Span>("for_time").ok().flatten();
            let ms = length.unwrap_or(&block).ns() / 1_000_000 / INTERVALS;
            let ms = ms.clamp(INTERVAL_MIN_MS, INTERVAL_MAX_MS);
            add(&mut words, format!("--interval={ms}ms"));
        }
        measurement(&words).with_context(|| format!("`{command}`"))?;
        Ok(Self { name, command: command.into(), before, kind: Kind::Plumb(words) })
    }

    /// Measures one block of it into `folder`; `title` stands before the progress.
    pub(crate) fn measure(&self, folder: &Path, title: &str, stop: &Stop) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Plumb(words) => {
                let mut words = words.clone();
                add(&mut words, format!("--out={}", folder.display()));
                let mut job = measurement(&words)?;
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

/// `words` with the options of the file that they name, which is read only now: what is in it
/// later changes nothing.
fn with_options(words: &[String]) -> anyhow::Result<Vec<String>> {
    let line: Vec<OsString> =
        std::iter::once("plumb").chain(words.iter().map(String::as_str)).map(Into::into).collect();
    let line = options_file::expand(&commands::all(), &line)?;
    let words = line.into_iter().skip(1).map(OsString::into_string);
    words.collect::<Result<_, _>>().map_err(|word| anyhow!("{} is not UTF-8", word.display()))
}

/// Adds an option in front of the others, since positional arguments may end them.
fn add(words: &mut Vec<String>, option: String) {
    words.insert(COMMAND_WORDS.min(words.len()), option);
}

fn leaf(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| leaf(inner))
}
