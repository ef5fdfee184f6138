//! What is unfinished shares one memory.

use std::io::Write as _;

use plumb_socket::Peer;

use super::{Notes, Stand, plan, said};
use crate::serve::ServePlan;
use crate::service::{Ended, Served, Service};
use crate::testing::MS;

/// Bytes of half a message.
const HALF: usize = 40 << 10;

/// Notes, and what was left unfinished.
#[derive(Default)]
struct Halves {
    notes: Notes,
    unread: Vec<usize>,
}

impl Service for Halves {
    type Conn = usize;

    fn open(&mut self, peer: &Peer) -> Result<usize, Vec<u8>> {
        self.notes.open(peer)
    }

    fn serve(&mut self, conn: &mut usize, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        self.notes.serve(conn, bytes, out)
    }

    fn cut_off(&mut self, _: &mut usize, unread: &[u8]) {
        self.unread.push(unread.len());
    }

    fn crowded_out(&mut self, conn: &mut usize) -> Vec<u8> {
        format!("no room for {conn}").into_bytes()
    }

    fn close(&mut self, conn: usize, ended: Ended) {
        self.notes.close(conn, ended);
    }
}

/// What clients are told of whom each sends half a message, one after the other, and the last then
/// the rest of it.
fn told(memory: Option<usize>, clients: usize) -> (Halves, Vec<String>) {
    let stand = Stand::new();
    let mut clients: Vec<_> = (0..clients).map(|_| stand.connect()).collect();
    let mut service = Halves::default();
    let (tell, told) = std::sync::mpsc::channel();
    let (mut step, last) = (0, clients.len());
    let plan = ServePlan { memory, ..plan() };
    stand.serve(&plan, &mut service, move |now| {
        match clients.get_mut(step) {
            Some(client) => client.write_all(&[b'a'; HALF]).unwrap(),
            None if step == last => {
                clients.last_mut().unwrap().write_all(b"\n").unwrap();
            }
            None => {}
        }
        step += 1;
        tell.send(clients.iter_mut().map(said).collect::<Vec<_>>()).unwrap();
        (step < 10).then_some(now + MS)
    });
    let mut all: Vec<String> = Vec::new();
    for step in told.iter() {
        all.resize(step.len(), String::new());
        all.iter_mut().zip(step).for_each(|(all, said)| *all += &said);
    }
    (service, all)
}

#[test]
fn whoever_was_silent_longest_makes_room() {
    // each takes the buffer that a read fills, of 64 KiB at least
    let (service, told) = told(Some(160 << 10), 3);
    assert_eq!(told[0], "no room for 1");
    assert_eq!(told[1], "");
    assert!(told[2].starts_with("aaa") && told[2].len() >= 4096, "{}", told[2].len());
    assert!(service.notes.ended.contains(&Ended::CrowdedOut), "{:?}", service.notes.ended);
    let crowded = service.notes.ended.iter().filter(|ended| **ended == Ended::CrowdedOut);
    assert_eq!(crowded.count(), 1);
    assert_eq!(service.unread.first(), Some(&HALF));
}

#[test]
fn without_a_limit_all_have_room() {
    let (service, told) = told(None, 3);
    assert_eq!((&*told[0], &*told[1]), ("", ""));
    assert!(!service.notes.ended.contains(&Ended::CrowdedOut));
}
