//! `plumb ab`: did the change help? Variants in interleaved pairs, and one sentence.

mod export;
mod options;
mod parameter;
mod rehearsal;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::experiment;
use crate::pipeline::{VerdictFiles, writable};
use options::AbOptions;
use plumb_command::{Exit, signals};
use plumb_options::Form;

/// The command line of `plumb ab`.
pub(crate) fn command() -> Command {
    AbOptions::augment_args(Command::new("ab"))
        .about("Did the change help? Compare commands in interleaved pairs")
        .long_about(
            "Measures two or more commands in turns, in random order within each round, and says \
             whether the candidates are better or worse than the first, by an exact rank test of \
             the pairs. Whatever else changes on the machine affects all of them alike. For several \
             sizes, probes or servers at once see plumb lab run.",
        )
        .after_help(
            "Examples:\n  \
             plumb ab \"net ping db1\" \"net ping db1 --transport unix:/run/echo\"\n  \
             plumb ab --exec --pairs 12 \"./old.sh\" \"./new.sh\"\n  \
             plumb ab --exec --warmup 2 \"gzip -k9 f\" \"zstd -kf f\" --prepare \"rm -f f.gz\"\n  \
             plumb ab --exec \"sort -S 1M f\" \"sort -S ${size} f\" --parameter size=4M,64M\n  \
             plumb ab --before-a ./off.sh --before-b ./on.sh \"net ping db1\" \"net ping db1\"\n\n\
             A shell command that exits with 75 could not measure now: its pair is taken again.\n\n\
             Exit codes: 0 it ran and there is a verdict; 1 --fail-on was met; 2 it did not run; 3 \
             there is no verdict, or a difference cannot be tested; 130 interrupted.",
        )
}

/// Compares what `words` name.
pub(crate) fn run(words: &ArgMatches) -> anyhow::Result<Exit> {
    let options = AbOptions::from_arg_matches(words)?;
    let files = VerdictFiles::of(words)?;
    options.file(options.figure)?; // what is wrong in it is told before anything runs
    if let Some(path) = &options.export_json {
        writable("export-json", path)?;
    }
    let stop = signals::stop()?;
    let figure = rehearsal::figure(&options, &stop)?;
    let file = options.file(figure)?;
    rehearsal::warm_up(&options, &stop)?;
    let place = (options.output.out.as_deref(), "ab");
    let (compared, folder) = experiment::take(&file, options.overrides(), place, &stop)?;
    let form = Form::of(options.output.json, options.output.markdown);
    let printed = experiment::print(&compared, form, Some(folder.path()));
    files.write(|| {
        let verdict = experiment::verdict(&compared, Some(folder.path()));
        if stop.asked() { verdict.interrupted() } else { verdict }
    })?;
    if let Some(path) = &options.export_json {
        export::write(&compared, &options, path)?;
    }
    printed?;
    Ok(if stop.asked() { Exit::Interrupted } else { experiment::exit(&compared, options.fail_on) })
}
