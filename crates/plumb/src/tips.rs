//! What to try where a command line is wrong, beyond the words that resemble the wrong one.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use plumb_wire::document::likeness;

/// Options that other programs, or other commands of this one, call so; the options that a command takes
/// which is told so; and what it is told. `-L` is another thing to whoever knows curl: of niping are
/// commands that take a size and a count.
const CALLED_ELSEWHERE: [(&str, &[&str], &str); 4] = [
    ("--remove", &["delete"], "'--delete' removes what is listed"),
    ("--port", &["listen"], "'--listen HOST:PORT' says where it listens"),
    (
        "-B",
        &["size", "count"],
        "'--size' is the length of a message; called niping (a symlink), plumb takes -B",
    ),
    ("-L", &["size", "count"], "'--count' is how many; called niping (a symlink), plumb takes -L"),
];

/// The message of a command line `words` of `all` that cannot be used, with what to try.
pub(crate) fn with_tips(
    mut message: clap::Error,
    all: &Command,
    words: &[OsString],
) -> clap::Error {
    let mut all = all.clone();
    all.build(); // commands within others know their whole names then
    let command = innermost(&all, words);
    let tip = match message.kind() {
        ErrorKind::InvalidSubcommand => return with_commands(message, &all, command),
        ErrorKind::UnknownArgument => {
            let tip = elsewhere(&message, command).or_else(|| in_others(&message, &all, command));
            leave_far_fetched_out(&mut message, command, tip.is_some());
            tip
        }
        ErrorKind::ValueValidation => {
            if let Some(variable) = variable(&message, command, words) {
                message.insert(ContextKind::InvalidArg, ContextValue::String(variable));
            }
            if is_zero(&message) {
                return above_zero(message, command);
            }
            number(&message)
        }
        _ => None,
    };
    if let Some(tip) = tip {
        message.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    message
}

/// The command that `words` name, as far as there are such commands.
fn innermost<'a>(all: &'a Command, words: &[OsString]) -> &'a Command {
    let named = words
        .iter()
        .skip(1)
        .try_fold(all, |command, word| command.find_subcommand(word).ok_or(command));
    named.unwrap_or_else(|last| last)
}

/// A command that there is not: those of layers that have its name, since `plumb ping` may mean
/// `plumb net ping`, or all that there are in its place.
fn with_commands(mut message: clap::Error, all: &Command, command: &Command) -> clap::Error {
    let Some(word) = invalid(&message, ContextKind::InvalidSubcommand) else { return message };
    let layers = all.get_subcommands().filter(|layer| layer.find_subcommand(&word).is_some());
    let named: Vec<String> = layers.map(|layer| format!("{} {word}", layer.get_name())).collect();
    let is_in_layer = command.get_name() != all.get_name();
    if !named.is_empty() {
        message.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(named));
    } else if is_in_layer && message.get(ContextKind::SuggestedSubcommand).is_none() {
        let there = command.get_subcommands().map(Command::get_name);
        let there: Vec<&str> = there.filter(|name| *name != "help").collect();
        if there.is_empty() {
            return message;
        }
        let tip = format!("there are: {}", there.join(", "));
        message.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    message
}

/// What an argument that `command` does not take is called there.
fn elsewhere(message: &clap::Error, command: &Command) -> Option<String> {
    let word = invalid(message, ContextKind::InvalidArg)?;
    let takes = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    if let Some((_, longs, tip)) = CALLED_ELSEWHERE.iter().find(|(name, ..)| *name == word) {
        return longs.iter().all(|long| takes(long)).then(|| (*tip).to_owned());
    }
    match word.starts_with('-') {
        true => None,
        false if command.get_name() == "checkup" => {
            Some(format!("the landscape is named with '--target {word}'"))
        }
        false if takes("statement") => {
            Some(format!("a statement of your own is given with '--statement \"{word}\"'"))
        }
        false => None,
    }
}

