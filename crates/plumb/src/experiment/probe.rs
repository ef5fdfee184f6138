//! How one block is measured: a command line of ours, or a shell command that prints a figure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::parser::ValueSource;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{
    Clock as _, DriverFacts, Figure, Plan, ResultRecord, RunRecord, SCHEMA, Span, Status, Target,
    Validity,
};
use plumb_report::{RunFolder, html};
use plumb_wire::document::nearest;
use toml::Spanned;

use super::fault::Fault;
use super::file::{ProbeSection, Scalar, VariantSection};
use super::names::Scope;
use super::template::Template;
use super::words::{depth, leaf, split, with_options};
use super::{program, shell};
use crate::job::{measurement, parse};
use crate::measure::measure;
use crate::{host, options_file, progress};

/// Intervals that a block is written down in: fine enough to cut off a warm-up.
const INTERVALS: u64 = 20;
const INTERVAL_MIN_MS: u64 = 50;
const INTERVAL_MAX_MS: u64 = 1_000;
/// Options that a block gets from the experiment, by their names in the definition.
const OURS: [&str; 4] = ["out", "json", "markdown", options_file::PRINT];
/// What a block takes beside its measurement: connecting, the tool's floor, writing.
const AROUND_NS: u64 = 50_000_000;
/// The key of the figure that a shell command prints.
const PRINTED: &str = "figure";

/// How one block is measured.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    kind: Kind,
    /// About how long a block takes, nanoseconds; `None` where that cannot be known.
    pub(crate) takes_ns: Option<u64>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The words of a command line of ours; servers stand in it by their stand-ins. Options are
    /// added behind the first `depth` words, since positional arguments may end them.
    Plumb { words: Vec<String>, depth: usize, servers: Vec<String> },
    /// A shell command that prints a figure; servers stand in it by their names.
    Shell { command: Template, timeout: Span },
}

/// The servers that are ready, by name.
pub(crate) type Addresses = BTreeMap<String, String>;

impl Probe {
    /// A shell command that prints a figure.
    pub(crate) fn shell(command: Template, timeout: Span, takes: Option<Span>) -> Self {
        Self { kind: Kind::Shell { command, timeout }, takes_ns: takes.map(Span::ns) }
    }

    /// A command of ours that measures; `block` is its length unless it says so itself, `servers`
    /// are the names that are left open in it.
    pub(crate) fn plumb(command: &Template, servers: &[&str], block: Span) -> anyhow::Result<Self> {
        let at = |name: &str| servers.iter().position(|server| *server == name).map(stand_in);
        let shown = command.text();
        let mut words = split(&command.fill(at).text())
            .and_then(|words| with_options(&words))
            .with_context(|| format!("`{shown}`"))?;
        let (_, matches) = parse(&words).with_context(|| format!("`{shown}`"))?;
        let (options, depth) = (leaf(&matches), depth(&matches));
        let takes = |id: &str| options.try_contains_id(id).is_ok();
        let says =
            |id: &str| takes(id) && options.value_source(id) == Some(ValueSource::CommandLine);
        let lacks = |id: &str| takes(id) && !says(id);
        if let Some(id) = OURS.iter().find(|id| says(id)) {
            let option = id.replace('_', "-");
            bail!("`{shown}`: --{option} belongs to the experiment, not to one of its commands");
        }
        if says("jtl") {
            bail!(
                "`{shown}`: --jtl names one file, and each command runs many times: leave it out"
            );
        }
        let span = |id: &str| options.try_get_one::<Span>(id).ok().flatten().map(|it| it.ns());
        let counted = says("count");
        let lacks_length = lacks("for_time") && !counted;
        let length_ns =
            if lacks_length { block.ns() } else { span("for_time").unwrap_or(block.ns()) };
        if lacks_length {
            words.insert(depth, format!("--for={block}"));
        }
        if lacks("interval") {
            let ms = length_ns / 1_000_000 / INTERVALS;
            let ms = ms.clamp(INTERVAL_MIN_MS, INTERVAL_MAX_MS);
            words.insert(depth, format!("--interval={ms}ms"));
        }
        let points =
            measurement(&words).with_context(|| format!("`{shown}`"))?.outline().points as u64;
        let point_ns = length_ns + span("warmup").unwrap_or(0);
        let takes_ns = (!counted).then(|| AROUND_NS + points.max(1).saturating_mul(point_ns));
        let servers = servers.iter().map(|server| (*server).to_owned()).collect();
        Ok(Self { kind: Kind::Plumb { words, depth, servers }, takes_ns })
    }

