//! What an answer must be, and what is taken from it.

use plumb_measure::Span;
use serde::{Deserialize, Serialize};

/// What an answer must be; every key that is there must hold.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// Codes and classes such as `200,3xx`; absent: 2xx, and 3xx where the step extracts `Location`.
    /// A redirect whose status stands here is not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The address that answers behind all redirects, without its query and its parameters (`;...`): a
    /// path of `base`, or an address of one of `hosts`; `*` stands for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of a batch: codes and classes of the answer to each operation; absent: 2xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Content of exactly so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Content of at least so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_min: Option<u64>,
    /// Content of at most so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_max: Option<u64>,
    /// The content holds each of these texts, which are templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// The content holds none of these texts, which are templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains_not: Vec<String>,
    /// Each of these regular expressions matches somewhere in the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// None of these regular expressions matches anywhere in the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches_not: Vec<String>,
    /// The answer is complete within this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Span>,
}

/// What is taken from an answer: exactly one of `json`, `regex`, `xpath`, `between`, `header`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Extract {
    /// The variable.
    pub name: String,
    /// A `JSONPath`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// What a `null` of the document becomes; absent: the text `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<String>,
    /// A regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// What becomes of a match, such as `$1$-$2$`; absent: the first group, or the whole match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// An `XPath`; prefixes as the document declares them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xpath: Option<String>,
    /// What stands between two texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// A header of the answer; with `regex`: that is looked for in its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// It is written in HTML: its character references (`&amp;`) are decoded.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub html: bool,
    /// It is an address: relative to that of the page it stands on.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub address: bool,
    /// Which of the matches.
    #[serde(default, skip_serializing_if = "Pick::is_default")]
    pub pick: Pick,
    /// The value when nothing was found; absent: the step fails, as `nothing extracted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// Which of several matches: `"first"`, `"all"` (a list), `"random"`, or a number from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The first one.
    #[default]
    First,
    /// All of them: the variable is a list.
    All,
    /// One of them, drawn anew each time.
    Random,
    /// The one with this number, from 1.
    Number(u64),
}
