//! The clients of the lock server: load, status, listing, and `enqt`, over TCP and TLS.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use kit::authority::Authority;
use kit::foreign::installed;
use kit::locks::Server;
use kit::not_tried;
use kit::{Ended, PLUMB, Program, names_in, plumb};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::tempdir;

fn lock(words: &[&str], folder: &Path) -> Ended {
    plumb(&[&["lock"], words].concat(), folder)
}

/// The only result of a load with `words`, run to its end whatever the machine does meanwhile.
fn result(words: &[&str], folder: &Path) -> Value {
    let ended = lock(&[&["load"], words, &["--json"]].concat(), folder);
    ended.json()["results"][0].clone()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn figure(result: &Value, name: &str) -> f64 {
    let figures = result["figures"].as_array().expect("figures");
    let found = figures.iter().find(|figure| figure["name"] == name);
    found.and_then(|it| it["value"].as_f64()).unwrap_or_else(|| panic!("no {name} in {result:#}"))
}

/// `words` and those that are `known`.
fn with<'a>(known: &[&'a str], words: &[&'a str]) -> Vec<&'a str> {
    [words, known].concat()
}

fn failures(result: &Value) -> usize {
    result["failures"].as_object().expect("kinds and counts").len()
}

#[test]
fn pairs_are_taken_and_released_and_nothing_is_left() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let words = ["pairs", &server.address, "--connections", "3", "--depth", "4"];
    let found = result(&[&words[..], &["--count", "3000"]].concat(), folder.path());
    assert_eq!((count(&found["operations"]), failures(&found)), (3_000, 0), "{found:#}");
    let parts = found["parts"].as_array().expect("two kinds");
    let names: Vec<_> = parts.iter().map(|part| part["name"].as_str()).collect();
    assert_eq!(names, [Some("take"), Some("release")]);
    assert!(figure(&found, "pairs") > 0.0);
    assert!(count(&found["cpu"]["server_ns_per_op"]) > 0);
    let state = lock(&["status", &server.address, "--json", "--over", "0s"], folder.path());
    assert_eq!(count(&state.with(0).json()["figures"]["locks"]), 0);
    let ours = ["pairs", &server.address, "--target-kind", "redis", "--count", "1000"];
    for unlock in ["compare", "delete"] {
        let found = result(&[&ours[..], &["--unlock", unlock]].concat(), folder.path());
        assert_eq!((count(&found["operations"]), failures(&found)), (1_000, 0), "{found:#}");
    }
}

#[test]
fn a_server_that_hangs_is_waited_for_once_before_a_load_of_the_other() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let hangs = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let both = format!("{},{}", hangs.local_addr().expect("it listens"), server.address);
    let words = ["pairs", &both, "-c", "1", "--count", "1000", "--connect-timeout", "300ms"];
    let found = result(&words, folder.path());
    assert_eq!((count(&found["operations"]), failures(&found)), (1_000, 0), "{found:#}");
    // is it there, and what is its role
    hangs.set_nonblocking(true).expect("a socket");
    assert_eq!(std::iter::from_fn(|| hangs.accept().ok()).count(), 2);
}

#[test]
fn an_order_is_four_steps_on_keys_of_its_own() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let words = ["sd", &server.address, "--connections", "2", "--count", "2900", "--warmup", "0s"];
    let found = result(&words, folder.path());
    assert_eq!((count(&found["operations"]), failures(&found)), (2_900, 0), "{found:#}");
    assert!(figure(&found, "enqueues a minute") > 0.0);
    assert!(figure(&found, "bound set by the round trip") > 0.0);
    let state = lock(&["status", &server.address, "--json", "--over", "0s"], folder.path());
    let state = state.with(0).json();
    let counted = ["granted", "inherits", "dequeue_alls"].map(|it| count(&state["figures"][it]));
    assert_eq!(counted.iter().sum::<u64>(), 2_900);
}

