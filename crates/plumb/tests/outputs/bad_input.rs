//! What cannot work ends with the code 2 and one line on standard error that names the cause and
//! what to try. Nothing is printed on standard output, and no run is left behind.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::Path;

use kit::peer::{answering, nobody, silent};
use kit::{Ended, Program, Server, names_in, ping, plumb, runs};
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// The line of a refusal.
fn refusal(ended: Ended) -> String {
    let ended = ended.with(2);
    assert_eq!(ended.stdout, "", "{ended:#?}");
    let line = ended.stderr.strip_prefix("plumb: ").and_then(|text| text.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("not one line of ours: {}", ended.stderr));
    assert!(!line.contains('\n') && !line.is_empty(), "not one line: {line}");
    line.to_owned()
}

/// What the reading of the command line says to wrong words: the cause first, then what to try.
fn misread(ended: Ended) -> (String, String) {
    let ended = ended.with(2);
    assert_eq!(ended.stdout, "", "{ended:#?}");
    let text = ended.stderr.strip_prefix("error: ").expect("an error");
    let (cause, remedy) = text.split_once('\n').expect("a remedy behind the cause");
    (cause.to_owned(), remedy.to_owned())
}

/// The line with which a run is refused that leaves nothing behind.
fn refused(address: &str, words: &[&str]) -> String {
    let folder = folder();
    let line = refusal(ping(address, words, folder.path()));
    assert_eq!(runs(folder.path()), [] as [&Path; 0], "a run that did not begin leaves no folder");
    line
}

fn misread_ping(words: &[&str]) -> (String, String) {
    let folder = folder();
    let said = misread(ping("localhost", words, folder.path()));
    assert_eq!(names_in(folder.path()), [] as [&str; 0]);
    said
}

#[test]
fn a_host_without_an_address_is_named() {
    let line = refused("no-such-host.invalid", &[]);
    assert!(line.starts_with("cannot find host `no-such-host.invalid`: "), "{line}");
    assert!(line.ends_with("; check the name, or give the address as a number"), "{line}");
}

#[test]
fn a_port_on_which_nobody_listens_is_named() {
    let address = nobody();
    let expected = format!(
        "cannot connect to {address}: connection refused; is the server started, and is the port \
         right?"
    );
    assert_eq!(refused(&address, &[]), expected);
}

#[test]
fn a_socket_file_that_is_not_there_is_named() {
    let line = refused("unix:none", &[]);
    assert!(line.starts_with("cannot connect to unix:none: no such socket file; "), "{line}");
}

#[test]
fn a_web_server_is_recognised_by_its_answer() {
    let address = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let expected = format!(
        "{address} does not speak NI: it answered `HTTP/1.1 400 Bad Request`; is that the port of \
         plumb net serve or niping -s?"
    );
    assert_eq!(refused(&address, &[]), expected);
}

#[test]
fn a_server_that_closes_at_once_is_named() {
    let address = answering(b"");
    let line = refused(&address, &[]);
    let cause = format!("{address} closed the connection before it answered");
    assert!(line.starts_with(&cause), "{line}");
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let (address, _listener) = silent();
    let line = refused(&address, &["--connect-timeout", "300ms"]);
    let cause = format!("{address} accepted the connection but did not answer within 300ms");
    assert!(line.starts_with(&cause), "{line}");
}

#[test]
fn a_message_larger_than_the_server_takes_is_refused_in_its_words() {
    let server = Server::start(&["--quiet", "--max-message", "1000B"]);
    let line = refused(&server.address, &["--size", "1001B"]);
    let cause = format!("{} refused: a message of 1001 bytes is larger", server.address);
    assert!(line.starts_with(&cause), "{line}");
    assert!(line.contains("NIETOO_BIG") && line.contains("limit of 1000 bytes"), "{line}");
    assert!(line.contains("--size") && line.contains("--max-message"), "{line}");
}

#[test]
fn a_server_that_is_full_refuses_in_its_words() {
    let server = Server::start(&["--quiet", "--max-clients", "1"]);
    let mut client = server.client();
    client.echo(b"here");
    let line = refused(&server.address, &[]);
    assert!(line.contains("refused: this server takes no more clients"), "{line}");
}

#[test]
fn a_url_is_not_a_host() {
    let line = refused("http://localhost:8000/", &[]);
    let cause = "`http://localhost:8000/` is not an address: expected HOST or HOST:PORT, not a URL";
    assert_eq!(line, cause);
}

#[test]
fn more_threads_than_connections_are_refused() {
    let line = refused("localhost", &["--threads", "3", "--connections", "2"]);
    assert_eq!(
        line,
        "3 threads for 2 connections: a thread needs at least one; write fewer --threads or more \
         --connections"
    );
}

