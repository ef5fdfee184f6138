//! Users do what their file says, and no more; what only few may do is written down.

use std::sync::Mutex;

use plumb_engine::{Ended, Endpoint, Service as _};
use plumb_lock_server::{Event, ReplicationPlan, ServerPlan, Users};
use plumb_lock_table::table::Limits;

use crate::lives::with_journal;
use crate::waiting::{Bench, Still, plan};

const LIMITS: Limits = Limits { rows: 1_000, scan: 1_000 };
/// The SHA-256 of `foobared`.
const HASH: &str = "#1b58ee375b42e41f0e48ef2ff27d10a5b1f6924a9acdcdba7cae868e7adce6bf";

fn users() -> ServerPlan {
    let text = format!(
        "user sales on {HASH} ~SALES* ~key1 +@lock\nuser ear on {HASH} +@list\n\
         user ops on {HASH} ~* +@all -@lock\nuser default on {HASH}\n"
    );
    ServerPlan { users: Some(Users::parse(&text).expect("a file of users")), ..plan() }
}

#[test]
fn users_do_what_they_may_where_they_may() {
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(users(), LIMITS, &clock, &mut tell);
    let [sales, ear, ops, nobody] = [(); 4].map(|()| bench.client());
    let refused = |said: String| assert!(said.starts_with("-NOPERM"), "{said}");
    assert!(bench.say(sales, "ENQ a E SALES1 1").starts_with("-NOAUTH"));
    assert!(bench.say(sales, "AUTH sales wrong").starts_with("-WRONGPASS"));
    bench.pass(1_000_000_000);
    for (client, name) in [(sales, "sales"), (ear, "ear"), (ops, "ops")] {
        assert_eq!(bench.say(client, &format!("AUTH {name} foobared")), "+OK\r\n");
    }
    assert!(bench.say(sales, "ENQ a E SALES1 1").starts_with(':'));
    refused(bench.say(sales, "ENQ a E SALES1 1 E OTHER 1"));
    refused(bench.say(sales, "CHECK a E OTHER 1"));
    assert_eq!(bench.say(sales, "SET key1 v NX PX 1000"), "+OK\r\n");
    refused(bench.say(sales, "SET key2 v NX PX 1000"));
    refused(bench.say(sales, "DEL key1 key2"));
    for line in ["LOCKS", "REMOVE OWNER a", "REPLICA PROMOTE", "LOCKSTAT FORGET"] {
        refused(bench.say(sales, line));
    }
    assert!(bench.say(ear, "LOCKS").contains("SALES1"));
    refused(bench.say(ear, "ENQ x E SALES1 1"));
    refused(bench.say(ear, "REMOVE OWNER a"));
    refused(bench.say(ops, "ENQ x E SALES1 1"));
    assert_eq!(bench.say(ops, "REMOVE LOCK SALES1 1"), ":1\r\n");
    // who names no user is the default one, which may ask how it is
    assert_eq!(bench.say(nobody, "AUTH foobared"), "+OK\r\n");
    assert_eq!(bench.say(nobody, "PING"), "+PONG\r\n");
    refused(bench.say(nobody, "COUNT a"));
}

#[test]
fn users_change_no_locks_outside_their_names() {
    let text =
        format!("user sales on {HASH} ~SALES* ~key1 +@lock\nuser boss on {HASH} ~* +@lock\n");
    let plan = ServerPlan { users: Some(Users::parse(&text).expect("a file of users")), ..plan() };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan, LIMITS, &clock, &mut tell);
    let (sales, boss) = (bench.client(), bench.client());
    bench.say(sales, "AUTH sales foobared");
    bench.say(boss, "AUTH boss foobared");
    bench.say(boss, "ENQ a LEASE 1000 E OTHER 1 E SALES1 1");
    bench.say(boss, "SET key2 value NX PX 1000");
    for line in ["DEQ a E OTHER 1", "DEQALL a", "INHERIT a b", "RENEW a 9000", "DEQALL value"] {
        let said = bench.say(sales, line);
        assert!(said.starts_with("-NOPERM"), "{line}: {said}");
    }
    // how long an owner lives is so of all its locks
    for terms in ["KEEP S", "LEASE 1 S", "LEASE 1 U"] {
        let said = bench.say(sales, &format!("ENQ a {terms} SALES2 2"));
        assert!(said.starts_with("-NOPERM"), "{terms}: {said}");
    }
    for line in ["ENQ value LEASE 1 S SALES2 2", "INHERIT b a"] {
        bench.say(sales, "ENQ b SCOPE 1 E SALES3 1");
        let said = bench.say(sales, line);
        assert!(said.starts_with("-NOPERM"), "{line}: {said}");
    }
    assert!(bench.say(sales, "ENQ a S SALES1 2").starts_with(':'), "it changes no life");
    assert_eq!(bench.say(sales, "DEQ a S SALES1 2"), ":1\r\n");
    assert_eq!(bench.say(sales, "DEQ a E SALES1 1"), ":1\r\n");
    assert_eq!(bench.say(boss, "DEQ a E OTHER 1"), ":1\r\n");
    assert_eq!(bench.say(sales, "ENQ a E SALES2 1").chars().next(), Some(':'));
    assert_eq!(bench.say(sales, "DEQALL a"), ":1\r\n");
}

