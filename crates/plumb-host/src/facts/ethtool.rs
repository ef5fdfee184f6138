//! How the interfaces are set, as `ethtool` shows it: offloads, rings, channels, coalescing.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use plumb_netlink::{Dump, Family, attributes, each_payload, u32_at};

const ETHTOOL: &[u8] = b"ethtool\0";

/// What is asked for.
///
/// # Source
/// include/uapi/linux/ethtool_netlink.h of Linux 6.12.
mod command {
    pub(super) const FEATURES: u8 = 11;
    pub(super) const RINGS: u8 = 15;
    pub(super) const CHANNELS: u8 = 17;
    pub(super) const COALESCE: u8 = 19;
}

/// Kinds of attributes.
mod kind {
    pub(super) const HEADER: u16 = 1;
    pub(super) const NAME: u16 = 2;

    pub(super) const ACTIVE: u16 = 4;
    pub(super) const BITS: u16 = 3;
    pub(super) const BIT: u16 = 1;
    pub(super) const BIT_NAME: u16 = 2;
}

/// Features that change what a packet costs have one of these in their name.
const OFFLOADS: [&str; 7] =
    ["checksum", "segmentation", "gro", "lro", "scatter-gather", "hashing", "offload"];
/// Longest name of an interface or feature that is taken over, bytes.
const NAME_MAX: usize = 64;
/// Most interfaces that are kept.
const INTERFACES_MAX: usize = 4_096;

/// How one interface is set. What its driver does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What it does in place of the processors, and what the kernel puts together or takes apart
    /// for it, in the kernel's words: those that are switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offloads: Option<Vec<String>>,
    /// Its rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rings: Option<Rings>,
    /// Its queues, as the driver counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Channels>,
    /// How long it may wait before it interrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<Coalescing>,
}

/// Places for packets between a driver and its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rings {
    /// For packets that come in.
    pub receive: u32,
    /// The most of them that it can have.
    pub receive_max: u32,
    /// For packets that go out.
    pub transmit: u32,
    /// The most of them that it can have.
    pub transmit_max: u32,
}

/// Queues of a device, each with an interrupt of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// That only receive.
    pub receive: u32,
    /// That only send.
    pub transmit: u32,
    /// That do both.
    pub combined: u32,
    /// The most of those that do both that it can have.
    pub combined_max: u32,
}

/// When a device interrupts: after a time, or after so many packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalescing {
    /// After the first packet that came in, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_us: Option<u32>,
    /// After so many packets that came in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_packets: Option<u32>,
    /// After the first packet that went out, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_us: Option<u32>,
    /// After so many packets that went out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_packets: Option<u32>,
    /// True when the driver changes the receiving side by itself.
    pub adaptive_receive: bool,
    /// True when it changes the sending side by itself.
    pub adaptive_transmit: bool,
}

/// The settings of every interface, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AllSettings {
    by_name: BTreeMap<String, Settings>,
}

impl AllSettings {
    /// Asks the kernel; `None` when it cannot be asked (before Linux 5.6).
    pub(super) fn ask() -> io::Result<Option<Self>> {
        let Some(mut family) = Family::open(ETHTOOL)? else { return Ok(None) };
        let mut all = Self::default();
        for command in [command::FEATURES, command::RINGS, command::CHANNELS, command::COALESCE] {
            family.dump(command, |datagram| all.take(command, datagram))?;
        }
        Ok(Some(all))
    }

    /// The settings of the interface `name`.
    pub(super) fn remove(&mut self, name: &str) -> Settings {
        self.by_name.remove(name).unwrap_or_default()
    }

    /// Takes what one receive brought of the answer to `command`.
    fn take(&mut self, command: u8, datagram: &[u8]) -> Dump {
        each_payload(datagram, |payload| {
            let header = attributes(payload).find(|(kind, _)| *kind == kind::HEADER);
            let name = header.and_then(|(_, header)| text(header, kind::NAME));
            let Some(name) = name.filter(|_| self.by_name.len() < INTERFACES_MAX) else { return };
            let settings = self.by_name.entry(name).or_default();
            match command {
                command::FEATURES => settings.offloads = offloads(payload),
                command::RINGS => settings.rings = Some(Rings::of(payload)),
                command::CHANNELS => settings.channels = Some(Channels::of(payload)),
                _ => settings.coalescing = Some(Coalescing::of(payload)),
            }
        })
    }
}

/// The text of an attribute.
fn text(nest: &[u8], wanted: u16) -> Option<String> {
    let (_, bytes) = attributes(nest).find(|(kind, _)| *kind == wanted)?;
    let bytes = bytes.split(|byte| *byte == 0).next()?;
    let plain = bytes.len() <= NAME_MAX && bytes.iter().all(u8::is_ascii_graphic);
    plain.then(|| String::from_utf8_lossy(bytes).into_owned())
}

fn number(payload: &[u8], wanted: u16) -> Option<u32> {
    attributes(payload).find(|(kind, _)| *kind == wanted).and_then(|(_, value)| u32_at(value, 0))
}

/// The features that are on: a list of bits with their names.
fn offloads(payload: &[u8]) -> Option<Vec<String>> {
    let nested = |nest, wanted| attributes(nest).find(|(kind, _)| *kind == wanted);
    let (_, active) = nested(payload, kind::ACTIVE)?;
    let bits = nested(active, kind::BITS).map_or(&[] as &[u8], |(_, bits)| bits);
    let each = attributes(bits).filter(|(kind, _)| *kind == kind::BIT);
    let names = each.filter_map(|(_, bit)| text(bit, kind::BIT_NAME));
    Some(names.filter(|name| OFFLOADS.iter().any(|part| name.contains(part))).collect())
}

