//! A file with a `[ladder]`: steps, the folder, what is refused.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::kit::{self, Program, plumb, read};

use super::{experiment, folder};

const CONNECTIONS: &str = r#"
name = "echoes"
[[server]]
name = "echo"
run = "net serve --listen 127.0.0.1:0"
[ladder]
run = "net ping ${echo} --size 100B"
connections = [1, 2]
step = "100ms"
step-max = "100ms"
warmup = "0s"
attempts = 1
pools = { threads = 4 }
"#;

fn document(path: &Path) -> Value {
    serde_json::from_str(&read(path)).expect("JSON")
}

#[test]
fn every_level_leaves_a_run_and_says_what_came_of_it() {
    let at = folder();
    experiment(at.path(), CONNECTIONS);
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one", "--json"], at.path());
    // on a busy machine no step is valid, which is 3 and no failure of the ladder
    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let ladder = document(&at.path().join("one/ladder.json"));
    assert_eq!(ladder["schema"], "plumb.ladder/1");
    assert_eq!(
        (&ladder["stepped"], &ladder["pools"]["threads"]),
        (&"connections".into(), &4.into())
    );
    let steps = ladder["steps"].as_array().expect("steps");
    let levels: Vec<_> = steps.iter().filter_map(|it| it["level"].as_u64()).collect();
    assert!(levels.starts_with(&[1, 2]), "{levels:?}");
    for step in steps {
        let run = at.path().join("one").join(step["folder"].as_str().expect("a folder"));
        let record = document(&run.join("run.json"));
        assert_eq!(record["results"][0]["labels"]["connections"], step["level"].to_string());
        assert_eq!(step["counts"].as_bool(), Some(step.get("invalid").is_none()), "{step}");
    }
    let counts = steps.iter().any(|it| it["counts"] == true);
    assert_eq!(counts, steps.len() == 3, "one that counts is taken again: {levels:?}");
    assert!(at.path().join("one/experiment.toml").is_file());
}

#[test]
fn what_it_would_do_is_shown_and_nothing_is_left() {
    let at = folder();
    experiment(at.path(), CONNECTIONS);
    let shown = plumb(&["lab", "run", "x.toml", "--dry-run"], at.path()).with(0).stdout;
    assert!(shown.starts_with("echoes: 2 of connections 1, 2, one of them twice"), "{shown}");
    assert!(!at.path().join("plumb-runs").exists());
}

#[test]
fn what_it_would_do_is_one_document_where_that_is_asked_for() {
    let at = folder();
    experiment(at.path(), &CONNECTIONS.replace("warmup = \"0s\"", "warmup = \"200ms\""));
    let shown = plumb(&["lab", "run", "x.toml", "--dry-run", "--json"], at.path()).with(0).json();
    assert_eq!(
        (&shown["schema"], &shown["name"]),
        (&"plumb.ladder-plan/1".into(), &"echoes".into())
    );
    assert_eq!(shown["levels"], serde_json::json!([1, 2]));
    assert_eq!(shown["predicted_ns"], serde_json::json!([900_000_000, 900_000_000]));
}

/// A server that is there for the first steps, and tells when it is started in vain.
fn gone_after(starts: usize, meanwhile: &str) -> String {
    let exec = format!(
        "echo >> starts; if test $(wc -l < starts) -gt {starts}; then {meanwhile}; fi; \
         exec {} net serve --listen 127.0.0.1:0 --quiet",
        kit::PLUMB
    );
    let server =
        format!("exec = '{exec}'\nready = \"listening on ${{address}}\"\nstart = \"block\"\n");
    CONNECTIONS.replace("run = \"net serve --listen 127.0.0.1:0\"\n", &server)
}

#[test]
fn a_step_that_cannot_begin_is_one_without_figures() {
    let at = folder();
    experiment(
        at.path(),
        &gone_after(1, "echo no more; exit 1").replace("attempts = 1", "attempts = 2"),
    );
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    assert!(ended.stdout.contains("not valid: the server `echo`"), "{ended:?}");
    let ladder = document(&at.path().join("one/ladder.json"));
    let steps = ladder["steps"].as_array().expect("steps");
    let of =
        |level: u64| steps.iter().filter(move |it| it["level"] == level && it["folder"].is_null());
    assert_eq!(of(2).count(), 2, "as often as attempts says: {steps:?}");
    assert_eq!(steps[0]["level"], 1);
    // the first of all is a ladder that did not run
    experiment(at.path(), &gone_after(0, "echo no more; exit 1"));
    let ended = plumb(&["lab", "run", "x.toml", "--out", "two"], at.path()).with(2);
    assert!(ended.stderr.contains("the server `echo`"), "{ended:?}");
    assert!(!at.path().join("two").exists());
}

