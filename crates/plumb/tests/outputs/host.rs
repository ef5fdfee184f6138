//! `plumb host watch` and `plumb host record`, end to end.

use crate::kit;

use std::path::Path;

use kit::{Program, Server, names_in, ping, plumb, read, record};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::tempdir;

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[test]
fn watching_prints_a_line_of_json_a_sample() {
    let words = ["host", "watch", "--json", "--every", "20ms"];
    let program = Program::start(&words, Path::new("."));
    let samples: Vec<Value> =
        (0..3).map(|_| serde_json::from_str(&program.line()).expect("a line of JSON")).collect();
    program.signal(Signal::TERM);
    let ended = program.wait().with(0);
    for sample in &samples {
        assert_eq!(sample["schema"], "plumb.sample/1");
        assert_eq!(sample["host"], host_name());
        assert!(sample["interval_ns"].as_u64().is_some_and(|ns| ns > 0), "{sample}");
        assert!(sample["cpus"].is_array(), "{sample}");
    }
    assert!(samples[0]["memory"]["total_bytes"].is_u64(), "{}", samples[0]);
    let time = |sample: &Value| sample["monotonic_ns"].as_u64();
    assert!(samples.windows(2).all(|pair| time(&pair[0]) < time(&pair[1])));
    // what this machine does not tell is said once, beside the samples
    assert!(ended.stderr.lines().all(|line| line.starts_with("not watched: ")), "{ended:#?}");
}

#[test]
fn watching_into_a_pipe_prints_a_line_a_sample() {
    let program = Program::start(&["host", "watch", "--every", "50ms"], Path::new("."));
    let lines = [program.line(), program.line()];
    program.signal(Signal::TERM);
    program.wait().with(0);
    assert!(lines.iter().all(|line| line.contains("  cpu ") && line.contains("  net in ")));
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "a pipe is no terminal");
}

#[test]
fn watching_ends_when_it_is_asked_to() {
    let program = Program::start(&["host", "watch", "--every", "20ms"], Path::new("."));
    program.line();
    program.signal(Signal::TERM);
    program.wait().with(0);
}

#[test]
fn watching_ends_by_itself_when_its_time_is_over() {
    let words = ["host", "watch", "--every", "20ms", "--for", "100ms"];
    let ended = plumb(&words, Path::new(".")).with(0);
    assert!(ended.stdout.lines().count() >= 1, "{ended:#?}");
    assert!(ended.stdout.lines().all(|line| line.contains("  cpu ")), "{ended:#?}");
}

#[test]
fn a_recording_is_a_folder_that_others_can_read() {
    let folder = tempdir().expect("a temporary folder");
    let wanted = ["--process", "no-such-process"];
    let words = ["host", "record", "--every", "20ms", "--for", "200ms", "--out", "run"];
    let words = [&words[..], &wanted].concat();
    let ended = plumb(&words, folder.path()).with(0);
    assert!(ended.stdout.contains("recording into run\n"), "{ended:#?}");
    assert!(ended.stdout.contains("\na reading takes: "), "{ended:#?}");
    let run = folder.path().join("run");
    let name = host_name();
    let (csv, nmon) = (format!("{name}.csv"), format!("{name}.nmon"));
    let mut expected = vec![csv.clone(), nmon.clone(), "host.json".into()];
    expected.sort();
    assert_eq!(names_in(&run), expected);
    let csv = read(&run.join(csv));
    let mut lines = csv.lines();
    let header = lines.next().expect("a heading");
    assert!(header.starts_with("time,monotonic_s,interval_s,cpu_busy_pct,"), "{header}");
    // whoever may begin later has columns already
    assert!(header.contains(",process_no-such-process:processes,"), "{header}");
    let rows: Vec<&str> = lines.collect();
    assert!(rows.len() >= 3, "{csv}");
    assert!(rows.iter().all(|row| row.split(',').count() == header.split(',').count()));
    assert!(read(&run.join(nmon)).starts_with("AAA,progname,plumb\n"));
    let host: Value = serde_json::from_str(&read(&run.join("host.json"))).expect("it is JSON");
    assert_eq!(host["schema"], "plumb.host/1");
    assert_eq!(host["samplers"]["cpu"]["state"], "active");
    assert!(host["usage"]["samples"].as_u64().is_some_and(|samples| samples >= 3), "{host}");
    plumb(&words, folder.path()).with(2); // it is never overwritten
}

#[test]
fn a_recording_that_is_interrupted_is_complete() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["host", "record", "--every", "20ms", "--process", "plumb"];
    let program = Program::start(&words, folder.path());
    let line = program.line();
    let run = folder.path().join(line.strip_prefix("recording into ").expect("a folder"));
    program.signal(Signal::INT);
    program.wait().with(0);
    assert_eq!(names_in(&run).len(), 3);
    assert!(read(&run.join("host.json")).ends_with("}\n"));
}

#[test]
fn what_was_to_end_by_itself_says_that_it_was_interrupted() {
    let folder = tempdir().expect("a temporary folder");
    for verb in ["watch", "record"] {
        let words = ["host", verb, "--every", "20ms", "--for", "1h"];
        let program = Program::start(&words, folder.path());
        program.line();
        program.signal(Signal::INT);
        program.wait().with(130);
    }
}

#[test]
fn signals_that_come_at_once_are_one_request() {
    let program = Program::start(&["host", "watch", "--every", "20ms"], Path::new("."));
    program.line();
    // while it stands still both are put down for it, and come together
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        program.signal(signal);
    }
    program.wait().with(0);
}

#[test]
fn a_run_says_on_which_processor_its_client_sat() {
    let server = Server::start(&[]);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--count", "200", "--pin", "0", "--out", "run"];
    let ended = ping(&server.address, &words, folder.path()).with(0);
    let line = ended.stdout.lines().find(|line| line.starts_with("cores "));
    assert!(line.is_some_and(|line| line.contains("client CPU 0")), "{ended:#?}");
    let result = &record(&folder.path().join("run"))["results"][0];
    let seats = &result["host"]["seats"];
    let pinned = serde_json::json!([{"cpu": 0, "share_pct": 100.0}]);
    assert_eq!(seats["client"], pinned, "the load was pinned there: {seats}");
    assert_eq!(seats["server"], serde_json::json!([]), "it had too little to do: {seats}");
}

#[test]
fn the_impossible_is_refused_with_the_remedy() {
    for (words, remedy) in [
        (["watch", "--every", "5ms"], "--every 10ms or more"),
        (["record", "--every", "0s"], "--every 10ms or more"),
        (["record", "--for", "100ms"], "shorter than --every"),
        (["watch", "--process", "4194304"], "there is no process 4194304"),
        (["watch", "--without", "everything"], "[possible values: cpu,"),
        (["watch", "--root", "/nowhere"], "is /proc mounted?"),
    ] {
        let ended = plumb(&[&["host"], &words[..]].concat(), Path::new(".")).with(2);
        assert!(ended.stderr.contains(remedy), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}
