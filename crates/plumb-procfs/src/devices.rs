//! What /sys tells of disks and interfaces. It is asked once a device, not once a sample.

use std::collections::BTreeMap;

use crate::kernel::{Disk, DiskKind, Diskstats, InterfaceKind, NetDev};
use crate::label::Label;
use crate::root::{Root, first_line, names_in};

/// Devices seen so far.
#[derive(Debug)]
pub struct Devices {
    root: Root,
    disks: BTreeMap<Label, DiskKind>,
    interfaces: BTreeMap<Label, (InterfaceKind, Option<u64>)>,
    /// Speeds of links that are known better than their drivers tell, Mbit/s.
    speeds: BTreeMap<Label, u64>,
}

impl Devices {
    /// None seen yet. The links of `speeds` are so fast, Mbit/s, whatever their drivers tell.
    #[must_use]
    pub fn new(root: Root, speeds: BTreeMap<Label, u64>) -> Self {
        Self { root, disks: BTreeMap::new(), interfaces: BTreeMap::new(), speeds }
    }

    /// Says of every disk what it stands for.
    pub fn tell_disks(&mut self, diskstats: &mut Diskstats) {
        for disk in &mut diskstats.disks {
            let root = &self.root;
            let kind = self.disks.entry(disk.name).or_insert_with(|| disk_kind(root, disk.name));
            disk.kind = *kind;
        }
        let disks = &mut diskstats.disks;
        for place in 0..disks.len() {
            let name = disks[place].name;
            let Some(path_to) = path_to(name.as_str()) else { continue };
            let is_disk = |it: &Disk| {
                it.kind == DiskKind::Whole && namespace(it.name.as_str()) == Some(path_to)
            };
            if disks.iter().any(is_disk) {
                disks[place].kind = DiskKind::Stacked;
            }
        }
    }

    /// Says of every interface what it stands for, and how fast its link is.
    pub fn tell_interfaces(&mut self, net_dev: &mut NetDev) {
        for interface in &mut net_dev.interfaces {
            let (root, speeds) = (&self.root, &self.speeds);
            let name = interface.name;
            let known = self.interfaces.entry(name).or_insert_with(|| {
                let kind = interface_kind(root, name.as_str());
                let limit = || speed_limit(root, name.as_str(), kind);
                (kind, speeds.get(&name).copied().or_else(limit))
            });
            (interface.kind, interface.speed_mbit) = *known;
        }
    }
}

/// The subsystem and the namespace of a path of NVMe multipath: `0` and `2` of `nvme0c1n2`. Linux
/// counts at the path and at the disk (`nvme0n2`) since 6.4; before, the disk never does anything, and
/// is not among those that were used.
fn path_to(name: &str) -> Option<(&str, &str)> {
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    Some((subsystem, rest.split_once('n')?.1))
}

/// The same of a disk.
fn namespace(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("nvme")?.split_once('n')
}

fn disk_kind(root: &Root, name: Label) -> DiskKind {
    // a slash in the name of a device stands as an exclamation mark in /sys
    let name = name.as_str().replace('/', "!");
    let by_name = DiskKind::by_name(&name);
    let folder = root.sys(&format!("class/block/{name}"));
    if !folder.exists() {
        by_name
    } else if folder.join("partition").exists() {
        DiskKind::Partition
    } else if !names_in(&folder.join("slaves")).is_empty() {
        DiskKind::Stacked
    } else if by_name == DiskKind::Partition {
        DiskKind::Whole // a virtual machine may be given a disk that is called vda1
    } else {
        by_name
    }
}

/// What an interface stands for.
///
/// The adapters of Hyper-V and of virtio's failover are no bonds of software: they have devices of their
/// own, and count what goes through the virtual function below them.
#[must_use]
pub fn interface_kind(root: &Root, name: &str) -> InterfaceKind {
    let has = |what: &str| root.sys(&format!("class/net/{name}/{what}")).exists();
    match name {
        "lo" => InterfaceKind::Loopback,
        _ if has("device") && has("master/device") => InterfaceKind::Lower,
        _ if has("device") => InterfaceKind::Hardware,
        _ if is_stacked(root, name) => InterfaceKind::Stacked,
        _ => InterfaceKind::Virtual,
    }
}

/// True of an interface of software that sends what it is given through others. A port may come to a
/// bridge or bond later, so these are told by their own folders; the lower interface of a VLAN or
/// macvlan is there from the beginning, but for one in another container, where it counts nothing here.
/// Tunnels have no lower interface.
///
/// # Source
/// `include/uapi/linux/if_arp.h`; `DEVTYPE` of the drivers, as in `/sys/class/net/NAME/uevent`.
fn is_stacked(root: &Root, name: &str) -> bool {
    const FOLDERS: [&str; 3] = ["bridge", "bonding", "tun_flags"];
    // ARPHRD_TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE, and NONE of WireGuard and IPsec
    const TUNNELS: [&str; 6] = ["768", "769", "776", "778", "823", "65534"];
    const TYPES: [&str; 3] = ["DEVTYPE=vxlan", "DEVTYPE=geneve", "DEVTYPE=gretap"];
    let folder = root.sys(&format!("class/net/{name}"));
    let arp_type = first_line(&folder.join("type")).unwrap_or_default();
    let uevent = std::fs::read_to_string(folder.join("uevent")).unwrap_or_default();
    FOLDERS.iter().any(|it| folder.join(it).exists())
        || TUNNELS.contains(&arp_type.as_str())
        || uevent.lines().any(|line| TYPES.contains(&line))
        || names_in(&folder).iter().any(|it| it.starts_with("lower_"))
}

