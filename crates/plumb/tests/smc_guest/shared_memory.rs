//! Connections over SMC: what is used, proven, counted, compared and refused.

use serde_json::Value;

use crate::experiment::seeds;
use crate::guest::{Guest, Kernel, Plan, Step, say};

/// Kind of the transport, what it lacks of SMC, and kinds of the reasons to doubt the figures.
fn proof(step: &Step) -> (String, Value, Vec<String>) {
    let run = step.json();
    let used = &run["results"][0]["transports"][0];
    let kind = used["kind"].as_str().unwrap_or_default().to_owned();
    let mut kinds = Vec::new();
    for validity in [&run["validity"], &run["results"][0]["validity"]] {
        for reason in validity["reasons"].as_array().into_iter().flatten() {
            kinds.extend(reason["kind"].as_str().map(str::to_owned));
        }
    }
    (kind, used["smc"].clone(), kinds)
}

fn lacks(step: &Step) -> Vec<String> {
    let status = step.json();
    let all = status["lacks"].as_array().unwrap();
    all.iter().map(|lack| lack["kind"].as_str().unwrap().to_owned()).collect()
}

fn fell_back(step: &Step, reason: &str) {
    let (kind, smc, kinds) = proof(step);
    assert_eq!(kind, "tcp", "{step:#?}");
    let told = smc["fell-back"]["reason"].as_str().unwrap_or_default();
    say(&format!("fell back: {told}; not valid: {}", kinds.join(", ")));
    assert!(told.starts_with(reason), "{told}");
    assert!(kinds.iter().any(|kind| kind == "not-smc"), "{kinds:?}");
    assert_eq!(step.code, 1, "a run that is not valid: {step:#?}");
}

fn over_smc_r(step: &Step) {
    let (kind, smc, kinds) = proof(step);
    say(&format!("over {kind}"));
    assert_eq!((kind.as_str(), smc), ("smc-r", Value::Null), "{step:#?}");
    assert!(!kinds.iter().any(|kind| kind == "not-smc"), "{kinds:?}");
    assert_eq!(step.code, 0, "{step:#?}");
}

fn groups(step: &Step) -> (u64, u64, u64) {
    let status = step.json();
    let groups = &status["facts"]["link_groups"];
    say(&format!("link groups: {groups}"));
    let of = |name: &str| groups[name].as_u64().unwrap();
    (of("as_client"), of("as_server"), of("connections"))
}

/// What the host counted over SMC-R while a run was driven is what the run sent.
fn counted(run: &Step, watched: &Step) {
    let run = run.json();
    let result = &run["results"][0];
    let bytes = |name: &str| result[name].as_u64().unwrap();
    let of_run = bytes("bytes_sent") + bytes("bytes_received");
    let (mut sent, mut received, mut connections) = (0.0, 0.0, 0);
    for line in watched.stdout.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let Some(smc) = sample["smc"]["smc_r"].as_object() else { continue };
        let seconds = sample["interval_ns"].as_f64().unwrap() / 1e9;
        sent += smc["sent_bytes_per_s"].as_f64().unwrap() * seconds;
        received += smc["received_bytes_per_s"].as_f64().unwrap() * seconds;
        connections += smc["connections"].as_u64().unwrap();
    }
    // that of the load and the one that asked the server before, both ends of each
    assert_eq!(connections, 4, "{}", watched.stdout);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let of_run = of_run as f64;
    say(&format!("{of_run} bytes in the run; the host saw {sent:.0} sent, {received:.0} received"));
    for seen in [sent, received] {
        // rates are over the time between two readings, which is not quite that between two samples
        assert!((seen / of_run - 1.0).abs() < 0.05, "{seen} bytes seen, {of_run} in the run");
    }
}

fn verdict(step: &Step) -> String {
    let comparison = step.json();
    let decides = &comparison["contrasts"][0]["endpoints"][0];
    say(&format!(
        "{}: ratio {}, interval {}",
        decides["verdict"], decides["ratio"], decides["interval"]
    ));
    decides["verdict"].as_str().unwrap_or_default().to_owned()
}

/// A variant of which connections fell back is not compared, and why is said.
fn not_compared(step: &Step) {
    assert_ne!(step.code, 0, "{step:#?}");
    let said = [step.stdout.as_str(), &step.messages].concat();
    assert!(said.contains("not all connections are proven to use SMC"), "{step:#?}");
    assert!(said.contains("0x03010000"), "{step:#?}");
    assert!(!said.contains("\"verdict\": \"better\"") && !said.contains("\"verdict\": \"worse\""));
}

#[test]
fn smc_is_used_proven_and_refused_as_it_should_be() {
    let Some(kernel) = Kernel::find() else { return };
    let folder = seeds();
    let plan = Plan {
        steps: "shared-memory",
        processors: 1,
        seeds: folder.path(),
        devices: &[],
        under: &[],
    };
    let guest = Guest::boot(&kernel, &plan).steps();
    let step = |name: &str| guest.step(name);

    assert_eq!(lacks(step("status-bare")), ["device", "ueid"]);
    fell_back(step("no-ueid"), "0x03030000");
    assert_eq!(step("setup").code, 0, "{:#?}", step("setup"));
    assert_eq!(lacks(step("status")), [""; 0]);
    over_smc_r(step("smc"));
    // over IPv6 the kernel finds no device here, and says so
    fell_back(step("smc-v6"), "0x03030000");
    fell_back(step("tcp-server"), "0x03010000");
    over_smc_r(step("locks"));
    over_smc_r(step("pages"));
    counted(step("watched-run"), step("watched"));
    assert_eq!(groups(step("groups-255")), (1, 1, 80));
    assert_eq!(groups(step("groups-16")), (3, 3, 80));
    not_compared(step("not-compared"));
    not_compared(step("refused"));
    assert_eq!(verdict(step("worse")), "worse", "{:#?}", step("worse"));
    assert_eq!(verdict(step("better")), "better", "{:#?}", step("better"));
}
