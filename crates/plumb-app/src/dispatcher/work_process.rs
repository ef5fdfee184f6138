//! A work process: a thread with its own database session, which has one step at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hyper::StatusCode;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;

use super::Dispatcher;
use super::board::Waited;
use crate::answer::{Answer, Failure, Timings};
use crate::asked::Asked;
use crate::database::Database;
use crate::dialog;
use crate::services::Services;
use crate::step::Step;
use plumb_serve::Log;

/// Steps that follow each other without a look at the processor time of their work process.
const UNREAD: u32 = 32;

/// Does steps as process `number` until the queue is closed.
pub(crate) fn work(dispatcher: &Dispatcher, services: &Services, log: &Log, number: usize) {
    let process = Process { dispatcher, services, log, number };
    let mut database = Database::new(dispatcher.target.clone()).keeps_reading();
    let (mut ended, mut unread) = (None, 0);
    let look = || dispatcher.board.spent(number, clock::thread_cpu_ns());
    let rest = |database: &mut Database| {
        database.rest();
        look();
    };
    while let Some(job) = dispatcher.queue.take(ended, || rest(&mut database)) {
        let began_ns = MonotonicClock.now_ns();
        let queued_ns = began_ns.saturating_sub(job.asked.arrived_ns);
        let waited = Waited { queued_ns, found: job.found };
        let path = job.asked.request.path();
        dispatcher.board.begin(number, path, waited, &database, began_ns);
        let mut answer = process.perform(&mut database, &job.asked, began_ns);
        answer.timings.queue_ns = queued_ns;
        dispatcher.board.end(number, &answer, &database, MonotonicClock.now_ns());
        // a call of the kernel, which is left out while steps follow each other
        unread = if job.more && unread < UNREAD { unread + 1 } else { 0 };
        if unread == 0 {
            look();
        }
        ended = Some(job.asked.priority);
        dispatcher.answers.give(job.reply, answer);
    }
}

struct Process<'a> {
    dispatcher: &'a Dispatcher,
    services: &'a Services,
    log: &'a Log,
    number: usize,
}

impl Process<'_> {
    fn perform(&self, database: &mut Database, asked: &Asked, began_ns: u64) -> Answer {
        let number = self.number;
        let (connected, before) = (database.connected(), database.times());
        let mut step = Step::new(self.services, self.log, database, asked);
        // a step that breaks off ends itself and nothing else: its database session goes with it
        let done = catch_unwind(AssertUnwindSafe(|| dialog::perform(&mut step)));
        let (load, lock_ns) = (step.load, step.lock_ns.get());
        let called = std::mem::take(&mut step.called);
        let broken = done.is_err();
        let mut answer = done.unwrap_or_else(|_| {
            let text = "the step broke off; the log of the server says where";
            asked.errors.answer(&Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text))
        });
        let database_times = database.times().since(before).since(load.database);
        if broken {
            self.dispatcher.board.dump(number);
            let path = asked.request.path();
            self.log.tell(format!("work process {number}: {path} broke off"));
            database.abandon();
        } else if connected && !database.connected() {
            self.log.tell(format!("work process {number} lost its database session"));
        }
        let service_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
        let elsewhere_ns = database_times.spent_ns;
        let known_ns = load.time_ns + elsewhere_ns + lock_ns + called.ns;
        answer.timings = Timings {
            queue_ns: 0,
            load_ns: load.time_ns,
            database_ns: elsewhere_ns,
            way_ns: database_times.way_ns,
            log_on_ns: database_times.log_on_ns,
            lock_ns,
            called,
            render_ns: service_ns.saturating_sub(known_ns),
            total_ns: 0,
        };
        answer
    }
}
