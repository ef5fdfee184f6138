//! `plumb db ping` through pgbouncer, in each of its modes: it is measured, nothing is written, and
//! nothing of it is left behind in the connections that others are lent next.

use crate::kit;

use kit::pgbouncer::{Lending, PgBouncer, StartUp};
use kit::postgres::{Postgres, ping, psql};
use serde_json::{Value, json};

/// A table, and a function that writes into it.
const WRITER: &str = "create table t (a int); \
    create function wf() returns int language sql as 'insert into t values (1) returning a'";
const COUNT: &str = "select count(*) from t";

/// Every kind of pooler.
fn each(server: &Postgres, test: impl Fn(&PgBouncer, &str)) {
    let dropped = Lending::ALL.map(|lending| (lending, StartUp::Dropped));
    for (lending, options) in dropped.into_iter().chain([(Lending::Transaction, StartUp::Refused)])
    {
        let kind = format!("{lending:?} pooling, options {options:?}");
        test(&PgBouncer::start(server, lending, options), &kind);
    }
}

fn measured(url: &str, server: &Postgres, kind: &str) -> Value {
    let words = ["--statement", "select count(*), 'a;b' from t", "--count", "24"];
    let words = [&words[..], &["--warmup", "0s", "--explain", "--json"]].concat();
    let record = ping(url, &words, server.folder()).with(0).json();
    let results = record["results"].as_array().expect("a list");
    assert_eq!(results.len(), 9, "three statements over three kinds of connection: {kind}");
    for result in results {
        let asked = (&result["operations"], &result["failures"]);
        assert_eq!(asked, (&24.into(), &json!({})), "{kind}: {result:#}");
        assert!(!result["attribution"].is_null(), "{kind}: {result:#}");
    }
    record
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn it_is_measured_in_every_mode_and_leaves_nothing_behind() {
    let server = Postgres::start("");
    psql(&server.url(), WRITER);
    each(&server, |pooler, kind| {
        for _ in 0..2 {
            let record = measured(&pooler.url(), &server, kind);
            let said = record["target"]["server"].as_str().expect("a server");
            assert!(said.contains("through a pooler: each call is one message"), "{kind}: {said}");
        }
        let left = "select count(*) from pg_prepared_statements";
        assert_eq!(psql(&pooler.url(), left), "0", "{kind}");
        let may_write = psql(&pooler.url(), "show default_transaction_read_only");
        assert_eq!(may_write, "off", "{kind}");
    });
    let record = measured(&server.url(), &server, "no pooler");
    let said = record["target"]["server"].as_str().expect("a server");
    assert!(said.ends_with("not encrypted"), "{said}");
}

#[test]
fn a_function_that_writes_commits_no_row() {
    let server = Postgres::start("");
    psql(&server.url(), WRITER);
    let words = ["--ask", "own", "--count", "24", "--warmup", "0s", "--over", "kept"];
    let words = [&words[..], &["--statement", "select wf()"]].concat();
    let refused = |url: &str, kind: &str| {
        let ended = ping(url, &words, server.folder()).with(2);
        assert!(ended.stderr.contains("--allow-writes"), "{kind}: {}", ended.stderr);
        assert_eq!(psql(&server.url(), COUNT), "0", "{kind}");
        ping(url, &[&words[..], &["--allow-writes"]].concat(), server.folder()).with(0);
        assert_eq!(psql(&server.url(), COUNT), "0", "{kind}");
    };
    refused(&server.url(), "no pooler");
    each(&server, |pooler, kind| refused(&pooler.url(), kind));
}

#[test]
fn a_pooler_is_seen_where_the_server_is_read_only_by_itself() {
    let server = Postgres::start("");
    psql(&server.url(), WRITER);
    psql(&server.url(), "alter role plumb set default_transaction_read_only = on");
    let pooler = PgBouncer::start(&server, Lending::Transaction, StartUp::Dropped);
    for _ in 0..2 {
        let record = measured(&pooler.url(), &server, "read-only by itself");
        let said = record["target"]["server"].as_str().expect("a server");
        assert!(said.contains("through a pooler"), "{said}");
        let found = &record["results"][0]["attribution"];
        assert_eq!(found["intermediary"], "pooler", "{found:#}");
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn what_cannot_be_measured_is_refused_before_it_runs() {
    let server = Postgres::start("");
    psql(&server.url(), WRITER);
    let proof = server.folder().join("run.txt");
    let copy = format!("copy (select 1) to program 'touch {}'", proof.display());
    each(&server, |pooler, kind| {
        let cases = [
            ("selec 1", "syntax error"),
            ("select 1; select 2", "multiple commands"),
            ("select 1; commit; insert into t values (1)", "multiple commands"),
            ("select 1; commit; insert into t values (1) --", "multiple commands"),
            ("select '$1', $1::int", "write values in their place"),
            ("select $1::int, $2::int", "write values in their place"),
            ("select nothing from t", "does not exist"),
            ("select 1/0", "division by zero"),
            ("select * from generate_series(1, 100000)", "add a LIMIT"),
            ("select '", "unterminated quoted string"),
            ("select 1 /*", "unterminated /* comment"),
            ("insert into t values (1) returning a", "--allow-writes"),
            (copy.as_str(), "--allow-writes"),
            ("do $$ begin insert into t values (1); end $$", "--allow-writes"),
        ];
        for (statement, expected) in cases {
            let words = ["--ask", "own", "--statement", statement];
            let ended = ping(&pooler.url(), &words, server.folder()).with(2);
            assert!(ended.stderr.contains(expected), "{kind}, {statement}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{kind}: {}", ended.stderr);
        }
    });
    assert_eq!(psql(&server.url(), COUNT), "0");
    assert!(!proof.exists(), "a program was run");
}
