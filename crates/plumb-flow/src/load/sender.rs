//! A client that sends messages one after the other, and judges each answer.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_engine::{Next, Op, Protocol, StampedRequests, Step, Then};
use plumb_measure::{
    Answer, FailureKind, LoadPart, Outcome, Residence, ServerTimes, ToldNames, TraceId,
};
use plumb_trace::{Traces, insert_parent, traced_answer, traced_step};
use plumb_wire::http::{Body, Head, Memo, RawHead, ends_idle_connection, told};

use super::messages::Requests;
use super::options::ModeName;

/// Bytes of a body that are kept to say what was wrong.
const SAID_BYTES: usize = 300;

/// Messages over the connections of one thread.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    requests: Arc<Requests>,
    /// The next number, of all threads.
    numbers: Arc<AtomicU64>,
    /// The first number of the whole load, and which of its numbers are those of this process.
    dealt: (u64, LoadPart),
    /// `None`: as the transaction says.
    mode: Option<ModeName>,
    /// How long a connection rests that was turned away, nanoseconds; 0: not at all.
    pause_ns: u64,
    /// Each message says to which trace it belongs.
    traces: Option<Traces>,
    /// The runtime is asked how long it had one message in so many.
    stamps: Option<NonZeroU32>,
    memo: Memo,
    names: ToldNames,
    untold: u64,
    complaint: Option<String>,
    tally: Tally,
}

/// Messages of one thread, the warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Handed over to be sent.
    pub(super) sent: u64,
    /// Answered as they should be.
    pub(super) accepted: u64,
    /// Of these, answered with 202: in the queue, and not done yet.
    pub(super) queued: u64,
    /// Answered otherwise: refused or failed.
    pub(super) rejected: u64,
}

impl Tally {
    /// Messages without a complete answer.
    pub(super) fn unanswered(self) -> u64 {
        self.sent.saturating_sub(self.accepted + self.rejected)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            accepted: self.accepted + other.accepted,
            queued: self.queued + other.queued,
            rejected: self.rejected + other.rejected,
        }
    }
}

/// Who sends over one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct User {
    /// The last message was turned away.
    turned_away: bool,
    /// The trace of its last message.
    trace: Option<TraceId>,
}

/// An answer that is coming in; `None` between two.
#[derive(Debug, Default)]
pub(super) struct Wire {
    coming: Option<Coming>,
    asking: StampedRequests,
}

#[derive(Debug)]
struct Coming {
    head: Head,
    /// It names an execution.
    execution: bool,
    told: Option<ServerTimes>,
    body: Body,
    /// The beginning of a body that says what is wrong.
    said: Vec<u8>,
}

impl Sender {
    /// Sends `requests` with the next of `numbers`.
    pub(super) fn new(
        requests: Arc<Requests>,
        numbers: Arc<AtomicU64>,
        mode: Option<ModeName>,
        pause_ns: u64,
    ) -> Self {
        Self {
            requests,
            numbers,
            dealt: (0, LoadPart::default()),
            mode,
            pause_ns,
            traces: None,
            stamps: None,
            memo: Memo::default(),
            names: ToldNames::default(),
            untold: 0,
            complaint: None,
            tally: Tally::default(),
        }
    }

    /// The same client, each of whose messages belongs to one of `traces`.
    pub(super) fn traced(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// The same client, which asks the runtime how long it had one message in so many of each connection.
    pub(super) fn stamped(mut self, every: Option<NonZeroU32>) -> Self {
        self.stamps = every;
        self
    }

    /// What became of its messages.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// The same, which has its `part` of the numbers from `first` on.
    pub(super) fn dealt(self, first: u64, part: LoadPart) -> Self {
        Self { dealt: (first, part), ..self }
    }

    /// The names of the times that the server told, by their numbers.
    pub(super) fn told_names(&self) -> Vec<String> {
        self.names.all()
    }

    /// Times that were told but not kept, because there were too many.
    pub(super) fn untold(&self) -> u64 {
        self.untold
    }

    fn head(&mut self, user: &mut User, wire: &mut Wire, bytes: &[u8]) -> Step {
        let (head, length) = match self.memo.read(bytes) {
            Ok(Some(found)) => found,
            Ok(None) => return Step::Need { consumed: 0 },
            Err(error) => {
                let text = || format!("does not answer in HTTP/1.1 ({error}); is that its port?");
                return self.garbled(bytes.len(), None, text);
            }
        };
        if head.interim() {
            return Step::Aside { consumed: length };
        }
        if wire.asking.expects() {
            wire.asking.read(&RawHead::new(self.memo.last()));
        }
        let execution = RawHead::new(self.memo.last()).values("x-execution-id").next().is_some();
        let told = if head.tells_times { self.told() } else { None };
        let body = Body::new(head.framing);
        let coming = Coming { head, execution, told, body, said: Vec::new() };
        self.body(user, wire, coming, bytes, length)
    }

    fn body(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        mut coming: Coming,
        bytes: &[u8],
        from: usize,
    ) -> Step {
        let wanted = self.complaint.is_none() && coming.head.status >= 300;
        let Coming { body, said, .. } = &mut coming;
        let taken = body.take_with(&bytes[from..], |content| {
            let room = if wanted { SAID_BYTES.saturating_sub(said.len()) } else { 0 };
            said.extend_from_slice(&content[..content.len().min(room)]);
        });
        let status = coming.head.status;
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => {
                let text = || format!("sent a body that cannot be read: {error}");
                return self.garbled(bytes.len(), Some(status), text);
            }
        };
        let consumed = from + taken.consumed;
        if !taken.complete {
            wire.coming = Some(coming);
            return Step::Need { consumed };
        }
        if consumed < bytes.len() {
            let text = || "sent more bytes than its head announced".to_owned();
            return self.garbled(bytes.len(), Some(status), text);
        }
        let then = if coming.head.keep_alive { Then::Keep } else { Then::Close };
        Step::Done { consumed, answer: self.judge(user, &coming), then }
    }

