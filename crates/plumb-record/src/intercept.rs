//! Which hosts are opened.

use std::fmt;
use std::str::FromStr;

/// Hosts whose encrypted connections are opened: one, all of a domain, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intercept {
    /// `*`
    All,
    /// `*.example.com`: every host below the domain, in lower case without the leading dot.
    Below(String),
    /// One host, in lower case.
    Host(String),
}

/// A text names no hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no host: write a name without port, *.example.com, or *")]
pub struct NoHosts {
    /// As given.
    text: String,
}

impl Intercept {
    /// True when `host`, a name or number without brackets and port, is one of them.
    pub(crate) fn has(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        match self {
            Self::All => true,
            Self::Below(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|name| name.ends_with('.'))
            }
            Self::Host(name) => host == *name,
        }
    }
}

impl FromStr for Intercept {
    type Err = NoHosts;

    fn from_str(text: &str) -> Result<Self, NoHosts> {
        let plain = |name: &str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c))
        };
        let ported = |name: &str| name.matches(':').count() == 1;
        let name = text.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        match name.strip_prefix("*.") {
            _ if name == "*" => Ok(Self::All),
            Some(domain) if plain(domain) && !domain.contains(':') => {
                Ok(Self::Below(domain.into()))
            }
            None if plain(&name) && !ported(&name) => Ok(Self::Host(name)),
            _ => Err(NoHosts { text: text.into() }),
        }
    }
}

impl fmt::Display for Intercept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Host(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, host: &str) -> bool {
        text.parse::<Intercept>().unwrap().has(host)
    }

    #[test]
    fn only_named_hosts_are_opened() {
        assert!(has("*", "anything"));
        assert!(has("erp.example", "ERP.example"));
        assert!(!has("erp.example", "www.erp.example"));
        assert!(has("*.erp.example", "www.ERP.example"));
        assert!(!has("*.erp.example", "erp.example"));
        assert!(!has("*.erp.example", "evilerp.example"));
        assert!(has("[::1]", "::1"));
    }

    #[test]
    fn what_names_no_host_says_what_to_write() {
        for text in ["", "https://erp", "erp:443", "*.", "a b", "*erp", "erp/*", "*.a:1"] {
            let error = text.parse::<Intercept>().unwrap_err().to_string();
            assert!(error.contains("*.example.com"), "{text}: {error}");
        }
    }
}
