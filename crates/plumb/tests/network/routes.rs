//! Measuring through a SAProuter, and passwords that are seen by nobody.

use crate::kit;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use kit::router::{Router, last_hop};
use kit::{Ended, PLUMB, Program, Server, names_in, only_run, ping, read, record};
use tempfile::{TempDir, tempdir};

const PASSWORD: &str = "hush-hush";

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// Runs the program as `name` with the password in its environment.
fn with_password(name: &str, words: &[&str], folder: &Path) -> Ended {
    let program = folder.join(name);
    symlink(PLUMB, &program).expect("a temporary folder can be written");
    let script = format!("export PLUMB_ROUTE_PASSWORD={PASSWORD}; exec \"$0\" \"$@\"");
    let program = program.display().to_string();
    let words = [&["-c", &script, &program], words].concat();
    Program::start_as(Path::new("/bin/sh"), &words, folder).wait()
}

/// Every file below `folder`, as text.
fn everything_in(folder: &Path) -> String {
    let mut texts = String::new();
    for name in names_in(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            texts += &everything_in(&path);
        } else if !path.is_symlink() {
            texts += &String::from_utf8_lossy(&fs::read(&path).expect("a file of a run"));
        }
    }
    texts
}

#[test]
fn a_server_behind_a_router_is_measured_and_the_password_stays_unseen() {
    let (server, router, folder) = (Server::start(&[]), Router::start(PASSWORD), folder());
    let route = format!("{}/W/-{}", router.hop(), last_hop(&server.address));
    let words = ["net", "ping", &route, "--count", "20", "--connections", "2", "--warmup", "0s"];
    let ended = with_password("plumb", &words, folder.path()).with(0);
    assert!(!format!("{ended:?}").contains(PASSWORD), "{ended:#?}");
    let run = only_run(folder.path());
    assert!(!everything_in(&run).contains(PASSWORD));
    let record = record(&run);
    assert_eq!(record["results"][0]["operations"], 20);
    let shown = format!("{}/W/***{}", router.hop(), last_hop(&server.address));
    assert_eq!(record["target"]["address"], shown.as_str());
    assert!(read(&run.join("report.html")).contains("/W/***"));
}

#[test]
fn a_route_that_is_not_permitted_says_why_and_leaves_no_run() {
    let (server, router, folder) = (Server::start(&[]), Router::start("another"), folder());
    let route = format!("{}/W/-{}", router.hop(), last_hop(&server.address));
    let ended = with_password("plumb", &["net", "ping", &route, "--count", "1"], folder.path());
    let ended = ended.with(2);
    let expected = "did not open the route: route permission denied";
    assert!(ended.stderr.contains(expected) && !ended.stderr.contains(PASSWORD), "{ended:#?}");
    assert!(kit::runs(folder.path()).is_empty());
}

#[test]
fn an_open_password_is_refused_and_not_repeated() {
    let folder = folder();
    let ended = ping("/H/127.0.0.1/W/hush-hush/H/db", &["--count", "1"], folder.path()).with(2);
    assert!(ended.stderr.contains("write /W/-") && !ended.stderr.contains(PASSWORD), "{ended:#?}");
}

#[test]
fn without_a_terminal_the_message_says_where_to_put_the_password() {
    let folder = folder();
    // a session of its own has no terminal
    let words = ["setsid", "--wait", PLUMB, "net", "ping", "/H/127.0.0.1/W/-/H/db"];
    let ended = Program::start_as(Path::new("/usr/bin/env"), &words, folder.path()).wait().with(2);
    assert!(ended.stderr.contains("set PLUMB_ROUTE_PASSWORD"), "{ended:#?}");
}

#[test]
fn niping_takes_a_password_and_its_command_line_does_not_keep_it() {
    let (server, router, folder) = (Server::start(&[]), Router::start(PASSWORD), folder());
    let niping = folder.path().join("niping");
    symlink(PLUMB, &niping).expect("a temporary folder can be written");
    let route = format!("{}/W/{PASSWORD}{}", router.hop(), last_hop(&server.address));
    let mut child = Command::new(&niping)
        .args(["-c", "-H", &route, "-L", "1000000"])
        .stdout(Stdio::null())
        .spawn()
        .expect("it was built");
    let asked = router.request(); // so it runs, and has passed its own start
    let line = fs::read(format!("/proc/{}/cmdline", child.id())).expect("it still runs");
    child.kill().expect("it still runs");
    child.wait().expect("it was started");
    let line = String::from_utf8_lossy(&line);
    assert!(line.contains("/W/-/H/") && !line.contains(PASSWORD), "{line}");
    assert!(String::from_utf8_lossy(&asked).contains(PASSWORD), "the router was told");
}

#[test]
fn niping_measures_through_a_router_with_the_port_of_its_option() {
    let (server, router, folder) = (Server::start(&[]), Router::start(PASSWORD), folder());
    let (host, port) = server.address.rsplit_once(':').expect("a port");
    let route = format!("{}/W/{PASSWORD}/H/{host}", router.hop());
    let words = ["-c", "-H", &route, "-S", port, "-L", "5"];
    let ended = with_password("niping", &words, folder.path()).with(0);
    assert!(ended.stdout.contains("send and receive 5 messages (len 1000)"), "{ended:#?}");
}

#[test]
fn tls_through_a_router_is_refused() {
    let folder = folder();
    let ended = ping("/H/127.0.0.1/H/db", &["--tls", "--count", "1"], folder.path()).with(2);
    assert!(ended.stderr.contains("--tls does not go through a router"), "{ended:#?}");
}
