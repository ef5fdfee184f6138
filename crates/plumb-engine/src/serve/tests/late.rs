//! Clients that wait, and are answered later.

use std::io::Write as _;

use plumb_socket::Peer;

use super::{Stand, plan, said};
use crate::service::{ConnectionId, Ended, Served, Service};
use crate::testing::MS;

/// Lets every client wait until it is time, or until another says `go`.
#[derive(Default)]
struct Waiter {
    waiting: Vec<(ConnectionId, u64)>,
    now: u64,
    go: bool,
    /// Who is told something without having asked.
    told: Option<ConnectionId>,
    ended: Vec<Ended>,
}

#[derive(Default)]
struct Waiting {
    connection_id: Option<ConnectionId>,
    waits: bool,
}

impl Service for Waiter {
    type Conn = Waiting;
    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<Waiting, Vec<u8>> {
        Ok(Waiting::default())
    }

    fn accepted(&mut self, conn: &mut Waiting, connection_id: ConnectionId) {
        conn.connection_id = Some(connection_id);
    }

    /// `w` waits for a second, `g` lets all go, `t` tells the first that waits something, anything else is answered at once.
    fn serve(&mut self, conn: &mut Waiting, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        conn.waits = bytes[0] == b'w';
        match bytes[0] {
            b'w' => self.waiting.push((conn.connection_id.unwrap(), self.now + 1_000 * MS)),
            b'g' => self.go = true,
            b't' => self.told = self.waiting.first().map(|(id, _)| *id),
            byte => out.push(byte),
        }
        Served { consumed: 1, echo: 0, close: false }
    }

    fn waits(&self, conn: &Waiting) -> bool {
        conn.waits
    }

    fn wake_at(&self) -> Option<u64> {
        self.waiting.iter().map(|(_, until)| *until).min()
    }

    fn due(&mut self, now: u64) {
        self.now = now;
    }

    fn late_reply(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let over = self.waiting.iter().position(|(_, until)| self.go || *until <= self.now)?;
        out.extend_from_slice(if self.go { b"gone" } else { b"late" });
        Some(self.waiting.remove(over).0)
    }

    fn message(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        let told = self.told.take()?;
        out.extend_from_slice(b"told");
        Some(told)
    }

    fn close(&mut self, _: Waiting, ended: Ended) {
        self.ended.push(ended);
    }
}

#[test]
fn a_client_that_waits_is_answered_in_time_and_only_then_served_again() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"1w2w3").unwrap();
    let mut service = Waiter::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |now| {
        let text = said(&mut client);
        if !text.is_empty() {
            tell.send((now / MS, text)).unwrap();
        }
        None
    });
    let told: Vec<(u64, String)> = told.iter().collect();
    let start = told[0].0;
    let told: Vec<(u64, &str)> =
        told.iter().map(|(at, text)| (at - start, text.as_str())).collect();
    assert_eq!(told, [(0, "1"), (1_000, "late2"), (2_000, "late3")]);
}

/// What a client is told that waits and then asks for more, while another says `word`.
fn told_when_another_says(word: &'static [u8]) -> String {
    let stand = Stand::new();
    let (mut client, mut other) = (stand.connect(), stand.connect());
    client.write_all(b"w1").unwrap();
    let mut service = Waiter::default();
    let (tell, told) = std::sync::mpsc::channel();
    let mut looks = 0;
    stand.serve(&plan(), &mut service, move |_| {
        looks += 1;
        if looks == 2 {
            other.write_all(word).unwrap();
        }
        tell.send(said(&mut client)).unwrap();
        None
    });
    told.iter().collect()
}

#[test]
fn one_client_ends_the_wait_of_another() {
    assert_eq!(told_when_another_says(b"g"), "gone1");
}

#[test]
fn whoever_is_told_something_goes_on_waiting() {
    assert_eq!(told_when_another_says(b"t"), "toldlate1");
}

#[test]
fn a_client_that_hangs_up_does_not_wait() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"w").unwrap();
    let mut client = Some(client);
    let mut service = Waiter::default();
    let mut looks = 0;
    stand.serve(&plan(), &mut service, move |_| {
        looks += 1;
        if looks == 2 {
            drop(client.take());
        }
        None
    });
    assert_eq!(service.ended, [Ended::ByClient]);
}

/// Bytes of what is told: more than a socket takes at once.
const LONG: usize = 4 << 20;

/// Tells the client that came first something long once another has said anything.
#[derive(Default)]
struct Teller {
    first: Option<ConnectionId>,
    tells: bool,
    ended: Vec<Ended>,
}

impl Service for Teller {
    type Conn = ();
    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn accepted(&mut self, (): &mut (), id: ConnectionId) {
        self.first.get_or_insert(id);
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], _: &mut Vec<u8>) -> Served {
        self.tells = true;
        Served { consumed: bytes.len(), echo: 0, close: false }
    }

    fn message(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        std::mem::take(&mut self.tells).then(|| out.resize(LONG, b'x'))?;
        self.first
    }

    fn close(&mut self, (): (), ended: Ended) {
        self.ended.push(ended);
    }
}

#[test]
fn whoever_has_long_been_silent_has_time_to_read_what_it_is_told() {
    let stand = Stand::new();
    let (mut client, mut other) = (stand.connect(), stand.connect());
    let mut service = Teller::default();
    let (tell, told) = std::sync::mpsc::channel();
    let (mut looks, silent) = (0, 10 * plan().stall.ns());
    stand.serve(&plan(), &mut service, move |now| {
        looks += 1;
        if looks == 2 {
            other.write_all(b"!").unwrap();
        }
        let text = said(&mut client);
        tell.send(text.len()).unwrap();
        Some(now + if looks == 1 { silent } else { u64::from(!text.is_empty()) })
    });
    assert_eq!(told.iter().sum::<usize>(), LONG);
    assert!(!service.ended.contains(&Ended::Stalled), "{:?}", service.ended);
}