    /// A complete answer.
    fn judge(&mut self, user: &mut User, coming: &Coming) -> Answer {
        let status = coming.head.status;
        let outcome = outcome(status, self.mode, coming.execution);
        match outcome {
            Outcome::Ok => {
                self.tally.accepted += 1;
                self.tally.queued += u64::from(status == 202);
            }
            Outcome::Refused => {
                user.turned_away = true;
                self.tally.rejected += 1;
            }
            Outcome::Failed(kind) => {
                self.tally.rejected += 1;
                let mode = self.mode;
                self.complaint.get_or_insert_with(|| complaint(status, kind, mode, &coming.said));
            }
        }
        // spans are told of a server that tells nothing itself, too
        let told = coming.told.or_else(|| user.trace.map(|_| ServerTimes::default()));
        Answer { outcome, code: Some(status), body_bytes: coming.body.content(), told }
    }

    /// What the head that was just read tells of the server's own time.
    fn told(&mut self) -> Option<ServerTimes> {
        let mut times = ServerTimes::default();
        for found in told(&RawHead::new(self.memo.last())) {
            let name = self.names.number(found.name);
            let kept = name.is_some_and(|name| times.push(name, found.ns));
            self.untold += u64::from(!kept);
        }
        (times != ServerTimes::default()).then_some(times)
    }

    /// An answer that cannot be read to its end: whether the message was taken is not known.
    fn garbled(
        &mut self,
        consumed: usize,
        code: Option<u16>,
        text: impl FnOnce() -> String,
    ) -> Step {
        self.complaint.get_or_insert_with(text);
        Step::broken(FailureKind::Garbled, consumed, code)
    }
}

/// What an answer with `status` means for a message that was sent in `mode`.
fn outcome(status: u16, mode: Option<ModeName>, execution: bool) -> Outcome {
    let accepted = match (status, mode) {
        (429 | 503, _) => return Outcome::Refused,
        (202, mode) => mode != Some(ModeName::Sync),
        (200..=299, mode) => mode != Some(ModeName::Async),
        _ => false,
    };
    match (accepted, execution) {
        (true, true) => Outcome::Ok,
        (true, false) => Outcome::Failed(FailureKind::CheckFailed),
        (false, _) => Outcome::Failed(FailureKind::UnexpectedStatus),
    }
}

fn complaint(status: u16, kind: FailureKind, mode: Option<ModeName>, said: &[u8]) -> String {
    if kind == FailureKind::CheckFailed {
        return format!(
            "answered {status} and named no execution (X-Execution-Id): is that a runtime?"
        );
    }
    let expected = match mode {
        Some(ModeName::Async) => "202",
        Some(ModeName::Sync) => "2xx, but not 202",
        None => "2xx",
    };
    let said: String = String::from_utf8_lossy(said)
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    let said = said.trim();
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    format!("answered {status} where {expected} was expected{said}")
}

impl Protocol for Sender {
    type User = User;
    type Wire = Wire;

    fn user(&mut self, _: usize) -> User {
        User::default()
    }

    fn encode(&mut self, user: &mut User, wire: &mut Wire, out: &mut Vec<u8>) -> Next {
        if std::mem::take(&mut user.turned_away) && self.pause_ns > 0 {
            return Next::Pause(self.pause_ns);
        }
        let (first, part) = self.dealt;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed).saturating_sub(first);
        let number = first.saturating_add(part.number(number));
        let begins = out.len();
        self.requests.write(number, out);
        user.trace = self.traces.as_ref().and_then(Traces::next);
        if let Some(trace) = user.trace {
            insert_parent(trace, begins, out);
        }
        if let Some(every) = self.stamps {
            wire.asking.ask(every, begins, out);
        }
        self.tally.sent += 1;
        Next::Send(Op { label: 0, tag: 0 })
    }

    fn decode(
        &mut self,
        user: &mut User,
        wire: &mut Wire,
        op: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        if op.is_none() {
            match ends_idle_connection(bytes) {
                Some(true) => return Step::Leave { consumed: bytes.len() },
                Some(false) => {}
                None => return Step::Need { consumed: 0 },
            }
            let text = || "sent bytes that nobody asked for".to_owned();
            return self.garbled(bytes.len(), None, text);
        }
        let step = match wire.coming.take() {
            None => self.head(user, wire, bytes),
            Some(coming) => self.body(user, wire, coming, bytes, 0),
        };
        traced_step(step, user.trace)
    }

    /// A body without a length is complete when the connection ends; any other was cut.
    fn eof(&mut self, user: &mut User, wire: &mut Wire, _: Op) -> Answer {
        match wire.coming.take() {
            Some(coming) if coming.body.ends_with_the_connection() => {
                traced_answer(self.judge(user, &coming), user.trace)
            }
            cut => {
                self.complaint.get_or_insert_with(|| {
                    "closed the connection before its answer was complete".to_owned()
                });
                let code = cut.map(|coming| coming.head.status);
                Answer { code, ..Answer::failed(FailureKind::Closed) }
            }
        }
    }

    fn tells_residence(&self, wire: &Wire) -> bool {
        wire.asking.tells()
    }

    fn residence(&mut self, wire: &mut Wire) -> Option<(u32, Residence)> {
        wire.asking.take()
    }

    fn complaint(&self) -> Option<String> {
        self.complaint.clone()
    }
}

#[cfg(test)]
mod tests;
