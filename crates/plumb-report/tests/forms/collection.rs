//! Many runs on one page: what is averaged and what is not, what is refused and what is explained.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use crate::comparisons;
use crate::page;
use crate::records;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use page::{assert_balanced, assert_self_contained, without_script};
use plumb_folder::{FolderError, Found};
use plumb_measure::{Distribution, Histogram, HostUse, ResultRecord, RunRecord, Validity, real};
use plumb_page::wrap::WIDTH;
use plumb_report::collection::{self, Collection};
use tempfile::TempDir;

/// A record as a run folder below `parent`.
fn keep(parent: &Path, name: &str, record: &RunRecord) -> PathBuf {
    let folder = parent.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("run.json"), record.to_json()).unwrap();
    folder
}

fn read(paths: &[PathBuf]) -> Result<Collection, FolderError> {
    Collection::read(Found::at(paths)?)
}

fn read_all(folder: &TempDir) -> Collection {
    read(&[folder.path().to_path_buf()]).unwrap()
}

fn json(collection: &Collection) -> serde_json::Value {
    serde_json::from_str(&collection::json(collection)).unwrap()
}

/// The same run, begun at another minute, with another seed.
fn again(record: &RunRecord, minute: u64) -> RunRecord {
    let mut next = record.clone();
    next.started = format!("2026-11-21T09:{minute:02}:00Z");
    next.plan.seed = minute;
    next
}

/// A run of one point with so many samples of about `base_ns`.
fn run(base_ns: u64, labels: &[(&str, &str)]) -> RunRecord {
    let mut histogram = Histogram::new();
    (0..1_000).for_each(|at| histogram.record(base_ns + at));
    let times = Distribution::of(&histogram);
    let mut record = records::begun();
    record.status = plumb_measure::Status::Complete;
    record.validity = Validity::of([]);
    record.results = vec![ResultRecord {
        labels: labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        operations: 1_000,
        duration_ns: 1_000 * base_ns,
        throughput_per_s: 1e9 / real(base_ns),
        response_ns: times,
        validity: Validity::of([]),
        ..ResultRecord::default()
    }];
    record
}

/// Repetitions, one of them invalid, a plan of another kind, an experiment, and what cannot be read.
fn fixture() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let sweep = records::sweep();
    keep(at, "sweep-1", &again(&sweep, 1));
    keep(at, "sweep-2", &again(&sweep, 2));
    keep(at, "stalled", &again(&records::open_with_drops(), 3));
    keep(at, "pages", &again(&records::interrupted(), 4));
    let experiment = at.join("experiment");
    for (number, (variant, base_ns)) in
        [("unix", 9_000), ("tcp", 12_000), ("tcp", 12_400), ("unix", 9_200)].into_iter().enumerate()
    {
        let record = again(&run(base_ns, &[("size", "500B")]), 10 + number as u64);
        keep(&experiment.join("blocks"), &format!("{:03}-{variant}", number + 1), &record);
    }
    let order = r#"{"schema":"plumb.order/1","seed":1,
        "variants":[{"name":"tcp","command":"x"},{"name":"unix","command":"y"}],
        "blocks":[{"round":1,"variant":1,"folder":"blocks/001-unix"},
                  {"round":1,"variant":0,"folder":"blocks/002-tcp"},
                  {"round":2,"variant":0,"folder":"blocks/003-tcp"},
                  {"round":2,"variant":1,"folder":"blocks/004-unix"},
                  {"round":3,"variant":1,"folder":"blocks/005-unix","failed":"no server"}]}"#;
    fs::write(experiment.join("order.json"), order).unwrap();
    fs::write(experiment.join("comparison.json"), comparisons::better().to_json()).unwrap();
    let text = sweep.to_json();
    fs::create_dir(at.join("cut")).unwrap();
    fs::write(at.join("cut/run.json"), &text[..text.len() / 2]).unwrap();
    fs::create_dir(at.join("newer")).unwrap();
    fs::write(at.join("newer/run.json"), text.replace("plumb.run/1", "plumb.run/9")).unwrap();
    folder
}

