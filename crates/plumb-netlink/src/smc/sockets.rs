//! What the kernel tells of all sockets of SMC of this network namespace.

use std::collections::HashMap;
use std::io;

use plumb_measure::SmcLack;
use rustix::io::Errno;
use rustix::net::netlink;

use super::FAMILY;
use super::reason::reason_in_words;
use crate::{DUMP, Dump, Message, Netlink, attributes, messages, request_with, u32_at, u64_at};

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_sockid`, which a dump of SMC does not look at.
const SOCKET_ID: usize = 48;
/// Bytes in front of the attributes of one socket: `struct smc_diag_msg`.
const FRONT: usize = 64;
/// Where the number of its file stands among them.
const INODE: usize = 56;
/// `SMC_DIAG_FALLBACK`.
const FALLBACK: u16 = 5;
/// States of a socket that has no connection: `SMC_INIT`, `SMC_CLOSED`, `SMC_LISTEN`.
const UNCONNECTED: [u8; 3] = [2, 7, 10];

/// What moves the bytes of a connection that was asked for over SMC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// Memory of both machines, over RDMA.
    SmcR,
    /// Memory that both sides share.
    SmcD,
    /// TCP, or nobody knows what.
    NotProven(SmcLack),
}

impl Carriage {
    /// Not proven, for this cause.
    pub fn unknown(cause: impl Into<String>) -> Self {
        Self::NotProven(SmcLack::Unknown { cause: cause.into() })
    }

    /// The name of the transport in the run record.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SmcR => "smc-r",
            Self::SmcD => "smc-d",
            Self::NotProven(SmcLack::FellBack { .. }) => "tcp",
            Self::NotProven(SmcLack::Unknown { .. }) => "smc",
        }
    }

    /// What is missing to the proof.
    #[must_use]
    pub fn lack(&self) -> Option<&SmcLack> {
        match self {
            Self::NotProven(lack) => Some(lack),
            Self::SmcR | Self::SmcD => None,
        }
    }
}

/// Connections by the number of their files.
///
/// # Source
/// include/uapi/linux/smc_diag.h of Linux 6.12.
#[derive(Debug, Default)]
pub struct SmcSockets(HashMap<u64, Carriage>);

impl SmcSockets {
    /// Asks the kernel.
    ///
    /// # Errors
    /// A sentence why it does not tell.
    pub fn ask() -> Result<Self, String> {
        let mut sockets = Self::default();
        let dumped = Netlink::open(netlink::SOCK_DIAG)
            .and_then(|mut netlink| netlink.dump(&question(), |datagram| sockets.take(datagram)));
        match dumped {
            Ok(()) => Ok(sockets),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(
                "the kernel does not tell what sockets of SMC use; load what tells it (modprobe \
                 smc_diag)"
                    .into(),
            ),
            Err(error) => {
                let cause =
                    Errno::from_io_error(&error).map_or(error.to_string(), |it| it.to_string());
                Err(format!("the kernel does not tell what sockets of SMC use: {cause}"))
            }
        }
    }

    /// What moves the bytes of the connection whose socket is the file `inode`.
    pub fn of(&self, inode: u64) -> Carriage {
        let known = self.0.get(&inode).cloned();
        known.unwrap_or_else(|| Carriage::unknown("the kernel does not know the connection"))
    }

    /// Takes what one receive brought of the dump.
    fn take(&mut self, bytes: &[u8]) -> Dump {
        for message in messages(bytes) {
            match message {
                Message::Done => return Dump::Complete,
                Message::Refused(error) => return Dump::Refused(error),
                Message::Data(payload) => self.0.extend(connection(payload)),
            }
        }
        Dump::Open
    }
}

fn question() -> Vec<u8> {
    #[expect(clippy::cast_possible_truncation, reason = "the number of a family of this kind")]
    let family = FAMILY.as_raw() as u8;
    let mut front = vec![family, 0, 0, 0];
    front.resize(front.len() + SOCKET_ID, 0);
    request_with(BY_FAMILY, DUMP, &front, &[])
}

/// The number of the file of one socket and what it uses; `None` when it has no connection, or the
/// message is cut.
fn connection(payload: &[u8]) -> Option<(u64, Carriage)> {
    let (state, mode) = (*payload.get(1)?, *payload.get(2)?);
    let inode = u64_at(payload, INODE)?;
    if UNCONNECTED.contains(&state) || inode == 0 {
        return None;
    }
    let carriage = match mode {
        0 => Carriage::SmcR,
        1 => Carriage::NotProven(fallback(payload.get(FRONT..).unwrap_or_default())),
        2 => Carriage::SmcD,
        other => Carriage::unknown(format!("the kernel tells mode {other}, which has no name")),
    };
    Some((inode, carriage))
}

fn fallback(told: &[u8]) -> SmcLack {
    let value = attributes(told).find(|(kind, _)| *kind == FALLBACK).map(|(_, value)| value);
    let number = |at| value.and_then(|value| u32_at(value, at));
    SmcLack::FellBack {
        reason: number(0).map_or_else(|| "no reason told".into(), reason_in_words),
        peer: number(4).filter(|reason| *reason != 0).map(reason_in_words),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::recorded;

    const RECORDED: &str = include_str!("../../tests/fixtures/smc-sockets-6.12.hex");

    fn message(state: u8, mode: u8, inode: u64, fallback: Option<[u32; 2]>) -> Vec<u8> {
        let mut front = vec![43, state, mode, 0];
        front.resize(INODE, 0);
        front.extend(inode.to_ne_bytes());
        let value: Vec<u8> =
            fallback.iter().flatten().flat_map(|number| number.to_ne_bytes()).collect();
        let attributes: &[(u16, &[u8])] = &[(3, &[0]), (FALLBACK, &value)];
        request_with(BY_FAMILY, 2, &front, &attributes[..1 + usize::from(fallback.is_some())])
    }

    fn of(messages: &[Vec<u8>]) -> SmcSockets {
        let mut sockets = SmcSockets::default();
        assert_eq!(sockets.take(&messages.concat()), Dump::Open);
        sockets
    }

    #[test]
    fn each_mode_has_its_name() {
        let sockets = of(&[
            message(1, 0, 7, None),
            message(1, 2, 8, None),
            message(1, 1, 9, Some([0x0301_0000, 0])),
            message(1, 1, 10, Some([0x0500_0000, 0x0303_0000])),
            message(1, 9, 11, None),
        ]);
        let kind = |inode| sockets.of(inode).kind();
        assert_eq!(
            [kind(7), kind(8), kind(9), kind(11), kind(12)],
            ["smc-r", "smc-d", "tcp", "smc", "smc"]
        );
        let text = |inode| sockets.of(inode).lack().unwrap().to_string();
        assert_eq!(text(9), "fell back from SMC: 0x03010000: the peer has no SMC");
        assert_eq!(
            text(10),
            "fell back from SMC: 0x05000000: the peer declined; the peer says 0x03030000: no device \
             for SMC, or no user-defined EID"
        );
        assert_eq!(text(12), "not known: the kernel does not know the connection");
    }

    #[test]
    fn a_socket_without_a_connection_proves_nothing() {
        let sockets =
            of(&[message(10, 0, 7, None), message(2, 0, 8, None), message(1, 0, 0, None)]);
        assert_eq!(sockets.0, HashMap::new());
    }

    #[test]
    fn what_a_kernel_really_answers_is_read() {
        let mut sockets = SmcSockets::default();
        let ends: Vec<Dump> =
            recorded(RECORDED).iter().map(|(_, datagram)| sockets.take(datagram)).collect();
        assert_eq!(ends.last(), Some(&Dump::Complete));
        let mut all: Vec<_> = sockets.0.values().map(Carriage::kind).collect();
        all.sort_unstable();
        assert_eq!(all, ["smc-r", "smc-r", "tcp"]);
        let lack = sockets.0.values().find_map(Carriage::lack).unwrap().to_string();
        assert_eq!(lack, "fell back from SMC: 0x03010000: the peer has no SMC");
    }

    #[test]
    fn this_kernel_tells_or_says_what_is_missing() {
        if let Err(why) = SmcSockets::ask() {
            assert!(why.starts_with("the kernel does not tell what sockets of SMC use"), "{why}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, at in 0usize..10_000, byte: u8) {
            let mut sockets = SmcSockets::default();
            let _ = sockets.take(&bytes);
            let _ = connection(&bytes);
            for (_, mut datagram) in recorded(RECORDED) {
                let at = at % datagram.len();
                datagram[at] = byte;
                let _ = sockets.take(&datagram);
                let _ = sockets.take(&datagram[..at]);
            }
        }
    }
}
