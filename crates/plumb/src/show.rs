//! `plumb host show`: what recordings of hosts say, as text, Markdown, JSON or a page with charts.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use plumb_check::Unread;
use plumb_nmon::{Moment, Window};
use plumb_show::{Shown, json, page, recording, text};

use plumb_command::{Exit, exit};
use plumb_options::{Form, FormOptions};

use crate::progress;

#[derive(Args, Clone, Debug)]
struct ShowOptions {
    /// Recording of nmon, topas_nmon, typeperf, relog or plumb; a folder means those in it
    #[arg(value_name = "FILE", required = true)]
    file: Vec<PathBuf>,

    /// Only what was recorded after this time of the host: 10:30, 10:30:15 or 2026-11-21T10:30:15
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,

    /// Only what was recorded up to this time of the host
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,

    /// Write a page with charts over time to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    form: FormOptions,
}

/// The command line of `plumb host show`.
pub(crate) fn command() -> Command {
    ShowOptions::augment_args(Command::new("show"))
        .about("Sum up recordings of hosts: average, minimum and maximum of every counter")
        .long_about(
            "Sum up recordings of hosts: average, minimum and maximum of every counter, processors \
             busy with the rule by which they were counted, processor seconds, and the traffic of \
             disks and networks. Says which figures cannot be true beside the others, as `plumb \
             check` does. Reads nmon files of Linux and AIX, and the CSV of Windows' performance logs (typeperf, \
             relog -f csv), whose counters keep their own names, plain or compressed with gzip. \
             --html draws them over time, on one page for all files.",
        )
        .after_help(
            "Exit codes: 0 the figures agree with each other; 1 a figure cannot be true; 2 a file \
             cannot be read (the others are shown all the same); 3 no snapshot of a file could be read.",
        )
}

/// Shows the files that `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = ShowOptions::from_arg_matches(words)?;
    let (mut shown, mut unread) = (Vec::new(), Vec::new());
    let window = Window { from: options.from, to: options.to, whole: false };
    let open = if options.html.is_some() { Shown::open_to_draw } else { Shown::open };
    for path in &recordings(&options.file)? {
        match open(path, window) {
            Ok(one) => shown.push(one),
            Err(error) => unread.push(Unread::of(path, &error)),
        }
    }
    for one in &unread {
        exit::note(&one.words());
    }
    if shown.is_empty() {
        return Ok(Exit::DidNotRun);
    }
    plumb_show::notes(&shown, window).iter().for_each(|it| exit::note(it));
    if let Some(file) = &options.html {
        std::fs::write(file, recording::html(&page(&shown))).with_context(|| {
            format!("cannot write {}; name a file in a folder you may write to", file.display())
        })?;
    }
    let mut out = io::stdout().lock();
    exit::unless_closed(match options.form.into() {
        Form::Json => writeln!(out, "{}", json(&shown, &unread)?),
        Form::Markdown => write!(out, "{}", recording::markdown(&page(&shown))),
        Form::Text => text(&mut out, &shown, progress::columns()),
    })?;
    let agree = shown.iter().all(Shown::agrees);
    let empty = shown.iter().any(Shown::is_empty);
    Ok(match (unread.is_empty(), agree, empty) {
        (false, _, _) => Exit::DidNotRun,
        (true, false, _) => Exit::Finding,
        (true, true, true) => Exit::Unanswered,
        (true, true, false) => Exit::Ran,
    })
}

/// The files that `paths` name: of a folder the recordings that lie in it.
fn recordings(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .with_context(|| format!("cannot read the folder {}", path.display()))?;
        let mut found: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        found.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".nmon") || name.ends_with(".nmon.gz")
        });
        if found.is_empty() {
            bail!(
                "{}: no recording (*.nmon) lies in this folder; name a file, or the folder of a run \
                 or of `plumb host record`",
                path.display()
            );
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}
