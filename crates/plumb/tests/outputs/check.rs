//! `plumb check` and `plumb host show` from end to end.

use crate::kit;

use std::path::Path;

use kit::{PLUMB, Program};

fn published(name: &str) -> String {
    format!("{}/../../examples/published/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn fixture(path: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plumb-nmon/tests/fixtures");
    folder.join(path).display().to_string()
}

fn plumb(words: &[&str]) -> Program {
    Program::start_as(Path::new(PLUMB), words, Path::new("."))
}

#[test]
fn a_table_that_is_right_ends_with_0() {
    let ended = plumb(&["check", &published("smc-r-latency.csv")]).wait().with(0);
    assert!(ended.stdout.ends_with(": 6 comparisons, nothing found\n"), "{}", ended.stdout);
}

#[test]
fn a_finding_ends_with_1_and_is_named() {
    let ended = plumb(&["check", &published("smc-r-cpu.csv")]).wait().with(1);
    assert!(ended.stdout.contains("line 11 (5), CPU %: 22.9, expected"), "{}", ended.stdout);
}

#[test]
fn one_comparison_and_one_finding_are_told_in_the_singular() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = folder.path().join("shares.csv");
    let text = "# column: idle, unit = %, at-most = 100\nrun,idle\na,101\n";
    std::fs::write(&table, text).expect("it can be written");
    let ended = plumb(&["check", &table.display().to_string()]).wait().with(1);
    assert!(ended.stdout.ends_with(": 1 comparison, 1 finding\n"), "{}", ended.stdout);
}

#[test]
fn a_table_whose_columns_mean_nothing_yet_ends_with_3() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = folder.path().join("plain.csv");
    std::fs::write(&table, "run,idle\na,101\n").expect("it can be written");
    let (plain, right) = (table.display().to_string(), published("smc-r-latency.csv"));
    let ended = plumb(&["check", &plain]).wait().with(3);
    assert!(ended.stdout.contains("nothing was checked: say what the columns"), "{ended:?}");
    plumb(&["check", &right, &plain, "--json"]).wait().with(3);
    plumb(&["check", &published("smc-r-cpu.csv"), &plain]).wait().with(1);
}

#[test]
fn what_cannot_be_read_ends_with_2() {
    let ended = plumb(&["check", "/nowhere/at/all.csv"]).wait().with(2);
    assert!(ended.stderr.contains("/nowhere/at/all.csv: cannot be read"), "{}", ended.stderr);
}

#[test]
fn whoever_stops_reading_gets_the_same_exit_code() {
    let at = Path::new(".");
    for (words, code) in [
        (&["check", &published("smc-r-latency.csv")][..], 0),
        (&["check", &published("smc-r-cpu.csv")], 1),
        (&["check", &published("smc-r-cpu.csv"), "--json"], 1),
        (&["check", "/nowhere/at/all.csv"], 2),
        (&["host", "show", "/nowhere/at/all.nmon", &fixture("aix-shared.nmon")], 2),
        (&["flow", "check", "/nowhere/at/all"], 2),
        (&["--no-such-option"], 2),
    ] {
        assert_eq!(kit::unread(words, at), Some(code), "{words:?}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("a.toml"), "wrong = 1\n").expect("it can be written");
    let wrong = ["flow", "check", "."];
    assert_eq!(kit::unread(&wrong, folder.path()), kit::plumb(&wrong, folder.path()).code);
}

#[test]
fn a_recording_is_checked_and_shown() {
    let file = fixture("aix-shared.nmon");
    let ended = plumb(&["check", &file]).wait().with(0);
    assert!(ended.stdout.contains("nothing found"), "{}", ended.stdout);
    assert!(ended.stdout.contains(" on the file itself: see plumb host show "), "{ended:?}");
    let shown = plumb(&["host", "show", &file]).wait().with(0).stdout;
    for expected in [
        "aix01, AIX, recorded by topas_nmon TOPAS-NMON",
        "2018-10-28T02:58:00 to 2018-10-28T02:00:00 of its own clock, 3 snapshots, 180 s",
        "processor time  120.0 s in 180 s: LPAR.PhysicalCPU (shared LPAR)",
        "line 86: the clock jumped by -3600 s: daylight saving time?",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_file_that_cannot_be_read_does_not_hide_the_others() {
    let words = ["check", "/nowhere/at/all.csv", &published("smc-r-cpu.csv")];
    let ended = plumb(&words).wait().with(2);
    assert!(ended.stderr.contains("/nowhere/at/all.csv: cannot be read"), "{}", ended.stderr);
    assert!(ended.stdout.contains("line 11 (5), CPU %: 22.9"), "{}", ended.stdout);
}

#[test]
fn findings_are_one_json_document() {
    let file = published("smc-r-cpu.csv");
    let ended = plumb(&["check", "--json", &file, "/nowhere/at/all.csv"]).wait().with(2);
    let json = ended.json();
    assert_eq!(json["schema"], "plumb.table-check/1");
    let check = &json["files"][0]["checks"][0];
    assert!(check["comparisons"].as_u64() > Some(0), "{json}");
    assert_eq!(check["findings"][0]["printed"], "22.9");
    assert_eq!(json["unread"][0]["path"], "/nowhere/at/all.csv");
}
