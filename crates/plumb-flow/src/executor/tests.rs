//! Executions over a queue in memory and a unit of work that does what a test says.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use plumb_measure::Span;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::{Executor, ExecutorSettings, Outcome, Outsides, Reply, Timings, wait_for};
use crate::live::{Live, Version};
use crate::memory_queue::MemoryQueue;
use plumb_data::Origin;
use plumb_queue::{Execution, ExecutionId, Filter, Message, Queue, State};
use plumb_serve::Log;
use plumb_transaction::xslt::{Stylesheets, XsltLimits};
use plumb_transaction::{
    BackEndAnswer, BackEndRequest, FailureKind, Outside, OutsideError, Retry, SqlAnswer,
    SqlRequest, UnitOfWork, XsltRequest,
};

/// What a table holds, and what its server says of statements.
#[derive(Debug, Default)]
struct Table {
    /// Texts that were committed, with the executions that wrote them.
    rows: Vec<(ExecutionId, String)>,
    /// Statements with this value are answered so, so many times.
    trouble: BTreeMap<String, (OutsideError, u32)>,
    /// Commits so far.
    commits: u32,
    /// The next commit breaks off.
    breaks_off: bool,
    /// Calls are committed together.
    joins: bool,
}

#[derive(Clone, Debug, Default)]
struct Tables(Arc<Mutex<Table>>);

impl Tables {
    fn trouble(&self, value: &str, error: OutsideError, times: u32) {
        self.0.lock().unwrap().trouble.insert(value.into(), (error, times));
    }

    fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().rows.iter().map(|(_, text)| text.clone()).collect()
    }
}

impl Outsides for Tables {
    fn unit(&self, _: &Version, _: Origin) -> Box<dyn UnitOfWork + Send> {
        Box::new(Writing { table: Arc::clone(&self.0), begun: Vec::new() })
    }

    fn direct(&self, version: &Version) -> Box<dyn UnitOfWork + Send> {
        self.unit(version, Origin::default())
    }
}

/// Messages that were begun, each with what it has written.
#[derive(Debug)]
struct Writing {
    table: Arc<Mutex<Table>>,
    begun: Vec<(ExecutionId, Vec<String>)>,
}

impl Outside for Writing {
    fn sql(&mut self, request: &SqlRequest<'_>) -> Result<SqlAnswer, OutsideError> {
        assert!(!request.text.contains("BREAKS"), "as the test wanted");
        let value = request.values.first().copied().flatten().unwrap_or("").to_owned();
        if let Some((error, times)) = self.table.lock().unwrap().trouble.get_mut(&value)
            && *times > 0
        {
            *times -= 1;
            return Err(error.clone());
        }
        self.begun.last_mut().unwrap().1.push(value);
        Ok(SqlAnswer { changed: 1, first: Vec::new() })
    }

    fn call(&mut self, _: &BackEndRequest<'_>) -> Result<BackEndAnswer, OutsideError> {
        Ok(BackEndAnswer::default())
    }

    fn transform(&mut self, _: &XsltRequest<'_>) -> Result<Vec<u8>, OutsideError> {
        Ok(Vec::new())
    }
}

impl UnitOfWork for Writing {
    fn begin(&mut self, id: ExecutionId) {
        self.begun.push((id, Vec::new()));
    }

    fn undo(&mut self) {
        self.begun.pop();
    }

    fn takes_more(&self) -> bool {
        self.table.lock().unwrap().joins
    }

    fn commit(&mut self) -> Vec<(ExecutionId, Result<(), OutsideError>)> {
        let mut table = self.table.lock().unwrap();
        table.commits += 1;
        if std::mem::take(&mut table.breaks_off) {
            drop(table); // a mutex is poisoned by whoever breaks off with it
            panic!("as the test wanted");
        }
        let done = self.begun.drain(..).map(|(id, texts)| {
            table.rows.extend(texts.into_iter().map(|text| (id, text)));
            (id, Ok(()))
        });
        done.collect()
    }
}

/// An executor over transactions that a test writes.
struct Bench {
    executor: Arc<Executor>,
    queue: Arc<MemoryQueue>,
    tables: Tables,
    working: mpsc::Receiver<super::Never>,
    folder: TempDir,
    _told: mpsc::Receiver<String>,
}

