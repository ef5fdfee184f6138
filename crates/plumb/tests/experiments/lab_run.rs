//! Experiments of a file end to end: cells, order, interruption and what goes on, refusals.

use crate::kit;

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use kit::{Program, names_in, plumb, read};
use rustix::process::Signal;
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
fn an_interrupted_experiment_goes_on_with_the_same_order() {
    let at = folder();
    // the program that measures is the parent of each shell
    let stopping = "echo x >> count; test $(wc -l < count) -ne 11 || kill -INT $PPID; ";
    let text = PRINTED.replace("exec = \"", &format!("exec = \"{stopping}"));
    experiment(at.path(), &text);
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(130);
    assert!(ended.stderr.contains("plumb lab run --resume one"), "{ended:?}");
    let stored = at.path().join("one");
    assert_eq!(blocks(&stored).len(), 10);
    assert_eq!(order(&stored)["cut_short"], "interrupted");
    plumb(&["compare", "one"], at.path()).with(0);

    let ended = plumb(&["lab", "run", "x.toml", "--resume", "one", "--json"], at.path()).with(3);
    let resumed = blocks(&stored);
    assert_eq!(order(&stored)["cut_short"], Value::Null);
    plumb(&["lab", "run", "x.toml", "--out", "two"], at.path()).with(3);
    assert_eq!(resumed, blocks(&at.path().join("two")));
    assert_eq!(ended.json()["design"]["complete_rounds"], 6);

    // what is finished is only compared again
    let count = || read(&at.path().join("count")).lines().count();
    let before = count();
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(3);
    assert_eq!(count(), before);
}

#[test]
fn only_the_experiment_that_was_begun_goes_on() {
    let at = folder();
    let path = experiment(at.path(), PRINTED);
    plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    let changed = PRINTED.replace("[10, 20]", "[10, 30]").replace("rounds = 6", "rounds = 9");
    fs::write(&path, changed).expect("writable");
    let refused = plumb(&["lab", "run", "x.toml", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("rounds was 6 and is 9"), "{refused:?}");
    assert!(refused.stderr.contains("factor.size.levels was [10, 20] and is [10, 30]"));
    let refused = plumb(&["lab", "run", "--resume", "."], at.path()).with(2);
    assert!(refused.stderr.contains(". is no experiment"), "{refused:?}");

    let asked = at.path().join("one/experiment.toml");
    let other =
        PRINTED.replace("factor = 2", "factor = 9").replace("cheap\"", "cheap\"\nafter = \"true\"");
    fs::write(&asked, other).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("variant.dear.set.factor was 2 and is 9"), "{refused:?}");
    assert!(refused.stderr.contains("variant.cheap.after (\"true\") is new"), "{refused:?}");
    fs::write(&asked, PRINTED).expect("writable");

    let file = at.path().join("one/order.json");
    let order = read(&file);
    fs::write(&file, order.replace("plumb.order/2", "plumb.order/9")).expect("writable");
    let refused = plumb(&["compare", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("order.json is not what was written"), "{refused:?}");
    fs::remove_file(at.path().join("one/SHA256SUMS")).expect("it was written");
    for words in [&["lab", "run", "--resume", "one"][..], &["compare", "one"]] {
        let refused = plumb(words, at.path()).with(2);
        assert!(refused.stderr.contains("plumb.order/9"), "{refused:?}");
    }
    fs::write(&file, order.replace("\"size\": \"10\"", "\"size\": \"11\"")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("do not belong together"), "{refused:?}");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    fs::write(&file, order.replace(version, "\"version\": \"0.0.9\"")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("was begun with plumb 0.0.9"), "{refused:?}");

    fs::write(&file, order).expect("writable");
    let block = fs::read_dir(at.path().join("one/blocks")).expect("blocks").flatten().next();
    let run = block.expect("a block").path().join("run.json");
    fs::write(&run, read(&run).replace("plumb.run/1", "plumb.run/9")).expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("plumb.run/9"), "{refused:?}");
}

