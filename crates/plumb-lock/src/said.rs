//! A reply of a lock server that is kept.

use plumb_wire::resp::Reply;

use crate::load::shown;

/// A reply that outlives the bytes it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Bytes, or a status.
    Text(Vec<u8>),
    Number(i64),
    Nothing,
    Many(Vec<Said>),
    Error(String),
}

impl Said {
    pub(crate) fn of(reply: Reply<'_>) -> Self {
        match reply {
            Reply::Simple(text) | Reply::Bulk(text) => Self::Text(text.to_vec()),
            Reply::Error(text) => Self::Error(shown(text)),
            Reply::Integer(value) => Self::Number(value),
            Reply::Null => Self::Nothing,
            Reply::Array(items) => Self::Many(items.map(Self::of).collect()),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Self::Number(value) => value.to_string(),
            Self::Error(text) => text.clone(),
            Self::Nothing | Self::Many(_) => String::new(),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Nothing | Self::Many(_) | Self::Error(_) => b"",
        }
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Number(value) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }
}
