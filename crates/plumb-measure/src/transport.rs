//! What connections really used, as their sockets say.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::counted;
use crate::{Finding, FindingKind, Scope};

/// What a connection really used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// `tcp`, `mptcp`, `smc-r`, `smc-d`, `smc` (one of them, or a fallback to TCP: nobody knows),
    /// `unix`, or in numbers what has no name here.
    pub kind: String,
    /// The version of IP of its packets; absent without IP, and in records that do not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<Network>,
    /// Address of this side.
    pub local: String,
    /// Address of the other side.
    pub peer: String,
    /// Version of TLS, cipher and, where one was agreed on, the application protocol; absent
    /// without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<String>,
    /// Why a connection that was asked for over SMC is not proven to use it; absent where it is, and
    /// where SMC was not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub smc: Option<SmcLack>,
}

/// Why a connection that was asked for over SMC is not proven to use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SmcLack {
    /// It uses TCP.
    FellBack {
        /// The kernel's number of the reason, and what it means: `0x03010000: the peer has no SMC`.
        reason: String,
        /// The reason that the peer gave, where it gave one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        peer: Option<String>,
    },
    /// The kernel does not tell.
    Unknown {
        /// Why.
        cause: String,
    },
}

impl fmt::Display for SmcLack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FellBack { reason, peer: None } => write!(f, "fell back from SMC: {reason}"),
            Self::FellBack { reason, peer: Some(peer) } => {
                write!(f, "fell back from SMC: {reason}; the peer says {peer}")
            }
            Self::Unknown { cause } => write!(f, "not known: {cause}"),
        }
    }
}

/// A version of IP. An IPv4 address that is written as one of IPv6 is IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Transport {
    /// True when `other` differs in nothing but its addresses.
    fn is_like(&self, other: &Self) -> bool {
        (&self.kind, self.network, &self.tls, &self.smc)
            == (&other.kind, other.network, &other.tls, &other.smc)
    }

    /// Its kind, with TLS where that is there: `tcp`, `tcp+TLSv1.3 TLS13_AES_256_GCM_SHA384`.
    #[must_use]
    pub fn kind_with_tls(&self) -> String {
        let tls = self.tls.as_ref().map_or_else(String::new, |tls| format!("+{tls}"));
        format!("{}{tls}", self.kind)
    }

    /// The way without its ends, for example `tcp over IPv4 with TLSv1.3 ...`.
    fn describe(&self) -> String {
        let network = match self.network {
            None => "",
            Some(Network::Ipv4) => " over IPv4",
            Some(Network::Ipv6) => " over IPv6",
        };
        let tls = self.tls.as_ref().map_or_else(String::new, |tls| format!(" with {tls}"));
        let smc = self.smc.as_ref().map_or_else(String::new, |lack| format!(" ({lack})"));
        format!("{}{network}{tls}{smc}", self.kind)
    }
}

/// Connections that used the same transport to the same address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransportUse {
    /// What they used; the local address is that of the first.
    #[serde(flatten)]
    pub transport: Transport,
    /// How many; each life of a connection that was made anew counts.
    pub connections: u64,
}

/// What all connections of a load used, in the order in which each way was first met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transports {
    uses: Vec<TransportUse>,
}

impl Transports {
    /// Adds `connections` that used `transport`.
    pub fn add(&mut self, transport: &Transport, connections: u64) {
        let same = |known: &&mut TransportUse| {
            known.transport.is_like(transport) && known.transport.peer == transport.peer
        };
        match self.uses.iter_mut().find(same) {
            Some(known) => known.connections = known.connections.saturating_add(connections),
            None => self.uses.push(TransportUse { transport: transport.clone(), connections }),
        }
    }

    /// Adds what other connections used. Associative.
    pub fn merge(&mut self, other: &Self) {
        other.uses.iter().for_each(|it| self.add(&it.transport, it.connections));
    }

    /// What the first connection used.
    #[must_use]
    pub fn first(&self) -> Option<&Transport> {
        self.uses.first().map(|it| &it.transport)
    }

    /// Each way that was used, with the number of its connections.
    #[must_use]
    pub fn uses(&self) -> &[TransportUse] {
        &self.uses
    }

    /// Says that connections which were asked for over SMC are not proven to use it: with one that
    /// fell back nothing may be concluded of SMC, and unknown is not proven. `None` when SMC was not
    /// asked for, or all of them use it.
    #[must_use]
    pub fn not_smc(&self) -> Option<Finding> {
        let lacking = || self.uses.iter().filter_map(|it| Some((it, it.transport.smc.as_ref()?)));
        let fell_back = lacking().any(|(_, lack)| matches!(lack, SmcLack::FellBack { .. }));
        let scope = if fell_back { Scope::Everything } else { Scope::Unchecked };
        let each: Vec<String> = lacking()
            .map(|(it, lack)| format!("{} {lack}", counted(it.connections, "connection")))
            .collect();
        if each.is_empty() {
            return None;
        }
        let text = format!("not all connections are proven to use SMC: {}", each.join(", "));
        Some(Finding { kind: FindingKind::NotSmc, scope, text })
    }

