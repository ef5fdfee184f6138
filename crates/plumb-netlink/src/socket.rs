//! Sockets of netlink.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv,
    send, socket_with,
};

use super::message::{Dump, GENERIC, Message, attributes, each_payload, messages, request, u16_at};

/// The family that knows the numbers of the others, and its command to ask for one.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `NLM_F_DUMP` and `NLM_F_ACK`.
pub const DUMP: u16 = 0x300;
const ACKNOWLEDGE: u16 = 4;
/// The kernel fills no more than this with one receive.
const BUFFER: usize = 32 << 10;
/// Receives that one dump may take.
const RECEIVES_MAX: usize = 1024;

/// A socket over which the kernel answers.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Netlink {
    /// A socket of this protocol.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(protocol: Protocol) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(protocol))?;
        bind(&socket, &netlink::SocketAddrNetlink::new(0, 0))?;
        Ok(Self { socket, buffer: vec![0; BUFFER] })
    }

    /// The payload of the only message that answers `request`.
    ///
    /// # Errors
    /// What the kernel says, also when it refuses.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<&[u8]> {
        self.send(request)?;
        let datagram = self.receive()?;
        match messages(datagram).next() {
            Some(Message::Data(payload)) => Ok(payload),
            Some(Message::Refused(error)) => Err(io::Error::from_raw_os_error(error)),
            Some(Message::Done) | None => Err(io::Error::other("it answers nothing")),
        }
    }

    /// Hands over what each receive brings of the dump that `request` asks for, until it is
    /// complete.
    ///
    /// # Errors
    /// What the kernel says, also when it refuses; and when the dump does not end.
    pub fn dump(&mut self, request: &[u8], mut take: impl FnMut(&[u8]) -> Dump) -> io::Result<()> {
        self.send(request)?;
        for _ in 0..RECEIVES_MAX {
            match take(self.receive()?) {
                Dump::Open => {}
                Dump::Complete => return Ok(()),
                Dump::Refused(error) => return Err(io::Error::from_raw_os_error(error)),
            }
        }
        Err(io::Error::other("its answer does not end"))
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        send(&self.socket, request, SendFlags::empty())?;
        Ok(())
    }

    /// What the kernel has put there before the request, or the receive before, returned.
    fn receive(&mut self) -> io::Result<&[u8]> {
        let (length, _) = recv(&self.socket, &mut *self.buffer, RecvFlags::empty())?;
        Ok(&self.buffer[..length])
    }
}

/// A generic family and its number.
#[derive(Debug)]
pub struct Family {
    netlink: Netlink,
    number: u16,
}

impl Family {
    /// The family of this name, which ends with a zero byte; `None` when the kernel has none.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open(name: &[u8]) -> io::Result<Option<Self>> {
        let mut netlink = Netlink::open(netlink::GENERIC)?;
        let question = request(CONTROL, 0, GET_FAMILY, &[(FAMILY_NAME, name)]);
        let answer = match netlink.ask(&question) {
            Ok(payload) => payload,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let number = attributes(answer.get(GENERIC..).unwrap_or_default())
            .find(|(kind, _)| *kind == FAMILY_ID)
            .and_then(|(_, value)| u16_at(value, 0));
        Ok(number.map(|number| Self { netlink, number }))
    }

    /// Hands over what each receive brings of the dump of `command`.
    ///
    /// # Errors
    /// As [`Netlink::dump`].
    pub fn dump(&mut self, command: u8, take: impl FnMut(&[u8]) -> Dump) -> io::Result<()> {
        self.netlink.dump(&request(self.number, DUMP, command, &[]), take)
    }

    /// Tells the kernel to do `command`, and waits until it says that it has.
    ///
    /// # Errors
    /// What the kernel says when it refuses.
    pub fn order(&mut self, command: u8, attributes: &[(u16, &[u8])]) -> io::Result<()> {
        let request = request(self.number, ACKNOWLEDGE, command, attributes);
        self.netlink.dump(&request, |answer| each_payload(answer, |_| {}))
    }
}