#[test]
fn what_create_took_stays_until_destroy() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let run = |verb: &str, locks: &str| result(&[verb, &server.address, "3", locks], folder.path());
    let created = run("create", "700");
    assert_eq!((count(&created["operations"]), failures(&created)), (2_100, 0), "{created:#}");
    assert!(figure(&created, "bytes a lock") > 0.0);
    let verified = run("verify", "700");
    assert_eq!(failures(&verified), 0, "{verified:#}");
    assert!((figure(&verified, "locks found") - 2_100.0).abs() < 0.5);
    for (wrong, found, beyond) in [("699", 2_097.0, 3.0), ("701", 2_100.0, 0.0)] {
        let verified = run("verify", wrong);
        assert_eq!(count(&verified["failures"]["collided"]), 1);
        let figures = ["locks found", "locks beyond these"].map(|it| figure(&verified, it));
        assert!((figures[0] - found).abs() < 0.5 && (figures[1] - beyond).abs() < 0.5);
    }
    let state = lock(&["status", &server.address, "--full", "0.1%"], folder.path());
    assert!(state.with(1).stdout.contains("attention: 0.2 % of the locks"));
    let destroyed = run("destroy", "700");
    assert_eq!((count(&destroyed["operations"]), failures(&destroyed)), (3, 0), "{destroyed:#}");
    assert_eq!(count(&run("destroy", "700")["failures"]["collided"]), 3); // nothing is left
    // its memory is there already, so nothing says what a lock takes
    let again = run("create", "700");
    let named = |figure: &Value| figure["name"] == "bytes a lock";
    let tells =
        |found: &Value| found["figures"].as_array().is_some_and(|all| all.iter().any(named));
    assert!(!tells(&again), "{again:#}");
    let counted = run("create", "700");
    assert!(!tells(&counted), "its owners have them already: {counted:#}");
}

#[test]
fn a_table_is_verified_part_by_part_and_what_is_wrong_in_it_is_named() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let verify = || result(&["verify", &server.address, "3", "7000"], folder.path());
    result(&["create", &server.address, "3", "7000"], folder.path());
    let verified = verify();
    assert_eq!(failures(&verified), 0, "{verified:#}");
    assert_eq!(count(&verified["operations"]), 3); // others are served in between
    let mut client = server.client();
    let mut say = |command: &str| client.ask(command).expect("it answers");
    for (command, undo, named) in [
        ("ENQ stranger S PLUMBFILL x", "DEQALL stranger", "stranger x"),
        (
            "ENQ plumb-fill-0001 E PLUMBFILL 000100000003",
            "DEQ plumb-fill-0001 SCOPE 2 E PLUMBFILL 000100000003",
            "plumb-fill-0001 000100000003 with counters 0/2, not 0/1",
        ),
        ("REMOVE LOCK PLUMBFILL 000200000007", "", "lacks 1 of the 21000"),
        ("ENQ plumb-fill-0000 E PLUMBFILL 000200000007", "", "plumb-fill-0000 000200000007"),
    ] {
        assert!(say(command)[0].starts_with(':'), "{command}");
        let verified = verify();
        assert_eq!(count(&verified["failures"]["collided"]), 1, "{verified:#}");
        assert!(verified["validity"].to_string().contains(named), "{named}: {verified:#}");
        if !undo.is_empty() {
            say(undo);
        }
    }
}

#[test]
fn locks_of_somebody_else_are_collisions() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let key = "plumb:fill:0000:00000001";
    let words = ["create", &server.address, "1", "3", "--target-kind", "redis"];
    result(&words, folder.path());
    let again = result(&words, folder.path());
    assert_eq!(count(&again["failures"]["collided"]), 3, "{key} and its neighbours: {again:#}");
}