    /// Measures one block into `folder`; `title` stands before the progress.
    pub(crate) fn measure(
        &self,
        addresses: &Addresses,
        folder: &Path,
        title: &str,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Plumb { words, depth, servers } => {
                let mut words: Vec<String> =
                    words.iter().map(|word| with_addresses(word, servers, addresses)).collect();
                words.insert(*depth, format!("--out={}", folder.display()));
                let mut job = measurement(&words)?;
                let command = std::iter::once("plumb".to_owned()).chain(words).collect();
                measure(job.as_mut(), command, title, stop).map(drop)
            }
            Kind::Shell { command, timeout } => {
                let command = command.fill(|name| addresses.get(name).cloned()).text();
                progress::say(&format!("{title}{command}"));
                let asked = ask_shell(&command, *timeout, folder, stop);
                progress::clear();
                asked
            }
        }
    }
}

/// An address that stands for a server until it is known. Commands are read, and what is wrong in
/// them is told, before any server is started.
fn stand_in(number: usize) -> String {
    // with as many digits for every server none is the beginning of another
    format!("127.255.255.254:{}", 40_001 + number)
}

fn with_addresses(word: &str, servers: &[String], addresses: &Addresses) -> String {
    let known = servers.iter().enumerate();
    known.fold(word.to_owned(), |word, (number, name)| match addresses.get(name) {
        Some(address) => word.replace(&stand_in(number), address),
        None => word,
    })
}

/// The name of a probe of several.
pub(super) fn name(section: &ProbeSection) -> Result<&str, Fault> {
    let place = section.run.as_ref().or(section.exec.as_ref());
    match (&section.name, place) {
        (Some(name), _) => Ok(name.get_ref()),
        (None, Some(place)) => Err(Fault::at(place, "one of several probes needs a `name`")),
        (None, None) => Err(Fault::of_all("a [[probe]] needs a `name`, and `run` or `exec`")),
    }
}

/// The command of a probe under `variant`, with factors and servers left open.
pub(super) fn template(
    section: &ProbeSection,
    variant: &VariantSection,
    scope: &Scope<'_>,
) -> Result<Template, Fault> {
    let command = match (&section.run, &section.exec) {
        (Some(run), None) => run,
        (None, Some(exec)) => return scope.template(exec, scope.servers()),
        (Some(_), Some(exec)) => {
            return Err(Fault::at(exec, "a probe has either `run` or `exec`, not both"));
        }
        (None, None) => {
            let problem = "a probe has either `run` (words behind plumb) or `exec` (a shell \
                           command)";
            return Err(match &section.name {
                Some(name) => Fault::at(name, problem),
                None => Fault::of_all(problem),
            });
        }
    };
    let mut template = scope.template(command, scope.servers())?;
    if let Some(words) = &variant.words {
        template = template.and(scope.template(words, scope.servers())?);
    }
    for (name, value) in &variant.options {
        let option = match value.get_ref() {
            Scalar::Flag(false) => continue,
            Scalar::Flag(true) => format!("--{name}"),
            value => {
                let value = value.to_string();
                let quoted = shlex::try_quote(&value)
                    .map_err(|error| Fault::at(&variant.name, format!("`{name}`: {error}")))?;
                format!("--{name}={quoted}")
            }
        };
        let option = Spanned::new(value.span(), option);
        template = template.and(scope.template(&option, scope.servers())?);
    }
    Ok(template)
}

