//! `/proc/net/dev`: the network interfaces.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines};
use crate::label::Label;

/// What an interface stands for. Sums are made over hardware where there is any: a bond, bridge
/// or VLAN repeats what the interfaces below it count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceKind {
    /// A network adapter, real or of a hypervisor.
    Hardware,
    /// A network adapter whose traffic another one counts as well, through which it goes: a virtual
    /// function below the adapter of the hypervisor.
    Lower,
    /// Made of software, not known to be upon others: veth, macvlan whose lower interface belongs to
    /// another container.
    #[default]
    Virtual,
    /// Made of software upon other interfaces of this machine: bond, bridge, VLAN, tunnel.
    Stacked,
    /// The machine talking to itself.
    Loopback,
}

/// Counters of one interface since it appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: Label,
    /// What it stands for.
    pub kind: InterfaceKind,
    /// Speed of its link, Mbit/s; absent when it tells none.
    pub speed_mbit: Option<u64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets received with an error.
    pub receive_errors: u64,
    /// Packets received and thrown away for want of room.
    pub receive_drops: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that could not be sent.
    pub send_errors: u64,
    /// Packets thrown away before they were sent.
    pub send_drops: u64,
}

/// The counters of `/proc/net/dev`; interfaces that never carried anything are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetDev {
    /// The interfaces, in the kernel's order.
    pub interfaces: Vec<Interface>,
}

impl Counters for NetDev {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        self.interfaces.clear();
        let mut known = false;
        for line in lines(text) {
            let Some(interface) = interface(line) else { continue };
            known = true;
            if interface.received_packets > 0 || interface.sent_packets > 0 {
                self.interfaces.push(interface);
            }
        }
        // every network namespace has a loopback interface
        if known { Ok(()) } else { Err(Unreadable("interface with sixteen counters")) }
    }
}

fn interface(line: &[u8]) -> Option<Interface> {
    // an alias has a colon in its name, the counters have none
    let colon = line.iter().rposition(|byte| *byte == b':')?;
    let mut words = Words::of(&line[colon + 1..]);
    let mut columns = [0; 16];
    for column in &mut columns {
        *column = words.number()?;
    }
    Some(Interface {
        name: Label::new(line[..colon].trim_ascii()),
        kind: InterfaceKind::Virtual,
        speed_mbit: None,
        received_bytes: columns[0],
        received_packets: columns[1],
        receive_errors: columns[2],
        receive_drops: columns[3],
        sent_bytes: columns[8],
        sent_packets: columns[9],
        send_errors: columns[10],
        send_drops: columns[11],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn a_large_count_touches_the_name() {
        let net: NetDev = parsed(
            "Inter-|   Receive                    |  Transmit\n face |bytes    packets|bytes\n\
             eth0:318913206   10937    1    2    0     0          0         0   712595    7499    3    4    0     0       0          0\n\
             eth0:1: 5 6 0 0 0 0 0 0 7 8 0 0 0 0 0 0\n  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        );
        let names: Vec<&str> = net.interfaces.iter().map(|each| each.name.as_str()).collect();
        assert_eq!(names, ["eth0", "eth0:1"], "ifb0 never carried anything");
        let eth0 = net.interfaces[0];
        assert_eq!((eth0.received_bytes, eth0.sent_bytes), (318_913_206, 712_595));
        assert_eq!((eth0.receive_errors, eth0.receive_drops), (1, 2));
        assert_eq!((eth0.send_errors, eth0.send_drops), (3, 4));
    }
}
