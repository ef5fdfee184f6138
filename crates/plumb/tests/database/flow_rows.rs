//! Units of work of the integration runtime at a real PostgreSQL: what is committed is there once,
//! whatever happens to the connection.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::thread;

use plumb_data::{DataServers, Origin, Work};
use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::Clock as _;
use plumb_queue::{ExecutionId, QueueId};
use plumb_transaction::{Outside as _, OutsideError, SqlRequest, UnitOfWork as _};
use tempfile::TempDir;

use crate::cutter::Cutter;
use crate::kit::Server;
use crate::kit::postgres::{PASSWORD, Postgres, psql, url};

/// Where the messages come from.
pub(crate) const HERE: Origin = Origin { queue: QueueId(1), accepted_ms: BTreeMap::new() };
/// Tables of messages that are done: as earlier versions made it, and as it is made.
const OF_IDS: &str =
    "CREATE TABLE plumb_done (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
const OF_QUEUES: &str = "CREATE TABLE plumb_done_message (id bigint, queue bigint, \
    at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, queue))";
const INSERT: &str = "INSERT INTO components(order_no, item, quantity) VALUES ($1, $2, $3)";
pub(crate) const TABLE: &str = "CREATE TABLE components (order_no int NOT NULL, item text, \
    quantity numeric(10,2), at timestamptz DEFAULT now())";

pub(crate) type Ended = Vec<(ExecutionId, Result<(), OutsideError>)>;

/// The data server `plant` at `address`.
pub(crate) fn servers(address: &str, settings: &str) -> (TempDir, Arc<DataServers>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("password"), format!("{PASSWORD}\n")).expect("a file");
    let text = format!(
        "[server.plant]\nurl = \"{}\"\npassword-file = \"password\"\n{settings}",
        url(address)
    );
    fs::write(folder.path().join("data-servers.toml"), text).expect("a file");
    let servers = DataServers::read(folder.path()).expect("it is right");
    (folder, Arc::new(servers))
}

pub(crate) fn ask<'a>(
    server: &'a str,
    text: &'a str,
    values: &'a [Option<&'a str>],
) -> SqlRequest<'a> {
    SqlRequest { server, text, values }
}

/// A message with a row for each of `quantities`.
pub(crate) fn message(work: &mut Work, id: u64, quantities: &[&str]) {
    work.begin(ExecutionId(id));
    for quantity in quantities {
        let order = id.to_string();
        let values = [Some(order.as_str()), Some("0010"), Some(*quantity)];
        // what is refused is told by the commit
        let _ = work.sql_later(&ask("plant", INSERT, &values));
    }
}

pub(crate) fn orders(server: &Postgres) -> String {
    psql(&server.url(), "SELECT string_agg(order_no::text, ' ' ORDER BY order_no) FROM components")
}

pub(crate) fn ids(ended: &Ended, of: impl Fn(&Result<(), OutsideError>) -> bool) -> Vec<u64> {
    ended.iter().filter(|(_, done)| of(done)).map(|(id, _)| id.0).collect()
}

pub(crate) fn is_lost(done: &Result<(), OutsideError>) -> bool {
    matches!(done, Err(OutsideError::Lost(_)))
}

#[test]
fn exactly_the_bad_ones_of_every_batch_are_refused_with_the_words_of_the_database() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let (_folder, servers) = servers(&server.address, "");
    let mut work = servers.unit(HERE);
    let bad = |id: u64| id % 40 == 17 || (300..310).contains(&id);
    for id in 1..=400 {
        message(&mut work, id, &["1.5", if bad(id) { "much" } else { "2" }]);
    }
    let ended = work.commit();
    let refused = ids(&ended, |done| match done {
        Err(OutsideError::Refused(text)) => {
            assert!(text.contains("invalid input syntax for type numeric"), "{text}");
            assert!(text.contains("INSERT INTO components"), "{text}");
            true
        }
        other => {
            assert_eq!(other, &Ok(()));
            false
        }
    });
    assert_eq!(refused, (1..=400).filter(|id| bad(*id)).collect::<Vec<_>>());
    let good = 400 - refused.len();
    let counted = "SELECT count(*), count(DISTINCT order_no), sum(quantity) FROM components";
    let hundredths = 350 * good;
    let sum = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    let expected = format!("{}|{good}|{sum}", 2 * good);
    assert_eq!(psql(&server.url(), counted), expected);
    assert_eq!(psql(&server.url(), "SELECT count(*) FROM plumb_done_message"), good.to_string());
}

