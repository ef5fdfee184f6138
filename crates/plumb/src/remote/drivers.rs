//! Who drives the loads of a measurement: this process alone, this process as a controller says, or
//! remotes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use plumb_command::plain;
use plumb_engine::layer::Measure;
use plumb_engine::{Gate, IntervalRecords, LoadResult, Stop};
use plumb_measure::{RemoteSelector, ResultRecord, Transport};
use plumb_remote::{ClockOffset, Fleet, Hello, Led, Nats, PlanFiles, RemotePart};
use serde_json::{Value, json};

use super::{target, told};
use crate::commands;
use crate::job::with_further;

/// Options of the controller that are none of its remotes, each with the words behind it.
const OWN: [(&str, usize); 13] = [
    ("--remotes", 1),
    ("--metrics", 1),
    ("--otlp", 1),
    ("--remote-write", 1),
    ("--junit", 1),
    ("--sarif", 1),
    ("--summary", 1),
    OPTIONS,
    ("--out", 1),
    ("-o", 1),
    ("--seed", 1), // told to each, whether it is given or not
    ("--json", 0),
    ("--markdown", 0),
];

/// Short options without a value.
const FLAGS: [char; 2] = ['4', '6'];
/// The speed of a link, which is of this machine. A remote that measures alone is told it.
const LINK: (&str, usize) = ("--link", 1);
/// The file of options, which lies here.
const OPTIONS: (&str, usize) = ("--options", 1);

/// Who drives.
#[derive(Debug)]
pub(crate) enum Drivers {
    /// This process, when its connections stand.
    Here,
    /// This process, when its controller says so, who hears of all that comes of it.
    Led {
        /// What the controller decides.
        led: Led,
        /// The controller's process, where it is one of this machine.
        leader: Option<u32>,
    },
    /// Remotes.
    Remotes(Box<Fleet>),
}

impl Drivers {
    /// Those that `job` asks for, remotes with their part of `command`, unless `stop` is asked before they
    /// can be.
    pub(crate) fn of(
        job: &mut dyn Measure,
        command: &[String],
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let Some(remotes) = job.remotes().cloned() else { return Ok(Self::Here) };
        let spread = job.spread().map_err(plain)?;
        let told = spread.words();
        let files = match remotes {
            RemoteSelector::Local(_) => PlanFiles::default(), // they see what is here
            RemoteSelector::Nats { .. } => PlanFiles::read(&job.files())?,
        };
        let mut fleet = match remotes {
            RemoteSelector::Local(count) => {
                let program = std::env::current_exe().context("this program cannot be found")?;
                Fleet::local(count, &program)?
            }
            RemoteSelector::Nats { url, of } => {
                let target = target::of_controller(url.as_deref())?;
                Fleet::nats(&Nats::connect(&target, stop)?, &of)?
            }
        };
        // a file of options lies here
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let words = plumb_options::expand(&commands::all(), &words)?;
        let words: Vec<String> =
            words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let seed = ["--seed".to_owned(), job.outline().seed.to_string()];
        let further = [&seed[..], &told].concat();
        fleet.begin(&with_further(&of_remotes(&words), &further), files);
        Ok(Self::Remotes(Box::new(fleet)))
    }

    /// Who they are, and how they were `asked` for, for the run record.
    pub(crate) fn in_force(&self, asked: Option<&RemoteSelector>) -> BTreeMap<String, Value> {
        let (Self::Remotes(fleet), Some(asked)) = (self, asked) else { return BTreeMap::new() };
        let of = |(hello, offset): (&Hello, ClockOffset)| {
            json!({
                "name": hello.name,
                "host": hello.host,
                "kernel": hello.kernel,
                "cpus": hello.cpus,
                "clock-ahead-ns": offset.ahead_ns,
                "clock-uncertainty-ns": offset.uncertainty_ns,
            })
        };
        BTreeMap::from([
            ("remotes".to_owned(), fleet.members().map(of).collect()),
            ("remotes-asked".to_owned(), asked.asked_for().into()),
        ])
    }

    /// What the least known clock of the remotes may be off, nanoseconds; 0 without any.
    pub(crate) fn clock_uncertainty_ns(&self) -> u64 {
        let Self::Remotes(fleet) = self else { return 0 };
        fleet.members().map(|(_, offset)| offset.uncertainty_ns).max().unwrap_or(0)
    }

    /// Takes the remotes out, if there are any.
    pub(crate) fn take_fleet(&mut self) -> Option<Box<Fleet>> {
        match std::mem::replace(self, Self::Here) {
            Self::Remotes(fleet) => Some(fleet),
            other => {
                *self = other;
                None
            }
        }
    }