#[test]
fn a_run_of_nothing_is_refused() {
    assert!(refused("localhost", &["--count", "0"]).contains("write --count 1 or more"));
    assert!(refused("localhost", &["--for", "0s"]).contains("--for 10s"));
}

#[test]
fn a_message_larger_than_a_frame_may_be_is_refused() {
    let line = refused("localhost", &["--size", "2GiB"]);
    assert_eq!(line, "a message of 2GiB is larger than the limit of 1GiB; write a smaller --size");
}

#[test]
fn a_size_without_a_unit_is_bytes_and_a_time_seconds_in_the_words_of_other_tools() {
    let server = Server::start(&[]);
    let folder = folder();
    let words = ["net", "ping", &server.address, "--size", "500", "-c", "2", "-n", "20"];
    let more = ["--warmup", "0", "--timeout", "7", "-o", "run", "--json"];
    let ended = plumb(&[&words[..], &more].concat(), folder.path());
    assert!(ended.code.is_some_and(|code| code != 2), "{ended:#?}");
    let record = ended.json();
    let options = &record["plan"]["options"];
    assert_eq!((&options["size"][0], &options["timeout"]), (&"500B".into(), &"7s".into()));
    assert_eq!(record["results"][0]["labels"]["connections"], "2");
    assert!(folder.path().join("run/run.json").exists());
}

#[test]
fn a_size_of_nothing_is_refused() {
    for size in ["0", "0B", "0KiB"] {
        let (cause, _) = misread_ping(&["--size", size]);
        assert!(cause.contains("--size") && cause.contains("is not above zero"), "{cause}");
    }
}

#[test]
fn a_unit_that_is_unknown_lists_those_that_are() {
    let (cause, _) = misread_ping(&["--for", "10sec"]);
    assert!(cause.contains("`sec` is no unit here; use one of ns, us, ms, s, m, h"), "{cause}");
}

#[test]
fn a_count_and_a_time_exclude_each_other() {
    let (cause, _) = misread_ping(&["--count", "10", "--for", "1s"]);
    assert!(cause.contains("--count") && cause.contains("--for"), "{cause}");
}

#[test]
fn an_unknown_option_is_told_with_the_one_that_was_meant() {
    let (cause, remedy) = misread_ping(&["--conections", "2"]);
    assert!(cause.contains("--conections"), "{cause}");
    assert!(remedy.contains("--connections"), "{remedy}");
    let (cause, remedy) = misread(plumb(&["nett"], Path::new(".")));
    assert!(cause.contains("nett") && remedy.contains("net"), "{cause}\n{remedy}");
}

#[test]
fn an_address_that_this_machine_does_not_have_cannot_be_listened_on() {
    let words = ["net", "serve", "--listen", "192.0.2.1:0"];
    let line = refusal(plumb(&words, Path::new(".")));
    assert!(line.starts_with("cannot listen on 192.0.2.1:0: "), "{line}");
    assert!(line.ends_with("; this machine does not have that address"), "{line}");
}

#[test]
fn a_port_in_use_cannot_be_listened_on() {
    let server = Server::start(&["--quiet"]);
    let words = ["net", "serve", "--listen", &server.address];
    let line = refusal(plumb(&words, Path::new(".")));
    assert!(line.starts_with(&format!("cannot listen on {}: ", server.address)), "{line}");
    assert!(line.ends_with("; another server is there: choose another port, or port 0"), "{line}");
    server.client().echo(b"unharmed");
}

#[test]
fn a_socket_file_in_use_is_left_to_its_server_and_one_of_a_dead_server_is_taken() {
    let folder = folder();
    let address = format!("unix:{}", folder.path().join("echo").display());
    let server = Server::listening(&address, &["--quiet"]);
    let line = refusal(plumb(&["net", "serve", "--listen", &address], folder.path()));
    assert!(line.contains("another server is there"), "{line}");
    ping(&address, &["--count", "1", "--warmup", "0s"], folder.path()).with(0);
    server.kill();
    assert!(folder.path().join("echo").exists());
    Server::listening(&address, &["--quiet"]).stop().with(0);
}

#[test]
fn a_file_of_somebody_else_is_not_replaced_by_a_socket() {
    let folder = folder();
    let path = folder.path().join("notes");
    fs::write(&path, "mine").expect("a temporary folder can be written");
    let words = ["net", "serve", "--listen", "unix:notes"];
    let line = refusal(plumb(&words, folder.path()));
    assert!(line.starts_with("cannot listen on unix:notes: "), "{line}");
    assert_eq!(kit::read(&path), "mine");
}

