//! `/proc/net/snmp` and `/proc/net/netstat`: the counters of TCP.

use super::{Counters, Unreadable};
use crate::fields::{Words, lines, number};

/// Counters of TCP and UDP from `/proc/net/snmp`, since the start of this network namespace.
///
/// # Source
/// RFC 4022 (TCP-MIB), RFC 4113 (UDP-MIB).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snmp {
    /// Connections made from here.
    pub active_opens: u64,
    /// Connections taken.
    pub passive_opens: u64,
    /// Established connections that were reset.
    pub resets: u64,
    /// Connections that stand, now.
    pub established: u64,
    /// Segments received.
    pub received: u64,
    /// Segments sent, those sent again not counted.
    pub sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Datagrams received.
    pub udp_received: u64,
    /// Datagrams sent.
    pub udp_sent: u64,
    /// Datagrams thrown away because nobody read fast enough.
    pub udp_receive_overflows: u64,
}

impl Counters for Snmp {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        *self = Self::default();
        each_column(text, b"Udp:", |name, value| match name {
            b"InDatagrams" => self.udp_received = value,
            b"OutDatagrams" => self.udp_sent = value,
            b"RcvbufErrors" => self.udp_receive_overflows = value,
            _ => {}
        });
        let found = each_column(text, b"Tcp:", |name, value| match name {
            b"ActiveOpens" => self.active_opens = value,
            b"PassiveOpens" => self.passive_opens = value,
            b"EstabResets" => self.resets = value,
            b"CurrEstab" => self.established = value,
            b"InSegs" => self.received = value,
            b"OutSegs" => self.sent = value,
            b"RetransSegs" => self.retransmitted = value,
            _ => {}
        });
        if found { Ok(()) } else { Err(Unreadable("pair of lines `Tcp:`")) }
    }
}

/// Counters of Linux's own TCP from `/proc/net/netstat`. A kernel that lacks one leaves it absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Netstat {
    /// Connections turned away because nobody took them fast enough.
    pub listen_overflows: Option<u64>,
    /// Connections turned away for that and any other reason.
    pub listen_drops: Option<u64>,
    /// Retransmission timers that ran out.
    pub timeouts: Option<u64>,
    /// Requests to connect that were sent again.
    pub syn_retransmits: Option<u64>,
    /// Segments thrown away because the reader's queue was full.
    pub backlog_drops: Option<u64>,
}

impl Counters for Netstat {
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable> {
        *self = Self::default();
        let found = each_column(text, b"TcpExt:", |name, value| match name {
            b"ListenOverflows" => self.listen_overflows = Some(value),
            b"ListenDrops" => self.listen_drops = Some(value),
            b"TCPTimeouts" => self.timeouts = Some(value),
            b"TCPSynRetrans" => self.syn_retransmits = Some(value),
            b"TCPBacklogDrop" => self.backlog_drops = Some(value),
            _ => {}
        });
        if found { Ok(()) } else { Err(Unreadable("pair of lines `TcpExt:`")) }
    }
}

/// Hands over every column of the pair of lines that begin with `prefix`; false when there is none.
fn each_column(text: &[u8], prefix: &[u8], mut take: impl FnMut(&[u8], u64)) -> bool {
    let mut pair = lines(text).filter(|line| line.starts_with(prefix));
    let (Some(names), Some(values)) = (pair.next(), pair.next()) else {
        return false;
    };
    for (name, value) in Words::of(names).skip(1).zip(Words::of(values).skip(1)) {
        // a few limits are -1, and none of them is wanted
        if let Some(value) = number(value) {
            take(name, value);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parsed;

    #[test]
    fn columns_are_found_by_name() {
        let snmp: Snmp = parsed(
            "Tcp: RtoMin MaxConn ActiveOpens InSegs OutSegs RetransSegs\nTcp: 200 -1 3 70 80 5\n\
             Udp: InDatagrams NoPorts RcvbufErrors\nUdp: 9 1 2\nUdpLite: InDatagrams\nUdpLite: 1\n",
        );
        assert_eq!((snmp.active_opens, snmp.received, snmp.sent), (3, 70, 80));
        assert_eq!((snmp.retransmitted, snmp.udp_received), (5, 9));
        assert_eq!(snmp.udp_receive_overflows, 2);
    }

    #[test]
    fn what_a_kernel_does_not_count_is_absent() {
        let netstat: Netstat = parsed("TcpExt: ListenOverflows TW\nTcpExt: 4 190480\n");
        assert_eq!(netstat.listen_overflows, Some(4));
        assert_eq!(netstat.listen_drops, None);
        assert!(Netstat::default().parse(b"TcpExt: ListenOverflows\n").is_err());
    }
}