#[test]
fn the_way_to_a_data_server_is_told_apart_from_its_work() {
    const MS: u64 = 1_000_000;
    let server = Postgres::start("");
    let line = Server::of_delay(&server.address, &["--delay", "5ms", "--delay-back", "5ms"]);
    let (_folder, servers) = servers(&line.address, "");
    let mut work = servers.direct();
    work.begin(ExecutionId(1));
    work.sql(&ask("plant", "SELECT 1", &[])).expect("it is answered");
    let first = work.session_times();
    assert!(first.log_on_ns >= 10 * MS && first.way_ns >= 10 * MS, "{first:?}");
    // the way is what the fastest answer took, and one of these was not disturbed
    for _ in 0..20 {
        work.sql(&ask("plant", "SELECT 1", &[])).expect("it is answered");
    }
    let (before, began_ns) = (work.session_times(), MonotonicClock.now_ns());
    work.sql(&ask("plant", "SELECT pg_sleep(0.03)::text", &[])).expect("it is answered");
    let whole_ns = MonotonicClock.now_ns() - began_ns;
    let times = work.session_times().since(before);
    assert!(times.way_ns >= 10 * MS && times.log_on_ns == 0, "{times:?}");
    let left_ns = whole_ns - times.parts(whole_ns).map(|(_, ns)| ns).sum::<u64>();
    assert!(left_ns >= 28 * MS, "{left_ns} of {whole_ns}: {times:?}");
    // what waits for the end goes the same way there
    work.sql_later(&ask("plant", "SELECT set_config('plumb.way', '1', false)", &[]))
        .expect("it waits");
    let before = work.session_times();
    assert_eq!(work.commit(), [(ExecutionId(1), Ok(()))]);
    let times = work.session_times().since(before);
    assert!(times.way_ns >= 10 * MS, "{times:?}");
    line.kill();
}

#[test]
fn values_travel_as_texts_both_ways() {
    let server = Postgres::start("");
    let (_folder, servers) = servers(&server.address, "date-form = \"day-month-year\"\n");
    psql(
        &server.url(),
        "CREATE TYPE colour AS ENUM ('red'); CREATE TABLE kinds (i int, n numeric, t timestamp, \
         z timestamptz, d date, b bool, u uuid, j jsonb, f float8, c colour, y bytea)",
    );
    let mut work = servers.direct();
    let values = [
        "7",
        "-1234567890.0500",
        "31.12.2025 23:59:58.25",
        "2025-01-01 12:00:00+02",
        "29.02.2024",
        "true",
        "6e3b2f0e-8b0c-4c55-9d54-0a8f0e6b7a11",
        "{\"a\":1}",
        "0.5",
        "red",
        "\\x00ff",
    ]
    .map(Some);
    let insert = "INSERT INTO kinds VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11) RETURNING *";
    let answer = work.sql(&ask("plant", insert, &values)).expect("it is taken");
    let texts: Vec<_> = answer.first.iter().map(|(_, it)| it.as_deref().unwrap_or("")).collect();
    let expected = [
        "7",
        "-1234567890.0500",
        "2025-12-31 23:59:58.25",
        "2025-01-01 10:00:00+00",
        "2024-02-29",
        "t",
        "6e3b2f0e-8b0c-4c55-9d54-0a8f0e6b7a11",
        "{\"a\": 1}",
        "0.5",
        "red",
        "\\x00ff",
    ];
    assert_eq!(texts, expected);
    // the server's own words, but for the zone of its session
    work.commit();
    let said = psql(&server.url(), "SET timezone = 'UTC'; SELECT i,n,t,z,d,b,u,j,f,c,y FROM kinds");
    assert_eq!(said, expected.join("|"));
    let odd = work.sql(&ask("plant", "SELECT point(1,2) AS place", &[])).unwrap_err().to_string();
    assert!(odd.contains("write place::text"), "{odd}");
    work.commit();
    let none = work.sql(&ask("plant", "SELECT $1::int AS n", &[None])).expect("it is taken");
    assert_eq!(none.first, [("n".to_owned(), None)]);
}