#[test]
fn remotes_on_other_machines_make_another_plan_and_their_clocks_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let on = |host: &str, ahead: i64, minute: u64| {
        let mut record = again(&run(1_000, &[]), minute);
        let remotes = serde_json::json!([{"name": "a", "host": host, "clock-ahead-ns": ahead}]);
        record.plan.options.insert("remotes".into(), remotes);
        keep(folder.path(), &format!("run-{minute}"), &record);
    };
    on("one", 5, 1);
    on("one", -7, 2);
    on("two", 5, 3);
    let document = json(&read_all(&folder));
    assert_eq!(document["plans"].as_array().unwrap().len(), 2, "{:#}", document["plans"]);
}

#[test]
fn every_form_stands_as_it_is_and_the_page_leads_nowhere_else() {
    let folder = fixture();
    let collection = read_all(&folder);
    let place = folder.path().display().to_string();
    let page = collection::html(&collection).replace(&place, "RUNS");
    assert_balanced(&page);
    assert_self_contained(&page);
    check("collection.html", &without_script(&page));
    check("collection.md", &collection::markdown(&collection).replace(&place, "RUNS"));
    let json = collection::json(&collection).replace(&place, "RUNS");
    check("collection.json", &json);
}

#[test]
fn text_for_a_terminal_keeps_80_columns() {
    let folder = fixture();
    let collection = read_all(&folder);
    let text = collection::terminal(&collection, WIDTH);
    let place = folder.path().display().to_string();
    assert!(text.is_ascii());
    let long = |line: &&str| line.len() > 80 && !line.contains(&place) && !line.contains("-04T");
    assert_eq!(text.lines().filter(long).collect::<Vec<_>>(), Vec::<&str>::new());
}

fn check(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, got).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    let differ = got.lines().zip(expected.lines()).find(|(got, expected)| got != expected);
    assert!(
        got == expected,
        "{} differs: {differ:?}; look at it, then write it anew with UPDATE_GOLDEN=1",
        file.display()
    );
}

#[test]
fn what_cannot_be_read_is_explained_with_its_place_and_a_remedy() {
    let folder = fixture();
    let collection = read_all(&folder);
    assert!(collection.is_partial());
    let document = json(&collection);
    let unread = document["not_shown"].as_array().unwrap();
    let of = |name: &str| {
        let found = unread.iter().find(|one| one["place"].as_str().unwrap().ends_with(name));
        found.unwrap_or_else(|| panic!("{name} in {unread:#?}"))
    };
    let cut = of("/cut");
    assert!(cut["reason"].as_str().unwrap().contains("line "), "{cut}");
    assert!(cut["remedy"].as_str().unwrap().starts_with("the file ends too early"), "{cut}");
    let newer = of("/newer");
    assert!(newer["reason"].as_str().unwrap().contains("plumb.run/9"), "{newer}");
    assert!(of("005-unix")["reason"].as_str().unwrap().contains("no server"));
    assert_eq!(unread.len(), 3);
}

#[test]
fn what_is_named_must_be_readable() {
    let folder = fixture();
    let at = |name: &str| folder.path().join(name);
    let refused =
        |name: &str| match Found::at(&[at("sweep-1"), at(name)]).and_then(Collection::read) {
            Ok(_) => panic!("{name} is shown"),
            Err(error) => error.to_string(),
        };
    assert!(refused("cut").contains("cut/run.json: not a record of plumb: "), "{}", refused("cut"));
    assert!(refused("newer").contains("plumb.run/9"));
    assert!(refused("nowhere").starts_with("no run at "));
    fs::create_dir(at("empty")).unwrap();
    assert!(refused("empty").starts_with("no run at "));
}

