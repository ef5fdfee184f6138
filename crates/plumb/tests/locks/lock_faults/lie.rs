//! A link that tells the primary that its replica has batches, and drops them: as if the primary told
//! its clients before the replica has what they asked for.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use plumb_lock_pair::replication::Frame;
use plumb_wire::resp;

use super::player::LIMITS;

/// A connection of a replica to its primary.
pub(super) struct Lie {
    replica: TcpStream,
    primary: TcpStream,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The replica was told that it has everything: from now on it gets nothing more.
    begun: bool,
    /// Bytes of slices that it got.
    sliced: u64,
    /// Bytes of the batch whose parts are coming.
    batch: u64,
}

/// Which of the two has said something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Replica,
    Primary,
}

impl Lie {
    pub(super) fn new(replica: TcpStream, primary: TcpStream) -> Arc<Self> {
        Arc::new(Self { replica, primary, state: Mutex::default() })
    }

    /// Passes on what one side says, until it or the other one is gone; `wait` is called before.
    pub(super) fn carry(&self, side: Side, wait: impl Fn()) {
        let mut source = match side {
            Side::Replica => &self.replica,
            Side::Primary => &self.primary,
        };
        let (mut kept, mut room) = (Vec::new(), [0; 16 << 10]);
        loop {
            let count = source.read(&mut room).unwrap_or(0);
            kept.extend_from_slice(&room[..count]);
            wait();
            if count == 0 || self.pass(side, &mut kept).is_err() {
                let _ =
                    (self.replica.shutdown(Shutdown::Both), self.primary.shutdown(Shutdown::Both));
                return;
            }
        }
    }

    fn pass(&self, side: Side, kept: &mut Vec<u8>) -> std::io::Result<()> {
        // whole frames by one at a time: both directions write to the primary
        let mut state = self.state.lock().expect("nobody panics with it");
        let mut at = 0;
        while let Some(length) = begins_with_words(side, &kept[at..]) {
            self.write(side, &kept[at..at + length])?;
            at += length;
        }
        while kept.get(at).is_some_and(u8::is_ascii_uppercase)
            && let Some((frame, length)) = Frame::read(&kept[at..]).expect("frames are whole")
        {
            self.pass_frame(side, &mut state, (frame, &kept[at..at + length]))?;
            at += length;
        }
        kept.drain(..at);
        Ok(())
    }

    fn pass_frame(
        &self,
        side: Side,
        state: &mut State,
        (frame, bytes): (Frame<'_>, &[u8]),
    ) -> std::io::Result<()> {
        match frame {
            Frame::Changes { from, last, records } if state.begun => {
                state.batch += records.len() as u64;
                if last {
                    let position = from + std::mem::take(&mut state.batch);
                    let mut said = Vec::new();
                    Frame::Received { position, sliced: state.sliced }.push(&mut said);
                    (&self.primary).write_all(&said)?;
                }
                return Ok(());
            }
            Frame::Received { .. } if state.begun => return Ok(()), // of what it had before
            Frame::Slice(records) => state.sliced += records.len() as u64,
            Frame::InSync => state.begun = true,
            _ => {}
        }
        self.write(side, bytes)
    }

    fn write(&self, side: Side, bytes: &[u8]) -> std::io::Result<()> {
        match side {
            Side::Replica => (&self.primary).write_all(bytes),
            Side::Primary => (&self.replica).write_all(bytes),
        }
    }
}

/// The length of the command, or of the reply, that comes before all frames.
fn begins_with_words(side: Side, bytes: &[u8]) -> Option<usize> {
    if bytes.first().is_none_or(u8::is_ascii_uppercase) {
        return None;
    }
    match side {
        Side::Replica => {
            let limits = resp::Limits { words: 20, word_bytes: 4_096, command_bytes: 64 << 10 };
            resp::command(bytes, &limits, &mut resp::Words::default()).expect("it is RESP")
        }
        Side::Primary => {
            let found = resp::reply(bytes, &LIMITS).expect("it is RESP");
            found.map(|(_, length)| length)
        }
    }
}
