//! Whatever a recording holds, its page and its Markdown show it, and nothing of it becomes markup.

#[path = "../../plumb-report/tests/page/mod.rs"]
mod page;

use page::{assert_balanced, assert_self_contained};
use plumb_show::recording::{
    self, ChartTime, Check, Command, Counter, Fact, HistoryChart, JoinedCounter, Key, Recording,
    Recordings, Remark, Series, Together,
};

const HOSTILE: &str = "</style></svg><script>alert(1)</script>\"'&|`";

fn assert_sound(page: &str) {
    assert_self_contained(page);
    assert!(!page.contains("href="), "there is nothing to lead to");
    assert_balanced(page);
}

fn page(list: Vec<Recording>) -> Recordings {
    let figures = vec![Some([Some(1.5), None, Some(f64::NAN)]), None];
    let row = JoinedCounter { name: HOSTILE.into(), unit: HOSTILE.into(), figures };
    let together = Together {
        names: vec![HOSTILE.into(), "b".into()],
        rows: vec![row],
        doubts: vec![HOSTILE.into()],
    };
    let together = Some(together).filter(|_| list.len() > 1);
    Recordings { version: "0.0.0".into(), together, list }
}

/// A recording of `count` moments, each 2 s after the one before, with all that one can have.
fn full(words: &str, count: u32) -> Recording {
    let remark = || Remark { line: 7, text: words.into() };
    let values = |factor: f64| (0..count).map(|at| f64::from(at % 50) * factor).collect();
    let series = |name: &str, factor| Series { name: name.into(), values: values(factor) };
    let chart = HistoryChart {
        title: words.into(),
        axis: words.into(),
        unit: "%".into(),
        series: vec![series(words, 1.0), series("half", 0.5), series("none", 0.0)],
        notes: vec![words.into()],
        ..HistoryChart::default()
    };
    Recording {
        host: words.into(),
        about: words.into(),
        file: words.into(),
        keys: vec![Key { name: words.into(), value: words.into(), about: words.into() }],
        counters: vec![Counter {
            name: words.into(),
            unit: words.into(),
            average: Some(1_234.5),
            min: None,
            max: Some(f64::INFINITY),
            missing: 3,
            source: words.into(),
        }],
        totals: vec![Fact { name: words.into(), value: words.into() }],
        commands: vec![Command {
            name: words.into(),
            cpu_s: 1.0,
            cpu_max_percent: 99.0,
            resident_max_kib: Some(2_048.0),
        }],
        time: ChartTime {
            clock_s: Some(1_795_219_200),
            at_s: (0..count).map(|at| f64::from(at) * 2.0).collect(),
        },
        charts: vec![chart.clone()],
        further: vec![chart],
        notes: vec![words.into()],
        facts: vec![Fact { name: words.into(), value: words.into() }],
        check: Check { comparisons: 4, findings: vec![remark(); 9], left_out: 2 },
        troubles: vec![remark(); 8],
        troubles_left_out: 11,
    }
}

#[test]
fn text_of_a_recording_never_becomes_markup() {
    for list in [vec![full(HOSTILE, 10)], vec![full(HOSTILE, 10), full(HOSTILE, 3_000)]] {
        let shown = page(list);
        assert_sound(&recording::html(&shown));
        let text = recording::markdown(&shown);
        assert!(!text.replace("\\<", "").contains("<script"), "{text}");
        assert!(text.contains("1,234.50 | - | - |"), "{text}");
    }
}

#[test]
fn a_recording_without_anything_is_shown_all_the_same() {
    let empty = recording::html(&page(vec![Recording::default()]));
    assert_sound(&empty);
    assert!(empty.contains("NOT CHECKED"));
    assert!(!empty.contains("<svg"));
    let none = recording::html(&page(Vec::new()));
    assert_sound(&none);
    assert!(none.contains("No recordings"));
    assert_eq!(recording::markdown(&page(Vec::new())), "");
}

#[test]
fn one_snapshot_draws_nothing() {
    assert!(!recording::html(&page(vec![full("h", 1)])).contains("<svg"));
}

#[test]
fn a_long_recording_keeps_its_peak_and_a_small_page() {
    let mut long = full("h", 200_000);
    long.further.clear();
    long.charts[0].series.truncate(1);
    long.charts[0].series[0].values = vec![1.0; 200_000];
    long.charts[0].series[0].values[123_456] = 80.0;
    let page = recording::html(&page(vec![long]));
    assert!(page.contains("Each place joins the moments of"), "it says that figures are joined");
    assert!(page.contains("(1.00\u{a0}% to 80.0\u{a0}%)"), "the peak is told");
    let (_, shade) = page.split_once("class=\"spread s0\" d=\"").expect("a shade");
    let (shade, _) = shade.split_once('"').expect("its end");
    let heights: Vec<f64> = shade
        .split(['M', 'L', 'Z'])
        .filter_map(|point| point.split_once(' ')?.1.parse().ok())
        .collect();
    assert!(heights.len() <= 700, "{}", heights.len());
    // the axis ends at the peak, and its coordinates fall upwards
    let top = heights.iter().copied().fold(f64::MAX, f64::min);
    assert!((top - 28.0).abs() < 0.1, "{top}");
    assert!(page.len() < 100_000, "{}", page.len());
}

#[test]
fn findings_and_troubles_come_before_any_figure() {
    let page = recording::html(&page(vec![full("h", 10)]));
    assert!(page.find("NOT CONSISTENT").unwrap() < page.find("<table").unwrap());
    assert!(page.contains("11 figures cannot be true beside the others, in 4 comparisons."));
    assert!(page.contains("19 remarks"));
    assert!(page.contains("<summary>4 more</summary>"));
}
