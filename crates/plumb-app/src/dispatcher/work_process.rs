//! A work process: a thread with its own database session, which has one step at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hyper::StatusCode;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;

use crate::answer::{Answer, Failure, Timings};
use crate::database::Database;
use crate::instance::Instance;
use crate::step::{Request, Step};

/// Does steps as process `number` until the queue is closed.
pub(crate) fn work(instance: &Instance, number: usize) {
    let mut database = Database::new(instance.target.clone());
    while let Some(job) = instance.queue.take() {
        let began_ns = MonotonicClock.now_ns();
        instance.board.begin(number, job.request.path(), began_ns);
        let mut answer = perform(instance, number, &mut database, &job.request, began_ns);
        answer.timings.queue_ns = began_ns.saturating_sub(job.queued_ns);
        instance.board.end(number, &answer, &database, clock::thread_cpu_ns());
        // a client that has gone wants to know nothing
        let _ = job.reply.send(answer);
    }
}

fn perform(
    instance: &Instance,
    number: usize,
    database: &mut Database,
    request: &Request,
    began_ns: u64,
) -> Answer {
    let (connected, spent_ns) = (database.connected(), database.spent_ns());
    let mut step = Step::new(instance, database, request);
    // a step that breaks off ends itself and nothing else: its database session goes with it
    let done = catch_unwind(AssertUnwindSafe(|| step.perform()));
    let load = step.load;
    let broken = done.is_err();
    let mut answer = done.unwrap_or_else(|_| {
        let text = "the step broke off; the log of the server says where";
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text).plain()
    });
    let database_ns = database.spent_ns() - spent_ns;
    if broken {
        instance.board.dump(number);
        instance.tell(format!("work process {number}: {} broke off", request.path()));
        *database = Database::new(instance.target.clone());
    } else if connected && !database.connected() {
        instance.tell(format!("work process {number} lost its database session"));
    }
    let service_ns = MonotonicClock.now_ns().saturating_sub(began_ns);
    let elsewhere_ns = database_ns.saturating_sub(load.database_ns);
    answer.timings = Timings {
        queue_ns: 0,
        load_ns: load.time_ns,
        database_ns: elsewhere_ns,
        render_ns: service_ns.saturating_sub(load.time_ns + elsewhere_ns),
    };
    answer
}
