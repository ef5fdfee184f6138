//! How one block is measured: a command line of ours, or a shell command that prints a figure.

use plumb_experiment::names::{FOLDER, Values};
use plumb_experiment::{Template, inputs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use plumb_command::plain;
use plumb_engine::Stop;
use plumb_engine::layer::Outline;
use plumb_engine::options::HostOptions;
use plumb_measure::Span;

use super::of_shell::{self, ShellFigure};
use super::words::{depth, or_of_shell, split};
use crate::job::{into_folder, known, leaf, measurement, parse, receivers, watching, with_options};
use crate::measure::{Run, measure};
use crate::{layers, progress};

/// Intervals that a block is written down in: fine enough to cut off a warm-up.
const INTERVALS: u64 = 20;
const INTERVAL_MIN_MS: u64 = 50;
const INTERVAL_MAX_MS: u64 = 1_000;
/// Options that a block gets from the experiment, by their names in the definition.
const OURS: [&str; 7] =
    ["out", "json", "markdown", "junit", "sarif", "summary", plumb_options::PRINT];
/// What a block takes beside its measurement: connecting, the tool's floor, writing.
const AROUND_NS: u64 = 50_000_000;

/// How one block is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    kind: ProbeCommand,
    /// About how long a block takes, nanoseconds; `None` where that cannot be known.
    pub(crate) takes_ns: Option<u64>,
    /// The files that its command names: while the experiment lasts they stay as they are.
    pub(crate) inputs: BTreeSet<PathBuf>,
    /// What it measures, in words: only what measures the same can be compared.
    pub(crate) what: String,
    /// Points of its plan: each has a primary figure of its own.
    pub(crate) points: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProbeCommand {
    /// The words of a command line of ours; what is known only when a block begins, `open`, stands
    /// in it by its stand-ins. Options are added behind the first `depth` words, since positional
    /// arguments may end them.
    Plumb { words: Vec<String>, depth: usize, open: Vec<String> },
    /// A shell command that prints a figure, or is timed; servers stand in it by their names.
    Shell { command: Template, timeout: Span, taken: ShellFigure },
}

impl Probe {
    /// A shell command whose figure is the one with this key.
    pub(crate) fn shell(command: Template, timeout: Span, figure: Option<&str>) -> Self {
        let inputs = inputs::of_shell(&command.text());
        let taken = ShellFigure::of_key(figure);
        let what = match taken {
            ShellFigure::Printed => "the figure of a shell command".into(),
            ShellFigure::Cost | ShellFigure::Memory => "what a shell command takes".into(),
        };
        Self {
            kind: ProbeCommand::Shell { command, timeout, taken },
            takes_ns: None,
            inputs,
            what,
            points: 1,
        }
    }

    /// A command of ours that measures; `block` is its length unless it says so itself, `open`
    /// are the names that are left open in it.
    pub(crate) fn plumb(command: &Template, open: &[&str], block: Span) -> anyhow::Result<Self> {
        let shown = command.text();
        Self::of_words(command, open, block).with_context(|| format!("`{shown}`"))
    }

    fn of_words(command: &Template, open: &[&str], block: Span) -> anyhow::Result<Self> {
        let at = |name: &str| open.iter().position(|known| *known == name).map(stand_in);
        let plain_words = split(&command.fill(at).text())?;
        let mut words = with_options(&plain_words)?;
        let mut inputs = inputs::of_command(&plain_words);
        inputs.extend(inputs::of_command(&words));
        let (layer, matches) = parse(&words).map_err(|error| or_of_shell(error, &words))?;
        let depth = depth(&matches);
        let options = Options { known: &known(&layer, &matches), given: leaf(&matches) };
        options.refuse_ours(at(FOLDER).as_deref())?;
        if options.lacks("for_time") && !options.says("count") && !says_length(&layer, &matches)? {
            words.insert(depth, format!("--for={block}"));
        }
        let outline = measurement(&words)?.outline();
        let points = (outline.points as u64).max(1);
        if options.lacks("interval") {
            let warmup_ns = options.span_ns("warmup");
            let recorded = |all: Span| (all.ns() / points).saturating_sub(warmup_ns);
            let ms = outline.takes.map_or(block.ns(), recorded) / 1_000_000 / INTERVALS;
            let ms = ms.clamp(INTERVAL_MIN_MS, INTERVAL_MAX_MS);
            words.insert(depth, format!("--interval={ms}ms"));
        }
        let takes_ns = outline.takes.map(|all| all.ns().saturating_add(AROUND_NS));
        let open = open.iter().map(|name| (*name).to_owned()).collect();
        let kind = ProbeCommand::Plumb { words, depth, open };
        Ok(Self { kind, takes_ns, inputs, what: what(&outline), points })
    }

    /// The same, which takes about `time` where nothing else is known.
    pub(crate) fn or_takes(self, time: Option<Span>) -> Self {
        Self { takes_ns: self.takes_ns.or(time.map(Span::ns)), ..self }
    }

    /// The command of the shell; `None` for one of ours.
    pub(crate) fn shell_command(&self) -> Option<String> {
        match &self.kind {
            ProbeCommand::Shell { command, .. } => Some(command.text()),
            ProbeCommand::Plumb { .. } => None,
        }
    }

    /// True when its command names the folder of its block.
    pub(crate) fn names_folder(&self) -> bool {
        match &self.kind {
            ProbeCommand::Plumb { words, open, .. } => {
                let folder = open.iter().position(|name| name == FOLDER).map(stand_in);
                folder.is_some_and(|folder| words.iter().any(|word| word.contains(&folder)))
            }
            ProbeCommand::Shell { command, .. } => command.names().any(|name| name == FOLDER),
        }
    }

    /// Measures one block into `folder`. `known` is what is known now that it begins: the addresses
    /// of the servers, and where commands leave files; `host` is how the machine is watched, as far
    /// as the command does not say it; `title` stands before the progress.
    pub(crate) fn measure(
        &self,
        known: &Values,
        host: &HostOptions,
        (folder, title): (&Path, &str),
        stop: &Stop,
    ) -> anyhow::Result<()> {
        match &self.kind {
            ProbeCommand::Plumb { words, depth, open } => {
                let mut words: Vec<String> =
                    words.iter().map(|word| with_known(word, open, known)).collect();
                words.splice(*depth..*depth, unsaid(&words, host)?);
                words.insert(*depth, into_folder(folder)?);
                let mut job = measurement(&words)?;
                let receivers = receivers(&words)?;
                let command: Vec<String> =
                    std::iter::once("plumb".to_owned()).chain(words).collect();
                measure(job.as_mut(), &command, title, &receivers, stop)
                    .and_then(Run::kept)
                    .map(drop)
            }
            ProbeCommand::Shell { command, timeout, taken } => {
                let command = command.fill(|name| known.get(name).cloned()).text();
                progress::say(&format!("{title}{command}"));
                let asked = of_shell::measure((&command, *taken), *timeout, folder, host, stop);
                progress::clear();
                asked
            }
        }
    }
}

/// The options of a command line of ours, by their names in its definition.
#[derive(Clone, Copy)]
struct Options<'a> {
    /// Those that the command takes.
    known: &'a BTreeSet<String>,
    given: &'a ArgMatches,
}

