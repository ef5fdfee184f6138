//! On which processors the work of a result was done.

use serde::{Deserialize, Serialize};

/// On which processors client, server and the work of receiving ran. Who was not seen is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The program that measured, the busiest processor first.
    pub client: Vec<ProcessorShare>,
    /// The processes under test.
    pub server: Vec<ProcessorShare>,
    /// Soft interrupts of receiving.
    pub receive: Vec<ProcessorShare>,
    /// True when client and server kept to one core, false when each kept to one of its own; absent
    /// when one of them moved or was not seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub same_core: Option<bool>,
}

/// A processor and its part of some work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessorShare {
    /// Its number.
    pub cpu: u32,
    /// Its share of the work, percent.
    pub share_pct: f64,
}

/// From this share on, percent, work keeps to its processor.
const KEEPS_PCT: f64 = 90.0;

impl Placement {
    /// Says whether client and server kept to one core; `is_one` tells of two processors whether
    /// they are one core.
    #[must_use]
    pub fn judged(mut self, is_one: impl Fn(u32, u32) -> bool) -> Self {
        let kept = |shares: &[ProcessorShare]| {
            shares.first().filter(|it| it.share_pct >= KEEPS_PCT).copied()
        };
        let both = kept(&self.client).zip(kept(&self.server));
        self.same_core = both.map(|(client, server)| is_one(client.cpu, server.cpu));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_moved_about_shares_no_core() {
        let placement = |client_pct| Placement {
            client: vec![ProcessorShare { cpu: 0, share_pct: client_pct }],
            server: vec![ProcessorShare { cpu: 1, share_pct: 99.0 }],
            ..Placement::default()
        };
        assert_eq!(placement(95.0).judged(|one, other| one == other).same_core, Some(false));
        assert_eq!(placement(95.0).judged(|_, _| true).same_core, Some(true));
        assert_eq!(placement(60.0).judged(|_, _| true).same_core, None);
        assert_eq!(Placement::default().judged(|_, _| true).same_core, None);
    }
}
