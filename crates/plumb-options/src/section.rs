//! Which part of a file is for a command.

use clap::Command;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{Fault, Problem};
use plumb_wire::document::nearest;

/// The options in `table` for the command with the words `path`: the whole file, or its section of
/// that name when the file has sections.
pub(super) fn find<'a, 'i>(
    all: &Command,
    path: &[String],
    table: &'a DeTable<'i>,
) -> Result<&'a DeTable<'i>, Fault> {
    let is_section = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        value.get_ref().is_table() && all.find_subcommand(key.get_ref().as_ref()).is_some()
    };
    if !table.iter().any(is_section) {
        return Ok(table);
    }
    let mut command = all;
    let mut table = table;
    for name in path {
        every_key_is_a_command(command, table, path)?;
        let inner = table.get(name.as_str()).and_then(|inner| inner.get_ref().as_table());
        let missing = || Fault::new(0..0, Problem::NoSection { section: path.join(".") });
        table = inner.ok_or_else(missing)?;
        command = command.find_subcommand(name).unwrap_or(command);
    }
    Ok(table)
}

fn every_key_is_a_command(
    command: &Command,
    table: &DeTable<'_>,
    path: &[String],
) -> Result<(), Fault> {
    for (key, value) in table {
        let name = key.get_ref().to_string();
        let known = command.find_subcommand(&name).is_some();
        let problem = match (known, value.get_ref()) {
            (true, DeValue::Table(_)) => continue,
            (false, DeValue::Table(_)) => {
                let names = command.get_subcommands().map(|inner| inner.get_name().to_owned());
                Problem::NoCommand { nearest: nearest(&name, names), key: name }
            }
            (_, _) => Problem::Outside { key: name, section: path.join(".") },
        };
        return Err(Fault::new(key.span(), problem));
    }
    Ok(())
}
