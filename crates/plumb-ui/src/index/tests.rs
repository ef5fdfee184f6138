//! The index against folders that tests make.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

/// A run of `net ping`, as far as the index reads it.
fn record(started: &str, target: &str, median_ns: u64) -> String {
    let mut histogram = plumb_measure::Histogram::new();
    (0..100).for_each(|_| histogram.record(median_ns));
    let times = plumb_measure::Distribution::of(&histogram);
    serde_json::json!({
        "schema": plumb_measure::SCHEMA,
        "plumb": {"version": "0.1.0"},
        "started": started,
        "status": "complete",
        "plan": {"layer": "net", "verb": "ping", "command": ["plumb", "net", "ping"],
            "options": {"size": ["500B"], "seed": started.len(), "for": "1s"},
            "load": "closed", "seed": 1},
        "host": {"name": "vm", "kernel": "Linux", "cpus": 2, "placement": "free",
            "clock": "tsc", "clock_read_ns": 20},
        "target": {"address": target},
        "validity": {"valid": true, "latency_valid": true, "reasons": []},
        "results": [{"labels": {}, "operations": 100, "failures": {}, "dropped": 0,
            "duration_ns": 1_000_000_000, "throughput_per_s": 100.0, "response_ns": times,
            "bytes_sent": 0, "bytes_received": 0,
            "validity": {"valid": true, "latency_valid": true, "reasons": []},
            "driver": {"wait": "blocking", "threads": 1, "passes": 0, "idle_passes": 0,
                "quiet_closes": 0}}],
    })
    .to_string()
}

fn put(root: &Path, folder: &str, text: &str) {
    fs::create_dir_all(root.join(folder)).unwrap();
    fs::write(root.join(folder).join("run.json"), text).unwrap();
}

/// Looks at the folders of `index` `times` times, each to its end.
fn look(index: &Index, times: usize) {
    let (keeper, woken) = Keeper::new();
    let over = AtomicBool::new(false);
    let ended = &over;
    std::thread::scope(|threads| {
        let working = keeper.clone();
        threads.spawn(move || {
            working.work(index, &woken, || ended.load(Ordering::Relaxed));
        });
        for _ in 0..times {
            let progress = keeper.refresh(Duration::from_secs(120));
            assert_eq!((progress.busy, progress.trouble), (false, None));
        }
        ended.store(true, Ordering::Relaxed);
        keeper.wake();
    });
}

fn paths(index: &Index, query: &[(&str, &str)]) -> Vec<String> {
    let pairs: Vec<(String, String)> =
        query.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let list = index.list(&Filter::of(&pairs)).unwrap();
    assert_eq!(list.rows.len(), list.found);
    list.rows.into_iter().map(|row| row.path).collect()
}

#[test]
fn what_changes_in_the_folders_changes_in_the_index() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    put(root, "b", &record("2026-11-22T10:00:00Z", "db2", 2_000));
    let index = Index::open(root).unwrap();
    assert_eq!(index.in_memory, None);
    look(&index, 1);
    assert_eq!(paths(&index, &[]), ["b", "a"]);
    let row = index.find("a").unwrap().unwrap();
    assert_eq!((row.verdict.as_str(), row.p50, row.kind.as_str()), ("valid", Some(1_000), "run"));
    assert_eq!(row.detail, "");
    put(root, "c", &record("2026-11-23T10:00:00Z", "db1", 3_000));
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 9_000_000));
    fs::remove_dir_all(root.join("b")).unwrap();
    look(&index, 1);
    assert_eq!(paths(&index, &[]), ["c", "a"]);
    assert!(index.find("a").unwrap().unwrap().p50 > Some(8_000_000));
    // looked at again, nothing is read again, and nothing is there twice
    look(&index, 2);
    let (name, points) = index.series(&row.series).unwrap().unwrap();
    assert_eq!(name, "net ping db1, from vm");
    let medians = points.iter().filter(|point| point.name == "median response time");
    assert_eq!(medians.map(|point| point.path.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert!(index.series("").unwrap().is_none() && index.series("x").unwrap().is_none());
}

#[test]
fn parts_of_checkups_are_of_one_series_whatever_was_drawn_for_them() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let part = |port: u16, folder: &str, clock_ns: u64| {
        let mut part: serde_json::Value =
            serde_json::from_str(&record("2026-11-21T10:00:00Z", "a mix", clock_ns)).unwrap();
        let page = format!("http://127.0.0.1:{port}/page");
        part["plan"]["options"] = serde_json::json!({
            "url": [page, page], "pair": [page], "base": page, "size": "1KB",
            "credentials": format!("/tmp/plumb-checkup-{folder}/demo"), "first-number": clock_ns,
            "jtl": format!("{folder}.jtl"), "interval": "1s", "seed": clock_ns,
            "remotes": [{"name": "local-1", "clock-ahead-ns": clock_ns}],
        });
        part.to_string()
    };
    put(root, "a", &part(40_123, "x1", 1_000));
    put(root, "b", &part(40_124, "y2", 2_000));
    put(root, "c", &part(40_124, "y2", 2_000).replace("1KB", "2KB"));
    put(root, "d", &part(40_124, "y2", 2_000).replace("/demo", "/other"));
    put(root, "e", &part(8_000, "y2", 2_000));
    let index = Index::open(root).unwrap();
    look(&index, 1);
    let all = index.all_series().unwrap();
    let mut runs: Vec<_> = all.iter().map(|series| series.runs).collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 1, 1, 2]);
}

