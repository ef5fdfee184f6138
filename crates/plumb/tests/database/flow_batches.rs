//! What a batch of statements of the integration runtime meets at a real PostgreSQL: statements that take
//! their time, tables that change, and other runtimes with the same messages.

use std::thread;

use plumb_data::Work;
use plumb_queue::ExecutionId;
use plumb_transaction::{Outside as _, OutsideError, UnitOfWork as _};

use crate::flow_rows::{Ended, HERE, TABLE, ask, ids, is_lost, message, orders, servers};
use crate::kit::Server;
use crate::kit::postgres::{Postgres, psql};

#[test]
fn each_statement_of_a_batch_has_the_time_of_a_statement() {
    let server = Postgres::start("");
    let (_folder, servers) = servers(&server.address, "timeout = \"3s\"\n");
    for mut work in [servers.unit(HERE), servers.direct()] {
        // prepared, so that all of them go out together
        for first in [0, 1] {
            for id in first..=5 * first {
                work.begin(ExecutionId(100 + id));
                let sleep = ["0", "0.7"][usize::from(first > 0)];
                let waits = "SELECT pg_sleep($1::float8)::text";
                work.sql_later(&ask("plant", waits, &[Some(sleep)])).expect("it waits");
            }
            let ended = work.commit();
            assert!(ended.iter().all(|(_, done)| done.is_ok()), "{ended:?}");
        }
    }
}

#[test]
fn a_statement_that_takes_too_long_is_broken_off_by_the_server_and_its_session_stays() {
    let server = Postgres::start("");
    // the server's word comes later than its time is over, as over every network
    let line = Server::of_delay(&server.address, &["--delay", "50ms"]);
    let (_folder, servers) = servers(&line.address, "timeout = \"1s\"\n");
    let mut work = servers.unit(HERE);
    for id in 1..=2 {
        work.begin(ExecutionId(id));
        let late = work.sql(&ask("plant", "SELECT pg_sleep(60)::text", &[]));
        assert!(
            matches!(&late, Err(OutsideError::Lost(text)) if text.contains("broke off")),
            "{late:?}"
        );
        work.commit();
    }
    let figures = servers.pool("plant").expect("it is there").figures();
    assert_eq!((figures.lost, figures.log_ons), (0, 1), "{figures:?}");
}

/// A session that holds row 4, waits until somebody waits for that, and then wants row 2.
const OTHER: &str = "BEGIN; SET deadlock_timeout = '60s'; \
    UPDATE stock SET quantity = quantity + 10 WHERE id = 4; SELECT pg_advisory_lock(7); \
    DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted) \
        LOOP PERFORM pg_sleep(0.01); END LOOP; END $$; \
    UPDATE stock SET quantity = quantity + 10 WHERE id = 2; COMMIT";

/// Messages `ids`, each of which counts in the row of its last digit.
fn counted(work: &mut Work, ids: impl Iterator<Item = u64>, answered: bool) -> Ended {
    for id in ids {
        work.begin(ExecutionId(id));
        let text = "UPDATE stock SET quantity = quantity + 1 WHERE id = $1::int";
        let row = (id % 10).to_string();
        let values = [Some(row.as_str())];
        let asked = ask("plant", text, &values);
        // what is refused is told by the commit
        let _ = if answered { work.sql(&asked).map(|_| ()) } else { work.sql_later(&asked) };
    }
    work.commit()
}

#[test]
fn a_deadlock_is_an_attempt_of_the_message_that_met_it_and_of_no_other() {
    let server = Postgres::start("");
    let table = "CREATE TABLE stock (id int PRIMARY KEY, quantity int); \
        INSERT INTO stock SELECT id, 0 FROM generate_series(1, 5) AS id";
    psql(&server.url(), table);
    let (_folder, servers) =
        servers(&server.address, "init-command = \"SET deadlock_timeout = '3s'\"\n");
    for answered in [false, true] {
        let mut work = servers.unit(HERE);
        let first = if answered { 11 } else { 1 };
        let url = server.url();
        let ended = thread::scope(|threads| {
            threads.spawn(|| psql(&url, OTHER));
            let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
            while psql(&url, held) == "0" {}
            counted(&mut work, first..first + 5, answered)
        });
        let lost = ids(&ended, |done| match done {
            Err(OutsideError::Lost(text)) => {
                assert!(text.contains("gave a transaction up for another one"), "{text}");
                assert!(text.contains("deadlock detected"), "{text}");
                true
            }
            other => {
                assert_eq!(other, &Ok(()));
                false
            }
        });
        assert_eq!(lost, [first + 3]);
        // it comes again, and alone
        let again = counted(&mut work, [first + 3, first + 5].into_iter(), answered);
        assert_eq!(ids(&again, Result::is_ok), [first + 3, first + 5]);
    }
    let quantities = "SELECT string_agg(quantity::text, ' ' ORDER BY id) FROM stock";
    assert_eq!(psql(&server.url(), quantities), "2 22 2 22 2");
}

