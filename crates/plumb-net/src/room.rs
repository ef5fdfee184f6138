//! How many streams a server carries at once, and how much it sends over UDP: over all its sockets
//! together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use plumb_measure::{BitRate, counted};

/// A client that asks for nothing for so long wants no stream any more: nothing is sent to an address
/// whose owner has gone.
pub(crate) const SILENCE_MAX_NS: u64 = 3_000_000_000;

/// What a server allows its streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// Streams at once.
    pub streams: usize,
    /// What it sends over UDP to all clients together; `None`: no limit.
    pub rate: Option<BitRate>,
}

/// What the streams of a server have taken of its limits. All its sockets share one.
#[derive(Debug)]
pub struct StreamRoom {
    limits: StreamLimits,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    /// Streams over connections.
    connections: usize,
    /// Streams of datagrams, as long as somebody keeps them.
    datagrams: Vec<Weak<Pulse>>,
}

/// Whether a stream of datagrams goes on.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// When somebody asked for it, or something came.
    heard_ns: AtomicU64,
    over: AtomicBool,
    /// What the server sends of it.
    bits_per_s: u64,
}

impl StreamRoom {
    /// Nothing is taken yet.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        Self { limits, taken: Mutex::default() }
    }

    /// Streams that it has room for.
    pub(crate) fn streams(&self) -> usize {
        self.limits.streams
    }

    /// Takes the room of a stream over a connection; [`leave`](Self::leave) gives it back.
    ///
    /// # Errors
    /// Why there is none, in words for the client.
    pub(crate) fn admit_connection(&self, now_ns: u64) -> Result<(), String> {
        let mut taken = self.taken();
        self.check(&taken.datagrams_alive(now_ns), taken.connections, 0)?;
        taken.connections += 1;
        Ok(())
    }

    /// A stream over a connection is over.
    pub(crate) fn leave(&self) {
        self.taken().connections -= 1;
    }

    /// Takes the room of a stream of datagrams, of which the server sends so much, for as long as it
    /// lives.
    ///
    /// # Errors
    /// Why there is none, in words for the client.
    pub(crate) fn admit(&self, bits_per_s: u64, now_ns: u64) -> Result<Arc<Pulse>, String> {
        let mut taken = self.taken();
        self.check(&taken.datagrams_alive(now_ns), taken.connections, bits_per_s)?;
        let (heard_ns, over) = (AtomicU64::new(now_ns), AtomicBool::new(false));
        let pulse = Arc::new(Pulse { heard_ns, over, bits_per_s });
        taken.datagrams.push(Arc::downgrade(&pulse));
        Ok(pulse)
    }

    fn check(
        &self,
        datagrams: &[Arc<Pulse>],
        connections: usize,
        bits_per_s: u64,
    ) -> Result<(), String> {
        if datagrams.len() + connections >= self.limits.streams {
            let most = counted(self.limits.streams as u64, "stream");
            return Err(format!("this server carries no more than {most} at once (--max-streams)"));
        }
        let all = datagrams.iter().map(|pulse| pulse.bits_per_s);
        let all = all.fold(bits_per_s, u64::saturating_add);
        match self.limits.rate {
            Some(most) if bits_per_s > 0 && all > most.per_s() => {
                Err(format!("this server sends no more than {most}/s to all (--max-rate)"))
            }
            _ => Ok(()),
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // counts stay counts, whatever became of the thread that added to them
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// The streams of datagrams that go on at `now_ns`; those that nobody keeps are forgotten.
    fn datagrams_alive(&mut self, now_ns: u64) -> Vec<Arc<Pulse>> {
        self.datagrams.retain(|pulse| pulse.strong_count() > 0);
        let kept = self.datagrams.iter().filter_map(Weak::upgrade);
        kept.filter(|pulse| pulse.lives(now_ns)).collect()
    }
}

impl Pulse {
    /// It goes on, as far as is known.
    pub(crate) fn lives(&self, now_ns: u64) -> bool {
        !self.over() && self.silent_ns(now_ns) < SILENCE_MAX_NS
    }

    /// How long nobody has asked for it, and nothing has come.
    pub(crate) fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed))
    }

    /// Somebody asked for it, or something came.
    pub(crate) fn hear(&self, now_ns: u64) {
        self.heard_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Nothing more comes, or is sent.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Nothing more comes, or is sent from now on.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_bits_are_those_of_all_sockets_together() {
        let rate = Some("10Mbit".parse().unwrap());
        let room = StreamRoom::new(StreamLimits { streams: 3, rate });
        let first = room.admit(6_000_000, 0).unwrap();
        let refused = room.admit(6_000_000, 0).unwrap_err();
        assert!(refused.contains("--max-rate"), "{refused}");
        let second = room.admit(4_000_000, 0).unwrap();
        room.admit_connection(0).unwrap();
        let refused = room.admit_connection(0).unwrap_err();
        assert!(refused.contains("no more than 3 streams at once"), "{refused}");
        assert!(room.admit(0, 0).is_err());
        room.leave();
        let received = room.admit(0, 0).unwrap();
        first.end();
        room.admit_connection(0).unwrap();
        drop(second);
        let another = room.admit(10_000_000, 0).unwrap();
        assert!(room.admit(0, 0).is_err());
        // all but the connection have been silent
        assert!(!received.lives(SILENCE_MAX_NS) && !another.lives(SILENCE_MAX_NS));
        received.hear(SILENCE_MAX_NS);
        assert!(room.admit(10_000_000, SILENCE_MAX_NS).is_ok());
    }
}
