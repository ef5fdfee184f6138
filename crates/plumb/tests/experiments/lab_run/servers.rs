//! Servers that an experiment starts, and how they end.

use std::net::TcpStream;
use std::path::Path;

use rustix::process::{Pid, Signal, test_kill_process};

use super::{ALL_COUNT, SERVERS, experiment, folder, order};
use crate::kit::{self, Program, plumb, read};

fn check_servers(text: &str) {
    let at = folder();
    experiment(at.path(), text);
    let document = plumb(&ALL_COUNT, at.path()).with(3).json(); // two pairs show nothing
    let contrasts = document["contrasts"].as_array().expect("a list");
    assert_eq!(contrasts.len(), 3, "the second probe does not depend on the size");
    for contrast in contrasts {
        let figure = &contrast["endpoints"][0];
        assert!(figure["ratio"].as_f64().is_some_and(|ratio| ratio > 1.0), "{contrast:#}");
        let tail = contrast["labels"]["probe"] == "tail";
        assert_eq!(figure["key"], if tail { "p95" } else { "p50" });
        assert_eq!(figure["role"], "primary");
    }
    assert_eq!(contrasts[0]["labels"]["size"], "100B");
    let report = plumb(&["compare", "one", "--accept-invalid", "--accept-unchecked"], at.path())
        .with(0)
        .stdout;
    assert!(report.contains("trip: median response time"), "{report}");
    assert!(report.contains("tail: 95th percentile"), "{report}");
}

#[test]
fn servers_that_live_as_long_as_the_experiment_are_driven_at_their_addresses() {
    check_servers(SERVERS);
}

#[test]
fn servers_can_be_fresh_for_each_block() {
    check_servers(&SERVERS.replace("\"once\"", "\"block\"").replace("1000B", "300B"));
}

#[test]
fn a_server_of_the_shell_is_ready_when_it_says_so_and_gone_with_the_experiment() {
    let at = folder();
    let text = r#"
rounds = 6
[[server]]
name = "source"
exec = "echo $$ > pid; echo starting; echo serving at figure now; exec sleep 600"
ready = "serving at ${address} now"
[[variant]]
name = "one"
[[variant]]
name = "two"
[[probe]]
exec = "echo 10 > ${source}; cat ${source}"
"#;
    experiment(at.path(), text);
    plumb(&["lab", "run", "x.toml"], at.path()).with(0);
    assert_eq!(read(&at.path().join("figure")), "10\n");
    assert!(test_kill_process(pid(at.path())).is_err(), "it is still there");
}

/// What a command of the shell wrote of itself with `echo $$ > pid`.
fn pid(at: &Path) -> Pid {
    let number: i32 = read(&at.join("pid")).trim().parse().expect("a number");
    Pid::from_raw(number).expect("not zero")
}

#[test]
fn a_signal_ends_the_servers_too() {
    let at = folder();
    let text = SERVERS.replace("rounds = 2", "rounds = 1000");
    experiment(at.path(), &text);
    let running = Program::start(&["lab", "run", "x.toml", "--out", "one"], at.path());
    let head = running.log_line();
    assert!(head.starts_with("x: 1,000 rounds of 6 blocks"), "{head}");
    assert!(head.ends_with("; folder one"), "{head}");
    let first = running.log_line();
    assert!(first.starts_with("round 1, 6 blocks: "), "{first}");
    running.signal(Signal::INT);
    let ended = running.wait().with(130);
    assert!(ended.stderr.contains("no interval below six pairs"), "{ended:?}");
    let target = order(&at.path().join("one"))["blocks"][0]["folder"].clone();
    let run = kit::record(&at.path().join("one").join(target.as_str().expect("a path")));
    let address = run["target"]["address"].as_str().expect("an address").to_owned();
    assert!(TcpStream::connect(address).is_err(), "its server is gone");
}

#[test]
fn servers_end_even_when_the_experiment_is_killed() {
    let at = folder();
    experiment(at.path(), &SERVERS.replace("rounds = 2", "rounds = 1000"));
    let running = Program::start(&["lab", "run", "x.toml", "--out", "one"], at.path());
    while !running.log_line().starts_with("round 1, ") {}
    let first = order(&at.path().join("one"))["blocks"][0]["folder"].clone();
    let run = kit::record(&at.path().join("one").join(first.as_str().expect("a path")));
    let address = run["target"]["address"].as_str().expect("an address").to_owned();
    let mut client = TcpStream::connect(address).expect("its server is there");
    client.set_read_timeout(Some(kit::PATIENCE)).expect("a socket");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    assert!(kit::message::at_end(&mut client), "the server does not end");
}

/// Kills an experiment while its only command is at work, which does `on_term` at SIGTERM and
/// `and_then` until it comes.
fn kill_beside(on_term: &str, and_then: &str, at: &Path) {
    // plumb waits for it, and so has told its guard of it
    let waited_for = "until grep -q '^State:.S' /proc/$PPID/status; do :; done";
    // a shell that tells how its child was ended would be ended itself: nobody reads that any more
    let figure = format!(
        "exec 2> said; echo $$ > pid; trap '{on_term}' TERM; {waited_for}; : > begun; {and_then}"
    );
    let text = "rounds = 6\n[[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\n[[probe]]\n";
    experiment(at, &format!("{text}exec = \"{figure}\"\n"));
    let running = Program::start(&["lab", "run", "x.toml"], at);
    kit::until(|| at.join("begun").exists().then_some(()));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
}

#[test]
fn commands_end_even_when_the_experiment_is_killed() {
    let at = folder();
    kill_beside(": > ended; exit 1", "sleep 600 & wait; echo 10", at.path());
    kit::until(|| at.path().join("ended").exists().then_some(()));
}

#[test]
fn a_command_that_does_not_end_when_it_is_asked_to_is_killed_with_the_experiment() {
    let at = folder();
    kill_beside(": > asked", "while :; do sleep 1; done", at.path());
    kit::until(|| at.path().join("asked").exists().then_some(()));
    let command = pid(at.path());
    kit::until(|| test_kill_process(command).is_err().then_some(()));
}

#[test]
fn a_server_that_does_not_start_is_told_and_leaves_no_folder() {
    let at = folder();
    let text = SERVERS.replace("127.0.0.1:0", "127.0.0.1:1x");
    experiment(at.path(), &text);
    let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
    assert!(ended.stderr.contains("the server `echo`"), "{ended:?}");
    assert!(ended.stderr.contains("1x"), "{ended:?}");
    assert!(!at.path().join("plumb-runs").exists());
}
