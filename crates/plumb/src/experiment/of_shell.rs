//! A block of a shell command: the figure that it prints, or what it takes.

use plumb_experiment::shell::{self, CommandCost, ShellError};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::options::HostOptions;
use plumb_folder::RunFolder;
use plumb_measure::{
    Clock as _, DriverFacts, Figure, Plan, ResultRecord, RunRecord, SCHEMA, Span, Status, Target,
    Validity,
};

use super::program;
use super::words::without_secrets;
use crate::host;
use crate::host_watch::HostWatch;
use crate::report::page_of;

/// What is taken of a shell command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShellFigure {
    /// The last number that it prints.
    Printed,
    /// Its time, processor time and memory.
    Cost,
    /// The same; without its memory there is no figure.
    Memory,
}

/// The key of the figure that a shell command prints.
const PRINTED: &str = "figure";

impl ShellFigure {
    /// What is taken where the figure with the key `wanted` decides.
    pub(super) fn of_key(wanted: Option<&str>) -> Self {
        let memory = plumb_lab::COST_KEYS[3];
        match wanted {
            None | Some(PRINTED) => Self::Printed,
            Some(key) if key == memory => Self::Memory,
            Some(_) => Self::Cost,
        }
    }

    /// Has `command` carried out, and says its figures.
    fn of(self, command: &str, timeout: Span, stop: &Stop) -> Result<Vec<Figure>, ShellError> {
        match self {
            Self::Printed => {
                let printed = shell::run(command, timeout, stop)?;
                Ok(vec![Figure {
                    name: plumb_lab::FIGURE.into(),
                    value: shell::figure(command, &printed)?,
                    unit: String::new(),
                    formula: "the last number the command printed".into(),
                }])
            }
            Self::Cost | Self::Memory => {
                let cost = shell::timed(command, timeout, stop)?;
                if self == Self::Memory && cost.memory_bytes.is_none() {
                    return Err(ShellError::SmallerThanOurs { command: command.to_owned() });
                }
                Ok(of_cost(cost))
            }
        }
    }

    /// The verb of its record.
    fn verb(self) -> &'static str {
        match self {
            Self::Printed => "figure",
            Self::Cost | Self::Memory => "time",
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures to compare, far below 2^53")]
fn of_cost(cost: CommandCost) -> Vec<Figure> {
    let s = |ns: u64| ns as f64 / 1e9;
    let times = [cost.wall_ns, cost.user_ns, cost.system_ns].map(|ns| Some(s(ns)));
    let values = times.into_iter().chain([cost.memory_bytes.map(|bytes| bytes as f64)]);
    let meant = [
        ("s", "from the start of the command to its end"),
        ("s", "processor time in its own code, with processes that it waited for"),
        ("s", "the same in the kernel"),
        ("B", "the largest resident set of one of its processes"),
    ];
    let named = plumb_lab::COST.into_iter().zip(values).zip(meant);
    let of = |((name, value), (unit, formula)): ((&str, Option<f64>), (&str, &str))| {
        let (name, unit, formula) = (name.into(), unit.into(), formula.into());
        Some(Figure { name, value: value?, unit, formula })
    };
    named.filter_map(of).collect()
}

/// Runs `command` to its end, at most for `timeout`, and leaves its figure as a run in the folder
/// `path`, with what this machine did meanwhile. Foreign is what neither we nor the processes that
/// the command began did.
pub(super) fn measure(
    (command, taken): (&str, ShellFigure),
    timeout: Span,
    path: &Path,
    host: &HostOptions,
    stop: &Stop,
) -> anyhow::Result<()> {
    let folder = RunFolder::create_new(path)?;
    let mut host_watch = match HostWatch::start(host, None, path, None) {
        Ok(host_watch) => host_watch,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    if let Ok(host_watch) = &mut host_watch {
        host_watch.begin(None);
    }
    let began_ns = MonotonicClock.now_ns();
    let started = clock::utc(clock::wall_ns());
    let (asked, error) = match taken.of(command, timeout, stop) {
        Ok(figures) => (figures, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut result = result_of(asked);
    result.duration_ns = MonotonicClock.now_ns() - began_ns;
    let watched = match host_watch {
        Ok(mut host_watch) => {
            host_watch.testify(&mut result, began_ns);
            host_watch.stop()
        }
        Err(unwatched) => {
            unwatched.testify(&mut result);
            Vec::new()
        }
    };
    if let Some(error) = error {
        for file in watched {
            let _ = fs::remove_file(file); // what is left stays for whoever looks
        }
        folder.discard();
        return Err(error.into());
    }
    let record = record_of((command, taken), started, result);
    folder.write_record(&record)?;
    folder.write_report(&page_of(&record, path))?;
    Ok(())
}

fn result_of(figures: Vec<Figure>) -> ResultRecord {
    ResultRecord {
        operations: 1,
        figures,
        validity: Validity::of_all([]),
        driver: DriverFacts { wait: "shell".into(), threads: 1, ..DriverFacts::default() },
        ..ResultRecord::default()
    }
}

/// The run record of `command`, of which `result` came.
fn record_of(
    (command, taken): (&str, ShellFigure),
    started: String,
    result: ResultRecord,
) -> RunRecord {
    RunRecord {
        schema: SCHEMA.into(),
        plumb: program(),
        started,
        status: Status::Complete,
        plan: Plan {
            layer: "exec".into(),
            verb: taken.verb().into(),
            command: vec!["sh".into(), "-c".into(), without_secrets(command)],
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
        validity: Validity::of_all([("", &result.validity)]),
        floor: None,
        results: vec![result],
    }
}
