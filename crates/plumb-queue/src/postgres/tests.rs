//! The shared queue against a server of the test's own. Without `PostgreSQL` they say so and pass.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_serve::database::{DatabaseLimits, DatabaseTarget};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::model::{Pair, Step, step};
use super::super::testing::{
    HeldClock, ServerProcess, accept, again, bodies, claim, dead, flush, kept, keyed, message,
    not_tried, retries_meet_the_limit, settle,
};
use super::super::{Ending, Presence, State};
use super::*;

/// The user `nobody`: the server refuses root.
const NOBODY: u32 = 65_534;
const LEASE_MS: u64 = 60_000;

/// A server of this test.
struct Server {
    process: ServerProcess,
}

impl Server {
    /// `None` where none is installed, which is said.
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            not_tried("PostgreSQL is not installed (package postgresql)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let data = folder.path().join("data").display().to_string();
        let words = ["-D", &data, "-U", "plumb", "-A", "trust", "--no-sync", "--encoding=UTF8"];
        let made = as_nobody(&programs.join("initdb"), &words).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let process = ServerProcess::start(folder, command, "ready to accept connections");
        Some(Self { process })
    }

    fn target(&self) -> DatabaseTarget {
        let url =
            format!("postgres://plumb@127.0.0.1:{}/postgres?sslmode=disable", self.process.port);
        DatabaseTarget::parse(&url, None, DatabaseLimits::default()).unwrap()
    }

    fn open(&self, clock: &Arc<HeldClock>) -> PostgresQueue {
        let lease = Span::from_ms(LEASE_MS);
        PostgresQueue::open(&self.target(), QueueLimits::default(), lease, clock.clone()).unwrap()
    }

    /// Nothing of a queue is left.
    fn clear(&self) {
        let tables = ["message", "key", "transaction", "number", "runtime"]
            .map(|name| format!("DROP TABLE IF EXISTS plumb_queue_{name}"));
        Database::new(self.target()).batch(&tables.join(";")).unwrap();
    }
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists())
}

fn as_nobody(program: &Path, words: &[&str]) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("/usr/bin/setpriv");
        let id = |name: &str| format!("--{name}={NOBODY}");
        command.args([id("reuid"), id("regid"), "--clear-groups".into()]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(words);
    command
}

/// What starts a server.
fn command(folder: &Path, port: u16) -> Command {
    let (data, port) = (folder.join("data").display().to_string(), port.to_string());
    let words = [
        "-D",
        &data,
        "-p",
        &port,
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
        "-c",
        "fsync=off",
    ];
    let mut command = as_nobody(&programs().unwrap().join("postgres"), &words);
    command.current_dir(folder);
    command
}

#[test]
fn the_shared_queue_does_what_the_model_does() {
    let Some(server) = Server::start() else { return };
    let forward = step().prop_filter("its clock is that of hosts that agree", |step| {
        !matches!(step, Step::SetBack(_))
    });
    let config =
        ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&prop::collection::vec(forward, 1..60), |steps| {
            server.clear();
            Pair::new(|clock| Box::new(server.open(clock))).run(steps)
        })
        .unwrap();
}

#[test]
fn runtimes_agree_on_the_id_of_their_queue_and_no_other_has_it() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open(&clock), server.open(&clock));
    assert_eq!(first.id(), second.id());
    drop(second);
    // tables that have none get one
    Database::new(server.target())
        .batch("DELETE FROM plumb_queue_number WHERE name = 'queue'")
        .unwrap();
    let (third, fourth) = (server.open(&clock), server.open(&clock));
    assert_ne!(third.id(), first.id());
    assert_eq!(third.id(), fourth.id());
}

