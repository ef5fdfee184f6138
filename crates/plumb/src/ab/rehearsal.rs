//! Shell commands before they are compared: what decides about them, and their warm-up.

use std::io::{self, Write as _};

use plumb_engine::Stop;
use plumb_experiment::shell::{self, ShellError};

use super::options::{AbOptions, CommandFigure};
use crate::progress;

/// What decides about the commands of `options`: what was asked for, or what the first of them shows
/// when it is run once. `None` for commands of ours.
pub(super) fn figure(options: &AbOptions, stop: &Stop) -> anyhow::Result<Option<CommandFigure>> {
    if !options.exec || options.figure.is_some() {
        return Ok(options.figure);
    }
    if options.export_json.is_some() {
        return Ok(Some(CommandFigure::Wall));
    }
    let all = options.all_commands()?;
    let Some((variant, first)) = all.first() else { return Ok(None) };
    let printed = prepared(*variant, options, stop, || {
        progress::say(&format!("once before all else: {first}"));
        shell::run(first, options.patience(), stop)
    });
    progress::clear();
    if is_one_figure(first, &printed?)? {
        return Ok(Some(CommandFigure::Printed));
    }
    // nobody may be there to read it
    let _ = writeln!(
        io::stderr(),
        "plumb: `{first}` prints no figure: what it takes is measured, and the wall time decides; \
         --figure names another"
    );
    Ok(Some(CommandFigure::Wall))
}

/// True when a command printed one line, with a number at its end. Numbers at the end of more lines may
/// be its work, as those of `sort`.
///
/// # Errors
/// When that number can be no figure.
fn is_one_figure(command: &str, printed: &str) -> Result<bool, ShellError> {
    if printed.lines().filter(|line| !line.trim().is_empty()).count() != 1 {
        return Ok(false);
    }
    match shell::figure(command, printed) {
        Ok(_) => Ok(true),
        Err(ShellError::NoNumber { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Runs each command so often as `--warmup` says.
pub(super) fn warm_up(options: &AbOptions, stop: &Stop) -> anyhow::Result<()> {
    if options.warmup == 0 {
        return Ok(());
    }
    for (variant, command) in options.all_commands()? {
        for number in 1..=options.warmup {
            let done = prepared(variant, options, stop, || {
                progress::say(&format!("warm-up {number} of {}: {command}", options.warmup));
                shell::timed(&command, options.patience(), stop)
            });
            progress::clear();
            done?;
        }
    }
    Ok(())
}

/// `run` behind what prepares each run of that variant.
fn prepared<T>(
    variant: usize,
    options: &AbOptions,
    stop: &Stop,
    run: impl FnOnce() -> Result<T, ShellError>,
) -> anyhow::Result<T> {
    if let Some(prepare) = options.before(variant) {
        shell::run(prepare, options.patience(), stop)?;
    }
    Ok(run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_at_the_end_of_much_is_no_figure() {
        for printed in ["12.5\n", "took 12.5\n\n", "errors: 0\n"] {
            assert!(is_one_figure("x", printed).unwrap(), "{printed:?}");
        }
        for printed in ["", "done\n", "1\n2\n3\n", "12 ms\n"] {
            assert!(!is_one_figure("x", printed).unwrap(), "{printed:?}");
        }
        let refused = is_one_figure("x", "change: -3\n").unwrap_err().to_string();
        assert!(refused.contains("printed -3; a figure of zero or more"), "{refused}");
    }
}
