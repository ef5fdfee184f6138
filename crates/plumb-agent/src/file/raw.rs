//! The keys of an agent's file.

use std::path::PathBuf;

use plumb_measure::{ByteSize, Span};
use serde::Deserialize;
use toml::Spanned;

use crate::deliver::Keys;
use crate::form::Form;
use crate::source::{MqttVersion, Payload};
use crate::spool::WhenFull;
use crate::trigger::Fires;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AgentFile {
    pub(super) name: Option<Spanned<String>>,
    #[serde(rename = "about")]
    _about: Option<String>,
    /// Agents of this file, each with a number behind its name.
    pub(super) copies: Option<Spanned<u32>>,
    pub(super) source: Spanned<SourceFile>,
    pub(super) changes: Option<ChangesFile>,
    pub(super) trigger: Option<Spanned<TriggerFile>>,
    #[serde(default)]
    pub(super) message: MessageFile,
    #[serde(default)]
    pub(super) bundle: BundleFile,
    pub(super) target: TargetFile,
    #[serde(default)]
    pub(super) retry: RetryFile,
    #[serde(default)]
    pub(super) spool: SpoolFile,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SourceFile {
    pub(super) sim: Option<Spanned<SimFile>>,
    pub(super) file: Option<Spanned<ReplayFile>>,
    pub(super) mqtt: Option<Spanned<MqttFile>>,
    pub(super) opc_ua: Option<Spanned<OpcUaFile>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SimFile {
    pub(super) seed: Option<u64>,
    pub(super) rate: Option<Spanned<f64>>,
    pub(super) changes: Option<u64>,
    pub(super) tag: Vec<Spanned<SimTagFile>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SimTagFile {
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) shape: ShapeName,
    pub(super) value: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// Samples.
    pub(super) period: Option<f64>,
    pub(super) step: Option<f64>,
    pub(super) steps: Option<u32>,
    /// Samples.
    pub(super) every: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ShapeName {
    Constant,
    Sine,
    RandomWalk,
    Steps,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReplayFile {
    pub(super) path: Spanned<PathBuf>,
    #[serde(default)]
    pub(super) form: ReplayForm,
    /// The tag of lines.
    pub(super) tag: Option<String>,
    pub(super) time_column: Option<String>,
    pub(super) tag_column: Option<Spanned<String>>,
    pub(super) value_column: Option<Spanned<String>>,
    pub(super) delimiter: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) read: ReadHow,
    pub(super) pace: Option<Spanned<PaceFile>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReplayForm {
    #[default]
    Csv,
    Lines,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReadHow {
    #[default]
    Once,
    Follow,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PaceFile {
    /// Changes a second.
    pub(super) rate: Option<f64>,
    /// How many times as fast as the time stamps.
    pub(super) speed: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MqttFile {
    pub(super) broker: Spanned<String>,
    #[serde(default)]
    pub(super) version: MqttVersion,
    pub(super) client_id: Option<Spanned<String>>,
    pub(super) topics: Spanned<Vec<String>>,
    #[serde(default)]
    pub(super) payload: Payload,
    /// The member of a JSON object that counts.
    pub(super) sequence: Option<Spanned<String>>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) password_env: Option<Spanned<String>>,
    pub(super) ca: Option<Spanned<PathBuf>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct OpcUaFile {
    pub(super) url: Spanned<String>,
    pub(super) node: Spanned<Vec<NodeFile>>,
    /// The tag that counts.
    pub(super) sequence: Option<Spanned<String>>,
    pub(super) interval: Option<Span>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) password_env: Option<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NodeFile {
    pub(super) id: String,
    /// Without one the tag is called like the node.
    pub(super) tag: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ChangesFile {
    pub(super) only_changed: Option<bool>,
    pub(super) deadband: Option<Spanned<f64>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TriggerFile {
    pub(super) when: Spanned<ConditionFile>,
    #[serde(default)]
    pub(super) fires: Fires,
    #[serde(default)]
    pub(super) tags: Vec<String>,
    pub(super) send: Option<Spanned<Vec<String>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ConditionFile {
    pub(super) all: Option<Vec<Spanned<ConditionFile>>>,
    pub(super) any: Option<Vec<Spanned<ConditionFile>>>,
    pub(super) not: Option<Box<Spanned<ConditionFile>>>,
    pub(super) changed: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
    pub(super) until: Option<f64>,
    pub(super) equals: Option<Literal>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Literal {
    Flag(bool),
    Number(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MessageFile {
    pub(super) form: Form,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BundleFile {
    pub(super) count: Option<Spanned<u32>>,
    pub(super) size: Option<Spanned<ByteSize>>,
    pub(super) time: Option<Span>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TargetFile {
    pub(super) url: Spanned<String>,
    pub(super) user: Option<Spanned<String>>,
    pub(super) password_file: Option<Spanned<PathBuf>>,
    pub(super) password_env: Option<Spanned<String>>,
    pub(super) token_file: Option<Spanned<PathBuf>>,
    pub(super) token_env: Option<Spanned<String>>,
    pub(super) ca: Option<Spanned<PathBuf>>,
    pub(super) window: Option<Spanned<usize>>,
    #[serde(default)]
    pub(super) ordered: bool,
    #[serde(default)]
    pub(super) keys: Keys,
    pub(super) timeout: Option<Span>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RetryFile {
    pub(super) times: Option<u32>,
    pub(super) interval: Option<Spanned<Span>>,
    pub(super) lifetime: Option<Span>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SpoolFile {
    pub(super) messages: Option<Spanned<u64>>,
    pub(super) size: Option<ByteSize>,
    pub(super) when_full: WhenFull,
}
