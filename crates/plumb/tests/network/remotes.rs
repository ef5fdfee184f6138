//! One load that several remotes drive together: processes on this machine.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use plumb_measure::{Histogram, RunRecord, hdr};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::tempdir;

use crate::kit::{PLUMB, Program, Server, ping, plumb, until};

const CALM: [&str; 6] = ["--warmup", "0s", "--lag", "50s", "--timeout", "50s"];

/// The record in `file`.
fn read(file: &Path) -> RunRecord {
    RunRecord::from_json(&fs::read_to_string(file).expect("it is there")).expect("a record")
}

/// The processes that `program` has started and that still run.
fn children(program: u32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{program}/task/{program}/children"));
    let listed = listed.unwrap_or_default();
    listed.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

/// True when the process is gone, or has ended and nobody has looked.
fn is_over(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn what_all_remotes_recorded_is_one_record_of_all_samples() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let words = ["--remotes", "local:3", "--connections", "4", "--count", "3001", "--out", "run"];
    // on a busy machine remotes begin further apart than an interval is long by default
    let asked = [&CALM[..], &words, &["--size", "10B,2000B", "--interval", "50s"]].concat();
    ping(&server.address, &asked, at.path()).with(0);
    let run = read(&at.path().join("run/run.json"));
    let remotes = run.plan.options["remotes"].as_array().expect("they are named").len();
    assert_eq!((remotes, run.results.len()), (3, 2));
    assert_eq!(run.plan.options["remotes-asked"], "local:3");
    let names = ["local-1", "local-2", "local-3"];
    let parts = names.map(|name| read(&at.path().join(format!("run/remotes/{name}.json"))));
    for (point, result) in run.results.iter().enumerate() {
        assert_eq!((result.operations, result.clients.len()), (3_001, 3));
        let each: Vec<u64> = result.clients.iter().map(|client| client.operations).collect();
        assert_eq!(each, [1_001, 1_000, 1_000], "operations are divided, and none is done twice");
        let connections = parts.iter().map(|part| {
            part.results[point].transports.iter().map(|used| used.connections).sum::<u64>()
        });
        assert_eq!(connections.collect::<Vec<_>>(), [2, 1, 1]);
        let mut together = Histogram::new();
        for part in &parts {
            assert_eq!(part.results[point].labels["size"], result.labels["size"]);
            let times = part.results[point].response_ns.as_ref().expect("it has some");
            together.merge(&hdr::decode(&times.histogram).expect("a histogram"));
        }
        let whole = result.response_ns.as_ref().expect("it has some");
        let all = hdr::decode(&whole.histogram).expect("a histogram");
        assert!(all.buckets().eq(together.buckets()), "every bucket");
        let exact = parts.each_ref().map(|part| part.results[point].response_ns.clone().unwrap());
        assert_eq!(whole.min, exact.iter().map(|it| it.min).min().unwrap());
        assert_eq!(whole.max, exact.iter().map(|it| it.max).max().unwrap());
    }
}

#[test]
fn a_host_behind_the_end_of_options_is_that_of_every_remote() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    fs::write(at.path().join("o.toml"), format!("host = \"{}\"\n", server.address))
        .expect("written");
    let load = ["--remotes", "local:2", "--connections", "2", "--count", "30", "--interval", "50s"];
    for host in [&["--", server.address.as_str()][..], &["--options", "o.toml"]] {
        let asked =
            [&["net", "ping"], &CALM[..], &load, &["--foreign-limit", "100%", "--json"], host];
        let record = plumb(&asked.concat(), at.path()).with(0).json();
        assert_eq!(record["results"][0]["operations"], 30);
    }
}

#[test]
fn the_nats_server_of_the_controller_is_none_of_remotes_on_its_machine() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let load = ["--remotes", "local:2", "--connections", "2", "--count", "30", "--interval", "50s"];
    let asked = [&["net", "ping", &server.address], &CALM[..], &load, &["--json"]].concat();
    let told = [
        ("PLUMB_NATS_URL", "nats://127.0.0.1:1"),
        ("PLUMB_NATS_CREDENTIALS", "none.creds"),
        ("PLUMB_NATS_NKEY", "none.nkey"),
    ];
    let ended = Program::start_told(Path::new(PLUMB), &asked, at.path(), &told).wait();
    assert_eq!(ended.with(0).json()["results"][0]["operations"], 30);
}

#[test]
fn what_cannot_be_divided_or_reached_is_refused() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let refused = |words: &[&str], why: &str| {
        let ended = plumb(words, at.path()).with(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{ended:?}");
        assert!(!at.path().join("plumb-runs").exists_with_runs(), "no run is left");
    };
    let address = server.address.as_str();
    let three = ["net", "ping", address, "--remotes", "local:3"];
    refused(
        &[&three[..], &["--connections", "2"]].concat(),
        "2 connections cannot be divided among 3 remotes: give 3 or more",
    );
    let few = ["--connections", "3", "--count", "2"];
    refused(
        &[&three[..], &few].concat(),
        "2 operations (--count) cannot be divided among 3 remotes",
    );
    refused(&[&three[..], &["--clients", "2"]].concat(), "cannot be used with");
    let of_delay = ["net", "delay", address, "--remotes", "local:2"];
    refused(&of_delay, "unexpected argument '--remotes'");
    refused(&["net", "ping", address, "--remotes", "far:2"], "expected local:N");
    let closed = Server::start(&["--quiet"]);
    let gone = closed.address.clone();
    closed.stop().with(0);
    let nobody = ["net", "ping", gone.as_str(), "--remotes", "local:2", "--connections", "2"];
    refused(&nobody, "is the server started");
}

