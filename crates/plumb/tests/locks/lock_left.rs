//! A load of locks leaves nothing behind on the server, however it ends, or says what.

use crate::kit;

use std::path::Path;

use kit::Program;
use kit::locks::{Client, Server};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::tempdir;

/// The only result of a load with `words` at `server`, run to its end whatever the machine does
/// meanwhile.
fn load(server: &Server, verb: &str, words: &[&str], folder: &Path) -> Value {
    let words = [&["lock", "load", verb, &server.address, "--json"], words].concat();
    kit::plumb(&words, folder).json()["results"][0].clone()
}

fn figure(client: &mut Client, name: &str) -> u64 {
    let told = client.ask("LOCKSTAT").expect("it answers");
    let at = told.iter().position(|word| word == name).expect("its name");
    told[at + 1].trim_start_matches(':').parse().expect("a figure")
}

/// Waits until the server has seen the ends of all connections of a load, with which locks end.
fn nothing_is_left(client: &mut Client) {
    kit::until_said(&|| "a table without locks".into(), || {
        (figure(client, "locks") == 0).then_some(())
    });
}

#[test]
fn what_an_update_has_inherited_is_released_at_the_end() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    // the twelfth request of an order is the first that hands locks on
    let words = ["--connections", "1", "--count", "12", "--warmup", "0s"];
    let found = load(&server, "sd", &words, folder.path());
    assert_eq!((&found["operations"], &found["failures"]), (&12.into(), &serde_json::json!({})));
    assert_eq!(figure(&mut client, "inherits"), 1);
    nothing_is_left(&mut client);
    assert!(!found["validity"].to_string().contains("may be left"), "{found:#}");
}

#[test]
fn keys_of_redis_are_released_at_the_end() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    let words = ["--target-kind", "redis", "--count", "1", "--warmup", "0s"];
    for unlock in ["compare", "delete"] {
        let words = [&words[..], &["--unlock", unlock]].concat();
        let found = load(&server, "pairs", &words, folder.path());
        assert_eq!(found["operations"], 1, "a key is taken and not released: {found:#}");
        assert_eq!(figure(&mut client, "locks"), 0, "{unlock}");
    }
}

/// A load of many connections that has begun with its orders.
fn begun(server: &Server, client: &mut Client, folder: &Path) -> Program {
    let words = ["lock", "load", "sd", &server.address, "--connections", "64", "--for", "10m"];
    let program = Program::start(&[&words[..], &["--json"]].concat(), folder);
    let before = figure(client, "dequeue_alls");
    let begun = || (figure(client, "dequeue_alls") > before + 1_000).then_some(());
    kit::until_said(&|| "orders".into(), begun);
    program
}

#[test]
fn what_an_update_has_inherited_is_released_behind_ctrl_c() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    for _ in 0..3 {
        let load = begun(&server, &mut client, folder.path());
        load.signal(Signal::INT);
        let said = load.wait().json();
        nothing_is_left(&mut client);
        let verdict = said["results"][0]["validity"].to_string();
        assert!(!verdict.contains("may be left"), "{verdict}");
    }
}

#[test]
fn what_cannot_be_released_is_told_with_what_removes_it() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    let load = begun(&server, &mut client, folder.path());
    server.program.signal(Signal::STOP);
    load.signal(Signal::INT);
    let said = load.wait().json();
    server.program.signal(Signal::CONT);
    let verdict = said["results"][0]["validity"].to_string();
    assert!(verdict.contains("locks of this load may be left"), "{verdict}");
    let (_, remedy) = verdict.split_once('`').expect("a command");
    let (remedy, _) = remedy.split_once('`').expect("its end");
    let words: Vec<&str> = remedy.split(' ').skip(1).chain(["--yes"]).collect();
    kit::until_said(&|| format!("{remedy} to leave nothing"), || {
        kit::plumb(&words, folder.path());
        (figure(&mut client, "locks") == 0).then_some(())
    });
}