#[test]
fn rows_that_take_too_long_in_one_statement_go_in_one_by_one() {
    let server = Postgres::start("");
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN PERFORM pg_sleep(0.3); RETURN NEW; END $$; \
        CREATE TRIGGER slow BEFORE INSERT ON components FOR EACH ROW EXECUTE FUNCTION slow()";
    psql(&server.url(), &format!("{TABLE}; {slow}"));
    let (_folder, servers) = servers(&server.address, "timeout = \"2s\"\n");
    for (first, mut work) in [(1, servers.unit(HERE)), (11, servers.direct())] {
        for id in first..first + 8 {
            message(&mut work, id, &["1"]);
        }
        let ended = work.commit();
        assert_eq!(ids(&ended, Result::is_ok), (first..first + 8).collect::<Vec<_>>(), "{ended:?}");
    }
    assert_eq!(orders(&server), "1 2 3 4 5 6 7 8 11 12 13 14 15 16 17 18");
    let figures = servers.pool("plant").expect("it is there").figures();
    assert_eq!(figures.lost, 0, "{figures:?}");
}

#[test]
fn a_table_that_is_changed_costs_one_attempt_of_one_message() {
    let server = Postgres::start("");
    psql(
        &server.url(),
        "CREATE TABLE stock (material text, n int); INSERT INTO stock VALUES ('M4', 7)",
    );
    let (_folder, servers) = servers(&server.address, "");
    let (mut one, mut other) = (servers.unit(HERE), servers.unit(HERE));
    let look = |work: &mut Work, id: u64| {
        work.begin(ExecutionId(id));
        let found = ask("plant", "SELECT * FROM stock WHERE material = $1", &[Some("M4")]);
        work.sql(&found).map(|answer| answer.first.len())
    };
    // each has a session, and the statement is prepared in both
    let both = [look(&mut one, 1), look(&mut other, 2)];
    assert_eq!(both, [Ok(2), Ok(2)]);
    one.commit();
    other.commit();
    psql(&server.url(), "ALTER TABLE stock ADD COLUMN place text");
    let lost = look(&mut one, 3);
    assert!(matches!(&lost, Err(OutsideError::Lost(text)) if text.contains("plan")), "{lost:?}");
    assert_eq!(ids(&one.commit(), is_lost), [3]);
    let both = [look(&mut one, 3), look(&mut other, 4)];
    assert_eq!(both, [Ok(3), Ok(3)]);
    assert_eq!(ids(&one.commit(), Result::is_ok), [3]);
    let figures = servers.pool("plant").expect("it is there").figures();
    assert_eq!((figures.lost, figures.log_ons), (0, 2), "{figures:?}");
}

#[test]
fn a_message_that_another_does_while_a_batch_is_done_anew_is_done_once() {
    let server = Postgres::start("");
    // rows go in one by one only, and whoever takes note a second time waits for the gate
    let schema = "CREATE TABLE plumb_done_message (id bigint, queue bigint,
            at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (id, queue));
        CREATE TABLE gate (open bool);
        CREATE SEQUENCE notes;
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('notes') = 2 THEN
                WHILE NOT EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER wait BEFORE INSERT ON plumb_done_message
            FOR EACH STATEMENT EXECUTE FUNCTION wait();
        CREATE FUNCTION single() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF (SELECT count(*) FROM added) > 1 THEN RAISE EXCEPTION 'one by one'; END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER single AFTER INSERT ON components REFERENCING NEW TABLE AS added
            FOR EACH STATEMENT EXECUTE FUNCTION single()";
    psql(&server.url(), &format!("{TABLE}; {schema}"));
    let (_folder, servers) = servers(&server.address, "");
    let ended = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut work = servers.unit(HERE);
            message(&mut work, 1, &["1"]);
            message(&mut work, 2, &["1"]);
            work.commit()
        });
        while psql(&server.url(), "SELECT last_value FROM notes") != "2" {
            thread::yield_now();
        }
        // another runtime does the first of them meanwhile
        let other = "BEGIN; INSERT INTO plumb_done_message VALUES (1, 1);
            INSERT INTO components(order_no) VALUES (1); COMMIT; INSERT INTO gate VALUES (true)";
        psql(&server.url(), other);
        worker.join().expect("it ends")
    });
    assert_eq!(ids(&ended, Result::is_ok), [1, 2], "{ended:?}");
    assert_eq!(orders(&server), "1 2");
}
