//! How a recording ends, what it keeps, and whom it refuses.

use crate::http_record::echo;
use crate::kit;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kit::http::{Reply, ReplyServer};
use kit::message::rest;
use kit::recorder::Recorder;
use kit::web::Web;
use kit::{Program, plumb};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::tempdir;

#[test]
fn a_recorder_that_is_killed_leaves_a_complete_file() {
    let site = ReplyServer::start(echo);
    let recorder = Recorder::start(&[]);
    for _ in 0..3 {
        recorder.get(&site.url("/page"));
        recorder.recorded();
    }
    let folder = recorder.kill();
    let text = fs::read(folder.path().join("session.har")).expect("the file");
    let har: Value = serde_json::from_slice(&text).expect("a complete file");
    assert_eq!(har["log"]["entries"].as_array().map(Vec::len), Some(3));
}

#[test]
fn secrets_are_written_only_when_asked_for() {
    let site = ReplyServer::start(echo);
    let recorder = Recorder::start(&["--keep-secrets", "--keep-body", "4B"]);
    assert!(recorder.said().ends_with("will hold passwords, cookies and tokens as they are"));
    recorder.get(&site.url("/?pwd=geheim"));
    recorder.recorded();
    let text = recorder.text();
    assert!(text.contains("pwd=geheim") && text.contains("longer than --keep-body"), "{text}");
    let mode = fs::metadata(recorder.file()).expect("the file").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn what_is_late_on_a_kept_connection_is_not_asked_again() {
    let site = ReplyServer::start(|request, number| match number {
        0 => echo(request, number),
        _ => Reply::Silence,
    });
    let recorder = Recorder::start(&["--timeout", "1s"]);
    let mut client = Web::connect(&recorder.address);
    client.ask("GET", &site.url("/page"), &[], b"").with(200);
    recorder.recorded();
    client.ask("GET", &site.url("/report"), &[], b"").with(504);
    let said = recorder.recorded();
    assert!(said.contains("/report no answer: "), "{said}");
    assert_eq!(site.asked().len(), 2, "{:?}", site.asked());
}

#[test]
fn a_client_that_leaves_its_upload_is_no_fault_of_the_server() {
    let site = ReplyServer::start(echo);
    let recorder = Recorder::start(&[]);
    let mut client = recorder.connect();
    let url = site.url("/up");
    let begun = format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nabc");
    client.write_all(begun.as_bytes()).expect("it is taken");
    client.shutdown(Shutdown::Write).expect("it is open");
    let told = recorder.recorded();
    assert!(told.contains("no answer: the client did not send all of its request: "), "{told}");
}

#[test]
fn what_a_proxy_does_not_forward_is_told() {
    let recorder = Recorder::start(&[]);
    let mut client = recorder.connect();
    let asked = b"GET ftp://erp/a?token=geheim HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(asked).expect("it is taken");
    assert!(rest(&mut client).starts_with("HTTP/1.1 400 "));
    let told = recorder.log("refused");
    assert!(told.starts_with("GET ftp://erp/a refused: this proxy forwards http only"), "{told}");
}

#[test]
fn clients_too_many_or_not_allowed_are_turned_away() {
    let site = ReplyServer::start(echo);
    let recorder = Recorder::start(&["--max-clients", "1"]);
    let mut first = Web::connect(&recorder.address);
    first.ask("GET", &site.url("/"), &[], b"").with(200);
    assert!(rest(&mut recorder.connect()).starts_with("HTTP/1.1 503 "));
    recorder.log("turned away");
    let recorder = Recorder::start(&["--allow", "203.0.113.0/24"]);
    assert_eq!(recorder.get(&site.url("/")), "");
    recorder.log("127.0.0.1 may not connect");
}

#[test]
fn what_cannot_be_recorded_is_refused_in_one_line() {
    let folder = tempdir().expect("a temporary folder");
    fs::write(folder.path().join("there.har"), "mine").expect("a file");
    for (words, said) in [
        (&["--out", "there.har", "--listen", "127.0.0.1:0"] as &[&str], "never overwritten"),
        (&["--out", "a.har", "--listen", "0.0.0.0:0"], "--allow"),
        (&["--out", "a.har", "--listen", "unix:x"], "a proxy listens on HOST:PORT"),
        (&["--out", "no/a.har", "--listen", "127.0.0.1:0"], "cannot make no/a.har"),
        (&["--out", "a.har", "--ca", "missing.pem"], "missing.pem"),
        (&["--out", "a.har", "--intercept", "https://erp"], "names no host"),
        (&[], "--out"),
    ] {
        let ended = plumb(&[&["http", "record"], words].concat(), folder.path()).with(2);
        assert!(ended.stderr.contains(said), "{words:?}: {ended:?}");
        assert!(!folder.path().join("a.har").exists(), "{words:?}");
    }
    assert_eq!(fs::read(folder.path().join("there.har")).expect("a file"), b"mine");
}

#[test]
fn an_authority_is_made_once_and_introduced() {
    let folder = tempdir().expect("a temporary folder");
    let state = folder.path().join("state").display().to_string();
    let make = || {
        let words = ["http", "record", "--make-ca"];
        let told = [("XDG_STATE_HOME", state.as_str())];
        Program::start_told(Path::new(kit::PLUMB), &words, folder.path(), &told)
            .wait()
            .with(0)
            .stdout
    };
    let words = make();
    assert_eq!(words, make());
    let file = folder.path().join("state/plumb/ca/plumb-ca.pem");
    assert!(
        words.starts_with(&format!("authority: {}\nSHA-256 fingerprint: ", file.display())),
        "{words}"
    );
    assert!(words.contains("--ignore-certificate-errors-spki-list="), "{words}");
    let key = fs::metadata(file.with_extension("key")).expect("the key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_recording_with_an_end_ends_by_itself() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["http", "record", "--out", "a.har", "--listen", "127.0.0.1:0", "--for", "1ms"];
    let ended = plumb(&words, folder.path()).with(0);
    assert!(ended.stdout.ends_with("0 requests in a.har\n"), "{ended:?}");
    let recorder = Recorder::start(&["--for", "1h"]);
    let (ended, _folder) = recorder.stop();
    ended.with(130);
}

#[test]
fn how_a_recording_ended_is_told_though_nobody_reads_its_last_line() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["http", "record", "--out", "a.har", "--listen", "127.0.0.1:0", "--for", "1h"];
    let (reader, out) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(kit::PLUMB);
    command.args(words).current_dir(folder.path()).stdout(out).stderr(Stdio::null());
    let mut recorder = command.spawn().expect("it can be started");
    drop(command); // with its end of the pipe
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).expect("it can be read");
    assert!(line.starts_with("listening on "), "{line}");
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("it still runs");
    assert_eq!(recorder.wait().expect("it was started").code(), Some(130));
}