#[test]
fn locks_are_shown_oldest_first_and_removed_on_request() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    result(&["create", &server.address, "2", "1200"], folder.path());
    let show = |words: &[&str]| lock(&[&["show", &server.address], words].concat(), folder.path());
    let listed = show(&["--json"]).with(0).json();
    let locks = listed["locks"].as_array().expect("locks");
    assert_eq!(locks.len(), 2_400);
    let ages: Vec<(u64, u64)> =
        locks.iter().map(|lock| (count(&lock["since_ms"]), count(&lock["fence"]))).collect();
    assert!(ages.is_sorted());
    let one = ["--owner", "plumb-fill-0001", "--argument", "00010000000"];
    let table = show(&one).with(0).stdout;
    assert!(table.starts_with("since "), "{table}");
    assert!(table.ends_with("10 of 10 locks\n"), "{table}");
    let asked = show(&[&one[..], &["--delete"]].concat());
    assert!(asked.with(2).stderr.contains("write --yes"));
    let removed = show(&[&one[..], &["--delete", "--yes"]].concat());
    assert_eq!(removed.with(0).stderr, "10 locks removed\n");
    assert_eq!(show(&["--json"]).with(0).json()["found"], 2_390);
}

#[test]
fn whoever_sits_at_a_terminal_is_asked_before_locks_are_removed() {
    if let Err(reason) = installed("script", "bsdutils") {
        not_tried(reason);
        return;
    }
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    client.number("ENQ a E T 1 E T 2 S V 3");
    client.number("ENQ b S V 3");
    let asked = |answer: &str| {
        let line = r#"printf '%s\n' "$1" |
            script -qefc "'$0' lock show '$2' --owner a --name T --delete" /dev/null"#;
        let words = ["-c", line, PLUMB, answer, &server.address];
        Program::start_as(Path::new("/bin/sh"), &words, folder.path()).wait()
    };
    let no = asked("y").with(2).stdout;
    assert!(no.contains("remove these 2 locks, whoever holds them? [yes/no]"), "{no}");
    assert!(no.contains("only the whole word yes removes them"), "{no}");
    interrupted(&server, folder.path());
    assert_eq!(client.number("COUNT a"), 3);
    assert!(asked("yes").with(0).stdout.contains("2 locks removed"));
    assert_eq!(client.number("COUNT a"), 1, "what was not shown stays, although taken with it");
    assert_eq!(client.number("COUNT b"), 1);
}

/// Lets whoever is asked press Ctrl-C.
fn interrupted(server: &Server, folder: &Path) {
    let line = r#"mkfifo in &&
        exec script -qefc "echo \$\$; exec '$0' lock show '$1' --delete" /dev/null <>in"#;
    let words = ["-c", line, PLUMB, &server.address];
    let program = Program::start_as(Path::new("/bin/sh"), &words, folder);
    let number = program.line().trim().parse().expect("the number of its process");
    while !program.line().contains("of 4 locks") {}
    let number = Pid::from_raw(number).expect("a process");
    kill_process(number, Signal::INT).expect("it waits for an answer");
    program.wait().with(130);
}

#[test]
fn status_tells_a_cluster_manager_how_it_is() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let status = |words: &[&str]| {
        lock(&[&["status", &server.address, "--over", "0s"], words].concat(), folder.path())
    };
    let epoch = count(&status(&["--json"]).with(0).json()["figures"]["epoch"]);
    status(&["--epoch", &epoch.to_string()]).with(0);
    let idle = lock(&["status", &server.address, "--over", "20ms", "--json"], folder.path());
    let idle = idle.with(0).json();
    assert_eq!(idle["per_s"]["commands"], 0.0, "what it asks itself is not counted: {idle:#}");
    let lost = status(&["--epoch", "7"]).with(1);
    assert!(lost.stdout.contains("locks were lost"), "{lost:#?}");
    let nobody = lock(&["status", "127.0.0.1:1"], folder.path()).with(2);
    assert!(nobody.stderr.contains("cannot connect"), "{nobody:#?}");
}