const WRITE: &str = "persist = \"always\"\n[parameters]\ntext = \"\"\n\
    [[action]]\nlog = \"writes ${text}\"\n\
    [[action]]\nsql = \"INSERT INTO T VALUES (${text})\"\nserver = \"db\"\n\
    [[action]]\nrespond = \"wrote ${text}\"\nstatus = 201\n";

const NOW: Retry = Retry { times: 2, interval: Span::from_ns(0), factor: 1 };

const SETTINGS: ExecutorSettings = ExecutorSettings {
    executions: 2,
    calls: 10,
    workers: 1,
    batch: 10,
    retry: NOW,
    trace_size: 10_000,
};

fn bench(files: &[(&str, &str)]) -> Bench {
    bench_of(files, SETTINGS)
}

fn bench_of(files: &[(&str, &str)], settings: ExecutorSettings) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data-servers.toml"), "[server.db]\nurl = \"db\"\n").unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let stylesheets = Arc::new(Stylesheets::new(XsltLimits::default()));
    let live = Arc::new(Live::open(folder.path(), Vec::new(), stylesheets).unwrap());
    let (queue, tables) = (Arc::new(MemoryQueue::of(0)), Tables::default());
    let (events, told) = mpsc::channel();
    let executor = Arc::new(Executor::new(
        settings,
        live,
        Arc::clone(&queue) as Arc<dyn Queue>,
        Arc::new(tables.clone()),
        Arc::new(Log::new(events)),
    ));
    let working = executor.start();
    Bench { executor, queue, tables, working, folder, _told: told }
}

fn message(transaction: &str, text: &str) -> Message {
    Message {
        transaction: transaction.into(),
        parameters: vec![("text".into(), text.into())],
        media_type: "application/xml".into(),
        body: Bytes::from_static(b"<a/>"),
        order_key: None,
        idempotency_key: None,
    }
}

/// What comes of a call.
fn wait(reply: Reply) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(reply.outcome()).unwrap()
}

impl Bench {
    fn call(&self, transaction: &str, text: &str) -> Outcome {
        wait(self.executor.call(message(transaction, text), None, None).unwrap())
    }

    fn accept(&self, transaction: &str, text: &str) -> ExecutionId {
        let accepted = self.queue.accept(message(transaction, text));
        accepted.blocking_recv().unwrap().unwrap().id
    }

    /// Ends everything and waits for the threads.
    fn end(&self) {
        self.executor.close();
        self.queue.close();
        assert!(wait_for(&self.working, Span::from_ms(120_000)));
    }

    /// The execution once it has ended.
    fn ended(&self, id: ExecutionId) -> Execution {
        self.queue.wait_for(Duration::from_secs(120), |state| {
            let found = state.get(&id)?;
            matches!(found.state, State::Done | State::Failed).then(|| found.clone())
        })
    }
}

#[test]
fn a_call_answers_with_the_response_of_its_transaction() {
    let bench = bench(&[("write.toml", WRITE)]);
    let outcome = bench.call("write", "one");
    let completed = outcome.result.unwrap();
    assert_eq!((completed.status, completed.text.as_str()), (201, "wrote one"));
    assert_eq!(bench.tables.texts(), ["one"]);
    let kept = bench.ended(outcome.id);
    let trace = kept.trace.unwrap();
    assert!(trace.starts_with(&format!("write of version {}\n", bench.digest())), "{trace}");
    assert!(trace.contains("log in line 5: logs writes one\n"), "{trace}");
    assert_eq!(bench.executor.synchronous.figures().done, 1);
    bench.end();
}

impl Bench {
    fn digest(&self) -> String {
        self.executor.live.current().digest.clone()
    }
}

