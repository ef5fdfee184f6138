//! `plumb checkup`: every layer of a landscape, what is wrong with it, and what that costs a user.

mod advice;
mod ask;
mod conduct;
mod file;
mod landscape;
mod scale;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_checkup::{Checkup, CheckupPart};
use plumb_command::{Exit, colour, exit, signals};
use plumb_diagnostics::checkup;
use plumb_engine::options::{HostOptions, OutputOptions};
use plumb_engine::{Stop, clock};
use plumb_folder::CheckFolder;
use plumb_measure::{Program, RemoteSelector, Span};

use crate::experiment::was_interrupted;
use crate::far::FarHostWatch;
use crate::job::into_folder;
use crate::metrics::Receivers;
use crate::pipeline::{self, VerdictFiles};
use crate::{host, progress};
use file::LandscapeFile;
use landscape::Landscape;
use scale::Scale;

/// What is measured, how long, and where the result goes.
#[derive(Args, Clone, Debug)]
struct CheckupOptions {
    /// Measure the servers that this TOML file names, instead of starting servers here
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,

    /// Time for each server, shared by its measurements
    #[arg(long = "for", value_name = "TIME", default_value = "10s")]
    for_time: Span,

    #[command(flatten)]
    output: OutputOptions,
}

/// The command line of `plumb checkup`.
pub(crate) fn command() -> Command {
    CheckupOptions::augment_args(Command::new("checkup"))
        .about("Start here: measure a landscape, layer by layer, and name what is wrong")
        .long_about(
            "Measures a landscape layer by layer, names what is wrong and what it costs a user, or \
             where the time goes when nothing is, and writes one report. Without --target it starts \
             the servers of its own on loopback (echo server, lock server, application server with \
             a database, integration runtime), drives each for some seconds, and ends them; that \
             takes about a minute. With --target it starts nothing: it measures the servers that a file names, \
             and nothing else.",
        )
        .after_help(
            "A landscape file, of which every section may be left out:\n\n  \
             hosts = \"app-1\"                      # the remote that measures (plumb remote)\n\n  \
             [net]\n  servers = [\"web1:3298\"]              # plumb net serve, niping -s\n\n  \
             [lock]\n  server = \"lock1:3200\"                # kind = \"redis\" for Redis\n\n  \
             [http]\n  pages = [\"http://web1/page\"]\n  static = \"http://web1/image.gif\"\n\n  \
             [flow]\n  server = \"http://flow1:50000\"        # plumb flow serve\n  \
             transaction = \"components\"\n\n  \
             [database]\n  url = \"postgres://erp@db1/erp\"       # no password: see docs/database.md\n\n  \
             [host]\n  recorder = \"web1:3299\"               # plumb host serve\n\n\
             Exit codes: 0 it ran, and no fault was found; 1 a fault, a server that could not be \
             measured, or figures that are not valid; 2 it did not run; 3 something could not be \
             checked; 130 interrupted.",
        )
}

/// Measures what `words` name.
pub(crate) fn run(words: &ArgMatches, command: Vec<String>) -> anyhow::Result<Exit> {
    let options = CheckupOptions::from_arg_matches(words)?;
    let outlets = (VerdictFiles::of(words)?, Receivers::of(words)?);
    let stop = signals::stop()?;
    signals::end_with_starter()?;
    let file = options.target.as_deref().map(LandscapeFile::read).transpose()?;
    let mut host = options.output.host.clone();
    if host.far_host.is_none() {
        host.far_host = file.as_ref().and_then(LandscapeFile::recorder);
    }
    let troubles = unreached(&mut host, &stop)?;
    let scale = Scale::new(options.for_time, &host)?;
    if let Some(file) = file {
        let parts = file.parts(&scale)?;
        let (target, left_out, remote) = (file.shown(), file.left_out(), file.remote()?);
        if remote.is_some() && !outlets.1.is_empty() {
            bail!(
                "`hosts` has another machine measure, which sends its figures to nobody: leave --otlp \
                 and --remote-write out"
            );
        }
        let host = remote.is_none().then(|| host::facts(&[]));
        let asked = remote.as_ref().map(RemoteSelector::asked_for);
        let begun = new(parts, command);
        let checkup = Checkup { target, troubles, left_out, host, remote: asked, ..begun };
        return measure_all(checkup, remote.as_ref(), (&options.output, &outlets), &stop);
    }
    let landscape = match Landscape::start(&stop) {
        Err(_) if stop.asked() => return Ok(Exit::Interrupted),
        started => started?,
    };
    let parts = landscape.parts(&scale)?;
    let (target, left_out) = ("this machine".into(), Landscape::left_out());
    let host = Some(host::facts(&[]));
    let checkup = Checkup { target, troubles, left_out, host, ..new(parts, command) };
    measure_all(checkup, None, (&options.output, &outlets), &stop) // the servers end after it
}

