//! The streams of a server of datagrams: those it receives and those it sends.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use plumb_engine::{DatagramSocket, Stop};
use plumb_wire::datagram::{Account, Ask, Begin, Head, Sending};

use super::arrivals::Arrivals;
use super::sender::{SendGauge, send_paced};
use crate::room::{Pulse, SILENCE_MAX_NS, StreamRoom};

/// The account of a stream is kept for so long after it was asked for last.
const KEPT_NS: u64 = 30_000_000_000;
/// Streams that are kept, those that are over included, for each that may go on.
const KEPT_FOR_EACH: usize = 4;

/// The streams of one socket.
pub(super) struct Sessions {
    socket: Option<Arc<DatagramSocket>>,
    room: Arc<StreamRoom>,
    by_key: HashMap<u64, Session>,
}

struct Session {
    owner: SocketAddr,
    pulse: Arc<Pulse>,
    course: Course,
}

enum Course {
    Receives { arrivals: Box<Arrivals>, ended: Option<u64> },
    Sends(Sender),
}

/// A thread that sends a stream; it ends with this.
struct Sender {
    gauge: Arc<SendGauge>,
    stop: Arc<Stop>,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

impl Sessions {
    /// None yet; what is sent goes over `socket`. Without one nothing is.
    pub(super) fn new(room: Arc<StreamRoom>, socket: Option<Arc<DatagramSocket>>) -> Self {
        Self { socket, room, by_key: HashMap::new() }
    }

    /// Begins the stream that the client at `owner`, which has `token`, asks for, unless it has begun.
    ///
    /// # Errors
    /// Why not, in words for the client.
    pub(super) fn begin(
        &mut self,
        owner: SocketAddr,
        token: u64,
        begin: Begin,
        now_ns: u64,
    ) -> Result<(), String> {
        if let Some(session) = self.by_key.get(&begin.key) {
            let own = session.owner == owner;
            return if own { Ok(()) } else { Err("this key is that of another stream".into()) };
        }
        let sends = begin.from_server;
        let pulse = self.room.admit(sends.map_or(0, bits_per_s), now_ns)?;
        let course = match sends {
            None => Course::Receives { arrivals: Box::default(), ended: None },
            Some(sending) => self.send(owner, token, sending, &pulse)?,
        };
        self.by_key.insert(begin.key, Session { owner, pulse, course });
        self.forget(now_ns);
        Ok(())
    }

    /// Lets go of accounts that nobody has asked for in a long time and, where there are too many, of
    /// those that were asked for the longest ago, first of streams that are over.
    fn forget(&mut self, now_ns: u64) {
        self.by_key.retain(|_, Session { pulse, .. }| {
            pulse.lives(now_ns) || pulse.silent_ns(now_ns) < KEPT_NS
        });
        while self.by_key.len() > self.room.streams().saturating_mul(KEPT_FOR_EACH) {
            let idle = self.by_key.iter().filter(|(_, session)| !session.pulse.lives(now_ns));
            let oldest = idle
                .max_by_key(|(_, Session { pulse, .. })| (pulse.over(), pulse.silent_ns(now_ns)));
            let Some(key) = oldest.map(|(key, _)| *key) else { return };
            self.by_key.remove(&key);
        }
    }

    /// Starts to send on a thread of its own.
    fn send(
        &self,
        to: SocketAddr,
        token: u64,
        sending: Sending,
        pulse: &Arc<Pulse>,
    ) -> Result<Course, String> {
        let cannot = |error: io::Error| format!("this server cannot send now: {error}");
        let socket = self.socket.clone().ok_or("this server sends no streams")?;
        let stop = Arc::new(Stop::new().map_err(cannot)?);
        let gauge = Arc::new(SendGauge::default());
        let (theirs, stops, pulse) = (Arc::clone(&gauge), Arc::clone(&stop), Arc::clone(pulse));
        let send = move || {
            let wanted = |now_ns: u64| pulse.silent_ns(now_ns) < SILENCE_MAX_NS;
            let hand_over = |datagram: &[u8]| socket.send_to(datagram, to);
            // what ended it early is seen by whoever counts
            let _ = send_paced(sending, token, &theirs, (&stops, wanted), hand_over);
            pulse.end();
        };
        thread::Builder::new().spawn(send).map_err(cannot)?;
        Ok(Course::Sends(Sender { gauge, stop }))
    }

