//! The service: samples for whoever asks.

use std::fmt;
use std::io;

use plumb_engine::{Ended, Peer, Served, Service, TurnedAway};
use plumb_measure::{Clock, show_ns};

use super::wire::{self, HELLO_SCHEMA, Heard, Hello, Request};
use crate::facts::HostFacts;
use crate::monitor::{Monitor, MonitorPlan};
use crate::record::sees;
use crate::sample::{Line, Sample};
use crate::snapshot::Snapshot;
use crate::subject::not_watched;

/// Serves samples of this machine.
pub(super) struct SampleServer<'a, C> {
    monitor: MonitorPlan,
    facts: HostFacts,
    /// One client is answered no more often than this.
    every_ns: u64,
    clock: C,
    tell: &'a mut (dyn FnMut(Event<'_>) + Send),
    clients_so_far: u64,
}

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// The number of the client, from one.
    handle: u64,
    peer: Peer,
    /// When it came, nanoseconds on the server's clock.
    since_ns: u64,
    /// Samples that it was sent.
    samples: u64,
    watched: Option<Box<Watched>>,
    /// Why it was refused, when it was.
    refusal: Option<String>,
}

/// What a client that has said hello is shown.
#[derive(Debug)]
struct Watched {
    monitor: Monitor,
    /// Where its next `whole` begins.
    whole_from: Snapshot,
}

/// Something the operator of a server wants to know.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// A client came.
    Opened(&'a Client),
    /// A client went, after so many nanoseconds.
    Closed(&'a Client, u64, Ended),
    /// A client was not taken.
    TurnedAway(&'a Peer, TurnedAway),
    /// The kernel hands over no more connections for the moment.
    CannotAccept(&'a io::Error),
}

impl<'a, C: Clock + Clone + Send + 'static> SampleServer<'a, C> {
    /// A server of what `monitor` asks for, that tells `tell` who comes and goes.
    pub(super) fn new(
        monitor: MonitorPlan,
        every_ns: u64,
        clock: C,
        tell: &'a mut (dyn FnMut(Event<'_>) + Send),
    ) -> Self {
        let facts = HostFacts::read(&monitor.root);
        Self { monitor, facts, every_ns, clock, tell, clients_so_far: 0 }
    }

    /// The answer to a request; `Err` says why it is refused.
    fn answer(&self, client: &mut Client, request: Request) -> Result<String, String> {
        let Some(watched) = &mut client.watched else {
            return match request {
                Request::Hello => self.hello(client),
                Request::Sample | Request::Whole => Err("say `hello` first".into()),
            };
        };
        match request {
            Request::Hello => Err("`hello` was said before".into()),
            Request::Sample => {
                let since_ns = self.clock.now_ns().saturating_sub(watched.monitor.snapshot().at_ns);
                // a request that was held up on its way is followed by one that seems early
                if since_ns < self.every_ns / 2 {
                    return Err(format!(
                        "asked again after {}: this server answers no more often than every {}",
                        show_ns(since_ns),
                        show_ns(self.every_ns)
                    ));
                }
                let Some(sample) = watched.monitor.sample_everything() else {
                    return Err("there is no sample yet".into());
                };
                client.samples += 1;
                Ok(wire::line(&Line::of(&self.facts.name, sample)))
            }
            Request::Whole => {
                let now = watched.monitor.snapshot();
                if now.at_ns <= watched.whole_from.at_ns {
                    return Err("there was no sample since the last `whole`".into());
                }
                let sample = Sample::between(&watched.whole_from, now);
                watched.whole_from = now.clone();
                Ok(wire::line(&Line::of(&self.facts.name, &sample)))
            }
        }
    }

    fn hello(&self, client: &mut Client) -> Result<String, String> {
        let paced = MonitorPlan { every_ns: Some(self.every_ns), ..self.monitor.clone() };
        let mut monitor = Monitor::new(&paced, Box::new(self.clock.clone()));
        monitor.sample(); // the first has nothing to compare with
        sees(&monitor).map_err(|error| error.to_string())?;
        let now = monitor.snapshot().clone();
        let hello = Hello {
            schema: HELLO_SCHEMA.into(),
            host: self.facts.name.clone(),
            facts: self.facts.clone(),
            every_ns: self.every_ns,
            wall_ns: now.wall_ns,
            monotonic_ns: now.at_ns,
            ticks_per_s: now.ticks_per_s,
            not_watched: not_watched(&monitor.states()),
        };
        client.watched = Some(Box::new(Watched { monitor, whole_from: now }));
        Ok(wire::line(&hello))
    }
}

impl<C: Clock + Clone + Send + 'static> Service for SampleServer<'_, C> {
    type Conn = Client;

    fn open(&mut self, peer: &Peer) -> Result<Client, Vec<u8>> {
        self.clients_so_far += 1;
        let client = Client {
            handle: self.clients_so_far,
            peer: peer.clone(),
            since_ns: self.clock.now_ns(),
            samples: 0,
            watched: None,
            refusal: None,
        };
        (self.tell)(Event::Opened(&client));
        Ok(client)
    }

    fn serve(&mut self, client: &mut Client, bytes: &[u8], out: &mut Vec<u8>) -> Served {
        let (answer, consumed) = match Heard::of(bytes) {
            Heard::Part => return Served::default(),
            Heard::Request(request, consumed) => (self.answer(client, request), consumed),
            Heard::Nonsense => (Err("expected a line: hello, sample or whole".into()), 0),
        };
        match answer {
            Ok(line) => {
                out.extend_from_slice(line.as_bytes());
                Served { consumed, echo: 0, close: false }
            }
            Err(refusal) => {
                out.extend_from_slice(wire::error_line(&refusal).as_bytes());
                client.refusal = Some(refusal);
                Served { consumed: 0, echo: 0, close: true }
            }
        }
    }

