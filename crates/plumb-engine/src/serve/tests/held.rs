//! Replies that the service keeps back behind settling, what it says unasked, whom it drops, and
//! connections that it makes itself.

use std::io::{self, Write as _};

use plumb_socket::Peer;

use super::{Stand, plan, said};
use crate::Endpoint;
use crate::service::{ConnectionId, Ended, Served, Service};
use crate::testing::MS;

/// The n-th reply of a client is withheld until others have said `g` n times; `d` drops the client
/// that came first, `p` tells it something.
#[derive(Default)]
struct Keeper {
    goes: u64,
    first: Option<ConnectionId>,
    push: bool,
    drop: bool,
    served: Vec<u8>,
    ended: Vec<Ended>,
}

impl Service for Keeper {
    /// Replies so far.
    type Conn = u64;
    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<u64, Vec<u8>> {
        Ok(0)
    }

    fn accepted(&mut self, _: &mut u64, id: ConnectionId) {
        self.first.get_or_insert(id);
    }

    fn serve(&mut self, conn: &mut u64, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.served.push(bytes[0]);
        match bytes[0] {
            b'g' => self.goes += 1,
            b'p' => self.push = true,
            b'd' => self.drop = true,
            byte => {
                *conn += 1;
                out.push(byte);
            }
        }
        Served { consumed: 1, echo: 0, close: false }
    }

    fn yields(&self, _: &u64) -> bool {
        true // one a turn
    }

    fn unsettled(&self) -> bool {
        false
    }

    fn mark(&self, conn: &u64) -> u64 {
        *conn
    }

    fn may_tell(&self, _: &u64, mark: u64) -> bool {
        mark <= self.goes
    }

    fn push(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        std::mem::take(&mut self.push).then(|| out.push(b'!'))?;
        self.first
    }

    fn drop_next(&mut self) -> Option<ConnectionId> {
        if std::mem::take(&mut self.drop) { self.first } else { None }
    }

    fn close(&mut self, _: u64, ended: Ended) {
        self.ended.push(ended);
    }
}

/// What the first client, which asks for `first` and may end then, was told until the server stopped,
/// when another says `then` later, a byte at a time.
fn told(first: &[u8], ends: bool, then: &'static [u8]) -> (String, Keeper) {
    let stand = Stand::new();
    let (mut client, mut other) = (stand.connect(), stand.connect());
    client.write_all(first).unwrap();
    if ends {
        client.shutdown(std::net::Shutdown::Write).unwrap();
    }
    let mut service = Keeper::default();
    let (tell, told) = std::sync::mpsc::channel();
    let (mut looks, begins) = (0, first.len() + 3);
    stand.serve(&plan(), &mut service, move |now| {
        looks += 1;
        let at = usize::checked_sub(looks, begins);
        if let Some(byte) = at.and_then(|at| then.get(at..=at)) {
            tell.send("-".to_owned()).unwrap();
            other.write_all(byte).unwrap();
        }
        tell.send(said(&mut client)).unwrap();
        (looks < begins + then.len()).then_some(now + MS)
    });
    (told.iter().collect(), service)
}

#[test]
fn a_client_is_told_what_it_may_be_and_served_further_meanwhile() {
    let (told, service) = told(b"12", false, b"g");
    assert_eq!(told, "-1");
    assert_eq!(service.served, b"12g", "the second did not wait for the first");
    assert_eq!(service.ended, [Ended::Stopped, Ended::Stopped], "silence was not its own");
}

#[test]
fn replies_come_in_their_order_each_as_soon_as_it_may_be_told() {
    assert_eq!(told(b"123", false, b"ggg").0, "--1-23");
}

#[test]
fn a_client_of_too_many_replies_that_wait_is_not_served_further() {
    let (told, service) = told(&[b'x'; 200], false, b"g");
    assert_eq!(told, "-x");
    assert_eq!(service.served, [[b'x'; 64].as_slice(), b"g"].concat());
}

#[test]
fn whoever_says_nothing_more_is_told_what_it_waits_for() {
    let (told, service) = told(b"12", true, b"gg");
    assert_eq!(told, "--12");
    assert_eq!(service.ended.iter().filter(|ended| **ended == Ended::ByClient).count(), 1);
}

#[test]
fn what_is_pushed_does_not_wait_and_takes_along_what_does() {
    assert_eq!(told(b"12", false, b"p").0, "-12!");
}

#[test]
fn whoever_is_dropped_is_told_nothing() {
    let (told, service) = told(b"12", false, b"d");
    assert_eq!(told, "-");
    assert!(service.ended.contains(&Ended::ByService), "{:?}", service.ended);
}

/// Dials once, and says hello.
struct Dialler {
    to: Option<Endpoint>,
    events: Vec<String>,
}

impl Service for Dialler {
    type Conn = u8;
    const SETTLES: bool = true;
    const WAITS: bool = true;
    const DIALS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<u8, Vec<u8>> {
        Ok(b'a')
    }

    fn wake_at(&self) -> Option<u64> {
        self.to.is_some().then_some(0)
    }

    fn dial(&mut self) -> Option<(Endpoint, u8)> {
        Some((self.to.take()?, b'd'))
    }

    fn connected(&mut self, conn: &mut u8, out: &mut Vec<u8>) {
        self.events.push(format!("{} stands", char::from(*conn)));
        out.extend_from_slice(b"hello");
    }

    fn not_connected(&mut self, _: &mut u8, error: &io::Error) {
        self.events.push(format!("failed: {:?}", error.kind()));
    }

    fn serve(&mut self, conn: &mut u8, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let text = String::from_utf8_lossy(bytes);
        self.events.push(format!("{} hears {text}", char::from(*conn)));
        if *conn == b'a' {
            out.extend_from_slice(b"welcome");
        }
        Served { consumed: bytes.len(), echo: 0, close: *conn == b'd' }
    }

    fn close(&mut self, conn: u8, _: Ended) {
        self.events.push(format!("{} ends", char::from(conn)));
    }
}

#[test]
fn a_connection_that_the_service_makes_is_served_as_any_other() {
    let stand = Stand::new();
    // to itself: both ends are seen
    let mut service = Dialler { to: Some(stand.endpoint.clone()), events: Vec::new() };
    stand.serve(&plan(), &mut service, |_| None);
    let (first, rest) = service.events.split_at(3);
    assert_eq!(first, ["d stands", "a hears hello", "d hears welcome"]);
    assert_eq!(rest.len(), 2, "{rest:?}");
}

#[test]
fn a_connection_that_cannot_be_made_is_told_and_closed() {
    let stand = Stand::new();
    let to = Some(Endpoint::Unix("/nonexistent/socket".into()));
    let mut service = Dialler { to, events: Vec::new() };
    stand.serve(&plan(), &mut service, |_| None);
    assert_eq!(service.events, ["failed: NotFound", "d ends"]);
}
