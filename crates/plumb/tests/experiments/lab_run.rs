//! Experiments of a file end to end: cells, order, interruption and what goes on, refusals.

mod ladder;
mod refusals;
mod resume;
mod servers;
mod switching;

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::{names_in, plumb, read};
use serde_json::Value;
use tempfile::TempDir;

/// The words that let blocks count whatever disturbed them.
const ALL_COUNT: [&str; 8] =
    ["lab", "run", "x.toml", "--out", "one", "--json", "--accept-invalid", "--accept-unchecked"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Writes `text` as an experiment into `at`.
fn experiment(at: &Path, text: &str) -> PathBuf {
    let path = at.join("x.toml");
    fs::write(&path, text).expect("writable");
    path
}

/// Two variants that print different figures, over two factors.
const PRINTED: &str = r#"
seed = 5
rounds = 6
[[variant]]
name = "cheap"
set = { factor = 1 }
[[variant]]
name = "dear"
set = { factor = 2 }
[[factor]]
name = "size"
levels = [10, 20]
[[factor]]
name = "users"
levels = ["one", "ten"]
[[probe]]
exec = "echo users ${users} $((${size} * ${factor}))"
"#;

/// Two variants that a script measures.
const SCRIPTED: &str = r#"
rounds = 6
[[variant]]
name = "one"
[[variant]]
name = "two"
[[probe]]
exec = "sh figure.sh"
"#;

/// Two servers of known speed behind one name, several sizes, two layers of probes.
const SERVERS: &str = r#"
rounds = 2
block = "100ms"
[[server]]
name = "echo"
run = "net serve --listen 127.0.0.1:0 --service-time ${time}"
start = "once"
[[variant]]
name = "quick"
set = { time = "100us" }
[[variant]]
name = "slow"
set = { time = "2ms" }
[[factor]]
name = "size"
levels = ["100B", "1000B"]
[[probe]]
name = "trip"
run = "net ping ${echo} --size ${size} --warmup 0s --lag 10s"
[[probe]]
name = "tail"
run = "net ping ${echo} --size 10B --warmup 0s --lag 10s"
figure = "p95"
"#;

fn order(at: &Path) -> Value {
    serde_json::from_str(&read(&at.join("order.json"))).expect("JSON")
}

/// Round, cell and variant of every block.
fn blocks(at: &Path) -> Vec<(u64, u64, u64)> {
    let order = order(at);
    let number = |block: &Value, key: &str| block[key].as_u64().expect("a number");
    order["blocks"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| (number(block, "round"), number(block, "cell"), number(block, "variant")))
        .collect()
}

#[test]
fn every_round_holds_each_variant_in_each_cell_once_and_each_cell_has_its_verdict() {
    let at = folder();
    experiment(at.path(), PRINTED);
    let words = ["lab", "run", "x.toml", "--out", "done", "--json"];
    let document = plumb(&words, at.path()).with(3).json();
    assert_eq!(document["schema"], "plumb.comparison/1");
    assert_eq!(document["design"]["complete_rounds"], 6);
    let contrasts = document["contrasts"].as_array().expect("a list");
    let labels: Vec<String> = contrasts
        .iter()
        .map(|contrast| {
            let labels = &contrast["labels"];
            format!("{} {}", labels["size"], labels["users"]).replace('"', "")
        })
        .collect();
    assert_eq!(labels, ["10 one", "10 ten", "20 one", "20 ten"]);
    for contrast in contrasts {
        let figure = &contrast["endpoints"][0];
        assert_eq!(
            (&contrast["baseline"], &contrast["candidate"]),
            (&"cheap".into(), &"dear".into())
        );
        assert!((figure["ratio"].as_f64().expect("a number") - 2.0).abs() < 1e-12);
        // six pairs give p = 1/32, and Holm takes the smallest of four cells four times
        assert!((figure["p"].as_f64().expect("a number") - 0.031_25).abs() < 1e-12);
        assert!((figure["p_adjusted"].as_f64().expect("a number") - 0.125).abs() < 1e-12);
        assert_eq!(figure["verdict"], "untestable");
    }
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("Take 8 rounds or more"), "{warnings}");
    let taken = blocks(&at.path().join("done"));
    assert_eq!(taken.len(), 48);
    for (round, of_round) in (1..).zip(taken.chunks(8)) {
        let mut sorted: Vec<_> = of_round.iter().map(|(_, cell, it)| (*cell, *it)).collect();
        sorted.sort_unstable();
        let every: Vec<_> = (0..4).flat_map(|cell| [(cell, 0), (cell, 1)]).collect();
        assert_eq!(sorted, every);
        assert!(of_round.iter().all(|block| block.0 == round));
        assert!(of_round.chunks(2).all(|pair| pair[0].1 == pair[1].1), "pairs are adjacent");
    }
    let names =
        ["SHA256SUMS", "blocks", "comparison.json", "experiment.toml", "order.json", "report.html"];
    assert_eq!(names_in(&at.path().join("done")), names);
    assert_eq!(read(&at.path().join("done/experiment.toml")), PRINTED);
    let first = order(&at.path().join("done"))["blocks"][0]["folder"].clone();
    let first = at.path().join("done").join(first.as_str().expect("a folder"));
    let page = read(&first.join("report.html"));
    assert!(page.contains("Printed figure: ") && !page.contains("Nothing was measured"), "{page}");
    assert!(kit::record(&first)["results"][0]["host"].is_object(), "the machine was not watched");
    let again = plumb(&["compare", "done", "--json"], at.path()).with(0).json();
    assert_eq!(again["contrasts"], document["contrasts"]);
}