    /// A datagram of `bytes` of the stream under `key` came.
    pub(super) fn note(&mut self, key: u64, head: Head, bytes: u64, now_ns: u64) {
        let Some(session) = self.by_key.get_mut(&key) else { return };
        session.pulse.hear(now_ns);
        if let Course::Receives { arrivals, .. } = &mut session.course {
            arrivals.note(head.number, head.stamp, bytes, now_ns);
        }
    }

    /// What has become of a stream; `None` of one that is not known.
    pub(super) fn account(&mut self, ask: Ask, now_ns: u64) -> Option<Account> {
        let session = self.by_key.get_mut(&ask.key)?;
        session.pulse.hear(now_ns);
        let account = match &mut session.course {
            Course::Receives { arrivals, ended } => {
                *ended = ask.ended.or(*ended);
                if ended.is_some() {
                    session.pulse.end();
                }
                let overflowed = self.socket.as_ref().and_then(|socket| socket.overflowed());
                Account {
                    over: ended.is_some(),
                    overflowed: overflowed.unwrap_or(0),
                    ..arrivals.account(*ended)
                }
            }
            Course::Sends(Sender { gauge, stop }) => {
                if ask.ended.is_some() {
                    stop.ask();
                }
                // first whether it is over: a count that was read before might grow
                let over = gauge.over();
                let (sent, cpu_ns) = (gauge.sent(), gauge.cpu_ns());
                Account { over, sent, cpu_ns, lost: gauge.unsent(), ..Account::default() }
            }
        };
        Some(Account { now_ns, ..account })
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("kept", &self.by_key.len()).finish_non_exhaustive()
    }
}

fn bits_per_s(sending: Sending) -> u64 {
    let bits = u64::from(sending.bytes).saturating_mul(8_000_000_000);
    bits.checked_div(sending.every_ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use plumb_engine::clock::MonotonicClock;
    use plumb_measure::Clock as _;

    use super::*;
    use crate::room::StreamLimits;

    fn sessions(streams: usize, socket: Option<Arc<DatagramSocket>>) -> Sessions {
        Sessions::new(Arc::new(StreamRoom::new(StreamLimits { streams, rate: None })), socket)
    }

    fn client() -> SocketAddr {
        "127.0.0.1:9".parse().unwrap()
    }

    #[test]
    fn a_stream_whose_client_has_gone_is_given_up_and_sent_no_more() {
        let socket = Arc::new(DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap());
        let mut sessions = sessions(1, Some(socket));
        let now_ns = MonotonicClock.now_ns();
        let begin = |key| {
            let sending = Sending { bytes: 28, every_ns: 1 << 62, length_ns: u64::MAX };
            Begin { key, from_server: Some(sending) }
        };
        sessions.begin(client(), 7, begin(1), now_ns).unwrap();
        let Course::Sends(sender) = &sessions.by_key[&1].course else { panic!("it sends") };
        let stop = Arc::clone(&sender.stop);
        assert!(sessions.begin(client(), 7, begin(2), now_ns).is_err(), "one at once");
        assert!(!stop.asked());
        sessions.begin(client(), 7, begin(2), now_ns + KEPT_NS).unwrap();
        assert!(stop.asked());
    }

    #[test]
    fn accounts_of_streams_that_are_over_take_nobody_s_place() {
        let mut sessions = sessions(2, None);
        let ended = |key| Ask { key, ended: Some(0) };
        for key in 0..100 {
            let begin = Begin { key, from_server: None };
            sessions.begin(client(), 7, begin, key).unwrap();
            assert!(sessions.account(ended(key), key).is_some());
        }
        let mut kept: Vec<u64> = sessions.by_key.keys().copied().collect();
        kept.sort_unstable();
        assert_eq!(kept, (92..100).collect::<Vec<_>>(), "those that were asked for last");
    }

    #[test]
    fn a_stream_that_waits_to_be_sent_is_kept_longer_than_those_that_are_over() {
        let mut sessions = sessions(2, None);
        let begin = |key| Begin { key, from_server: None };
        sessions.begin(client(), 7, begin(1_000), 0).unwrap();
        for key in 0..100 {
            sessions.begin(client(), 7, begin(key), SILENCE_MAX_NS).unwrap();
            sessions.account(Ask { key, ended: Some(0) }, SILENCE_MAX_NS);
        }
        assert_eq!(sessions.by_key.len(), 2 * KEPT_FOR_EACH);
        assert!(sessions.account(Ask { key: 1_000, ended: None }, SILENCE_MAX_NS).is_some());
    }
}
