//! `plumb remote`: this machine drives its part of measurements that a controller leads.

mod drivers;
mod on;
mod own;
mod paths;
mod servers;
mod target;
mod there;

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::{Exit, exit, plain, signals};
use plumb_engine::layer::Job;
use plumb_engine::{Cidr, Stop, restrict_targets};
use plumb_measure::{remote_label, remote_name};
use plumb_remote::message::SCHEMA;
use plumb_remote::{Carried, Hello, Nats, RunOrder, WallClock};
use rustix::process::getppid;

use crate::job::{innermost, leaf, with_further};
use crate::measure::measure_with;
use crate::metrics::Receivers;
use crate::{commands, host, layers, pipeline};

pub(crate) use drivers::Drivers;
pub(crate) use on::{command as on_command, run as run_on};
pub(crate) use paths::{command as paths_command, run as run_paths};
use target::NatsOptions;
pub(crate) use there::{MEASURED_ON, measure_there};

/// The log of intervals in the folder of a run.
const INTERVALS: &str = "intervals.hlog";
/// How often a remote that waits looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Clone, Debug)]
struct RemoteOptions {
    /// What this remote is called among the others [default: the name of this machine]
    #[arg(long, value_name = "NAME", value_parser = remote_name)]
    name: Option<String>,

    /// What it can be chosen by, for example site=hamburg; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = remote_label)]
    label: Vec<(String, String)>,

    /// Where controllers come from.
    #[command(flatten)]
    nats: NatsOptions,

    /// What a controller may ask for: a layer, or a layer and a verb [default: everything that remotes
    /// can drive]
    #[arg(long, value_name = "LAYER[ VERB]", conflicts_with = "pipe")]
    allow: Vec<String>,

    /// Addresses that may be loaded, for example 10.1.0.0/16 [default: this machine]
    #[arg(long, value_name = "CIDR", conflicts_with = "pipe")]
    allow_target: Vec<Cidr>,

    /// Try what follows from a clock that is wrong: how far it is ahead, and by how much more each
    /// second
    #[arg(
        long,
        hide = true,
        value_name = "NS,NS",
        default_value = "0",
        allow_hyphen_values = true
    )]
    clock: WallClock,

    /// Speak over standard input and output with the controller that started this process
    #[arg(long, hide = true)]
    pipe: bool,
}

/// The command line of `plumb remote`.
pub(crate) fn command() -> Command {
    RemoteOptions::augment_args(Command::new("remote"))
        .about("Drive a part of measurements that a controller leads")
        .long_about(
            "Drive a part of measurements that a controller leads.\n\nWaits in a NATS server until a \
             measurement with --remotes asks for it by name or label. Loads this machine only, unless \
             --allow-target names more.",
        )
}

/// Serves the controller at the other end of the standard streams, or those that come over NATS.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = RemoteOptions::from_arg_matches(words)?;
    let stop = signals::stop()?;
    let hello = hello(options.name, options.label)?;
    if options.pipe {
        let from = BufReader::new(io::stdin());
        plumb_remote::serve(
            hello,
            options.clock,
            from,
            io::stdout(),
            &stop,
            |order, led, stop| {
                said(carried_out(order, Drivers::Led { led, leader: parent() }, stop, &[]))
            },
        )?;
        return Ok(Exit::Ran);
    }
    let target = options.nats.target()?;
    let loopback = || ["127.0.0.0/8", "::1/128"].iter().filter_map(|text| text.parse().ok());
    let targets = options.allow_target;
    restrict_targets(if targets.is_empty() { loopback().collect() } else { targets });
    let nats = Nats::connect(&target, &stop)?;
    wait(nats, (&hello, options.clock), &target.url, &options.allow, &stop)
}

/// Serves one controller after the other.
fn wait(
    nats: Nats,
    (hello, clock): (&Hello, WallClock),
    url: &str,
    allowed: &[String],
    stop: &Stop,
) -> anyhow::Result<Exit> {
    let mut waiting = nats.wait(hello.clone())?;
    note(&format!("{} waits for controllers in {url}", hello.name));
    while !stop.asked() {
        let Some((from, to)) = waiting.next(LOOK_EVERY)? else { continue };
        let served = plumb_remote::serve(
            hello.clone(),
            clock,
            BufReader::new(from),
            to,
            stop,
            |order, led, stop| {
                let drivers = Drivers::Led { led, leader: None };
                let outcome = said(carried_out(order, drivers, stop, allowed));
                let words = order.words.join(" ");
                match &outcome {
                    Ok(_) => note(&format!("carried out its part of: plumb {words}")),
                    Err(why) => note(&format!("not carried out: plumb {words}: {why}")),
                }
                outcome
            },
        );
        if let Err(ended) = served {
            note(&format!("a controller has gone: {ended}"));
        }
    }
    Ok(Exit::Ran)
}

/// The process that started this one: a controller on this machine.
fn parent() -> Option<u32> {
    getppid().and_then(|parent| u32::try_from(parent.as_raw_nonzero().get()).ok())
}