impl Options<'_> {
    fn takes(self, id: &str) -> bool {
        self.known.contains(id)
    }

    fn says(self, id: &str) -> bool {
        self.takes(id) && self.given.value_source(id) == Some(ValueSource::CommandLine)
    }

    fn lacks(self, id: &str) -> bool {
        self.takes(id) && !self.says(id)
    }

    /// A time in nanoseconds; 0 where the command has no such option, or no value for it.
    fn span_ns(self, id: &str) -> u64 {
        self.given.try_get_one::<Span>(id).ok().flatten().map_or(0, |span| span.ns())
    }

    /// Refuses what belongs to the experiment, and a file that all blocks would share; `folder`
    /// stands for one that each has of its own.
    fn refuse_ours(self, folder: Option<&str>) -> anyhow::Result<()> {
        if let Some(id) = OURS.iter().find(|id| self.says(id)) {
            let option = id.replace('_', "-");
            bail!("--{option} belongs to the experiment, not to one of its commands");
        }
        let jtl = self.given.try_get_one::<PathBuf>("jtl").ok().flatten();
        let shared =
            |path: &PathBuf| folder.is_none_or(|folder| !path.to_string_lossy().contains(folder));
        if jtl.is_some_and(shared) {
            bail!(
                "--jtl names one file, and each command runs many times: write for example --jtl \
                 ${{{FOLDER}}}/operations.jtl"
            );
        }
        Ok(())
    }
}

