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
    run_file(&format!("{name}.toml"), words)
}

fn run_file(file: &str, words: &[&str]) -> Ended {
    let words = [&["lab", "run", file], words].concat();
    Program::start_told(Path::new(PLUMB), &words, &folder(), &WHO).wait()
}

/// Takes one round of an experiment, whatever else this machine does; its comparison.
fn one_round(name: &str) -> Value {
    one_round_of(&format!("{name}.toml"))
}

fn one_round_of(file: &str) -> Value {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let out = kept.path().join("out").display().to_string();
    let words =
        ["--rounds", "1", "--accept-invalid", "--accept-unchecked", "--json", "--out", &out];
    let compared = run_file(file, &words).with(3).json(); // one round shows nothing
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
    let bench = read(&root().join("bench/lab/printers/__init__.py"));
    let texts = [read(&root().join("docs/seed-tables.md")), read(&folder().join("README.md"))];
    for name in names(&folder()) {
        assert!(bench.contains(&format!("\"{name}\": ")), "{name} makes no table");
        for text in &texts {
            assert!(text.contains(&format!("{name}.toml")), "{name} is not described");
        }
    }
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn four_clients_are_compared_with_one() {
    let compared = one_round("four-clients");
    assert_eq!(deciding(&compared), ["throughput"]);
    assert_eq!(compared["contrasts"][0]["candidate"], "four clients");
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn every_block_of_locks_begins_with_a_server_of_its_own() {
    assert_eq!(deciding(&one_round("locks-create")), ["throughput"; 3]);
    assert!(!folder().join("locks-create.sock").exists(), "the server took its socket along");
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn servers_of_locks_are_replaced_one_by_one() {
    assert_eq!(deciding(&one_round("locks-rolling")), ["throughput"; 2]);
    assert!(!folder().join("locks-rolling.sock").exists(), "the server took its socket along");
}

/// One round of an experiment gives the figure that decides each of its contrasts.
macro_rules! a_figure_for_every_cell {
    ($($test:ident: $name:literal, $figures:expr;)*) => {
        mod a_figure_for_every_cell_of {
            use super::{deciding, one_round};

            $(#[test]
            #[ignore = "measures for tens of seconds: a part of ./test --full"]
            fn $test() {
                assert_eq!(deciding(&one_round($name)), $figures);
            })*
        }
    };
}

a_figure_for_every_cell! {
    receive_heavy: "receive-heavy", ["throughput", "throughput", "bits", "bits"];
    first_hit: "first-hit", ["p50"; 4];
    slow_line: "slow-line", ["p50"; 4];
    work_processes: "work-processes", ["throughput"; 4];
    remote_gateway: "remote-gateway", ["throughput"; 6];
    failing_samples: "failing-samples", ["throughput"; 4];
    twins: "twins", ["p50"; 8];
    large_pages: "large-pages", ["server-cpu"];
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn confirmations_go_through_each_connector_and_all_are_answered() {
    let (_kept, blocks) = blocks_of("connectors");
    for processes in [1, 4] {
        for name in [
            "pooled-by-the-runtime",
            "pooled-by-the-callers",
            "new-each-time",
            "pooled-with-a-journal",
        ] {
            let result = block(&blocks, &format!("{name}-processes-{processes}"));
            let codes = result["codes"].as_object().expect("codes");
            assert_eq!(codes.keys().collect::<Vec<_>>(), ["201"], "{name}");
        }
    }
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn a_hit_of_each_kind_is_answered_as_its_name_says() {
    let (_kept, blocks) = blocks_of("first-hit");
    for (name, status) in [
        ("later-hit", "200"),
        ("refusal", "401"),
        ("redirect", "302"),
        ("no-session", "200"),
        ("program-load", "200"),
    ] {
        let result = block(&blocks, name);
        let codes = result["codes"].as_object().expect("codes");
        assert_eq!(codes.keys().collect::<Vec<_>>(), [status], "{name}");
    }
    assert!(!blocks[0].0.join("../../files").exists(), "the name of the user stayed");
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn four_of_the_401_requests_fail_and_count() {
    let (_kept, blocks) = blocks_of("failing-samples");
    for (name, codes) in [
        ("none-fails-users-20", serde_json::json!({"200": 401})),
        ("four-fail-at-once-users-20", serde_json::json!({"200": 397, "500": 4})),
        ("four-fail-after-1-s-users-20", serde_json::json!({"200": 397, "500": 4})),
    ] {
        assert_eq!(block(&blocks, name)["codes"], codes, "{name}");
    }
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn twins_with_dummies_are_as_long_as_atom_and_not_much_longer() {
    let (_kept, blocks) = blocks_of("twins");
    let length = |form: &str| {
        let result = block(&blocks, &format!("{form}-probe-near"));
        result["length"]["p50"].as_u64().expect("a length")
    };
    let atom = length("Atom");
    for form in ["JSON", "XML"] {
        let (bare, filled) = (length(form), length(&format!("{form}-dummies")));
        assert!(bare < atom, "{form}: {bare} of {atom}");
        assert!((atom..atom + 60).contains(&filled), "{form}: {filled} of {atom}");
    }
}

/// Takes one round of an experiment; each block's folder and result, and what keeps them.
fn blocks_of(name: &str) -> (tempfile::TempDir, Vec<(PathBuf, Value)>) {
    blocks_of_file(&format!("{name}.toml"))
}

fn blocks_of_file(file: &str) -> (tempfile::TempDir, Vec<(PathBuf, Value)>) {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let out = kept.path().join("out");
    let shown = out.display().to_string();
    let words = ["--rounds", "1", "--accept-invalid", "--accept-unchecked", "--out", &shown];
    run_file(file, &words).with(3);
    let folders = fs::read_dir(out.join("blocks")).expect("blocks");
    let blocks = folders
        .map(|folder| folder.expect("a block").path())
        .map(|folder| (folder.clone(), kit::record(&folder)["results"][0].clone()))
        .collect();
    (kept, blocks)
}

/// The result of the block whose folder is called NUMBER-`name`.
fn block<'a>(blocks: &'a [(PathBuf, Value)], name: &str) -> &'a Value {
    let is_it = |path: &Path| {
        let folder = path.file_name().expect("a name").to_string_lossy();
        folder.split_once('-').is_some_and(|(_, rest)| rest == name)
    };
    let found = blocks.iter().find(|(path, _)| is_it(path));
    &found.unwrap_or_else(|| panic!("no block {name} in {:?}", folders(blocks))).1
}

fn folders(blocks: &[(PathBuf, Value)]) -> Vec<&Path> {
    blocks.iter().map(|(path, _)| path.as_path()).collect()
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn a_database_is_started_and_met_directly_and_over_a_line() {
    assert_eq!(deciding(&one_round("network-or-database")), ["p50", "p50"]);
}

/// What decides in an experiment after Castro and Hegde whose blocks have few orders.
fn with_few_orders(name: &str, count: u32) -> Vec<String> {
    let (_short, file) = shortened(name, &[(&format!("--count {count}"), "--count 200")]);
    let compared = one_round_of(&file);
    deciding(&compared).into_iter().map(str::to_owned).collect()
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn orders_go_through_the_queues_of_several_nodes_into_the_table() {
    assert_eq!(with_few_orders("idocs", 25_000), ["rows"; 6]);
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn orders_go_through_pools_of_several_sizes_into_the_table() {
    assert_eq!(with_few_orders("idocs-pools", 25_000), ["rows"; 6]);
    assert_eq!(with_few_orders("idocs-all", 250_000), ["rows"]);
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn orders_are_transformed_in_both_ways_and_the_memory_of_each_is_kept() {
    let (kept, blocks) = blocks_of("transform");
    assert_eq!(blocks.len(), 4);
    for (folder, result) in blocks {
        let name = folder.file_name().expect("a name");
        let left = kept.path().join("out/files").join(name).join("memory.txt");
        let memory = read(&left);
        assert!(memory.starts_with("Peak: ") && memory.trim().ends_with(" kB"), "{memory}");
        let answered = result["codes"]["200"].as_u64();
        assert!(answered.is_some() && answered == result["operations"].as_u64(), "{result:#}");
    }
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn changes_of_agents_become_rows_and_their_rate_is_the_figure() {
    let (_short, file) = shortened("agents", &[("${bundle}\"", "${bundle} 400\"")]);
    assert_eq!(deciding(&one_round_of(&file)), ["figure"; 4]);
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
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn a_block_of_the_list_and_its_details_lasts_until_all_is_read() {
    let kept = tempfile::tempdir().expect("a temporary folder");
    let forms = "[\"compatibility-atom\", \"standard-json\", \"compact-json\"]";
    let text = read(&folder().join("list-details.toml"))
        .replace(forms, "[\"compact-json\"]")
        .replace("levels = [1, 5, 10, 20]", "levels = [1]")
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

/// An experiment of the folder with some of its words replaced, in a folder of its own.
fn shortened(name: &str, words: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let short = tempfile::tempdir().expect("a temporary folder");
    let file = short.path().join(format!("{name}.toml"));
    let mut text = read(&folder().join(format!("{name}.toml")));
    for (long, few) in words {
        assert!(text.contains(long), "{long} is not in {text}");
        text = text.replace(long, few);
    }
    fs::write(&file, text).expect("it can be written");
    (short, file.display().to_string())
}

#[test]
#[ignore = "measures for tens of seconds: a part of ./test --full"]
fn users_fetch_templates_and_bytes_while_orders_go_through_the_queue() {
    let words = [
        ("block = \"6s\"", "block = \"2s\""),
        ("[100, 500]", "[40]"),
        ("--warmup 4s --lag 5ms", "--warmup 0s --lag 10s"),
    ];
    let (_short, file) = shortened("users", &words);
    let (kept, blocks) = blocks_of_file(&file);
    assert_eq!(blocks.len(), 3);
    for (folder, result) in blocks {
        assert_eq!(result["failures"], serde_json::json!({}), "{result:#}");
        assert_eq!(result["codes"].as_object().expect("codes").keys().collect::<Vec<_>>(), ["200"]);
        let parts = result["parts"].as_array().expect("steps");
        let of_data = parts.iter().filter(|part| part["name"] == "data");
        let lengths: Vec<&Value> = of_data.map(|part| &part["length"]["p50"]).collect();
        assert_eq!(lengths, [8_000, 8_000], "500 values of 16 bytes");
        // the order that was sent when the block began; another one every 5 s
        let kept = kept.path().join("out/files").join(folder.file_name().expect("a name"));
        let orders: Value = serde_json::from_str(&read(&kept.join("orders.json"))).expect("JSON");
        let counted = &orders["results"][0]["delivery"];
        let count = |name: &str| counted[name].as_u64().expect("a count");
        assert!(count("accepted") >= 1, "{counted:#}");
        assert_eq!(count("accepted"), count("numbers") + count("dead") + count("waiting"));
        assert_eq!((count("rows"), count("dead")), (8 * count("numbers"), 0), "{counted:#}");
    }
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