#[test]
fn two_runtimes_share_the_work_and_one_takes_over_what_a_lost_one_had() {
    let Some(server) = Server::start() else { return };
    let (here, there) = (HeldClock::new(), HeldClock::new());
    let (first, second) = (server.open(&here), server.open(&there));
    for number in 0..4 {
        accept(&first, message("orders", &number.to_string())).unwrap();
    }
    accept(&second, keyed("stocks", "a", "k")).unwrap();
    accept(&first, keyed("stocks", "b", "k")).unwrap();
    let mine = claim(&first, 2);
    assert_eq!(bodies(&mine), ["0", "1"]);
    let theirs = [claim(&second, 9), claim(&second, 9)].concat();
    assert_eq!(bodies(&theirs), ["2", "3", "a"], "b waits for a, wherever that is");
    assert!(claim(&first, 9).is_empty());
    let presence = |queue: &PostgresQueue| -> Vec<(Presence, u64)> {
        queue.runtimes().unwrap().iter().map(|it| (it.presence, it.running)).collect()
    };
    assert_eq!(presence(&second), [(Presence::Heard, 2), (Presence::Own, 3)]);
    settle(&first, mine[0].id, Ending::Done);
    there.pass(LEASE_MS + 1); // the first one is not heard of for so long
    let over = claim(&second, 9);
    assert_eq!(bodies(&over), ["1"]);
    assert_eq!(presence(&second)[0].0, Presence::Lost);
    settle(&first, mine[1].id, again(1)); // it is there again, and too late
    settle(&second, over[0].id, dead());
    let state = second.find(over[0].id).unwrap().unwrap();
    assert_eq!((state.state, state.error.as_deref()), (State::Failed, Some("refused")));
    second.close();
    assert_eq!(presence(&first).len(), 1, "one that ends is not there");
    let back = [claim(&first, 9), claim(&first, 9)].concat();
    assert_eq!(bodies(&back), ["2", "3", "a"], "one that ends leaves its messages at once");
}

#[test]
fn a_dead_message_that_is_done_again_waits_for_what_of_its_key_is_under_way() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open(&clock), server.open(&clock));
    for body in ["a", "b", "c"] {
        accept(&first, keyed("orders", body, "k")).unwrap();
    }
    let dying = claim(&first, 9);
    assert_eq!(bodies(&dying), ["a"]);
    settle(&first, dying[0].id, dead());
    let next = claim(&first, 9);
    assert_eq!(bodies(&next), ["b"]);
    assert_eq!(first.retry(&Filter { most: 9, ..Filter::default() }).unwrap(), 1);
    let shown = first.find(dying[0].id).unwrap().unwrap();
    assert_eq!((shown.state, shown.at_ms), (State::Waiting, None));
    assert!(claim(&first, 9).is_empty() && claim(&second, 9).is_empty());
    settle(&first, next[0].id, Ending::Done);
    let again = claim(&second, 9);
    assert_eq!(bodies(&again), ["a"]);
    assert!(claim(&first, 9).is_empty());
    settle(&second, again[0].id, Ending::Done);
    assert_eq!(bodies(&claim(&first, 9)), ["c"]);
}

#[test]
fn all_that_is_kept_no_longer_is_cleaned_away_at_once() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open(&clock);
    let count = |table: &str| {
        let statement = format!("SELECT count(*) FROM plumb_queue_{table}");
        Database::new(server.target()).row(&statement, &[]).unwrap().unwrap().int(0)
    };
    for number in 0..600 {
        let key = Some(number.to_string());
        accept(&queue, Message { idempotency_key: key, ..message("orders", "1") }).unwrap();
        let settled =
            Settled { id: queue.next_id(), ending: Ending::Done, kept: kept("trace", 1_000) };
        queue.note(message("orders", "2"), settled).unwrap();
    }
    flush(&queue);
    assert_eq!((count("message"), count("key")), (1_200, 600));
    clock.pass(25 * 3_600_000);
    flush(&queue); // the beat comes behind what somebody waits for
    flush(&queue);
    assert_eq!((count("message"), count("key")), (600, 0));
    assert_eq!(queue.figures().waiting, 600);
}

