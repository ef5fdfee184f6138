//! The folders of runs and of experiments: never overwritten, readable at any moment.

mod comparisons;
mod records;

use std::fs;
use std::path::Path;

use plumb_folder::{
    ExperimentFolder, FolderError, RunFolder, read_comparison, read_order, read_record,
};

#[test]
fn a_record_that_was_written_is_read_from_the_folder_and_from_its_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create_new(&place.path().join("deep/er/run")).unwrap();
    let record = records::interrupted();
    folder.write_record(&record).unwrap();
    assert!(read_record(folder.path()).unwrap() == record);
    assert!(read_record(&folder.path().join("run.json")).unwrap() == record);
}

#[test]
fn a_later_record_takes_the_place_of_the_earlier_one_and_leaves_nothing_beside() {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create_new(&place.path().join("run")).unwrap();
    folder.write_record(&records::begun()).unwrap();
    let last = records::interrupted();
    folder.write_record(&last).unwrap();
    assert!(read_record(folder.path()).unwrap() == last);
    assert_eq!(names_in(folder.path()), ["SHA256SUMS", "run.json"]);
}

#[test]
fn an_empty_folder_is_taken_and_one_with_a_run_or_a_file_is_not() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    fs::create_dir(&path).unwrap();
    let folder = RunFolder::create_new(&path).unwrap();
    folder.write_record(&records::single_ping()).unwrap();
    let error = RunFolder::create_new(&path).unwrap_err();
    assert!(matches!(error, FolderError::HoldsRun { .. }), "{error}");

    fs::remove_file(path.join("run.json")).unwrap();
    fs::remove_file(path.join("SHA256SUMS")).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let error = RunFolder::create_new(&path).unwrap_err();
    assert!(matches!(error, FolderError::NotEmpty { .. }), "{error}");
    assert_eq!(names_in(&path), ["notes.txt"]);
}

#[test]
fn names_that_are_taken_are_numbered_from_two() {
    let place = tempfile::tempdir().unwrap();
    let made: Vec<String> = (0..3)
        .map(|_| RunFolder::create_in(place.path(), "20260301-net-ping").unwrap())
        .map(|folder| folder.path().file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(made, ["20260301-net-ping", "20260301-net-ping-2", "20260301-net-ping-3"]);
}

#[test]
fn numbering_ends_at_a_thousand() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("run")).unwrap();
    (2..=1000).for_each(|n| fs::create_dir(place.path().join(format!("run-{n}"))).unwrap());
    let error = RunFolder::create_in(place.path(), "run").unwrap_err();
    assert!(matches!(error, FolderError::NamesTaken { .. }), "{error}");
}

#[test]
fn below_a_file_no_folder_can_be_made_and_the_error_says_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    for error in [
        RunFolder::create_new(&file.join("run")).unwrap_err(),
        RunFolder::create_new(&file).unwrap_err(),
        RunFolder::create_in(&file, "run").unwrap_err(),
    ] {
        assert!(matches!(error, FolderError::Create { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("file") && text.contains("name another folder"), "{text}");
    }
}

#[test]
fn a_folder_that_went_away_is_an_error_with_the_file_in_it() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_new(&place.path().join("run")).unwrap();
    fs::remove_dir(folder.path()).unwrap();
    let text = folder.write_record(&records::single_ping()).unwrap_err().to_string();
    assert!(text.contains("run.json") && text.contains("check the path"), "{text}");
    let text = folder.append_intervals("line\n").unwrap_err().to_string();
    assert!(text.contains("intervals.hlog"), "{text}");
}

#[test]
fn interval_lines_are_in_the_file_as_soon_as_they_are_added() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_new(&place.path().join("run")).unwrap();
    assert!(names_in(folder.path()).is_empty(), "no file before the first line");
    let read = |folder: &RunFolder| fs::read_to_string(folder.path().join("intervals.hlog"));
    folder.append_intervals("first\n").unwrap();
    assert_eq!(read(&folder).unwrap(), "first\n");
    folder.append_intervals("second\nthird\n").unwrap();
    assert_eq!(read(&folder).unwrap(), "first\nsecond\nthird\n");
}

