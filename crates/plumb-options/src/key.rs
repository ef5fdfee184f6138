//! How the arguments of a command are called in a file.

use clap::{Arg, ArgAction, Command};

use super::{FILE, LIMIT_FROM, PRINT};

/// The keys that a file may have for a command, in the order of its arguments.
pub fn keys(command: &Command) -> impl Iterator<Item = String> {
    arguments(command).map(of)
}

/// The arguments of a command that may stand in a file.
pub(super) fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| {
        let asks = matches!(
            argument.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        !asks && ![FILE, PRINT, LIMIT_FROM].contains(&argument.get_id().as_str())
    })
}

/// The key of an argument: its long name, or the name of its value as the help shows it, in lower
/// case.
pub(super) fn of(argument: &Arg) -> String {
    let shown = || argument.get_value_names()?.first().map(|name| name.to_lowercase());
    let name = argument.get_long().map(str::to_owned).or_else(shown);
    name.unwrap_or_else(|| argument.get_id().as_str().replace('_', "-"))
}

/// True for an argument that takes no value: it is there or not.
pub(super) fn is_switch(argument: &Arg) -> bool {
    !argument.get_action().takes_values()
}

/// Values that stand behind one mention of the argument, at least and at most.
pub(super) fn values(argument: &Arg) -> (usize, usize) {
    argument.get_num_args().map_or((1, 1), |range| (range.min_values(), range.max_values()))
}

/// True for an argument that takes a list.
pub(super) fn is_list(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Append) || values(argument).1 > 1
}

/// True when the two must not be given together.
pub(super) fn exclude(command: &Command, one: &Arg, other: &Arg) -> bool {
    let names = |one, other: &Arg| {
        let named = command.get_arg_conflicts_with(one);
        named.iter().any(|named| named.get_id() == other.get_id())
    };
    names(one, other) || names(other, one)
}
