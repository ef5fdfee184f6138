//! The experiments after published measurements (`examples/seeds`): each is accepted as it stands,
//! what they drive is there, and some of them are taken in one round.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::{Ended, PLUMB, Program, Server, plumb, read};
use serde_json::Value;

/// The user of an application server that names none.
const WHO: [(&str, &str); 2] = [("PLUMB_HTTP_USER", "demo"), ("PLUMB_HTTP_PASSWORD", "demo")];
/// Experiments are to be taken within this, nanoseconds.
const MOST_NS: u64 = 600_000_000_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where the experiments lie; they name other files relative to it.
fn folder() -> PathBuf {
    root().join("examples/seeds")
}

/// The names of the files of TOML in a folder, without their ends.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let toml = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut names: Vec<String> =
        toml.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(!names.is_empty(), "{}", folder.display());
    names
}

fn run(name: &str, words: &[&str]) -> Ended {
    let file = format!("{name}.toml");
    let words = [&["lab", "run", &file], words].concat();
    Program::start_told(Path::new(PLUMB), &words, &folder(), &WHO).wait()
}

/// Takes one round of an experiment, whatever else this machine does; its comparison.
fn one_round(name: &str) -> Value {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let out = kept.path().join("out").display().to_string();
    let words =
        ["--rounds", "1", "--accept-invalid", "--accept-unchecked", "--json", "--out", &out];
    let compared = run(name, &words).with(3).json(); // one round shows nothing
    assert_eq!(compared["design"]["complete_rounds"], 1, "{compared:#}");
    for variant in compared["variants"].as_array().expect("variants") {
        assert_eq!(variant["left_out"], Value::Array(Vec::new()), "{variant:#}");
    }
    compared
}

/// The key of the figure that decides each contrast.
fn deciding(compared: &Value) -> Vec<&str> {
    let contrasts = compared["contrasts"].as_array().expect("contrasts");
    contrasts.iter().filter_map(|it| it["endpoints"][0]["key"].as_str()).collect()
}

#[test]
fn every_experiment_is_accepted_takes_minutes_and_can_show_a_difference() {
    for name in names(&folder()) {
        let shown = run(&name, &["--dry-run"]).with(0).stdout;
        assert!(shown.starts_with(&format!("{name}: ")), "{shown}");
        assert!(!shown.contains("no difference, however large"), "{shown}");
        let plan = run(&name, &["--dry-run", "--json"]).with(0).json();
        assert!(plan["predicted_ns"].as_u64().expect("a time") <= MOST_NS, "{name}: {plan:#}");
    }
}

#[test]
fn every_experiment_stands_in_the_chapter_in_the_list_and_in_the_script() {
    let bench = read(&root().join("bench/lab/tables.py"));
    let texts = [read(&root().join("docs/seed-tables.md")), read(&folder().join("README.md"))];
    for name in names(&folder()) {
        assert!(bench.contains(&format!("\"{name}\": ")), "{name} makes no table");
        for text in &texts {
            assert!(text.contains(&format!("{name}.toml")), "{name} is not described");
        }
    }
}

#[test]
fn four_clients_are_compared_with_one() {
    let compared = one_round("four-clients");
    assert_eq!(deciding(&compared), ["throughput"]);
    assert_eq!(compared["contrasts"][0]["candidate"], "four clients");
}

#[test]
fn every_block_of_locks_begins_with_a_server_of_its_own() {
    assert_eq!(deciding(&one_round("locks-create")), ["throughput"]);
    assert!(!folder().join("locks-create.sock").exists(), "the server took its socket along");
}

#[test]
fn a_database_is_started_and_met_directly_and_over_a_line() {
    assert_eq!(deciding(&one_round("network-or-database")), ["p50", "p50"]);
}

#[test]
fn every_form_of_the_list_and_its_details_is_401_requests() {
    let server = Server::of_pages(&["--quiet"]);
    for form in ["compatibility-atom", "standard-atom", "standard-json", "compact-json"] {
        let result = &play(&server, form, &["--users", "3"])["results"][0];
        assert_eq!(result["operations"], 401, "{form}");
        assert_eq!(result["codes"], serde_json::json!({"200": 401}), "{form}");
        let parts = result["parts"].as_array().expect("steps");
        let counts: Vec<(&Value, &Value)> =
            parts.iter().map(|part| (&part["name"], &part["operations"])).collect();
        assert_eq!(
            counts,
            [(&"list".into(), &1.into()), (&"detail".into(), &400.into())],
            "{form}"
        );
    }
}

#[test]
fn a_block_of_the_list_and_its_details_lasts_until_all_is_read() {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let forms = "[\"compatibility-atom\", \"standard-atom\", \"standard-json\", \"compact-json\"]";
    let text = read(&folder().join("list-details.toml"))
        .replace(forms, "[\"compact-json\"]")
        .replace("levels = [1, 10, 20]", "levels = [1]")
        .replace("rounds = 10", "rounds = 1\nblock = \"100ms\"");
    let (file, out) = (kept.path().join("x.toml"), kept.path().join("out"));
    fs::write(&file, text).expect("writable");
    let [shown, into] = [&file, &out].map(|path| path.display().to_string());
    let words = ["lab", "run", &shown, "--accept-invalid", "--accept-unchecked", "--out", &into];
    Program::start_told(Path::new(PLUMB), &words, &folder(), &WHO).wait().with(3);
    let blocks = fs::read_dir(out.join("blocks")).expect("blocks");
    let operations: Vec<Value> = blocks
        .map(|block| {
            kit::record(&block.expect("a block").path())["results"][0]["operations"].clone()
        })
        .collect();
    assert_eq!(operations, [401, 401]);
}

#[test]
fn the_mix_of_users_clicks_and_takes_messages_without_a_failure() {
    let server = Server::of_pages(&["--quiet"]);
    let words = ["--users", "10", "--for", "2s", "--warmup", "0s"];
    let result = &play(&server, "user-mix", &words)["results"][0];
    assert_eq!(result["failures"], serde_json::json!({}));
    let codes = result["codes"].as_object().expect("codes");
    assert_eq!(codes.keys().collect::<Vec<_>>(), ["200", "201"], "{result:#}");
}

/// Plays one of the scenarios of the experiments against `server`; its record.
fn play(server: &Server, name: &str, words: &[&str]) -> Value {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let out = kept.path().join("out").display().to_string();
    let (file, base) = (format!("scenarios/{name}.toml"), format!("http://{}", server.address));
    let ours = ["http", "load", &file, "--base", &base, "--lag", "10s", "--json", "--out", &out];
    let words = [&ours[..], words].concat();
    Program::start_told(Path::new(PLUMB), &words, &folder(), &WHO).wait().with(0).json()
}

/// What the chapter quotes of each published table is what the check prints of it.
#[test]
fn the_chapter_quotes_what_is_found_in_the_published_tables() {
    let chapter = one_line(&read(&root().join("docs/seed-tables.md")));
    for (name, code) in [
        ("pages.csv", 0),
        ("page-of-1-kb.csv", 0),
        ("connectors.csv", 1),
        ("host-counters.csv", 0),
        ("host-counters-few.csv", 0),
    ] {
        let path = format!("examples/published/{name}");
        let found = plumb(&["check", &path], &root()).with(code).stdout;
        let found = one_line(&found.replace(&format!("{path}: "), ""));
        let quoted = format!("$ plumb check {path} {found}");
        assert!(chapter.contains(&quoted), "not quoted: {quoted}");
    }
}

/// A text without its line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
