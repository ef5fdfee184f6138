//! The streams of a server of datagrams: those it receives and those it sends.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use plumb_engine::{DatagramSocket, Stop};
use plumb_measure::{BitRate, counted};
use plumb_wire::datagram::{Account, Ask, Begin, Head, Sending};

use super::arrivals::Arrivals;
use super::sender::{SendGauge, send_paced};

/// A client that asks for nothing for so long wants no stream any more: nothing is sent to an address
/// whose owner has gone.
const SILENCE_MAX_NS: u64 = 3_000_000_000;
/// The account of a stream is kept for so long after it was asked for last.
const KEPT_NS: u64 = 30_000_000_000;
/// Streams that are kept, those that are over included, for each that may go on.
const KEPT_FOR_EACH: usize = 4;

/// The streams of one socket.
pub(super) struct Sessions {
    socket: Option<Arc<DatagramSocket>>,
    limits: StreamLimits,
    by_key: HashMap<u64, Session>,
}

/// What a server allows its streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// Streams at once.
    pub streams: usize,
    /// What it sends to all clients together; `None`: no limit.
    pub rate: Option<BitRate>,
}

struct Session {
    owner: SocketAddr,
    /// When somebody asked for it, or something came.
    heard_ns: Arc<AtomicU64>,
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
    bits_per_s: u64,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

impl Session {
    fn lives(&self, now_ns: u64) -> bool {
        let over = match &self.course {
            Course::Receives { ended, .. } => ended.is_some(),
            Course::Sends(sender) => sender.gauge.over(),
        };
        !over && self.silent_ns(now_ns) < SILENCE_MAX_NS
    }

    fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.heard_ns.load(Ordering::Relaxed))
    }
}

impl Sessions {
    /// None yet; what is sent goes over `socket`. Without one nothing is.
    pub(super) fn new(limits: StreamLimits, socket: Option<Arc<DatagramSocket>>) -> Self {
        Self { socket, limits, by_key: HashMap::new() }
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
        self.make_room(now_ns)?;
        let heard_ns = Arc::new(AtomicU64::new(now_ns));
        let course = match begin.from_server {
            None => Course::Receives { arrivals: Box::default(), ended: None },
            Some(sending) => self.send(owner, token, sending, &heard_ns, now_ns)?,
        };
        self.by_key.insert(begin.key, Session { owner, heard_ns, course });
        Ok(())
    }

    fn make_room(&mut self, now_ns: u64) -> Result<(), String> {
        self.by_key
            .retain(|_, session| session.lives(now_ns) || session.silent_ns(now_ns) < KEPT_NS);
        let most = self.limits.streams;
        let live = self.by_key.values().filter(|session| session.lives(now_ns)).count();
        if live >= most || self.by_key.len() >= most.saturating_mul(KEPT_FOR_EACH) {
            return Err(format!(
                "this server carries no more than {} at once (--max-streams)",
                counted(most as u64, "stream")
            ));
        }
        Ok(())
    }

    /// Starts to send on a thread of its own.
    fn send(
        &self,
        to: SocketAddr,
        token: u64,
        sending: Sending,
        heard_ns: &Arc<AtomicU64>,
        now_ns: u64,
    ) -> Result<Course, String> {
        let bits_per_s = bits_per_s(sending);
        let others = self.by_key.values().filter(|session| session.lives(now_ns));
        let sent = others.fold(0_u64, |sum, session| match &session.course {
            Course::Sends(sender) => sum.saturating_add(sender.bits_per_s),
            Course::Receives { .. } => sum,
        });
        if let Some(most) = self.limits.rate
            && sent.saturating_add(bits_per_s) > most.per_s()
        {
            return Err(format!("this server sends no more than {most}/s to all (--max-rate)"));
        }
        let cannot = |error: io::Error| format!("this server cannot send now: {error}");
        let socket = self.socket.clone().ok_or("this server sends no streams")?;
        let stop = Arc::new(Stop::new().map_err(cannot)?);
        let gauge = Arc::new(SendGauge::default());
        let (theirs, stops, heard_ns) =
            (Arc::clone(&gauge), Arc::clone(&stop), Arc::clone(heard_ns));
        let send = move || {
            let wanted = |now_ns: u64| {
                now_ns.saturating_sub(heard_ns.load(Ordering::Relaxed)) < SILENCE_MAX_NS
            };
            let hand_over = |datagram: &[u8]| socket.send_to(datagram, to);
            // what ended it early is seen by whoever counts
            let _ = send_paced(sending, token, &theirs, (&stops, wanted), hand_over);
        };
        thread::Builder::new().spawn(send).map_err(cannot)?;
        Ok(Course::Sends(Sender { gauge, stop, bits_per_s }))
    }

    /// A datagram of `bytes` of the stream under `key` came.
    pub(super) fn note(&mut self, key: u64, head: Head, bytes: u64, now_ns: u64) {
        let Some(session) = self.by_key.get_mut(&key) else { return };
        session.heard_ns.store(now_ns, Ordering::Relaxed);
        if let Course::Receives { arrivals, .. } = &mut session.course {
            arrivals.note(head.number, head.stamp, bytes, now_ns);
        }
    }

    /// What has become of a stream; `None` of one that is not known.
    pub(super) fn account(&mut self, ask: Ask, now_ns: u64) -> Option<Account> {
        let session = self.by_key.get_mut(&ask.key)?;
        session.heard_ns.store(now_ns, Ordering::Relaxed);
        let account = match &mut session.course {
            Course::Receives { arrivals, ended } => {
                *ended = ask.ended.or(*ended);
                let overflowed = self.socket.as_ref().and_then(|socket| socket.overflowed());
                Account {
                    over: ended.is_some(),
                    overflowed: overflowed.unwrap_or(0),
                    ..arrivals.account(*ended)
                }
            }
            Course::Sends(Sender { gauge, stop, .. }) => {
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

    #[test]
    fn a_stream_whose_client_has_gone_is_given_up_and_sent_no_more() {
        let socket = Arc::new(DatagramSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap());
        let client: SocketAddr = "127.0.0.1:9".parse().unwrap();
        let limits = StreamLimits { streams: 1, rate: None };
        let mut sessions = Sessions::new(limits, Some(socket));
        let now_ns = MonotonicClock.now_ns();
        let begin = |key| {
            let sending = Sending { bytes: 28, every_ns: 1 << 62, length_ns: u64::MAX };
            Begin { key, from_server: Some(sending) }
        };
        sessions.begin(client, 7, begin(1), now_ns).unwrap();
        let Course::Sends(sender) = &sessions.by_key[&1].course else { panic!("it sends") };
        let stop = Arc::clone(&sender.stop);
        assert!(sessions.begin(client, 7, begin(2), now_ns).is_err(), "one at once");
        assert!(!stop.asked());
        sessions.begin(client, 7, begin(2), now_ns + KEPT_NS).unwrap();
        assert!(stop.asked());
    }
}
