//! Shell commands before they are compared: what decides about them, and their warm-up.

use std::io::{self, Write as _};

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_experiment::shell::{self, ShellError};
use plumb_host::WINDOW_MIN_NS;
use plumb_measure::{Clock as _, show_ns};

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
    let rehearsed = prepared(*variant, options, stop, || {
        progress::say(&format!("once before all else: {first}"));
        let began_ns = MonotonicClock.now_ns();
        let printed = shell::run(first, options.patience(), stop)?;
        Ok((printed, MonotonicClock.now_ns().saturating_sub(began_ns)))
    });
    progress::clear();
    let (printed, took_ns) = rehearsed?;
    let limit = options.output.host.foreign_limit.share.of_one();
    if took_ns < WINDOW_MIN_NS && limit < 1.0 {
        warn(&too_short(first, took_ns));
    }
    if is_one_figure(first, &printed)? {
        return Ok(Some(CommandFigure::Printed));
    }
    warn(&format!(
        "`{first}` {}: what it takes is measured, and the wall time decides; --figure names another",
        seen(first, &printed)
    ));
    Ok(Some(CommandFigure::Wall))
}

/// A remark before anything is measured; nobody may be there to read it.
fn warn(text: &str) {
    let _ = writeln!(io::stderr(), "plumb: {text}");
}

/// What is said of a command whose runs are too short to tell what other processes took.
fn too_short(command: &str, took_ns: u64) -> String {
    format!(
        "`{command}` took {}: what other processes take cannot be told of less than {}, and no run so \
         short counts; do more in one run, or take all with --foreign-limit 100%",
        show_ns(took_ns),
        show_ns(WINDOW_MIN_NS)
    )
}

/// What a command printed that is not one figure.
fn seen(command: &str, printed: &str) -> String {
    let mut lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(last) = lines.next_back() else { return "prints no figure".into() };
    let several = lines.next().is_some();
    let end = last.split_whitespace().next_back().unwrap_or_default();
    match shell::figure(command, printed) {
        Ok(_) => {
            format!("prints several lines, of which --figure printed takes the last number, {end}")
        }
        Err(_) if !several && last.contains(|char: char| char.is_ascii_digit()) => {
            format!("prints no figure, for its line ends with `{end}` and not with a number")
        }
        Err(_) => "prints no figure".into(),
    }
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
    fn a_command_that_is_too_short_is_told_what_to_do() {
        let said = too_short("echo", 1_234_567);
        assert!(said.starts_with("`echo` took 1.23 ms: what other"), "{said}");
        assert!(said.contains("of less than 20.0 ms, and no run so short counts"), "{said}");
    }

    #[test]
    fn a_number_at_the_end_of_much_is_no_figure() {
        for printed in ["12.5\n", "took 12.5\n\n", "errors: 0\n"] {
            assert!(is_one_figure("x", printed).unwrap(), "{printed:?}");
        }
        for printed in ["", "done\n", "1\n2\n3\n", "12 ms\n"] {
            assert!(!is_one_figure("x", printed).unwrap(), "{printed:?}");
        }
        for (printed, expected) in [
            ("", "prints no figure"),
            ("done\n", "prints no figure"),
            ("1\ndone 2 times\n", "prints no figure"),
            ("12 ms\n", "prints no figure, for its line ends with `ms` and not with a number"),
            (
                "setup 7\nresult 12\n",
                "prints several lines, of which --figure printed takes the last number, 12",
            ),
        ] {
            assert_eq!(seen("x", printed), expected);
        }
        let refused = is_one_figure("x", "change: -3\n").unwrap_err().to_string();
        assert!(refused.contains("printed -3; a figure of zero or more"), "{refused}");
    }
}
