//! What this machine has of SMC, read once a run.

use std::collections::BTreeMap;

use plumb_netlink::smc::{LinkGroups, SmcCounters};
use plumb_netlink::{Dump, Family, attributes, each_payload, u32_at};
use plumb_procfs::{Root, names_in};
use serde::{Deserialize, Serialize};

use super::socket::{SMC, is_loaded};

/// Commands of the family that dump.
const GET_LINK_GROUPS: u8 = 2;
const GET_DEVICES_D: u8 = 5;
const GET_DEVICES_R: u8 = 6;
const GET_UEIDS: u8 = 9;
const GET_LIMITATION: u8 = 16;

/// Kinds of attributes.
///
/// # Source
/// include/uapi/linux/smc.h of Linux 6.12.
mod kind {
    pub(super) const DEVICE_D: u16 = 5;
    pub(super) const DEVICE_R: u16 = 6;
    /// Of a dump of EIDs, and of the limitation of handshakes.
    pub(super) const VALUE: u16 = 1;

    pub(super) const CONNECTIONS: u16 = 1;
    pub(super) const PORTS: [u16; 2] = [8, 9];
    pub(super) const NAME: u16 = 10;

    pub(super) const PNET_ID: u16 = 2;
    pub(super) const INTERFACE: u16 = 3;
    pub(super) const STATE: u16 = 4;
    pub(super) const VALID: u16 = 5;
}

/// What this machine has of SMC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmcFacts {
    /// Devices that SMC can use.
    pub devices: Vec<SmcDevice>,
    /// User-defined EIDs: SMC-R of version 2 works between machines that have one in common.
    pub ueids: Vec<String>,
    /// True when the kernel falls back to TCP by itself while many connections come at once; absent
    /// where it does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limits_handshakes: Option<bool>,
    /// Link groups of SMC-R that stand.
    #[serde(default)]
    pub link_groups: LinkGroups,
    /// `net.smc.*`, by name.
    pub settings: BTreeMap<String, String>,
    /// What the kernel did not tell.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_told: Vec<String>,
}

/// A device that SMC can use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmcDevice {
    /// Its name, `mlx5_0`; empty where it has none.
    pub name: String,
    /// True for SMC-R, over RDMA; false for SMC-D, within a machine.
    pub rdma: bool,
    /// Connections or links that use it.
    pub uses: u64,
    /// Its ports.
    pub ports: Vec<SmcPort>,
}

/// A port of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmcPort {
    /// The network interface of the same port.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interface: Option<String>,
    /// Which network it belongs to, as an administrator said; absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pnet_id: Option<String>,
    /// True when it can carry anything.
    pub active: bool,
}

impl SmcFacts {
    /// Asks the kernel; `None` when it has no SMC loaded. Looking changes nothing.
    #[must_use]
    pub fn read(root: &Root) -> Option<Self> {
        is_loaded(root).then(|| {
            let mut facts = Self { settings: settings(root), ..Self::default() };
            let told = match Family::open(SMC) {
                Ok(Some(mut family)) => facts.ask(&mut family),
                Ok(None) => Err("SMC: the kernel has no such family of netlink".into()),
                Err(error) => Err(format!("SMC: cannot ask the kernel: {error}")),
            };
            facts.not_told.extend(told.err());
            facts.name_interfaces(root);
            facts
        })
    }

    fn ask(&mut self, family: &mut Family) -> Result<(), String> {
        for command in [GET_LINK_GROUPS, GET_DEVICES_D, GET_DEVICES_R, GET_UEIDS, GET_LIMITATION] {
            let mut counters = SmcCounters::default();
            let dumped = family.dump(command, |datagram| match command {
                GET_LINK_GROUPS => counters.take(datagram),
                _ => self.take(command, datagram),
            });
            dumped
                .map_err(|error| format!("SMC: the kernel refuses question {command}: {error}"))?;
            if command == GET_LINK_GROUPS {
                self.link_groups = counters.link_groups;
            }
        }
        Ok(())
    }

    /// Takes what one receive brought of the dump of `command`.
    fn take(&mut self, command: u8, datagram: &[u8]) -> Dump {
        each_payload(datagram, |payload| {
            for (kind, value) in attributes(payload) {
                match (command, kind) {
                    (GET_DEVICES_D, kind::DEVICE_D) => self.devices.push(device(value, false)),
                    (GET_DEVICES_R, kind::DEVICE_R) => self.devices.push(device(value, true)),
                    (GET_UEIDS, kind::VALUE) => self.ueids.extend(text(value)),
                    (GET_LIMITATION, kind::VALUE) => {
                        self.limits_handshakes = value.first().map(|byte| *byte != 0);
                    }
                    _ => {}
                }
            }
        })
    }

    /// The kernel tells interfaces by number.
    fn name_interfaces(&mut self, root: &Root) {
        let numbered = |name: &String| {
            Some((root.sys_line(&format!("class/net/{name}/ifindex"))?, name.clone()))
        };
        let names: BTreeMap<String, String> =
            names_in(&root.sys("class/net")).iter().filter_map(numbered).collect();
        for port in self.devices.iter_mut().flat_map(|device| &mut device.ports) {
            if let Some(number) = &port.interface {
                port.interface = Some(names.get(number).unwrap_or(number).clone());
            }
        }
    }

