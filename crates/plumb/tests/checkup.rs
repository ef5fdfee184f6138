//! The checkup as a newcomer runs it: a sentence, a table, and where the report is.

mod kit;

use kit::{only_run, plumb, record};

#[test]
fn a_checkup_measures_this_machine_and_leaves_a_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ended = plumb(&["checkup"], folder.path()).with(0);
    let run = only_run(folder.path());
    let record = record(&run);
    assert_eq!(record["status"], "complete");
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    for result in results {
        assert!(result["operations"].as_u64() > Some(0), "{result:#}");
        assert_eq!(result["failures"], serde_json::json!({}));
    }
    let (sentence, _) = ended.stdout.split_once("\n\n").expect("a sentence");
    assert!(sentence.lines().all(|line| line.len() <= 80), "{sentence}");
    let first = ended.stdout.lines().next().expect("a sentence");
    assert!(first.starts_with("The network path of this machine: a 1000-byte round trip takes "));
    let last = ended.stdout.lines().last().expect("a last line");
    let report = last.strip_prefix("report: ").expect("where the report is");
    assert!(folder.path().join(report).is_file(), "{report}");
}
