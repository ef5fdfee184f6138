//! The options of a command line as a file.

use anyhow::{Context as _, anyhow};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use toml::{Table, Value};

use super::{PRINT, key};

/// Every option with the value in force as an options file, when `matches` ask for it.
///
/// # Errors
/// When a value is not UTF-8 text, which a TOML file must be.
pub(crate) fn in_force(all: &Command, matches: &ArgMatches) -> anyhow::Result<Option<String>> {
    let (path, matches) = super::leaf(matches.clone());
    if !matches!(matches.try_get_one::<bool>(PRINT), Ok(Some(true))) {
        return Ok(None);
    }
    let command = super::find(all, &path).context("a command without a name")?;
    let mut table = Table::new();
    for argument in key::arguments(command) {
        if let Some(value) = value(command, argument, &matches)? {
            table.insert(key::of(argument), value);
        }
    }
    Ok(Some(format!("# plumb {}\n{}", path.join(" "), toml::to_string(&table)?)))
}

/// The value of an argument; `None` when it has none, or only a default that does not count.
fn value(command: &Command, argument: &Arg, matches: &ArgMatches) -> anyhow::Result<Option<Value>> {
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
    let values = raw.map(|value| value.to_str().map(plain)).collect::<Option<Vec<Value>>>();
    let values = values.ok_or_else(|| {
        anyhow!("the value of `{}` is not UTF-8 text, as a TOML file must be", key::of(argument))
    })?;
    Ok(if key::is_list(argument) { Some(values.into()) } else { values.into_iter().next() })
}

/// A number as a number, when it reads back as the same word.
fn plain(word: &str) -> Value {
    let number = word.parse::<i64>().ok().filter(|number| number.to_string() == word);
    number.map_or_else(|| Value::String(word.into()), Value::Integer)
}