#[test]
fn a_run_named_twice_counts_once() {
    let folder = fixture();
    let run = folder.path().join("sweep-1");
    let found = Found::at(&[run.clone(), run.join("run.json"), run.clone()]).unwrap();
    assert_eq!(found.only_run(), Some(run.as_path()));
    let all = Found::at(&[folder.path().to_path_buf(), run]).unwrap();
    assert_eq!(json(&Collection::read(all).unwrap())["runs"].as_array().unwrap().len(), 8);
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(folder.path().join("sweep-1/run.json"), copy.join("run.json")).unwrap();
    assert_eq!(json(&read_all(&folder))["runs"].as_array().unwrap().len(), 8, "its copy, too");
}

#[test]
fn of_copies_the_one_stays_that_was_named_or_has_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let record = run(1_000, &[]);
    let bare = keep(folder.path(), "a-backup", &record);
    let whole = keep(folder.path(), "run", &record);
    fs::write(whole.join("intervals.hlog"), "").unwrap();
    let shown = |paths: &[PathBuf]| {
        let all = json(&read(paths).unwrap());
        let runs: Vec<_> =
            all["runs"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
        runs
    };
    let of = |path: &Path| vec![serde_json::json!(path.display().to_string())];
    assert_eq!(shown(&[folder.path().into()]), of(&whole));
    assert_eq!(shown(&[folder.path().join("run"), bare.clone()]), of(&whole));
    let records = [&bare, &whole].map(|run| run.join("run.json"));
    assert_eq!(shown(&records).len(), 1);
    assert!(shown(&records)[0].as_str().unwrap().starts_with(whole.to_str().unwrap()));
    let other = tempfile::tempdir().unwrap();
    let named = keep(other.path(), "named", &record);
    assert_eq!(shown(&[folder.path().into(), named.clone()]), of(&named));
}

#[test]
fn repetitions_are_summed_up_without_what_is_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    for (minute, base_ns) in [(1, 10_000), (2, 10_200), (3, 90_000)] {
        let mut record = again(&run(base_ns, &[("size", "1B")]), minute);
        if base_ns > 50_000 {
            let wrong = records::nobody_there().validity;
            record.validity = wrong.clone();
            record.results[0].validity = wrong;
        }
        keep(folder.path(), &format!("run-{minute}"), &record);
    }
    let collection = read_all(&folder);
    let document = json(&collection);
    let [point] = &document["points"].as_array().unwrap()[..] else { panic!("one point") };
    assert_eq!((&point["runs"], &point["runs_in_times"]), (&3.into(), &2.into()));
    let [low, high] = [0, 1].map(|at| point["p50_range_ns"][at].as_u64().unwrap());
    assert!(low.abs_diff(10_500) <= 16 && high.abs_diff(10_700) <= 16, "{low} {high}");
    assert_eq!(point["response_ns"]["p50"], (low + high).div_ceil(2));
    assert!(point["response_ns"]["max"].as_u64().unwrap() < 20_000);
    let page = collection::html(&collection);
    assert!(page.contains("2 runs merged") && page.contains("2 of 3"), "no merged curve");
    assert!(page.find(" INVALID").unwrap() < page.find("<table").unwrap());
    assert!(page.contains("run-3: "), "the invalid run is not named");
    let text = collection::terminal(&collection, WIDTH);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("The throughput was 99.0 k/s, the median of 2 runs."), "{text}");
}

