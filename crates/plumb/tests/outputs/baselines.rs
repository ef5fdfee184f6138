//! Baselines with names: set, checked, listed and forgotten.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::{Ended, Server, ping, plumb, read, runs};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// A folder with a run, and the server that it asked.
fn measured() -> (TempDir, Server) {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    measure(&server, folder.path());
    (folder, server)
}

fn measure(server: &Server, folder: &Path) {
    ping(&server.address, &["--count=300", "--warmup=0s"], folder).with(0);
}

/// A run that is long enough for an interval of its median.
const LONG: &[&str] = &["--for=2s", "--interval=50ms", "--warmup=0s"];

/// What it said, on one line.
fn said(ended: &Ended) -> String {
    ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn baseline(words: &[&str], folder: &Path) -> Ended {
    plumb(&[&["baseline"], words].concat(), folder)
}

#[test]
fn a_later_run_of_the_plan_is_held_against_its_baseline() {
    let folder = tempdir().expect("a folder");
    let at = folder.path();
    // one that works for each answer is slower than one that does not, on any machine
    let slow = Server::start(&["--service-time=20ms"]);
    let address = slow.address.clone();
    ping(&address, LONG, at).with(0);
    let set = baseline(&["set", "main", "--tolerance=1%"], at).with(0).stdout;
    assert!(set.contains(&format!("(net ping {address})")), "{set}");
    // nothing but itself was measured
    let ended = baseline(&["check", "main"], at).with(2);
    assert!(ended.stderr.contains("beside itself"), "{ended:?}");
    slow.stop();
    let fast = Server::listening(&address, &[]);
    ping(&fast.address, LONG, at).with(0);
    // a later run of another plan is none of its
    ping(&fast.address, &["--count=20", "--warmup=0s", "--size=1B"], at).with(0);
    let ended = baseline(&["check", "main", "--junit=v.xml"], at);
    // where others take the processors it is too unsteady to tell, and never worse
    let (is_told, text) = (ended.code == Some(0), said(&ended));
    let verdict = if is_told { "within the tolerance of 1 %" } else { "cannot be told" };
    assert!((is_told || ended.code == Some(3)) && text.contains(verdict), "{ended:?}");
    let xml = read(&at.join("v.xml"));
    let second = runs(at)[1].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(!(is_told && xml.contains("<error")) && xml.contains(&second), "{xml}");
}

#[test]
fn a_later_run_that_was_interrupted_is_passed_over_and_named() {
    let (folder, server) = measured();
    let at = folder.path();
    baseline(&["set", "main", "--tolerance=100%"], at).with(0);
    measure(&server, at);
    measure(&server, at);
    let last = runs(at)[2].clone();
    let text = read(&last.join("run.json")).replace("\"complete\"", "\"interrupted\"");
    fs::write(last.join("run.json"), text).expect("it can be written");
    fs::remove_file(last.join("SHA256SUMS")).expect("it was written");
    let ended = baseline(&["check", "main"], at); // how fast this machine is decides nothing here
    let name = last.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(
        ended.stderr.contains(&format!("{name} was interrupted and is passed over")),
        "{ended:?}"
    );
}

#[test]
fn worse_than_the_tolerance_fails_and_without_one_nobody_can_tell() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let at = folder.path();
    ping(&server.address, LONG, at).with(0);
    let first = runs(at)[0].display().to_string();
    baseline(&["set", "fast", &first], at).with(0);
    // a server that works for each answer is slower by far
    drop(server);
    let slow = Server::start(&["--service-time=20ms"]);
    ping(&slow.address, LONG, at).with(0);
    let second = runs(at)[1].display().to_string();
    let ended =
        baseline(&["check", "fast", &second, "--tolerance=50%", "--junit=v.xml"], at).with(1);
    assert!(said(&ended).contains("WORSE than the tolerance of 50 %"), "{ended:?}");
    assert!(read(&at.join("v.xml")).contains("<failure type=\"tolerance-exceeded\""));
    let ended = baseline(&["check", "fast", &second, "--junit=v.xml"], at).with(3);
    assert!(said(&ended).contains("no verdict: give --tolerance"), "{ended:?}");
    assert!(read(&at.join("v.xml")).contains("<error type=\"no-verdict\""));
    let json =
        baseline(&["check", "fast", &second, "--tolerance=50%", "--json"], at).with(1).json();
    assert_eq!(json["schema"], "plumb.comparison/1");
    let worse = ["baseline", "check", "fast", &second, "--tolerance=50%"];
    assert_eq!(kit::unread(&worse, at), Some(1));
    let decided = &json["baseline"];
    assert_eq!(
        (&decided["name"], &decided["tolerance"]),
        (&"fast".into(), &0.5.into()),
        "{decided}"
    );
    let point = &decided["points"][0];
    assert_eq!((&point["figure"], &point["decided"]), (&"p50".into(), &"worse".into()), "{point}");
    assert!(point["change_pct"].as_f64().is_some_and(|it| it < -50.0), "{point}");
    assert!(point["why"].is_null(), "{point}");
    let markdown = [&worse[1..], &["--markdown"]].concat();
    let text = baseline(&markdown, at).with(1).stdout;
    assert!(text.starts_with("## Baseline fast\n\n- connections 1, size 1000B: median "), "{text}");
    assert!(
        text.contains("WORSE than the tolerance of 50 %") && text.contains("### Method"),
        "{text}"
    );
    let open = baseline(&["check", "fast", &second, "--json"], at).with(3).json();
    let point = &open["baseline"]["points"][0];
    assert_eq!((&point["decided"], &point["why"]), (&"unknown".into(), &"no-tolerance".into()));
    // without its intervals nothing is known of how well a median is known, but of a throughput it is
    fs::remove_file(Path::new(&second).join("intervals.hlog")).expect("it was written");
    let ended = baseline(&worse[1..], at).with(1);
    assert!(said(&ended).contains("throughput -9"), "{ended:?}");
    baseline(&["set", "slow", &second], at).with(0);
    let ended = baseline(&["check", "slow", &first, "--tolerance=50%"], at).with(3);
    assert!(said(&ended).contains("keep intervals.hlog of both runs"), "{ended:?}");
    let open = ["check", "slow", &first, "--tolerance=50%", "--json"];
    let point = &baseline(&open, at).with(3).json()["baseline"]["points"][0];
    assert_eq!((&point["decided"], &point["why"]), (&"undecided".into(), &"no-intervals".into()));
}

