//! The tick of idle processors: left alone unless asked for, confirmed by the server, recorded of
//! both sides, never compared by accident.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::{PLUMB, Program, Server, locks, names_in, only_run, ping, plumb, record};
use rustix::process::Signal;
use tempfile::{TempDir, tempdir};

/// Words that make a run short and the same everywhere.
const CALM: &[&str] = &["--count", "50", "--warmup", "0s", "--lag", "50s", "--timeout", "30s"];
const HELD: &str = "--hold-tick";
const BY_CLIENT: &str = "--hold-tick=client";

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// What the record of one result says of the tick.
fn tick(folder: &Path) -> String {
    let record = record(&only_run(folder));
    record["results"][0]["driver"]["tick"].as_str().expect("it says so").to_owned()
}

/// The same of a run of `net ping` against `address`.
fn of_ping(address: &str, words: &[&str]) -> String {
    let folder = folder();
    ping(address, &[CALM, words].concat(), folder.path()).with(0);
    tick(folder.path())
}

/// How many timers a process has: an event loop has one of its own, and one more when it holds the
/// tick.
fn timers(pid: u32) -> usize {
    let descriptors = format!("/proc/{pid}/fd");
    let names = names_in(Path::new(&descriptors));
    let target = |name: &String| fs::read_link(Path::new(&descriptors).join(name)).ok();
    let is_timer = |path: &std::path::PathBuf| path.to_string_lossy().contains("timerfd");
    names.iter().filter_map(target).filter(is_timer).count()
}

#[test]
fn a_tick_is_left_alone_unless_asked_for_and_both_sides_are_recorded() {
    let plain = Server::start(&["--quiet"]);
    assert_eq!(of_ping(&plain.address, &[]), "free");
    assert_eq!(of_ping(&plain.address, &["--connections", "2"]), "free");
    assert_eq!(of_ping(&plain.address, &[BY_CLIENT]), "held-by-client");
    let holds = Server::start(&[HELD, "--quiet"]);
    assert!(holds.log().starts_with("holds the processor's tick"));
    assert_eq!(of_ping(&holds.address, &[]), "held-by-server");
    assert_eq!(of_ping(&holds.address, &[HELD]), "held-by-both");
    assert_eq!(of_ping(&holds.address, &["--hold-tick=both", "--replies", "2"]), "held-by-both");
}

#[test]
fn a_server_sets_no_timer_for_the_tick_unless_asked_to() {
    let net = ["net", "serve", "--quiet", "--listen", "127.0.0.1:0"];
    let lock = ["lock", "serve", "--quiet", "--listen", "127.0.0.1:0"];
    for words in [net, lock] {
        // its loop may begin after the line: a client that is answered has met it
        let of = |more: &[&str]| {
            let program = Program::start(&[&words, more].concat(), Path::new("."));
            let line = program.line();
            let address = line.strip_prefix("listening on ").expect("an address");
            let verb =
                if words[0] == "net" { vec!["net", "ping"] } else { vec!["lock", "load", "pairs"] };
            let folder = folder();
            plumb(&[&verb[..], &[address], CALM].concat(), folder.path()).with(0);
            timers(program.id())
        };
        assert_eq!((of(&[]), of(&[HELD])), (1, 2), "{}", words[0]);
    }
}

#[test]
fn a_server_that_does_not_confirm_it_is_refused_before_anything_is_measured() {
    let plain = Server::start(&["--quiet"]);
    let mute = Server::start(&["--quiet", "--echo-only"]);
    for (server, why) in [(&plain, "leaves its tick alone"), (&mute, "cannot confirm")] {
        let folder = folder();
        let refused = ping(&server.address, &[CALM, &[HELD]].concat(), folder.path()).with(2);
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert!(refused.stderr.contains(BY_CLIENT), "{refused:?}");
        assert_eq!(names_in(folder.path()), [""; 0], "a run that did not begin left something");
    }
    assert_eq!(of_ping(&mute.address, &[]), "client-free-server-unknown");
    assert_eq!(of_ping(&mute.address, &[BY_CLIENT]), "client-held-server-unknown");
}

#[test]
fn a_loop_that_never_waits_has_no_tick_to_hold() {
    let at = folder();
    let client = plumb(&["net", "ping", "127.0.0.1:9", HELD, "--spin"], at.path()).with(2);
    assert!(client.stderr.contains("leave --spin or --hold-tick out"), "{client:?}");
    for layer in ["net", "lock"] {
        let server = plumb(&[layer, "serve", HELD, "--spin"], at.path()).with(2);
        assert!(server.stderr.contains("cannot be used with"), "{server:?}");
    }
}

