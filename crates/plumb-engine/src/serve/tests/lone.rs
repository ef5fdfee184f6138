//! One client alone, whose receive blocks.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;

/// So many messages make a client the only one that is heard.
const MESSAGES: usize = 100;

/// What the loop does, in its order.
type Events = Rc<RefCell<Vec<String>>>;

/// A plain link that notes when it is read.
struct Noted(Plain, Events);

impl Link for Noted {
    const BLOCKS: bool = Plain::BLOCKS;

    fn recv(&mut self, socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> std::io::Result<Received> {
        self.1.borrow_mut().push("read".into());
        self.0.recv(socket, into)
    }

    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send(socket, bytes)
    }
}

/// Serves a byte a turn. The client asks again as soon as it is served, and at last twice at once.
struct Turns {
    client: UnixStream,
    served: usize,
    events: Events,
}

impl Service for Turns {
    type Conn = ();
    const SETTLES: bool = true;

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.served += 1;
        if self.served <= MESSAGES {
            let next: &[u8] = if self.served < MESSAGES { b"x" } else { b"ab" };
            self.client.write_all(next).unwrap();
        }
        self.events.borrow_mut().push(format!("serve {}", char::from(bytes[0])));
        out.push(bytes[0]);
        Served { consumed: 1, echo: 0, close: false }
    }

    fn yields(&self, (): &()) -> bool {
        true
    }

    fn settle(&mut self) -> std::io::Result<()> {
        self.events.borrow_mut().push("settle".into());
        Ok(())
    }

    fn close(&mut self, (): (), _: Ended) {}
}

#[test]
fn the_second_half_of_its_replies_leaves_before_more_is_waited_for() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"x").unwrap();
    let events = Events::default();
    let mut service = Turns { client, served: 0, events: events.clone() };
    let (plan, stop) = (plan(), Stop::new().unwrap());
    let link = || Noted(Plain::default(), events.clone());
    let dialled = |_: &_| link();
    let listeners = std::slice::from_ref(&stand.listener);
    let time = HeldTime::with(|_| None);
    Serve::new(&plan, listeners, &mut service, (&link, &dialled), time, &stop)
        .unwrap()
        .run()
        .unwrap();
    let events = events.borrow();
    let at = events.iter().position(|event| event == "serve a").unwrap();
    assert_eq!(events[at..at + 5], ["serve a", "settle", "serve b", "settle", "read"]);
}