#[test]
fn a_run_is_not_put_below_a_file() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    fs::write(folder.path().join("file"), "").expect("a temporary folder can be written");
    for out in ["file", "file/run"] {
        let line = refusal(ping(&server.address, &["--count", "1", "--out", out], folder.path()));
        assert!(line.starts_with(&format!("cannot make the folder {out}: ")), "{line}");
        assert!(line.ends_with("name another folder"), "{line}");
    }
}

#[test]
fn a_run_is_never_overwritten() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--count", "1", "--warmup", "0s", "--out", "run"];
    ping(&server.address, &words, folder.path()).with(0);
    let before = kit::read(&folder.path().join("run/run.json"));
    let line = refusal(ping(&server.address, &words, folder.path()));
    assert_eq!(line, "run already holds a run, which is never overwritten: name another folder");
    assert_eq!(kit::read(&folder.path().join("run/run.json")), before);
}

#[test]
fn a_folder_with_other_files_is_not_used() {
    let folder = folder();
    fs::create_dir(folder.path().join("mine")).expect("a temporary folder can be written");
    fs::write(folder.path().join("mine/notes"), "").expect("a temporary folder can be written");
    let line = refusal(ping(&nobody(), &["--out", "mine"], folder.path()));
    assert!(line.starts_with("mine is not empty: "), "{line}");
    assert_eq!(names_in(&folder.path().join("mine")), ["notes"]);
}

#[test]
fn a_folder_that_was_there_before_a_run_that_did_not_begin_is_there_after_it() {
    let folder = folder();
    fs::create_dir(folder.path().join("mine")).expect("a temporary folder can be written");
    refusal(ping(&nobody(), &["--out", "mine"], folder.path()));
    assert_eq!(names_in(folder.path()), ["mine"]);
}

#[test]
fn a_run_that_did_not_begin_leaves_no_folder_under_its_name_either() {
    let folder = folder();
    refusal(ping(&nobody(), &["--out", "a/b"], folder.path()));
    assert!(!folder.path().join("a/b").exists());
}

#[test]
fn a_processor_that_is_not_there_is_named() {
    let server = Server::start(&["--quiet"]);
    let line = refused(&server.address, &["--pin", "100000"]);
    assert!(line.contains("processor 100000") && line.ends_with("with --pin"), "{line}");
}

#[test]
fn more_connections_than_descriptors_are_told_as_that() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let refused = |connections: &str| {
        let words = ["net", "ping", &server.address, "--connections", connections];
        refusal(Program::limited("-n 40", &words, folder.path()).wait())
    };
    let line = refused("18446744073709551615");
    assert!(
        line.contains("no more than 40 may be open") && line.contains("--connections"),
        "{line}"
    );
    let line = refused("39");
    assert!(line.contains("(ulimit -n 167), or take fewer --connections"), "{line}");
    let line = refused("16");
    assert!(line.contains("Too many open files") && line.contains("--connections"), "{line}");
    assert!(!line.contains("check the address"), "the address is right: {line}");
}

#[test]
fn a_time_of_centuries_is_taken_or_refused_and_does_not_break_the_clock() {
    let server = Server::start(&["--quiet"]);
    for option in ["--timeout", "--connect-timeout", "--interval", "--lag"] {
        let folder = folder();
        let words = ["--count", "5", "--warmup", "0s", option, "5124095h"];
        let ended = ping(&server.address, &words, folder.path());
        assert!(matches!(ended.code, Some(0 | 2)), "{option}: {}", ended.stderr);
    }
}

#[test]
fn a_folder_without_a_run_cannot_be_reported() {
    let folder = folder();
    let line = refusal(plumb(&["report", "."], folder.path()));
    assert!(line.starts_with("no run at .: name a run folder"), "{line}");
    fs::write(folder.path().join("run.json"), "{\n").expect("a temporary folder can be written");
    let line = refusal(plumb(&["report", "."], folder.path()));
    assert!(
        line.contains("run.json: not a record of plumb: ") && line.contains("line 2"),
        "{line}"
    );
}

#[test]
fn names_of_files_of_others_steer_no_terminal() {
    let folder = folder();
    let name = folder.path().join("\u{1b}[2Ja.nmon");
    fs::write(name, "no recording").expect("a temporary folder can be written");
    let ended = plumb(&["host", "show", "."], folder.path()).with(2);
    let line = ended.stderr.trim_end();
    assert!(line.starts_with("plumb: ./?[2Ja.nmon: "), "{line}");
    assert!(!line.contains(char::is_control), "{line:?}");
}
