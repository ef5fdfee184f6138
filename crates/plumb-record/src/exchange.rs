//! What was seen of one request and its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode, Version};
use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::{Clock as _, Span};

use super::kept::Kept;

/// One request and its answer, as they passed.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// When the head of the request was complete, by the wall clock, nanoseconds.
    pub(crate) started_wall_ns: u64,
    pub(crate) asked: Asked,
    /// The body of the request, which may still be under way.
    pub(crate) sent: Sent,
    /// Our port of the connection to the server; `None` when there was none.
    pub(crate) port: Option<u16>,
    pub(crate) moments: Moments,
    /// The head of the answer; `None` when none came.
    pub(crate) answered: Option<Answered>,
    pub(crate) received: Kept,
    /// What went wrong, in words.
    pub(crate) problem: Option<String>,
}

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Absolute.
    pub(crate) url: String,
    pub(crate) version: Version,
    /// As the server sees them.
    pub(crate) headers: HeaderMap,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    /// The words behind the status, as the server wrote them.
    pub(crate) reason: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
}

/// How long it took to a new connection, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectTimes {
    /// Finding the address; `None` when the host was a number.
    pub(crate) dns_ns: Option<u64>,
    pub(crate) connect_ns: u64,
    /// The handshake; `None` without TLS.
    pub(crate) tls_ns: Option<u64>,
}

/// Moments on the monotonic clock, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// The head of the request was complete.
    pub(crate) started: u64,
    /// The way to the server; `None` on a connection that stood already, or when it failed.
    pub(crate) way: Option<ConnectTimes>,
    /// A connection was at hand.
    pub(crate) connected: Option<u64>,
    /// The head of the answer was complete.
    pub(crate) answered: Option<u64>,
    /// Everything was over.
    pub(crate) ended: u64,
}

/// The body of a request on its way; shared by whoever passes it on and whoever writes it down.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    shared: Arc<Mutex<SentBody>>,
}

/// A request's body, and when its last byte had passed.
#[derive(Debug)]
pub(crate) struct SentBody {
    pub(crate) kept: Kept,
    pub(crate) ended: Option<u64>,
}

impl Sent {
    /// Nothing was sent yet.
    pub(crate) fn new(kept: Kept) -> Self {
        Self { shared: Arc::new(Mutex::new(SentBody { kept, ended: None })) }
    }

    /// Looks at the body, or goes on with it.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut SentBody) -> T) -> T {
        look(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How long the server of a request may take until its answer begins.
///
/// A long body may take its time as long as it moves; behind its end the server has the whole time, and
/// has it once.
#[derive(Debug)]
pub(crate) struct AnswerTime {
    patience_ns: u64,
    began_ns: u64,
    /// Bytes of the body that had passed at the last look.
    passed: u64,
}

impl AnswerTime {
    /// Of a request that begins to go out now.
    pub(crate) fn new(patience: Span) -> Self {
        Self { patience_ns: patience.ns(), began_ns: MonotonicClock.now_ns(), passed: 0 }
    }

    /// What is left of it at `now_ns`, when it is looked at that was to be the end of it; `None`: it is
    /// over.
    pub(crate) fn left(&mut self, sent: &SentBody, now_ns: u64) -> Option<Duration> {
        let passed = std::mem::replace(&mut self.passed, sent.kept.length());
        let silent_ns = match sent.ended {
            // the body of a request that is sent once more ended before this one began
            Some(ended_ns) => now_ns.saturating_sub(ended_ns.max(self.began_ns)),
            None if self.passed == passed => self.patience_ns,
            None => 0,
        };
        let left_ns = self.patience_ns.saturating_sub(silent_ns);
        (left_ns > 0).then(|| Duration::from_nanos(left_ns))
    }
}

impl Exchange {
    /// A request whose head is complete now.
    pub(crate) fn begin(asked: Asked, sent: Sent, received: Kept) -> Self {
        let now = MonotonicClock.now_ns();
        Self {
            started_wall_ns: wall_ns(),
            asked,
            sent,
            port: None,
            moments: Moments {
                started: now,
                way: None,
                connected: None,
                answered: None,
                ended: now,
            },
            answered: None,
            received,
            problem: None,
        }
    }

    /// It goes out of our `port` now, as `request`, at the end of `way` where the connection is new.
    pub(crate) fn leaves<B>(&mut self, port: u16, way: Option<ConnectTimes>, request: &Request<B>) {
        self.asked.version = request.version();
        self.asked.headers.clone_from(request.headers());
        self.port = Some(port);
        self.moments.way = way;
        self.moments.connected = Some(MonotonicClock.now_ns());
    }

    /// `method url`, without what the URL asks for.
    pub(crate) fn name(&self) -> String {
        let url = self.asked.url.split(['?', '#']).next().unwrap_or_default();
        format!("{} {url}", self.asked.method)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kept::Room;
    use super::*;

    /// What is left, milliseconds, at the end of the time of a request, of whose body so many bytes passed,
    /// the last at that time, if at all.
    fn left(time: &mut AnswerTime, (bytes, ended_ms): (usize, Option<u64>)) -> Option<u128> {
        let mut kept = Kept::new(&Room::default(), 10);
        kept.push(&vec![0; bytes]);
        let at = |ms: u64| time.began_ns + ms * 1_000_000;
        let (sent, now_ns) = (SentBody { kept, ended: ended_ms.map(at) }, at(1_000));
        time.left(&sent, now_ns).map(|left| left.as_millis())
    }

    #[test]
    fn a_server_has_its_time_once_behind_the_body() {
        let time = || AnswerTime::new(Span::from_ms(1_000));
        assert_eq!(left(&mut time(), (1, Some(0))), None);
        assert_eq!(left(&mut time(), (500, Some(400))), Some(400));
    }

    #[test]
    fn a_body_may_take_its_time_while_it_moves() {
        let mut time = AnswerTime::new(Span::from_ms(1_000));
        assert_eq!(left(&mut time, (1, None)), Some(1_000));
        assert_eq!(left(&mut time, (2, None)), Some(1_000));
        assert_eq!(left(&mut time, (2, None)), None);
    }
}
