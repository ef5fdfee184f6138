//! Comparisons end to end: pairs, verdicts, what is refused, and what an interruption leaves.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::{Server, only_run, plumb};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs `plumb ab --exec --json` over `commands`.
pub(crate) fn exec(options: &[&str], commands: &[&str], at: &Path) -> kit::Ended {
    plumb(&[&["ab", "--exec", "--json", "--seed", "1"], options, commands].concat(), at)
}

pub(crate) fn primary(document: &Value) -> &Value {
    &document["contrasts"][0]["endpoints"][0]
}

#[test]
fn a_figure_that_grew_is_worse_by_the_exact_test() {
    let at = folder();
    let document = exec(&[], &["echo 10", "echo 12"], at.path()).with(0).json();
    assert_eq!(document["schema"], "plumb.comparison/1");
    assert_eq!(document["design"]["complete_rounds"], 10);
    let figure = primary(&document);
    assert_eq!(figure["verdict"], "worse");
    assert!((figure["ratio"].as_f64().expect("a number") - 1.2).abs() < 1e-12);
    assert!((figure["p"].as_f64().expect("a number") - 2.0 / 1024.0).abs() < 1e-12);
    let sentence = document["contrasts"][0]["sentence"].as_str().expect("a sentence");
    // ten pairs have no interval of 95 %: the level that it truly has is 1 - 2 * 25 / 1024
    let said =
        "candidate is 20.0 % higher by its figure (95.12 % interval -20.0 to -20.0 %); + is better";
    assert!(sentence.starts_with(said), "{sentence}");
}

#[test]
fn more_of_a_rate_is_better_and_fail_on_makes_an_exit_code() {
    let at = folder();
    let better = exec(&["--higher-is-better"], &["echo 10", "echo 12"], at.path()).with(0).json();
    assert_eq!(primary(&better)["verdict"], "better");
    exec(&["--fail-on", "worse"], &["echo 10", "echo 12"], at.path()).with(1);
    exec(&["--fail-on", "worse"], &["echo 10", "echo 10"], at.path()).with(0);
    // a tenfold slowdown that cannot be tested is no pass
    let slower = ["echo 10", "echo 100"];
    exec(&["--fail-on", "worse", "--pairs", "5"], &slower, at.path()).with(3);
    exec(&["--fail-on", "worse"], &["echo 10", "false"], at.path()).with(3);
}

#[test]
fn a_printed_figure_of_zero_is_a_figure() {
    let at = folder();
    let worse = ["echo errors: 0", "echo errors: 3"];
    let ended = exec(&["--fail-on", "worse"], &worse, at.path()).with(1);
    let document = ended.json();
    assert!(!ended.stderr.contains("prints no figure"), "{ended:?}");
    assert_eq!(primary(&document)["key"], "figure");
    assert_eq!(primary(&document)["verdict"], "worse");
    let fewer = exec(&["--fail-on", "worse"], &["echo errors: 3", "echo errors: 0"], at.path());
    assert_eq!(primary(&fewer.with(0).json())["verdict"], "better");
    let negative = exec(&[], &["echo change: -3", "echo change: 3"], at.path()).with(2);
    assert!(negative.stderr.contains("a figure of zero or more is needed"), "{negative:?}");
}

#[test]
fn equal_figures_are_equivalent_within_a_margin_and_undecided_without() {
    let at = folder();
    let equal = ["echo 10", "echo 10"];
    let with = exec(&["--margin", "1%"], &equal, at.path()).with(0).json();
    assert_eq!(primary(&with)["verdict"], "equivalent");
    let without = exec(&[], &equal, at.path()).with(0).json();
    assert_eq!(primary(&without)["verdict"], "no-difference-shown");
}

#[test]
fn every_round_holds_each_variant_once_and_the_seed_is_the_order() {
    let at = folder();
    let order = |name: &str| {
        exec(&["--pairs", "7", "--out", name], &["echo 1", "echo 2", "echo 3"], at.path()).with(0);
        let text = fs::read_to_string(at.path().join(name).join("order.json")).expect("written");
        let order: Value = serde_json::from_str(&text).expect("JSON");
        let blocks = order["blocks"].as_array().expect("blocks").clone();
        let variants: Vec<u64> =
            blocks.iter().map(|block| block["variant"].as_u64().expect("a number")).collect();
        variants
    };
    let variants = order("one");
    assert_eq!(variants.len(), 21);
    for round in variants.chunks(3) {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
    }
    assert!(variants.chunks(3).any(|round| round != [0, 1, 2]), "{variants:?}");
    assert_eq!(variants, order("two"));
}