#[test]
fn work_at_a_rate_without_its_response_times_is_not_held_against_the_rate() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let at = folder.path();
    let words = ["--rate=2000/s", "--count=20", "--warmup=0s", "--lag=50s"];
    for _ in 0..2 {
        ping(&server.address, &words, at).with(0);
    }
    let second = &runs(at)[1];
    baseline(&["set", "main", &runs(at)[0].display().to_string(), "--tolerance=5%"], at).with(0);
    let text = "paging: 1 page swapped in or out";
    let paged = json!({"kind": "paging", "scope": "latency", "text": text});
    let paged = json!({"valid": true, "latency_valid": false, "reasons": [paged]});
    let mut record: Value = serde_json::from_str(&read(&second.join("run.json"))).expect("JSON");
    record["validity"] = paged.clone();
    record["results"][0]["validity"] = paged;
    fs::write(second.join("run.json"), record.to_string()).expect("it can be written");
    fs::remove_file(second.join("SHA256SUMS")).expect("it was written");
    let second = second.display().to_string();
    let ended = baseline(&["check", "main", &second, "--junit=v.xml"], at).with(3);
    assert!(said(&ended).contains("nothing can be compared"), "{ended:?}");
    assert!(
        said(&ended).contains(&format!("may not be used ({text}) and are left out")),
        "{ended:?}"
    );
    let xml = read(&at.join("v.xml"));
    assert!(xml.contains("<error type=\"no-verdict\"") && xml.contains("sets the rate"), "{xml}");
}