/// What a measurement is, for example `net ping under closed load, 3 points`.
fn what(outline: &Outline) -> String {
    let load = if outline.open { "open" } else { "closed" };
    let points = match outline.points {
        0 | 1 => String::new(),
        several => format!(", {several} points"),
    };
    format!("{} {} under {load} load{points}", outline.layer, outline.verb)
}

/// True when a file that the command names says how long it measures.
fn says_length(layer: &str, matches: &ArgMatches) -> anyhow::Result<bool> {
    layers::find(layer).map_or(Ok(false), |layer| layer.says_length(matches).map_err(plain))
}

/// Options that watch the machine as `host` says, of those that `words` leave unsaid.
fn unsaid(words: &[String], host: &HostOptions) -> anyhow::Result<Vec<String>> {
    let (layer, matches) = parse(words)?;
    let options = Options { known: &known(&layer, &matches), given: leaf(&matches) };
    if *host == HostOptions::default() {
        return Ok(Vec::new());
    }
    let lacking = |word: &String| {
        let name = word.split('=').next().unwrap_or_default().trim_start_matches('-');
        options.lacks(&name.trim_end_matches("-from").replace('-', "_"))
    };
    Ok(watching(host).into_iter().filter(lacking).collect())
}

/// An address that stands for what is known only when a block begins. Commands are read, and what
/// is wrong in them is told, before any server is started.
fn stand_in(number: usize) -> String {
    // with as many digits for every name none is the beginning of another
    format!("127.255.255.254:{}", 40_001 + number)
}