#[test]
fn a_block_that_fails_is_marked_its_pair_dropped_and_another_taken() {
    let at = folder();
    // it is run once before the rounds, and fails in the third
    let flaky = "echo x >> count; test $(wc -l < count) -ne 4 || { echo no luck >&2; exit 7; }; \
                 echo 10";
    let document = exec(&["--pairs", "12"], &[flaky, "echo 11"], at.path()).with(0).json();
    assert_eq!(document["design"]["rounds"], 13);
    assert_eq!(document["design"]["complete_rounds"], 12);
    let sentence = document["contrasts"][0]["sentence"].as_str().expect("a sentence");
    let failed = "baseline failed in 1 of its 13 blocks and these count in no figure";
    assert!(sentence.contains(failed), "{sentence}");
    let left_out = &document["variants"][0]["left_out"][0];
    assert_eq!(left_out["round"], 3);
    assert!(left_out["reason"].as_str().is_some_and(|it| it.contains("no luck")), "{left_out}");
}

#[test]
fn a_command_that_never_works_ends_the_experiment_early() {
    let at = folder();
    let ended = exec(&[], &["echo 1", "echo oops >&2; false"], at.path()).with(3);
    let document = ended.json();
    assert_eq!(document["design"]["rounds"], 3);
    assert!(document["design"]["cut_short"].as_str().is_some_and(|it| it.contains("oops")));
    assert_eq!(document["contrasts"][0]["endpoints"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_variant_that_is_only_answered_wrongly_is_given_up_with_its_reason() {
    let at = folder();
    let site = kit::http::ReplyServer::start(kit::operations::page);
    let asks = |path: &str| {
        format!("http ping {} --count 20 --warmup 0s --lag 10s --as-given", site.url(path))
    };
    let ended = plumb(&["ab", "--json", &asks("/"), &asks("/gone")], at.path()).with(3);
    let document = ended.json();
    assert_eq!(document["design"]["rounds"], 3);
    let sentence = document["contrasts"][0]["sentence"].as_str().expect("a sentence");
    let begin = "none of the 3 blocks of candidate counts (the first: every answer had a status that was not expected";
    assert!(sentence.starts_with(begin), "{sentence}");
    assert!(
        document["design"]["cut_short"].as_str().is_some_and(|it| it.contains("failed 3 times"))
    );
    let warnings = document["warnings"].as_array().expect("a list");
    let about_rounds = |it: &&Value| it.as_str().is_some_and(|it| it.contains("rounds"));
    assert_eq!(warnings.iter().find(about_rounds), None);
    assert!(document["differences"].to_string().contains("/gone"), "{}", document["differences"]);
}

#[test]
fn a_command_that_was_disturbed_is_tried_again() {
    let at = folder();
    let disturbed = "echo x >> count; test $(wc -l < count) -gt 4 || { echo noise >&2; exit 75; }; \
                     echo 10";
    let document = exec(&["--pairs", "6"], &["echo 10", disturbed], at.path()).with(0).json();
    assert_eq!(document["design"]["rounds"], 10);
    let left_out = &document["variants"][1]["left_out"];
    assert_eq!(left_out.as_array().map(Vec::len), Some(4));
    assert_eq!(left_out[0]["reason"], "disturbed: noise");
}

#[test]
fn when_nothing_works_there_is_one_line_and_no_folder() {
    let at = folder();
    let ended = plumb(&["ab", "--exec", "false", "false"], at.path()).with(2);
    assert_eq!(ended.stderr.trim().lines().count(), 1, "{ended:?}");
    assert!(!at.path().join("plumb-runs").exists());
}

#[test]
fn what_too_few_pairs_cannot_test_is_said_before_and_after() {
    let at = folder();
    let ended = exec(&["--pairs", "5"], &["echo 10", "echo 12"], at.path()).with(3);
    assert!(ended.stderr.starts_with("with 5 rounds no difference, however large"), "{ended:?}");
    let document = ended.json();
    assert_eq!(primary(&document)["verdict"], "untestable");
    assert_eq!(
        (&document["design"]["tests"], &document["design"]["rounds_needed"]),
        (&1.into(), &6.into())
    );
    let sentence = document["contrasts"][0]["sentence"].to_string();
    assert!(sentence.contains("cannot be tested with 5 rounds (6 would do)"), "{sentence}");
    assert_eq!(primary(&document)["interval"], Value::Null);
    assert!(document["warnings"][0].as_str().is_some_and(|it| it.contains("fewer than 6")));
}

#[test]
fn a_precision_that_is_reached_ends_it_after_ten_rounds() {
    let at = folder();
    let document = exec(&["--precision", "1%"], &["echo 10", "echo 12"], at.path()).with(0).json();
    assert_eq!(document["design"]["rounds"], 10);
}

#[test]
fn the_system_is_switched_before_every_block() {
    let at = folder();
    let switches = ["--before-a", "echo 10 > figure", "--before-b", "echo 15 > figure"];
    let document =
        exec(&[&switches[..], &["--pairs", "6"]].concat(), &["cat figure"; 2], at.path()).with(0);
    let ratio = primary(&document.json())["ratio"].as_f64().expect("a number");
    assert!((ratio - 1.5).abs() < 1e-12, "{ratio}");
}

#[test]
fn a_command_that_prints_no_figure_is_timed() {
    let at = folder();
    let words = ["--pairs", "6", "--foreign-limit", "100%"];
    let ended = exec(&words, &["sleep 0.02", "sleep 0.2"], at.path()).with(0);
    assert!(ended.stderr.contains("`sleep 0.02` prints no figure"), "{ended:?}");
    let document = ended.json();
    let figure = primary(&document);
    assert_eq!((&figure["key"], &figure["verdict"]), (&"wall".into(), &"worse".into()));
    let blocks = figure["blocks"].as_array().expect("blocks");
    // a sleep is never shorter than it was told to be
    for (side, at_least) in [("baseline", 0.02e9), ("candidate", 0.2e9)] {
        assert!(
            blocks.iter().all(|it| it[side].as_f64().is_some_and(|ns| ns >= at_least)),
            "{figure}"
        );
    }
    let sentence = document["contrasts"][0]["sentence"].to_string();
    assert!(sentence.contains("slower in wall time"), "{sentence}");
    let endpoints = document["contrasts"][0]["endpoints"].as_array().expect("endpoints");
    let keys: Vec<&str> = endpoints.iter().filter_map(|it| it["key"].as_str()).collect();
    assert_eq!(keys[..3], ["wall", "user", "system"]);
}

#[test]
fn commands_are_prepared_warmed_up_and_tried_with_every_value_and_written_as_hyperfine_does() {
    let at = folder();
    let each = ["--warmup", "2", "--prepare", "echo x >> prepared", "--parameter", "n=1,2"];
    let how = ["--pairs", "6", "--export-json", "out.json", "--foreign-limit", "100%"];
    let commands = ["test -s prepared; echo a${n} >> ran", "sleep 0.0${n}; echo b${n} >> ran"];
    let document = exec(&[each, how].concat(), &commands, at.path()).json();
    assert_eq!(document["contrasts"].as_array().map(Vec::len), Some(2), "{document}");
    let written = |name: &str| fs::read_to_string(at.path().join(name)).expect("a file");
    let (ran, prepared) = (written("ran"), written("prepared"));
    let count = |what: &str| ran.lines().filter(|line| *line == what).count() as u64;
    let rounds = document["design"]["rounds"].as_u64().expect("rounds");
    assert!(rounds >= 6);
    for what in ["a1", "a2", "b1", "b2"] {
        assert_eq!(count(what), 2 + rounds, "{what}: twice before, and once a round: {ran}");
    }
    assert_eq!(prepared.lines().count(), ran.lines().count());
    let export: Value = serde_json::from_str(&written("out.json")).expect("JSON");
    let results = export["results"].as_array().expect("results");
    assert_eq!(results.len(), 4);
    for result in results {
        let times = result["times"].as_array().expect("times");
        assert!(
            times.len() >= 6 && result["exit_codes"].as_array().map(Vec::len) == Some(times.len())
        );
        let least = times.iter().filter_map(Value::as_f64).fold(f64::INFINITY, f64::min);
        assert!((result["min"].as_f64().expect("a number") - least).abs() < 1e-12, "{result}");
        let n = result["parameters"]["n"].as_str().expect("the value");
        assert!(result["command"].as_str().is_some_and(|it| it.contains(&format!("{n} >> ran"))));
    }
}

#[test]
fn a_parameter_of_one_value_is_written_with_its_command() {
    let at = folder();
    let how = ["--pairs", "6", "--export-json", "out.json", "--foreign-limit", "100%"];
    let commands = ["sleep 0.00${n}", "sleep 0.01${n}"];
    exec(&[&["--parameter", "n=4"][..], &how].concat(), &commands, at.path());
    let export: Value =
        serde_json::from_str(&kit::read(&at.path().join("out.json"))).expect("JSON");
    for (result, command) in
        export["results"].as_array().expect("results").iter().zip(["sleep 0.004", "sleep 0.014"])
    {
        assert_eq!(
            (&result["command"], &result["parameters"]["n"]),
            (&command.into(), &"4".into())
        );
    }
    let away = exec(&["--export-json", "/proc/none/x.json"], &commands, at.path()).with(2);
    assert!(away.stderr.contains("no such folder"), "{away:?}");
}

#[test]
fn who_is_stopped_before_the_first_block_is_interrupted_and_leaves_nothing() {
    for figure in [&["--figure", "wall"][..], &[]] {
        let at = folder();
        let command = "touch began; sleep 600"; // of both: either may come first
        let words = [&["ab", "--exec", command, command], figure].concat();
        let running = kit::Program::start(&words, at.path());
        kit::until(|| at.path().join("began").exists().then_some(()));
        running.signal(Signal::INT);
        let ended = running.wait().with(130);
        assert!(ended.stderr.contains("interrupted"), "{ended:?}");
        assert!(!at.path().join("plumb-runs").exists());
    }
}

#[test]
fn what_cannot_be_said_of_a_command_is_refused() {
    let at = folder();
    let twice = ["sleep 0.01"; 2];
    let memory = exec(&["--figure", "memory", "--pairs", "6"], &twice, at.path());
    assert!(memory.with(2).stderr.contains("name another figure"));
    for (words, said) in [
        (&["--figure", "printed", "--export-json", "x.json"][..], "--export-json"),
        (&["--parameter", "n=1", "--parameter", "n=2"], "one parameter twice"),
        (&["--parameter", "n"], "NAME=VALUE"),
        (&["--figure", "wall", "--higher-is-better"], "--higher-is-better"),
    ] {
        let ended = exec(words, &twice, at.path()).with(2);
        assert!(ended.stderr.contains(said), "{words:?}: {ended:?}");
    }
    assert!(!at.path().join("x.json").exists());
}

#[test]
fn round_trips_are_compared_and_the_stored_experiment_says_the_same() {
    let at = folder();
    let (server, slow) = (Server::start(&[]), Server::start(&["--service-time", "1ms"]));
    let fast = format!("net ping {} --size 100B --count 300", server.address);
    let slow = format!("net ping {} --size 100B --count 300", slow.address);
    let words = ["ab", &fast, &slow, "--pairs", "6", "--json", "--seed", "3"];
    let live = plumb(&words, at.path()).with(0).json();
    assert_eq!(primary(&live)["verdict"], "worse");
    assert_eq!(primary(&live)["key"], "p50");
    let stored = only_run(at.path());
    let stored = stored.to_str().expect("UTF-8");
    let again = plumb(&["compare", stored, "--json"], at.path()).with(0).json();
    assert_eq!(again["contrasts"], live["contrasts"]);
    plumb(&["compare", stored, "--fail-on", "worse"], at.path()).with(1);
}

#[test]
fn equal_variants_are_an_a_a_comparison_everywhere() {
    let at = folder();
    let document = exec(&["--out", "one"], &["echo 10", "echo 10"], at.path()).with(0).json();
    assert_eq!(document["variants"][1]["same_as_baseline"], true);
    assert_eq!(document["contrasts"][0]["same_treatment"], true);
    let sentence = document["contrasts"][0]["sentence"].to_string();
    assert!(sentence.contains("A/A comparison"), "{sentence}");
    assert!(kit::read(&at.path().join("one/report.html")).contains("A/A COMPARISON"));
    let switched = ["--before-b", "true"];
    let document = exec(&switched, &["echo 10", "echo 10"], at.path()).with(0).json();
    assert_eq!(document["variants"][1]["same_as_baseline"], Value::Null);
}

#[test]
fn a_switch_that_failed_is_said_in_the_first_sentence() {
    let at = folder();
    let switch = ["--before-b", "echo no such switch >&2; exit 4"];
    let ended =
        plumb(&[&["ab", "--exec"], &switch[..], &["echo 10", "echo 12"]].concat(), at.path());
    let first = ended.with(3).stdout.split("\n\n").next().map(str::to_owned).unwrap_or_default();
    assert!(first.starts_with("switching to candidate failed 3 times"), "{first}");
    assert!(first.contains("no such switch"), "{first}");
}

#[test]
fn what_is_secret_in_a_command_stands_in_no_record_of_its_failure() {
    let at = folder();
    let third = ": http://me:s3cret@h/; echo x >> count; test $(wc -l < count) -ne 3 && echo 10";
    let commands = [third, "echo 12"];
    exec(&["--pairs", "6"], &commands, at.path());
    let stored = only_run(at.path());
    for name in ["order.json", "comparison.json", "report.html"] {
        let text = fs::read_to_string(stored.join(name)).unwrap_or_default();
        assert!(!text.contains("s3cret"), "{name}");
    }
    let order = fs::read_to_string(stored.join("order.json")).expect("it is there");
    assert!(order.contains("\"failed\""), "{order}");
}

#[test]
fn an_interruption_leaves_the_blocks_so_far_readable() {
    let at = folder();
    let fifth = "echo x >> count; test $(wc -l < count) -lt 5 || kill -INT $PPID; echo 10";
    let ended = exec(&["--pairs", "100"], &[fifth, "echo 12"], at.path()).with(130);
    assert_eq!(ended.json()["design"]["cut_short"], "interrupted");
    let stored = only_run(at.path());
    plumb(&["compare", stored.to_str().expect("UTF-8")], at.path()).with(0);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_measured() {
    let at = folder();
    let refusals: &[(&[&str], &str)] = &[
        (&["ab", "net ping 127.0.0.1"], "2 values"),
        (&["ab", "net pong", "net ping 127.0.0.1"], "pong"),
        (&["ab", "sleep 0.1", "sleep 0.2"], "a command of the shell is measured with --exec"),
        (&["ab", "nett ping x", "net ping x"], "a similar subcommand exists: 'net'"),
        (&["ab", "net serve", "net serve"], "measures nothing"),
        (&["ab", "checkup", "checkup"], "only commands that measure"),
        (&["ab", "net ping 'x", "net ping x"], "quote is not closed"),
        (&["ab", "net ping x --json", "net ping x"], "--json belongs to the experiment"),
        (&["ab", "http ping http://x/ --jtl a", "http ping http://x/"], "--jtl names one file"),
        (&["ab", "--exec", "echo 1", "echo 1", "--pairs", "0"], "1 to 1000"),
        (&["ab", "--exec", "echo 1", "echo 1", "--margin", "2"], "has no unit"),
        (&["ab", "--exec", "echo 1", "echo 1", "--names", "one"], "--names has 1"),
        (&["ab", "--exec", "echo 1", "echo 1", "--names", "one,one"], "two variants alike"),
        (&["ab", "--exec", "echo 1", "echo 1", "--pairs", "6", "--time", "1s"], "cannot be used"),
        (&["compare", "."], "is no experiment"),
        (&["compare", ".", "."], "no run at"),
        (&["compare", "nowhere", "."], "no run at"),
    ];
    for (words, expected) in refusals {
        let ended = plumb(words, at.path()).with(2);
        assert!(ended.stderr.contains(expected), "{words:?}: {ended:?}");
    }
    assert!(!at.path().join("plumb-runs").exists());
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn calibration_tells_false_positives_and_the_smallest_difference() {
    let at = folder();
    let server = Server::start(&[]);
    let command = format!("net ping {} --size 1000B --count 300 --warmup 0s", server.address);
    let words = ["lab", "calibrate", &command, "--time", "15s", "--json"];
    let document = plumb(&words, at.path()).with(0).json();
    assert_eq!(document["schema"], "plumb.calibration/1");
    let experiments = document["experiments"].as_u64().expect("a number");
    let false_positives = document["false_positives"].as_u64().expect("a number");
    assert!(experiments >= 1 && false_positives <= experiments, "{document:#}");
    let smallest = document["smallest"].as_array().expect("a list");
    assert_eq!(smallest[0]["pairs"], 6);
    assert!(smallest[0]["difference"].as_f64().is_some_and(|it| it > 0.0));
    let short =
        plumb(&["lab", "calibrate", "--time", "300ms", "--block", "100ms"], at.path()).with(2);
    assert!(short.stderr.contains("more --time"), "{short:?}");
}