#[test]
fn a_ladder_is_one_line_and_its_steps_are_parts_of_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let step = |at: u32| format!("lad/blocks/00{at}-users-{at}");
    put(root, &step(1), &record("2026-11-21T10:00:00Z", "db1", 1_000));
    fs::create_dir_all(root.join(step(2))).unwrap();
    let log = "#[Histogram log format version 1.3]\n\
               #[StartTime: 1795255204.626 (seconds since epoch), 2026-11-21T10:00:04Z]\n";
    fs::write(root.join(step(2)).join("intervals.hlog"), log).unwrap();
    let index = Index::open(root).unwrap();
    look(&index, 1);
    assert_eq!(paths(&index, &[]), [step(2), step(1)]);
    let series = |path: &str| {
        let row = index.find(path).unwrap().unwrap();
        index.series_of(&row).unwrap().to_owned()
    };
    let alone = series(&step(1));
    assert!(index.series(&alone).unwrap().is_some(), "{alone}");
    let started_ns = index.find(&step(2)).unwrap().unwrap().started_ns;
    assert_eq!(started_ns, 1_795_255_204_626_000_000, "by its log, where its name does not tell");
    // the steps were there before anything said what they are steps of
    let ladder = "{\"schema\":\"plumb.ladder/1\",\"started\":\"2026-11-21T09:59:00Z\",\
                  \"stepped\":\"users\",\"steps\":[{\"level\":1,\"counts\":true}]}";
    fs::write(root.join("lad/ladder.json"), ladder).unwrap();
    look(&index, 1);
    assert_eq!(paths(&index, &[]), ["lad"]);
    assert_eq!(paths(&index, &[("kind", "ladder"), ("parts", "yes")]), ["lad"]);
    assert_eq!(paths(&index, &[("parts", "yes")]), [step(2), step(1), "lad".into()]);
    let row = index.find("lad").unwrap().unwrap();
    assert_eq!((row.command.as_str(), row.target.as_str()), ("ladder", "users 1"));
    assert!(index.all_series().unwrap().is_empty(), "steps are varied on purpose");
    assert_eq!(series(&step(1)), "", "a page of a step leads to no series");
}

#[test]
fn a_database_over_tls_is_of_another_series_than_one_without() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let plain = record("2026-11-21T10:00:00Z", "db1", 1_000).replace("\"net\"", "\"db\"");
    let way = |tls: serde_json::Value| {
        let way = serde_json::json!({"kind": "tcp", "local": "a:1", "peer": "b:2", "tls": tls});
        let with = format!("\"address\":\"db1\",\"transport\":{way}");
        plain.replace("\"address\":\"db1\"", &with)
    };
    put(root, "a", &plain);
    put(root, "b", &way(serde_json::Value::Null));
    put(root, "c", &way("TLSv1.2 X".into()));
    put(root, "d", &way("TLSv1.3 Y".into()));
    let index = Index::open(root).unwrap();
    look(&index, 1);
    let name = |path: &str| {
        let row = index.find(path).unwrap().unwrap();
        index.series(&row.series).unwrap().unwrap().0
    };
    assert_eq!(name("a"), "db ping db1, from vm");
    assert_eq!(name("c"), "db ping db1 over TLS, from vm");
    assert_eq!((name("b"), name("d")), (name("a"), name("c")));
}