    /// The facts as lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.devices.iter().map(SmcDevice::line).collect();
        let list = |all: &[String]| if all.is_empty() { "none".into() } else { all.join(", ") };
        lines.push(format!("SMC user-defined EIDs {}", list(&self.ueids)));
        if self.limits_handshakes == Some(true) {
            lines.push("SMC falls back to TCP while many connections come at once".into());
        }
        let settings: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines.push(format!("SMC settings {}", list(&settings)));
        lines.extend(self.not_told.iter().cloned());
        lines
    }
}

impl SmcDevice {
    fn line(&self) -> String {
        let kind = if self.rdma { "SMC-R" } else { "SMC-D" };
        let ports: Vec<String> = self.ports.iter().map(SmcPort::words).collect();
        format!("{kind} device {} ({})", self.name, ports.join("; "))
    }
}

impl SmcPort {
    fn words(&self) -> String {
        let state = if self.active { "active" } else { "not active" };
        let interface = self.interface.as_deref().unwrap_or("no interface");
        let pnet = self.pnet_id.as_ref().map(|id| format!(", PNET id {id}"));
        format!("{interface}, {state}{}", pnet.unwrap_or_default())
    }
}

fn settings(root: &Root) -> BTreeMap<String, String> {
    let of = |name: &String| {
        let value = std::fs::read_to_string(root.proc(&format!("sys/net/smc/{name}"))).ok()?;
        Some((name.clone(), value.trim().to_owned()))
    };
    names_in(&root.proc("sys/net/smc")).iter().filter_map(of).collect()
}

fn device(nest: &[u8], rdma: bool) -> SmcDevice {
    let mut device = SmcDevice { rdma, ..SmcDevice::default() };
    for (kind, value) in attributes(nest) {
        match kind {
            kind::NAME => device.name = text(value).unwrap_or_default(),
            kind::CONNECTIONS => device.uses = u32_at(value, 0).unwrap_or(0).into(),
            _ if kind::PORTS.contains(&kind) => device.ports.extend(port(value, rdma)),
            _ => {}
        }
    }
    device
}

/// A port; `None` for one that the device does not have.
fn port(nest: &[u8], rdma: bool) -> Option<SmcPort> {
    let mut port = SmcPort { active: !rdma, ..SmcPort::default() };
    let mut valid = true;
    for (kind, value) in attributes(nest) {
        match kind {
            kind::PNET_ID => port.pnet_id = text(value),
            kind::INTERFACE => {
                let number = u32_at(value, 0).filter(|number| *number != 0);
                port.interface = number.map(|number| number.to_string());
            }
            kind::STATE => port.active = value.first().is_some_and(|byte| *byte != 0),
            kind::VALID => valid = value.first().is_some_and(|byte| *byte != 0),
            _ => {}
        }
    }
    valid.then_some(port)
}

/// A text that ends with zero bytes and is padded with spaces; `None` when nothing is left.
fn text(value: &[u8]) -> Option<String> {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    let text = String::from_utf8_lossy(&value[..end]).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use plumb_netlink::recorded;
    use proptest::prelude::*;

    use super::*;

    const RECORDED: &str = include_str!("../../../plumb-netlink/tests/fixtures/smc-6.12-links.hex");

    #[test]
    fn what_a_kernel_really_answers_is_read() {
        let mut facts = SmcFacts::default();
        for (command, datagram) in recorded(RECORDED) {
            facts.take(command, &datagram);
        }
        let [device] = facts.devices.as_slice() else { panic!("{facts:?}") };
        assert_eq!((device.name.as_str(), device.rdma), ("rxe0", true));
        let lo = SmcPort { interface: Some("1".into()), pnet_id: None, active: true };
        assert_eq!(device.ports, [lo]);
        assert_eq!(facts.ueids, ["PLUMBLINE"]);
        assert_eq!(facts.limits_handshakes, Some(false));
        assert_eq!(facts.lines()[0], "SMC-R device rxe0 (1, active)");
        assert_eq!(facts.lines()[1], "SMC user-defined EIDs PLUMBLINE");
    }

    #[test]
    fn a_kernel_without_smc_has_no_facts_and_settings_are_read_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::below(folder.path());
        assert_eq!(SmcFacts::read(&root), None);
        let settings = folder.path().join("proc/sys/net/smc");
        std::fs::create_dir_all(&settings).unwrap();
        std::fs::write(settings.join("smcr_max_conns_per_lgr"), "255\n").unwrap();
        assert_eq!(super::settings(&root)["smcr_max_conns_per_lgr"], "255");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at in 0usize..1_000, byte: u8) {
            for (command, mut datagram) in recorded(RECORDED) {
                let mut facts = SmcFacts::default();
                facts.take(command, &bytes);
                let at = at % datagram.len();
                datagram[at] = byte;
                facts.take(command, &datagram);
                facts.take(command, &datagram[..at]);
            }
            let _ = (device(&bytes, true), text(&bytes));
        }
    }
}
