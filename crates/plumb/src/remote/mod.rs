//! `plumb remote`: this machine drives its part of measurements that a controller leads.

mod drivers;

use std::io::{self, BufReader};

use anyhow::{Context as _, anyhow, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_engine::Stop;
use plumb_engine::layer::Job;
use plumb_measure::RunRecord;
use plumb_remote::message::SCHEMA;
use plumb_remote::{Hello, Led, RunOrder};

use crate::exit::Exit;
use crate::measure::{measure_with, plain};
use crate::{commands, host, layers, signals};

pub(crate) use drivers::Drivers;

#[derive(Args, Clone, Debug)]
struct RemoteOptions {
    /// What this remote is called among the others
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Speak over standard input and output with the controller that started this process
    #[arg(long, required = true)]
    pipe: bool,
}

/// The command line of `plumb remote`.
pub(crate) fn command() -> Command {
    RemoteOptions::augment_args(Command::new("remote"))
        .about("Drive a part of measurements that a controller leads")
        .hide(true)
}

/// Serves the controller at the other end of the standard streams.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = RemoteOptions::from_arg_matches(words)?;
    let stop = signals::stop()?;
    let from = BufReader::new(io::stdin());
    let carry_out = |order: &RunOrder, led: Led, stop: &Stop| {
        carried_out(order, led, stop).map_err(|error| format!("{error:#}"))
    };
    plumb_remote::serve(hello(options.name), from, io::stdout(), &stop, carry_out)?;
    Ok(Exit::Ran)
}

fn hello(name: String) -> Hello {
    let facts = host::facts(&[]);
    Hello {
        schema: SCHEMA.into(),
        name,
        version: env!("CARGO_PKG_VERSION").into(),
        host: facts.name,
        kernel: facts.kernel,
        cpus: facts.cpus,
    }
}

/// Carries out this remote's part of a measurement.
fn carried_out(order: &RunOrder, led: Led, stop: &Stop) -> anyhow::Result<RunRecord> {
    let folder = tempfile::tempdir().context("there is no room for a record")?;
    let part = format!("{}/{}", order.part.number, order.part.of);
    let out = folder.path().join("run").display().to_string();
    let further = ["--part", &part, "--out", &out].map(str::to_owned);
    let words = [&["plumb".to_owned()], &order.words[..], &further].concat();
    let matches = commands::all().try_get_matches_from(&words)?;
    let (name, matches) = matches.subcommand().ok_or_else(|| anyhow!("no measurement"))?;
    let layer = layers::find(name).ok_or_else(|| anyhow!("`{name}` is no measurement"))?;
    let Job::Measure(mut job) = layer.job(matches).map_err(plain)? else {
        bail!("`{name}` is asked for something that is no measurement");
    };
    if !job.spreads() {
        bail!("this measurement is not made by remotes");
    }
    let run = measure_with(job.as_mut(), &words, "", stop, Drivers::Led(led))?;
    Ok(run.record)
}
