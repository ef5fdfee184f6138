//! Replies that wait until what was served lasts.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use plumb_socket::{HeldTime, Peer};

use super::{Stand, plan, said, serve};
use crate::service::{Ended, Served, Service};

/// Notes the order of serving and settling.
#[derive(Default)]
struct Settler {
    events: Vec<&'static str>,
}

impl Service for Settler {
    type Conn = ();
    const SETTLES: bool = true;

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.events.push("serve");
        out.extend_from_slice(b"kept\n");
        Served { consumed: bytes.len(), echo: 0, close: false }
    }

    fn settle(&mut self) -> std::io::Result<()> {
        self.events.push("settle");
        Ok(())
    }

    fn close(&mut self, (): (), _: Ended) {}
}

#[test]
fn replies_wait_until_the_service_has_settled_once_for_all() {
    let stand = Stand::new();
    let mut clients: Vec<UnixStream> = (0..3).map(|_| stand.connect()).collect();
    clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
    let mut service = Settler::default();
    let (tell, told) = std::sync::mpsc::channel();
    stand.serve(&plan(), &mut service, move |_| {
        clients.iter_mut().for_each(|client| tell.send(said(client)).unwrap());
        None
    });
    assert_eq!(service.events, ["serve", "serve", "serve", "settle"]);
    assert_eq!(told.iter().filter(|text| text == "kept\n").count(), 3);
}

/// Fails to settle.
struct Unsettled(Settler);

impl Service for Unsettled {
    type Conn = ();
    const SETTLES: bool = true;

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, conn: &mut (), bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.0.serve(conn, bytes, out)
    }

    fn settle(&mut self) -> std::io::Result<()> {
        Err(std::io::Error::other("disk full"))
    }

    fn close(&mut self, (): (), _: Ended) {}
}

#[test]
fn what_cannot_be_made_to_last_is_not_acknowledged() {
    let stand = Stand::new();
    let mut client = stand.connect();
    client.write_all(b"x").unwrap();
    let (plan, mut service) = (plan(), Unsettled(Settler::default()));
    let time = HeldTime::with(|_| None);
    let error = serve(&plan, &stand.listener, &mut service, time).unwrap_err().to_string();
    assert!(error.contains("disk full"), "{error}");
    assert_eq!(said(&mut client), "");
}
