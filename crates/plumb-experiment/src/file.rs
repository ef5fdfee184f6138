//! An experiment as it is written: the keys of the TOML file, nothing checked that one key alone
//! cannot know.

use std::collections::BTreeMap;
use std::fmt;

use plumb_measure::{Share, Span};
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// A whole file.
///
/// Commands are templates: `${NAME}` stands for a level of a factor, a value of the variant, or
/// the address of a server; `$${` for the characters `${`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExperimentFile {
    /// What it is called, in the folder's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// Seed of the order; drawn from the clock and written down when it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Complete rounds; at most twice as many in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Spanned<u64>>,
    /// As many rounds as fit into this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Spanned<Span>>,
    /// Rounds until every interval reaches no further than this to either side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<Spanned<Share>>,
    /// Length of a block whose command does not say it: by --for, --count, or in a scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Spanned<Span>>,
    /// Effects within this count as none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// The variant that the others are compared with; absent: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Spanned<String>>,
    /// A pause between the switch to a variant and its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Spanned<Span>>,
    /// A shell command must end within this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_timeout: Option<Spanned<Span>>,
    /// The remotes that drive every measurement of ours together, as `--remotes` names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Spanned<String>>,
    /// Servers that are started and ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerSection>,
    /// What is compared, two or more.
    #[serde(default)]
    pub variant: Vec<VariantSection>,
    /// What is varied for all variants alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factor: Vec<FactorSection>,
    /// How it is measured, one or more.
    #[serde(default)]
    pub probe: Vec<ProbeSection>,
}

/// A server: exactly one of `run` and `exec`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerSection {
    /// Its address is `${NAME}`.
    pub name: Spanned<String>,
    /// The words behind `plumb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Spanned<String>>,
    /// A shell command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Spanned<String>>,
    /// What it says when it is ready, with `${address}` where its address stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<Spanned<String>>,
    /// Its address, when it does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether it lives as long as the experiment or as a block.
    #[serde(default, skip_serializing_if = "Start::is_default")]
    pub start: Start,
    /// It must be ready within this, and ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

/// How long a server lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// It is started when it is first needed, and ended with the experiment.
    #[default]
    Once,
    /// It is started before every block and ended behind it.
    Block,
}

impl Start {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One of the things compared.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VariantSection {
    /// In tables and reports.
    pub name: Spanned<String>,
    /// Words behind those of every probe of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<Spanned<String>>,
    /// Shell command that switches the system to it, before each of its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Spanned<String>>,
    /// Shell command that takes that back, behind each of its blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Spanned<String>>,
    /// Values by name, for the templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Spanned<Scalar>>,
    /// Options of every probe of ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Spanned<Scalar>>,
    /// Words behind those of a server, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Spanned<String>>,
}

impl VariantSection {
    /// A variant that is nothing but its name.
    pub fn called(name: &str) -> Self {
        Self {
            name: unplaced(name.to_owned()),
            words: None,
            before: None,
            after: None,
            set: BTreeMap::new(),
            options: BTreeMap::new(),
            servers: BTreeMap::new(),
        }
    }
}

/// What is varied for all variants alike.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FactorSection {
    /// Its level is `${NAME}`.
    pub name: Spanned<String>,
    /// In the order of the tables.
    pub levels: Spanned<Vec<Scalar>>,
}

/// A measurement: exactly one of `run` and `exec`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProbeSection {
    /// In tables and reports; may be absent when there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    /// The words behind `plumb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Spanned<String>>,
    /// A shell command; the last number that it prints is its figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Spanned<String>>,
    /// The figure that decides, such as `p95`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<Spanned<String>>,
    /// The figure of a shell command is a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub higher_is_better: Option<Spanned<bool>>,
    /// How long a block of it takes, where that cannot be known: for the prediction only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes: Option<Span>,
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Flag(bool),
    /// A number without a unit.
    Whole(i64),
    /// The same with a point.
    Real(f64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A value without a place, for a file that nobody wrote.
pub fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