/// Interfaces of software that stand upon each other at most, as in the kernel.
const NESTED_MAX: u32 = 8;

/// The speed that bounds what an interface carries, Mbit/s. That of veth, a tap, a bridge, a macvlan and what
/// stands upon them is a constant of a driver or that of a port: what stays within the machine exceeds it.
fn speed_limit(root: &Root, name: &str, kind: InterfaceKind) -> Option<u64> {
    is_bound(root, name, kind, NESTED_MAX).then(|| link_speed(root, name)).flatten()
}

/// True where all that an interface carries goes over adapters: it is one, or a bond or VLAN upon such,
/// through at most `nested` further interfaces.
fn is_bound(root: &Root, name: &str, kind: InterfaceKind, nested: u32) -> bool {
    match kind {
        InterfaceKind::Hardware | InterfaceKind::Lower => true,
        InterfaceKind::Virtual | InterfaceKind::Loopback => false,
        InterfaceKind::Stacked => {
            let folder = root.sys(&format!("class/net/{name}"));
            let uevent = std::fs::read_to_string(folder.join("uevent")).unwrap_or_default();
            let names = names_in(&folder);
            let mut lower = names.iter().filter_map(|it| it.strip_prefix("lower_")).peekable();
            (folder.join("bonding").exists() || uevent.lines().any(|line| line == "DEVTYPE=vlan"))
                && nested > 0
                && lower.peek().is_some()
                && lower.all(|it| is_bound(root, it, interface_kind(root, it), nested - 1))
        }
    }
}