#[test]
fn an_order_of_the_first_form_is_still_compared_and_not_gone_on_with() {
    let at = folder();
    plumb(&["ab", "--exec", "--pairs", "6", "echo 1", "echo 2", "--out", "one"], at.path()).with(0);
    let file = at.path().join("one/order.json");
    let mut order: Value = serde_json::from_str(&read(&file)).expect("JSON");
    order["schema"] = "plumb.order/1".into();
    order["figure"] = "lower".into();
    let keys = order.as_object_mut().expect("an object");
    for key in ["cells", "extent", "asked", "surroundings"] {
        keys.remove(key);
    }
    for block in order["blocks"].as_array_mut().expect("blocks") {
        let block = block.as_object_mut().expect("an object");
        block.remove("cell");
        block.remove("took_ns");
        block.remove("record");
    }
    fs::write(&file, order.to_string()).expect("writable");
    fs::remove_file(at.path().join("one/SHA256SUMS")).expect("it was written");
    let document = plumb(&["compare", "one", "--json"], at.path()).with(0).json();
    assert_eq!(document["contrasts"][0]["endpoints"][0]["verdict"], "worse");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("earlier version"), "{refused:?}");
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
fn what_had_failed_is_tried_again_when_its_cause_is_mended() {
    let at = folder();
    let text = SCRIPTED.replace("name = \"two\"", "name = \"two\"\nbefore = \"test -e ready\"");
    experiment(at.path(), &text.replace("sh figure.sh", "echo 10"));
    let ended = plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(3);
    assert!(ended.stderr.contains("it ended early: two failed 3 times"), "{ended:?}");
    let ended = plumb(&["lab", "run", "--resume", "one"], at.path()).with(3);
    assert!(ended.stderr.contains("it ended early: two failed 3 times"), "{ended:?}");
    fs::write(at.path().join("ready"), "").expect("writable");
    let document = plumb(&["lab", "run", "--resume", "one", "--json"], at.path()).with(0).json();
    assert_eq!(document["design"]["complete_rounds"], 6);
    assert_eq!(document["design"]["cut_short"], Value::Null);
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
fn an_experiment_goes_on_only_with_the_environment_that_its_commands_name() {
    let at = folder();
    let script = SCRIPTED.replace("sh figure.sh", "echo ${RATE:-10}").replace("${", "$${");
    experiment(at.path(), &script);
    let words = ["lab", "run", "x.toml", "--out", "one"];
    Program::start_told(kit::PLUMB.as_ref(), &words, at.path(), &[("RATE", "10")]).wait().with(0);
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("the variable RATE of the environment was set, and is not"));
    assert!(!read(&at.path().join("one/order.json")).contains("\"RATE\": \"10\""));
    let resume = ["lab", "run", "--resume", "one"];
    Program::start_told(kit::PLUMB.as_ref(), &resume, at.path(), &[("RATE", "10")]).wait().with(0);
}

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

#[test]
fn an_experiment_goes_on_only_with_the_files_that_it_was_begun_with() {
    let at = folder();
    experiment(at.path(), SCRIPTED);
    let script = at.path().join("figure.sh");
    fs::write(&script, "echo 10\n").expect("writable");
    plumb(&["lab", "run", "x.toml", "--out", "one"], at.path()).with(0);
    assert_eq!(order(&at.path().join("one"))["inputs"][0]["path"], "figure.sh");
    fs::write(&script, "echo 11\n").expect("writable");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("figure.sh was changed: put it back as it was"), "{refused:?}");
    fs::write(&script, "echo 10\n").expect("writable");
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(0);
    fs::remove_file(&script).expect("it was written");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("figure.sh cannot be read"), "{refused:?}");
}

#[test]
fn an_experiment_ends_when_somebody_changes_a_file_that_it_measures_with() {
    let at = folder();
    let text =
        SERVERS.replace("rounds = 2", "rounds = 1000").replace("--lag 10s", "--options o.toml");
    experiment(at.path(), &text);
    let options = at.path().join("o.toml");
    fs::write(&options, "lag = \"10s\"\n").expect("writable");
    let running = Program::start(&ALL_COUNT, at.path());
    while !running.log_line().starts_with("round 1, ") {}
    fs::write(&options, "lag = \"11s\"\n").expect("writable");
    let document = running.wait().with(3).json();
    let reason = document["design"]["cut_short"].as_str().expect("it did not come to its end");
    assert!(reason.starts_with("o.toml was changed while the experiment ran"), "{reason}");
    let refused = plumb(&["lab", "run", "--resume", "one"], at.path()).with(2);
    assert!(refused.stderr.contains("o.toml was changed"), "{refused:?}");
}

