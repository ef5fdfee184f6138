//! `plumb net check`: what SAP's note on niping tests by hand, in one command and in plain words.

mod plan;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_checkup::{Judgement, PATH_CHECK_SCHEMA, PartOutcome, PathCheck, PathTest};
use plumb_command::{Exit, colour, exit, signals};
use plumb_diagnostics::path_check;
use plumb_engine::layer::{JobError, Measure};
use plumb_engine::options::{OutputOptions, TransportKind, TransportOptions};
use plumb_engine::{Address, EngineError, Stop, clock};
use plumb_folder::{CheckFolder, read_check};
use plumb_measure::{FailureKind, Program};
use plumb_net::{PASSWORD_VARIABLE, PORT, Ping, PingOptions, Stream, StreamOptions};
use plumb_wire::route::Route;

use crate::job::into_folder;
use crate::measure::{Run, measure};
use crate::metrics::Receivers;
use crate::pipeline::{self, VerdictFiles};
use crate::progress::{self, length};
use plan::ScaleOptions;

/// What is checked, how long.
#[derive(Args, Clone, Debug)]
struct CheckOptions {
    /// The echo server, or a route to it, as for plumb net ping
    #[arg(value_name = "HOST", required_unless_present = "resume", conflicts_with = "resume")]
    host: Option<String>,

    #[command(flatten)]
    scale: ScaleOptions,

    /// Go on with the check in this folder; what is finished is not measured again
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["out", "quick", "full", "for_time", "idle", "stability", "timeout",
            "transport", "v4", "v6", "far_host", "host_interval", "link"]
    )]
    resume: Option<PathBuf>,

    #[command(flatten)]
    transport: TransportOptions,

    #[command(flatten)]
    output: OutputOptions,
}

/// The command line of `plumb net check`.
pub(crate) fn command() -> Command {
    CheckOptions::augment_args(Command::new("check"))
        .about("Check a network path: throughput, round trip, sizes, idle time-out, stability, datagrams")
        .long_about(
            "Carries out standard tests against an NI echo server (plumb net serve, niping \
             -s), one after the other, and says of each in a sentence what it means: throughput \
             with large messages, the round trip of the smallest, messages of every size around \
             those of packets, a connection that is silent, one that lasts, and datagrams over UDP \
             where plumb net serve takes them. Takes some three minutes, --quick less than half a minute, --full eleven hours. Every part is an \
             ordinary run in the folder of the check.",
        )
        .after_help(
            "Exit codes: 0 it ran, and nothing is broken; 1 a test is BAD; 2 it did not run; 130 \
             interrupted: go on with --resume DIR.",
        )
}

/// Checks the path that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = CheckOptions::from_arg_matches(words)?;
    // where the environment names it, it was named by nobody here
    anyhow::ensure!(
        options.resume.is_none()
            || words.value_source("foreign_limit") != Some(ValueSource::CommandLine),
        "--foreign-limit: a check that goes on keeps the limit it began with; leave it out"
    );
    let (files, receivers) = (VerdictFiles::of(words)?, Receivers::of(words)?);
    let stop = signals::stop()?;
    let (folder, mut check) = match &options.resume {
        Some(path) => again(path)?,
        None => begin(&options)?,
    };
    password_is_at_hand(&check.target)?;
    announce(&check);
    let kept = carry_out(&mut check, &folder, &receivers, &stop);
    if kept.is_err() && check.parts.iter().all(|part| part.outcome.is_none()) {
        if options.resume.is_none() {
            folder.discard();
        }
        return kept.map(|()| Exit::DidNotRun);
    }
    let printed = print(&check, &options.output, folder.path());
    files.write(|| {
        let verdict = pipeline::of_check(&check, folder.path());
        if stop.asked() { verdict.interrupted() } else { verdict }
    })?;
    printed?;
    kept?;
    Ok(if stop.asked() {
        Exit::Interrupted
    } else if check.worst() == Judgement::Bad {
        Exit::Finding
    } else {
        Exit::Ran
    })
}