#[test]
fn a_server_that_was_away_gets_the_settlements_afterwards() {
    let Some(mut server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open(&clock);
    accept(&queue, message("orders", "1")).unwrap();
    let claimed = claim(&queue, 1);
    server.process.interrupt(); // fast
    let refused = accept(&queue, message("orders", "2")).unwrap_err();
    assert!(matches!(refused, QueueError::Store(_)), "{refused}");
    let done = Settled { id: claimed[0].id, ending: Ending::Done, kept: None };
    queue.settle(vec![done]).unwrap();
    assert!(queue.claim(1, Duration::ZERO).is_err());
    server.process.again();
    // the first calls find their sessions gone
    let come = (0..10).any(|_| accept(&queue, message("orders", "3")).is_ok());
    assert!(come);
    flush(&queue);
    assert!(queue.find(claimed[0].id).unwrap_or(None).is_none());
    assert_eq!(queue.figures().waiting, 1);
}

#[test]
fn what_the_server_refuses_keeps_nothing_else_from_being_written() {
    let Some(server) = Server::start() else { return };
    let queue = server.open(&HeldClock::new());
    let bodies: Vec<String> = (0..9).map(|number| number.to_string()).collect();
    for body in &bodies {
        accept(&queue, message("orders", body)).unwrap();
    }
    let claimed = claim(&queue, 9);
    // while nothing is written a group gathers
    let mut other = Database::new(server.target());
    other.begin().unwrap();
    other.rows("LOCK TABLE plumb_queue_number", &[]).unwrap();
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from(state >> 33 & 15).unwrap())
    };
    // longer than the index of keys takes
    let long: String = (0..20_000).map(|_| letter()).collect();
    let accepts: Vec<_> = (0..9)
        .map(|number| {
            let idempotency_key = (number == 4).then(|| long.clone());
            queue.accept(Message { idempotency_key, ..message("stocks", "1") })
        })
        .collect();
    let done = |one: &Claimed| Settled { id: one.id, ending: Ending::Done, kept: None };
    queue.settle(claimed.iter().map(done).collect()).unwrap();
    other.commit().unwrap();
    for (number, accepted) in accepts.into_iter().enumerate() {
        let accepted = accepted.blocking_recv().unwrap();
        assert_eq!(accepted.is_err(), number == 4, "{number}: {accepted:?}");
    }
    flush(&queue);
    let figures = queue.figures();
    assert_eq!((figures.waiting, figures.running), (8, 0));
    assert!(claimed.iter().all(|one| queue.find(one.id).unwrap().is_none()));
}

#[test]
fn retries_and_drops_of_any_number_are_done_in_slices() {
    let Some(server) = Server::start() else { return };
    let queue = server.open(&HeldClock::new());
    let accepts: Vec<_> = (0..600).map(|_| queue.accept(message("orders", "12"))).collect();
    for accepted in accepts {
        accepted.blocking_recv().unwrap().unwrap();
    }
    loop {
        let claimed = claim(&queue, 100);
        if claimed.is_empty() {
            break;
        }
        claimed.iter().for_each(|one| settle(&queue, one.id, dead()));
    }
    flush(&queue);
    let mut other = Database::new(server.target());
    other
        .batch(
            "CREATE TABLE slice (change text, count bigint);
             CREATE FUNCTION note_slice() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO slice SELECT TG_OP, count(*) FROM changed; RETURN NULL; END $$;
             CREATE TRIGGER retried AFTER UPDATE ON plumb_queue_message REFERENCING NEW TABLE AS changed
             FOR EACH STATEMENT EXECUTE FUNCTION note_slice();
             CREATE TRIGGER dropped AFTER DELETE ON plumb_queue_message REFERENCING OLD TABLE AS changed
             FOR EACH STATEMENT EXECUTE FUNCTION note_slice()",
        )
        .unwrap();
    let mut slices = |change: &str| {
        let text = "SELECT max(count), sum(count)::bigint FROM slice WHERE change = $1";
        let row = other.row(text, &[Value::Text(change.into())]).unwrap().unwrap();
        (row.int(0), row.int(1))
    };
    let wanted = |most| Filter { most, ..Filter::default() };
    assert_eq!(queue.retry(&wanted(1_000)), Ok(600));
    assert_eq!(slices("UPDATE"), (256, 600));
    assert_eq!(queue.figures().waiting, 600);
    assert_eq!(queue.forget(&wanted(500)), Ok(500));
    assert_eq!(slices("DELETE"), (256, 500));
    assert_eq!((queue.figures().waiting, queue.retry(&wanted(9))), (100, Ok(0)));
}