#[test]
fn a_run_that_came_to_nothing_leaves_no_folder_and_takes_no_record_with_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut folder = RunFolder::create_new(&path).unwrap();
    folder.append_intervals("head\n").unwrap();
    folder.discard();
    assert!(!path.exists());

    RunFolder::create_new(&place.path().join("a/b/c")).unwrap().discard();
    assert!(!place.path().join("a").exists(), "it was made for the run, too");
    fs::create_dir(place.path().join("mine")).unwrap();
    RunFolder::create_in(&place.path().join("mine/runs"), "run").unwrap().discard();
    assert_eq!(names_in(place.path()), ["mine"]);
    assert!(names_in(&place.path().join("mine")).is_empty());

    let folder = RunFolder::create_new(&path).unwrap();
    folder.write_record(&records::begun()).unwrap();
    folder.discard();
    assert_eq!(names_in(&path), ["run.json"]);
}

#[test]
fn what_was_altered_is_refused_by_its_digest_and_by_what_it_says_itself() {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create_new(&place.path().join("run")).unwrap();
    let record = records::single_ping();
    folder.write_record(&record).unwrap();
    let file = folder.path().join("run.json");
    let text = fs::read_to_string(&file).unwrap();
    // nothing else contradicts it
    fs::write(&file, text.replacen("\"seed\": ", "\"seed\": 1", 1)).unwrap();
    for path in [folder.path(), &file] {
        let error = read_record(path).unwrap_err();
        assert!(matches!(error, FolderError::Altered { .. }), "{error}");
    }
    let p50 = record.results[0].response_ns.as_ref().unwrap().p50;
    let faster = text.replacen(&format!("\"p50\": {p50}"), "\"p50\": 1000", 1);
    assert_ne!(faster, text);
    fs::write(&file, faster).unwrap();
    fs::remove_file(folder.path().join("SHA256SUMS")).unwrap();
    let error = read_record(folder.path()).unwrap_err();
    assert!(matches!(error, FolderError::Contradiction { .. }), "{error}");
    assert!(error.to_string().contains("p50 is 1000"), "{error}");
    fs::write(&file, text).unwrap();
    assert!(read_record(folder.path()).unwrap() == record, "one of an earlier version has none");
}

#[test]
fn a_comparison_and_an_order_that_were_altered_are_refused_until_they_are_written_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = ExperimentFolder::create_new(&place.path().join("experiment")).unwrap();
    folder.write_order("[]\n").unwrap();
    folder.write_comparison(&comparisons::better()).unwrap();
    let file = folder.path().join("comparison.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"verdict\": \"better\"", "\"verdict\": \"worse\"", 1))
        .unwrap();
    let error = read_comparison(folder.path()).unwrap_err();
    assert!(matches!(error, FolderError::Altered { .. }), "{error}");
    fs::write(&file, text).unwrap();
    fs::write(folder.path().join("order.json"), "[1]\n").unwrap();
    let error = read_order(folder.path()).unwrap_err();
    assert!(error.to_string().contains("order.json is not what was written"), "{error}");
    folder.write_order("[1]\n").unwrap();
    assert_eq!(read_order(folder.path()).unwrap(), "[1]\n");
}

#[test]
fn a_report_says_where_it_is() {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create_new(&place.path().join("run")).unwrap();
    let path = folder.write_report("<!DOCTYPE html>").unwrap();
    assert_eq!(path, folder.path().join("report.html"));
    assert_eq!(fs::read_to_string(path).unwrap(), "<!DOCTYPE html>");
}

