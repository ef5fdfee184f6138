//! IPsec: whether packets are encrypted on their way, from the counts of the kernel's tables.

use std::{fmt, io};

use plumb_procfs::Root;
use plumb_procfs::fields::{Words, lines, number};
use rustix::net::netlink;
use serde::{Deserialize, Serialize};

use plumb_netlink::{Netlink, attributes, request_of, u32_at};

/// Messages that ask for the counts, and the attribute with them.
///
/// # Source
/// include/uapi/linux/xfrm.h of Linux 6.12.
const GET_STATES: u16 = 0x23;
const GET_POLICIES: u16 = 0x25;
const COUNTS: u16 = 1;
/// Bytes in front of the attributes.
const FLAGS: usize = 4;
/// The kernel's number of the protocol, and its own address.
const XFRM: u64 = 6;
const KERNEL: u64 = 0;

/// IPsec in the network namespace of this program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ipsec {
    /// Policies of any direction: what is to be encrypted. Those of single sockets are not counted.
    pub policies: u64,
    /// States (security associations): what can be encrypted now.
    pub states: u64,
}

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCounts {
    /// Nobody answers; asking all the same would make the kernel load the module.
    #[error("unsupported: this kernel has no IPsec, or it is not loaded")]
    NoIpsec,
    /// Only the administrator of the network is told.
    #[error("unsupported: the kernel tells root only")]
    NotAllowed,
    /// Anything else.
    #[error("unsupported: the kernel answers {0}")]
    Refused(io::Error),
}

impl fmt::Display for Ipsec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { policies: 0, states: 0 } => f.write_str("none"),
            Self { policies, states } => write!(f, "{policies} policies, {states} states"),
        }
    }
}

impl Ipsec {
    /// Asks the kernel.
    pub(super) fn ask(root: &Root) -> Result<Self, NoCounts> {
        let sockets = std::fs::read(root.proc("net/netlink")).unwrap_or_default();
        if !lines(&sockets).any(is_answered) {
            return Err(NoCounts::NoIpsec);
        }
        let asked = Self::ask_kernel();
        asked.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => NoCounts::NotAllowed,
            _ => NoCounts::Refused(error),
        })
    }

    fn ask_kernel() -> io::Result<Self> {
        let mut netlink = Netlink::open(netlink::XFRM)?;
        let mut count = |message: u16, counted: usize| {
            let answer = netlink.ask(&request_of(message, 0, [0xff; FLAGS], &[]))?;
            sum(answer, counted).ok_or_else(|| io::Error::other("without a count"))
        };
        Ok(Self { policies: count(GET_POLICIES, 3)?, states: count(GET_STATES, 1)? })
    }
}

/// True for the kernel's own socket in a line of `/proc/net/netlink`.
fn is_answered(line: &[u8]) -> bool {
    let mut words = Words::of(line).skip(1);
    let mut next = || words.next().and_then(number);
    next() == Some(XFRM) && next() == Some(KERNEL)
}

/// The first `counted` counts of an answer together: policies in, out and forward come first.
fn sum(answer: &[u8], counted: usize) -> Option<u64> {
    let rest = answer.get(FLAGS..)?;
    let (_, counts) = attributes(rest).find(|(kind, _)| *kind == COUNTS)?;
    (0..counted).map(|at| u32_at(counts, 4 * at).map(u64::from)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_every_direction_are_added() {
        let mut answer = vec![0xff; FLAGS];
        answer.extend([28, 0, 1, 0]);
        for count in [1u32, 2, 3, 40, 50, 60] {
            answer.extend(count.to_ne_bytes());
        }
        assert_eq!(sum(&answer, 3), Some(6));
        assert_eq!(sum(&answer, 1), Some(1));
        assert_eq!(sum(&answer[..10], 3), None);
    }

    #[test]
    fn nobody_is_asked_where_nobody_answers() {
        let folder = tempfile::tempdir().unwrap();
        let no_ipsec = Ipsec::ask(&Root::below(folder.path()));
        assert!(matches!(no_ipsec, Err(NoCounts::NoIpsec)), "{no_ipsec:?}");
        assert!(is_answered(b"00000000bed38555 6   0          00000000 0        0"));
        assert!(!is_answered(b"00000000bed38555 6   17         00000000 0        0"));
        assert!(!is_answered(b"sk               Eth Pid        Groups   Rmem     Wmem"));
    }

    #[test]
    fn this_kernel_counts_or_says_why_not() {
        match Ipsec::ask(&Root::default()) {
            Ok(ipsec) => assert!(ipsec.policies < 1_000_000),
            Err(reason) => assert!(reason.to_string().starts_with("unsupported: "), "{reason}"),
        }
    }
}