#[test]
fn a_run_in_which_nothing_failed_has_a_share_of_failures() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let lossy = "\"failures\":{\"timed-out\":100}";
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    let second = record("2026-11-22T10:00:00Z", "db1", 1_000);
    put(root, "b", &second.replace("\"failures\":{}", lossy));
    let index = Index::open(root).unwrap();
    look(&index, 1);
    let row = index.find("a").unwrap().unwrap();
    let (_, points) = index.series(&row.series).unwrap().unwrap();
    let failed = points.iter().filter(|point| point.name == "failed");
    let failed: Vec<_> = failed.map(|point| (point.path.as_str(), point.value)).collect();
    assert_eq!(failed, [("a", 0.0), ("b", 50.0)]);
}

#[test]
fn runs_are_found_by_words_and_by_what_they_are() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    put(root, "b", &record("2026-11-22T10:00:00Z", "DB2", 2_000));
    put(root, "whole/parts/c", &record("2026-11-23T10:00:00Z", "db1", 2_000));
    fs::write(root.join("whole/checkup.json"), "{").unwrap();
    put(root, "<script>alert(1)</script>", "{");
    let index = Index::open(root).unwrap();
    look(&index, 1);
    assert_eq!(paths(&index, &[("q", "db2 PING")]), ["b"]);
    assert_eq!(paths(&index, &[("q", "db' OR 1=1 --")]), Vec::<String>::new());
    assert_eq!(paths(&index, &[("target", "db1")]), ["a"]);
    assert_eq!(paths(&index, &[("target", "db1"), ("parts", "yes")]), ["whole/parts/c", "a"]);
    assert_eq!(paths(&index, &[("from", "2026-11-22"), ("to", "2026-11-22")]), ["b"]);
    assert_eq!(paths(&index, &[("kind", "checkup")]), ["whole"]);
    let broken = paths(&index, &[("verdict", "cannot be read")]);
    assert_eq!(broken, ["<script>alert(1)</script>", "whole"]);
    let reason = index.find("whole").unwrap().unwrap().detail;
    assert!(reason.contains("ends too early"), "{reason}");
}

#[test]
fn a_path_that_is_not_in_the_index_leads_nowhere() {
    let root = tempfile::tempdir().unwrap();
    put(&root.path().join("runs"), "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    put(root.path(), "secret", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    let index = Index::open(&root.path().join("runs")).unwrap();
    look(&index, 1);
    for path in ["../secret", "a/../../secret", "/etc", "", ".", "a/", "./a", "A", "a\0"] {
        assert_eq!(index.find(path).unwrap(), None, "{path}");
    }
    assert!(index.find("a").unwrap().is_some());
}

#[test]
fn a_damaged_index_and_one_of_another_version_are_made_again() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    look(&Index::open(root).unwrap(), 1);
    assert_eq!(paths(&Index::open(root).unwrap(), &[]), ["a"]);
    fs::write(root.join(FILE), "x".repeat(20_000)).unwrap();
    let index = Index::open(root).unwrap();
    assert_eq!((index.in_memory.clone(), paths(&index, &[])), (None, Vec::new()));
    look(&index, 1);
    assert_eq!(paths(&index, &[]), ["a"]);
    index.lock().pragma_update(None, "user_version", 99).unwrap();
    drop(index);
    assert_eq!(paths(&Index::open(root).unwrap(), &[]), Vec::<String>::new());
}

#[test]
fn where_no_file_can_be_kept_there_is_memory() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "a", &record("2026-11-21T10:00:00Z", "db1", 1_000));
    fs::create_dir(root.join(FILE)).unwrap();
    let index = Index::open(root).unwrap();
    assert!(index.in_memory.is_some());
    look(&index, 1);
    assert_eq!(paths(&index, &[]), ["a"]);
}

#[test]
fn series_of_one_name_are_called_by_the_options_in_which_they_differ() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let run = |connections: &str| {
        let mut record: serde_json::Value =
            serde_json::from_str(&record("2026-11-21T10:00:00Z", "db1", 1_000)).unwrap();
        record["plan"]["options"]["connections"] = serde_json::json!([connections]);
        record.to_string()
    };
    put(root, "a", &run("2"));
    put(root, "b", &run("10"));
    let tls = run("2").replace("\"connections\"", "\"tls\":true,\"connections\"");
    put(root, "c", &tls);
    put(root, "other", &record("2026-11-21T10:00:00Z", "db2", 1_000));
    let index = Index::open(root).unwrap();
    look(&index, 1);
    let mut all = index.all_series().unwrap();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "net ping db1, from vm (connections 10, no tls)",
            "net ping db1, from vm (connections 2, no tls)",
            "net ping db1, from vm (connections 2, tls true)",
            "net ping db2, from vm",
        ]
    );
    let page = index.series(&all[0].series).unwrap().unwrap();
    assert_eq!(page.0, names[0]);
}

