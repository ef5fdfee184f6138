//! Remotes that wait in a NATS server, one load that they drive together, and what they refuse.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use std::fs;
use std::path::Path;

use plumb_measure::{Histogram, RunRecord, hdr};
use rustix::process::Signal;
use tempfile::tempdir;

use crate::kit::authority::TestAuthority;
use crate::kit::http::{Reply, ReplyServer};
use crate::kit::namespace::allowed;
use crate::kit::nats::Nats;
use crate::kit::{Ended, PLUMB, Program, Server, plumb, until};

const CALM: [&str; 8] =
    ["--warmup", "0s", "--lag", "50s", "--timeout", "50s", "--foreign-limit", "100%"];

/// The first server that is installed; `None`, and a word of it, where there is none.
pub(crate) fn nats() -> Option<Nats> {
    let mut all = each("");
    (!all.is_empty()).then(|| all.swap_remove(0))
}

/// Every server that is installed, with these lines in its configuration.
fn each(lines: &str) -> Vec<Nats> {
    let all = Nats::each(lines);
    let there = if all.is_empty() { Err("there is no nats-server".into()) } else { Ok(all) };
    allowed(there).unwrap_or_default()
}

pub(crate) fn url(nats: &Nats) -> String {
    format!("nats://{}", nats.address)
}

/// A remote that waits.
pub(crate) fn remote(nats: &Nats, name: &str, words: &[&str], at: &Path) -> Program {
    let url = url(nats);
    let all = [&["remote", "--nats", &url, "--name", name], words].concat();
    let remote = Program::start(&all, at);
    assert!(remote.log_line().contains("waits for controllers"));
    remote
}

/// `net ping` of `server` by the remotes of `selector`.
fn ping(server: &Server, nats: &Nats, selector: &str, words: &[&str], at: &Path) -> Ended {
    let told = [("PLUMB_NATS_URL", url(nats))];
    let told = told.each_ref().map(|(name, value)| (*name, value.as_str()));
    let address = server.address.as_str();
    // on a busy machine remotes begin further apart than an interval is long by default
    let calm = [&CALM[..], &["--interval", "50s"]].concat();
    let all = [&["net", "ping", address, "--remotes", selector], &calm[..], words].concat();
    Program::start_told(Path::new(PLUMB), &all, at, &told).wait()
}

fn read(file: &Path) -> RunRecord {
    RunRecord::from_json(&fs::read_to_string(file).expect("it is there")).expect("a record")
}

#[test]
fn remotes_are_chosen_and_what_they_recorded_is_exact_whatever_their_clocks() {
    for nats in each("") {
        chosen_and_exact(&nats);
    }
}

