//! The keys of a landscape file.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use plumb_measure::Span;
use serde::Deserialize;
use toml::Spanned;

/// The keys of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Landscape {
    /// The remote that measures: where the users are.
    pub(super) hosts: Option<Spanned<String>>,
    pub(super) net: Option<Net>,
    pub(super) lock: Option<Lock>,
    pub(super) http: Option<Http>,
    pub(super) flow: Option<Flow>,
    pub(super) database: Option<Database>,
    pub(super) host: Option<Host>,
}

/// NI echo servers: `plumb net serve`, `niping -s`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Net {
    pub(super) servers: Vec<Spanned<String>>,
    pub(super) connections: Option<NonZeroUsize>,
}

/// A lock server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Lock {
    pub(super) server: Spanned<String>,
    #[serde(default)]
    pub(super) kind: LockServerKind,
    pub(super) password_file: Option<PathBuf>,
    pub(super) connections: Option<NonZeroUsize>,
}

/// What takes locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LockServerKind {
    #[default]
    Plumb,
    Redis,
}

/// Servers of pages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Http {
    pub(super) pages: Vec<Spanned<String>>,
    #[serde(rename = "static")]
    pub(super) ready: Option<Spanned<String>>,
    pub(super) credentials: Option<PathBuf>,
    pub(super) ca: Option<PathBuf>,
    pub(super) connections: Option<NonZeroUsize>,
}

/// An integration runtime, as `plumb flow load` takes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Flow {
    pub(super) server: Spanned<String>,
    pub(super) transaction: Option<String>,
    pub(super) message: Option<PathBuf>,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) ca: Option<PathBuf>,
    pub(super) connections: Option<NonZeroUsize>,
}

/// A database, as `plumb db ping` takes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Database {
    pub(super) url: Spanned<String>,
    pub(super) statement: Option<String>,
    pub(super) file: Option<PathBuf>,
    pub(super) timeout: Option<Spanned<Span>>,
}

/// A machine that is recorded meanwhile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Host {
    pub(super) recorder: Spanned<String>,
}
