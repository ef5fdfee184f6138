//! The one thread that writes: it takes what waits, commits it, and tells whoever waited for that.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::{Clock as _, Span};
use plumb_serve::HeldFolder;
use tokio::sync::oneshot;

use super::ledger::Ledger;
use super::records::{Asking, Records};
use super::unwritten::{Unwritten, unwritten};
use super::{Ending, News, Put, Shared, SpoolLimits, Taken, Wanted, WhenFull};

/// Requests that one transaction takes, at most.
const GROUP: usize = 1_024;
/// Bytes of messages in one transaction, about.
const GROUP_BYTES: u64 = 4 << 20;
/// While the disk is full, between two looks for room.
const LOOSEN_EVERY_NS: u64 = 100_000_000;
/// Settlements in one transaction when the disk is full: their log fits into the reserve.
const TIGHT_SETTLES: usize = 64;

/// What the writer is asked to do.
#[derive(Debug)]
pub(super) enum Request {
    Agent {
        name: String,
        limits: SpoolLimits,
        news: Arc<News>,
        reply: mpsc::Sender<Result<(usize, Arc<str>), String>>,
    },
    Put {
        agent: usize,
        put: Put,
        reply: oneshot::Sender<bool>,
    },
    Take {
        agent: usize,
        wanted: Wanted,
        most: usize,
        bytes: usize,
        reply: oneshot::Sender<Taken>,
    },
    Settle {
        agent: usize,
        id: i64,
        ending: Ending,
    },
    Close,
}

/// An agent as the writer knows it.
#[derive(Debug)]
struct Agent {
    ledger: Ledger,
    /// Of one that runs in this process.
    limits: SpoolLimits,
    news: Arc<News>,
    /// In their order.
    puts: VecDeque<(Put, oneshot::Sender<bool>)>,
}

/// Messages to be read once what was written before is on disk.
type Take = (usize, Wanted, usize, usize, oneshot::Sender<Taken>);

/// The writer.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    records: Records,
    place: HeldFolder,
    requests: mpsc::Receiver<Request>,
    agents: Vec<Agent>,
    settles: VecDeque<(usize, i64, Ending)>,
    /// The disk is full: messages wait.
    tight: bool,
    loosen_at_ns: u64,
    asked_at_ns: u64,
    asked_every: Span,
    closing: bool,
}