    fn close(&mut self, client: Client, ended: Ended) {
        let served_ns = self.clock.now_ns().saturating_sub(client.since_ns);
        (self.tell)(Event::Closed(&client, served_ns, ended));
    }

    fn turn_away(&mut self, peer: &Peer, why: TurnedAway) -> Vec<u8> {
        (self.tell)(Event::TurnedAway(peer, why));
        wire::error_line(&why.to_string()).into_bytes()
    }

    fn cannot_accept(&mut self, error: &io::Error) {
        (self.tell)(Event::CannotAccept(error));
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened(client) => {
                write!(f, "client {} connected from {}", client.handle, client.peer)
            }
            Self::Closed(client, served_ns, ended) => {
                let (handle, peer, samples) = (client.handle, &client.peer, client.samples);
                let served = show_ns(*served_ns);
                write!(f, "client {handle} from {peer} gone after {served}: ")?;
                write!(f, "{}; {ended}", plumb_measure::counted(samples, "sample"))?;
                match &client.refusal {
                    Some(refusal) => write!(f, ": {refusal}"),
                    None => Ok(()),
                }
            }
            Self::TurnedAway(peer, why) => write!(f, "client from {peer} turned away: {why}"),
            Self::CannotAccept(error) => {
                write!(f, "cannot accept connections for the moment: {error}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::sample::SCHEMA;
    use plumb_procfs::Root;

    const EVERY_NS: u64 = 100_000_000;

    #[derive(Clone, Default)]
    struct Held(Arc<AtomicU64>);

    impl Clock for Held {
        fn now_ns(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// Says `words` to a server whose clock moves by `step_ns` before each.
    fn talk(words: &[&str], step_ns: u64) -> (Vec<serde_json::Value>, Client) {
        let clock = Held::default();
        let mut ignore = |_: Event<'_>| {};
        let plan = MonitorPlan::default();
        let mut server = SampleServer::new(plan, EVERY_NS, clock.clone(), &mut ignore);
        let mut client = server.open(&Peer::Unix).unwrap();
        let mut answers = Vec::new();
        for word in words {
            clock.0.fetch_add(step_ns, Ordering::Relaxed);
            let mut out = Vec::new();
            let line = format!("{word}\n");
            let served = server.serve(&mut client, line.as_bytes(), &mut out);
            assert!(served.close || served.consumed == line.len());
            assert!(out.ends_with(b"\n") && out.iter().filter(|byte| **byte == b'\n').count() == 1);
            answers.push(serde_json::from_slice(&out).unwrap());
            if served.close {
                break;
            }
        }
        (answers, client)
    }

    fn refusal(words: &[&str], step_ns: u64) -> String {
        let (answers, client) = talk(words, step_ns);
        assert_eq!(answers.len(), words.len(), "an earlier word was refused: {answers:?}");
        let last = answers.last().unwrap();
        assert_eq!(last["schema"], wire::ERROR_SCHEMA);
        assert_eq!(last["error"].as_str(), client.refusal.as_deref());
        client.refusal.unwrap()
    }

    #[test]
    fn a_sample_covers_the_time_since_the_last_and_a_whole_that_since_the_last_whole() {
        let words = ["hello", "sample", "sample", "whole", "sample", "whole"];
        let (answers, client) = talk(&words, EVERY_NS);
        assert_eq!(answers[0]["schema"], HELLO_SCHEMA);
        assert_eq!(answers[0]["facts"]["name"], answers[0]["host"]);
        let interval_ns = |at: usize| {
            assert_eq!(answers[at]["schema"], SCHEMA);
            answers[at]["interval_ns"].as_u64().unwrap()
        };
        assert_eq!([1, 2, 3].map(interval_ns), [EVERY_NS, EVERY_NS, 2 * EVERY_NS]);
        assert_eq!([4, 5].map(interval_ns), [2 * EVERY_NS, 2 * EVERY_NS]);
        assert_eq!(client.samples, 3);
    }

    #[test]
    fn what_has_no_answer_is_refused() {
        assert!(refusal(&["sample"], EVERY_NS).contains("`hello` first"));
        assert!(refusal(&["hello", "hello"], EVERY_NS).contains("before"));
        assert!(refusal(&["hello", "whole"], EVERY_NS).contains("no sample since"));
        assert!(refusal(&["hello", "sample", "whole", "whole"], EVERY_NS).contains("no sample"));
        assert!(refusal(&["hello", "{\"every_ns\":1}"], EVERY_NS).contains("expected a line"));
        let early = refusal(&["hello", "sample"], EVERY_NS / 4);
        assert!(early.contains("after 25") && early.contains("every 100"), "{early}");
    }

    #[test]
    fn a_machine_without_proc_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut ignore = |_: Event<'_>| {};
        let plan = MonitorPlan { root: Root::below(folder.path()), ..MonitorPlan::default() };
        let mut server = SampleServer::new(plan, EVERY_NS, Held::default(), &mut ignore);
        let mut client = server.open(&Peer::Unix).unwrap();
        assert!(server.serve(&mut client, b"hello\n", &mut Vec::new()).close);
        assert!(client.refusal.unwrap().contains("is /proc mounted?"));
    }
}
