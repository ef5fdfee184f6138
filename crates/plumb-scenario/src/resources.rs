//! What a step asks for beside its page: what that embeds.

use std::fmt;

use regex::bytes::Regex;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pattern::{self, PatternError};

/// What is asked for of a page: `true`, everything that it embeds, or `{ matches = "...",
/// matches-not = "...", connections = 4 }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Only addresses in which this expression is found.
    pub matches: Option<String>,
    /// No address in which this one is.
    pub matches_not: Option<String>,
    /// Connections to each host, from 1 to 6; absent: 6.
    pub connections: Option<u8>,
}

/// Connections to one host at the same time.
///
/// # Source
/// What browsers do over HTTP/1.1.
pub const CONNECTIONS_MAX: u8 = 6;

/// The same as it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_not: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<u8>,
}

/// Which addresses are asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    matches: Option<Regex>,
    matches_not: Option<Regex>,
}

impl Wanted {
    /// Those that `resources` means.
    ///
    /// # Errors
    /// `PatternError` in words.
    pub fn new(resources: &Resources) -> Result<Self, PatternError> {
        let compiled = |text: &Option<String>| text.as_deref().map(pattern::compiled).transpose();
        Ok(Self {
            matches: compiled(&resources.matches)?,
            matches_not: compiled(&resources.matches_not)?,
        })
    }

    /// True when `address` is one of them.
    #[must_use]
    pub fn has(&self, address: &str) -> bool {
        let found = |regex: &Regex| regex.is_match(address.as_bytes());
        self.matches.as_ref().is_none_or(found) && !self.matches_not.as_ref().is_some_and(found)
    }
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::default() {
            return serializer.serialize_bool(true);
        }
        let Self { matches, matches_not, connections } = self.clone();
        Written { matches, matches_not, connections }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Resources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Resources;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "true, or {{ matches = \"...\", matches-not = \"...\", connections = 1 to 6 }}")
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Resources, E> {
        let all = all.then(Resources::default);
        all.ok_or_else(|| E::invalid_value(de::Unexpected::Bool(false), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Resources, A::Error> {
        let Written { matches, matches_not, connections } =
            Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        if let Some(number) = connections.filter(|number| !(1..=CONNECTIONS_MAX).contains(number)) {
            return Err(de::Error::invalid_value(de::Unexpected::Unsigned(number.into()), &self));
        }
        Ok(Resources { matches, matches_not, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Holder {
        resources: Resources,
    }

    #[test]
    fn what_is_wanted_is_read_and_written_again() {
        for text in [
            "resources = true",
            "[resources]\nmatches = \"png$\"\nmatches-not = \"ads\"\nconnections = 1",
        ] {
            let holder: Holder = toml::from_str(text).unwrap();
            assert_eq!(toml::to_string(&holder).unwrap().trim(), text);
        }
        for text in [
            "resources = false",
            "resources = 3",
            "resources = { connections = 7 }",
            "resources = { connections = 0 }",
        ] {
            let error = toml::from_str::<Holder>(text).unwrap_err().to_string();
            assert!(error.contains("true, or { matches"), "{error}");
        }
        assert!(toml::from_str::<Holder>("resources = { match = \"a\" }").is_err());
    }

    #[test]
    fn expressions_choose_addresses() {
        let resources = Resources {
            matches: Some("^http://erp/".into()),
            matches_not: Some("[.]woff$".into()),
            connections: None,
        };
        let wanted = Wanted::new(&resources).unwrap();
        assert!(wanted.has("http://erp/a.png"));
        assert!(!wanted.has("http://cdn/a.png") && !wanted.has("http://erp/a.woff"));
        assert!(Wanted::default().has("anything"));
        let broken = Resources { matches: Some("(".into()), ..Resources::default() };
        assert!(Wanted::new(&broken).unwrap_err().to_string().contains('('));
    }
}