#[test]
fn a_server_that_refuses_everything_is_not_asked_for_each_message() {
    let Some(server) = Server::start() else { return };
    let queue = server.open(&HeldClock::new());
    let mut other = Database::new(server.target());
    other
        .batch(
            "CREATE SEQUENCE tried;
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM nextval('tried'); RAISE EXCEPTION 'it only reads' USING ERRCODE = '25006'; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON plumb_queue_message
             FOR EACH STATEMENT EXECUTE FUNCTION refuse()",
        )
        .unwrap();
    // while nothing is written a group gathers
    other.begin().unwrap();
    other.rows("LOCK TABLE plumb_queue_number", &[]).unwrap();
    let accepts: Vec<_> = (0..200).map(|_| queue.accept(message("stocks", "1"))).collect();
    other.commit().unwrap();
    for accepted in accepts {
        assert!(accepted.blocking_recv().unwrap().is_err());
    }
    let tried = other.row("SELECT last_value FROM tried", &[]).unwrap().unwrap().int(0);
    assert!((2..100).contains(&tried), "{tried}");
}

#[test]
fn a_message_whose_settlement_is_refused_is_given_out_again_when_its_lease_ends() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open(&clock);
    accept(&queue, message("orders", "1")).unwrap();
    let claimed = claim(&queue, 1);
    let mut other = Database::new(server.target());
    other
        .batch(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'it only reads' USING ERRCODE = '25006'; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON plumb_queue_message
             FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .unwrap();
    let done = Settled { id: claimed[0].id, ending: Ending::Done, kept: None };
    queue.settle(vec![done]).unwrap();
    accept(&queue, message("stocks", "2")).unwrap();
    flush(&queue); // the settlement is written, as far as it can be, before this
    other.batch("DROP TRIGGER refuse ON plumb_queue_message").unwrap();
    assert_eq!(queue.figures().running, 0);
    clock.pass(LEASE_MS + 1);
    let again = [claim(&queue, 9), claim(&queue, 9)].concat();
    assert!(bodies(&again).contains(&"1"), "{again:?}");
    settle(&queue, claimed[0].id, Ending::Done);
    assert!(queue.find(claimed[0].id).unwrap().is_none());
}

#[test]
fn a_message_ends_in_the_transaction_of_the_sink() {
    let Some(server) = Server::start() else { return };
    let queue = server.open(&HeldClock::new());
    accept(&queue, message("orders", "1")).unwrap();
    let claimed = claim(&queue, 1);
    let mut sink = Database::new(server.target());
    sink.batch("CREATE TABLE row (body text)").unwrap();
    let (statement, id) = PostgresQueue::done(claimed[0].id);
    sink.transaction(|sink| {
        sink.rows("INSERT INTO row VALUES ($1)", &["1".into()])?;
        sink.rows(statement, &id)
    })
    .unwrap();
    assert!(queue.find(claimed[0].id).unwrap().is_none());
    settle(&queue, claimed[0].id, Ending::Done);
    assert_eq!(queue.figures().running, 0);
}

#[test]
fn retries_that_meet_the_limit_say_so() {
    let Some(server) = Server::start() else { return };
    let (few, lease) =
        (QueueLimits { messages: 2, ..QueueLimits::default() }, Span::from_ms(LEASE_MS));
    let queue = PostgresQueue::open(&server.target(), few, lease, HeldClock::new()).unwrap();
    retries_meet_the_limit(&queue);
}
