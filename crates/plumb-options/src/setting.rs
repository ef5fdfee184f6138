//! One option of a file, and the words it stands for.

use std::error::Error as _;
use std::ffi::OsString;
use std::ops::Range;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::error::{Fault, Problem};
use super::key;
use plumb_wire::document::nearest;

/// One option of a file. A switch that is off and an empty list are none.
pub(super) struct Setting<'a> {
    pub(super) argument: &'a Arg,
    /// None for a switch, which is on.
    values: Vec<String>,
    /// Where its key stands in the file.
    pub(super) at: Range<usize>,
}

/// Every option in `table`, in the order of the file.
pub(super) fn all<'a>(
    command: &'a Command,
    table: &DeTable<'_>,
) -> Result<Vec<Setting<'a>>, Fault> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let settings = entries.into_iter().map(|(key, value)| Setting::of(command, key, value));
    settings.filter_map(Result::transpose).collect()
}

impl<'a> Setting<'a> {
    fn of(
        command: &'a Command,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Option<Self>, Fault> {
        let name = key.get_ref().as_ref();
        let Some(argument) = key::arguments(command).find(|known| key::of(known) == name) else {
            let nearest = nearest(name, key::keys(command));
            let command = command.get_bin_name().unwrap_or_default().to_owned();
            let problem = Problem::NoOption { key: name.into(), command, nearest };
            return Err(Fault::new(key.span(), problem));
        };
        let at = key.span();
        if key::is_switch(argument) {
            return match value.get_ref() {
                DeValue::Boolean(on) => Ok(on.then_some(Self { argument, values: vec![], at })),
                _ => Err(wrong_type(argument, value)),
            };
        }
        let values = values(argument, value)?;
        let of_one = key::values(argument);
        if !values.is_empty() && of_one.1 > 1 && !(of_one.0..=of_one.1).contains(&values.len()) {
            let problem = Problem::Count { key: name.into(), least: of_one.0, most: of_one.1 };
            return Err(Fault::new(value.span(), problem));
        }
        Ok((!values.is_empty()).then_some(Self { argument, values, at }))
    }

    pub(super) fn key(&self) -> String {
        key::of(self.argument)
    }

    /// The words of a command line that say the same.
    pub(super) fn words(&self) -> Vec<OsString> {
        let values = self.values.iter().map(OsString::from);
        match self.argument.get_long() {
            None => values.collect(),
            Some(long) if self.values.is_empty() || key::values(self.argument).1 > 1 => {
                [format!("--{long}").into()].into_iter().chain(values).collect()
            }
            Some(long) => {
                self.values.iter().map(|value| format!("--{long}={value}").into()).collect()
            }
        }
    }
}

/// The values of an argument that takes some, each as the command line would have it.
fn values(argument: &Arg, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Fault> {
    match value.get_ref() {
        DeValue::Array(elements) if key::is_list(argument) => {
            elements.iter().map(|element| single(argument, element)).collect()
        }
        _ => Ok(vec![single(argument, value)?]),
    }
}

fn single(argument: &Arg, value: &Spanned<DeValue<'_>>) -> Result<String, Fault> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => decimal(number),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Boolean(_) | DeValue::Array(_) | DeValue::Table(_) => {
            return Err(wrong_type(argument, value));
        }
    };
    match refusal(argument, &text) {
        None => Ok(text),
        Some(cause) => {
            let problem = Problem::Refused { key: key::of(argument), value: text, cause };
            Err(Fault::new(value.span(), problem))
        }
    }
}

/// An integer as the command line has it, whatever its base in the file. One that is too large for
/// any option stays as it is, to be refused.
fn decimal(number: &DeInteger<'_>) -> String {
    let read = i128::from_str_radix(number.as_str(), number.radix());
    read.map_or_else(|_| number.to_string(), |number| number.to_string())
}

/// Why the argument does not take `value`; `None` when it does.
fn refusal(argument: &Arg, value: &str) -> Option<String> {
    // a command with nothing but the value, so that nothing else can be the cause
    let mut probe = Arg::new("value")
        .long("value")
        .action(argument.get_action().clone())
        .ignore_case(argument.is_ignore_case_set())
        .value_parser(argument.get_value_parser().clone());
    if let Some(delimiter) = argument.get_value_delimiter() {
        probe = probe.value_delimiter(delimiter);
    }
    let command = Command::new("probe").no_binary_name(true).disable_help_flag(true).arg(probe);
    let error = command.try_get_matches_from([format!("--value={value}")]).err()?;
    if let Some(cause) = error.source() {
        return Some(cause.to_string());
    }
    if let (ErrorKind::InvalidValue, Some(ContextValue::Strings(known))) =
        (error.kind(), error.get(ContextKind::ValidValue))
        && !known.is_empty()
    {
        return Some(format!("expected one of {}", known.join(", ")));
    }
    Some("a value is required".into())
}

fn wrong_type(argument: &Arg, value: &Spanned<DeValue<'_>>) -> Fault {
    let expected = match argument {
        switch if key::is_switch(switch) => "true or false",
        list if key::is_list(list) => "a value or a list of values",
        _ => "one value",
    };
    let found = value.get_ref().type_str();
    Fault::new(value.span(), Problem::Type { key: key::of(argument), expected, found })
}