#[test]
fn a_limit_that_was_raised_is_said_with_the_counts_of_the_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let raised = |mut record: RunRecord, valid: bool| {
        let share = "100%".parse().unwrap();
        let source = plumb_measure::LimitSource::Option;
        let text = "half of them failed".to_owned();
        let (kind, scope) =
            (plumb_measure::FindingKind::Failures, plumb_measure::Scope::Everything);
        let found = (!valid).then_some(plumb_measure::Finding { kind, scope, text });
        let limit = Some(plumb_measure::ForeignLimit { share, source });
        record.validity = Validity { foreign_limit: limit, ..Validity::of(found) };
        record.results[0].validity = record.validity.clone();
        record
    };
    let one = run(10_000, &[]);
    keep(folder.path(), "1", &raised(again(&one, 1), true));
    keep(folder.path(), "2", &raised(again(&one, 2), true));
    keep(folder.path(), "3", &raised(again(&one, 3), false));
    let text = collection::terminal(&read_all(&folder), WIDTH);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "Of 3 runs: 2 valid, 1 invalid as a whole or in part, limit of 2 runs raised to 100 %. \
                What is not valid is marked; its operations, failures and dropped work are counted, and \
                it has no part in any other figure over several runs.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_machine_that_was_busy_in_one_run_of_three_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    for (minute, busy_pct) in [(1, 40.0), (2, 99.0), (3, 41.0)] {
        let mut record = again(&run(10_000 + minute, &[("size", "1B")]), minute);
        record.results[0].host = Some(HostUse { busy_pct: Some(busy_pct), ..HostUse::default() });
        keep(folder.path(), &format!("run-{minute}"), &record);
    }
    let text = collection::markdown(&read_all(&folder));
    assert!(text.contains("The machine that drove the load was up to 99 % busy"), "{text}");
}

#[test]
fn failures_of_a_run_that_is_not_valid_are_counted_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for minute in [1, 2] {
        let mut record = again(&run(10_000 + minute, &[("size", "1B")]), minute);
        if minute == 2 {
            let wrong = records::nobody_there();
            record.validity = wrong.validity.clone();
            record.results[0].validity = wrong.validity.clone();
            record.results[0].failures.clone_from(&wrong.results[0].failures);
        }
        keep(folder.path(), &format!("run-{minute}"), &record);
    }
    let collection = read_all(&folder);
    let point = &json(&collection)["points"][0];
    assert_eq!((&point["failures"], &point["operations"]), (&5.into(), &2_000.into()));
    let said =
        "its operations, failures and dropped work are counted, and it has no part in any other";
    for text in [collection::markdown(&collection), collection::html(&collection)] {
        assert!(text.contains(said), "{text}");
    }
    assert!(collection::html(&collection).contains("dropped work are counted over all runs"));
}

#[test]
fn what_changes_no_answer_and_options_that_are_not_used_split_no_plan() {
    let folder = tempfile::tempdir().unwrap();
    let asked = |minute: u64, options: serde_json::Value| {
        let mut record = again(&run(10_000 + minute, &[("size", "1B")]), minute);
        let options = options.as_object().cloned().unwrap_or_default();
        record.plan.options.extend(options);
        keep(folder.path(), &format!("run-{minute}"), &record);
    };
    asked(1, serde_json::json!({}));
    asked(2, serde_json::json!({"credentials": null, "nagle": false, "pin": [], "proxy": "none"}));
    asked(3, serde_json::json!({"connect-timeout": "9s", "interval": "10ms", "lag": "2ms"}));
    let collection = read_all(&folder);
    let document = json(&collection);
    assert_eq!(document["plans"].as_array().unwrap().len(), 1, "{:#}", document["plans"]);
    let page = collection::html(&collection);
    let line = page.split("class=\"line s0\" d=\"").nth(1).expect("a trend");
    let path = line.split('"').next().unwrap_or_default();
    assert_eq!(path.matches(['M', 'L']).count(), 3, "a line over three runs: {path}");
}