#[test]
fn a_message_is_tried_again_only_when_that_may_help() {
    let bench = bench(&[("write.toml", WRITE)]);
    let lost = OutsideError::Lost("db is not there".into());
    bench.tables.trouble("twice", lost.clone(), 2);
    bench.tables.trouble("always", lost, u32::MAX);
    bench.tables.trouble("never", OutsideError::Refused("db says no".into()), u32::MAX);
    let ids = ["twice", "always", "never", "fine"].map(|text| bench.accept("write", text));
    let [twice, always, never, fine] = ids.map(|id| bench.ended(id));
    assert_eq!((twice.state, twice.failures), (State::Done, 2));
    assert_eq!((always.state, always.failures), (State::Failed, 3));
    assert!(always.error.unwrap().contains("db is not there"));
    assert_eq!((never.state, never.failures), (State::Failed, 1));
    assert!(never.error.unwrap().contains("db says no"));
    assert_eq!((fine.state, fine.failures), (State::Done, 0));
    let mut texts = bench.tables.texts();
    texts.sort();
    assert_eq!(texts, ["fine", "twice"]);
    let counts = bench.executor.queued.figures();
    assert_eq!((counts.done, counts.again, counts.failed), (2, 4, 2));
    bench.end();
}

#[test]
fn an_execution_that_breaks_off_is_an_error_of_its_own() {
    let panics = WRITE.replace("INTO T", "INTO BREAKS");
    let bench = bench(&[("panics.toml", &panics), ("write.toml", WRITE)]);
    let outcome = bench.call("panics", "x");
    let failed = outcome.result.unwrap_err();
    assert!(failed.to_string().contains("the execution broke off"), "{failed}");
    assert_eq!(failed.kind, FailureKind::Refused);
    let dead = bench.ended(bench.accept("panics", "x"));
    assert_eq!((dead.state, dead.failures), (State::Failed, 1));
    // the threads are as good as before
    assert!(bench.call("write", "one").result.is_ok());
    assert_eq!(bench.ended(bench.accept("write", "two")).state, State::Done);
    assert_eq!(bench.tables.texts(), ["one", "two"]);
    bench.end();
}

#[test]
fn a_commit_that_breaks_off_is_tried_again_and_never_taken_for_done() {
    let bench = bench(&[("write.toml", WRITE)]);
    bench.tables.0.lock().unwrap().breaks_off = true;
    let done = bench.ended(bench.accept("write", "one"));
    assert_eq!((done.state, done.failures), (State::Done, 1));
    assert_eq!(bench.tables.texts(), ["one"]);
    bench.tables.0.lock().unwrap().breaks_off = true;
    let failed = bench.call("write", "two").result.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Lost);
    bench.end();
}

#[test]
fn what_is_kept_is_what_the_transaction_wants() {
    let of = |persist: &str| WRITE.replace("persist = \"always\"", persist);
    let (on_error, never) = (of("persist = \"on-error\""), of("persist = \"never\""));
    let bench = bench(&[("on-error.toml", &on_error), ("never.toml", &never)]);
    bench.tables.trouble("no", OutsideError::Refused("db says no".into()), u32::MAX);
    assert!(bench.call("on-error", "one").result.is_ok());
    let failed = bench.call("on-error", "no");
    assert!(bench.call("never", "no").result.is_err());
    let kept = bench.queue.list(&Filter { most: 10, ..Filter::default() }).unwrap();
    assert_eq!(kept.iter().map(|it| it.id).collect::<Vec<_>>(), [failed.id]);
    assert!(kept[0].trace.as_deref().unwrap().contains("failed: "), "{kept:?}");
    // a dead message of the queue stays, whatever is kept of what it did
    let dead = bench.ended(bench.accept("never", "no"));
    assert_eq!((dead.state, dead.trace), (State::Failed, None));
    bench.end();
}

#[test]
fn a_time_limit_ends_an_execution() {
    let limited = format!("time-limit = \"0s\"\n{WRITE}");
    let bench = bench(&[("write.toml", &limited)]);
    let failed = bench.call("write", "one").result.unwrap_err();
    assert_eq!(failed.kind, FailureKind::TimeLimit);
    assert!(failed.to_string().contains("time-limit"), "{failed}");
    assert!(bench.tables.texts().is_empty());
    bench.end();
}