#[test]
fn what_is_no_run_is_told_apart_from_what_cannot_be_read() {
    let place = tempfile::tempdir().unwrap();
    let error = read_record(place.path()).unwrap_err();
    assert!(matches!(error, FolderError::NoRun { .. }), "{error}");
    assert!(error.to_string().contains("run.json"), "{error}");

    let file = place.path().join("run.json");
    fs::write(&file, "{\"schema\": \"plumb.run/9\"}").unwrap();
    let text = read_record(place.path()).unwrap_err().to_string();
    assert!(text.contains("run.json") && text.contains("plumb.run/9"), "{text}");

    fs::write(&file, "{\n\"schema\": ").unwrap();
    let text = read_record(&file).unwrap_err().to_string();
    assert!(text.contains("run.json") && text.contains("line 2"), "{text}");

    fs::write(&file, [0xff, 0xfe]).unwrap();
    let error = read_record(&file).unwrap_err();
    assert!(matches!(error, FolderError::Read { .. }), "{error}");
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[test]
fn an_experiment_holds_its_plan_its_order_its_blocks_and_its_result() {
    let place = tempfile::tempdir().unwrap();
    let folder = ExperimentFolder::create_in(place.path(), "20260301-lab").unwrap();
    folder.write_experiment("rounds = 12\n").unwrap();
    folder.write_order("[]\n").unwrap();
    let block = folder.block(7, "candidate 2").unwrap();
    assert_eq!(block, folder.path().join("blocks/007-candidate-2"));
    RunFolder::create_new(&block).unwrap().write_record(&records::single_ping()).unwrap();
    let comparison = comparisons::several();
    folder.write_comparison(&comparison).unwrap();
    assert_eq!(folder.write_report("<!DOCTYPE html>").unwrap(), folder.path().join("report.html"));
    let names =
        ["SHA256SUMS", "blocks", "comparison.json", "experiment.toml", "order.json", "report.html"];
    drop(folder); // nobody works in it any more
    let path = place.path().join("20260301-lab");
    assert_eq!(names_in(&path), names);
    assert!(read_comparison(&path).unwrap() == comparison);
    assert!(read_comparison(&path.join("comparison.json")).unwrap() == comparison);
    assert!(read_record(&block).unwrap() == records::single_ping());
}

#[test]
fn an_experiment_and_its_blocks_are_never_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("experiment");
    let folder = ExperimentFolder::create_new(&path).unwrap();
    folder.write_experiment("").unwrap();
    let error = ExperimentFolder::create_new(&path).unwrap_err();
    assert!(matches!(error, FolderError::HoldsExperiment { .. }), "{error}");
    let error = RunFolder::create_new(&path).unwrap_err();
    assert!(matches!(error, FolderError::HoldsExperiment { .. }), "{error}");

    let block = folder.block(1, "baseline").unwrap();
    RunFolder::create_new(&block).unwrap().write_record(&records::begun()).unwrap();
    drop(folder);
    let again = ExperimentFolder::again(&path).unwrap();
    assert_eq!(again.block(1, "baseline").unwrap(), path.join("blocks/001-baseline-2"));
    let error = ExperimentFolder::create_new(&block).unwrap_err();
    assert!(matches!(error, FolderError::HoldsRun { .. }), "{error}");
}

#[test]
fn a_variant_cannot_lead_out_of_the_experiment() {
    let place = tempfile::tempdir().unwrap();
    let folder = ExperimentFolder::create_new(&place.path().join("experiment")).unwrap();
    for name in ["../../away", "/etc", "..", "", "a/b"] {
        let block = folder.block(1, name).unwrap();
        assert_eq!(block.parent(), Some(folder.path().join("blocks").as_path()), "{name}");
    }
}

#[test]
fn an_experiment_that_came_to_nothing_leaves_no_folder_and_takes_no_block_with_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("experiment");
    let folder = ExperimentFolder::create_new(&path).unwrap();
    folder.write_experiment("").unwrap();
    folder.write_order("").unwrap();
    folder.block(1, "baseline").unwrap();
    folder.discard();
    assert!(!path.exists());

    let folder = ExperimentFolder::create_new(&path).unwrap();
    folder.write_order("").unwrap();
    let block = folder.block(1, "baseline").unwrap();
    RunFolder::create_new(&block).unwrap().write_record(&records::begun()).unwrap();
    folder.discard();
    assert_eq!(names_in(&path), ["blocks", "order.json"]);
}

#[test]
fn what_is_no_comparison_is_told() {
    let place = tempfile::tempdir().unwrap();
    let error = read_comparison(place.path()).unwrap_err();
    assert!(matches!(error, FolderError::NoComparison { .. }), "{error}");
    assert!(error.to_string().contains("comparison.json"), "{error}");
    fs::write(place.path().join("comparison.json"), "{\"schema\": \"plumb.run/1\"}").unwrap();
    let text = read_comparison(place.path()).unwrap_err().to_string();
    assert!(text.contains("plumb.run/1"), "{text}");
}

fn names_in(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
