//! When the table was full, and who had filled it.

use std::fmt;

use plumb_engine::clock;
use plumb_lock_server::plain;
use plumb_measure::counted;
use serde_json::{Value, json};

use crate::said::Said;

/// One overflow, as the server remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overflow {
    /// Overflows so far, this one included.
    number: u64,
    at_ms: u64,
    part: String,
    owners: Vec<(String, u64)>,
    arguments: Vec<(String, u64)>,
}

/// Those of an answer to `LOCKSTAT OVERFLOWS`, the oldest first; `None` when they are not told, as
/// to a user who may not list what others have locked.
pub(super) fn all(said: &Said) -> Option<Vec<Overflow>> {
    let Said::Many(overflows) = said else {
        return None;
    };
    Some(overflows.iter().filter_map(Overflow::of).collect())
}

impl Overflow {
    fn of(said: &Said) -> Option<Self> {
        let Said::Many(fields) = said else {
            return None;
        };
        let [number, at, part, Said::Many(owners), Said::Many(arguments)] = fields.as_slice()
        else {
            return None;
        };
        let (number, at_ms, part) = (number.number(), at.number(), part.text());
        let (owners, arguments) = (holders(owners), holders(arguments));
        Some(Self { number, at_ms, part, owners, arguments })
    }

    fn at(&self) -> String {
        clock::utc(self.at_ms.saturating_mul(1_000_000))
    }

    pub(super) fn json(&self) -> Value {
        let holders = |of: &[(String, u64)]| -> Vec<Value> {
            of.iter().map(|(text, locks)| json!({ "text": text, "locks": locks })).collect()
        };
        json!({
            "number": self.number, "at": self.at(), "at_ms": self.at_ms, "part": self.part,
            "owners": holders(&self.owners), "arguments": holders(&self.arguments),
        })
    }
}

/// Texts and numbers of locks, in turns.
fn holders(said: &[Said]) -> Vec<(String, u64)> {
    said.chunks_exact(2).map(|pair| (pair[0].text(), pair[1].number())).collect()
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, part, .. } = self;
        writeln!(
            f,
            "full: {}, at last {} for want of {part}",
            counted(*number, "time"),
            self.at()
        )?;
        for (kind, holders) in [("owners", &self.owners), ("arguments", &self.arguments)] {
            let held: Vec<String> =
                holders.iter().map(|(text, locks)| format!("{} {locks}", plain(text))).collect();
            let end = if kind == "owners" { "\n" } else { "" };
            write!(f, "  {kind} with most locks then: {}{end}", held.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overflow_names_those_who_held_most() {
        let text = |text: &str| Said::Text(text.into());
        let said = Said::Many(vec![Said::Many(vec![
            Said::Number(3),
            Said::Number(0),
            text("arguments"),
            Said::Many(vec![text("a\u{1b}"), Said::Number(2)]),
            Said::Many(vec![text("MARA 1"), Said::Number(1), text("MARA 2"), Said::Number(1)]),
        ])]);
        let told = all(&said).expect("they are told");
        let [overflow] = &*told else {
            panic!("one overflow");
        };
        let expected = "full: 3 times, at last 1970-01-01T00:00:00Z for want of arguments\n  \
                        owners with most locks then: a? 2\n  \
                        arguments with most locks then: MARA 1 1, MARA 2 1";
        assert_eq!(overflow.to_string(), expected);
        assert_eq!(overflow.json()["owners"][0]["locks"], 2);
        assert_eq!(all(&Said::Many(Vec::new())), Some(Vec::new()));
        assert_eq!(all(&Said::Error("NOPERM".into())), None);
    }
}
