//! `plumb db replay`: what a server has logged is asked again, and nothing that may write.

use crate::kit;

use std::fs;
use std::path::Path;
use std::process::Command;

use kit::mariadb::{self, MariaDb};
use kit::postgres::{PASSWORD, Postgres, USER, psql, try_psql};
use kit::{Ended, PLUMB, Program};
use rustix::process::Signal;
use serde_json::Value;

const LOGGING: &str = "logging_collector = on\nlog_destination = 'csvlog,jsonlog'\n\
    log_directory = 'log'\nlog_filename = 'day'\nlog_min_duration_statement = 0\n";

/// Runs `plumb db replay` with the passwords of both kits.
fn replay(file: &Path, url: &str, words: &[&str], folder: &Path) -> Ended {
    start(file, url, words, folder).wait()
}

/// Starts it.
fn start(file: &Path, url: &str, words: &[&str], folder: &Path) -> Program {
    let variables = [
        format!("HOME={}", folder.display()),
        format!("PGPASSWORD={PASSWORD}"),
        format!("MYSQL_PWD={}", mariadb::PASSWORD),
    ];
    let file = file.display().to_string();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let words = [&variables[..], &[PLUMB, "db", "replay", &file, url], words].concat();
    Program::start_as(Path::new("/usr/bin/env"), &words, folder)
}

fn figure<'a>(result: &'a Value, name: &str) -> &'a Value {
    let figures = result["figures"].as_array().expect("a list");
    let found = figures.iter().find(|it| it["name"] == name).expect("such a figure");
    &found["value"]
}

fn operations(result: &Value, name: &str) -> u64 {
    let parts = result["parts"].as_array().expect("a list");
    let found = parts.iter().find(|part| part["name"] == name);
    found.unwrap_or_else(|| unreachable!("{name}: {result:#}"))["operations"]
        .as_u64()
        .expect("a count")
}

/// Everything in the run folders of `folder`.
fn written(folder: &Path) -> String {
    let runs = fs::read_dir(folder.join("plumb-runs")).expect("runs");
    let files = runs.flatten().flat_map(|run| fs::read_dir(run.path()).expect("a run").flatten());
    files
        .map(|file| String::from_utf8_lossy(&fs::read(file.path()).expect("it")).into_owned())
        .collect()
}