#[test]
fn what_commands_of_the_experiment_change_themselves_is_no_reason_to_end() {
    let at = folder();
    let switch = |figure: u8| format!("before = \"echo echo {figure} > figure.sh\"");
    let text = SCRIPTED
        .replace("name = \"one\"", &format!("name = \"one\"\n{}", switch(1)))
        .replace("name = \"two\"", &format!("name = \"two\"\n{}", switch(2)));
    experiment(at.path(), &text);
    fs::write(at.path().join("figure.sh"), "echo 3\n").expect("writable");
    let document = plumb(&["lab", "run", "x.toml", "--out", "one", "--json"], at.path()).with(0);
    assert_eq!(document.json()["design"]["complete_rounds"], 6);
    assert_eq!(order(&at.path().join("one"))["inputs"], Value::Null);
    plumb(&["lab", "run", "--resume", "one"], at.path()).with(0);
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

#[test]
fn what_is_not_of_one_kind_is_refused_before_anything_is_measured() {
    let at = folder();
    let text = SERVERS.replace("name = \"slow\"", "name = \"slow\"\noptions = { rate = \"9/s\" }");
    experiment(at.path(), &text);
    let refused = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
    let told = "quick is net ping under closed load, and slow is net ping under open load";
    assert!(refused.stderr.contains(told), "{refused:?}");
    assert_eq!(names_in(at.path()), ["x.toml"]);
}

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

fn check_servers(text: &str) {
    let at = folder();
    experiment(at.path(), text);
    let document = plumb(&ALL_COUNT, at.path()).with(3).json(); // two pairs show nothing
    let contrasts = document["contrasts"].as_array().expect("a list");
    assert_eq!(contrasts.len(), 3, "the second probe does not depend on the size");
    for contrast in contrasts {
        let figure = &contrast["endpoints"][0];
        assert!(figure["ratio"].as_f64().is_some_and(|ratio| ratio > 1.0), "{contrast:#}");
        let tail = contrast["labels"]["probe"] == "tail";
        assert_eq!(figure["key"], if tail { "p95" } else { "p50" });
        assert_eq!(figure["role"], "primary");
    }
    assert_eq!(contrasts[0]["labels"]["size"], "100B");
    let report = plumb(&["compare", "one", "--accept-invalid", "--accept-unchecked"], at.path())
        .with(0)
        .stdout;
    assert!(report.contains("trip: median response time"), "{report}");
    assert!(report.contains("tail: 95th percentile"), "{report}");
}

#[test]
fn servers_that_live_as_long_as_the_experiment_are_driven_at_their_addresses() {
    check_servers(SERVERS);
}

#[test]
fn servers_can_be_fresh_for_each_block() {
    check_servers(&SERVERS.replace("\"once\"", "\"block\"").replace("1000B", "300B"));
}

#[test]
fn a_server_of_the_shell_is_ready_when_it_says_so_and_gone_with_the_experiment() {
    let at = folder();
    let text = r#"
rounds = 6
[[server]]
name = "source"
exec = "echo $$ > pid; echo starting; echo serving at figure now; exec sleep 600"
ready = "serving at ${address} now"
[[variant]]
name = "one"
[[variant]]
name = "two"
[[probe]]
exec = "echo 10 > ${source}; cat ${source}"
"#;
    experiment(at.path(), text);
    plumb(&["lab", "run", "x.toml"], at.path()).with(0);
    assert_eq!(read(&at.path().join("figure")), "10\n");
    let pid: i32 = read(&at.path().join("pid")).trim().parse().expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
    assert!(rustix::process::test_kill_process(pid).is_err(), "it is still there");
}

#[test]
fn a_signal_ends_the_servers_too() {
    let at = folder();
    let text = SERVERS.replace("rounds = 2", "rounds = 1000");
    experiment(at.path(), &text);
    let running = Program::start(&["lab", "run", "x.toml", "--out", "one"], at.path());
    let head = running.log_line();
    assert!(head.starts_with("x: 1000 rounds of 6 blocks"), "{head}");
    assert!(head.ends_with("; folder one"), "{head}");
    let first = running.log_line();
    assert!(first.starts_with("round 1, 6 blocks: "), "{first}");
    running.signal(Signal::INT);
    let ended = running.wait().with(130);
    assert!(ended.stderr.contains("no interval below six pairs"), "{ended:?}");
    let target = order(&at.path().join("one"))["blocks"][0]["folder"].clone();
    let run = kit::record(&at.path().join("one").join(target.as_str().expect("a path")));
    let address = run["target"]["address"].as_str().expect("an address").to_owned();
    assert!(TcpStream::connect(address).is_err(), "its server is gone");
}

#[test]
fn servers_end_even_when_the_experiment_is_killed() {
    let at = folder();
    experiment(at.path(), &SERVERS.replace("rounds = 2", "rounds = 1000"));
    let running = Program::start(&["lab", "run", "x.toml", "--out", "one"], at.path());
    while !running.log_line().starts_with("round 1, ") {}
    let first = order(&at.path().join("one"))["blocks"][0]["folder"].clone();
    let run = kit::record(&at.path().join("one").join(first.as_str().expect("a path")));
    let address = run["target"]["address"].as_str().expect("an address").to_owned();
    let mut client = TcpStream::connect(address).expect("its server is there");
    client.set_read_timeout(Some(kit::PATIENCE)).expect("a socket");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    assert!(kit::message::at_end(&mut client), "the server does not end");
}

#[test]
fn what_is_wrong_is_told_with_its_place_before_anything_is_measured() {
    let at = folder();
    let refusals: &[(&str, &str, &[&str])] = &[
        ("rounds = 6", "rouns = 6", &["line 3, column 1", "did you mean `rounds`?"]),
        ("rounds = 6", "rounds = 0", &["line 3", "expected 1 to 1000 rounds"]),
        ("rounds = 6", "rounds = 6\ntime = \"1m\"", &["line 4", "give one of rounds"]),
        ("rounds = 6", "baseline = \"chep\"", &["line 3", "did you mean `cheap`?"]),
        ("${size}", "${sise}", &["line 17, column 32", "did you mean `${size}`?"]),
        ("${size}", "${size", &["line 17, column 32", "has no `}`"]),
        ("${users} ", "", &["line 14", "the factor changes nothing"]),
        ("name = \"dear\"", "name = \"cheap\"", &["line 8", "two are called `cheap`"]),
        ("[10, 20]", "[]", &["line 12", "at least one level"]),
        ("[10, 20]", "[10, 10]", &["line 12", "`10` stands there twice"]),
        ("\"size\"", "\"probe\"", &["line 11", "a meaning of its own"]),
        ("\"size\"", "\"users\"", &["line 14", "`users` names two things"]),
        ("exec = ", "figure = \"p95\"\nexec = ", &["line 17", "`p95` can decide nothing here"]),
        ("exec = ", "run = \"net ping x\"\nexec = ", &["line 18", "either `run` or `exec`"]),
        ("set = { factor = 2 }", "words = \"--nagle\"", &["line 9", "there is none"]),
        ("set = { factor = 2 }", "set = { factor = 2, pol = 5 }", &["line 9", "has ${pol} in it"]),
        ("rounds = 6", "settle = \"1s\"", &["line 3", "nothing is switched before a block"]),
        ("rounds = 6", "block = \"1s\"", &["line 3", "a shell command ends by itself"]),
        ("[[probe]]", "[[prob]]", &["line 16", "did you mean `probe`?"]),
    ];
    for (from, to, expected) in refusals {
        experiment(at.path(), &PRINTED.replacen(from, to, 1));
        let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
        for text in *expected {
            assert!(ended.stderr.contains(text), "{to}: {ended:#?}");
        }
        assert!(ended.stderr.contains("x.toml, line"), "{ended:?}");
    }
    let run = [
        ("--size ${size}", "--size 5", "line 19", "has no unit"),
        ("--size ${size}", "--size ${size} --json", "line 19", "belongs to the experiment"),
        ("--service-time ${time}", "--service-tim ${time}", "line 6", "--service-time"),
        ("figure = \"p95\"", "figure = \"thruput\"", "line 23", "did you mean `throughput`?"),
        ("set = { time = \"2ms\" }", "", "line 6", "`${time}` is no factor"),
        ("\"2ms\" }", "\"2ms\" }\nservers = { eco = \"-4\" }", "line 14", "mean `echo`?"),
        ("\"2ms\" }", "\"2ms\" }\noptions = { nagel = true }", "line 20", "--nagle"),
    ];
    for (from, to, place, expected) in run {
        experiment(at.path(), &SERVERS.replacen(from, to, 1));
        let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
        assert!(ended.stderr.contains(place), "{to}: {ended:#?}");
        assert!(ended.stderr.contains(expected), "{to}: {ended:#?}");
    }
    let nowhere = plumb(&["lab", "run", "nowhere.toml"], at.path()).with(2);
    assert!(nowhere.stderr.contains("nowhere.toml"), "{nowhere:?}");
    experiment(at.path(), PRINTED);
    let many = plumb(&["lab", "run", "x.toml", "--rounds", "1001"], at.path()).with(2);
    assert!(many.stderr.contains("1 to 1000"), "{many:?}");
    assert_eq!(names_in(at.path()), ["x.toml"]);
}

#[test]
fn a_server_that_does_not_start_is_told_and_leaves_no_folder() {
    let at = folder();
    let text = SERVERS.replace("127.0.0.1:0", "127.0.0.1:1x");
    experiment(at.path(), &text);
    let ended = plumb(&["lab", "run", "x.toml"], at.path()).with(2);
    assert!(ended.stderr.contains("the server `echo`"), "{ended:?}");
    assert!(ended.stderr.contains("1x"), "{ended:?}");
    assert!(!at.path().join("plumb-runs").exists());
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
