//! How many rows a second messages of one row each leave in a data server: drained in units of work
//! as from a queue, and one by one with a caller that waits.
//!
//! `rows FOLDER [MESSAGES] [UNIT] [WORKERS]`: FOLDER holds a `data-servers.toml` with a server
//! `plant`, where the table `plumb_rows` is made anew.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use plumb_data::{DataServers, Origin, Work};
use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;
use plumb_queue::{ExecutionId, QueueId};
use plumb_transaction::{Body, Request, Trace, Traced, Transaction, UnitOfWork as _, run};

const TRANSACTION: &str = r#"
[[action]]
repeat = "/EVENT"
assign = { tag = "TAG", value = "VALUE", text = "TEXT" }
[[action.do]]
sql = "INSERT INTO plumb_rows(tag, value, text) VALUES (${tag}, ${value}, ${text})"
server = "plant"
"#;
const TABLE: &str = "DROP TABLE IF EXISTS plumb_rows; \
    CREATE TABLE plumb_rows (tag text, value double precision, text text)";
const CALLERS: u64 = 16;

struct Untraced;

impl Trace for Untraced {
    fn traced(&mut self, _: usize, _: &str, _: Traced<'_>) {}
}

#[expect(clippy::print_stdout, reason = "its figures are what it is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("rows FOLDER [MESSAGES] [UNIT] [WORKERS]")?;
    let mut number = |default: u64| words.next().map_or(Ok(default), |word| word.parse::<u64>());
    let (messages, unit, workers) = (number(100_000)?, number(256)?, number(2)?);
    let servers = Arc::new(DataServers::read(Path::new(&folder))?);
    let transaction = Transaction::parse("rows", TRANSACTION).map_err(|wrong| wrong.to_string())?;
    let pool = servers.pool("plant").ok_or("no data server plant")?;
    pool.take()?.batch(TABLE)?;
    let first = (wall_ns() / 1_000_000) << 20;
    let next = AtomicU64::new(0);
    let origin = || Origin { queue: QueueId(1), ..Origin::default() };
    let drained = timed(workers, || {
        let mut work = servers.unit(origin());
        drain(&transaction, &mut work, &next, &Share { first, messages, unit })
    })?;
    println!(
        "drained: {:.0} rows/s in units of {unit}, {workers} workers",
        rate(messages, drained)
    );
    next.store(0, Ordering::Relaxed);
    let single = Share { first: first + messages, messages: messages / 2, unit: 1 };
    let waited = timed(CALLERS, || {
        let mut work = servers.direct();
        drain(&transaction, &mut work, &next, &single)
    })?;
    println!("waited for: {:.0} rows/s, {CALLERS} callers", rate(single.messages, waited));
    let counted = pool.take()?.row("SELECT count(*) FROM plumb_rows", &[])?;
    let counted = counted.map_or(0, |row| row.int(0));
    println!("in the table: {counted} of {}", messages + single.messages);
    println!("{:?}", pool.figures());
    Ok(())
}

/// Which messages there are, and how many are done together.
struct Share {
    first: u64,
    messages: u64,
    unit: u64,
}

/// Nanoseconds until all `threads` have done `work`.
fn timed(
    threads: u64,
    work: impl Fn() -> Result<(), String> + Sync,
) -> Result<u64, Box<dyn Error>> {
    let began_ns = MonotonicClock.now_ns();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        for thread in running {
            thread.join().map_err(|_| "a thread broke off")??;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    Ok(MonotonicClock.now_ns() - began_ns)
}

fn drain(
    transaction: &Transaction,
    work: &mut Work,
    next: &AtomicU64,
    share: &Share,
) -> Result<(), String> {
    loop {
        let from = next.fetch_add(share.unit, Ordering::Relaxed);
        if from >= share.messages {
            return Ok(());
        }
        for number in from..(from + share.unit).min(share.messages) {
            let text = "x".repeat(250);
            let message = format!(
                "<EVENT><TAG>T{}</TAG><VALUE>{number}.5</VALUE><TEXT>{text}</TEXT></EVENT>",
                number % 1_000
            );
            let body = Body::Xml(message.as_bytes());
            let request = Request { body, parameters: BTreeMap::new() };
            work.begin(ExecutionId(share.first + number));
            run(transaction, &request, &|_| None, work, &mut Untraced)
                .map_err(|failed| failed.to_string())?;
        }
        for (id, done) in work.commit() {
            done.map_err(|error| format!("{id}: {error}"))?;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown without decimals")]
fn rate(rows: u64, ns: u64) -> f64 {
    rows as f64 * 1e9 / ns as f64
}