#[test]
fn what_postgresql_has_logged_is_asked_again_with_its_parameters_and_without_its_secrets() {
    let server = Postgres::start(LOGGING);
    // what is logged goes to files before the server is ready
    while try_psql(&server.url(), "select 1").is_err() {}
    psql(&server.url(), "create table t (a int, b text)");
    psql(&server.url(), "insert into t select n, 'hush-hush' from generate_series(1, 5) n");
    for number in [1, 2, 3] {
        psql(
            &server.url(),
            &format!("select count(*) from t where b = 'hush-hush' and a >= {number}"),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script.sql");
    fs::write(&script, "\\set a 3\nselect a from t where a = :a and b <> 'no';\n").expect("ours");
    let port = server.address.rsplit(':').next().expect("a port");
    let words =
        ["-n", "-h", "127.0.0.1", "-p", port, "-U", USER, "-M", "prepared", "-c", "2", "-t", "4"];
    let mut pgbench = Command::new("pgbench");
    pgbench.args(words).arg("-f").arg(&script).arg("postgres").env("PGPASSWORD", PASSWORD);
    assert!(pgbench.output().expect("it is installed").status.success());
    const EXECUTED: usize = 8;
    let log = |format: &str| folder.path().join(format!("day.{format}"));
    for format in ["csv", "json"] {
        let written = server.folder().join(format!("data/log/day.{format}"));
        // it is written by a process of its own
        let mut text = String::new();
        let executed =
            |line: &&str| line.contains("  execute ") && line.contains("select a from t");
        while text.lines().filter(executed).count() < EXECUTED {
            text = fs::read_to_string(&written).expect("a log");
        }
        fs::write(log(format), text).expect("ours");
    }
    for format in ["csv", "json"] {
        let file = log(format);
        let ended =
            replay(&file, &server.url(), &["--json", "--speed", "max"], folder.path()).with(0);
        let result = &ended.json()["results"][0];
        assert_eq!(operations(result, "select count(*) from t where b = ? and a >= ?"), 3);
        let prepared = operations(result, "select a from t where a = ? and b <> ?");
        assert_eq!(prepared, 8, "{result:#}");
        assert_eq!(result["failures"], serde_json::json!({}), "{result:#}");
        assert_eq!(*figure(result, "left out: may write"), 2.0);
        assert!(figure(result, "sessions").as_f64() >= Some(5.0), "{result:#}");
    }
    assert_eq!(psql(&server.url(), "select count(*) from t"), "5");
    assert!(!written(folder.path()).contains("hush-hush"));
}

#[test]
fn statements_are_asked_when_they_are_due_on_both_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    let postgres = Postgres::start("");
    let mariadb = MariaDb::start(&[]);
    for (url, sleep) in [(postgres.url(), "pg_sleep"), (mariadb.url(), "sleep")] {
        let file = folder.path().join("day");
        // the second of session 1 is due while the first is under way
        let text = format!(
            "0\t1\tselect {sleep}(0.4)\n0.1\t1\tselect 7\n0.1\t2\tselect 7\n0.5\t2\tdelete from t\n\
             0.6\t2\tcommit\n0.7\t2\tselect 8\n"
        );
        fs::write(&file, text).expect("ours");
        let ended = replay(&file, &url, &["--json", "--lag", "10s"], folder.path()).with(0);
        let result = &ended.json()["results"][0];
        assert_eq!(result["operations"], 4, "{result:#}");
        assert!(result["duration_ns"].as_u64() >= Some(700_000_000), "{result:#}");
        let quick = result["parts"].as_array().expect("a list");
        let quick = quick.iter().find(|it| it["name"] == "select ?").expect("such a part");
        assert!(quick["response_ns"]["max"].as_u64() >= Some(300_000_000), "{quick:#}");
        assert_eq!(*figure(result, "left out: may write"), 1.0);
        assert_eq!(*figure(result, "to be replayed"), 4.0);
        let at_once = replay(&file, &url, &["--json", "--speed", "max"], folder.path()).with(0);
        assert_eq!(at_once.json()["results"][0]["operations"], 4);
    }
}

#[test]
fn a_statement_that_is_refused_is_named_with_the_number_of_the_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let postgres = Postgres::start("");
    let mariadb = MariaDb::start(&[]);
    let expected = [(postgres.url(), "SQLSTATE 42703"), (mariadb.url(), "error 1054")];
    for (url, error) in expected {
        let file = folder.path().join("day");
        let text =
            "0\t1\tselect broken + 7, 'hush-hush'\n0\t1\tselect 7\n0\t1\tselect 1; select 2\n";
        fs::write(&file, text).expect("ours");
        let words = ["--speed", "max"];
        let ended = replay(&file, &url, &words, folder.path()).with(1);
        // however wide the lines are
        let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!("the first failure of `select broken + ?`: refused ({error}");
        assert!(shown.contains(&told), "{}", ended.stdout);
        assert!(shown.contains("Kinds with failures"), "{}", ended.stdout);
        assert!(shown.contains("left out: several statements 1.00"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("hush-hush"));
    }
    assert!(!written(folder.path()).contains("hush-hush"));
}

#[test]
fn statements_that_waited_when_it_was_stopped_are_dropped() {
    let server = Postgres::start("log_statement = 'all'");
    let file = server.folder().join("day");
    // when session 2 asks, both others of session 1 wait behind its first
    let text =
        "0\t1\tselect pg_sleep(600)\n0\t1\tselect 7\n0\t1\tselect 8\n0\t2\tselect pg_sleep(0)\n";
    fs::write(&file, text).expect("ours");
    let words = ["--connections", "2", "--timeout", "600s", "--lag", "10s", "--json"];
    let run = start(&file, &server.url(), &words, server.folder());
    server.logged("pg_sleep", 2);
    run.signal(Signal::INT);
    let ended = run.wait();
    assert_eq!(ended.json()["results"][0]["dropped"], 2, "{}", ended.stdout);
}

#[test]
fn what_writes_is_replayed_only_where_it_is_allowed_and_is_rolled_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Postgres::start("");
    psql(&server.url(), "create table t (a int)");
    psql(
        &server.url(),
        "create function w() returns int language sql as $$ insert into t values (1) returning 1 $$",
    );
    let file = folder.path().join("day");
    fs::write(&file, "0\t1\tinsert into t values (1)\n").expect("ours");
    let refused = replay(&file, &server.url(), &[], folder.path()).with(2);
    assert!(refused.stderr.contains("1 may write"), "{}", refused.stderr);
    let ended =
        replay(&file, &server.url(), &["--json", "--allow-writes", "--lag", "10s"], folder.path())
            .with(0);
    assert_eq!(ended.json()["results"][0]["operations"], 1);
    // a function that writes is refused by the server, and two statements in one are not asked
    fs::write(&file, "0\t1\tselect w()\n0\t1\tselect 1; insert into t values (2)\n").expect("ours");
    let ended = replay(&file, &server.url(), &["--json"], folder.path()).with(1);
    let result = &ended.json()["results"][0];
    assert_eq!(result["failures"]["refused"], 1, "{result:#}");
    assert_eq!(*figure(result, "left out: several statements"), 1.0);
    assert_eq!(psql(&server.url(), "select count(*) from t"), "0");
}