#[test]
fn a_lock_server_says_whether_it_holds_its_tick() {
    let load = |address: &str, words: &[&str]| {
        let at = folder();
        let ended = plumb(&[&["lock", "load", "pairs", address], CALM, words].concat(), at.path());
        (ended.code == Some(0)).then(|| tick(at.path())).ok_or(ended.stderr)
    };
    let at = folder();
    let (plain, holds) =
        (locks::Server::start(&[], at.path()), locks::Server::start(&[HELD], at.path()));
    assert_eq!(load(&plain.address, &[]).as_deref(), Ok("free"));
    assert_eq!(load(&holds.address, &[]).as_deref(), Ok("held-by-server"));
    assert_eq!(load(&holds.address, &[HELD]).as_deref(), Ok("held-by-both"));
    let refused = load(&plain.address, &[HELD]).unwrap_err();
    assert!(refused.contains("leaves its tick alone"), "{refused}");
}

#[test]
fn servers_that_cannot_tell_are_held_from_the_client_alone() {
    let site = ReplyServer::always(Reply::page("hello"));
    let url = site.url("/");
    let at = folder();
    let words = ["http", "ping", &url, "--as-given"];
    plumb(&[&words[..], CALM, &[BY_CLIENT]].concat(), at.path()).with(0);
    assert_eq!(tick(at.path()), "client-held-server-unknown");
    for words in [&words[..], &["db", "ping", "postgres://a@127.0.0.1:9/b"]] {
        let at = folder();
        let refused = plumb(&[words, &[HELD]].concat(), at.path()).with(2);
        assert!(refused.stderr.contains("cannot confirm"), "{refused:?}");
        assert!(refused.stderr.contains(BY_CLIENT), "{refused:?}");
    }
}

#[test]
fn called_as_niping_it_never_holds_the_tick() {
    let at = folder();
    let niping = at.path().join("niping");
    symlink(PLUMB, &niping).expect("a temporary folder can be written");
    let server = Program::start_as(&niping, &["-s", "-S", "0", "-I", "0"], at.path());
    let address = loop {
        if let Some(address) = server.line().strip_prefix("listening on ") {
            break address.to_owned();
        }
    };
    // it is no plumb server for its clients: nothing is known of its tick
    assert_eq!(of_ping(&address, &[]), "client-free-server-unknown");
    assert_eq!(timers(server.id()), 1);
    server.signal(Signal::TERM);
    let client = Program::start_as(&niping, &["-c", "--hold-tick"], at.path()).wait();
    assert_ne!(client.code, Some(0), "an option of plumb is none of niping: {client:?}");
}

#[test]
fn runs_that_differ_in_the_tick_are_not_compared_unless_it_is_the_variant() {
    let (plain, holds) = (Server::start(&["--quiet"]), Server::start(&[HELD, "--quiet"]));
    let at = folder();
    for (name, address, words) in [
        ("free", &plain.address, &[][..]),
        ("again", &plain.address, &[]),
        ("server", &holds.address, &[]),
        ("client", &plain.address, &[BY_CLIENT]),
    ] {
        ping(address, &[CALM, &["--out", name], words].concat(), at.path()).with(0);
    }
    plumb(&["compare", "free", "again"], at.path()).with(0);
    plumb(&["compare", "free", "client"], at.path()).with(0);
    let refused = plumb(&["compare", "free", "again", "server"], at.path()).with(2);
    assert!(refused.stderr.contains("free (tick free)"), "{refused:?}");
    assert!(refused.stderr.contains("server (tick held by the server)"), "{refused:?}");
    assert!(refused.stderr.contains("make --hold-tick the variant"), "{refused:?}");
}

#[test]
fn an_experiment_refuses_to_mix_them_and_takes_the_declared_variant() {
    let (plain, holds) = (Server::start(&["--quiet"]), Server::start(&[HELD, "--quiet"]));
    let of = |address: &str, more: &str| {
        format!("net ping {address} --count 20 --warmup 0s --lag 50s --timeout 30s {more}")
    };
    let compare = |one: &str, other: &str| {
        let at = folder();
        plumb(&["ab", "--pairs", "1", "--accept-invalid", one, other], at.path())
    };
    let mixed = compare(&of(&plain.address, ""), &of(&holds.address, "")).with(2);
    assert!(mixed.stderr.contains("differ in the tick of idle processors"), "{mixed:?}");
    // one pair is too few for a verdict, but it is compared
    let declared = compare(&of(&plain.address, ""), &of(&holds.address, HELD)).with(3);
    assert!(declared.stdout.contains("held-by-both"), "{declared:?}");
}

#[test]
fn text_markdown_and_page_say_what_was_done_about_it() {
    let server = Server::start(&["--quiet"]);
    let at = folder();
    let text = ping(&server.address, &[CALM, &["--full"]].concat(), at.path()).with(0).stdout;
    assert!(text.contains("blocking receive, tick free, 1 thread"), "{text}");
    let run = only_run(at.path());
    let page = kit::read(&run.join("report.html"));
    assert!(page.contains("blocking receive, tick free"), "the page says nothing of it");
    let run = run.display().to_string();
    let markdown = plumb(&["report", &run, "--markdown"], at.path()).with(0).stdout;
    assert!(markdown.contains("| blocking receive, tick free |"), "{markdown}");
}