#[test]
fn a_password_and_tls_are_asked_for_by_every_verb() {
    let folder = tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "own");
    let signed = authority.sign("localhost");
    let secret = folder.path().join("secret");
    fs::write(&secret, "hush\n").expect("it can be written");
    let secret = secret.to_str().expect("a plain path");
    let words = [&signed.shown()[..], &["--password-file", secret]].concat();
    let server = Server::start(&words, folder.path());
    let port = server.place().1;
    let host = format!("localhost:{port}");
    let ca = authority.ca();
    let known = ["--tls", "--ca", &ca, "--ipv4", "--password-file", secret];
    lock(&with(&known, &["status", &host, "--over", "0s"]), folder.path()).with(0);
    let found = result(&with(&known, &["pairs", &host, "--count", "500"]), folder.path());
    assert_eq!((count(&found["operations"]), failures(&found)), (500, 0), "{found:#}");
    assert_eq!(count(&found["tls_ns"]["count"]), 1);
    result(&with(&known, &["create", &host, "2", "50"]), folder.path());
    let verified = result(&with(&known, &["verify", &host, "2", "50"]), folder.path());
    assert_eq!(failures(&verified), 0, "{verified:#}");
    let shown = lock(&with(&known, &["show", &host, "--limit", "1"]), folder.path()).with(0);
    assert!(shown.stdout.ends_with("1 of 100 locks\n"));

    let silent = ["--tls", "--ca", &ca, "--ipv4"];
    let refused = lock(&[&["status", &host][..], &silent].concat(), folder.path()).with(2);
    assert!(refused.stderr.contains("NOAUTH"), "{refused:#?}");
    let plain = lock(&["status", &host, "--ipv4", "--timeout", "2s"], folder.path());
    let plain = plain.with(2).stderr;
    assert!(plain.ends_with("speaks TLS: add --tls\n"), "{plain}");
    let loaded = lock(&["load", "pairs", &host, "--ipv4", "--count", "10"], folder.path()).with(2);
    assert!(loaded.stderr.contains("speaks TLS: add --tls"), "{loaded:#?}");
    let stranger = Authority::new(folder.path(), "other").ca();
    let words = ["status", &host, "--ipv4", "--tls", "--ca", &stranger];
    lock(&words, folder.path()).with(2);
}

