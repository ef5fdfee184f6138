//! A measurement every few moments, and what is kept of it.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::tempdir;

use crate::kit::http::{Reply, ReplyServer};
use crate::kit::{Program, Server, plumb, record, until};

/// The lines of the log of the watch in `at`.
pub(crate) fn log(at: &Path) -> Vec<Value> {
    let text = fs::read_to_string(at.join("w/watch.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_watch_goes_on_when_its_target_is_gone_and_when_it_is_started_again() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let address = server.address.clone();
    let asked = ["net", "ping", &address, "--count", "20", "--warmup", "0s"];
    let calm = ["--foreign-limit", "100%", "--lag", "50s", "--connect-timeout", "200ms"];
    let words = ["watch", "--every", "50ms", "--keep", "2", "--out", "w"];
    let watch = Program::start(&[&words[..], &asked, &calm].concat(), at.path());
    until(|| (log(at.path()).len() > 3).then_some(()));
    let second = plumb(&[&words[..], &asked, &calm].concat(), at.path()).with(2).stderr;
    let first = format!("another process works in w (process {} on ", watch.id());
    assert!(second.contains(&first), "{second}");
    server.stop().with(0);
    let is_none = |entry: &Value| entry["p50-ns"].is_null() && entry["valid"] == false;
    until(|| log(at.path()).iter().any(is_none).then_some(()));
    watch.signal(Signal::INT);
    let ended = watch.wait().with(1);
    assert!(ended.stdout.contains("without an answer"), "{ended:?}");
    let entries = log(at.path());
    assert!(entries[0]["operations"] == 20 && entries[0]["p50-ns"].is_u64(), "{entries:?}");
    let none = entries.iter().find(|entry| is_none(entry)).expect("one without an answer");
    assert!(none["problem"].as_str().is_some_and(|why| why.contains("refused")), "{none}");
    let runs = fs::read_dir(at.path().join("w/runs")).expect("runs").count();
    assert!(runs <= 2, "{runs} are kept");
    // it goes on behind what it has
    let again =
        [&["watch", "--every", "1h", "--for", "1ms", "--out", "w"], &asked[..], &calm].concat();
    plumb(&again, at.path()).with(1);
    assert_eq!(log(at.path()).len(), entries.len() + 1);
}

#[test]
fn what_is_no_watch_is_refused_and_nothing_is_overwritten() {
    let at = tempdir().expect("a folder");
    let refused = |words: &[&str], why: &str| {
        let ended = plumb(words, at.path()).with(2);
        assert!(ended.stderr.contains(why), "{ended:?}");
    };
    refused(&["watch", "--out", "x", "net", "serve"], "measure");
    refused(&["watch", "net", "ping", "127.0.0.1", "--connections", "1,2"], "2 results");
    refused(&["watch", "net", "ping", "127.0.0.1", "--out", "y"], "--out means nothing here");
    refused(&["watch", "net", "ping", "127.0.0.1", "--junit", "y"], "--junit means nothing here");
    refused(&["watch", "--every", "0s", "net", "ping", "h"], "--every 0s never ends");
    fs::create_dir(at.path().join("w")).expect("made");
    fs::write(at.path().join("w/other"), "of somebody").expect("written");
    refused(&["watch", "--out", "w", "net", "ping", "127.0.0.1"], "holds something else");
    fs::write(at.path().join("w/watch.jsonl"), "{\"at\":1}\n").expect("written");
    refused(&["watch", "--out", "w", "net", "ping", "127.0.0.1"], "line 1 is no measurement");
}

#[test]
fn a_folder_is_of_one_command_and_goes_on_behind_a_line_that_was_cut() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let of_file = "size = [\"300B\"]\ncount = 20\nwarmup = \"0s\"\n";
    fs::write(at.path().join("o.toml"), of_file).expect("written");
    let once = ["watch", "--every", "1h", "--for", "1ms", "--out", "w", "net", "ping"];
    let calm = ["--foreign-limit", "100%", "--lag", "50s"];
    let words = [&once[..], &[&server.address, "--options", "o.toml"], &calm].concat();
    plumb(&words, at.path()).with(0);
    let entry = &log(at.path())[0];
    assert_eq!(entry["operations"], 20, "as the file of options says");
    let run = record(&at.path().join("w").join(entry["run"].as_str().expect("a folder")));
    assert_eq!(run["plan"]["options"]["size"], serde_json::json!(["300B"]));
    let kept = at.path().join("w/watch.jsonl");
    let whole = fs::read_to_string(&kept).expect("a log");
    fs::write(&kept, format!("{whole}{}", &whole[..20])).expect("written");
    plumb(&words, at.path()).with(0);
    assert_eq!(log(at.path()).len(), 2);
    let other = [&once[..], &[&server.address, "--count", "7"], &calm].concat();
    let ended = plumb(&other, at.path()).with(2);
    assert!(ended.stderr.contains("w watches `net ping"), "{ended:?}");
    // what it watches is not written anew: a disk that is full would leave nothing of it
    let command = at.path().join("w/command.txt");
    let written = fs::read_to_string(&command).expect("a command");
    let file = fs::File::options().append(true).open(&command).expect("it can be written");
    file.set_modified(UNIX_EPOCH).expect("its owner's");
    plumb(&words, at.path()).with(0);
    let modified = fs::metadata(&command).and_then(|of| of.modified()).expect("it is there");
    assert_eq!(modified, UNIX_EPOCH);
    // a power failure left nothing of it
    fs::write(&command, "").expect("written");
    plumb(&words, at.path()).with(0);
    assert_eq!(fs::read_to_string(&command).expect("a command"), written);
    assert_eq!(log(at.path()).len(), 4);
}

#[test]
fn a_host_that_the_options_file_names_is_watched() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let of_file = format!("host = \"{}\"\ncount = 20\nwarmup = \"0s\"\n", server.address);
    fs::write(at.path().join("o.toml"), of_file).expect("written");
    let words = ["watch", "--every", "1h", "--for", "1ms", "--out", "w", "net", "ping"];
    let calm = ["--options", "o.toml", "--foreign-limit", "100%", "--lag", "50s"];
    plumb(&[&words[..], &calm].concat(), at.path()).with(0);
    assert_eq!(log(at.path())[0]["operations"], 20);
}

