//! A block whose figure a shell command prints.

use plumb_experiment::shell;
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

/// Runs `command` to its end, at most for `timeout`, and leaves its figure as a run in the folder
/// `path`, with what this machine did meanwhile. Foreign is what neither we nor the processes that
/// the command began did.
pub(super) fn measure(
    command: &str,
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
    let asked =
        shell::run(command, timeout, stop).and_then(|printed| shell::figure(command, &printed));
    let mut result = result_of(asked.as_ref().copied().unwrap_or(0.0));
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
    if let Err(error) = asked {
        for file in watched {
            let _ = fs::remove_file(file); // what is left stays for whoever looks
        }
        folder.discard();
        return Err(error.into());
    }
    let record = record_of(command, started, result);
    folder.write_record(&record)?;
    folder.write_report(&page_of(&record, path))?;
    Ok(())
}

fn result_of(figure: f64) -> ResultRecord {
    ResultRecord {
        operations: 1,
        figures: vec![Figure {
            name: plumb_lab::FIGURE.into(),
            value: figure,
            unit: String::new(),
            formula: "the last number the command printed".into(),
        }],
        validity: Validity::of_all([]),
        driver: DriverFacts { wait: "shell".into(), threads: 1, ..DriverFacts::default() },
        ..ResultRecord::default()
    }
}

/// The run record of `command`, of which `result` came.
fn record_of(command: &str, started: String, result: ResultRecord) -> RunRecord {
    RunRecord {
        schema: SCHEMA.into(),
        plumb: program(),
        started,
        status: Status::Complete,
        plan: Plan {
            layer: "exec".into(),
            verb: "figure".into(),
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