fn chosen_and_exact(nats: &Nats) {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let wrong = ["-50000000,100000", "50000000,-100000"];
    let first = ["--label", "site=x", "--clock", wrong[0]];
    let second = ["--label", "site=x", "--label", "role=user", "--clock", wrong[1]];
    let _remotes = [
        remote(nats, "app-1", &first, at.path()),
        remote(nats, "app-2.example", &second, at.path()),
        remote(nats, "db-1", &["--label", "site=y"], at.path()),
    ];
    let words = ["--connections", "3", "--count", "3001", "--out", "run"];
    ping(&server, nats, "site=x", &words, at.path()).with(0);
    let run = read(&at.path().join("run/run.json"));
    let told = run.plan.options["remotes"].as_array().expect("they are named");
    let names: Vec<&str> = told.iter().map(|it| it["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["app-1", "app-2.example"]);
    assert_eq!(run.plan.options["remotes-asked"], "site=x");
    for (remote, ahead_ns) in told.iter().zip([-50_000_000_i64, 50_000_000]) {
        let known_ns = remote["clock-ahead-ns"].as_i64().expect("an offset");
        let may_be_off_ns = remote["clock-uncertainty-ns"].as_u64().expect("an uncertainty");
        // it drifts for as long as it waits
        assert!(known_ns.abs_diff(ahead_ns) <= may_be_off_ns + 20_000_000, "{remote}");
    }
    let part = |name: &&str| read(&at.path().join(format!("run/remotes/{name}.json")));
    let parts: Vec<RunRecord> = names.iter().map(part).collect();
    let mut together = Histogram::new();
    for part in &parts {
        let times = part.results[0].response_ns.as_ref().expect("it has some");
        together.merge(&hdr::decode(&times.histogram).expect("a histogram"));
    }
    let result = &run.results[0];
    let whole = result.response_ns.as_ref().expect("it has some");
    let all = hdr::decode(&whole.histogram).expect("a histogram");
    assert!(all.buckets().eq(together.buckets()), "every bucket");
    assert_eq!((result.operations, result.clients.len()), (3_001, 2));
    // and they wait for the next one
    ping(&server, nats, "db-1", &["--count", "5"], at.path()).with(0);
    ping(&server, nats, "all", &["--connections", "3", "--count", "9"], at.path()).with(0);
}

#[test]
fn a_scenario_travels_with_its_files_and_machines_hand_over_what_they_did() {
    let Some(nats) = nats() else { return };
    let pages = ReplyServer::start(|_, _| Reply::page("hello"));
    let (at, far) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    fs::create_dir(at.path().join("data")).expect("made");
    fs::write(at.path().join("data/keys.csv"), "key\na\nb\nc\nd\n").expect("written");
    fs::write(at.path().join("body.txt"), "x".repeat(10_000)).expect("written");
    let scenario = |body: &str| {
        format!(
            "base = \"{}\"\n[[scenario]]\nname = \"a\"\nusers = 2\niterations = 9\n\
             [[scenario.data]]\nfile = \"data/keys.csv\"\nat-end = \"stop\"\n\
             [[scenario.step]]\nmethod = \"POST\"\npath = \"/${{key}}\"\nbody-file = \"{body}\"\n",
            pages.url("").trim_end_matches('/')
        )
    };
    fs::write(at.path().join("s.toml"), scenario("body.txt")).expect("written");
    let _remotes = [remote(&nats, "one", &[], far.path()), remote(&nats, "two", &[], far.path())];
    let url = url(&nats);
    let all = |words: &[&str], out: &str| {
        let words =
            [words, &["--remotes", "all", "--out", out, "--interval", "50s"], &["--lag", "50s"]];
        let told = [("PLUMB_NATS_URL", url.as_str())];
        Program::start_told(Path::new(PLUMB), &words.concat(), at.path(), &told).wait()
    };
    let calm = ["--foreign-limit", "100%"];
    all(&[&["http", "load", "s.toml", "--users", "2"], &calm[..]].concat(), "run").with(0);
    let mut asked: Vec<String> =
        pages.asked().iter().filter_map(|head| head.split(' ').nth(1).map(str::to_owned)).collect();
    asked.sort_unstable();
    assert_eq!(asked, ["/a", "/b", "/c", "/d"], "each line once");
    for name in ["one", "two"] {
        let part = read(&at.path().join(format!("run/remotes/{name}.json")));
        let result = &part.results[0];
        assert_eq!(result.bytes_sent / 10_000, result.operations, "with their bodies");
        let recording = at.path().join(format!("run/remotes/{name}/vm.nmon"));
        assert!(fs::read_to_string(recording).expect("it is there").starts_with("AAA"));
    }
    // what lies elsewhere stays there, here and on the other side
    fs::write(far.path().join("body.txt"), "of somebody else").expect("written");
    let name = far.path().file_name().expect("a name").to_string_lossy().into_owned();
    let elsewhere = scenario(&format!("../{name}/body.txt"));
    fs::write(at.path().join("s.toml"), elsewhere).expect("written");
    let refused = all(&["http", "load", "s.toml", "--files-from", "/"], "no").with(2);
    assert!(refused.stderr.contains("only files below"), "{refused:?}");
    let page = pages.url("/x");
    let refused = all(&["http", "ping", &page, "--credentials", "/etc/hostname"], "no").with(2);
    assert!(refused.stderr.contains("--credentials is not for a controller to say"), "{refused:?}");
}

#[test]
fn who_is_not_there_or_may_not_is_named_and_nothing_is_measured() {
    let Some(nats) = nats() else { return };
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let refused = |selector: &str, words: &[&str], why: &str| {
        let ended = ping(&server, &nats, selector, words, at.path()).with(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{ended:?}");
    };
    refused("all", &["--count", "9"], "none is there: start `plumb remote --nats`");
    let _remotes = [
        remote(&nats, "far", &["--allow-target", "10.1.0.0/16"], at.path()),
        remote(&nats, "web", &["--allow", "http", "--allow", "net stream"], at.path()),
        remote(&nats, "any", &[], at.path()),
    ];
    refused("web,nobody", &["--count", "9"], "there: any, far, web");
    refused("far", &["--count", "9"], "this machine may not load 127.0.0.1");
    refused("web", &["--count", "9"], "`net ping` is not among what this remote is allowed");
    refused("any", &["--count", "9", "--netns", "x"], "--netns is not for a controller to say");
    ping(&server, &nats, "any", &["--count", "9"], at.path()).with(0);
    let nowhere = ["net", "ping", &server.address, "--remotes", "all"];
    let ended = plumb(&nowhere, at.path()).with(2);
    assert!(ended.stderr.contains("no NATS server is named"), "{ended:?}");
    let closed = ["net", "ping", &server.address, "--remotes", "nats://127.0.0.1:9/all"];
    let ended = plumb(&closed, at.path()).with(2);
    assert!(ended.stderr.contains("the NATS server at nats://127.0.0.1:9"), "{ended:?}");
    let user = ["remote", "--nats", "nats://me:secret@127.0.0.1:9"];
    let ended = plumb(&user, at.path()).with(2);
    assert!(!ended.stderr.contains("secret"), "{ended:?}");
}

/// Keys made for this test.
const NKEY: &str = "UB6RRYVXN5VUCUN2I5XDTZLYXU2W3NLXKYAZFNQ7NKXBRVZAG27JQJCI";
const NKEY_SEED: &str = "SUAF36RX2KQDHVJFEXTK77SNIZFRDMZBN52LMBDUXMK62BU3CM5PKAA2HM";

#[test]
fn an_encrypted_server_is_believed_and_knows_who_comes() {
    let made = TestAuthority::new();
    let signed = made.authority.sign("127.0.0.1");
    let lines = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n\
         authorization {{ users: [ {{ nkey: {NKEY} }} ] }}\n",
        signed.cert, signed.key
    );
    for nats in each(&lines) {
        encrypted_and_known(&nats, &made.authority.ca());
    }
}

fn encrypted_and_known(nats: &Nats, ca: &str) {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let seed = at.path().join("seed");
    fs::write(&seed, format!("{NKEY_SEED}\n")).expect("a file");
    let seed = seed.display().to_string();
    let url = format!("tls://{}", nats.address);
    let told: Vec<(&str, &str)> =
        vec![("PLUMB_NATS_URL", &url), ("PLUMB_NATS_NKEY", &seed), ("PLUMB_NATS_CA", ca)];
    let run = |words: &[&str], told: &[(&str, &str)]| {
        Program::start_told(Path::new(PLUMB), words, at.path(), told)
    };
    let remote = run(&["remote", "--name", "one"], &told);
    assert!(remote.log_line().contains("waits for controllers"));
    let few = ["--remotes", "one", "--count", "5", "--interval", "50s"];
    let ping = [&["net", "ping", &server.address], &few[..], &CALM[..]];
    run(&ping.concat(), &told).wait().with(0);
    for (without, why) in [("PLUMB_NATS_NKEY", "authoriz"), ("PLUMB_NATS_CA", "certificate")] {
        let told: Vec<_> = told.iter().copied().filter(|(name, _)| *name != without).collect();
        let ended = run(&ping.concat(), &told).wait().with(2);
        assert!(ended.stderr.to_lowercase().contains(why), "{without}: {ended:?}");
        assert!(!ended.stderr.contains(NKEY_SEED));
    }
}

/// A long load of two remotes under way, and its controller.
fn under_way(server: &Server, nats: &Nats, at: &Path) -> Program {
    let selector = format!("{}/all", url(nats));
    let words = ["--connections", "2", "--for", "600s", "--out", "run"];
    let address = server.address.as_str();
    let all = [&["net", "ping", address, "--remotes", &selector], &CALM[..], &words].concat();
    let controller = Program::start(&all, at);
    let log = at.join("run/intervals.hlog");
    let lines = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    until(|| (lines() > 5).then_some(()));
    controller
}

/// Waits until the target has no connection but the one that asks.
fn until_alone(server: &Server, at: &Path) {
    let words = ["net", "ping", &server.address, "--count", "1", "--json", "--host-interval", "0s"];
    until(|| {
        let port = server.address.rsplit(':').next().expect("a port");
        let filter = format!("sport = :{port}");
        let listed = std::process::Command::new("ss").args(["-Htn", &filter]).output();
        let listed = listed.expect("iproute2 is installed").stdout;
        listed.is_empty().then_some(())
    });
    plumb(&words, at);
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn nobody_keeps_loading_when_controller_or_nats_is_gone_and_all_wait_again() {
    let Some(mut nats) = nats() else { return };
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let remotes = ["one", "two"].map(|name| remote(&nats, name, &[], at.path()));
    let controller = under_way(&server, &nats, at.path());
    controller.signal(Signal::KILL);
    controller.wait();
    until_alone(&server, at.path());
    fs::remove_dir_all(at.path().join("run")).expect("what was left of it");
    let again = || {
        let ended =
            ping(&server, &nats, "one,two", &["--connections", "2", "--count", "9"], at.path());
        (ended.code == Some(0)).then_some(())
    };
    until(again);
    let controller = under_way(&server, &nats, at.path());
    nats.kill();
    let ended = controller.wait();
    assert_eq!(ended.code, Some(1), "it ends with what is known: {ended:?}");
    let run = read(&at.path().join("run/run.json"));
    let reasons: Vec<&str> = run.validity.reasons.iter().map(|it| it.text.as_str()).collect();
    assert!(reasons.iter().any(|text| text.contains("one")), "{reasons:?}");
    assert!(run.results[0].operations > 0, "what they told before counts");
    until_alone(&server, at.path());
    nats.start_again();
    let again = || {
        let ended =
            ping(&server, &nats, "one,two", &["--connections", "2", "--count", "9"], at.path());
        (ended.code == Some(0)).then_some(())
    };
    until(again);
    for remote in remotes {
        remote.signal(Signal::TERM);
        remote.wait().with(0);
    }
}