#[test]
fn an_owner_that_may_come_back_is_bound_by_who_may_change_all_its_locks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut before, _) = with_journal(folder.path(), plan());
    let client = before.client();
    before.say(client, "ENQ a E SALES1 1 E OTHER 1");
    before.say(client, "ENQ b E SALES1 2");
    before.turn();
    drop(before);
    let text = format!("user sales on {HASH} ~SALES* +@lock\nuser boss on {HASH} ~* +@all\n");
    let users = Some(Users::parse(&text).expect("a file of users"));
    let plan = ServerPlan { users, grace_ns: 1_000_000_000, ..plan() };
    let (mut bench, _) = with_journal(folder.path(), plan);
    let (sales, boss) = (bench.client(), bench.client());
    bench.say(sales, "AUTH sales foobared");
    bench.say(boss, "AUTH boss foobared");
    assert!(bench.say(sales, "ENQ a E SALES1 3").starts_with("-NOPERM"));
    assert!(bench.say(sales, "ENQ b E SALES1 3").starts_with(':'));
    assert!(bench.say(boss, "ENQ a E SALES1 4").starts_with(':'));
    bench.server.close(sales, Ended::ByClient);
    bench.turn();
    assert_eq!(bench.say(boss, "COUNT a"), ":3\r\n");
    assert_eq!(bench.say(boss, "COUNT b"), ":0\r\n");
}

#[test]
fn users_listen_to_what_they_may_know() {
    let text = format!("user sales on {HASH} ~SALES* ~key1 +@lock\nuser ops on {HASH} +@all\n");
    let plan = ServerPlan { users: Some(Users::parse(&text).expect("a file of users")), ..plan() };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan, LIMITS, &clock, &mut tell);
    let (sales, ops) = (bench.client(), bench.client());
    bench.say(sales, "AUTH sales foobared");
    bench.say(ops, "AUTH ops foobared");
    let [own, key] = ["lock:free:SALES1:OTHER", "lock:free::key1"];
    for other in ["lock:free:OTHER:SALES1", "lock:free::key2", "lock:lost:a", "lock:events"] {
        let said = bench.say(sales, &format!("SUBSCRIBE {own} {other}"));
        assert!(said.starts_with("-NOPERM"), "{other}: {said}");
    }
    let said = bench.say(sales, &format!("SUBSCRIBE {own} {key} lock_of_a_library"));
    assert!(said.ends_with(":3\r\n"), "{said}");
    assert!(bench.say(ops, "SUBSCRIBE lock:lost:a lock:events").ends_with(":2\r\n"));
}

#[test]
fn who_has_logged_in_waits_with_the_password_of_another_user_too() {
    const MS: u64 = 1_000_000;
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(users(), LIMITS, &clock, &mut tell);
    let client = bench.client();
    assert_eq!(bench.say(client, "AUTH sales foobared"), "+OK\r\n");
    assert!(bench.say(client, "AUTH ops guess").starts_with("-WRONGPASS"));
    assert_eq!(bench.say(client, "AUTH ops foobared"), "", "it is not looked at yet");
    bench.pass(1_000 * MS);
    bench.turn();
    assert_eq!(bench.late.pop(), Some((client, b"+OK\r\n".to_vec())));
    // a right password behind a wrong one leaves that counted: the next one costs twice as much
    assert!(bench.say(client, "HELLO 3 AUTH sales guess").starts_with("-WRONGPASS"));
    bench.pass(150 * MS);
    let other = bench.client();
    assert_eq!(bench.say(other, "AUTH sales foobared"), "", "two came from its address");
    assert!(bench.say(client, "HELLO 2").starts_with('*'), "it names no password");
}

#[test]
fn a_server_that_is_not_elected_lets_log_on_behind_a_wrong_password() {
    let nobody = vec![Endpoint::Tcp(([127, 0, 0, 1], 1).into())];
    let replication = ReplicationPlan { witnesses: vec![nobody], ..ReplicationPlan::default() };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(ServerPlan { replication, ..users() }, LIMITS, &clock, &mut tell);
    for line in ["AUTH ops foobared", "HELLO 3 AUTH ops foobared"] {
        let client = bench.client();
        assert!(bench.say(client, "AUTH ops guess").starts_with("-WRONGPASS"));
        assert_eq!(bench.say(client, line), "", "it is not looked at yet");
        bench.pass(1_000_000_000);
        bench.server.due(bench.clock.now_ns_now());
        let mut said = Vec::new();
        assert!(bench.server.late_reply(&mut said).is_some(), "{line}");
        assert!(!said.is_empty() && said[0] != b'-', "{}", String::from_utf8_lossy(&said));
        let mark = bench.server.mark(&client);
        assert!(bench.server.may_tell(&client, mark), "{line}: it shows no locks");
        bench.turn();
        let refused = bench.say(client, "REPLICA PROMOTE");
        assert!(refused.contains("--force"), "{refused}");
    }
}

#[test]
fn who_removes_a_lock_is_written_down() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let (clock, mut tell) = (Still::default(), |event: Event<'_>| {
        if let Event::Audited(audited) = event {
            TOLD.lock().expect("one test").push(audited.to_string());
        }
    });
    let mut bench = Bench::new(users(), LIMITS, &clock, &mut tell);
    let (sales, ops) = (bench.client(), bench.client());
    bench.say(sales, "AUTH sales foobared");
    bench.say(ops, "AUTH ops foobared");
    bench.say(sales, "ENQ a E SALES1 1 E SALES1 2");
    bench.say(ops, "REMOVE OWNER a");
    for _ in 0..3 {
        // the server that took the place says so once a second
        assert_eq!(bench.say(ops, "REPLICA FENCE 7"), ":1\r\n");
    }
    let told = TOLD.lock().expect("one test").clone();
    assert_eq!(
        told,
        ["ops from unix: REMOVE OWNER a: 2 locks", "ops from unix: REPLICA FENCE 7: epoch 1"]
    );
}
