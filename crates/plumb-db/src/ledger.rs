//! Everything that the callers of one load write down.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_engine::{Driven, Ending, Extent, LoadPlan, Outlet, Pace, clock};
use plumb_measure::{
    Answer, FailureKind, Moments, Pacer, Recorder, RoundTripParts, Series, ServerHalf, Slowest,
    Transports,
};

use crate::complaints::Complaints;
use crate::database::Opened;
use crate::looks::Seen;
use crate::rest::Passes;
use crate::statement::Statement;
use crate::stream::Traffic;
use plumb_serve::StampedCall;

/// The parts of a call that are measured on their own.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// Due, but no caller was free.
    pub(crate) due: Series,
    /// In the queue of the pool.
    pub(crate) queue: Series,
    /// Making the connection of a call: the whole of it.
    pub(crate) connect: Series,
    /// TLS and login of such a connection, without the transport and the handshake of TLS.
    pub(crate) startup: Series,
    /// From the statement to the end of its answer.
    pub(crate) exchange: Series,
    /// A message there and back that asks for no work.
    pub(crate) wire: Series,
    /// Between two readings of the server's clock, the statement in between.
    pub(crate) statement: Series,
    /// The same with a message in between that asks for no work.
    pub(crate) empty: Series,
    /// Why something failed, the first of the recorded part.
    pub(crate) complaints: Complaints<FailureKind>,
}

/// The moments of one call, nanoseconds on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// When it should have begun.
    pub(crate) due: u64,
    /// When a caller took it up.
    pub(crate) taken: u64,
    /// When there was a connection for it, or when it began to make one.
    pub(crate) sent: u64,
    /// How its connection was made, where it made one.
    pub(crate) opened: Option<Opened>,
}

/// Counters as they stood when the recorded part began.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    cpu_ns: u64,
    passes: u64,
    idle: u64,
    sent: u64,
    received: u64,
}

/// What one load writes down. Calls that were due in the warm-up count, and leave no time, but for those
/// that hung: they end behind it without an answer.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) recorder: Recorder,
    outlet: Outlet,
    pub(crate) found: Observations,
    pacer: Option<Pacer>,
    /// Start of the recorded part.
    from: u64,
    until: Option<u64>,
    count: Option<u64>,
    begun: u64,
    /// Calls of the recorded part that ended.
    ended: u64,
    /// Calls of the recorded part that were taken up and have no connection yet.
    waiting: u64,
    last: u64,
    recording: bool,
    pub(crate) warm_up_operations: u64,
    /// Since when no connection can be made.
    pub(crate) down_since: Option<u64>,
    pub(crate) gave_up: bool,
    passes: Arc<Passes>,
    traffic: Arc<Traffic>,
    mark: Mark,
}

/// The recorded part, when it is over.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) found: Observations,
    pub(crate) began_ns: u64,
    pub(crate) duration_ns: u64,
    pub(crate) warm_up_operations: u64,
    pub(crate) cpu_ns: u64,
}

impl Closed {
    /// What the load reports beside its records, where it came to its end.
    pub(crate) fn driven(&self) -> Driven<()> {
        Driven {
            protocol: (),
            ending: Ending::Complete,
            began_ns: self.began_ns,
            duration_ns: self.duration_ns,
            warm_up_operations: self.warm_up_operations,
            cpu_ns: self.cpu_ns,
            slowest: Slowest::default(), // calls are not watched one by one
            tcp: None,
            transports: Transports::default(),
            handshake_complaint: None, // connections have a complaint of their own here
        }
    }
}

impl Ledger {
    /// A ledger of `plan`, whose load begins at `now`, warm-up first.
    pub(crate) fn new(
        plan: &LoadPlan,
        now: u64,
        mut outlet: Outlet,
        passes: Arc<Passes>,
        traffic: Arc<Traffic>,
    ) -> Self {
        let from = now + plan.warmup.ns();
        let (until, count) = match plan.share(0).extent(plan.extent) {
            Extent::For(time) => (Some(from + time.ns()), None),
            Extent::Count(count) => (None, Some(count)),
            Extent::Users => (None, None), // only scripts end so
        };
        outlet.start(from);
        Self {
            recorder: Recorder::new(1),
            outlet,
            found: Observations::default(),
            pacer: match plan.pace {
                Pace::Rate(rate) => {
                    let (per_s, offset_ns) = plan.share(0).rate(rate);
                    Some(Pacer::new(now.saturating_add(offset_ns), per_s))
                }
                Pace::AsFast | Pace::Delay(_) => None,
            },
            from,
            until,
            count,
            begun: 0,
            ended: 0,
            waiting: 0,
            last: from,
            recording: false,
            warm_up_operations: 0,
            down_since: None,
            gave_up: false,
            passes,
            traffic,
            mark: Mark::default(),
        }
    }