#[test]
fn a_ladder_that_is_interrupted_while_a_server_starts_keeps_its_steps() {
    let at = folder();
    for (starts, steps) in [(0, 0), (1, 1)] {
        let _ = std::fs::remove_file(at.path().join("starts"));
        experiment(at.path(), &gone_after(starts, "touch waits; sleep 600"));
        let out = format!("after-{starts}");
        let running = Program::start(&["lab", "run", "x.toml", "--out", &out], at.path());
        kit::until(|| at.path().join("waits").exists().then_some(()));
        std::fs::remove_file(at.path().join("waits")).expect("it is there");
        running.signal(Signal::INT);
        let ended = running.wait().with(130);
        if steps == 0 {
            assert!(!at.path().join(out).exists(), "nothing was measured: {ended:?}");
            continue;
        }
        assert!(ended.stdout.contains("connections"), "the steps so far: {ended:?}");
        let ladder = document(&at.path().join(out).join("ladder.json"));
        assert_eq!(ladder["interrupted"], true);
        assert_eq!(ladder["steps"].as_array().map(Vec::len), Some(steps));
    }
}

#[test]
fn a_ladder_ends_with_the_process_that_started_it_for_somebody() {
    let at = folder();
    let patient = gone_after(0, "touch waits; sleep 600")
        .replace("start = \"block\"", "start = \"block\"\ntimeout = \"10m\"");
    experiment(at.path(), &patient);
    let line = "PLUMB_STARTER=$$ \"$0\" lab run x.toml --out one & wait";
    let starter = Program::start_as(Path::new("/bin/sh"), &["-c", line, kit::PLUMB], at.path());
    kit::until(|| at.path().join("waits").exists().then_some(()));
    starter.signal(Signal::KILL);
    // its output ends with the last who has it: the ladder
    assert_eq!(starter.wait().code, None);
    assert!(!at.path().join("one").exists());
}

#[test]
fn the_example_is_a_ladder_from_1_to_40_users() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let words = ["lab", "run", "examples/sizing/ladder.toml", "--dry-run"];
    let shown = plumb(&words, &root).with(0).stdout;
    assert!(shown.starts_with("sizing: 9 of users 1, 2, 3, 5, 8, 13, 21, 34, 40,"), "{shown}");
}

#[test]
fn what_is_no_ladder_is_refused_before_anything_is_measured() {
    let at = folder();
    let refused = |text: &str, words: &[&str], why: &str| {
        experiment(at.path(), text);
        let ended = plumb(&[&["lab", "run", "x.toml", "--out", "no"], words].concat(), at.path());
        let said = ended.with(2).stderr;
        assert!(said.contains(why), "{said}");
        assert!(!at.path().join("no").exists());
    };
    refused(CONNECTIONS, &["--rounds", "3"], "belong to variants");
    refused(&CONNECTIONS.replace("[1, 2]", "[2, 1]"), &[], "that rise");
    refused(&CONNECTIONS.replace("--size 100B", "--size 100B,1MB"), &[], "2 results at each step");
    refused(
        &CONNECTIONS.replace("--size 100B", "--size 100B -c 4"),
        &[],
        "leave connections to the",
    );
    refused(&CONNECTIONS.replace("--size 100B", "--sise 100B"), &[], "--sise");
    refused(&CONNECTIONS.replace("${echo}", "${eco}"), &[], "${eco}");
    refused(&CONNECTIONS.replace("attempts", "atempts"), &[], "atempts");
    refused(&CONNECTIONS.replace("connections =", "users ="), &[], "--users");
    refused(&format!("{CONNECTIONS}\n[[variant]]\nname = \"a\""), &[], "variant");
    refused(&CONNECTIONS.replace("net serve", "net server"), &[], "the server `echo`");
}