/// The check in the folder `path`, in which nobody else works, and how far it has come.
fn again(path: &Path) -> anyhow::Result<(CheckFolder, PathCheck)> {
    into_folder(path)?;
    read_check(path)?; // a folder that holds none is left as it is
    let folder = CheckFolder::again(path)?;
    let check = read_check(path)?; // somebody may have gone on with it in between
    Ok((folder, check))
}

/// A new check, written down before anything is measured.
fn begin(options: &CheckOptions) -> anyhow::Result<(CheckFolder, PathCheck)> {
    let host = options.host.clone().context("name the HOST to check")?;
    options.scale.check()?;
    let now = clock::utc(clock::wall_ns());
    let transport = &options.transport.transport;
    anyhow::ensure!(
        *transport != TransportKind::Udp,
        "--transport udp: a check connects, and sends datagrams beside that where the server takes \
         them; leave it out"
    );
    let around = plan::around(&options.transport, &options.output);
    // neither packets that the kernel stamps nor datagrams go over SMC or files
    let over_ip = *transport == TransportKind::Tcp
        && matches!(Address::parse(&host, PORT), Ok(Address::Host { .. }));
    let mut parts = options.scale.parts(&around, over_ip);
    if over_ip && !Route::is_meant_by(&host) {
        parts.push(options.scale.datagrams(&around));
    }
    let check = PathCheck {
        schema: PATH_CHECK_SCHEMA.into(),
        plumb: Program { version: env!("CARGO_PKG_VERSION").into() },
        started: now.clone(),
        target: host,
        parts,
    };
    password_is_at_hand(&check.target)?;
    // refuses a target that is none, or a password in it, before anything is written
    if let Some(part) = check.parts.first() {
        ping(&check.target, &part.words)?;
    }
    let folder = match &options.output.out {
        Some(path) => {
            into_folder(path)?;
            CheckFolder::create_new(path)?
        }
        None => {
            let stem = format!("{}-net-check", now.replace(':', ""));
            CheckFolder::create_in(Path::new("plumb-runs"), &stem)?
        }
    };
    if let Err(error) = folder.write_check(&check) {
        folder.discard();
        return Err(error.into());
    }
    Ok((folder, check))
}

/// Every part asks the routers anew, and nobody wants to type a password twenty times.
fn password_is_at_hand(target: &str) -> anyhow::Result<()> {
    if !Route::is_meant_by(target) || std::env::var_os(PASSWORD_VARIABLE).is_some() {
        return Ok(());
    }
    anyhow::ensure!(
        Route::parse(target)?.passwords().next().is_none(),
        "every part of a check asks for the route anew: set {PASSWORD_VARIABLE} instead of typing \
         its passwords each time"
    );
    Ok(())
}

/// Says on standard error what is to come: standard output is for the result.
fn announce(check: &PathCheck) {
    let open = check.parts.iter().filter(|part| part.outcome.is_none()).count();
    if open == 0 {
        return;
    }
    // nobody may be there to read it
    let _ = writeln!(
        io::stderr(),
        "plumb: {open} of {} parts to measure against {}, about {}",
        check.parts.len(),
        check.target,
        length(check.left_ns())
    );
}

/// Measures every part that has no outcome yet; each outcome is written down as it comes.
fn carry_out(
    check: &mut PathCheck,
    folder: &CheckFolder,
    receivers: &Receivers,
    stop: &Stop,
) -> anyhow::Result<()> {
    for number in 0..check.parts.len() {
        if stop.asked() {
            break;
        }
        if check.parts[number].outcome.is_some() {
            continue;
        }
        if check.parts[number].test == PathTest::Datagrams {
            let carried = check.carried_bits_per_s();
            plan::set_rate(&mut check.parts[number], carried);
        }
        let outcome = attempt(check, number, folder, receivers, stop);
        if stop.asked() {
            break; // half a part is none
        }
        let (outcome, unkept) = outcome?;
        check.parts[number].outcome = Some(outcome);
        let written = folder.write_check(check);
        unkept.map_or(Ok(()), Err)?; // the check has what was measured, as far as there is room
        written?;
        folder.write_report(&path_check::html(check))?;
    }
    folder.write_check(check)?;
    folder.write_report(&path_check::html(check))?;
    Ok(())
}

