//! A connection on which withheld replies wait: it is heard first, and again before anything is pushed.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;

use plumb_socket::{HeldTime, Peer};

use super::{Stand, plan, said, serve};
use crate::service::{ConnectionId, Ended, Served, Service};
use crate::testing::MS;

/// The n-th reply is withheld until the other connection, the second, has said `g` n times. It says
/// so twice while `w` is served.
struct Ledger {
    other: UnixStream,
    accepted: Vec<ConnectionId>,
    goes: u64,
    served: Vec<u8>,
    /// It cannot settle once `w` was served.
    breaks: bool,
}

impl Service for Ledger {
    /// Replies so far.
    type Conn = u64;
    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<u64, Vec<u8>> {
        Ok(0)
    }

    fn accepted(&mut self, _: &mut u64, id: ConnectionId) {
        self.accepted.push(id);
    }

    fn serve(&mut self, conn: &mut u64, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.served.push(bytes[0]);
        match bytes[0] {
            b'g' => self.goes += 1,
            byte => {
                if byte == b'w' {
                    self.other.write_all(b"gg").unwrap();
                }
                *conn += 1;
                out.push(byte);
            }
        }
        Served { consumed: 1, echo: 0, close: false }
    }

    fn mark(&self, conn: &u64) -> u64 {
        *conn
    }

    fn may_tell(&self, _: &u64, mark: u64) -> bool {
        mark <= self.goes
    }

    fn waited_for(&self) -> Option<ConnectionId> {
        self.accepted.get(1).copied()
    }

    fn settle(&mut self) -> io::Result<()> {
        let fails = self.breaks && self.served.contains(&b'w');
        if fails { Err(io::Error::other("the disk is full")) } else { Ok(()) }
    }

    fn close(&mut self, _: u64, _: Ended) {}
}

/// What a client that says `1` and later `then` was told by each look, and what was served; at the
/// same moment the other connection says `goes`.
fn told(then: &'static [u8], goes: &'static [u8], breaks: bool) -> (Vec<String>, Vec<u8>) {
    let stand = Stand::new();
    let (mut client, mut other) = (stand.connect(), stand.connect());
    client.write_all(b"1").unwrap();
    let twin = other.try_clone().unwrap();
    let mut service =
        Ledger { other: twin, accepted: Vec::new(), goes: 0, served: Vec::new(), breaks };
    let (tell, told) = std::sync::mpsc::channel();
    let (mut looks, mut hears) = (0, client.try_clone().unwrap());
    let mut last = client.try_clone().unwrap();
    let time = HeldTime::with(move |now| {
        looks += 1;
        tell.send(said(&mut hears)).unwrap();
        if looks == 5 {
            client.write_all(then).unwrap();
            other.write_all(goes).unwrap();
        }
        (looks < 9).then_some(now + MS)
    });
    let ended = serve(&plan(), &stand.listener, &mut service, time);
    assert_eq!(ended.is_err(), breaks);
    let told = told.iter().chain([said(&mut last)]);
    (told.filter(|said| !said.is_empty()).collect(), service.served)
}

#[test]
fn whom_replies_wait_for_is_heard_before_those_who_came_earlier() {
    let (told, served) = told(b"2", b"g", false);
    assert_eq!(served, b"1g2");
    assert_eq!(told, ["1"]);
}

#[test]
fn it_is_heard_again_before_anything_is_pushed() {
    let (told, served) = told(b"w", b"", false);
    assert_eq!(served, b"1wgg");
    assert_eq!(told, ["1w"], "in one turn");
}

#[test]
fn what_has_not_settled_is_not_told_early() {
    let (told, served) = told(b"w", b"", true);
    assert_eq!(served, b"1wgg");
    assert_eq!(told, ["1"], "which had settled before");
}