fn with_known(word: &str, open: &[String], known: &Values) -> String {
    let named = open.iter().enumerate();
    named.fold(word.to_owned(), |word, (number, name)| match known.get(name) {
        Some(value) => word.replace(&stand_in(number), value),
        None => word,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use plumb_measure::{ForeignLimit, LimitSource, Share};

    const OPEN: [&str; 3] = ["echo", "other", FOLDER];

    fn probe(command: &str) -> anyhow::Result<Probe> {
        let block = "300ms".parse().unwrap();
        Probe::plumb(&Template::parse(command).unwrap(), &OPEN, block)
    }

    fn words(probe: &Probe) -> &[String] {
        let ProbeCommand::Plumb { words, .. } = &probe.kind else { unreachable!("{probe:?}") };
        words
    }

    #[test]
    fn a_block_is_predicted_from_its_points_its_length_and_its_warm_up() {
        let takes = |command| probe(command).unwrap().takes_ns;
        assert_eq!(takes("net ping ${echo}"), Some(AROUND_NS + 500_000_000));
        let sweep = "net ping ${echo} --size 1B,2B --for 1s --warmup 100ms";
        assert_eq!(takes(sweep), Some(AROUND_NS + 2 * 1_100_000_000));
        assert_eq!(takes("net ping ${echo} --count 10"), None);
        assert_eq!(takes("net stream ${echo}"), Some(AROUND_NS + 300_000_000));
        let guessed = probe("net ping ${echo} --count 10").unwrap();
        assert_eq!(guessed.or_takes("3s".parse().ok()).takes_ns, Some(3_000_000_000));
        let known = probe("net ping ${echo}").unwrap();
        assert_eq!(known.or_takes("3s".parse().ok()).takes_ns, Some(AROUND_NS + 500_000_000));
    }

    /// A scenario with these keys of the file, and these of its users.
    fn scenario(at: &Path, file: &str, users: &str) -> Probe {
        let step = "[[scenario.step]]\nget = \"/\"\n";
        let text = format!("{file}\n[[scenario]]\nname = \"a\"\n{users}\n{step}");
        fs::write(at.join("s.toml"), text).unwrap();
        let path = at.join("s.toml");
        probe(&format!("http load {} --base http://${{echo}}", path.display())).unwrap()
    }

    #[test]
    fn a_scenario_lasts_as_long_as_it_says_and_else_as_a_block() {
        let at = tempfile::tempdir().unwrap();
        let has = |probe: &Probe, word: &str| words(probe).contains(&word.to_owned());
        let own = scenario(at.path(), "for = \"10s\"\nwarmup = \"6s\"", "");
        assert_eq!(own.takes_ns, Some(AROUND_NS + 16_000_000_000));
        assert!(!has(&own, "--for=300ms"), "{own:?}");
        let staged = scenario(at.path(), "", "stages = [{ over = \"20s\", users = 3 }]");
        assert_eq!(staged.takes_ns, Some(AROUND_NS + 20_000_000_000));
        let counted = scenario(at.path(), "", "iterations = 1");
        assert_eq!(counted.takes_ns, None);
        assert!(
            !has(&counted, "--for=300ms"),
            "its users would not come to their end: {counted:?}"
        );
        let endless = scenario(at.path(), "", "users = 2");
        assert_eq!(endless.takes_ns, Some(AROUND_NS + 300_000_000));
        assert!(has(&endless, "--for=300ms"), "{endless:?}");
    }

    #[test]
    fn what_is_known_when_a_block_begins_takes_the_place_of_what_stood_for_it() {
        let probe = probe("net ping ${other} --size 1B").unwrap();
        assert!(words(&probe).contains(&stand_in(1)), "{probe:?}");
        let open = OPEN.map(String::from);
        let known = Values::from([("other".to_owned(), "127.0.0.1:7".to_owned())]);
        assert_eq!(with_known(&stand_in(1), &open, &known), "127.0.0.1:7");
        assert_eq!(with_known(&stand_in(0), &open, &known), stand_in(0));
        assert!(!probe.names_folder());
    }

    #[test]
    fn options_are_added_behind_all_words_of_the_command() {
        let probe = probe("lock load pairs ${echo}").unwrap();
        let ProbeCommand::Plumb { words, depth, .. } = &probe.kind else {
            unreachable!("{probe:?}")
        };
        assert_eq!((&words[..3], *depth), (&["lock", "load", "pairs"].map(String::from)[..], 3));
    }

    #[test]
    fn the_machine_is_watched_as_the_experiment_says_unless_the_command_does() {
        let source = LimitSource::OptionsFile;
        let host = HostOptions {
            host_interval: Span::from_ms(100),
            foreign_limit: ForeignLimit { share: Share::percent(40), source },
            far_host: None,
            link: Vec::new(),
        };
        let unsaid = |command, host| unsaid(words(&probe(command).unwrap()), host).unwrap();
        let limit = ["--foreign-limit=40%", "--foreign-limit-from=options-file"];
        assert_eq!(unsaid("net ping ${echo} --host-interval 50ms", &host), limit);
        let interval = ["--host-interval=100ms"];
        assert_eq!(unsaid("net ping ${echo} --foreign-limit 9%", &host), interval);
        assert_eq!(unsaid("net ping ${echo}", &HostOptions::default()), [""; 0]);
    }

    #[test]
    fn what_belongs_to_the_experiment_is_refused() {
        let error = format!("{:#}", probe("net ping ${echo} --json").unwrap_err());
        assert!(error.contains("`net ping ${echo} --json`: --json belongs to"), "{error}");
    }

    #[test]
    fn single_operations_go_into_a_file_of_each_block() {
        let page = "http ping http://${echo}/ --jtl";
        let error = format!("{:#}", probe(&format!("{page} all.jtl")).unwrap_err());
        assert!(error.contains("--jtl ${folder}/operations.jtl"), "{error}");
        assert!(probe(&format!("{page} ${{folder}}/all.jtl")).unwrap().names_folder());
    }
}