#[test]
fn a_transaction_of_its_own_says_how_often_and_one_that_is_gone_is_none() {
    let once = format!("retry = {{ times = 0 }}\n{WRITE}");
    let bench = bench(&[("once.toml", &once), ("write.toml", WRITE)]);
    bench.tables.trouble("x", OutsideError::Lost("db is not there".into()), u32::MAX);
    assert_eq!(bench.ended(bench.accept("once", "x")).failures, 1);
    fs::remove_file(bench.folder.path().join("once.toml")).unwrap();
    bench.executor.live.reload();
    let gone = bench.ended(bench.accept("once", "y"));
    assert!(gone.error.unwrap().contains("there is no transaction `once` any more"));
    bench.end();
}

#[test]
fn calls_beyond_the_limit_are_sent_away() {
    let calls = Arc::new(super::calls::Calls::new(1, 1));
    let executor = bench(&[("write.toml", WRITE)]);
    let call = || {
        let (reply, outcome) = tokio::sync::oneshot::channel();
        let version = executor.executor.live.current();
        let message = message("write", "x");
        let call = super::Call {
            message,
            trace: None,
            version,
            arrived_ns: 0,
            waits: false,
            reply,
            memory: None,
        };
        (call, outcome)
    };
    let ((first, heard), (second, _)) = (call(), call());
    assert!(calls.put(first));
    assert!(!calls.put(second));
    // whoever has gone is passed over
    drop(heard);
    calls.close();
    assert!(calls.take().is_none());
    executor.end();
}

#[test]
fn a_call_that_is_given_up_leaves_its_place_and_its_memory_to_others() {
    // no thread takes the calls
    let bench = bench_of(&[("write.toml", WRITE)], ExecutorSettings { executions: 0, ..SETTINGS });
    let memory = Arc::new(Semaphore::new(3));
    let call = || {
        let share = Arc::clone(&memory).try_acquire_owned().ok();
        bench.executor.call(message("write", "x"), None, share)
    };
    let mut replies: Vec<Reply> = (0..3).map(|_| call().unwrap()).collect();
    assert_eq!((bench.executor.calls_waiting(), memory.available_permits()), (3, 0));
    drop(replies.remove(1));
    assert_eq!((bench.executor.calls_waiting(), memory.available_permits()), (2, 1));
    drop(replies);
    assert_eq!((bench.executor.calls_waiting(), memory.available_permits()), (0, 3));
    let crowd: Vec<_> = (0..SETTINGS.calls).map(|_| call()).collect();
    assert!(crowd.iter().all(Result::is_ok) && call().is_err());
    bench.end();
}

#[test]
fn memory_is_set_aside_until_a_call_is_done() {
    let bench = bench(&[("write.toml", WRITE)]);
    let memory = Arc::new(Semaphore::new(1));
    let share = Arc::clone(&memory).try_acquire_owned().ok();
    let outcome = wait(bench.executor.call(message("write", "one"), None, share).unwrap());
    assert!(outcome.result.is_ok());
    assert_eq!(memory.available_permits(), 1);
    bench.end();
}

#[test]
fn a_commit_of_several_calls_is_counted_once() {
    // no thread takes the calls before all of them are there
    let bench = bench_of(&[("write.toml", WRITE)], ExecutorSettings { executions: 0, ..SETTINGS });
    bench.tables.0.lock().unwrap().joins = true;
    let call = |at: usize| bench.executor.call(message("write", &at.to_string()), None, None);
    let replies: Vec<Reply> = (0..SETTINGS.calls).map(|at| call(at).unwrap()).collect();
    bench.executor.close();
    bench.executor.do_calls();
    let timings: Vec<Timings> = replies.into_iter().map(|reply| wait(reply).timings).collect();
    assert_eq!(bench.tables.0.lock().unwrap().commits, 1);
    // every caller waited for the commit
    let commit_ns = timings.iter().map(|it| it.commit_ns).min().unwrap();
    let own_ns: u64 = timings.iter().map(|it| it.data_ns - it.commit_ns).sum();
    let counted = bench.executor.synchronous.figures();
    assert!(counted.data_ns <= own_ns + commit_ns, "{counted:?}: {own_ns} and {commit_ns}");
    let own_ns: u64 = timings.iter().map(|it| it.execution_ns - it.commit_ns).sum();
    assert!(counted.execution_ns <= own_ns + commit_ns, "{counted:?}: {own_ns} and {commit_ns}");
    bench.end();
}
