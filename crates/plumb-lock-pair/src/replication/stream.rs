//! The primary: what it sends to its replica, and up to where it may tell clients.

use std::collections::VecDeque;

use super::VERSION;
use super::backlog::Backlog;
use super::frame::{Frame, RECORDS_BYTES_MAX};
use super::terms::{Attached, Hello, PrimaryPlan, Refused, State, Without};

/// Bytes of slices that may be under way.
pub const WINDOW_BYTES: u64 = 256 << 10;
/// A replica that is so many bytes behind is dropped: it begins again.
const BEHIND_BYTES_MAX: u64 = 256 << 20;

/// The replica that is connected.
#[derive(Debug)]
struct Link {
    id: u64,
    state: State,
    /// What it begins with was not said yet.
    fresh: Option<Attached>,
    /// Changes were handed out up to here.
    sent: u64,
    /// Bytes of slices that were handed out, and that it has.
    sliced: u64,
    sliced_there: u64,
    /// What it must have to be in sync.
    target: u64,
    heard_at: u64,
    pinged_at: u64,
    /// When the last ping that it answered was sent; 0: none.
    answered_ping: u64,
}

/// A primary's side of the stream.
#[derive(Debug)]
pub struct Primary {
    plan: PrimaryPlan,
    epoch: u64,
    stream: u64,
    backlog: Backlog,
    /// The replica has everything up to here.
    acked: u64,
    /// Clients were told of everything up to here.
    told: u64,
    /// Somebody has decided that this server goes on without a replica until there is one.
    alone: bool,
    /// It may go on without a replica, if it was decided so.
    permitted: bool,
    ever: bool,
    link: Option<Link>,
    /// Batches that the replica does not have: where they end, and since when, nanoseconds.
    unacked: VecDeque<(u64, u64)>,
}

impl Primary {
    /// One without a replica. `stream` is a number that no stream of this epoch ever had; not 0.
    #[must_use]
    pub fn new(plan: PrimaryPlan, epoch: u64, stream: u64) -> Self {
        Self {
            plan,
            epoch,
            stream: stream.max(1),
            backlog: Backlog::default(),
            acked: 0,
            told: 0,
            alone: false,
            permitted: true,
            ever: false,
            link: None,
            unacked: VecDeque::new(),
        }
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// From now on it goes on without a replica until one is in sync, whatever its plan says.
    pub fn go_alone(&mut self) {
        self.alone = true;
    }

    /// How it is with the replica.
    #[must_use]
    pub fn state(&self) -> State {
        match &self.link {
            Some(link) => link.state,
            None if self.ever => State::Suspended,
            None => State::None,
        }
    }

    /// True when changes are to be sealed: there is, or was, a replica.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.ever
    }

    /// True when clients may ask for locks at all.
    #[must_use]
    pub fn may_serve(&self) -> bool {
        matches!(self.state(), State::InSync | State::Joining) || self.goes_on()
    }

    /// True when it was decided that it goes on without a replica.
    #[must_use]
    pub fn wants_to_go_on(&self) -> bool {
        self.alone || self.plan.without == Without::Continue
    }

    /// Whether going on without a replica does no harm: none can take this server's place then.
    pub fn permit_going_on(&mut self, permitted: bool) {
        self.permitted = permitted;
    }

    fn goes_on(&self) -> bool {
        self.permitted && self.wants_to_go_on()
    }

    /// The number of the replica that has whatever anybody was told of, or will before they are.
    #[must_use]
    pub fn replica(&self) -> Option<u64> {
        let link = self.link.as_ref()?;
        matches!(link.state, State::InSync | State::Joining).then_some(link.id)
    }

    /// When the last ping that the replica has answered was sent, nanoseconds; 0 when there is none.
    #[must_use]
    pub fn answered_ping(&self) -> u64 {
        self.link.as_ref().map_or(0, |link| link.answered_ping)
    }