/// Carries out a checkup, and prints what it says.
fn measure_all(
    mut checkup: Checkup,
    remote: Option<&RemoteSelector>,
    (output, (files, receivers)): (&OutputOptions, &(VerdictFiles, Receivers)),
    stop: &Stop,
) -> anyhow::Result<Exit> {
    let folder = open_folder(output, &checkup.started)?;
    if let Err(error) = conduct::keep(&mut checkup, &folder) {
        folder.discard();
        return Err(error);
    }
    announce(&checkup);
    let mut kept = conduct::carry_out(&mut checkup, remote, &folder, receivers, stop);
    if kept.is_err() && checkup.parts.iter().all(|part| part.outcome.is_none()) {
        return kept.map(|()| Exit::DidNotRun);
    }
    // what idle processors cost is known of this machine only
    if remote.is_none() {
        let limit = output.host.foreign_limit.share;
        kept = kept.and(conduct::idle(&mut checkup, &folder, limit, stop));
    }
    let printed = print(&checkup, output, folder.path());
    files.write(|| pipeline::of_checkup(&checkup, folder.path()))?;
    printed?;
    kept?;
    Ok(match () {
        () if stop.asked() => Exit::Interrupted,
        () if checkup.has_findings() => Exit::Finding,
        () if checkup.is_unanswered() => Exit::Unanswered,
        () => Exit::Ran,
    })
}

/// A checkup that has not begun.
fn new(parts: Vec<CheckupPart>, command: Vec<String>) -> Checkup {
    let plumb = Program { version: env!("CARGO_PKG_VERSION").into() };
    let begun = Checkup::begun(plumb, clock::utc(clock::wall_ns()), parts);
    Checkup { command, ..begun }
}

/// A far host that does not answer is left out for all parts, and named once.
fn unreached(host: &mut HostOptions, stop: &Stop) -> anyhow::Result<Vec<String>> {
    if host.far_host.is_some() && host.host_interval.ns() == 0 {
        bail!("a far host needs samples: leave --host-interval 0s out");
    }
    Ok(match FarHostWatch::reach(host, stop) {
        Ok(_) => Vec::new(),
        Err(error) if was_interrupted(&error) => return Err(error),
        Err(error) => {
            host.far_host = None;
            vec![format!("{}; measured without it", exit::said(&error))]
        }
    })
}

fn open_folder(output: &OutputOptions, started: &str) -> anyhow::Result<CheckFolder> {
    Ok(match &output.out {
        Some(path) => {
            into_folder(path)?;
            CheckFolder::create_new(path)?
        }
        None => {
            let stem = format!("{}-checkup", started.replace(':', ""));
            CheckFolder::create_in(Path::new("plumb-runs"), &stem)?
        }
    })
}

/// Says on standard error what is to come: standard output is for the result.
fn announce(checkup: &Checkup) {
    let (count, left) = (checkup.parts.len(), checkup.left_ns() / 1_000_000_000);
    // nobody may be there to read it
    let _ =
        writeln!(io::stderr(), "plumb: {count} measurements of {}, about {left} s", checkup.target);
}

fn print(checkup: &Checkup, output: &OutputOptions, folder: &Path) -> anyhow::Result<()> {
    exit::print(&if output.json {
        checkup.to_json()
    } else if output.markdown {
        checkup::markdown(checkup)
    } else {
        let text = checkup::terminal(checkup, progress::columns());
        let page = folder.join("report.html");
        format!("{}report: {}\n", colour::for_stdout(&text), page.display())
    })
}