impl Rings {
    fn of(payload: &[u8]) -> Self {
        let [receive_max, transmit_max, receive, transmit] =
            [2, 5, 6, 9].map(|kind| number(payload, kind).unwrap_or(0));
        Self { receive, receive_max, transmit, transmit_max }
    }
}

impl Channels {
    fn of(payload: &[u8]) -> Self {
        let [combined_max, receive, transmit, combined] =
            [5, 6, 7, 9].map(|kind| number(payload, kind).unwrap_or(0));
        Self { receive, transmit, combined, combined_max }
    }
}

impl Coalescing {
    fn of(payload: &[u8]) -> Self {
        let [receive_us, receive_packets, transmit_us, transmit_packets] =
            [2, 3, 6, 7].map(|kind| number(payload, kind));
        let yes = |wanted: u16| {
            let found = attributes(payload).find(|(kind, _)| *kind == wanted);
            found.is_some_and(|(_, value)| value.first().is_some_and(|byte| *byte != 0))
        };
        Self {
            receive_us,
            receive_packets,
            transmit_us,
            transmit_packets,
            adaptive_receive: yes(11),
            adaptive_transmit: yes(12),
        }
    }
}

impl Settings {
    /// The settings as words, each with its name.
    pub(super) fn words(&self) -> Vec<(&'static str, String)> {
        let mut words = Vec::new();
        if let Some(Channels { receive, transmit, combined, combined_max }) = self.channels {
            let single = [(receive, "rx"), (transmit, "tx")];
            let mut parts: Vec<String> = single
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, side)| format!("{count} {side}"))
                .collect();
            if combined_max > 0 {
                parts.push(format!("{combined} of {combined_max} combined"));
            }
            words.push(("channels", parts.join(", ")));
        }
        if let Some(Rings { receive, receive_max, transmit, transmit_max }) = self.rings {
            words.push((
                "rings",
                format!("rx {receive} of {receive_max}, tx {transmit} of {transmit_max}"),
            ));
        }
        if let Some(coalescing) = &self.coalescing {
            words.push(("coalescing", coalescing.words()));
        }
        if let Some(offloads) = &self.offloads {
            let none = if offloads.is_empty() { "none" } else { "" };
            words.push(("offloads", offloads.join(" ") + none));
        }
        words
    }
}

impl Coalescing {
    fn words(&self) -> String {
        let side = |name: &str, us: Option<u32>, packets: Option<u32>, adaptive: bool| {
            let mut parts = Vec::new();
            parts.extend(us.map(|us| format!("{us} us")));
            parts.extend(packets.map(|packets| format!("{packets} packets")));
            parts.extend(adaptive.then(|| "adaptive".to_owned()));
            (!parts.is_empty()).then(|| format!("{name} {}", parts.join(" ")))
        };
        let Self { receive_us, receive_packets, transmit_us, transmit_packets, .. } = *self;
        let sides = [
            side("rx", receive_us, receive_packets, self.adaptive_receive),
            side("tx", transmit_us, transmit_packets, self.adaptive_transmit),
        ];
        sides.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_netlink::recorded;
    use proptest::prelude::*;

    fn read() -> AllSettings {
        let mut all = AllSettings::default();
        for (command, datagram) in
            recorded(include_str!("../../tests/fixtures/netlink/ethtool.hex"))
        {
            all.take(command, &datagram);
        }
        all
    }

    #[test]
    fn a_device_of_a_virtual_machine_tells_everything() {
        let eth0 = read().remove("eth0");
        assert_eq!(
            eth0.rings,
            Some(Rings { receive: 256, receive_max: 256, transmit: 256, transmit_max: 256 })
        );
        assert_eq!(
            eth0.channels,
            Some(Channels { combined: 1, combined_max: 1, ..Channels::default() })
        );
        let coalescing = eth0.coalescing.unwrap();
        assert_eq!((coalescing.receive_us, coalescing.adaptive_receive), (Some(0), false));
        let offloads = eth0.offloads.as_ref().unwrap();
        for on in ["rx-checksum", "tx-tcp-segmentation", "rx-gro"] {
            assert!(offloads.iter().any(|name| name == on), "{on}: {offloads:?}");
        }
        assert!(!offloads.iter().any(|name| name == "highdma"), "{offloads:?}");
        let words = eth0.words();
        assert_eq!(words[0], ("channels", "1 of 1 combined".to_owned()));
        assert_eq!(words[1], ("rings", "rx 256 of 256, tx 256 of 256".to_owned()));
    }

    #[test]
    fn what_a_driver_does_not_tell_is_absent() {
        let lo = read().remove("lo");
        assert!(lo.offloads.is_some());
        assert_eq!((lo.rings, lo.channels, lo.coalescing), (None, None, None));
        assert_eq!(read().remove("eth7"), Settings::default());
    }

    #[test]
    fn a_driver_that_decides_by_itself_says_so() {
        let coalescing = Coalescing {
            receive_us: Some(8),
            receive_packets: Some(128),
            adaptive_receive: true,
            ..Coalescing::default()
        };
        assert_eq!(coalescing.words(), "rx 8 us 128 packets adaptive");
    }

    #[test]
    fn this_kernel_tells_or_has_no_such_family() {
        if let Some(mut all) = AllSettings::ask().unwrap() {
            assert!(all.remove("lo").offloads.is_some());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at in 0usize..15_000, byte: u8) {
            let mut all = AllSettings::default();
            for (command, mut datagram) in
                recorded(include_str!("../../tests/fixtures/netlink/ethtool.hex"))
            {
                all.take(command, &bytes);
                let at = at % datagram.len();
                datagram[at] = byte;
                all.take(command, &datagram);
                all.take(command, &datagram[..at]);
            }
        }
    }
}
