//! `plumb db ping` over ODBC, with the drivers of SQLite and of PostgreSQL. Part of a program that was built
//! with them.

use std::path::Path;

use rustix::process::Signal;

use crate::kit::postgres::{PASSWORD, Postgres, USER, free_port, psql};
use crate::kit::{Ended, PLUMB, Program};

const BY_COUNT: [&str; 6] = ["--count", "40", "--warmup", "0s", "--connect-timeout", "5s"];

/// The connection string of a server.
fn of_postgres(address: &str) -> String {
    let (host, port) = address.split_once(':').expect("host and port");
    format!(
        "odbc:Driver={{PostgreSQL Unicode}};Server={host};Port={port};Database=postgres;UID={USER}"
    )
}

fn start(password: &str, target: &str, words: &[&str], folder: &Path) -> Program {
    let run = folder.join("run").display().to_string();
    let all = [&["db", "ping", target, "--out", &run, "--json"], words].concat();
    Program::start_told(Path::new(PLUMB), &all, folder, &[("ODBC_PASSWORD", password)])
}

fn ping(password: &str, target: &str, words: &[&str], folder: &Path) -> Ended {
    start(password, target, words, folder).wait()
}

/// The figures of a run, which nothing but what else this machine did may have taken away.
fn results(ended: &Ended) -> Vec<serde_json::Value> {
    let record: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a record");
    let results = record["results"].as_array().expect("results").clone();
    assert!(!ended.stdout.contains(PASSWORD), "no password in a record");
    results
}

fn part(result: &serde_json::Value, kind: &str) -> bool {
    let parts = result["attribution"]["parts"].as_array().expect("parts");
    parts.iter().any(|part| part["kind"] == kind)
}

#[test]
fn sqlite_is_asked_over_every_kind_of_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("erp.db");
    let target = format!("odbc:Driver=SQLite3;Database={}", file.display());
    let own = ["--statement", "create table t(a int)", "--allow-writes", "--rows", "20"];
    let ended = ping("", &target, &[&BY_COUNT[..], &own].concat(), folder.path());
    let results = results(&ended);
    assert_eq!(results.len(), 9, "{}", ended.stderr);
    for result in &results {
        // each call was rolled back, or the table could not be made again
        assert_eq!(result["operations"], 40, "{result}");
        assert!(
            part(result, "away") && !part(result, "server") && !part(result, "wire"),
            "{result}"
        );
        let over = &result["labels"]["over"];
        assert_eq!(part(result, "queue"), over == "pool");
        assert_eq!(part(result, "connect"), over == "connect");
        assert!(result["attribution"]["readings"].to_string().contains("not told"), "{result}");
        // a driver tells neither when its transport stood nor what it carried
        assert!(result["connect_ns"].is_null(), "{result}");
    }
}

#[test]
fn postgresql_is_asked_and_what_it_says_is_told() {
    let server = Postgres::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let target = of_postgres(&server.address);
    let all = results(&ping(PASSWORD, &target, &BY_COUNT, folder.path()));
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|result| result["operations"] == 40), "{all:?}");
    let own_folder = tempfile::tempdir().expect("a folder");
    let own = |sql: &str, words: &[&str]| {
        let words = [&["--ask", "own", "--over", "kept", "--statement", sql], words].concat();
        ping(PASSWORD, &target, &words, own_folder.path()).with(2).stderr
    };
    let kept = own("select 1", &[]);
    assert!(kept.contains("no driver of ODBC has to heed"), "{kept}");
    let writes = "--allow-writes";
    assert!(own("selec 1", &[writes]).contains("42601"));
    assert!(own("select generate_series(1, 30)", &[writes, "--rows", "20"]).contains("20 rows"));
    let long = "select repeat('x', 100000)";
    assert!(own(long, &[writes, "--size", "50kB"]).contains("more than"));
    assert!(own("select pg_sleep(60)", &[writes, "--timeout", "200ms"]).contains("no answer"));
    assert!(own("select 1", &[writes, "--explain"]).contains("no call for a plan"));
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let server = Postgres::start("");
    let folder = tempfile::tempdir().expect("a folder");
    let error = |password: &str, target: &str| {
        let ended = ping(password, target, &BY_COUNT, folder.path());
        let ended = ended.with(2);
        assert!(!folder.path().join("run").exists(), "no record of nothing");
        ended.stderr
    };
    let target = of_postgres(&server.address);
    let wrong = error("wrong-sesame", &target);
    assert!(wrong.contains("authentication failed") && wrong.contains("ODBC_PASSWORD"), "{wrong}");
    assert!(!wrong.contains("wrong-sesame"), "{wrong}");
    let nobody = of_postgres(&format!("127.0.0.1:{}", free_port()));
    assert!(error(PASSWORD, &nobody).contains("refused"));
    let unknown = error("", "odbc:no-such-source");
    assert!(unknown.contains("IM002") && unknown.contains("odbcinst -q -s"), "{unknown}");
    assert!(error("", &format!("{target};PWD=sesame")).contains("read by everybody"));
    assert!(error("", "odbc:Server=db1").contains("no DSN and no DRIVER"));
    server.freeze();
    let words = ["--connect-timeout", "300ms"];
    let hung = ping(PASSWORD, &target, &words, folder.path());
    server.thaw();
    assert!(hung.with(2).stderr.contains("timed out"));
}

#[test]
fn a_server_that_goes_away_leaves_a_record_that_is_not_valid() {
    let mut server = Postgres::start("log_statement = 'all'");
    let folder = tempfile::tempdir().expect("a folder");
    let words =
        ["--ask", "trivial", "--over", "pool", "--for", "60s", "--connect-timeout", "300ms"];
    let run = start(PASSWORD, &of_postgres(&server.address), &words, folder.path());
    server.logged("SELECT 1", 100); // the load is under way
    server.stop();
    let ended = run.wait().with(1);
    let results = results(&ended);
    assert!(results[0]["validity"].to_string().contains("before its plan did"), "{}", results[0]);
}

#[test]
fn a_call_that_is_given_up_is_cancelled_at_the_server() {
    let server = Postgres::start("log_statement = 'all'");
    let folder = tempfile::tempdir().expect("a folder");
    psql(&server.url(), "create table pause(seconds int); insert into pause values (0)");
    let own = "select pg_sleep(seconds) from pause";
    let words = ["--ask", "own", "--statement", own, "--allow-writes", "--over", "kept"];
    let how = ["--for", "60s", "--warmup", "0s", "--timeout", "300ms"];
    let words = [&words[..], &how].concat();
    let run = start(PASSWORD, &of_postgres(&server.address), &words, folder.path());
    server.logged(own, 20);
    psql(&server.url(), "update pause set seconds = 600");
    server.logged("canceling statement due to user request", 1);
    run.signal(Signal::INT);
    let ended = run.wait();
    assert!(results(&ended)[0]["failures"].to_string().contains("timed-out"), "{}", ended.stdout);
}

#[test]
fn a_program_that_is_interrupted_ends_at_once() {
    let server = Postgres::start("log_statement = 'all'");
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["--ask", "trivial", "--over", "kept", "--for", "60s", "--warmup", "0s"];
    let run = start(PASSWORD, &of_postgres(&server.address), &words, folder.path());
    server.logged("SELECT 1", 100);
    run.signal(Signal::INT);
    let ended = run.wait();
    assert_eq!(results(&ended).len(), 1, "{}", ended.stderr);
}
