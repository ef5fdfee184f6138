//! A transaction as it is written: the keys of its TOML file.

use std::collections::BTreeMap;

use plumb_measure::{ByteSize, Span};
use serde::Deserialize;
use toml::Spanned;

use super::accepts::Accepts;
use super::retry::Retry;

/// A whole file. Texts of actions are templates: `${NAME}` stands for a parameter, or within a
/// `repeat` for a field of the row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TransactionFile {
    /// What it does, in words.
    pub(super) about: Option<String>,
    #[serde(default)]
    pub(super) mode: Mode,
    #[serde(default)]
    pub(super) persist: Persist,
    /// How long traces are kept.
    pub(super) retention: Option<Span>,
    /// From the first action to the last.
    pub(super) time_limit: Option<Span>,
    pub(super) retry: Option<Spanned<Retry>>,
    #[serde(default)]
    pub(super) accepts: Vec<Spanned<Accepts>>,
    #[serde(default)]
    pub(super) parameters: BTreeMap<Spanned<String>, ParameterFile>,
    #[serde(default)]
    pub(super) action: Vec<Spanned<ActionFile>>,
}

/// When whoever calls is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// After the last action, with its response.
    #[default]
    Sync,
    /// As soon as the message is in the queue.
    Async,
}

/// Which traces are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persist {
    /// Of every message.
    Always,
    /// Of those that failed.
    #[default]
    OnError,
    /// None.
    Never,
}

/// A parameter: its default, or a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ParameterFile {
    Default(String),
    Table(ParameterTable),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterTable {
    /// Without one every caller gives it.
    pub(super) default: Option<String>,
    /// What it is, in words.
    #[serde(rename = "about")]
    pub(super) _about: Option<String>,
}

/// An action: exactly one of its verbs, and what belongs to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ActionFile {
    pub(super) name: Option<Spanned<String>>,
    // verbs
    pub(super) repeat: Option<Spanned<String>>,
    #[serde(rename = "if")]
    pub(super) condition: Option<Spanned<String>>,
    pub(super) choose: Option<Spanned<Vec<Spanned<BranchFile>>>>,
    pub(super) log: Option<Spanned<String>>,
    pub(super) fail: Option<Spanned<String>>,
    pub(super) respond: Option<Spanned<String>>,
    pub(super) transaction: Option<Spanned<String>>,
    pub(super) xslt: Option<Spanned<String>>,
    pub(super) sql: Option<Spanned<String>>,
    pub(super) call: Option<Spanned<String>>,
    // of `repeat`
    #[serde(default)]
    pub(super) assign: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(super) buffer: Option<Spanned<ByteSize>>,
    // of `repeat` and `if`
    #[serde(default, rename = "do")]
    pub(super) inner: Vec<Spanned<ActionFile>>,
    // of `sql`
    pub(super) server: Option<Spanned<String>>,
    // of `call`
    pub(super) method: Option<Spanned<String>>,
    pub(super) target: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(super) body: Option<Spanned<String>>,
    #[serde(rename = "as")]
    pub(super) becomes: Option<Spanned<Becomes>>,
    // of `respond`
    pub(super) append: Option<Spanned<String>>,
    pub(super) encoding: Option<Spanned<Encoding>>,
    // of `respond` and `call`
    #[serde(rename = "type")]
    pub(super) media_type: Option<Spanned<String>>,
    pub(super) status: Option<Spanned<u16>>,
    // of `transaction`
    #[serde(default)]
    pub(super) with: BTreeMap<Spanned<String>, Spanned<String>>,
}

/// What the text of an answer stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Encoding {
    /// Bytes, four characters for three of them.
    Base64,
}

/// What becomes of the answer to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Becomes {
    /// The variables `NAME.status`, `NAME.type` and `NAME.body`.
    #[default]
    Variables,
    /// The document that later actions read.
    Document,
}

/// A branch of `choose`; one without a condition is taken when no other is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchFile {
    #[serde(rename = "if")]
    pub(super) condition: Option<Spanned<String>>,
    #[serde(rename = "do")]
    pub(super) inner: Vec<Spanned<ActionFile>>,
}
