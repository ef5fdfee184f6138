//! The options of a command line as a file.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use plumb_wire::secret::{in_commands, in_header_line, masked};
use thiserror::Error;
use toml::{Table, Value};

use super::{PRINT, key};

/// The option whose values are header lines.
const HEADER: &str = "header";

/// Why the options in force cannot stand in a file.
#[derive(Debug, Error)]
pub enum InForceError {
    /// A value that is no text. Write it on the command line.
    #[error("the value of `{key}` is not UTF-8 text, as a TOML file must be")]
    NotText {
        /// The option.
        key: String,
    },
    /// Values that TOML has no form for, in the words of whoever writes TOML.
    #[error("the options in force cannot be written as TOML: {0}")]
    NoForm(#[from] toml::ser::Error),
}

/// Every option with the value in force as an options file, when `matches` ask for it. Secrets are
/// masked: what is printed goes into files and logs.
///
/// # Errors
/// When a value is not UTF-8 text, which a TOML file must be.
pub fn in_force(all: &Command, matches: &ArgMatches) -> Result<Option<String>, InForceError> {
    let (path, matches) = super::leaf(matches.clone());
    if !matches!(matches.try_get_one::<bool>(PRINT), Ok(Some(true))) {
        return Ok(None);
    }
    let command = super::find(all, &path).unwrap_or(all);
    let mut table = Table::new();
    for argument in key::arguments(command) {
        if let Some(value) = value(command, argument, &matches)? {
            table.insert(key::of(argument), value);
        }
    }
    Ok(Some(format!("# {} {}\n{}", all.get_name(), path.join(" "), toml::to_string(&table)?)))
}

/// The value of an argument; `None` when it has none, or only a default that does not count.
fn value(
    command: &Command,
    argument: &Arg,
    matches: &ArgMatches,
) -> Result<Option<Value>, InForceError> {
    let source = |argument: &Arg| matches.value_source(argument.get_id().as_str());
    let is_chosen =
        |other: &&Arg| source(other).is_some_and(|source| source != ValueSource::DefaultValue);
    let replaced = !is_chosen(&argument)
        && key::arguments(command)
            .filter(is_chosen)
            .any(|other| key::exclude(command, other, argument));
    if replaced {
        return Ok(None);
    }
    let id = argument.get_id().as_str();
    if key::is_switch(argument) {
        return Ok(Some(Value::Boolean(matches.get_flag(id))));
    }
    let Some(raw) = matches.get_raw(id) else {
        return Ok(None);
    };
    let found = if id == HEADER { in_header_line } else { in_commands };
    let shown = |word: &str| plain(&masked(word, &found(word)));
    let values = raw.map(|value| value.to_str().map(shown)).collect::<Option<Vec<Value>>>();
    let values = values.ok_or_else(|| InForceError::NotText { key: key::of(argument) })?;
    Ok(if key::is_list(argument) { Some(values.into()) } else { values.into_iter().next() })
}

/// A number as a number, when it reads back as the same word.
fn plain(word: &str) -> Value {
    let number = word.parse::<i64>().ok().filter(|number| number.to_string() == word);
    number.map_or_else(|| Value::String(word.into()), Value::Integer)
}