#[test]
fn a_server_that_stops_and_starts_again_gets_every_message_once() {
    let mut server = Postgres::start("");
    psql(&server.url(), TABLE);
    let (_folder, servers) = servers(&server.address, "connect-timeout = \"5s\"\n");
    let mut work = servers.unit(HERE);
    message(&mut work, 1, &["1"]);
    assert_eq!(work.commit(), [(ExecutionId(1), Ok(()))]);
    // in the middle of a unit, with rows that were sent already
    message(&mut work, 2, &["1"; 150]);
    message(&mut work, 3, &["1"]);
    server.stop();
    assert_eq!(ids(&work.commit(), is_lost), [2, 3]);
    for _ in 0..3 {
        message(&mut work, 2, &["1"; 150]);
        message(&mut work, 3, &["1"]);
        assert_eq!(ids(&work.commit(), is_lost), [2, 3]);
    }
    server.start_again();
    loop {
        // until it is asked again after its rest
        message(&mut work, 1, &["1"]);
        message(&mut work, 2, &["1"; 150]);
        message(&mut work, 3, &["1"]);
        let ended = work.commit();
        if ids(&ended, is_lost).is_empty() {
            assert_eq!(ids(&ended, Result::is_ok), [1, 2, 3]);
            break;
        }
    }
    let counted = "SELECT count(*), count(DISTINCT order_no) FROM components";
    assert_eq!(psql(&server.url(), counted), "152|3");
    let figures = servers.pool("plant").expect("it is there").figures();
    assert!(figures.lost >= 1 && figures.failed_log_ons >= 3 && figures.in_use == 0, "{figures:?}");
}

/// A database with its table, reached through a cutter.
fn behind_a_cutter() -> (Postgres, Cutter, TempDir, Arc<DataServers>) {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let cutter = Cutter::start(&server.address);
    let (folder, servers) = servers(&cutter.address, "");
    (server, cutter, folder, servers)
}

#[test]
fn a_connection_cut_between_commit_and_its_answer_loses_and_doubles_nothing() {
    let (server, cutter, _folder, servers) = behind_a_cutter();
    let mut work = servers.unit(HERE);
    message(&mut work, 1, &["1"]);
    message(&mut work, 2, &["much"]);
    message(&mut work, 3, &["1"]);
    cutter.after.store(true, Ordering::SeqCst);
    let ended = work.commit();
    assert!(!cutter.after.load(Ordering::SeqCst), "the answer was cut off");
    // it was committed, and that was found out
    assert_eq!(ids(&ended, Result::is_ok), [1, 3]);
    assert!(matches!(&ended[1].1, Err(OutsideError::Refused(_))), "{ended:?}");
    assert_eq!(orders(&server), "1 3");
    // as if the runtime had ended before it took note of that
    message(&mut work, 1, &["1"]);
    message(&mut work, 3, &["1"]);
    message(&mut work, 4, &["1"]);
    assert_eq!(ids(&work.commit(), Result::is_ok), [1, 3, 4]);
    assert_eq!(orders(&server), "1 3 4");
}

#[test]
fn a_connection_cut_before_commit_has_the_messages_come_again() {
    let (server, cutter, _folder, servers) = behind_a_cutter();
    let mut work = servers.unit(HERE);
    message(&mut work, 1, &["1"]);
    message(&mut work, 2, &["1"]);
    cutter.before.store(true, Ordering::SeqCst);
    let ended = work.commit();
    assert!(!cutter.before.load(Ordering::SeqCst), "the connection was cut");
    assert_eq!(ids(&ended, is_lost), [1, 2]);
    assert_eq!(orders(&server), "");
    message(&mut work, 1, &["1"]);
    message(&mut work, 2, &["1"]);
    assert_eq!(ids(&work.commit(), Result::is_ok), [1, 2]);
    assert_eq!(orders(&server), "1 2");
}