/// The variable of the environment that the wrong value of an option is from; `None` where `words` hold it.
fn variable(message: &clap::Error, command: &Command, words: &[OsString]) -> Option<String> {
    let named = invalid(message, ContextKind::InvalidArg)?;
    let option = command.get_arguments().find(|arg| arg.to_string() == named)?;
    let (name, long) = (option.get_env()?, format!("--{}", option.get_long()?));
    let gives = |word: &OsString| {
        let word = word.to_string_lossy();
        word.strip_prefix(&long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    (!words.iter().any(gives)).then(|| format!("{} of the environment", name.to_string_lossy()))
}

/// Names that are not more alike than this were not meant.
const ALIKE: f64 = 0.8;
/// Names that are not more alike than this were not meant where another command has the wrong one.
const ALMOST_THE_SAME: f64 = 0.9;
/// Commands that are named as those that take an option.
const COMMANDS_NAMED: usize = 3;

/// The commands that take the option that `command` does not: those beside it, where some do.
fn in_others(message: &clap::Error, all: &Command, command: &Command) -> Option<String> {
    let word = invalid(message, ContextKind::InvalidArg)?;
    let long = word.strip_prefix("--")?;
    let mut taking = Vec::new();
    add_taking(all, long, &mut taking);
    let name = full_name(command);
    let layer = name.split(' ').take(2).collect::<Vec<_>>().join(" ") + " ";
    let beside: Vec<String> =
        taking.iter().filter(|other| other.starts_with(&layer)).cloned().collect();
    let named = if beside.is_empty() { taking } else { beside };
    let first: Vec<String> =
        named.iter().take(COMMANDS_NAMED).map(|name| format!("'{name}'")).collect();
    let more = if named.len() > COMMANDS_NAMED { " and others" } else { "" };
    (!first.is_empty()).then(|| format!("'{word}' is an option of {}{more}", first.join(", ")))
}

/// Adds the names of the commands at and below `command` that take the option `long`.
fn add_taking(command: &Command, long: &str, taking: &mut Vec<String>) {
    let takes = |arg: &Arg| arg.get_long() == Some(long) && !arg.is_hide_set();
    if command.get_arguments().any(takes) {
        taking.push(full_name(command));
    }
    let others = command.get_subcommands().filter(|other| other.get_name() != "help");
    others.for_each(|other| add_taking(other, long, taking));
}

fn full_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}

/// Takes out of `message` the option of `command` that resembles the wrong one little, or where
/// something better is `known`, and that the wrong one may be a value.
fn leave_far_fetched_out(message: &mut clap::Error, command: &Command, known: bool) {
    let Some(word) = invalid(message, ContextKind::InvalidArg) else { return };
    if word.starts_with("--") {
        message.remove(ContextKind::Suggested);
    }
    let meant = match message.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(meant)) => meant.clone(),
        _ => return,
    };
    let least = if known { ALMOST_THE_SAME } else { ALIKE };
    if likeness(word.trim_start_matches('-'), meant.trim_start_matches('-')) < least {
        message.remove(ContextKind::SuggestedArg);
        let usage = command.clone().render_usage();
        message.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
}

/// True of a zero where there may be none.
fn is_zero(message: &clap::Error) -> bool {
    let found = message.source().and_then(|cause| cause.downcast_ref::<ParseIntError>());
    found.is_some_and(|found| matches!(found.kind(), IntErrorKind::Zero))
}

/// The `message` about a zero of `command` where there may be none, in words of ours.
fn above_zero(message: clap::Error, command: &Command) -> clap::Error {
    let (Some(value), Some(option)) =
        (invalid(&message, ContextKind::InvalidValue), invalid(&message, ContextKind::InvalidArg))
    else {
        return message;
    };
    let text = format!(
        "invalid value '{value}' for '{option}': `{value}` is not above zero; write 1 or more"
    );
    command.clone().error(ErrorKind::ValueValidation, text)
}

/// What is a number, where letters stand in the place of one.
fn number(message: &clap::Error) -> Option<String> {
    let found = message.source()?.downcast_ref::<ParseIntError>()?;
    let no_digits = matches!(found.kind(), IntErrorKind::InvalidDigit | IntErrorKind::Empty);
    no_digits.then(|| "write a whole number in digits, such as 60".to_owned())
}