#[test]
fn runs_of_different_plans_are_never_averaged_or_merged() {
    let folder = tempfile::tempdir().unwrap();
    let one = run(10_000, &[("size", "1B")]);
    let mut other = again(&run(30_000, &[("size", "1B")]), 5);
    other.plan.options.insert("nagle".into(), serde_json::json!(true));
    keep(folder.path(), "one", &one);
    keep(folder.path(), "other", &other);
    let mut elsewhere = again(&one, 6);
    elsewhere.host.kernel = "Linux 9.9.9".into();
    keep(folder.path(), "elsewhere", &elsewhere);
    let collection = read_all(&folder);
    let document = json(&collection);
    assert_eq!(document["plans"].as_array().unwrap().len(), 3);
    assert!(document["points"].as_array().unwrap().iter().all(|point| point["runs"] == 1));
    let page = collection::html(&collection);
    assert!(
        !page.contains("runs merged)") && page.contains("These plans were not measured in turns")
    );
    assert!(page.contains("Linux 9.9.9"), "the kernels are not told apart");
}

#[test]
fn variants_of_an_experiment_are_told_apart_although_their_plans_are_the_same() {
    let folder = fixture();
    let collection = read(&[folder.path().join("experiment")]).unwrap();
    let document = json(&collection);
    let points = document["points"].as_array().unwrap();
    let medians: BTreeMap<&str, u64> = points
        .iter()
        .map(|point| {
            let name = point["labels"]["variant"].as_str().unwrap();
            (name, point["response_ns"]["p50"].as_u64().unwrap())
        })
        .collect();
    assert!(medians["tcp"] > 12_000 && medians["unix"] < 10_000, "{medians:?}");
    assert!(points.iter().all(|point| point["runs"] == 2));
    let page = collection::html(&collection);
    assert!(page.contains("class=\"forest\"") && page.contains("class=\"forest ladder\""));
    assert_self_contained(&page);
}

#[test]
fn of_many_runs_the_page_stays_small_and_says_what_it_leaves_out() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..1_020u64 {
        let size = format!("{}B", number % 40 * 100 + 100);
        let labels = [("size", size.as_str()), ("connections", "1")];
        let mut record = again(&run(10_000 + number, &labels), number % 60);
        record.plan.options.insert("size".into(), serde_json::json!([size]));
        keep(folder.path(), &format!("{number:05}"), &record);
    }
    let collection = read_all(&folder);
    let page = collection::html(&collection);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("1,000 of 1,020 rows, evenly spread"), "no word on the rows left out");
    assert!(page.contains("<details class=\"long\">"));
    assert_self_contained(&page);
    let document = json(&collection);
    assert_eq!(document["runs"].as_array().unwrap().len(), 1_020);
    assert_eq!(document["points"].as_array().unwrap().len(), 40);
}

#[test]
fn an_experiment_of_many_points_keeps_the_page_small() {
    let folder = fixture();
    let mut compared = comparisons::better();
    let one = compared.contrasts[0].clone();
    compared.contrasts = (1..=120)
        .map(|at| {
            let mut next = one.clone();
            next.labels.insert("size".into(), format!("{}B", at * 100));
            next
        })
        .collect();
    let file = folder.path().join("experiment/comparison.json");
    fs::write(file, compared.to_json()).unwrap();
    let collection = read(&[folder.path().join("experiment")]).unwrap();
    let page = collection::html(&collection);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("Better in 120 contrasts."), "no sum of the verdicts");
    assert!(page.contains("16 of 120 points") && page.contains("Effect by size: median"));
    assert_self_contained(&page);
}

#[test]
fn names_never_become_markup() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "<script>alert(1)</script>\"'&\u{1b}[31m";
    for minute in [1, 2] {
        let mut record = again(&run(10_000, &[("size", hostile)]), minute);
        record.target.address = format!("{hostile}{minute}");
        record.plan.options.insert(hostile.into(), serde_json::json!(minute));
        record.plan.command = vec![hostile.into()];
        keep(folder.path(), &format!("<b>{minute}"), &record);
    }
    let collection = read_all(&folder);
    let page = collection::html(&collection);
    assert_balanced(&page);
    assert_self_contained(&page);
    assert!(!collection::terminal(&collection, WIDTH).contains('\u{1b}'));
}