/// The speed of a link as its driver tells it, Mbit/s; `None` when it tells none, as those of most hypervisors.
#[must_use]
pub fn link_speed(root: &Root, name: &str) -> Option<u64> {
    let speed: i64 = root.sys_line(&format!("class/net/{name}/speed"))?.parse().ok()?;
    u64::try_from(speed).ok().filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Interface;

    #[test]
    fn sys_knows_better_than_the_name() {
        let (_folder, root) = Root::of_files(&[
            ("sys/class/block/vda1/size", "1"),
            ("sys/class/block/sdb/partition", "1"),
            ("sys/class/block/nvme0n1/slaves/nvme0c0n1", ""),
        ]);
        let kinds = |names: &[&str]| -> Vec<DiskKind> {
            let disk = |name: &&str| Disk { name: Label::new(name.as_bytes()), ..Disk::default() };
            let mut all = Diskstats { disks: names.iter().map(disk).collect() };
            Devices::new(root.clone(), BTreeMap::new()).tell_disks(&mut all);
            all.disks.iter().map(|disk| disk.kind).collect()
        };
        use DiskKind::{Partition, Stacked, Whole};
        let names = ["vda1", "sdb", "nvme0n1", "nvme0c0n1", "sdc1"];
        assert_eq!(kinds(&names), [Whole, Partition, Stacked, Whole, Partition]);
        let names = ["nvme1c0n1", "nvme1n1", "nvme1c1n1", "nvme1c1n2", "nvme11n1", "nvme1n1p1"];
        assert_eq!(kinds(&names), [Stacked, Whole, Stacked, Whole, Whole, Partition]);
    }

    #[test]
    fn what_is_built_upon_other_interfaces_is_told() {
        let (_folder, root) = Root::of_files(&[
            ("sys/class/net/veth0/type", "1\n"),
            ("sys/class/net/veth0/master/bridge/x", ""),
            ("sys/class/net/veth0/upper_br0/x", ""),
            ("sys/class/net/br0/bridge/x", ""),
            ("sys/class/net/bond0/bonding/mode", "x"),
            ("sys/class/net/v7/lower_veth0/x", ""),
            ("sys/class/net/tap0/tun_flags", "0x1002\n"),
            ("sys/class/net/wg0/type", "65534\n"),
            ("sys/class/net/overlay/uevent", "DEVTYPE=vxlan\nINTERFACE=overlay\n"),
            ("sys/class/net/macvlan0/uevent", "DEVTYPE=macvlan\nINTERFACE=macvlan0\n"),
        ]);
        for name in ["br0", "bond0", "v7", "tap0", "wg0", "overlay"] {
            assert_eq!(interface_kind(&root, name), InterfaceKind::Stacked, "{name}");
        }
        for name in ["veth0", "macvlan0"] {
            assert_eq!(interface_kind(&root, name), InterfaceKind::Virtual, "{name}");
        }
    }

    #[test]
    fn an_interface_tells_its_speed_or_none() {
        let (_folder, root) = Root::of_files(&[
            ("sys/class/net/eth0/speed", "25000\n"),
            ("sys/class/net/eth0/device/vendor", "x"),
            ("sys/class/net/veth1/speed", "10000\n"),
            ("sys/class/net/br0/bridge/x", ""),
            ("sys/class/net/br0/speed", "10000\n"),
            ("sys/class/net/bond0/bonding/mode", "x"),
            ("sys/class/net/bond0/lower_eth0/x", ""),
            ("sys/class/net/bond0/lower_eth1/x", ""),
            ("sys/class/net/bond0/speed", "50000\n"),
            ("sys/class/net/virtio/device/vendor", "x"),
            ("sys/class/net/virtio/speed", "-1\n"),
            ("sys/class/net/enP1s0/device/vendor", "x"),
            ("sys/class/net/enP1s0/master/device/vendor", "x"),
            ("sys/class/net/eth1/device/vendor", "x"),
            ("sys/class/net/eth1/master/bonding/mode", "x"),
        ]);
        let told = |speeds: &[(&str, u64)], names: &[&str]| {
            let label = |name: &str| Label::new(name.as_bytes());
            let speeds = speeds.iter().map(|(name, mbit)| (label(name), *mbit)).collect();
            let interface = |name: &&str| Interface { name: label(name), ..Interface::default() };
            let mut all = NetDev { interfaces: names.iter().map(interface).collect() };
            Devices::new(root.clone(), speeds).tell_interfaces(&mut all);
            all.interfaces.iter().map(|each| (each.kind, each.speed_mbit)).collect::<Vec<_>>()
        };
        use InterfaceKind::{Hardware, Loopback, Lower, Stacked, Virtual};
        let seen = told(&[], &["eth0", "veth1", "lo", "enP1s0", "eth1", "virtio"]);
        let first = [(Hardware, Some(25_000)), (Virtual, None), (Loopback, None)];
        assert_eq!(seen[..3], first, "what a veth tells is no limit");
        assert_eq!(seen[3..], [(Lower, None), (Hardware, None), (Hardware, None)]);
        let seen = told(&[], &["br0", "bond0"]);
        assert_eq!(seen, [(Stacked, None), (Stacked, Some(50_000))]);
        let seen = told(&[("virtio", 1_000), ("veth1", 100)], &["eth0", "veth1", "virtio"]);
        assert_eq!(
            seen.iter().map(|it| it.1).collect::<Vec<_>>(),
            [Some(25_000), Some(100), Some(1_000)]
        );
    }

    #[test]
    fn what_stands_upon_a_bridge_or_veth_is_bound_by_no_speed() {
        let (_folder, root) = Root::of_files(&[
            ("sys/class/net/eth0/device/vendor", "x"),
            ("sys/class/net/veth0/type", "1\n"),
            ("sys/class/net/vmbr0/bridge/x", ""),
            ("sys/class/net/vmbr0/lower_eth0/x", ""),
            ("sys/class/net/bond0/bonding/mode", "x"),
            ("sys/class/net/bond0/lower_eth0/x", ""),
            ("sys/class/net/mixed/bonding/mode", "x"),
            ("sys/class/net/mixed/lower_eth0/x", ""),
            ("sys/class/net/mixed/lower_veth0/x", ""),
            ("sys/class/net/eth0.7/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/eth0.7/lower_eth0/x", ""),
            ("sys/class/net/bond0.7/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/bond0.7/lower_bond0/x", ""),
            ("sys/class/net/vmbr0.7/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/vmbr0.7/lower_vmbr0/x", ""),
            ("sys/class/net/vmbr0.7.8/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/vmbr0.7.8/lower_vmbr0.7/x", ""),
            ("sys/class/net/veth0.7/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/veth0.7/lower_veth0/x", ""),
            ("sys/class/net/guest/uevent", "DEVTYPE=macvlan\n"),
            ("sys/class/net/guest/lower_eth0/x", ""),
            ("sys/class/net/guest.7/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/guest.7/lower_guest/x", ""),
            ("sys/class/net/macvtap0/macvtap/tap7/x", ""),
            ("sys/class/net/macvtap0/lower_eth0/x", ""),
            ("sys/class/net/round/uevent", "DEVTYPE=vlan\n"),
            ("sys/class/net/round/lower_round/x", ""),
        ]);
        let bound = |name: &str| is_bound(&root, name, interface_kind(&root, name), NESTED_MAX);
        for name in ["eth0", "bond0", "eth0.7", "bond0.7"] {
            assert!(bound(name), "{name}");
        }
        let unbound = ["veth0", "vmbr0", "mixed", "vmbr0.7", "vmbr0.7.8", "veth0.7", "round"];
        for name in unbound.into_iter().chain(["guest", "guest.7", "macvtap0"]) {
            assert!(!bound(name), "{name}");
        }
    }
}