#[test]
fn series_are_told_apart_by_what_differs_at_the_end_of_a_long_option() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let statement = |columns: &str, carrier: &str| {
        format!(
            "select {columns}, price, currency, planetype from sflight where carrid = '{carrier}'"
        )
    };
    let asks = |rate: u64, statement: &str| {
        let mut record: serde_json::Value =
            serde_json::from_str(&record("2026-11-21T10:00:00Z", "db1", 1_000)).unwrap();
        record["plan"]["options"]["statement"] = statement.into();
        record["plan"]["options"]["rate"] = rate.into();
        let name = format!("{rate}{statement}").replace(|c: char| !c.is_alphanumeric(), "");
        put(root, &name, &record.to_string());
    };
    let index = Index::open(root).unwrap();
    let named = |now, expected: &[String]| {
        look(&index, now);
        let all = index.all_series().unwrap();
        let mut names: Vec<String> = all.into_iter().map(|it| it.name).collect();
        names.sort();
        let words = expected.iter().map(|words| format!("net ping db1, from vm ({words})"));
        let mut expected: Vec<String> = words.collect();
        expected.sort();
        assert_eq!(names, expected);
    };
    let ends = |carrier: &str| format!("statement ...here carrid = '{carrier}'");
    let carriers = ["AA", "LH"];
    carriers.iter().for_each(|carrier| asks(10, &statement("connid, fldate", carrier)));
    named(1, &carriers.map(ends));
    // beside one that differs from its beginning on
    asks(10, "delete from sflight");
    let other = "statement delete from sflight".to_owned();
    named(2, &[ends("AA"), ends("LH"), other]);
    // what tells groups of them apart is kept
    carriers.iter().for_each(|carrier| asks(20, &statement("connid, fldate", carrier)));
    let with = |rate: u64| carriers.map(|carrier| format!("rate {rate}, {}", ends(carrier)));
    let other = ["rate 10, statement delete from sflight".to_owned()];
    named(3, &[&with(10)[..], &with(20), &other].concat());
    // and so is a beginning
    carriers.iter().for_each(|carrier| asks(10, &statement("seatsmax, seatsocc", carrier)));
    let begins = |columns: &str, carrier: &str| {
        let start: String = statement(columns, carrier).chars().take(60).collect();
        format!("rate 10, statement {start}...: rate 10, {}", ends(carrier))
    };
    let of = |columns: &str| carriers.map(|carrier| begins(columns, carrier));
    let all = [&of("connid, fldate")[..], &of("seatsmax, seatsocc"), &with(20), &other].concat();
    named(4, &all);
}

#[test]
fn a_raised_limit_of_foreign_load_stands_beside_the_verdict_in_the_list() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut raised: serde_json::Value =
        serde_json::from_str(&record("2026-11-21T10:00:00Z", "db1", 1_000)).unwrap();
    raised["validity"]["foreign_limit"] =
        serde_json::json!({"share": "100%", "source": "environment"});
    put(root, "raised", &raised.to_string());
    raised["validity"]["reasons"] =
        serde_json::json!([{"kind": "few-samples", "scope": "nothing", "text": "few of them"}]);
    put(root, "few", &raised.to_string());
    raised["validity"]["valid"] = serde_json::json!(false);
    raised["validity"]["reasons"][0]["scope"] = serde_json::json!("everything");
    put(root, "invalid", &raised.to_string());
    let index = Index::open(root).unwrap();
    look(&index, 1);
    let shown = |path: &str| {
        let row = index.find(path).unwrap().unwrap();
        (row.verdict, row.detail)
    };
    let of = |verdict: &str, detail: &str| (verdict.to_owned(), detail.to_owned());
    assert_eq!(shown("raised"), of("valid", "limit raised to 100 %"));
    assert_eq!(shown("few"), of("valid", "limit raised to 100 %; few of them"));
    assert_eq!(shown("invalid"), of("invalid", "few of them"), "nothing stands under it");
}
