//! Which processes or machines drive a load together.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Remotes that are started on this machine at most.
const LOCAL_MAX: u32 = 256;

/// Letters of the name of a remote at most.
const NAME_MAX: usize = 64;

/// Which remotes are to drive a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteSelector {
    /// So many processes on this machine, started for it.
    Local(NonZeroU32),
    /// Those that wait in a NATS server.
    Nats {
        /// The server, `nats://HOST:PORT` or `tls://HOST:PORT`, where it is named.
        url: Option<String>,
        /// Which of them.
        of: RemoteQuery,
    },
}

/// Which of the remotes that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteQuery {
    /// All that are free.
    All,
    /// Those with these names, in this order.
    Names(Vec<String>),
    /// Those with all these labels.
    Labels(BTreeMap<String, String>),
}

impl RemoteSelector {
    /// The words in which they are asked for, without the server.
    #[must_use]
    pub fn asked_for(&self) -> String {
        match self {
            Self::Local(count) => format!("local:{count}"),
            Self::Nats { of, .. } => of.to_string(),
        }
    }
}

impl FromStr for RemoteSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(count) = text.strip_prefix("local:") {
            return match count.parse::<NonZeroU32>() {
                Ok(count) if count.get() <= LOCAL_MAX => Ok(Self::Local(count)),
                _ => Err(format!("expected local:N, with N from 1 to {LOCAL_MAX}")),
            };
        }
        let server = text.find("://").and_then(|at| Some((at, text[at + 3..].find('/')?)));
        let (url, of) = match server {
            Some((at, length)) => {
                let (url, of) = text.split_at(at + 3 + length);
                (Some(url.to_owned()), &of[1..])
            }
            None => (None, text),
        };
        if url.as_ref().is_some_and(|url| url.contains('@')) {
            return Err("a user does not belong into the URL: give a file of credentials".into());
        }
        Ok(Self::Nats { url, of: of.parse()? })
    }
}

impl FromStr for RemoteQuery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let parts: Vec<&str> = text.split(',').collect();
        if parts.iter().any(|part| part.contains('=')) {
            let labels = parts.into_iter().map(remote_label).collect::<Result<_, _>>();
            return labels.map(Self::Labels);
        }
        parts.into_iter().map(remote_name).collect::<Result<_, _>>().map(Self::Names)
    }
}

impl fmt::Display for RemoteQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::All => "all".to_owned(),
            Self::Names(names) => names.join(","),
            Self::Labels(labels) => {
                let each: Vec<_> =
                    labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                each.join(",")
            }
        };
        f.write_str(&text)
    }
}

/// The name of a remote: letters, digits, `-`, `_` and `.`, a letter or digit first. Files are called
/// by it, so that it must not lead to another folder.
///
/// # Errors
/// What is expected in its place.
pub fn remote_name(text: &str) -> Result<String, String> {
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return plain_word(text);
    }
    Err(format!(
        "expected local:N, all, names or labels: `{text}` is no name; one begins with a letter or a \
         digit"
    ))
}

/// Letters, digits, `-`, `_` and `.`.
fn plain_word(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !text.is_empty() && text.len() <= NAME_MAX && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "expected local:N, all, names or labels: `{text}` is no name; one has up to {NAME_MAX} \
             letters, digits, -, _ and ."
        ))
    }
}

/// A label of a remote, `KEY=VALUE`.
///
/// # Errors
/// What is expected in its place.
pub fn remote_label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is no KEY=VALUE"))?;
    Ok((plain_word(key)?, plain_word(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_or_refused() {
        let local = "local:4".parse::<RemoteSelector>().unwrap();
        assert_eq!(local, RemoteSelector::Local(NonZeroU32::new(4).unwrap()));
        assert_eq!(local.asked_for(), "local:4");
        let nats = |text: &str| match text.parse::<RemoteSelector>().unwrap() {
            RemoteSelector::Nats { url, of } => (url, of.to_string()),
            RemoteSelector::Local(_) => unreachable!("{text}"),
        };
        assert_eq!(nats("all"), (None, "all".into()));
        assert_eq!(nats("app-1,app-2.example"), (None, "app-1,app-2.example".into()));
        assert_eq!(nats("site=hamburg,role=user"), (None, "role=user,site=hamburg".into()));
        let url = Some("tls://queue.example:4222".into());
        assert_eq!(nats("tls://queue.example:4222/all"), (url, "all".into()));
        for wrong in ["", "local:0", "local:257", "local:x", "a b", "a,", "a=", "=b", "a=b,c"] {
            assert!(wrong.parse::<RemoteSelector>().is_err(), "{wrong}");
        }
        for wrong in [".", "..", "../x", "/x", "-x", "_x", "x/y", "x\n"] {
            assert!(remote_name(wrong).is_err(), "{wrong}");
        }
        assert!("nats://user:secret@q:4222/all".parse::<RemoteSelector>().is_err());
        assert!("nats://q:4222".parse::<RemoteSelector>().is_err(), "which of them?");
    }
}
