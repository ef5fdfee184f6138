//! `--options FILE`: options of a command from a TOML file, beneath the command line.
//!
//! The options of the file become words among the user's own ([`expand`]), so that everything behind
//! this crate sees one command line. The command line goes before the file, the file before the
//! environment, the environment before the defaults. [`in_force`] writes such a file. Which commands
//! there are is not known here: their definitions are handed in.

mod error;
mod form;
mod in_force;
mod key;
mod section;
mod setting;
mod text;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use plumb_measure::LimitSource;
use toml::de::DeTable;

pub use error::{OptionsFileError, Problem};
pub use form::{Form, FormOptions};
pub use in_force::{InForceError, in_force};
pub use key::keys;

use error::Fault;
use setting::Setting;
use text::Text;

const FILE: &str = "options_file";
/// The id of the argument that asks for the options in force as such a file.
pub const PRINT: &str = "print_options";

/// The limit of foreign load is part of the verdict, and so is that it came from a file.
const LIMIT: &str = "foreign_limit";
const LIMIT_FROM: &str = "foreign_limit_from";

/// The command with `--options` and `--print-options` for each command below it that has options.
#[must_use]
pub fn offer(command: Command) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(offer);
    }
    if command.get_arguments().all(Arg::is_positional) {
        return command;
    }
    let file = Arg::new(FILE)
        .long("options")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Take options from this TOML file too; those on the command line go before them");
    let print = Arg::new(PRINT)
        .long("print-options")
        .action(ArgAction::SetTrue)
        .help("Print the options in force as such a file, and do nothing else");
    command.args([file, print].map(|arg| arg.help_heading(None::<&'static str>)))
}

/// `words`, the first of which is the name of the program, with those among them that the options
/// file stands for. Words that are wrong in themselves stay as they are: whoever parses them next
/// says so.
///
/// # Errors
/// When the file cannot be read, or is not made of options of the command that it is for.
pub fn expand(all: &Command, words: &[OsString]) -> Result<Vec<OsString>, OptionsFileError> {
    let Some(asked) = Asked::of(all, words) else {
        return Ok(words.to_vec());
    };
    let text = Text::read(&asked.file)?;
    let settings = asked.settings(&text.text).map_err(|fault| text.refused(fault))?;
    Ok(asked.merged(words, &settings))
}

/// A command line that names an options file.
struct Asked {
    /// Every command.
    all: Command,
    /// The words of the command.
    path: Vec<String>,
    /// What else the command line says.
    given: ArgMatches,
    file: PathBuf,
}

impl Asked {
    fn of(all: &Command, words: &[OsString]) -> Option<Self> {
        let names_it = |word: &OsString| word.to_string_lossy().starts_with("--options");
        if !words.iter().any(names_it) {
            return None;
        }
        // what is missing may stand in the file, so nothing is asked for yet
        let lenient = all.clone().ignore_errors(true);
        let (path, given) = leaf(lenient.try_get_matches_from(words).ok()?);
        let file = given.try_get_one::<PathBuf>(FILE).ok().flatten()?.clone();
        let mut all = all.clone();
        all.build(); // so that positional arguments know their places
        Some(Self { all, path, given, file })
    }

    fn command(&self) -> &Command {
        find(&self.all, &self.path).unwrap_or(&self.all)
    }

    /// What the file says that the command line does not.
    fn settings(&self, text: &str) -> Result<Vec<Setting<'_>>, Fault> {
        let table = DeTable::parse(text)?;
        let options = section::find(&self.all, &self.path, table.get_ref())?;
        let mut settings = setting::all(self.command(), options)?;
        settings.retain(|setting| !self.overrules(setting.argument));
        self.agree(&settings)?;
        Ok(settings)
    }

    fn is_given(&self, argument: &Arg) -> bool {
        self.given.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// True when the command line gives the argument, or another that excludes it.
    fn overrules(&self, argument: &Arg) -> bool {
        let excludes = |given: &Arg| {
            given.get_id() == argument.get_id() || key::exclude(self.command(), given, argument)
        };
        key::arguments(self.command()).any(|given| self.is_given(given) && excludes(given))
    }

    /// Refuses settings that cannot stand together.
    fn agree(&self, settings: &[Setting<'_>]) -> Result<(), Fault> {
        for (at, setting) in settings.iter().enumerate() {
            let (earlier, _) = settings.split_at(at);
            let problem = self.excluded(setting, earlier).or_else(|| self.gap(setting, settings));
            if let Some(problem) = problem {
                return Err(Fault::new(setting.at.clone(), problem));
            }
        }
        Ok(())
    }

    fn excluded(&self, setting: &Setting<'_>, earlier: &[Setting<'_>]) -> Option<Problem> {
        let excludes =
            |other: &&Setting<'_>| key::exclude(self.command(), other.argument, setting.argument);
        let other = earlier.iter().find(excludes)?;
        Some(Problem::Excluded { key: setting.key(), other: other.key() })
    }

    /// A positional argument without one before it would take its place.
    fn gap(&self, setting: &Setting<'_>, settings: &[Setting<'_>]) -> Option<Problem> {
        let is_there = |argument: &Arg| {
            let same = |other: &Setting<'_>| other.argument.get_id() == argument.get_id();
            self.is_given(argument) || settings.iter().any(same)
        };
        let missing = self.command().get_positionals().find(|argument| {
            argument.get_index() < setting.argument.get_index() && !is_there(argument)
        })?;
        Some(Problem::Gap { key: setting.key(), missing: key::of(missing) })
    }

    /// The words of the settings among those of the user: options in front, since they may stand
    /// anywhere; positional arguments last, since the user's own come before them.
    fn merged(&self, words: &[OsString], settings: &[Setting<'_>]) -> Vec<OsString> {
        let (command, own) = words.split_at(words.len().min(1 + self.path.len()));
        let (mut behind, options): (Vec<_>, Vec<_>) =
            settings.iter().partition(|setting| setting.argument.is_positional());
        behind.sort_by_key(|setting| setting.argument.get_index());
        let of = |settings: &[&Setting<'_>]| {
            settings.iter().flat_map(|setting| setting.words()).collect::<Vec<_>>()
        };
        let mut options = of(&options);
        if settings.iter().any(|setting| setting.argument.get_id() == LIMIT) {
            options
                .push(format!("--foreign-limit-from={}", LimitSource::OptionsFile.name()).into());
        }
        let mut merged = [command, &options, own].concat();
        if !behind.is_empty() && !own.iter().any(|word| word == "--") {
            merged.push("--".into());
        }
        merged.extend(of(&behind));
        merged
    }
}

/// The words of the command that `matches` are of, and what they say of it.
fn leaf(mut matches: ArgMatches) -> (Vec<String>, ArgMatches) {
    let mut path = Vec::new();
    while let Some((name, inner)) = matches.remove_subcommand() {
        path.push(name);
        matches = inner;
    }
    (path, matches)
}

/// The command with the words `path`.
fn find<'a>(all: &'a Command, path: &[String]) -> Option<&'a Command> {
    path.iter().try_fold(all, |command, name| command.find_subcommand(name))
}

#[cfg(test)]
mod tests;