#[test]
fn a_stream_is_held_against_its_baseline_by_its_own_intervals() {
    let folder = tempdir().expect("a folder");
    let at = folder.path();
    let server = Server::listening("udp:127.0.0.1:0", &["--quiet"]);
    // what arrives is what is sent, on any machine
    for (name, rate) in [("one", "9600kbit"), ("two", "960kbit")] {
        let words =
            ["net", "stream", &server.address, "--for=1s", "--interval=50ms", "--rate", rate];
        plumb(&[&words[..], &["--out", name]].concat(), at).with(0);
    }
    baseline(&["set", "main", "one", "--tolerance=50%"], at).with(0);
    let ended = baseline(&["check", "main", "two"], at).with(1);
    assert!(said(&ended).contains("WORSE than the tolerance of 50 %"), "{ended:?}");
}

#[test]
fn a_run_that_is_not_valid_is_no_baseline_and_does_not_pass() {
    let (folder, _server) = measured();
    let at = folder.path();
    baseline(&["set", "main", "--tolerance=10%"], at).with(0);
    let site = kit::http::ReplyServer::start(kit::operations::page);
    let words = ["--as-given", "--count=20", &site.url("/gone")];
    plumb(&[&kit::operations::FIXED[..], &words].concat(), at).with(1);
    let runs = runs(at);
    let invalid = runs.iter().find(|run| run.display().to_string().ends_with("http-ping"));
    let invalid = invalid.expect("a run").display().to_string();
    let ended = baseline(&["set", "bad", &invalid], at).with(2);
    assert!(ended.stderr.contains("its figures are not valid"), "{ended:?}");
    let ended = baseline(&["check", "main", &invalid, "--junit=v.xml"], at).with(1);
    assert!(ended.stderr.contains("is not compared"), "{ended:?}");
    assert_eq!(kit::unread(&["baseline", "check", "main", &invalid], at), Some(1));
    assert!(read(&at.join("v.xml")).contains("<failure "));
}

#[test]
fn baselines_are_listed_replaced_and_forgotten() {
    let (folder, server) = measured();
    let at = folder.path();
    assert!(baseline(&["list"], at).with(0).stdout.starts_with("no baselines"));
    let first = runs(at)[0].display().to_string();
    baseline(&["set", "main", &first, "--tolerance=5%"], at).with(0);
    measure(&server, at);
    let set = baseline(&["set", "main"], at).with(0).stdout;
    assert!(set.contains("; before it was "), "{set}");
    let all: Value = baseline(&["list", "--json"], at).with(0).json();
    assert_eq!(all["schema"], "plumb.baselines/1");
    let second = runs(at)[1].file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(all["baselines"][0]["run"], second.as_str());
    assert!(baseline(&["list"], at).with(0).stdout.starts_with("main: "));
    baseline(&["remove", "main"], at).with(0);
    for words in [&["remove", "main"][..], &["check", "main"], &["set", "a b"]] {
        baseline(words, at).with(2);
    }
    assert_eq!(runs(at).iter().filter(|run| run.is_dir()).count(), 2);
}

#[test]
fn a_baseline_that_was_altered_is_refused() {
    let (folder, server) = measured();
    let at = folder.path();
    baseline(&["set", "main", "--tolerance=5%"], at).with(0);
    let record = runs(at)[0].join("run.json");
    let text = read(&record).replace("\"status\"", " \"status\"");
    fs::write(&record, text).expect("it can be written");
    measure(&server, at);
    let ended = baseline(&["check", "main"], at).with(2);
    assert!(
        ended.stderr.contains("is not the run that was set as the baseline `main`"),
        "{ended:?}"
    );
    fs::write(at.join("plumb-runs/baselines.json"), "{").expect("it can be written");
    let ended = baseline(&["list"], at).with(2);
    assert!(ended.stderr.contains("baselines.json"), "{ended:?}");
}
