//! Runs and stored experiments that are compared: what is refused, and what is said of them.

use crate::kit;

use std::fs;

use kit::{Server, plumb};
use serde_json::Value;

use crate::ab::{exec, folder, primary};

#[test]
fn runs_that_were_not_interleaved_get_a_warning_and_no_verdict() {
    let at = folder();
    let server = Server::start(&[]);
    for (name, size) in [("one", "100B"), ("two", "30000B")] {
        let words =
            ["net", "ping", &server.address, "--size", size, "--for", "1s", "--interval", "100ms"];
        plumb(&[&words[..], &["--out", name]].concat(), at.path()).with(0);
    }
    let compared = plumb(&["compare", "one", "two", "--json"], at.path()).with(0).json();
    assert_eq!(compared["design"]["kind"], "separate");
    assert_eq!(primary(&compared)["verdict"], "none");
    let of = |name: &str| primary(&compared)[name].as_f64().expect("a number");
    let quotient = of("candidate") / of("baseline");
    assert!((of("ratio") / quotient - 1.0).abs() < 1e-12, "{compared:#}");
    let record = kit::record(&at.path().join("two"));
    assert_eq!(record["results"][0]["response_ns"]["p50"].as_f64(), Some(of("candidate")));
    let interval = &primary(&compared)["interval"];
    let end = |name: &str| interval[name].as_f64().expect("ten intervals of time have one");
    assert!((end("low")..=end("high")).contains(&quotient), "{interval}");
    assert!(compared["warnings"][0].as_str().is_some_and(|it| it.contains("not interleaved")));
    let named = |name: &str| {
        let differences = compared["differences"].as_array().expect("a list");
        differences.iter().any(|difference| difference["name"] == name)
    };
    assert!(named("option size") && !named("host kernel"), "{compared:#}");
    plumb(&["compare", "one", "two", "--fail-on", "worse"], at.path()).with(3);
}

#[test]
fn an_invalid_run_is_refused_with_its_reason_unless_accepted() {
    let at = folder();
    let server = Server::start(&[]);
    for name in ["one", "two"] {
        let words = ["net", "ping", &server.address, "--count", "300", "--out", name];
        plumb(&words, at.path()).with(0);
    }
    let file = at.path().join("two/run.json");
    let mut record: Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("written")).expect("JSON");
    let finding = serde_json::json!(
        {"kind": "failures", "scope": "everything", "text": "7 operations failed"});
    let valid = record["validity"].clone();
    record["validity"] =
        serde_json::json!({"valid": false, "latency_valid": false, "reasons": [finding]});
    fs::write(&file, record.to_string()).expect("writable");
    let refused = plumb(&["compare", "one", "two"], at.path()).with(2);
    assert!(refused.stderr.contains("two/run.json is not what was written"), "{refused:?}");
    fs::remove_file(at.path().join("two/SHA256SUMS")).expect("it was written");
    let refused = plumb(&["compare", "one", "two"], at.path()).with(2);
    assert!(refused.stderr.contains("7 operations failed"), "{refused:?}");
    assert!(refused.stderr.contains("--accept-invalid"), "{refused:?}");
    let accepted = plumb(&["compare", "one", "two", "--accept-invalid"], at.path()).with(0);
    assert!(accepted.stdout.contains("7 operations failed"), "{accepted:?}");

    let finding = serde_json::json!(
        {"kind": "foreign-load", "scope": "unchecked", "text": "nobody looked"});
    record["validity"] =
        serde_json::json!({"valid": false, "latency_valid": false, "reasons": [finding]});
    fs::write(&file, record.to_string()).expect("writable");
    let refused = plumb(&["compare", "one", "two", "--accept-invalid"], at.path()).with(2);
    assert!(refused.stderr.contains("not checked: nobody looked"), "{refused:?}");
    let accepted = plumb(&["compare", "one", "two", "--accept-unchecked"], at.path()).with(0);
    assert!(accepted.stdout.contains("nobody looked"), "{accepted:?}");

    record["validity"] = valid;
    record["results"][0]["response_ns"]["p50"] = 1.into();
    fs::write(&file, record.to_string()).expect("writable");
    for words in [&["compare", "one", "two"][..], &["report", "two"]] {
        let refused = plumb(words, at.path()).with(2);
        assert!(refused.stderr.contains("contradicts itself"), "{refused:?}");
        assert!(refused.stderr.contains("response_ns.p50 is 1, "), "{refused:?}");
    }

    record["schema"] = "plumb.run/9".into();
    fs::write(&file, record.to_string()).expect("writable");
    let newer = plumb(&["compare", "one", "two"], at.path()).with(2);
    assert!(newer.stderr.contains("plumb.run/9"), "{newer:?}");
}

#[test]
fn blocks_that_were_altered_or_come_from_elsewhere_are_refused_by_name() {
    let at = folder();
    exec(&["--pairs", "6", "--out", "one"], &["echo 10", "echo 12"], at.path()).with(0);
    let order: Value =
        serde_json::from_str(&kit::read(&at.path().join("one/order.json"))).expect("JSON");
    let of_candidate = order["blocks"].as_array().expect("blocks").iter();
    let mut of_candidate = of_candidate.filter(|block| block["variant"] == 1);
    let block = of_candidate.nth(2).expect("a third block")["folder"].as_str().expect("a folder");
    let (run, sums) = (at.path().join("one").join(block), "SHA256SUMS");
    let file = run.join("run.json");
    let text = kit::read(&file);
    let refused = |expected: &str| {
        let ended = plumb(&["compare", "one"], at.path()).with(2);
        assert!(ended.stderr.contains(expected), "{ended:?}");
        assert!(ended.stderr.contains(block), "{ended:?}");
    };
    fs::write(&file, text.replace("\"value\": 12", "\"value\": 1")).expect("writable");
    refused("is not what was written when it ended");
    fs::remove_file(run.join(sums)).expect("it was written");
    refused("its run.json is not the one that this experiment took there");
    let mut record: Value = serde_json::from_str(&text).expect("JSON");
    record["host"]["kernel"] = "another".into();
    fs::write(&file, record.to_string()).expect("writable");
    refused("its kernel is another, and ");
    fs::write(&file, text).expect("writable");
    plumb(&["compare", "one"], at.path()).with(0);
}

#[test]
fn plans_with_different_points_are_not_compared() {
    let at = folder();
    let server = Server::start(&[]);
    let command = |sizes: &str| format!("net ping {} --size {sizes} --count 300", server.address);
    let (one, two) = (command("1B,2B"), command("1B,3B"));
    let ended = plumb(&["ab", &one, &two, "--pairs", "1"], at.path()).with(2);
    assert!(ended.stderr.contains("has the points (connections 1, size 1B)"), "{ended:?}");
}