#[test]
fn no_figure_decides_in_the_place_of_one_that_no_pair_has() {
    let at = folder();
    experiment(at.path(), &SERVERS.replace("figure = \"p95\"", "figure = \"rows\""));
    let document = plumb(&ALL_COUNT, at.path()).with(3).json();
    let tail = &document["contrasts"][2];
    let figure = &tail["endpoints"][0];
    assert_eq!((&figure["key"], &figure["verdict"]), (&"p50".into(), &"none".into()), "{tail:#}");
    let sentence = tail["sentence"].to_string();
    assert!(sentence.contains("no verdict on slow: "), "{sentence}");
    assert!(sentence.contains("`rows`, which was to decide, is in no pair"), "{sentence}");
    assert_eq!(document["design"]["tests"], 2);
}

#[test]
fn a_dry_run_shows_the_order_that_is_taken_and_measures_nothing() {
    let at = folder();
    experiment(at.path(), PRINTED);
    let dry = plumb(&["lab", "run", "x.toml", "--dry-run", "--json"], at.path()).with(0).json();
    let shown = plumb(&["lab", "run", "x.toml", "--dry-run"], at.path()).with(0).stdout;
    assert!(shown.starts_with("x: 6 rounds of 8 blocks, about 96.0 s"), "{shown}");
    assert!(shown.contains("in 4 tests at once: take 8 or more"), "{shown}");
    assert!(dry["remarks"].to_string().contains("no known length"), "{dry:#}");
    assert!(shown.contains("round 6 ") && !shown.contains("round 7"), "{shown}");
    assert_eq!(names_in(at.path()), ["x.toml"]);
    plumb(&["lab", "run", "x.toml", "--out", "done"], at.path()).with(3);
    let planned: Vec<_> = dry["order"]
        .as_array()
        .expect("an order")
        .iter()
        .map(|place| ["round", "cell", "variant"].map(|key| place[key].as_u64().expect("a number")))
        .map(|[round, cell, variant]| (round, cell, variant))
        .collect();
    assert_eq!(planned, blocks(&at.path().join("done")));
}

#[test]
fn what_ab_asked_for_is_an_experiment_file() {
    let at = folder();
    let words = ["ab", "--exec", "--pairs", "6", "--seed", "3", "--out", "one"];
    plumb(&[&words[..], &["x=1; echo ${x}", "echo 2"]].concat(), at.path()).with(0);
    let again = ["lab", "run", "one/experiment.toml", "--out", "two", "--json"];
    let document = plumb(&again, at.path()).with(0).json();
    assert_eq!(document["contrasts"][0]["endpoints"][0]["verdict"], "worse");
    assert_eq!(blocks(&at.path().join("one")), blocks(&at.path().join("two")));
}

#[test]
fn the_chapter_shows_the_example_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = read(&root.join("examples/lab/nagle.toml"));
    let keys: String =
        example.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
    assert!(read(&root.join("docs/lab.md")).contains(&format!("```toml\n{keys}```\n")));
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn the_examples_are_experiments() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lab");
    let names = names_in(&examples);
    assert!(names.contains(&"nagle.toml".into()), "{names:?}");
    for name in names {
        let at = folder();
        let path = examples.join(&name).display().to_string();
        plumb(&["lab", "run", &path, "--dry-run"], at.path()).with(0);
        let words =
            ["lab", "run", &path, "--rounds", "1", "--accept-invalid", "--accept-unchecked"];
        let ended = plumb(&words, at.path()).with(3);
        assert!(ended.stdout.contains("cannot be tested"), "{name}: {ended:?}");
    }
}