/// Tells whoever watches this remote: one line, whatever of it comes from the other side.
fn note(text: &str) {
    exit::note(&text.replace(char::is_control, " "));
}

/// Tells whoever watches this controller what the remote `name` says of its part.
fn told(name: &str, line: &str) {
    note(&format!("{name}: {line}"));
}

fn said<T>(outcome: anyhow::Result<T>) -> Result<T, String> {
    outcome.map_err(|error| exit::said(&error))
}

fn hello(name: Option<String>, labels: Vec<(String, String)>) -> anyhow::Result<Hello> {
    let facts = host::facts(&[]);
    let of_machine = || remote_name(&facts.name).map_err(|why| anyhow!("{why}: give it --name"));
    Ok(Hello {
        schema: SCHEMA.into(),
        name: name.map_or_else(of_machine, Ok)?,
        version: env!("CARGO_PKG_VERSION").into(),
        host: facts.name,
        kernel: facts.kernel,
        cpus: facts.cpus,
        labels: labels.into_iter().collect(),
    })
}

/// Carries out this remote's part of a measurement, if it is one of those that are `allowed`; none
/// named: each.
fn carried_out(
    order: &RunOrder,
    drivers: Drivers,
    stop: &Stop,
    allowed: &[String],
) -> anyhow::Result<Carried> {
    let folder = tempfile::tempdir().context("there is no room for a record")?;
    let part = format!("{}/{}", order.part.number, order.part.of);
    let out = folder.path().join("run").display().to_string();
    let further: &[&str] = match (servers::are_named(&order.words), order.alone) {
        (true, _) => &[],
        (false, true) => &["--out", &out],
        (false, false) => &["--part", &part, "--out", &out],
    };
    let further: Vec<String> = further.iter().map(|word| (*word).to_owned()).collect();
    let words = [vec!["plumb".to_owned()], with_further(&order.words, &further)].concat();
    let mut all = commands::all();
    let given = all.try_get_matches_from_mut(&words)?;
    let command = innermost(&all, &given).ok_or_else(|| anyhow!("no measurement"))?;
    let (name, matches) = given.subcommand().ok_or_else(|| anyhow!("no measurement"))?;
    let verb = matches.subcommand().map_or("", |(verb, _)| verb);
    let asked = format!("{name} {verb}");
    let of_this_machine = drivers.leader().is_some();
    if servers::is_one(&asked) {
        servers::check(&asked, allowed)?;
        own::check_words(command, leaf(matches), order)?;
        let Drivers::Led { led, .. } = drivers else {
            bail!("a server is started for a controller")
        };
        let records = servers::leaves_files(&order.words).then(|| format!("--out={out}"));
        let words = with_further(&order.words, records.as_slice());
        servers::run(&words, &out, &led, stop)?;
        let files = if records.is_some() { files_in(&out, |_| true)? } else { Vec::new() };
        return Ok(Carried { record: None, files, folder, lacks: Vec::new() });
    }
    if !allowed.is_empty() && !allowed.iter().any(|it| it == name || *it == asked) {
        bail!("`{asked}` is not among what this remote is allowed (--allow)");
    }
    let layer = layers::find(name).filter(|_| pipeline::is_measurement(command));
    let layer = layer.ok_or_else(|| anyhow!("`{asked}` is no measurement"))?;
    if !of_this_machine {
        own::check_words(command, leaf(matches), order)?; // before any file is read
    }
    let Job::Measure(mut job) = layer.job(matches).map_err(plain)? else {
        bail!("`{name}` is asked for something that is no measurement");
    };
    if !order.alone {
        job.spread().map_err(plain)?;
    }
    if !of_this_machine {
        own::check_files(&job.files(), order)?;
    }
    let drivers = if order.alone { Drivers::Here } else { drivers };
    let run = measure_with(job.as_mut(), &words, ("", &Receivers::default()), stop, drivers)?;
    // what was measured is whole, and the controller may have the room that is lacking here
    let lacks = run.unkept.iter().map(|why| format!("its own folder lacks something: {why:#}"));
    let lacks = lacks.collect();
    // the run needs its intervals: they come first, while there is room
    let intervals = order.alone.then(|| run.folder.path().join(INTERVALS));
    let mut files: Vec<PathBuf> = intervals.into_iter().collect();
    if !of_this_machine {
        files.extend(host_files(run.folder.path())?); // the controller records this machine itself
    }
    Ok(Carried { record: Some(run.record), files, folder, lacks })
}

/// What this machine did while it was measured, as the files in the folder of the run have it.
fn host_files(run: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files_in(run, |path| path.extension().is_some_and(|ending| ending == "nmon" || ending == "csv"))
}

/// The files of `folder` that are `wanted`.
fn files_in(
    folder: impl AsRef<Path>,
    wanted: impl Fn(&Path) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && wanted(&path) {
            files.push(path);
        }
    }
    Ok(files)
}
