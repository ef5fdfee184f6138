//! A server that says nothing more, and a table that somebody has locked: what is asked beside the load waits
//! no longer than calls do, and the figures of the load are written down.

use std::net::TcpListener;
use std::thread;

use crate::kit;

use kit::postgres::{Postgres, psql, start, try_psql};
use kit::{only_run, record};

#[test]
fn a_server_that_hangs_leaves_a_record_that_proves_nothing() {
    let server = Postgres::start("log_statement = 'all'");
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--over", "kept", "--ask", "trivial", "--for", "600s", "--warmup", "0s"];
    let limits = ["--connect-timeout", "1s", "--timeout", "500ms"];
    let program = start(&server.url(), &[&words[..], &limits].concat(), folder.path());
    server.logged("SELECT 1", 100); // the load is under way
    server.freeze();
    program.wait().with(1);
    let record = record(&only_run(folder.path()));
    assert_eq!(
        (&record["status"], &record["validity"]["valid"]),
        (&"broken".into(), &false.into())
    );
    let result = &record["results"][0];
    assert_eq!(result["failures"]["timed-out"], 1, "{result:#}");
    let readings = &result["attribution"]["readings"];
    assert!(readings.to_string().contains("did not say within"), "{result:#}");
}

#[test]
fn of_a_server_that_never_answers_the_log_on_no_firewall_is_suspected() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port"); // the kernel accepts
    let address = silent.local_addr().expect("its address");
    let folder = tempfile::tempdir().expect("a folder");
    for product in ["postgres", "mysql"] {
        let url = format!("{product}://me@{address}/erp");
        let ended = start(&url, &["--connect-timeout", "500ms"], folder.path()).wait().with(2);
        let told = "accepted the connection, but the log-on was not done within 500ms";
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
        assert!(!ended.stderr.contains("firewall"), "{}", ended.stderr);
    }
}

#[test]
fn a_statement_that_fails_during_the_load_is_told_why() {
    let server = Postgres::start("");
    psql(
        &server.url(),
        "create function later() returns int language plpgsql as $$ \
         declare n int := coalesce(nullif(current_setting('my.calls', true), ''), '0')::int + 1; \
         begin \
           perform set_config('my.calls', n::text, false); \
           if n > 5 then raise exception 'enough of % calls', n; end if; return n; \
         end $$",
    );
    let words = ["--over", "kept", "--ask", "own", "--statement", "select later()"];
    let words = [&words[..], &["--count", "20", "--warmup", "0s"]].concat();
    let ended = start(&server.url(), &words, server.folder()).wait().with(1);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "the first failure of kind refused: enough of 6 calls (SQLSTATE P0001)";
    assert!(shown.contains(told), "{}", ended.stdout);
}

#[test]
fn a_table_that_is_locked_meanwhile_ends_the_run_with_its_record() {
    let server = Postgres::start("log_statement = 'all'");
    psql(&server.url(), "create table t as select 1 as a");
    let words = ["--over", "kept,pool", "--ask", "own", "--count", "1000", "--warmup", "0s"];
    let statement = ["--statement", "select pg_sleep(0.02) from t", "--timeout", "200ms"];
    let patience = ["--connect-timeout", "1s", "--callers", "1", "--json"];
    let words = [&words[..], &statement, &patience].concat();
    let program = start(&server.url(), &words, server.folder());
    server.logged("from t", 6);
    let url = server.url();
    // it ends with the server
    thread::spawn(move || try_psql(&url, "begin; lock table t; select pg_sleep(600)"));
    let record = program.wait().with(1).json();
    let first = &record["results"][0];
    assert_eq!(first["failures"]["timed-out"], 1, "{first:#}");
    // the next connection, or the next point, has its statement prepared, which waits for the lock as well
    let reasons = record["validity"]["reasons"].to_string();
    assert!(reasons.contains("is not prepared within 1s"), "{record:#}");
}
