//! How full a network link was, and how fast it is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{BitRate, Finding, FindingKind, Scope};

/// Bits a second of one Mbit/s.
const MBIT: u64 = 1_000_000;

/// The direction of one interface that used most of its link, of those whose speed is known. Bytes are
/// those that the interface counts: frames without preamble, checksum and gap, so that a link full of
/// frames of 1,514 bytes reads 98 %, one of an adapter that counts before segmentation 94 %, and one full of
/// smaller frames less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The name of the interface.
    pub interface: String,
    /// True of what it sent, false of what it received.
    pub sent: bool,
    /// Speed of the link in that direction, Mbit/s, as its driver or `--link` says.
    pub speed_mbit: u64,
    /// Share of that speed, percent: the mean over the time that the samples cover.
    pub used_pct: f64,
    /// The same of the sample with most, of those of a second or longer; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used_max_pct: Option<f64>,
}

impl LinkUse {
    /// Below this a link is not worth a word, percent.
    const NOTABLE_PCT: f64 = 50.0;
    /// From here on it is full, percent: 94 where headers are counted once a segmented packet (virtio).
    const FULL_PCT: f64 = 93.0;
    /// Over less time, nanoseconds, a step of counters that move once a second is too much of the mean.
    const COVERED_MIN_NS: u64 = 5_000_000_000;

    /// True where it is worth a word beside the figures.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.used_pct >= Self::NOTABLE_PCT
    }

    /// That the link was full over the `covered_ns` of its samples; `None` where it was not, or the time is too
    /// short to tell.
    pub(crate) fn full(&self, whose: &str, covered_ns: u64) -> Option<Finding> {
        let text = format!(
            "{whose}link full: {self}: whether what was measured went over it is not known; if it did, the \
             link may have been the limit"
        );
        let found = Finding { kind: FindingKind::LinkFull, scope: Scope::Nothing, text };
        let full = self.used_pct >= Self::FULL_PCT && covered_ns >= Self::COVERED_MIN_NS;
        full.then_some(found)
    }
}

impl fmt::Display for LinkUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.sent { "sent" } else { "received" };
        let speed = Speed(self.speed_mbit);
        write!(f, "{} {verb} {:.0} % of {speed} on average", self.interface, self.used_pct)
    }
}

/// A speed in Mbit/s as people write it.
struct Speed(u64);

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            mbit if mbit > 0 && mbit.is_multiple_of(1_000) => write!(f, "{} Gbit/s", mbit / 1_000),
            2_500 => f.write_str("2.5 Gbit/s"),
            mbit => write!(f, "{mbit} Mbit/s"),
        }
    }
}

/// The speed of a link that its driver does not tell, or not truly: `eth0=1Gbit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpeed {
    interface: String,
    mbit: u64,
}

impl LinkSpeed {
    /// The interface.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Its speed in one direction, Mbit/s.
    #[must_use]
    pub fn mbit(&self) -> u64 {
        self.mbit
    }
}

impl FromStr for LinkSpeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(interface, _)| !interface.is_empty());
        let Some((interface, rate)) = parts else {
            return Err("expected IFACE=RATE, for example eth0=1Gbit".into());
        };
        let rate: BitRate = rate.parse().map_err(|error| format!("{error}"))?;
        if !rate.per_s().is_multiple_of(MBIT) {
            return Err("the speed of a link is a whole number of Mbit/s".into());
        }
        Ok(Self { interface: interface.into(), mbit: rate.per_s() / MBIT })
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}Mbit", self.interface, self.mbit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(used_pct: f64) -> LinkUse {
        let interface = "u12v0".into();
        LinkUse { interface, sent: true, speed_mbit: 1_000, used_pct, used_max_pct: Some(99.0) }
    }

    #[test]
    fn a_link_is_told_from_a_half_on_and_full_near_its_end() {
        assert!(!used(49.9).is_notable() && used(50.0).is_notable());
        const LONG_NS: u64 = 5_000_000_000;
        assert_eq!(used(92.9).full("", LONG_NS), None, "a sample that was full is no full link");
        assert_eq!(used(100.0).full("", LONG_NS - 1), None, "too short to tell");
        // TCP over virtio: 1,448 of 1,538 bytes
        assert!(used(94.1).full("", LONG_NS).is_some());
        let full = used(96.2).full("far host vm: ", LONG_NS).unwrap();
        assert_eq!((full.kind, full.scope), (FindingKind::LinkFull, Scope::Nothing));
        let said = "far host vm: link full: u12v0 sent 96 % of 1 Gbit/s on average: ";
        assert!(full.text.starts_with(said), "{full:?}");
        assert!(full.text.contains("went over it is not known"), "{full:?}");
        let slow = LinkUse { sent: false, speed_mbit: 100, ..used(60.0) };
        assert_eq!(slow.to_string(), "u12v0 received 60 % of 100 Mbit/s on average");
    }

    #[test]
    fn a_speed_is_read_and_written() {
        let speed: LinkSpeed = "eth0=2.5Gbit/s".parse().unwrap();
        assert_eq!((speed.interface(), speed.mbit()), ("eth0", 2_500));
        assert_eq!(speed.to_string().parse(), Ok(speed));
        for wrong in ["1Gbit", "=1Gbit", "eth0=", "eth0=1", "eth0=512kbit", "eth0=0Gbit"] {
            assert!(wrong.parse::<LinkSpeed>().is_err(), "{wrong}");
        }
    }
}
