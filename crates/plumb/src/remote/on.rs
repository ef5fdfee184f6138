//! `plumb on`: a server or a recorder on another machine, as if it had been started here.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::bail;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_command::{Exit, signals};
use plumb_engine::layer::NamedFile;
use plumb_folder::Place;
use plumb_measure::RemoteSelector;
use plumb_remote::{Fleet, Nats, PlanFiles};

use super::drivers::without_options_file;
use super::{measure_there, servers, target, told};
use crate::job::{into_folder, measurement, refuse, with_further, with_options};
use crate::measure::print;

#[derive(Args, Clone, Debug)]
struct OnOptions {
    /// The remote, as --remotes names it: NAME, or nats://HOST:PORT/NAME
    #[arg(value_name = "REMOTE")]
    remote: RemoteSelector,

    /// What it is to do: a measurement, or net serve, lock serve, app serve, flow serve, host serve or
    /// host record, with the options of that
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,

    /// A file, or a folder of files, of this machine that the command names; it is sent along
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// The measurement, or what host record leaves, goes into this new folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The command line of `plumb on`.
pub(crate) fn command() -> Command {
    OnOptions::augment_args(Command::new("on"))
        .about("Have a remote measure, or start a server or a recorder")
        .long_about(
            "Have a remote measure, or start a server or a recorder.\n\nA measurement is carried out \
             there as a whole, and its run is handed over. What a server says is said here, so that it \
             can stand wherever a server of this machine does: as the server of an \
             experiment, or in a script. It ends with this command, and when the remote hears no more of \
             it for 5 s; the remote must be started with --allow, for example --allow \"net serve\".",
        )
}

/// Options of a measurement that its run alone does not serve.
const NOWHERE: [&str; 6] = ["junit", "sarif", "summary", "otlp", "remote_write", "metrics"];

/// Has a remote measure, and keeps its run here.
fn measured(options: &OnOptions) -> anyhow::Result<Exit> {
    let out = options.out.as_deref().map(into_folder).transpose()?;
    let words = with_further(&options.words, out.as_slice());
    refuse(&words, &NOWHERE)?;
    let stop = signals::stop()?;
    let mut job = measurement(&words)?;
    let run = measure_there(&options.remote, job.as_mut(), &words, &stop)?;
    print(&run, None, job.output())?;
    Ok(run.kept()?.exit())
}

/// Has a remote start a server, and says what it says.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let mut options = OnOptions::from_arg_matches(words)?;
    options.words = with_options(&options.words)?;
    let RemoteSelector::Nats { url, of } = &options.remote else {
        bail!("a server of this machine needs no remote: start it without `on`");
    };
    if !servers::are_named(&options.words) {
        return measured(&options);
    }
    let leaves_files = servers::leaves_files(&options.words);
    if leaves_files != options.out.is_some() {
        bail!("--out DIR says where the files of host record go; other commands leave none");
    }
    if let Some(out) = options.out.as_ref().filter(|out| out.exists()) {
        bail!("--out {}: it is there already, and nothing is overwritten", out.display());
    }
    let stop = signals::stop()?;
    signals::end_with_parent(&stop)?;
    let named: Vec<NamedFile> = options.file.iter().map(|path| NamedFile::lone(path)).collect();
    let files = PlanFiles::read(&named)?;
    let mut fleet =
        Fleet::nats(&Nats::connect(&target::of_controller(url.as_deref())?, &stop)?, of)?;
    if fleet.members().count() != 1 {
        bail!("a server is started on one machine: name one remote");
    }
    // a folder that cannot be made is known before anything is recorded for it
    let folder = options.out.as_deref().map(Place::create_new).transpose()?;
    fleet.begin_alone(&without_options_file(&options.words), files);
    let mut out = io::stdout();
    let followed = fleet.follow(&stop, |_, line| {
        let line = line.replace(char::is_control, " "); // it comes from another machine
        let _ = writeln!(out, "{line}").and_then(|()| out.flush()); // nobody may listen
    });
    if let Some(folder) = folder {
        // what has come is kept, also where more was asked for
        for (name, bytes) in fleet.end(&stop, told).into_iter().flat_map(|part| part.files) {
            fs::write(folder.path().join(name), bytes)?;
        }
        if followed.is_err() {
            folder.discard(&[]);
        }
    }
    followed?;
    Ok(Exit::Ran)
}
