//! A server that sends everything back, and a client that wants it.
#![allow(dead_code, reason = "each test file takes what it needs")]

use plumb_engine::{Ended, Next, Op, Peer, Protocol, Served, Service, Step, Then};
use plumb_measure::Answer;

/// Sends so many bytes, and demands as many back; no greeting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bulk(pub(crate) usize);

impl Protocol for Bulk {
    type User = ();
    type Wire = usize;

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), _: &mut usize, out: &mut Vec<u8>) -> Next {
        out.resize(out.len() + self.0, b'x');
        Next::Send(Op { label: 0, tag: 0 })
    }

    fn decode(
        &mut self,
        (): &mut (),
        seen: &mut usize,
        _: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let consumed = bytes.len().min(self.0 - *seen);
        *seen += consumed;
        if *seen < self.0 {
            return Step::Need { consumed };
        }
        *seen = 0;
        Step::Done { consumed, answer: Answer::ok(self.0 as u64), then: Then::Keep }
    }
}

/// Sends everything back, and notes why handshakes failed.
#[derive(Default)]
pub(crate) struct Mirror {
    pub(crate) complaints: Vec<String>,
    pub(crate) ended: Vec<Ended>,
}

impl Service for Mirror {
    type Conn = ();

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], _: &mut Vec<u8>) -> Served {
        Served { consumed: bytes.len(), echo: bytes.len(), close: false }
    }

    fn unsecured(&mut self, (): &mut (), error: &std::io::Error) {
        self.complaints.push(error.to_string());
    }

    fn close(&mut self, (): (), ended: Ended) {
        self.ended.push(ended);
    }
}
