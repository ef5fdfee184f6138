//! How users reach servers, and prove who they are.

use plumb_measure::Span;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::Step;

/// Which of the addresses of a name connections go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolve {
    /// All to the first that took one before the load began.
    #[default]
    Once,
    /// To the first that the name has when the connection is made; it is looked up every second.
    Each,
    /// Those of each user to another, in turn.
    Spread,
}

impl std::str::FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "once" => Ok(Self::Once),
            "each" => Ok(Self::Each),
            "spread" => Ok(Self::Spread),
            _ => Err("once, each or spread".into()),
        }
    }
}

/// How a server is told who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Authentication {
    /// The password goes with every request.
    #[default]
    Basic,
    /// It is proved when the server asks for that, and with every request from then on.
    Digest,
    /// It is proved by a ticket of Kerberos when the server asks for that.
    Negotiate,
}

/// The certificate that a user shows, as files in PEM; both are templates of variables that never
/// change, or of data with `take = "by-user"`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Certificate {
    /// The certificate and those that lead to an authority.
    pub cert: String,
    /// Its key.
    pub key: String,
}

/// A token with an end.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Token {
    /// How long it lasts from the last answer of its steps on: a time such as `55m`, or a template that
    /// becomes a number of seconds, such as `${expires-in}`.
    pub lasts: Spanned<String>,
    /// It is got again so long before its end; absent: 30 s. Never before half of its time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early: Option<Span>,
    /// The steps that get it.
    pub step: Vec<Step>,
}
