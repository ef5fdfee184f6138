//! What a network interface is.

use std::fmt;

use plumb_procfs::kernel::InterfaceKind;
use plumb_procfs::{Root, interface_kind, link_speed, names_in};
use serde::{Deserialize, Serialize};

use super::ethtool::Settings;

/// What a network interface is, as far as /sys tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: InterfaceKind,
    /// Its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// `up`, `down` or what else the kernel calls its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Speed of its link, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u64>,
    /// Largest packet, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u64>,
    /// How a bond divides its traffic, for example `802.3ad 4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bond_mode: Option<String>,
    /// Its receive queues: as many processors can be interrupted by it.
    pub receive_queues: u64,
    /// Its transmit queues.
    pub transmit_queues: u64,
    /// Receive queues whose packets are handed to other processors (receive packet steering).
    pub steered_queues: u64,
    /// True when its packets are handled on threads of their own.
    pub threaded: bool,
    /// How long packets may wait to be put together, nanoseconds (GRO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro_flush_ns: Option<u64>,
    /// How it is set.
    #[serde(flatten)]
    pub settings: Settings,
}

impl InterfaceFacts {
    /// Asks for the interface `name`; `None` for what is none (`bonding_masters`).
    pub(super) fn read(root: &Root, name: &str, settings: Settings) -> Option<Self> {
        let file = |file: &str| root.sys_line(&format!("class/net/{name}/{file}"));
        let number = |path: &str| file(path).and_then(|line| line.parse().ok());
        file("type")?;
        let driver = std::fs::read_link(root.sys(&format!("class/net/{name}/device/driver"))).ok();
        let queues = names_in(&root.sys(&format!("class/net/{name}/queues")));
        let of =
            |prefix: &str| queues.iter().filter(|queue| queue.starts_with(prefix)).count() as u64;
        let is_steered = |queue: &&String| {
            let cpus = file(&format!("queues/{queue}/rps_cpus")).unwrap_or_default();
            cpus.contains(|c: char| !matches!(c, '0' | ','))
        };
        Some(Self {
            name: name.into(),
            kind: interface_kind(root, name),
            driver: driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
            state: file("operstate"),
            speed_mbit: link_speed(root, name),
            mtu: number("mtu"),
            bond_mode: file("bonding/mode"),
            receive_queues: of("rx-"),
            transmit_queues: of("tx-"),
            steered_queues: queues.iter().filter(is_steered).count() as u64,
            threaded: file("threaded").is_some_and(|line| line == "1"),
            gro_flush_ns: number("gro_flush_timeout").filter(|ns| *ns > 0),
            settings,
        })
    }
}

impl fmt::Display for InterfaceFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interface {}", self.name)?;
        let mut add = |name: &str, value: Option<String>| match value {
            Some(value) => write!(f, "; {name} {value}"),
            None => Ok(()),
        };
        add("driver", self.driver.clone())?;
        add("state", self.state.clone())?;
        add("speed", self.speed_mbit.map(|mbit| format!("{mbit} Mbit/s")))?;
        add("mtu", self.mtu.map(|mtu| mtu.to_string()))?;
        add("bond", self.bond_mode.clone())?;
        write!(f, "; queues {} rx {} tx", self.receive_queues, self.transmit_queues)?;
        if self.steered_queues > 0 {
            write!(f, "; {} of them steered", self.steered_queues)?;
        }
        // of one that carries nothing nobody asks
        let carries = self.state.as_deref() != Some("down");
        for (name, value) in self.settings.words().into_iter().filter(|_| carries) {
            write!(f, "; {name} {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_bond_of_many_queues() {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("type", "1\n"),
            ("mtu", "9000\n"),
            ("speed", "50000\n"),
            ("operstate", "up\n"),
            ("bonding/mode", "802.3ad 4\n"),
            ("queues/rx-0/rps_cpus", "00000000,00000003\n"),
            ("queues/rx-1/rps_cpus", "00000000,00000000\n"),
            ("queues/tx-0/xps_cpus", "0\n"),
            ("gro_flush_timeout", "20000\n"),
        ] {
            let path = folder.path().join("sys/class/net/bond0").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::below(folder.path());
        let settings = Settings { offloads: Some(vec!["rx-gro".into()]), ..Settings::default() };
        let facts = InterfaceFacts::read(&root, "bond0", settings).unwrap();
        assert_eq!((facts.receive_queues, facts.transmit_queues, facts.steered_queues), (2, 1, 1));
        assert_eq!((facts.mtu, facts.gro_flush_ns), (Some(9000), Some(20_000)));
        assert_eq!(
            facts.to_string(),
            "interface bond0; state up; speed 50000 Mbit/s; mtu 9000; bond 802.3ad 4; \
             queues 2 rx 1 tx; 1 of them steered; offloads rx-gro"
        );
        assert_eq!(InterfaceFacts::read(&root, "bonding_masters", Settings::default()), None);
    }
}