/// Measures one part, and says why its run could not be kept, if that is so.
///
/// # Errors
/// When nothing can be measured at all: the first part cannot begin, for another reason than that
/// no answer came. Other failures are what the check is there to find.
fn attempt(
    check: &PathCheck,
    number: usize,
    folder: &CheckFolder,
    receivers: &Receivers,
    stop: &Stop,
) -> anyhow::Result<(PartOutcome, Option<anyhow::Error>)> {
    let part = &check.parts[number];
    let name = part.test.name().replace(' ', "-");
    let (shown, path) = folder.part(&format!("{:02}-{name}-{}B", number + 1, part.size_bytes))?;
    let title = format!("part {} of {}, {}: ", number + 1, check.parts.len(), part.test.name());
    let mut words = part.words.clone();
    words.push(into_folder(&path)?);
    let mut job: Box<dyn Measure> = match part.test {
        PathTest::Datagrams => Box::new(stream(&check.target, &words)?),
        _ => Box::new(ping(&check.target, &words)?),
    };
    let command = ["plumb", "net", part.test.verb(), &check.target].map(String::from);
    let command: Vec<String> = command.into_iter().chain(words).collect();
    match measure(job.as_mut(), &command, &title, receivers, stop) {
        Ok(run) => Ok((outcome(&run, shown), run.unkept)),
        Err(error) if number == 0 && !unanswered(&error) => Err(error),
        Err(error) => {
            let (unanswered, error) = (unanswered(&error), Some(exit::said(&error)));
            Ok((PartOutcome { unanswered, error, ..PartOutcome::default() }, None))
        }
    }
}

fn ping(target: &str, words: &[String]) -> anyhow::Result<Ping> {
    let command = PingOptions::augment_args(Command::new("ping")).no_binary_name(true);
    let asked = std::iter::once(target).chain(words.iter().map(String::as_str));
    let options = PingOptions::from_arg_matches(&command.try_get_matches_from(asked)?)?;
    Ok(Ping::new(options)?)
}

fn stream(target: &str, words: &[String]) -> anyhow::Result<Stream> {
    let command = StreamOptions::augment_args(Command::new("stream")).no_binary_name(true);
    let asked = std::iter::once(target).chain(words.iter().map(String::as_str));
    let options = StreamOptions::from_arg_matches(&command.try_get_matches_from(asked)?)?;
    Ok(Stream::new(options)?)
}

fn outcome(run: &Run, folder: String) -> PartOutcome {
    match run.record.results.first() {
        Some(result) => PartOutcome::of(result, folder),
        None => PartOutcome { folder: Some(folder), ..PartOutcome::default() },
    }
}

/// True when a part came to nothing because no answer came in time.
fn unanswered(error: &anyhow::Error) -> bool {
    let engine = error.downcast_ref::<JobError>().and_then(|job| job.downcast_ref());
    matches!(engine, Some(EngineError::Greeting { kind: FailureKind::TimedOut, .. }))
}

fn print(check: &PathCheck, output: &OutputOptions, folder: &Path) -> anyhow::Result<()> {
    exit::print(&if output.json {
        check.to_json()
    } else if output.markdown {
        path_check::markdown(check)
    } else {
        let page = folder.join("report.html");
        let text = path_check::terminal(check, progress::columns());
        format!("{}report: {}\n", colour::for_stdout(&text), page.display())
    })
}
