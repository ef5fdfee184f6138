//! RDMA ports: traffic that `/proc/net/dev` does not see.

use crate::fields::number;
use crate::label::Label;
use crate::root::{Root, names_in};
use crate::source::{Buffer, Shape, Source};
use crate::state::State;

/// Bytes of a unit of the data counters.
///
/// # Source
/// InfiniBand specification, PortXmitData; Documentation/ABI/stable/sysfs-class-infiniband.
pub const WORD: u64 = 4;

/// Files of a port, and the place of each counter. What stands under `hw_counters` depends on the
/// driver: the first that is there counts.
const COUNTERS: [(Counter, &[&str]); 9] = [
    (Counter::SentWords, &["counters/port_xmit_data"]),
    (Counter::ReceivedWords, &["counters/port_rcv_data"]),
    (Counter::SentPackets, &["counters/port_xmit_packets", "hw_counters/sent_pkts"]),
    (Counter::ReceivedPackets, &["counters/port_rcv_packets", "hw_counters/rcvd_pkts"]),
    (Counter::SendWaits, &["counters/port_xmit_wait"]),
    (Counter::ReceiveErrors, &["counters/port_rcv_errors", "hw_counters/completer_retry_err"]),
    (Counter::SendDiscards, &["counters/port_xmit_discards", "hw_counters/send_err"]),
    (Counter::OutOfSequence, &["hw_counters/out_of_sequence", "hw_counters/out_of_seq_request"]),
    (Counter::CongestionMarks, &["hw_counters/np_ecn_marked_roce_packets"]),
];

/// A counter of a port; absent ones are not in [`RdmaPort::get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// [`WORD`]s sent.
    SentWords,
    /// [`WORD`]s received.
    ReceivedWords,
    /// Packets sent.
    SentPackets,
    /// Packets received.
    ReceivedPackets,
    /// Ticks in which data waited to be sent.
    SendWaits,
    /// Packets received with an error.
    ReceiveErrors,
    /// Packets thrown away before they were sent.
    SendDiscards,
    /// Packets that came out of order.
    OutOfSequence,
    /// Packets that a switch marked as congested.
    CongestionMarks,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaPort {
    /// Device and port: `mlx5_0/1`.
    pub name: Label,
    /// The network interface of a RoCE port; empty for InfiniBand.
    pub interface: Label,
    counters: [Option<u64>; COUNTERS.len()],
}

impl RdmaPort {
    /// One counter; `None` when the driver does not have it.
    #[must_use]
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.counters[counter as usize]
    }

    /// This port with `counter` at `value`.
    #[must_use]
    pub fn with(mut self, counter: Counter, value: u64) -> Self {
        self.counters[counter as usize] = Some(value);
        self
    }
}

/// Counters of all ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaPorts {
    /// The ports, by name.
    pub ports: Vec<RdmaPort>,
}

/// Reads all ports through descriptors that stay open.
#[derive(Debug)]
pub struct Rdma {
    ports: Vec<Port>,
    state: State,
}

#[derive(Debug)]
struct Port {
    name: Label,
    interface: Label,
    sources: Vec<(Counter, Source)>,
}

impl Rdma {
    /// The ports that are there now.
    #[must_use]
    pub fn new(root: &Root) -> Self {
        let mut ports = Vec::new();
        for device in names_in(&root.sys("class/infiniband")) {
            for port in names_in(&root.sys(&format!("class/infiniband/{device}/ports"))) {
                ports.push(Port::new(root, &device, &port));
            }
        }
        let state = if ports.is_empty() {
            State::Unsupported("this machine has no RDMA device".into())
        } else if ports.iter().all(|port| !port.tells_traffic()) {
            // RoCE is then missing from every sum, which the reader has to know
            State::Failed("there is an RDMA device, but its driver counts no bytes".into())
        } else {
            State::Active
        };
        Self { ports, state }
    }

    /// No port, because nobody wants them.
    #[must_use]
    pub fn disabled() -> Self {
        Self { ports: Vec::new(), state: State::Disabled }
    }

    /// Whether there are ports that tell their traffic.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Reads every counter; false when there is none.
    pub fn read(&mut self, buffer: &mut Buffer, counters: &mut RdmaPorts) -> bool {
        counters.ports.clear();
        for port in &mut self.ports {
            let mut read =
                RdmaPort { name: port.name, interface: port.interface, ..RdmaPort::default() };
            for (counter, source) in &mut port.sources {
                let text = source.read(buffer);
                let value = text.and_then(|text| number(text.trim_ascii()));
                read.counters[*counter as usize] = value;
            }
            counters.ports.push(read);
        }
        !self.ports.is_empty()
    }
}

impl Port {
    fn new(root: &Root, device: &str, port: &str) -> Self {
        let folder = format!("class/infiniband/{device}/ports/{port}");
        let mut sources = Vec::new();
        for (counter, files) in COUNTERS {
            let mut paths = files.iter().map(|file| root.sys(&format!("{folder}/{file}")));
            if let Some(path) = paths.find(|path| path.exists()) {
                sources.push((counter, Source::new(path, Shape::Whole)));
            }
        }
        let interface = root.sys_line(&format!("{folder}/gid_attrs/ndevs/0")).unwrap_or_default();
        Self {
            name: Label::new(format!("{device}/{port}").as_bytes()),
            interface: Label::new(interface.as_bytes()),
            sources,
        }
    }

    fn tells_traffic(&self) -> bool {
        self.sources.iter().any(|(counter, _)| *counter == Counter::SentWords)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn ports_are_read_and_joined_to_their_interfaces() {
        let folder = tempfile::tempdir().unwrap();
        let port = folder.path().join("sys/class/infiniband/mlx5_0/ports/1");
        for (file, text) in [
            ("counters/port_xmit_data", "1000\n"),
            ("counters/port_rcv_data", "2000\n"),
            ("hw_counters/out_of_sequence", "3\n"),
            ("gid_attrs/ndevs/0", "ens1f0np0\n"),
        ] {
            let path = port.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut rdma = Rdma::new(&Root::below(folder.path()));
        assert!(rdma.state().is_active());
        let mut counters = RdmaPorts::default();
        assert!(rdma.read(&mut Buffer::new(), &mut counters));
        let [port] = counters.ports.as_slice() else { panic!("{counters:?}") };
        assert_eq!((port.name.as_str(), port.interface.as_str()), ("mlx5_0/1", "ens1f0np0"));
        assert_eq!(port.get(Counter::SentWords), Some(1000));
        assert_eq!(port.get(Counter::OutOfSequence), Some(3));
        assert_eq!(port.get(Counter::SentPackets), None);
    }

    #[test]
    fn a_device_whose_bytes_nobody_counts_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sys/class/infiniband/rxe0/ports/1")).unwrap();
        let rdma = Rdma::new(&Root::below(folder.path()));
        assert!(matches!(rdma.state(), State::Failed(_)), "{}", rdma.state());
        let none = Rdma::new(&Root::below(&folder.path().join("empty")));
        assert!(matches!(none.state(), State::Unsupported(_)), "{}", none.state());
    }
}