    /// The position that follows what is sealed, bytes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.backlog.end()
    }

    /// Up to where clients may be told.
    #[must_use]
    pub fn tellable(&self) -> u64 {
        match self.state() {
            State::InSync => self.acked,
            State::Joining => self.told,
            _ if self.goes_on() => u64::MAX,
            _ => self.told,
        }
    }

    /// Clients are told of whatever they may be told now.
    pub fn note_told(&mut self) {
        self.told = self.told.max(self.tellable().min(self.end()));
    }

    /// What one round of serving has changed.
    pub fn seal(&mut self, now: u64, batch: Vec<u8>) {
        if !batch.is_empty() {
            self.backlog.push(batch);
            self.unacked.push_back((self.end(), now));
        }
    }

    /// Bytes that the replica does not have.
    #[must_use]
    pub fn lag_bytes(&self) -> u64 {
        self.end() - self.acked
    }

    /// Since when the replica lacks something, nanoseconds; `None` when it has everything.
    #[must_use]
    pub fn lags_since(&self) -> Option<u64> {
        self.unacked.front().map(|(_, at)| *at)
    }

    /// A replica asks to follow. One that is known again replaces its own former connection. What
    /// has changed until now must be sealed. Of the epochs up to `covered`, and of its own, this
    /// server has every lock.
    ///
    /// # Errors
    /// [`Refused`]: nothing has changed then.
    pub fn attach(&mut self, now: u64, hello: &Hello, covered: u64) -> Result<Attached, Refused> {
        if hello.version != VERSION {
            return Err(Refused::Version(hello.version));
        }
        if hello.rows != u64::from(self.plan.rows) {
            return Err(Refused::Rows { theirs: hello.rows, ours: self.plan.rows });
        }
        // one that has this server's locks has not been promoted: what a third one has is its own
        if self.replica().is_some_and(|id| id != hello.id) {
            return Err(Refused::Another);
        }
        if hello.epoch > covered && hello.epoch != self.epoch {
            return Err(match hello.epoch {
                Hello::UNDECIDED => Refused::Undecided(self.epoch),
                theirs => Refused::Lacks { theirs, ours: self.epoch },
            });
        }
        if self.link.as_ref().is_some_and(|link| link.id != hello.id) {
            return Err(Refused::Another);
        }
        self.note_told();
        // one that was not in sync yet names no epoch; streams differ in any case
        let known = hello.stream == self.stream && [0, self.epoch].contains(&hello.epoch);
        let goes_on = known && hello.position >= self.acked && self.backlog.has(hello.position);
        let (attached, state, sent) = if goes_on {
            self.ack(hello.position);
            (Attached::GoesOn, State::Joining, hello.position)
        } else {
            self.backlog.clear();
            self.unacked.clear();
            (Attached::Snapshot, State::Filling, self.end())
        };
        self.ever = true;
        self.link = Some(Link {
            id: hello.id,
            state,
            fresh: Some(attached),
            sent,
            sliced: 0,
            sliced_there: 0,
            target: self.told,
            heard_at: now,
            pinged_at: 0,
            answered_ping: 0,
        });
        Ok(attached)
    }

    /// The replica is gone; false when there was none.
    pub fn detach(&mut self) -> bool {
        self.link.take().is_some()
    }

    /// The replica said this at `now`; false when it may not: it is to be dropped.
    pub fn heard(&mut self, now: u64, frame: &Frame<'_>) -> bool {
        let end = self.end();
        let Some(link) = &mut self.link else {
            return false;
        };
        link.heard_at = now;
        let (position, sliced) = match frame {
            Frame::Received { position, sliced } => (position, sliced),
            Frame::Pong { at } if *at <= link.pinged_at => {
                link.answered_ping = link.answered_ping.max(*at);
                return true;
            }
            _ => return false,
        };
        if *sliced > link.sliced || *sliced < link.sliced_there {
            return false;
        }
        link.sliced_there = *sliced;
        if link.fresh.is_some() || link.state == State::Filling && *position <= self.acked {
            return true; // of what it had before
        }
        if *position > link.sent.min(end) || *position < self.acked {
            return false;
        }
        self.ack(*position);
        true
    }

    fn ack(&mut self, position: u64) {
        self.acked = position;
        while self.unacked.front().is_some_and(|(end, _)| *end <= position) {
            self.unacked.pop_front();
        }
    }

    /// True when the replica has been silent for too long, or is too far behind.
    #[must_use]
    pub fn is_overdue(&self, now: u64) -> bool {
        self.link.as_ref().is_some_and(|link| {
            now.saturating_sub(link.heard_at) > self.plan.timeout_ns
                || self.backlog.end() - self.acked.max(self.backlog.begin()) > BEHIND_BYTES_MAX
        })
    }

    /// When something is to be said or missed although nothing happens, nanoseconds.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let link = self.link.as_ref()?;
        if link.fresh.is_some() || link.state == State::Filling && self.window_is_open(link) {
            return Some(0);
        }
        let ping = link.pinged_at + self.plan.ping_ns;
        Some(ping.min(link.heard_at + self.plan.timeout_ns + 1))
    }

    fn window_is_open(&self, link: &Link) -> bool {
        link.sliced - link.sliced_there < WINDOW_BYTES
    }

    /// Appends what the replica is to be told now; `fence` is the next fence number. `slice` appends the next slice of the snapshot
    /// (records of at most 1 MiB) and says whether that was the last; it is told with `true` to
    /// begin. True when the replica has become one that has everything.
    pub fn say(
        &mut self,
        (now, fence): (u64, u64),
        out: &mut Vec<u8>,
        mut slice: impl FnMut(bool, &mut Vec<u8>) -> bool,
    ) -> bool {
        let end = self.end();
        let Some(mut link) = self.link.take() else {
            return false;
        };
        let mut begins = false;
        match link.fresh.take() {
            Some(Attached::Snapshot) => {
                begins = true;
                self.acked = link.sent; // what was before is in the slices
                let (epoch, stream) = (self.epoch, self.stream);
                Frame::Snapshot { epoch, stream, position: link.sent, fence }.push(out);
            }
            Some(Attached::GoesOn) => Frame::Continue { epoch: self.epoch }.push(out),
            None => {}
        }
        for (from, batch) in self.backlog.from(link.sent) {
            push_batch(from, batch, out);
        }
        link.sent = end;
        if link.state == State::Filling && (begins || self.window_is_open(&link)) {
            let mut records = Vec::new();
            let last = slice(begins, &mut records);
            link.sliced += records.len() as u64;
            Frame::Slice(&records).push(out);
            if last {
                Frame::Complete.push(out);
                // whoever was told so far was not kept waiting for it
                (link.state, link.target) = (State::Joining, self.told.max(end));
            }
        }
        let joins = link.state == State::Joining
            && self.acked >= link.target
            && link.sliced_there == link.sliced;
        if joins {
            link.state = State::InSync;
            self.alone = false;
            Frame::InSync.push(out);
        }
        if now >= link.pinged_at + self.plan.ping_ns {
            Frame::Ping { at: now }.push(out);
            link.pinged_at = now;
        }
        self.link = Some(link);
        joins
    }

    /// Forgets batches that no replica will ask for.
    pub fn tidy(&mut self) {
        let until = if self.link.is_some() { self.acked } else { self.end() };
        self.backlog.shrink(until, self.plan.backlog_bytes);
    }
}

fn push_batch(from: u64, batch: &[u8], out: &mut Vec<u8>) {
    let parts = batch.chunks(RECORDS_BYTES_MAX);
    let count = parts.len();
    for (at, records) in parts.enumerate() {
        Frame::Changes { from, last: at + 1 == count, records }.push(out);
    }
}

#[cfg(test)]
mod tests;