/// The key of the figure that decides for a probe.
pub(super) fn figure(section: &ProbeSection) -> Result<Option<String>, Fault> {
    if let Some(higher) = section.higher_is_better.as_ref().filter(|_| section.exec.is_none()) {
        return Err(Fault::at(higher, "which way a figure of ours is good is known: leave it out"));
    }
    let Some(figure) = &section.figure else { return Ok(None) };
    let key = figure.get_ref().as_str();
    let fits = |known: &&str| (*known == PRINTED) == section.exec.is_some();
    let known: Vec<&str> = plumb_lab::deciding().filter(fits).collect();
    if known.contains(&key) {
        return Ok(Some(key.to_owned()));
    }
    let meant = nearest(key, known.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
    let problem = format!(
        "`{key}` can decide nothing here; one of {} can{}",
        known.join(", "),
        meant.unwrap_or_default()
    );
    Err(Fault::at(figure, problem))
}

fn ask_shell(command: &str, timeout: Span, path: &Path, stop: &Stop) -> anyhow::Result<()> {
    let folder = RunFolder::create_new(path)?;
    let began_ns = MonotonicClock.now_ns();
    let started = clock::utc(clock::wall_ns());
    let asked =
        shell::run(command, timeout, stop).and_then(|printed| shell::figure(command, &printed));
    let figure = match asked {
        Ok(figure) => figure,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let duration_ns = MonotonicClock.now_ns() - began_ns;
    let record = record_of(command, started, figure, duration_ns);
    folder.write_record(&record)?;
    folder.write_report(&html::render(&record))?;
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(command: &str) -> anyhow::Result<Probe> {
        let block = "300ms".parse().unwrap();
        Probe::plumb(&Template::parse(command).unwrap(), &["echo", "other"], block)
    }

    #[test]
    fn a_block_is_predicted_from_its_points_its_length_and_its_warm_up() {
        let takes = |command| probe(command).unwrap().takes_ns;
        assert_eq!(takes("net ping ${echo}"), Some(AROUND_NS + 500_000_000));
        let sweep = "net ping ${echo} --size 1B,2B --for 1s --warmup 100ms";
        assert_eq!(takes(sweep), Some(AROUND_NS + 2 * 1_100_000_000));
        assert_eq!(takes("net ping ${echo} --count 10"), None);
        assert_eq!(takes("net stream ${echo}"), Some(AROUND_NS + 300_000_000));
    }

    #[test]
    fn a_server_is_known_to_the_words_when_it_is_ready() {
        let probe = probe("net ping ${other} --size 1B").unwrap();
        let Kind::Plumb { words, servers, .. } = &probe.kind else { panic!("{probe:?}") };
        assert!(words.contains(&stand_in(1)), "{words:?}");
        let addresses = Addresses::from([("other".to_owned(), "127.0.0.1:7".to_owned())]);
        assert_eq!(with_addresses(&stand_in(1), servers, &addresses), "127.0.0.1:7");
        assert_eq!(with_addresses(&stand_in(0), servers, &addresses), stand_in(0));
    }

    #[test]
    fn options_are_added_behind_all_words_of_the_command() {
        let probe = probe("lock load pairs ${echo}").unwrap();
        let Kind::Plumb { words, depth, .. } = &probe.kind else { panic!("{probe:?}") };
        assert_eq!((&words[..3], *depth), (&["lock", "load", "pairs"].map(String::from)[..], 3));
    }

    #[test]
    fn what_belongs_to_the_experiment_is_refused() {
        let error = format!("{:#}", probe("net ping ${echo} --json").unwrap_err());
        assert!(error.contains("--json belongs to the experiment"), "{error}");
    }
}