/// What a transaction has changed.
#[derive(Default)]
struct Effects {
    ledgers: BTreeMap<usize, Ledger>,
    /// Of each agent how many of its puts, and whether each was kept.
    puts: BTreeMap<usize, Vec<bool>>,
    settled: usize,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        records: Records,
        (place, asked_every): (HeldFolder, Span),
        requests: mpsc::Receiver<Request>,
    ) -> Self {
        Self {
            shared,
            records,
            place,
            requests,
            agents: Vec::new(),
            settles: VecDeque::new(),
            tight: true, // until the reserve is held
            loosen_at_ns: 0,
            asked_at_ns: 0,
            asked_every,
            closing: false,
        }
    }

    /// Writes until it is told to close, and all that can be is on disk.
    pub(super) fn run(mut self) {
        if let Err(why) = self.write_all() {
            self.shared.lock().trouble = Some(why);
        }
    }

    fn write_all(&mut self) -> Result<(), String> {
        let ledgers = self.records.ledgers().map_err(|error| error.to_string())?;
        self.agents = ledgers.into_iter().map(Agent::absent).collect();
        self.publish(0..self.agents.len());
        while !self.closing {
            let takes = self.gather();
            match self.work() {
                Ok(()) | Err(Unwritten::NoRoom) => {}
                Err(Unwritten::Broken(why)) => return Err(why),
            }
            self.read(takes).map_err(|error| error.to_string())?;
        }
        // what is missed here stays in the log, and is read from it
        let _ = self.records.checkpoint("TRUNCATE");
        Ok(())
    }

    /// Takes what waits; what is to be read is given back.
    fn gather(&mut self) -> Vec<Take> {
        let mut takes = Vec::new();
        let mut next = match self.requests.recv_timeout(Duration::from_nanos(self.asked_every.ns()))
        {
            Ok(request) => Some(request),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Request::Close),
        };
        let mut taken = 0;
        while let Some(request) = next {
            taken += 1;
            match request {
                Request::Agent { name, limits, news, reply } => {
                    // whoever asked may be gone
                    let _ = reply.send(self.admit(&name, limits, news));
                }
                Request::Put { agent, put, reply } => {
                    self.agents[agent].puts.push_back((put, reply));
                }
                Request::Take { agent, wanted, most, bytes, reply } => {
                    takes.push((agent, wanted, most, bytes, reply));
                }
                Request::Settle { agent, id, ending } => {
                    self.settles.push_back((agent, id, ending))
                }
                Request::Close => {
                    self.closing = true;
                    break;
                }
            }
            // what is taken out of the channel is done: none more than fit
            next = if taken < GROUP { self.requests.try_recv().ok() } else { None };
        }
        takes
    }

    /// Gives an agent its number.
    fn admit(
        &mut self,
        name: &str,
        limits: SpoolLimits,
        news: Arc<News>,
    ) -> Result<(usize, Arc<str>), String> {
        let text = |error: rusqlite::Error| error.to_string();
        let instance: Arc<str> = self.records.instance().map_err(text)?.into();
        let known = self.agents.iter().position(|agent| agent.ledger.name == name);
        let number = match known {
            Some(number) => number,
            None => {
                let number = self.agents.len();
                self.records.add_agent(number, name).map_err(text)?;
                let ledger = Ledger { name: name.into(), ..Ledger::default() };
                self.agents.push(Agent::absent(ledger));
                number
            }
        };
        (self.agents[number].limits, self.agents[number].news) = (limits, news);
        self.publish(number..number + 1);
        Ok((number, instance))
    }

    fn work(&mut self) -> Result<(), Unwritten> {
        let now_ns = MonotonicClock.now_ns();
        if self.tight && now_ns >= self.loosen_at_ns {
            self.loosen_at_ns = now_ns + LOOSEN_EVERY_NS;
            // the log gives back what the reserve is made of; on a full disk it stays as it is
            let _ = self.records.checkpoint("TRUNCATE");
            self.tight = !self.place.hold_reserve(self.records.free_inside());
            self.tell_room();
        }
        let done = self.write_down();
        if matches!(done, Err(Unwritten::NoRoom)) {
            self.tight = true;
            self.tell_room();
            return self.write_tightly();
        }
        done?;
        if now_ns >= self.asked_at_ns {
            self.asked_at_ns = now_ns + self.asked_every.ns();
            while let Some(asked) = self.records.asking().map_err(|it| unwritten(&it))? {
                self.do_asked(&asked)?;
            }
        }
        Ok(())
    }

    /// Writes all that there is room for.
    fn write_down(&mut self) -> Result<(), Unwritten> {
        loop {
            let most = if self.tight { TIGHT_SETTLES } else { GROUP };
            if !self.commit(most)? {
                return Ok(());
            }
            if self.tight {
                self.records.checkpoint("PASSIVE").map_err(|error| unwritten(&error))?;
            }
        }
    }

    /// Notes what was delivered in the room of the reserve.
    fn write_tightly(&mut self) -> Result<(), Unwritten> {
        while let Err(Unwritten::NoRoom) = self.write_down() {
            if !self.place.release_reserve() {
                return Err(Unwritten::NoRoom);
            }
        }
        Ok(())
    }

    /// One transaction; false when there is nothing to write.
    fn commit(&mut self, settles: usize) -> Result<bool, Unwritten> {
        if self.settles.is_empty() && (self.tight || self.agents.iter().all(Agent::is_quiet)) {
            return Ok(false);
        }
        let effects = match self.transaction(settles) {
            Ok(effects) => effects,
            Err(error) => {
                self.records.roll_back().map_err(|worse| Unwritten::Broken(worse.to_string()))?;
                return Err(unwritten(&error));
            }
        };
        let Effects { ledgers, puts, settled } = effects;
        let changed = !ledgers.is_empty() || settled > 0;
        for (number, _, ending) in self.settles.drain(..settled) {
            if matches!(ending, Ending::Again { due_ms, .. } if due_ms > 0) {
                // an answer that was read before did not tell when it is due
                self.agents[number].news.arrived.notify_one();
            }
        }
        for (number, ledger) in ledgers {
            self.agents[number].ledger = ledger;
            self.publish(number..number + 1);
        }
        for (number, kept) in puts {
            let agent = &mut self.agents[number];
            for kept in kept {
                if let Some((_, reply)) = agent.puts.pop_front() {
                    let _ = reply.send(kept); // whoever asked may be gone
                }
            }
            agent.news.arrived.notify_one();
        }
        Ok(changed)
    }

    fn transaction(&mut self, settles: usize) -> rusqlite::Result<Effects> {
        let mut effects = Effects::default();
        self.records.begin()?;
        for (number, id, ending) in self.settles.iter().take(settles) {
            let ledger = effects
                .ledgers
                .entry(*number)
                .or_insert_with(|| self.agents[*number].ledger.clone());
            if let Some(left) = self.records.settle(*id, ending)? {
                ledger.main.remove(left.changes, left.bytes);
                match ending {
                    Ending::Delivered => {
                        ledger.delivered += left.changes;
                        ledger.delivered_messages += 1;
                    }
                    Ending::Failed { .. } => ledger.failed.add(left.changes, left.bytes),
                    Ending::Expired => ledger.expired.add(left.changes, left.bytes),
                    Ending::Again { .. } => {}
                }
            }
            effects.settled += 1;
        }
        if !self.tight {
            self.put_all(&mut effects)?;
        }
        for (number, ledger) in &effects.ledgers {
            self.records.write(*number, ledger)?;
        }
        let began_ns = MonotonicClock.now_ns();
        self.records.commit()?;
        let mut state = self.shared.lock();
        state.flushes += 1;
        state.flush_ns += MonotonicClock.now_ns() - began_ns;
        Ok(effects)
    }

    /// Puts messages for which there is room, those of each agent in their order.
    fn put_all(&self, effects: &mut Effects) -> rusqlite::Result<()> {
        let at_ms = wall_ns() / 1_000_000;
        let mut bytes = 0;
        for (number, agent) in self.agents.iter().enumerate() {
            if agent.puts.is_empty() {
                continue;
            }
            let mut ledger = effects.ledgers.get(&number).unwrap_or(&agent.ledger).clone();
            let mut kept = Vec::new();
            for (put, _) in agent.puts.iter().take(GROUP) {
                let Some(is_kept) = agent.limits.judge(&ledger, put) else { break };
                if bytes >= GROUP_BYTES {
                    break;
                }
                ledger.seen += put.seen;
                ledger.never_seen += put.never_seen;
                ledger.position = put.position.unwrap_or(ledger.position);
                if let Some(bundle) = &put.bundle {
                    let size = bundle.body.len() as u64;
                    ledger.produced += u64::from(bundle.changes);
                    if is_kept {
                        self.records.add(number, bundle, at_ms)?;
                        ledger.main.add(bundle.changes.into(), size);
                        bytes += size;
                    } else {
                        ledger.dropped += u64::from(bundle.changes);
                    }
                }
                kept.push(is_kept);
            }
            if !kept.is_empty() {
                effects.ledgers.insert(number, ledger);
                effects.puts.insert(number, kept);
            }
        }
        Ok(())
    }

    /// Sends again or deletes, as somebody asked from outside.
    fn do_asked(&mut self, asked: &Asking) -> Result<(), Unwritten> {
        let written = self.records.begin().and_then(|()| {
            let found = self.records.do_asked(asked, wall_ns() / 1_000_000)?;
            let mut ledgers = BTreeMap::new();
            for (number, left) in &found {
                let Some(agent) = self.agents.get(*number) else { continue };
                let ledger = ledgers.entry(*number).or_insert_with(|| agent.ledger.clone());
                let from = match asked.queue {
                    0 => &mut ledger.main,
                    1 => &mut ledger.failed,
                    _ => &mut ledger.expired,
                };
                from.remove(left.changes, left.bytes);
                if asked.sends {
                    ledger.main.add(left.changes, left.bytes);
                } else {
                    ledger.deleted += left.changes;
                }
            }
            ledgers.iter().try_for_each(|(number, ledger)| self.records.write(*number, ledger))?;
            self.records.commit()?;
            Ok(ledgers)
        });
        let ledgers = match written {
            Ok(ledgers) => ledgers,
            Err(error) => {
                self.records.roll_back().map_err(|worse| Unwritten::Broken(worse.to_string()))?;
                return Err(unwritten(&error));
            }
        };
        for (number, ledger) in ledgers {
            self.agents[number].ledger = ledger;
            self.publish(number..number + 1);
            let news = &self.agents[number].news;
            news.rewinds.fetch_add(1, Ordering::SeqCst);
            news.arrived.notify_one();
        }
        Ok(())
    }

    fn read(&self, takes: Vec<Take>) -> rusqlite::Result<()> {
        for (agent, wanted, most, bytes, reply) in takes {
            let taken = self.records.take(agent, wanted, most, bytes)?;
            let _ = reply.send(taken); // whoever asked may be gone
        }
        Ok(())
    }

    fn publish(&self, numbers: std::ops::Range<usize>) {
        let mut state = self.shared.lock();
        state.ledgers.resize(self.agents.len(), Ledger::default());
        for number in numbers {
            state.ledgers[number].clone_from(&self.agents[number].ledger);
        }
    }

    fn tell_room(&self) {
        let text = self.tight.then(|| {
            format!(
                "the disk of {} is full; messages are taken again once {} MiB of it are free",
                self.place.folder().display(),
                (self.place.wanted_bytes() >> 20).max(1)
            )
        });
        self.shared.lock().trouble = text;
    }
}

impl Agent {
    /// One of the file that does not run here so far.
    fn absent(ledger: Ledger) -> Self {
        let limits = SpoolLimits { messages: 0, bytes: 0, when_full: WhenFull::Wait };
        Self { ledger, limits, news: Arc::default(), puts: VecDeque::new() }
    }

    /// True when nothing of it can be written now.
    fn is_quiet(&self) -> bool {
        self.puts.front().is_none_or(|(put, _)| self.limits.judge(&self.ledger, put).is_none())
    }
}