    /// Says that not all connections used the same transport; `None` when they did. Several
    /// addresses of the other side are no difference.
    #[must_use]
    pub fn mixed(&self) -> Option<Finding> {
        let first = self.first()?;
        if self.uses.iter().all(|it| it.transport.is_like(first)) {
            return None;
        }
        let each: Vec<String> = self
            .uses
            .iter()
            .map(|it| {
                format!("{} {}", counted(it.connections, "connection"), it.transport.describe())
            })
            .collect();
        let text = format!("not all connections used the same transport: {}", each.join(", "));
        Some(Finding { kind: FindingKind::MixedTransport, scope: Scope::Nothing, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(kind: &str, network: Option<Network>, local: &str) -> Transport {
        Transport {
            kind: kind.into(),
            network,
            local: local.into(),
            peer: "there".into(),
            tls: None,
            smc: None,
        }
    }

    fn of(ways: &[Transport]) -> Transports {
        let mut all = Transports::default();
        ways.iter().for_each(|way| all.add(way, 1));
        all
    }

    #[test]
    fn connections_that_are_alike_are_counted_and_the_first_of_them_is_named() {
        let tcp = |local| way("tcp", Some(Network::Ipv4), local);
        let all = of(&[tcp("here:1"), tcp("here:2"), tcp("here:3")]);
        assert_eq!(all.uses(), [TransportUse { transport: tcp("here:1"), connections: 3 }]);
        assert_eq!(all.mixed(), None);
        let another = Transport { peer: "elsewhere".into(), ..tcp("here:4") };
        assert_eq!(of(&[tcp("here:1"), another]).mixed(), None, "the same transport");
    }

    #[test]
    fn a_connection_of_another_kind_is_told() {
        let tcp = way("tcp", Some(Network::Ipv4), "here:1");
        let text = |other: Transport| of(&[tcp.clone(), tcp.clone(), other]).mixed().unwrap().text;
        assert_eq!(
            text(way("unix", None, "unix")),
            "not all connections used the same transport: 2 connections tcp over IPv4, 1 connection \
             unix"
        );
        assert!(text(way("tcp", Some(Network::Ipv6), "here:2")).ends_with("tcp over IPv6"));
        let encrypted = Transport { tls: Some("TLSv1.2 X".into()), ..tcp.clone() };
        assert!(text(encrypted).ends_with("tcp over IPv4 with TLSv1.2 X"));
    }

    #[test]
    fn what_was_asked_for_over_smc_and_is_not_is_told() {
        let over = |kind: &str, smc| Transport { smc, ..way(kind, Some(Network::Ipv4), "here:1") };
        let fell_back =
            || SmcLack::FellBack { reason: "0x03010000: the peer has no SMC".into(), peer: None };
        let unknown = || SmcLack::Unknown { cause: "the kernel does not tell".into() };
        assert_eq!(
            of(&[over("smc-r", None), over("smc-d", None), over("tcp", None)]).not_smc(),
            None
        );
        let one = of(&[over("smc-r", None), over("tcp", Some(fell_back()))]).not_smc().unwrap();
        assert_eq!((one.kind, one.scope), (FindingKind::NotSmc, Scope::Everything));
        assert_eq!(
            one.text,
            "not all connections are proven to use SMC: 1 connection fell back from SMC: \
             0x03010000: the peer has no SMC"
        );
        let doubt = of(&[over("smc", Some(unknown())), over("smc", Some(unknown()))]);
        let told = doubt.not_smc().unwrap();
        assert_eq!(told.scope, Scope::Unchecked);
        assert!(told.text.ends_with("2 connections not known: the kernel does not tell"));
        let written = serde_json::to_value(over("tcp", Some(fell_back()))).unwrap();
        assert_eq!(written["smc"]["fell-back"]["reason"], "0x03010000: the peer has no SMC");
    }

    #[test]
    fn parts_merge_to_the_whole_in_their_order() {
        let tcp = way("tcp", Some(Network::Ipv4), "here:1");
        let unix = way("unix", None, "unix");
        let whole = of(&[tcp.clone(), unix.clone(), tcp.clone(), unix.clone()]);
        let mut parts = of(std::slice::from_ref(&tcp));
        parts.merge(&of(&[unix.clone(), tcp]));
        parts.merge(&of(&[unix]));
        assert_eq!(parts, whole);
        let written = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Transports>(&written).unwrap(), whole);
        assert!(written.starts_with(r#"[{"kind":"tcp","network":"ipv4","local":"here:1","#));
    }
}
