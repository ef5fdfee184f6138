//! Tables that were published, checked.
#![allow(
    clippy::float_cmp,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should end, and its figures are exact"
)]

use std::path::Path;

use plumb_check::{Disagreement, Finding, Report};

fn report(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/published").join(name);
    plumb_check::open(&path).unwrap().check()
}

fn of<'r>(report: &'r Report, row: &str, kind: Disagreement) -> &'r Finding {
    report
        .findings()
        .iter()
        .find(|finding| finding.row == row && finding.kind == kind)
        .unwrap_or_else(|| panic!("no {kind:?} in row {row}: {:#?}", report.findings()))
}

#[test]
fn processor_shares_that_do_not_add_up_are_found() {
    let report = report("smc-r-cpu.csv");
    let mut rows: Vec<&str> = report.findings().iter().map(|found| found.row.as_str()).collect();
    rows.dedup();
    assert_eq!(rows, ["5", "8"], "{:#?}", report.findings());
    let shares = of(&report, "5", Disagreement::Shares);
    assert_eq!(shares.printed, "3.9 + 19 + 72.1 = 95");
    let cpu = of(&report, "5", Disagreement::Formula);
    assert_eq!((cpu.column.as_str(), cpu.printed.as_str()), ("CPU %", "22.9"));
    assert_eq!(cpu.formula, "100 - [Idle %]");
    assert_eq!(
        shares.to_string(),
        "line 11 (5), User % + Sys % + Idle %: 3.9 + 19 + 72.1 = 95, expected 100 from parts of \
         100; likely a share is missing or too small by 5"
    );
}

#[test]
fn a_throughput_that_no_link_carries_and_a_wrong_base_are_found() {
    let report = report("smc-r-throughput.csv");
    let link = of(&report, "10000", Disagreement::Link);
    assert!(link.likely.as_deref().unwrap_or_default().contains("separator"), "{link}");
    let links = report.findings().iter().filter(|found| found.kind == Disagreement::Link).count();
    assert_eq!(links, 18, "every figure of the table");
    let improvement = of(&report, "500", Disagreement::Improvement);
    let likely = improvement.likely.as_deref().unwrap_or_default();
    assert!(likely.contains("percentage of optimised"), "{improvement}");
    assert!(improvement.expected.starts_with("18.71"), "{improvement}");
}

#[test]
fn tables_that_are_right_raise_no_alarm() {
    for name in [
        "smc-r-latency.csv",
        "smc-r-both.csv",
        "smc-r-seconds.csv",
        "one-client.csv",
        "host-counters.csv",
    ] {
        let report = report(name);
        assert!(report.findings().is_empty(), "{name}: {:#?}", report.findings());
        assert!(report.checks() >= 6, "{name}: only {} checks", report.checks());
    }
}

#[test]
fn a_gain_in_percent_of_the_new_figure_is_found() {
    let report = report("smc-r-locks.csv");
    let expected: Vec<&str> =
        report.findings().iter().map(|found| found.expected.as_str()).collect();
    assert_eq!(expected.len(), 2, "{:#?}", report.findings());
    assert!(expected[0].starts_with("8.61") && expected[1].starts_with("4.72"), "{expected:?}");
}

/// What the chapter of examples quotes, without its line breaks.
#[test]
fn the_chapter_of_published_tables_quotes_what_is_found() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/network-examples.md");
    let chapter = std::fs::read_to_string(path).unwrap();
    let words = chapter.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut quoted: Vec<String> = Vec::new();
    for name in ["smc-r-cpu.csv", "smc-r-locks.csv"] {
        quoted.extend(report(name).findings().iter().map(ToString::to_string));
    }
    let throughput = report("smc-r-throughput.csv");
    quoted.push(of(&throughput, "500", Disagreement::Link).to_string());
    quoted.push(of(&throughput, "500", Disagreement::Improvement).to_string());
    for finding in quoted {
        assert!(words.contains(&finding), "not quoted: {finding}");
    }
}

#[test]
fn an_average_beyond_its_maximum_is_found_where_these_are_rows() {
    let text = "# rows: Average between Min and Max\nstatistic,cpu\nMin,1.0\nAverage,7.0\nMax,5.0\n\
                Average,3\nMin,2\nMax,5\n";
    let report = plumb_check::read_csv(text).unwrap().check();
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!((finding.line, finding.kind), (4, Disagreement::Extremes));
}

#[test]
fn json_is_checked_alike() {
    let text = r#"{"link": "1 Gbit/s",
        "columns": ["run", {"name": "rate", "unit": "MB/s"},
                    {"name": "sum", "unit": "MB", "total": "rate over 10 s"}],
        "rows": [["a", "1.234", "12.3"], ["b", "1,234", "12.3"], {"run": "c", "rate": 2, "sum": 90}]}"#;
    let report = plumb_check::read_json(text).unwrap().check();
    let seen: Vec<(&str, Disagreement)> =
        report.findings().iter().map(|found| (found.row.as_str(), found.kind)).collect();
    assert_eq!(
        seen,
        [("b", Disagreement::Link), ("b", Disagreement::Total), ("c", Disagreement::Total)]
    );
}

/// The indented lines of the documentation from one that starts with `first` on.
fn example(first: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(""));
    let block =
        lines.skip_while(|line| !line.starts_with(first)).take_while(|line| !line.is_empty());
    block.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    let csv = plumb_check::read_csv(&example("# link")).unwrap().check();
    assert!(csv.findings().is_empty() && csv.checks() == 6, "{csv:#?}");
    let json = plumb_check::read_json(&example("{\"link\"")).unwrap();
    assert_eq!((json.rows(), json.columns().count()), (2, 5));
    let finding = report("smc-r-cpu.csv").findings()[1].to_string();
    assert_eq!(example("line 11").replace('\n', " "), finding);
}
