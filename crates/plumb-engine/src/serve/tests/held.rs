//! Replies that the service keeps back behind settling, what it says unasked, whom it drops, and
//! connections that it makes itself.

use std::io::{self, Write as _};

use plumb_socket::Peer;

use super::{Stand, plan, said};
use crate::Endpoint;
use crate::service::{ConnectionId, Ended, Served, Service};

/// A client's replies are kept back until another says `g`; `d` drops the one that waits.
#[derive(Default)]
struct Keeper {
    go: bool,
    first: Option<ConnectionId>,
    push: bool,
    drop: bool,
    served: Vec<u8>,
    ended: Vec<Ended>,
}

impl Service for Keeper {
    type Conn = bool;
    const SETTLES: bool = true;
    const WAITS: bool = true;

    fn open(&mut self, _: &Peer) -> Result<bool, Vec<u8>> {
        Ok(false)
    }

    fn accepted(&mut self, _: &mut bool, id: ConnectionId) {
        self.first.get_or_insert(id);
    }

    /// The conn is true once it has said something that is kept back.
    fn serve(&mut self, conn: &mut bool, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.served.push(bytes[0]);
        match bytes[0] {
            b'g' => self.go = true,
            b'p' => self.push = true,
            b'd' => self.drop = true,
            byte => {
                *conn = true;
                out.push(byte);
            }
        }
        Served { consumed: 1, echo: 0, close: false }
    }

    fn yields(&self, conn: &bool) -> bool {
        *conn // one a turn
    }

    fn may_tell(&self, conn: &bool) -> bool {
        !*conn || self.go
    }

    fn push(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        std::mem::take(&mut self.push).then(|| out.push(b'!'))?;
        self.first
    }

    fn drop_next(&mut self) -> Option<ConnectionId> {
        if std::mem::take(&mut self.drop) { self.first } else { None }
    }

    fn close(&mut self, _: bool, ended: Ended) {
        self.ended.push(ended);
    }
}

/// What the first client was told until the server stopped, when another says `then` later.
fn told(then: &'static [u8]) -> (String, Keeper) {
    let stand = Stand::new();
    let (mut client, mut other) = (stand.connect(), stand.connect());
    client.write_all(b"12").unwrap();
    let mut service = Keeper::default();
    let (tell, told) = std::sync::mpsc::channel();
    let mut looks = 0;
    stand.serve(&plan(), &mut service, move |_| {
        looks += 1;
        let at = usize::checked_sub(looks, 3);
        if let Some(byte) = at.and_then(|at| then.get(at..=at)) {
            tell.send("-".to_owned()).unwrap();
            other.write_all(byte).unwrap();
        }
        tell.send(said(&mut client)).unwrap();
        None
    });
    (told.iter().collect(), service)
}

#[test]
fn a_client_is_told_when_it_may_be_and_is_served_no_further_before() {
    let (told, service) = told(b"g");
    assert_eq!(told, "-12");
    assert_eq!(service.served, b"1g2", "the second waited for the first");
    assert_eq!(service.ended, [Ended::Stopped, Ended::Stopped], "silence was not its own");
}

#[test]
fn what_is_pushed_does_not_wait_and_takes_along_what_does() {
    let (told, _) = told(b"p");
    assert_eq!(told, "-1!");
}

#[test]
fn whoever_is_dropped_is_told_nothing() {
    let (told, service) = told(b"d");
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