/// Whether there is something in a folder.
trait Runs {
    fn exists_with_runs(&self) -> bool;
}

impl Runs for std::path::PathBuf {
    fn exists_with_runs(&self) -> bool {
        fs::read_dir(self).is_ok_and(|mut found| found.next().is_some())
    }
}

/// A load of three remotes under way, as long as is said: the controller, and its remotes.
fn under_way(server: &Server, length: &str, at: &Path) -> (Program, Vec<i32>) {
    let words = ["--remotes", "local:3", "--connections", "3", "--for", length, "--out", "run"];
    let all = [&["net", "ping", server.address.as_str()], &CALM[..], &words].concat();
    let controller = Program::start(&all, at);
    // its record is written with the first interval of all of them
    let log = at.join("run/intervals.hlog");
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    until(|| (lines() > 5).then_some(()));
    let remotes = children(controller.id());
    assert_eq!(remotes.len(), 3);
    (controller, remotes)
}

#[test]
fn a_remote_that_is_lost_is_named_and_what_the_others_did_stands() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let (controller, remotes) = under_way(&server, "600s", at.path());
    kill_process(Pid::from_raw(remotes[1]).expect("a process"), Signal::KILL).expect("it runs");
    until(|| is_over(remotes[1]).then_some(()));
    controller.signal(Signal::INT);
    let ended = controller.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let run = read(&at.path().join("run/run.json"));
    let reasons: Vec<&str> = run.validity.reasons.iter().map(|it| it.text.as_str()).collect();
    assert!(reasons.iter().any(|text| text.contains("local-2")), "{reasons:?}");
    let clients = &run.results[0].clients;
    assert_eq!(clients.len(), 3, "what it told before counts");
    assert!(clients[0].operations > 0 && clients[2].operations > 0);
    assert!(at.path().join("run/remotes/local-1.json").exists());
    assert!(!at.path().join("run/remotes/local-2.json").exists());
    assert!(remotes.iter().all(|pid| is_over(*pid)), "none is left");
}

#[test]
fn what_a_lost_remote_sent_last_is_not_known_and_nobody_else_did_it() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let (controller, remotes) = under_way(&server, "5s", at.path());
    kill_process(Pid::from_raw(remotes[1]).expect("a process"), Signal::KILL).expect("it runs");
    let ended = controller.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let run = read(&at.path().join("run/run.json"));
    let reasons: Vec<&str> = run.validity.reasons.iter().map(|it| it.text.as_str()).collect();
    assert!(reasons.iter().any(|text| text.contains("local-2")), "{reasons:?}");
    let differ = |text: &&str| text.contains("counted differently");
    assert!(!reasons.iter().any(differ), "{reasons:?}");
}

#[test]
fn nobody_goes_on_when_the_controller_is_gone() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let (controller, remotes) = under_way(&server, "600s", at.path());
    controller.signal(Signal::KILL);
    until(|| remotes.iter().all(|pid| is_over(*pid)).then_some(()));
    // and the target sees nobody any more
    let served = || plumb(&["net", "ping", &server.address, "--count", "1", "--json"], at.path());
    let record: Value = served().json();
    assert_eq!(record["results"][0]["operations"], 1);
}

/// A controller that hangs is as good as gone: a remote that hears nothing ends its load.
#[test]
fn nobody_goes_on_when_the_controller_hangs() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let (controller, remotes) = under_way(&server, "600s", at.path());
    controller.signal(Signal::STOP);
    let address = server.address.rsplit(':').next().expect("a port").to_owned();
    until(|| (established(&address) == 0).then_some(()));
    controller.signal(Signal::CONT);
    let ended = controller.wait();
    assert!(ended.code == Some(1), "{ended:?}");
    until(|| remotes.iter().all(|pid| is_over(*pid)).then_some(()));
}

/// Connections to a port of loopback that stand.
fn established(port: &str) -> usize {
    let port: u16 = port.parse().expect("a port");
    let remote = format!(":{port:04X}");
    let table = fs::read_to_string("/proc/net/tcp").expect("Linux has one");
    let stands = |line: &&str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        cells.get(2).is_some_and(|it| it.ends_with(&remote)) && cells.get(3) == Some(&"01")
    };
    table.lines().filter(stands).count()
}

#[test]
fn what_remotes_have_begun_to_write_goes_with_them_when_nothing_is_measured() {
    let server = Server::start(&["--quiet"]);
    let (at, temporary) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    let place = temporary.path().to_owned();
    let begun = move || fs::read_dir(&place).expect("a folder").count();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let far = listener.local_addr().expect("an address").to_string();
    let look = begun.clone();
    // a far host that goes once both remotes have a folder
    let far_host = thread::spawn(move || {
        let (mut taken, _) = listener.accept().expect("somebody comes");
        taken.set_nonblocking(true).expect("it can be looked at");
        let mut gone = || match taken.read(&mut [0; 256]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        until(|| (look() == 2 || gone()).then_some(()));
    });
    let asked = ["net", "ping", &server.address, "--remotes", "local:2", "--connections", "2"];
    let asked = [&asked[..], &CALM, &["--for", "600s", "--far-host", &far]].concat();
    let folder = temporary.path().display().to_string();
    let told = [("TMPDIR", folder.as_str())];
    Program::start_told(Path::new(PLUMB), &asked, at.path(), &told).wait().with(2);
    far_host.join().expect("it has seen them");
    assert_eq!(begun(), 0);
}