fn invalid(message: &clap::Error, what: ContextKind) -> Option<String> {
    match message.get(what)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    /// What is said of a command line.
    fn said(line: &[&str]) -> String {
        let mut all = commands::all();
        let message = all.try_get_matches_from_mut(line).unwrap_err();
        let words: Vec<OsString> = line.iter().map(Into::into).collect();
        with_tips(message, &all, &words).to_string()
    }

    #[test]
    fn a_command_without_its_layer_is_told_the_layers_that_have_it() {
        let ping = said(&["plumb", "ping", "db1"]);
        assert!(ping.contains("'http ping'") && ping.contains("'net ping'"), "{ping}");
        assert!(!said(&["plumb", "nothing"]).contains("tip:"));
    }

    #[test]
    fn a_command_that_resembles_none_is_told_all_of_its_place() {
        let load = said(&["plumb", "lock", "load", "orders", "h"]);
        assert!(load.contains("tip: there are: ") && load.contains(" sd"), "{load}");
        assert!(!load.contains("help,") && !load.contains(", help"), "{load}");
        for none in [&["plumb", "help", "nett"][..], &["plumb", "help", "net", "pin"]] {
            assert!(!said(none).contains("there are:"), "{}", said(none));
        }
    }

    #[test]
    fn options_of_other_programs_are_told_by_their_name_here() {
        for (line, tip) in [
            (&["plumb", "net", "ping", "h", "-B", "500"][..], "tip: '--size' is the length"),
            (&["plumb", "net", "ping", "h", "-L", "5"], "tip: '--count' is how many"),
            (&["plumb", "app", "serve", "--port", "8000"], "tip: '--listen HOST:PORT'"),
            (&["plumb", "net", "serve", "--port", "3298"], "tip: '--listen HOST:PORT'"),
            (&["plumb", "checkup", "l.toml"], "tip: the landscape is named with '--target l.toml'"),
            (
                &["plumb", "db", "ping", "postgres://h", "select 1"],
                "tip: a statement of your own is given with '--statement \"select 1\"'",
            ),
        ] {
            let text = said(line);
            assert!(text.contains(tip), "{text}");
            assert!(!text.contains("'-- -"), "{text}");
        }
        for other in ["-B", "-L"] {
            let text = said(&["plumb", "http", "ping", "http://h/", other, "5"]);
            assert!(!text.contains("niping"), "{text}");
        }
    }

    #[test]
    fn a_wrong_value_of_the_environment_is_told_by_its_variable() {
        // that this variable is there and no number is all that counts
        let limit = clap::Arg::new("limit").long("limit").env("PATH");
        let limit = limit.value_parser(clap::value_parser!(u64)).hide_env_values(true);
        let mut all = Command::new("plumb").arg(limit);
        let mut said = |line: &[&str]| {
            let message = all.try_get_matches_from_mut(line).unwrap_err();
            let words: Vec<OsString> = line.iter().map(Into::into).collect();
            with_tips(message, &all, &words).to_string()
        };
        let of_environment = said(&["plumb"]);
        assert!(of_environment.contains(" for 'PATH of the environment': "), "{of_environment}");
        let of_line = said(&["plumb", "--limit=x"]);
        assert!(of_line.contains("'x' for '--limit <limit>'"), "{of_line}");
    }

    #[test]
    fn options_of_other_commands_are_told_with_the_commands_that_take_them() {
        for (line, tip) in [
            (
                &["plumb", "net", "ping", "h", "--users", "5"][..],
                "'--users' is an option of 'plumb ",
            ),
            (
                &["plumb", "http", "ping", "http://h/", "--users", "5"],
                "'--users' is an option of 'plumb http load'",
            ),
            (&["plumb", "http", "ping", "http://h/", "--full"], "'--full' is an option of 'plumb "),
            (&["plumb", "lock", "show", "h", "--remove"], "'--delete' removes what is listed"),
            (&["plumb", "net", "ping", "h", "--connectons", "5"], "'--connections'"),
        ] {
            let text = said(line);
            assert!(text.contains(tip), "{text}");
            assert!(!text.contains("as a value"), "{text}");
            assert!(!text.contains("--streams"), "{text}");
        }
        for (word, other) in [("--size", "--as-given"), ("--nothing-like-it", "tip:")] {
            let text = said(&["plumb", "http", "ping", "http://h/", word, "5B"]);
            assert!(!text.contains(other), "{text}");
        }
    }

    #[test]
    fn a_zero_where_there_may_be_none_is_told_what_to_write() {
        for option in ["--connections", "--threads"] {
            let text = said(&["plumb", "net", "ping", "h", option, "0"]);
            let words = "`0` is not above zero; write 1 or more";
            assert!(text.contains(words) && text.contains(option), "{text}");
            assert!(!text.contains("non-zero"), "{text}");
        }
    }

    #[test]
    fn letters_in_the_place_of_a_number_are_told_what_one_is() {
        let text = said(&["plumb", "size", "ladder", "--users", "sixty"]);
        assert!(text.contains("tip: write a whole number in digits, such as 60"), "{text}");
        assert!(!said(&["plumb", "size", "ladder", "--users", "0"]).contains("tip:"));
    }
}
