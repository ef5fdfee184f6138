//! What can be wrong with an options file.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use thiserror::Error;

/// Why an options file does not stand for options.
#[derive(Debug, Error)]
pub enum OptionsFileError {
    /// It is not there, or may not be read.
    #[error("cannot read the options file {}: {cause}; check the path", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It is larger than any file of options: probably another file was meant.
    #[error("{} is no options file: it is larger than {limit} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// In bytes.
        limit: u64,
    },
    /// Something in it is wrong; the excerpt shows where.
    #[error("{}, line {line}, column {column}: {problem}\n{excerpt}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong.
        problem: Box<Problem>,
        /// The line with a mark below the place.
        excerpt: String,
    },
}

/// Something wrong at a place of a text.
#[derive(Debug)]
pub(super) struct Fault {
    /// In bytes from the beginning of the text.
    pub(super) at: Range<usize>,
    pub(super) problem: Problem,
}

impl Fault {
    pub(super) fn new(at: Range<usize>, problem: Problem) -> Self {
        Self { at, problem }
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        let at = error.span().unwrap_or_default();
        Self::new(at, Problem::NoToml(error.message().to_owned()))
    }
}

/// What is wrong at a place of an options file.
#[derive(Debug, Error)]
pub enum Problem {
    /// Bytes that are no UTF-8.
    #[error("this is no UTF-8 text; TOML is")]
    NoText,
    /// Text that is no TOML, in the words of whoever reads TOML.
    #[error("not TOML: {0}")]
    NoToml(String),
    /// A key that the command does not know.
    #[error("`{command}` has no option `{key}`{}", meant(.nearest.as_deref()))]
    NoOption {
        /// As it stands in the file.
        key: String,
        /// The command, with the name of the program.
        command: String,
        /// The option that was probably meant.
        nearest: Option<String>,
    },
    /// A section that is no command.
    #[error("there is no command `{key}` to have a section{}", meant(.nearest.as_deref()))]
    NoCommand {
        /// As it stands in the file.
        key: String,
        /// The command that was probably meant.
        nearest: Option<String>,
    },
    /// The file has sections, but none for the command.
    #[error("the file has sections, but none for this command: begin one with [{section}]")]
    NoSection {
        /// Its name.
        section: String,
    },
    /// An option in a file that has sections, but in none of them.
    #[error("`{key}` stands in no section of a command: write it below [{section}]")]
    Outside {
        /// As it stands in the file.
        key: String,
        /// The section of the command that is to be run.
        section: String,
    },
    /// A value of another type.
    #[error("`{key}` takes {expected}, not a TOML {found}")]
    Type {
        /// The option.
        key: String,
        /// In words.
        expected: &'static str,
        /// TOML's name of the type.
        found: &'static str,
    },
    /// A list of the wrong length.
    #[error("`{key}` takes {}", count(*.least, *.most))]
    Count {
        /// The option.
        key: String,
        /// Values at least.
        least: usize,
        /// Values at most.
        most: usize,
    },
    /// A value that the option does not take.
    #[error("`{key}` cannot be `{value}`: {cause}")]
    Refused {
        /// The option.
        key: String,
        /// As the command line would have it.
        value: String,
        /// In words of the option.
        cause: String,
    },
    /// Two options of which only one may be given.
    #[error("`{key}` cannot stand beside `{other}`: take one of them out")]
    Excluded {
        /// The later one.
        key: String,
        /// The earlier one.
        other: String,
    },
    /// A positional argument whose predecessor is missing.
    #[error("`{key}` needs `{missing}`, which comes before it")]
    Gap {
        /// The one that is there.
        key: String,
        /// The one that is not.
        missing: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

fn count(least: usize, most: usize) -> String {
    match most {
        most if most == least => format!("{least} values"),
        usize::MAX => format!("{least} values or more"),
        most => format!("{least} to {most} values"),
    }
}
