//! Loss and delay of packets, and the faults of a landscape: what a check of the path and a checkup
//! say of them.

use serde_json::Value;

use crate::experiment::seeds;
use crate::guest::{Guest, Kernel, Plan, Step, say};

const TESTS: [&str; 5] = ["throughput", "round trip", "sizes", "idle", "stability"];
const WORDS: [&str; 3] = ["FINE", "LOOK AT IT", "BAD"];

/// What `plumb net check` says of a test: its word, and the sentence behind it.
fn judged(step: &Step, test: &str) -> (&'static str, String) {
    let text = step.text();
    let begins = |test: &str| {
        WORDS.iter().find_map(|word| {
            let begin = format!("{test} {word}: ");
            text.find(&begin).map(|at| (at, *word, at + begin.len()))
        })
    };
    let found = begins(test);
    let (_, word, from) = found.unwrap_or_else(|| panic!("nothing of {test}: {step:#?}"));
    // up to the next test, or to the path of the report
    let others = TESTS.iter().filter_map(|test| begins(test)).map(|(at, ..)| at);
    let ends = others.chain(text.find("report: ")).filter(|at| *at > from);
    let sentence = text[from..ends.min().unwrap_or(text.len())].trim().to_owned();
    say(&format!("  {test} {word}: {sentence}"));
    (word, sentence)
}

/// The average round trip of the sentence, milliseconds.
fn average_ms(sentence: &str) -> f64 {
    let (_, rest) = sentence.split_once("takes ").unwrap();
    rest.split_once(" ms on average").unwrap().0.parse().unwrap()
}

/// Kind and layer of the first finding of a checkup, and its first sentence.
fn first(step: &Step) -> (Value, Value, String) {
    let said = step.json();
    let verdict = &said["verdict"];
    let found = &verdict["findings"][0];
    let sentence = verdict["sentence"].as_str().unwrap_or_default().to_owned();
    say(&format!("  {sentence}"));
    (found["kind"].clone(), found["layer"].clone(), sentence)
}

#[test]
fn faults_that_the_kernel_makes_are_named() {
    let Some(kernel) = Kernel::find() else { return };
    let folder = seeds();
    let plan =
        Plan { steps: "faults", processors: 2, seeds: folder.path(), devices: &[], under: &[] };
    let guest = Guest::boot(&kernel, &plan).steps();

    let sound = guest.step("check-sound");
    for test in TESTS {
        let (word, sentence) = judged(sound, test);
        // a machine that others use may let a message wait, and that is said
        assert_ne!(word, "BAD", "{sentence}");
    }
    let far = guest.step("check-far");
    let (_, trip) = judged(far, "round trip");
    assert!(average_ms(&trip) >= 40.0, "20 ms there and 20 ms back: {trip}");
    assert!(trip.contains("light in fibre would go"), "{trip}");
    let (_, carried) = judged(far, "throughput");
    assert!(carried.contains("are the round trip itself"), "{carried}");
    for test in TESTS {
        assert_ne!(judged(far, test).0, "BAD");
    }
    let lossy = guest.step("check-lossy");
    // TCP sends again what is lost: messages wait, and none of them is missing
    let (word, waited) = judged(lossy, "sizes");
    assert_eq!(word, "LOOK AT IT", "{waited}");
    assert!(waited.contains("waited, as for a packet that was lost"), "{waited}");
    for test in TESTS {
        assert_ne!(judged(lossy, test).0, "BAD");
    }

    let (kind, _, sentence) = first(guest.step("checkup-nothing"));
    assert_eq!(kind, Value::Null, "{sentence}");
    assert!(sentence.starts_with("No fault was found; "), "{sentence}");
    for (step, kind, layer) in [
        ("checkup-delay", "wire", Some("network")),
        ("checkup-loss", "loss", Some("network")),
        ("checkup-hog", "foreign-load", None),
        ("checkup-absent", "unreachable", Some("locks")),
    ] {
        let (found, at, sentence) = first(guest.step(step));
        assert_eq!((found.as_str(), at.as_str()), (Some(kind), layer), "{step}: {sentence}");
    }
}