    /// The next due time of a load that has a rate; what is older than `patience_ns` is dropped.
    /// `None` when there is none, or when the load is over.
    pub(crate) fn claim(&mut self, now: u64, patience_ns: u64) -> Option<u64> {
        let too_old = now.saturating_sub(patience_ns);
        loop {
            let due = self.pacer.as_ref()?.next_due();
            if self.over(due) {
                return None;
            }
            if due < too_old {
                self.drop_until(too_old.min(self.bound_of(due)));
                continue;
            }
            return self.pacer.as_mut()?.take(due);
        }
    }

    /// The end of the part, warm-up or recorded, that `due` belongs to.
    fn bound_of(&self, due: u64) -> u64 {
        let end = if due < self.from { self.from } else { self.until.unwrap_or(u64::MAX) };
        end.saturating_sub(1).max(due)
    }

    fn drop_until(&mut self, moment: u64) {
        let Some(pacer) = &mut self.pacer else { return };
        let recorded = pacer.next_due() >= self.from;
        let skipped = pacer.skip(moment);
        if recorded {
            self.start_recording();
            let left = self.count.map_or(u64::MAX, |count| count.saturating_sub(self.begun));
            let dropped = skipped.min(left);
            self.recorder.dropped += dropped;
            self.begun += dropped;
        }
    }

    /// True when work that is due then is no part of the load any more.
    pub(crate) fn over(&self, due: u64) -> bool {
        self.gave_up
            || self.until.is_some_and(|until| due >= until)
            || self.count.is_some_and(|count| self.begun >= count)
    }

    /// Somebody takes on the work that is due then, and may still wait for that moment.
    pub(crate) fn reserve(&mut self, due: u64) {
        self.begun += u64::from(due >= self.from);
    }

    /// Work that was due then begins.
    pub(crate) fn begin(&mut self, due: u64) {
        if due >= self.from {
            self.start_recording();
        }
    }

    /// A call that was due then waits for a connection.
    pub(crate) fn waits(&mut self, due: u64) {
        self.waiting += u64::from(due >= self.from);
    }

    /// A call that was due then waits no longer.
    pub(crate) fn waited(&mut self, due: u64) {
        self.waiting -= u64::from(due >= self.from);
    }

    /// How late work began although somebody was free for it.
    pub(crate) fn lag(&mut self, due: u64, now: u64) {
        if due >= self.from {
            self.start_recording();
            self.recorder.lag.record(now.saturating_sub(due));
        }
    }

    /// Forgets the warm-up, before the first that is counted of the recorded part: a call, a drop, a failed
    /// connection or a lag.
    fn start_recording(&mut self) {
        if !std::mem::replace(&mut self.recording, true) {
            self.recorder.clear_load();
            self.mark = self.counters();
        }
    }

    fn counters(&self) -> Mark {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Mark {
            cpu_ns: clock::thread_cpu_ns(),
            passes: of(&self.passes.all),
            idle: of(&self.passes.idle),
            sent: of(&self.traffic.sent),
            received: of(&self.traffic.received),
        }
    }

    /// Books the connection of a session.
    pub(crate) fn connected(&mut self, opened: Opened) {
        self.down_since = None;
        opened.times_into(&mut self.recorder);
    }

    /// Books a connection that could not be made, for the reason that `why` gives; true when there was
    /// none for `patience_ns`.
    pub(crate) fn not_connected(
        &mut self,
        kind: FailureKind,
        why: impl FnOnce() -> String,
        now: u64,
        patience_ns: u64,
    ) -> bool {
        if now >= self.from {
            self.start_recording();
            self.found.complaints.connection.get_or_insert_with(why);
        }
        self.recorder.connect_failures.count(kind);
        let since = *self.down_since.get_or_insert(now);
        self.gave_up |= now.saturating_sub(since) >= patience_ns;
        self.pass(now);
        self.gave_up
    }

    /// True when a call that was answered, whatever the answer was, is recorded.
    fn is_recorded(&self, call: &Call) -> bool {
        call.due >= self.from
    }

    /// Books a call that was answered with `bytes`, first at `first` and completely at `last`.
    pub(crate) fn answered(&mut self, call: &Call, first: u64, last: u64, bytes: u64) {
        if !self.is_recorded(call) {
            self.answered_of_warm_up(last);
            return;
        }
        self.start_recording();
        let Call { due, taken, sent, opened } = *call;
        self.recorder.record(0, Moments { due, sent, first, last }, Answer::ok(bytes));
        let opened_ns = opened.map_or(0, |opened| opened.total_ns);
        self.found.due.record(taken.saturating_sub(due));
        self.found.queue.record(sent.saturating_sub(taken));
        if let Some(opened) = opened {
            self.found.connect.record(opened.total_ns);
            opened.log_on_ns().iter().for_each(|ns| self.found.startup.record(*ns));
        }
        self.found.exchange.record(last.saturating_sub(sent).saturating_sub(opened_ns));
        self.ended(call, last);
    }

