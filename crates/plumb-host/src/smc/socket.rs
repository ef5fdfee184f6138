//! The generic netlink socket over which the kernel tells the statistics of SMC.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, recv, send,
    socket_with,
};

use super::counters::{Dump, SmcCounters};
use super::message::{Message, attributes, messages, request, u16_at};
use crate::fields::lines;
use crate::root::Root;
use crate::state::State;

/// The family that knows the numbers of the others, and its command to ask for one.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const SMC: &[u8] = b"SMC_GEN_NETLINK\0";

/// `NLM_F_DUMP`.
const DUMP: u16 = 0x300;
const GET_STATISTICS: u8 = 7;
const GET_FALLBACKS: u8 = 8;

/// Receives that one dump may take.
const RECEIVES_MAX: usize = 64;

/// Asks the kernel for the statistics of SMC.
#[derive(Debug)]
pub(crate) struct Smc {
    socket: Option<(OwnedFd, u16)>,
    buffer: Vec<u8>,
    state: State,
}

impl Smc {
    /// Looks whether this kernel has SMC.
    pub(crate) fn new(root: &Root) -> Self {
        // asking for a family that is not there makes the kernel load its module, and whoever
        // looks on must change nothing
        let protocols = std::fs::read(root.proc("net/protocols")).unwrap_or_default();
        let mut buffer = vec![0; 32 << 10];
        let opened = match lines(&protocols).any(|line| line.starts_with(b"SMC")) {
            true => open(&mut buffer),
            false => Ok(None),
        };
        let (socket, state) = match opened {
            Ok(Some(socket)) => (Some(socket), State::Active),
            Ok(None) => (
                None,
                State::Unsupported(
                    "this kernel has no SMC, or it is not loaded (modprobe smc)".into(),
                ),
            ),
            Err(error) => (None, State::Failed(format!("cannot ask the kernel for SMC: {error}"))),
        };
        Self { socket, buffer, state }
    }

    pub(crate) fn disabled() -> Self {
        Self { socket: None, buffer: Vec::new(), state: State::Disabled }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Reads all counters; false when there are none.
    pub(crate) fn read(&mut self, counters: &mut SmcCounters) -> bool {
        let Some((socket, family)) = &self.socket else {
            return false;
        };
        counters.clear();
        for command in [GET_STATISTICS, GET_FALLBACKS] {
            if let Err(error) = dump(socket, *family, command, &mut self.buffer, counters) {
                self.state = State::Failed(format!("the kernel does not tell of SMC: {error}"));
                self.socket = None;
                return false;
            }
        }
        true
    }
}

/// A socket, and the number of the family of SMC; `None` when there is no such family.
fn open(buffer: &mut [u8]) -> io::Result<Option<(OwnedFd, u16)>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        Some(netlink::GENERIC),
    )?;
    bind(&socket, &netlink::SocketAddrNetlink::new(0, 0))?;
    let question = request(CONTROL, 0, GET_FAMILY, &[(FAMILY_NAME, SMC)]);
    send(&socket, &question, SendFlags::empty())?;
    let (length, _) = recv(&socket, &mut *buffer, RecvFlags::empty())?;
    let answer = messages(&buffer[..length]).next();
    let Some(Message::Data(payload)) = answer else {
        return Ok(None);
    };
    let family = attributes(payload.get(4..).unwrap_or_default())
        .find(|(kind, _)| *kind == FAMILY_ID)
        .and_then(|(_, value)| u16_at(value, 0));
    Ok(family.map(|family| (socket, family)))
}

fn dump(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    buffer: &mut [u8],
    counters: &mut SmcCounters,
) -> io::Result<()> {
    send(socket, &request(family, DUMP, command, &[]), SendFlags::empty())?;
    for _ in 0..RECEIVES_MAX {
        // the kernel has put its answer there before the request returned
        let (length, _) = recv(socket, &mut *buffer, RecvFlags::empty())?;
        match counters.take(&buffer[..length]) {
            Dump::Open => {}
            Dump::Complete => return Ok(()),
            Dump::Refused(error) => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Err(io::Error::other("its answer does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_smc_or_says_that_it_has_not() {
        let mut smc = Smc::new(&Root::default());
        let mut counters = SmcCounters::default();
        assert_eq!(smc.read(&mut counters), smc.state().is_active(), "{}", smc.state());
    }
}