#[test]
fn what_only_the_end_of_a_transaction_refuses_is_found_by_doing_each_message_alone() {
    let server = Postgres::start("");
    let table = "CREATE TABLE components (order_no int NOT NULL, item text, \
        quantity numeric(10,2) UNIQUE DEFERRABLE INITIALLY DEFERRED)";
    psql(&server.url(), table);
    let (_folder, servers) = servers(&server.address, "");
    let mut work = servers.unit(HERE);
    let all = |work: &mut Work| {
        for (id, quantity) in [(1, "1"), (2, "2"), (3, "2"), (4, "4")] {
            message(work, id, &[quantity]);
        }
        work.commit()
    };
    let first = all(&mut work);
    assert_eq!(ids(&first, is_lost), [1, 2, 3, 4], "{first:?}");
    let second = all(&mut work);
    assert_eq!(ids(&second, Result::is_ok), [1, 2, 4], "{second:?}");
    assert!(matches!(&second[2].1, Err(OutsideError::Refused(_))), "{second:?}");
    assert_eq!(orders(&server), "1 2 4");
}

#[test]
fn workers_that_are_given_the_same_messages_do_each_once() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let (_folder, servers) = servers(&server.address, "pool = { maximum = 3 }\n");
    let began = Arc::new(Barrier::new(6));
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let (servers, began) = (Arc::clone(&servers), Arc::clone(&began));
            thread::spawn(move || {
                let mut work = servers.unit(HERE);
                began.wait();
                for unit in 0..10 {
                    loop {
                        (1..=20).for_each(|id| message(&mut work, unit * 20 + id, &["1"]));
                        if work.commit().iter().all(|(_, done)| done.is_ok()) {
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("it ends"));
    let counted = "SELECT count(*), count(DISTINCT order_no) FROM components";
    assert_eq!(psql(&server.url(), counted), "200|200");
    let figures = servers.pool("plant").expect("it is there").figures();
    assert!(figures.in_use_max <= 3 && figures.in_use == 0, "{figures:?}");
}

#[test]
fn a_user_who_may_not_make_the_table_is_told_to_have_it_made() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    psql(
        &server.url(),
        &format!(
            "CREATE ROLE mii LOGIN PASSWORD '{PASSWORD}'; GRANT INSERT, SELECT ON components TO mii"
        ),
    );
    let (folder, _) = servers(&server.address, "");
    let file = folder.path().join("data-servers.toml");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, text.replace("plumb@", "mii@")).expect("a file");
    let servers = Arc::new(DataServers::read(Path::new(folder.path())).expect("it is right"));
    let mut work = servers.unit(HERE);
    message(&mut work, 1, &["1"]);
    let ended = work.commit();
    assert!(is_lost(&ended[0].1), "{ended:?}");
    assert!(format!("{ended:?}").contains("permission denied for schema public"), "{ended:?}");
    assert!(!format!("{ended:?}").contains(PASSWORD));
    // one that is there without queues is used as well
    for table in [OF_IDS, OF_QUEUES] {
        let name = table.split(' ').nth(2).expect("a name");
        psql(&server.url(), &format!("{table}; GRANT SELECT, INSERT, DELETE ON {name} TO mii"));
        let other = Origin { queue: QueueId(2), ..HERE };
        for mut work in [servers.unit(HERE), servers.unit(other), servers.unit(HERE)] {
            message(&mut work, 1, &["1"]);
            assert_eq!(work.commit(), [(ExecutionId(1), Ok(()))]);
        }
        assert_eq!(orders(&server), "1 1", "one of each queue");
        psql(&server.url(), &format!("DROP TABLE {name}; DELETE FROM components"));
        // the table is missed, and looked for again
        message(&mut work, 1, &["1"]);
        assert!(is_lost(&work.commit()[0].1));
    }
}

#[test]
fn ids_that_stand_alone_are_of_messages_that_were_accepted_before() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let earlier = "INSERT INTO plumb_done VALUES (1, now()), (2, '2020-01-01')";
    psql(&server.url(), &format!("{OF_IDS}; {earlier}"));
    let (_folder, servers) = servers(&server.address, "");
    let now_ms = wall_ns() / 1_000_000;
    let accepted_ms = (1..=3).map(|id| (ExecutionId(id), now_ms)).collect();
    let mut work = servers.unit(Origin { accepted_ms, ..HERE });
    (1..=3).for_each(|id| message(&mut work, id, &["1"]));
    assert!(work.commit().iter().all(|(_, done)| done.is_ok()));
    assert_eq!(orders(&server), "2 3", "1 was done, and what was done in 2020 was another 2");
}