    /// The controller, where it is on this machine.
    pub(crate) fn leader(&self) -> Option<u32> {
        match self {
            Self::Led { leader, .. } => *leader,
            Self::Here | Self::Remotes(_) => None,
        }
    }

    /// Where the next load waits for its controller.
    pub(crate) fn gate(&mut self) -> Option<Arc<Gate>> {
        match self {
            Self::Led { led, .. } => Some(led.gate()),
            Self::Here | Self::Remotes(_) => None,
        }
    }

    pub(crate) fn began(&self, transport: Option<&Transport>) {
        if let Self::Led { led, .. } = self {
            led.began(transport);
        }
    }

    pub(crate) fn interval(&self, records: &IntervalRecords) {
        if let Self::Led { led, .. } = self {
            led.interval(records);
        }
    }

    pub(crate) fn loaded(&self, load: &LoadResult<()>) {
        if let Self::Led { led, .. } = self {
            led.loaded(load);
        }
    }

    pub(crate) fn result(&self, result: &ResultRecord) {
        if let Self::Led { led, .. } = self {
            led.result(result);
        }
    }

    /// The measurement is over: what each remote hands over goes into the folder of the run.
    pub(crate) fn end(self, run: &Path, stop: &Stop) -> anyhow::Result<()> {
        let Self::Remotes(mut fleet) = self else { return Ok(()) };
        let folder = run.join("remotes");
        std::fs::create_dir(&folder)?;
        for RemotePart { name, record, files } in fleet.end(stop, told) {
            if let Some(record) = record {
                std::fs::write(folder.join(format!("{name}.json")), record.to_json())?;
            }
            let own = folder.join(name);
            if !files.is_empty() {
                std::fs::create_dir(&own)?;
            }
            for (name, bytes) in files {
                std::fs::write(own.join(name), bytes)?;
            }
        }
        Ok(())
    }
}

/// `words` as the remotes of a load are told them: without what is of the controller and its machine.
fn of_remotes(words: &[String]) -> Vec<String> {
    without(&without_own(words), &[LINK])
}

/// `words` without the options that are the controller's own.
pub(super) fn without_own(words: &[String]) -> Vec<String> {
    without(words, &OWN)
}

/// `words` without the options of the file whose options stand among them already.
pub(super) fn without_options_file(words: &[String]) -> Vec<String> {
    without(words, &[OPTIONS])
}

fn without(words: &[String], options: &[(&str, usize)]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(words.by_ref().cloned()); // arguments, whatever they look like
            break;
        }
        let (flags, name, joined) = parts_of(word);
        match options.iter().find(|(own, _)| *own == name) {
            Some((_, behind)) => {
                kept.extend((!flags.is_empty()).then(|| flags.to_owned()));
                let behind = if joined { 0 } else { *behind };
                words.by_ref().take(behind).for_each(drop);
            }
            None => kept.push(word.clone()),
        }
    }
    kept
}

/// The option that `word` names, short options without a value that stand before it in the same word, and
/// whether its value stands in it, too.
fn parts_of(word: &str) -> (&str, &str, bool) {
    if word.starts_with("--") {
        return word.split_once('=').map_or(("", word, false), |(name, _)| ("", name, true));
    }
    let letters = word.strip_prefix('-').unwrap_or_default().trim_start_matches(FLAGS);
    let (flags, name) = word.split_at(word.len() - letters.len());
    match letters.starts_with('o') {
        true => (if flags == "-" { "" } else { flags }, "-o", name.len() > 1),
        false => ("", word, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_the_controller_are_its_own() {
        let words =
            "net ping h --remotes local:2 --size 1B --out=x --json --out y --seed 7 --for 1s";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(without_own(&words).join(" "), "net ping h --size 1B --for 1s");
        let short = "net ping h -o run -c 4 -orun -o=run -4o run -4 -64orun -r 5";
        let short: Vec<String> = short.split(' ').map(str::to_owned).collect();
        assert_eq!(without_own(&short).join(" "), "net ping h -c 4 -4 -4 -64 -r 5");
        let linked = "net ping h --link eth0=1Gbit --link=eth1=1Gbit -r 5";
        let linked: Vec<String> = linked.split(' ').map(str::to_owned).collect();
        assert_eq!(of_remotes(&linked).join(" "), "net ping h -r 5");
        assert_eq!(without_own(&linked), linked, "one that measures alone is told");
        let ended = ["net", "ping", "--json", "--", "--json"].map(str::to_owned);
        assert_eq!(without_own(&ended).join(" "), "net ping -- --json");
    }
}