    /// Books what the stamps of a call say.
    pub(crate) fn stamped(&mut self, call: &Call, stamped: StampedCall) {
        if !self.is_recorded(call) {
            return;
        }
        let StampedCall { moments, stamps } = stamped;
        let times = self.recorder.round_trip(0);
        let parts = RoundTripParts::of(moments.last.saturating_sub(moments.sent), stamps);
        if let Err(why) = parts.and_then(|it| times.record(moments, it, ServerHalf::Unknown)) {
            times.leave_out(why);
        }
    }

    /// What a call usually takes from its statement to the end of its answer, nanoseconds; 0 while
    /// none is recorded.
    pub(crate) fn usual_ns(&self) -> u64 {
        self.found.exchange.times.quantile(0.5)
    }

    /// Books what a call told that was looked into.
    pub(crate) fn observed(&mut self, call: &Call, seen: Seen, now: u64) {
        if !self.is_recorded(call) {
            self.answered_of_warm_up(now);
            return;
        }
        self.start_recording();
        self.recorder.look(0);
        match seen {
            Seen::Wire(ns) => self.found.wire.record(ns),
            Seen::Server { statement_ns, empty_ns } => {
                self.found.statement.record(statement_ns);
                self.found.empty.record(empty_ns);
            }
        }
        self.ended(call, now);
    }

    /// Books a call that failed, for the reason that `why` gives where it can.
    pub(crate) fn failed(
        &mut self,
        call: &Call,
        kind: FailureKind,
        why: impl FnOnce() -> Option<String>,
        now: u64,
    ) {
        if !self.is_recorded(call) && (kind.is_of_an_answer() || now < self.from) {
            self.answered_of_warm_up(now);
            return;
        }
        self.start_recording();
        let complaints = &mut self.found.complaints.calls;
        if let Entry::Vacant(first) = complaints.entry(kind) {
            why().map(|why| first.insert(why));
        }
        let moments = Moments { due: call.due, sent: call.sent, first: now, last: now };
        self.recorder.record(0, moments, Answer::failed(kind));
        self.ended(call, now);
    }

    /// What a call of `statement` changed was not rolled back: no other is asked.
    pub(crate) fn stays(&mut self, statement: &Statement) {
        self.found.complaints.stays = Some(statement.which.named());
        self.gave_up = true;
    }

    /// A call of the warm-up was answered at `now`, or failed in it.
    fn answered_of_warm_up(&mut self, now: u64) {
        self.warm_up_operations += 1;
        let all_ended = self.count.is_some_and(|count| self.ended >= count);
        if all_ended || self.until.is_some_and(|until| now >= until) {
            self.start_recording();
            self.recorder.outlasting += 1;
        }
    }

    /// A call that is recorded ended at `now`: one that was due in the warm-up makes the recorded part no
    /// longer.
    fn ended(&mut self, call: &Call, now: u64) {
        let is_due = call.due >= self.from;
        self.ended += u64::from(is_due);
        let most = if is_due { now } else { self.until.unwrap_or(self.last) };
        self.pass(now.min(most));
    }

    /// Books a call that was due then and found no connection: it never began.
    pub(crate) fn unreached(&mut self, due: u64, now: u64) {
        if due >= self.from {
            self.recorder.dropped += 1;
            self.pass(now);
        }
    }

    /// Drops what was due by `now` and has not begun: the load stopped before its end.
    fn stopped(&mut self, now: u64) {
        let before = self.recorder.dropped;
        if self.pacer.is_some() {
            self.recorder.dropped += self.waiting;
        }
        while let Some(due) = self.pacer.as_ref().map(Pacer::next_due) {
            if due > now || self.until.is_some_and(|until| due >= until) {
                break;
            }
            self.drop_until(now.min(self.bound_of(due)));
        }
        if self.recorder.dropped > before {
            self.pass(self.until.map_or(now, |until| until.min(now)));
        }
    }

    fn pass(&mut self, now: u64) {
        self.last = self.last.max(now);
        if self.recording {
            self.outlet.pass(now, &mut self.recorder);
        }
    }

    /// Hands over what is left. `stopped_ns` is when the load stopped where that was before its end.
    pub(crate) fn close(mut self, stopped_ns: Option<u64>) -> Closed {
        stopped_ns.into_iter().for_each(|now| self.stopped(now));
        self.start_recording(); // a load that was stopped in its warm-up recorded nothing
        let (now, then) = (self.counters(), self.mark);
        self.recorder.passes += now.passes - then.passes;
        self.recorder.idle_passes += now.idle - then.idle;
        self.recorder.bytes_sent += now.sent - then.sent;
        self.recorder.bytes_received += now.received - then.received;
        self.outlet.last(self.last, &mut self.recorder);
        Closed {
            found: self.found,
            began_ns: self.from,
            duration_ns: self.last - self.from,
            warm_up_operations: self.warm_up_operations,
            cpu_ns: now.cpu_ns.saturating_sub(then.cpu_ns),
        }
    }
}
