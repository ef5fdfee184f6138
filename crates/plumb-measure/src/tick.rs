//! What was done about the tick of processors that idle while a client and its server wait.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What one side does about the tick of a processor that has no work while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tick {
    /// Nothing, as an ordinary program: the kernel puts the tick off and takes it up again.
    #[default]
    Free,
    /// Keeps the kernel from putting the tick off.
    Held,
}

impl Tick {
    /// `free` or `held`, as servers tell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Held => "held",
        }
    }
}

impl From<bool> for Tick {
    /// An option that asks for it to be held.
    fn from(hold: bool) -> Self {
        if hold { Self::Held } else { Self::Free }
    }
}

impl FromStr for Tick {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Free, Self::Held]
            .into_iter()
            .find(|tick| tick.name() == text)
            .ok_or_else(|| format!("`{text}` is neither free nor held"))
    }
}

/// The ticks of both sides of a run, as its record names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct Ticks {
    /// Of the client.
    pub client: Tick,
    /// Of the server; `None` when it is not known.
    pub server: Option<Tick>,
}

/// Every combination, with its name in a record and its words for people.
const NAMES: [(Ticks, &str, &str); 6] = [
    (both(Tick::Free, Some(Tick::Free)), "free", "tick free"),
    (both(Tick::Held, Some(Tick::Free)), "held-by-client", "tick held by the client"),
    (both(Tick::Free, Some(Tick::Held)), "held-by-server", "tick held by the server"),
    (both(Tick::Held, Some(Tick::Held)), "held-by-both", "tick held by both sides"),
    (both(Tick::Free, None), "client-free-server-unknown", "tick free here, server's unknown"),
    (both(Tick::Held, None), "client-held-server-unknown", "tick held here, server's unknown"),
];

const fn both(client: Tick, server: Option<Tick>) -> Ticks {
    Ticks { client, server }
}

impl Ticks {
    /// Of a client whose server does not say what it does.
    #[must_use]
    pub fn of_client(client: Tick) -> Self {
        both(client, None)
    }

    /// The name in a record.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// True when the figures of runs under these ticks and under `other` differ by no tick that is
    /// known to be held. What is not known counts as left alone here: ordinary servers do nothing
    /// about it, and cannot say so.
    #[must_use]
    pub fn agrees_with(self, other: Self) -> bool {
        self.client == other.client
            && self.server.unwrap_or_default() == other.server.unwrap_or_default()
    }

    fn entry(self) -> (Self, &'static str, &'static str) {
        let found = NAMES.into_iter().find(|(ticks, ..)| *ticks == self);
        found.unwrap_or(NAMES[0])
    }
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().2)
    }
}

impl From<Ticks> for &'static str {
    fn from(ticks: Ticks) -> Self {
        ticks.name()
    }
}

impl TryFrom<String> for Ticks {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = NAMES.into_iter().find(|(_, known, _)| *known == name);
        found.map(|(ticks, ..)| ticks).ok_or_else(|| format!("no tick of a driver is `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_a_name_of_its_own_and_is_read_back() {
        for client in [Tick::Free, Tick::Held] {
            for server in [None, Some(Tick::Free), Some(Tick::Held)] {
                let ticks = Ticks { client, server };
                let json = serde_json::to_string(&ticks).unwrap();
                assert_eq!(json, format!("\"{}\"", ticks.name()));
                assert_eq!(serde_json::from_str::<Ticks>(&json).unwrap(), ticks);
                assert_eq!(ticks.to_string().contains("unknown"), server.is_none());
            }
            assert_eq!(client.name().parse(), Ok(client));
        }
        assert!(serde_json::from_str::<Ticks>("\"loose\"").is_err());
    }

    #[test]
    fn what_is_not_known_is_neither_called_free_nor_taken_for_held() {
        let unknown = Ticks::of_client(Tick::Free);
        assert_ne!(unknown.name(), "free");
        assert!(unknown.agrees_with(both(Tick::Free, Some(Tick::Free))));
        assert!(!unknown.agrees_with(both(Tick::Free, Some(Tick::Held))));
        assert!(!unknown.agrees_with(Ticks::of_client(Tick::Held)));
        assert!(
            !both(Tick::Held, Some(Tick::Held)).agrees_with(both(Tick::Held, Some(Tick::Free)))
        );
    }
}