#[test]
fn enqt_takes_its_opcodes_and_prints_its_tables() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let enqt = folder.path().join("enqt");
    symlink(PLUMB, &enqt).expect("a link");
    let port = server.place().1;
    let profile = folder.path().join("profile");
    let text = format!("# central services\nSAPSYSTEM = 01\nenque/encni/port = {port}\n");
    fs::write(&profile, text).expect("it can be written");
    let profile = format!("pf={}", profile.display());
    let run = |words: &[&str]| {
        Program::start_as(&enqt, &[&[profile.as_str()], words].concat(), folder.path()).wait()
    };
    let created = run(&["11", "2", "300"]).with(0).stdout;
    assert!(created.contains("600 locks taken in "), "{created}");
    assert!(created.contains("no published table: table 6 has 10 x 55,000 locks"), "{created}");
    assert!(created.contains(" bytes a lock\n"), "{created}");
    assert!(created.contains(" us of the server's processor time an operation\n"), "{created}");
    let verified = run(&["20", "2", "300"]).with(0).stdout;
    assert!(verified.contains("600 of 600 locks verified in "), "{verified}");
    let destroyed = run(&["12", "2", "300"]).with(0).stdout;
    assert!(destroyed.contains("600 of 600 locks released in "), "{destroyed}");
    assert!(destroyed.contains(" s, all of 2 owners\n"), "{destroyed}");
    let gone = run(&["20", "2", "300"]).with(1).stdout;
    assert!(gone.contains("*** ERROR => 1 operations failed: collided"), "{gone}");
    let unread = kit::unread_as(&enqt, &[profile.as_str(), "20", "2", "300"], folder.path());
    assert_eq!(unread, Some(1), "whoever stops reading gets the exit code that was earned");
    let again = run(&["11", "2", "300", "--depth", "16"]).with(0).stdout;
    assert!(again.contains("no published table: with --depth requests share"), "{again}");
    run(&["12", "2", "300", "--depth", "16"]).with(0);
    assert!(
        run(&["20", "2", "300", "--depth", "2"]).with(2).stdout.contains("belongs to 11 and 12")
    );
    let sales = run(&["10", "1", "2"]).with(0).stdout;
    assert!(sales.contains("Operation         actual      10 sec"), "{sales}");
    let rates: Vec<&str> = sales
        .lines()
        .find(|line| line.starts_with("Enqueue"))
        .map_or_else(Vec::new, |line| line.split_whitespace().skip(1).collect());
    assert_eq!(rates.len(), 4, "{sales}");
    assert_eq!(rates[1..], ["-"; 3], "a second is no minute: {sales}");
    assert!(sales.contains("no published table has so many processes"), "{sales}");
    let alone = run(&["10", "1"]).with(0).stdout;
    assert!(alone.contains("may be set against: table 4 (1 process)"), "{alone}");
    assert!(alone.contains("what else ran on this machine was not looked at"), "{alone}");
    let live = run(&["8", "1", "1"]).with(0).stdout;
    assert!(live.contains("Enqueue") && live.contains("Locks"), "{live}");
    let enqueues = live.lines().find_map(|line| line.strip_prefix("Enqueue ")).unwrap_or_default();
    let rates: Vec<&str> = enqueues.split_whitespace().collect();
    assert_eq!(rates, ["0", "-", "-", "-", "-"], "the last second, which is no window: {live}");
    assert!(run(&["9"]).with(2).stdout.contains("opcode 9 is not one of"));
    assert!(run(&[]).with(2).stdout.contains("the opcode is missing"));
    let left: Vec<String> = names_in(folder.path());
    assert_eq!(left, ["enqt", "profile"], "no run is left behind");
}

#[test]
fn enqt_says_what_the_server_has_room_for_and_what_a_full_table_has_released() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&["--table-size", "1MiB"], folder.path());
    let enqt = folder.path().join("enqt");
    symlink(PLUMB, &enqt).expect("a link");
    let profile = folder.path().join("profile");
    let port = server.place().1;
    let text = format!("enque/encni/port = {port}\nenqueue/table_size = 640000\n");
    fs::write(&profile, text).expect("it can be written");
    let profile = format!("pf={}", profile.display());
    let run = |words: &[&str]| {
        Program::start_as(&enqt, &[&[profile.as_str()], words].concat(), folder.path()).wait()
    };
    let not_valid = "*** ERROR => the figures are not valid: ";
    let created = run(&["11", "10", "500"]).with(1).stdout;
    let heads = [
        format!("enqueue server 127.0.0.1 port {port}\n"),
        "the profile says enqueue/table_size 640000 KB\n".into(),
        "the server has room for 2048 locks\nattention: 5000 locks are to be taken, which is more"
            .into(),
        "2048 of 5000 locks taken in ".into(),
        "*** ERROR => 2952 operations failed: refused".into(),
        not_valid.into(),
    ];
    for head in heads {
        assert!(created.contains(&head), "{head}\n{created}");
    }
    let rate = created.lines().find(|line| line.contains("locks taken in")).unwrap_or_default();
    assert!(!rate.contains("/s"), "{created}");
    let destroyed = run(&["12", "10", "500"]).with(1).stdout;
    assert!(destroyed.contains("2048 of 5000 locks released in "), "{destroyed}");
    assert!(destroyed.contains(not_valid), "{destroyed}");
    assert!(destroyed.contains("locks of one owner, who was to hold 500"), "{destroyed}");
    assert!(
        destroyed.contains("attention: a table as in the profile has room for 1280000"),
        "{destroyed}"
    );
}
