//! What is switched before a block and back behind it, and what its commands leave.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::{PRINTED, blocks, experiment, folder, order};
use crate::kit::{Program, names_in, plumb, read, until};

#[test]
fn a_variant_that_cannot_be_switched_to_is_not_measured_and_the_rest_goes_on() {
    let at = folder();
    let third = "[[variant]]\nname = \"broken\"\nset = { factor = 3 }\n\
                 before = \"echo no such switch >&2; exit 4\"\n[[factor]]\nname = \"size\"";
    experiment(at.path(), &PRINTED.replacen("[[factor]]\nname = \"size\"", third, 1));
    let words = ["lab", "run", "x.toml", "--out", "one", "--json"];
    let document = plumb(&words, at.path()).with(3).json();
    assert_eq!(document["design"]["complete_rounds"], 6);
    let sentence = document["contrasts"][1]["sentence"].to_string();
    assert!(sentence.contains("switching to broken failed"), "{sentence}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("broken could not be measured"), "{warnings}");
    assert!(warnings.contains("no such switch"), "{warnings}");
    let broken = |block: &&(u64, u64, u64)| block.2 == 2;
    let taken = blocks(&at.path().join("one"));
    assert_eq!(taken.iter().filter(broken).count(), 3, "it is given up after three attempts");
    assert_eq!(taken.len(), 3 + 48);
    let page = read(&at.path().join("one/report.html"));
    assert!(page.contains("no such switch"));
}

#[test]
fn the_system_is_switched_before_each_block_and_back_behind_it() {
    let at = folder();
    let text = r#"
rounds = 6
baseline = "two"
[[variant]]
name = "one"
before = "echo 10 > state; echo on >> log"
after = "rm state; echo off >> log"
[[variant]]
name = "two"
[[probe]]
name = "state"
exec = "cat state 2>/dev/null || echo 5"
higher-is-better = true
"#;
    experiment(at.path(), text);
    let document = plumb(&["lab", "run", "x.toml", "--json"], at.path()).with(0).json();
    let figure = &document["contrasts"][0]["endpoints"][0];
    assert_eq!(document["contrasts"][0]["baseline"], "two");
    assert_eq!((&figure["verdict"], &figure["ratio"]), (&"better".into(), &2.0.into()));
    assert_eq!(read(&at.path().join("log")), "on\noff\n".repeat(6));
}

#[test]
fn what_commands_leave_stays_in_a_folder_of_each_block() {
    let at = folder();
    let text = r#"
rounds = 6
[[variant]]
name = "one"
before = "echo before > '${folder}/note'"
after = "echo after >> '${folder}/note'"
[[variant]]
name = "two"
[[probe]]
exec = "cd / && test -d '${folder}' && echo 10"
"#;
    experiment(at.path(), text);
    plumb(&["lab", "run", "x.toml", "--out", "done"], at.path()).with(0);
    let done = at.path().join("done");
    let runs = order(&done)["blocks"].clone();
    let runs = runs.as_array().expect("blocks").iter();
    let of_one: Vec<String> = runs
        .filter(|block| block["variant"] == 0)
        .map(|block| block["folder"].as_str().expect("a folder").replace("blocks/", ""))
        .collect();
    assert_eq!(names_in(&done.join("files")), of_one, "an empty one does not stay");
    for name in of_one {
        assert_eq!(read(&done.join("files").join(name).join("note")), "before\nafter\n");
    }
}

/// Two variants that are switched on and off; `off` waits until the test lets it go on, and speaks.
const SWITCHED: &str = r#"
rounds = 6
[[variant]]
name = "one"
before = "echo on >> log"
after = "echo back; touch leaving; until test -e go; do sleep 0.01; done; echo back && echo >&2 && echo off >> log"
[[variant]]
name = "two"
before = "echo on >> log"
after = "echo back; touch leaving; until test -e go; do sleep 0.01; done; echo back && echo >&2 && echo off >> log"
[[probe]]
exec = "touch begun; sleep 600"
"#;

fn wait_for(path: &Path) {
    until(|| path.exists().then_some(()));
}

#[test]
fn a_terminal_that_closes_leaves_a_system_that_is_switched_back() {
    let at = folder();
    experiment(at.path(), SWITCHED);
    let running = Program::in_terminal(&["lab", "run", "x.toml"], at.path());
    wait_for(&at.path().join("begun"));
    running.signal(Signal::HUP);
    wait_for(&at.path().join("leaving"));
    running.signal(Signal::HUP); // the shell in the terminal tells it again
    running.signal(Signal::TERM); // and so does whoever started it, in other words
    fs::write(at.path().join("go"), "").expect("writable");
    let ended = running.wait().with(130);
    assert!(ended.stderr.contains("interrupted before anything was measured"), "{ended:?}");
    assert_eq!(read(&at.path().join("log")), "on\noff\n");
}

#[test]
fn what_switches_back_comes_to_its_end_even_when_the_experiment_is_killed() {
    let at = folder();
    experiment(at.path(), &SWITCHED.replace("sleep 600", "echo 10"));
    let running = Program::start(&["lab", "run", "x.toml"], at.path());
    wait_for(&at.path().join("leaving"));
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    fs::write(at.path().join("go"), "").expect("writable");
    until(|| (read(&at.path().join("log")) == "on\noff\n").then_some(()));
}