#[test]
fn a_command_in_quotation_marks_is_watched_as_one_without() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let line = format!("plumb net ping {} --count 20 --warmup 0s", server.address);
    let words = ["watch", "--every", "1h", "--for", "1ms", "--out", "w", &line];
    plumb(&words, at.path());
    assert_eq!(log(at.path())[0]["operations"], 20);
    let command = fs::read_to_string(at.path().join("w/command.txt")).expect("the command");
    assert!(command.starts_with("net ping 127.0.0.1:"), "{command}");
}

#[test]
fn a_measurement_without_response_times_is_not_without_an_answer() {
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let words = ["watch", "--every", "1h", "--for", "1ms", "--out", "w", "net", "stream"];
    let calm = ["--for", "100ms", "--foreign-limit", "100%"];
    let ended = plumb(&[&words[..], &[&server.address], &calm].concat(), at.path());
    assert!(!ended.stdout.contains("without an answer"), "{ended:?}");
    let entry = &log(at.path())[0];
    assert!(entry["p50-ns"].is_null() && entry["run"].is_string(), "{entry}");
}

#[test]
fn a_threshold_that_is_missed_is_told_and_ends_the_watch_with_1() {
    let server = ReplyServer::start(|_, _| Reply::page("hello"));
    let at = tempdir().expect("a folder");
    let scenario = format!(
        "base = \"{}\"\nthresholds = [\"requests > 1\", \"page p50 < 1ns\"]\n\
         [[scenario]]\nname = \"reader\"\nusers = 1\niterations = 5\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/\"\n",
        server.url("").trim_end_matches('/')
    );
    fs::write(at.path().join("s.toml"), scenario).expect("written");
    let words = ["watch", "--every", "1h", "--for", "1ms", "--out", "w", "http", "load", "s.toml"];
    let ended = plumb(&[&words[..], &["--lag", "50s"]].concat(), at.path()).with(1);
    assert!(ended.stdout.contains("; 1 threshold missed: page p50 < 1ns\n"), "{ended:?}");
    assert!(ended.stdout.contains("1 measurement, 1 missed a threshold\n"), "{ended:?}");
    let entry = &log(at.path())[0];
    assert_eq!((&entry["valid"], entry["p50-ns"].is_u64()), (&true.into(), true), "{entry}");
}

#[test]
fn the_help_of_the_watched_command_is_printed_as_it_is() {
    let at = tempdir().expect("a folder");
    let within = plumb(&["watch", "net", "ping", "--help"], at.path()).with(0);
    let alone = plumb(&["net", "ping", "--help"], at.path()).with(0);
    assert_eq!((within.stdout, within.stderr), (alone.stdout, alone.stderr));
}