#[test]
fn a_replay_ends_with_the_first_statement_whose_changes_are_not_rolled_back() {
    let server = MariaDb::start(&[]);
    server.sql("create table t (a int) engine=myisam // insert into t values (1), (2), (3)");
    let file = server.folder().join("day");
    let text: String = (1..=3).map(|it| format!("0\t1\tdelete from t where a = {it}\n")).collect();
    fs::write(&file, text).expect("ours");
    let words = ["--allow-writes", "--speed", "max", "--json"];
    let record = replay(&file, &server.url(), &words, server.folder()).with(1).json();
    let reasons = record["validity"]["reasons"].to_string();
    assert!(reasons.contains("`delete from t where a = ?` changes what is not"), "{record:#}");
    assert_eq!(record["status"], "broken", "{record:#}");
    assert_eq!(server.sql("select count(*) from t"), "2");
}

#[test]
fn what_would_write_a_file_of_the_server_is_left_out() {
    let server = MariaDb::start(&[]);
    server.sql("create table t (a int) // insert into t values (1)");
    let written = server.folder().join("data/c.csv");
    let file = server.folder().join("day");
    let into = format!("into outfile '{}'", written.display());
    let text = format!(
        "0\t1\tselect a from t\n0\t1\tselect a from t {into}\n0\t1\tselect a /*!{into} */ from t\n"
    );
    fs::write(&file, text).expect("ours");
    let words = ["--json", "--speed", "max"];
    let ended = replay(&file, &server.url(), &words, server.folder()).with(0);
    let result = &ended.json()["results"][0];
    assert_eq!(result["operations"], 1, "{result:#}");
    assert_eq!(*figure(result, "left out: may write"), 2.0);
    assert!(!written.exists());
}

#[test]
fn what_cannot_be_replayed_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("day");
    for (text, url, words, said) in [
        (
            "0\t1\tselect 1\nselect 2\n",
            "postgres://me@127.0.0.1:9/x",
            &[][..],
            "line 2: expected SECONDS",
        ),
        ("", "postgres://me@127.0.0.1:9/x", &[], "no statement stands in it"),
        ("a,b\n", "postgres://me@127.0.0.1:9/x", &["--format", "csvlog"], "line 1: 2 columns"),
        ("a,b\n", "mysql://me@127.0.0.1:9/x", &["--format", "csvlog"], "against PostgreSQL"),
        (
            "0\t1\tselect 1\n",
            "mysql://me@127.0.0.1:9/x",
            &["--speed", "0"],
            "how many times as fast",
        ),
        ("0\t1\tselect 1\n", "postgres://me@127.0.0.1:9/x", &[], "127.0.0.1:9"),
    ] {
        fs::write(&file, text).expect("ours");
        let ended = replay(&file, url, words, folder.path());
        assert_eq!(ended.code, Some(2), "{text}: {ended:#?}");
        assert!(ended.stderr.contains(said), "{text}: {}", ended.stderr);
    }
    let none = replay(Path::new("/nowhere/day"), "postgres://me@h/x", &[], folder.path()).with(2);
    assert!(none.stderr.contains("/nowhere/day"), "{}", none.stderr);
    assert!(!folder.path().join("plumb-runs").exists());
}

#[test]
fn a_log_whose_clock_went_back_is_not_replayed_at_its_pace() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("day.csv");
    let line = |time: &str| {
        format!(
            "2026-11-24 {time} UTC,\"me\",\"erp\",77,\"[local]\",6743.4d,3,\"SELECT\",2026-11-24 05:42:00 \
             UTC,3/4,0,LOG,00000,\"statement: SELECT 1\",,,,,,,,,\"app\",\"client backend\",,0\n"
        )
    };
    let url = "postgres://me@127.0.0.1:9/x";
    let said = |moments: [&str; 3], words: &[&str]| {
        fs::write(&file, moments.map(line).concat()).expect("ours");
        replay(&file, url, words, folder.path()).with(2).stderr
    };
    let back = ["05:42:15.000", "05:42:16.000", "04:42:17.000"];
    let refused = said(back, &[]);
    assert!(refused.contains("line 3 was logged 3599 s before line 2"), "{refused}");
    for (moments, words) in
        [(back, &["--speed", "max"][..]), (["05:42:15.000", "05:42:16.000", "05:41:59.000"], &[])]
    {
        let nobody = said(moments, words);
        assert!(nobody.contains("127.0.0.1:9"), "it is asked: {nobody}");
    }
}

#[test]
fn no_more_connections_are_made_than_there_are_sessions() {
    let server = Postgres::start("max_connections = 8");
    let replay_of = |sessions: u32| {
        let file = server.folder().join("day");
        let text: String = (0..sessions).map(|it| format!("0\t{it}\tselect 7\n")).collect();
        fs::write(&file, text).expect("ours");
        replay(&file, &server.url(), &["--json", "--lag", "10s"], server.folder())
    };
    assert_eq!(replay_of(2).with(0).json()["results"][0]["operations"], 2);
    let refused = replay_of(16).with(2).stderr;
    assert!(refused.contains("make fewer connections (--pool, or --connections of"), "{refused}");
}
