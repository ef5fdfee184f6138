//! A statement that may only read: what the server refuses, and what it does not.

use crate::kit;

use kit::postgres::{Postgres, ping, psql};

const COUNT: &str = "select count(*) from t";

/// The words that ask `statement` alone, over connections that are kept and new ones.
fn own(statement: &str) -> [&str; 10] {
    let over = "kept,pool,connect";
    let [ask, count] = [["--ask", "own"], ["--count", "24"]];
    [ask[0], ask[1], count[0], count[1], "--warmup", "0s", "--over", over, "--statement", statement]
}

#[test]
fn a_function_that_takes_the_promise_away_commits_no_row() {
    let server = Postgres::start("");
    psql(&server.url(), "create table t (a int)");
    psql(
        &server.url(),
        "create function at_once() returns int language plpgsql as $$ begin \
           insert into t values (1); return 1; \
         exception when read_only_sql_transaction then \
           perform set_config('default_transaction_read_only', 'off', false); return 0; \
         end $$",
    );
    let ended = ping(&server.url(), &own("select at_once()"), server.folder()).with(2);
    assert!(ended.stderr.contains("takes away the promise"), "{}", ended.stderr);
    assert_eq!(psql(&server.url(), COUNT), "0");
    // the fifth call of a session; until then it is as good as any
    psql(
        &server.url(),
        "create function later() returns int language plpgsql as $$ \
         declare n int := coalesce(nullif(current_setting('my.calls', true), ''), '0')::int + 1; \
         begin \
           perform set_config('my.calls', n::text, false); \
           if current_setting('transaction_read_only') = 'off' then \
             insert into t values (n); \
           end if; \
           if n = 5 then \
             perform set_config('default_transaction_read_only', 'off', false); \
           end if; \
           return n; \
         end $$",
    );
    let words = [&own("select later()")[..], &["--json"]].concat();
    let record = ping(&server.url(), &words, server.folder()).with(1).json();
    let kept = record["results"].as_array().expect("a list").iter();
    let failures = kept.filter(|result| result["labels"]["over"] == "kept");
    let failed = failures.map(|result| &result["failures"]).next().expect("such a result");
    assert!(failed["check-failed"].as_u64() > Some(0), "{record:#}");
    assert_eq!(psql(&server.url(), COUNT), "0");
}

#[test]
fn a_procedure_that_begins_a_transaction_of_its_own_is_refused() {
    let server = Postgres::start("");
    psql(&server.url(), "create table t (a int)");
    psql(
        &server.url(),
        "create procedure p(inout a int) language plpgsql as $$ begin \
           commit; set transaction read write; insert into t values (1); commit; \
         end $$",
    );
    for statement in ["call p(1)", "/* call */ CALL p(1)"] {
        let ended = ping(&server.url(), &own(statement), server.folder()).with(2);
        assert!(ended.stderr.contains("--allow-writes"), "{}", ended.stderr);
        let words = [&own(statement)[..], &["--allow-writes"]].concat();
        let ended = ping(&server.url(), &words, server.folder()).with(2);
        assert!(ended.stderr.contains("invalid transaction termination"), "{}", ended.stderr);
    }
    assert_eq!(psql(&server.url(), COUNT), "0");
}

#[test]
fn what_is_no_call_of_its_own_is_refused_where_it_may_write() {
    let server = Postgres::start("");
    for (statement, said) in [
        ("copy (select 1) to stdout", "copies to or from the client"),
        ("copy pg_class to stdout", "copies to or from the client"),
        ("/* one */ commit", "the own statement begins with COMMIT"),
        ("listen x", "begins with LISTEN"),
        ("begin", "begins with BEGIN"),
    ] {
        let words = [&own(statement)[..], &["--allow-writes"]].concat();
        let ended = ping(&server.url(), &words, server.folder()).with(2);
        assert!(ended.stderr.contains(said), "{statement}: {}", ended.stderr);
    }
}
