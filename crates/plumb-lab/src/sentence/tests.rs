//! What is said of contrasts that were made up.

use super::*;
use plumb_comparison::{BlockFigures, Checks, FigureUnit, Role};
use plumb_measure::ForeignLimit;
use plumb_measure::statistics::Interval;

fn endpoint(key: &str, ratio: f64, low: f64, high: f64, verdict: Option<Verdict>) -> Endpoint {
    let pair = BlockFigures { round: 1, baseline: Some(1.0), candidate: Some(ratio) };
    Endpoint {
        key: key.into(),
        name: match key {
            "p50" => "median response time",
            "throughput" | "mean" => key,
            _ => "CPU per operation",
        }
        .into(),
        unit: FigureUnit::Ns,
        better: if key == "throughput" { Better::Higher } else { Better::Lower },
        role: verdict.map_or(Role::Described, |_| Role::Primary),
        baseline: 1.0,
        candidate: ratio,
        blocks: vec![pair; 10],
        ratio: Some(ratio),
        interval: Some(Interval { low, high, level: 0.9575 }),
        intervals_of_time: None,
        lower_bound: None,
        p: verdict.map(|_| 0.001),
        p_adjusted: verdict.map(|_| 0.001),
        verdict,
    }
}

fn contrast(endpoints: Vec<Endpoint>) -> Contrast {
    Contrast {
        baseline: "baseline".into(),
        candidate: "candidate".into(),
        labels: std::collections::BTreeMap::new(),
        same_treatment: false,
        sentence: String::new(),
        endpoints,
        checks: Checks::default(),
        tails: Vec::new(),
    }
}

fn of(endpoints: Vec<Endpoint>) -> String {
    sentence(&contrast(endpoints), &Around::default())
}

#[test]
fn faster_is_said_with_the_true_level_and_the_price_behind_it() {
    let time = endpoint("p50", 0.852, 0.845, 0.859, Some(Verdict::Better));
    let cpu = endpoint("client-cpu", 1.001, 0.996, 1.006, None);
    assert_eq!(
        of(vec![time, cpu]),
        "candidate is 14.8 % faster at the median (95.75 % interval +14.1 to +15.5 %), CPU per \
         operation -0.10 % (-0.60 to +0.40 %), not tested; + is better."
    );
}

#[test]
fn slower_and_lower_throughput_are_counted_from_the_baseline() {
    let time = endpoint("p50", 1.052, 1.05, 1.054, Some(Verdict::Worse));
    assert_eq!(
        of(vec![time]),
        "candidate is 5.2 % slower at the median (95.75 % interval -5.4 to -5.0 %); + is better."
    );
    let rate = endpoint("throughput", 0.9, 0.88, 0.92, Some(Verdict::Worse));
    assert_eq!(
        of(vec![rate]),
        "candidate is 10.0 % lower in throughput (95.75 % interval -12.0 to -8.0 %); + is better."
    );
}

#[test]
fn a_difference_without_a_size_is_said_in_words() {
    let time = endpoint("p50", 1.0, 0.99, 1.0, Some(Verdict::Better));
    assert_eq!(
        of(vec![time.clone()]),
        "candidate is faster at the median, by 0.00 % in the typical pair (95.75 % interval 0.00 \
         to +1.0 %); + is better."
    );
    let endless = Endpoint { ratio: None, interval: None, ..time };
    let worse = Endpoint { verdict: Some(Verdict::Worse), ..endless.clone() };
    assert_eq!(of(vec![worse]), "candidate is slower at the median, by more than any percentage.");
    let open = Endpoint { verdict: Some(Verdict::NoDifferenceShown), ..endless };
    assert_eq!(
        of(vec![open]),
        "no difference between candidate and baseline is shown at the median: a change without \
         a percentage."
    );
}

#[test]
fn at_a_rate_a_mean_that_the_median_does_not_show_is_said() {
    let (slow, quick) = ((3.15, 3.0, 3.2), (0.82, 0.81, 0.83));
    let said = |mean: (f64, f64, f64), others: &[(&str, f64)]| {
        let mut all = vec![endpoint("p50", 0.818, 0.815, 0.824, Some(Verdict::Better))];
        all.extend(others.iter().map(|(key, it)| endpoint(key, *it, *it, *it, None)));
        all.push(endpoint("mean", mean.0, mean.1, mean.2, None));
        of(all)
    };
    let slower = said(slow, &[]);
    assert!(slower.contains(", mean -215 % (-220 to -200 %), not tested; +"), "{slower}");
    assert!(!said(quick, &[]).contains("mean"), "the median shows it");
    assert!(!said(slow, &[("throughput", 1.2)]).contains("mean"), "the throughput tells it");
}

#[test]
fn a_throughput_that_the_median_does_not_show_is_said() {
    let said = |verdict, rate: (f64, f64, f64)| {
        let time = endpoint("p50", 0.999, 0.98, 1.02, Some(verdict));
        of(vec![time, endpoint("throughput", rate.0, rate.1, rate.2, None)])
    };
    let slower = (0.571, 0.498, 0.811);
    let even = said(Verdict::NoDifferenceShown, slower);
    assert!(even.contains(", throughput -42.9 % (-50.2 to -18.9 %), not tested; +"), "{even}");
    for (verdict, rate, expected) in [
        (Verdict::Equivalent, slower, true),
        (Verdict::Better, slower, true),
        (Verdict::Worse, slower, false),
        (Verdict::Worse, (1.2, 1.1, 1.3), true),
        (Verdict::NoDifferenceShown, (0.9, 0.7, 1.1), false),
        (Verdict::None, slower, true),
        (Verdict::Untestable, slower, true),
        (Verdict::None, (0.9, 0.7, 1.1), false),
    ] {
        let said = said(verdict, rate);
        assert_eq!(said.contains("throughput"), expected, "{said}");
    }
}

#[test]
fn no_difference_is_not_called_equal() {
    let time = endpoint("p50", 0.999, 0.98, 1.02, Some(Verdict::NoDifferenceShown));
    assert_eq!(
        of(vec![time]),
        "no difference between candidate and baseline is shown at the median: +0.10 % (95.75 % \
         interval -2.0 to +2.0 %); + is better."
    );
}

#[test]
fn what_cannot_be_tested_says_with_how_many_rounds_it_can() {
    let time = endpoint("p50", 13.8, 13.4, 14.1, Some(Verdict::Untestable));
    let tests = Some(Tests { count: 36, needed: 11 });
    assert_eq!(
        sentence(&contrast(vec![time]), &Around { tests, ..Around::default() }),
        "whether candidate differs from baseline at the median cannot be tested with 10 rounds \
         (11 would do for 36 tests at once): -1,280 % as measured (95.75 % interval -1,310 to \
         -1,240 %); + is better."
    );
}

#[test]
fn a_sign_is_explained_wherever_one_stands() {
    let short = |verdict| {
        let time = endpoint("p50", 10.0, 9.0, 11.0, Some(verdict));
        of(vec![Endpoint { interval: None, ..time }])
    };
    let few = short(Verdict::Untestable);
    assert!(few.contains("-900 % as measured; + is better."), "{few}");
    let none = short(Verdict::None);
    assert_eq!(none, "no verdict on candidate: 900 % slower at the median as measured.");
    let alike = of(vec![endpoint("p50", 1.0, 0.999, 1.001, Some(Verdict::None))]);
    let begin = "no verdict on candidate: a change of 0.00 % at the median as measured (95.75 %";
    assert!(alike.starts_with(begin), "{alike}");
}

#[test]
fn equal_variants_are_an_a_a_comparison() {
    let same = |verdict| {
        let time = endpoint("p50", 0.9, 0.88, 0.92, Some(verdict));
        let contrast = Contrast { same_treatment: true, ..contrast(vec![time]) };
        sentence(&contrast, &Around::default())
    };
    let begin = "A/A comparison, candidate and baseline have the same commands and settings: ";
    let calm = same(Verdict::NoDifferenceShown);
    assert!(calm.starts_with(begin) && calm.contains("is the noise here"), "{calm}");
    let chance = same(Verdict::Better);
    assert!(chance.starts_with(begin) && chance.contains("nothing differs: chance"), "{chance}");
}

#[test]
fn a_switch_that_failed_is_in_the_sentence() {
    let trouble = Some("switching to candidate failed 3 times (no such switch)".to_owned());
    let around = Around { trouble, ..Around::default() };
    assert_eq!(
        sentence(&contrast(Vec::new()), &around),
        "switching to candidate failed 3 times (no such switch): candidate cannot be compared \
         with baseline: there is no figure of a pair of both."
    );
    let time = endpoint("p50", 0.9, 0.88, 0.92, Some(Verdict::Better));
    let said = sentence(&contrast(vec![time]), &around);
    assert!(said.contains("(no such switch); + is better."), "{said}");
}

#[test]
fn a_limit_of_foreign_load_that_was_raised_stands_beside_the_verdict() {
    let limit = ForeignLimit {
        share: "100%".parse().unwrap(),
        source: plumb_measure::LimitSource::Environment,
    };
    let accepted_load =
        Some(AcceptedLoad { limit, most_pct: Some(84.04), known: plumb_measure::Known::All });
    let around = Around { accepted_load, ..Around::default() };
    let time = endpoint("p50", 0.942, 0.732, 0.988, Some(Verdict::Better));
    assert_eq!(
        sentence(&contrast(vec![time]), &around),
        "candidate is 5.8 % faster at the median (95.75 % interval +1.2 to +26.8 %); + is better; \
         limit of foreign load raised to 100 %, others took up to 84.0 %."
    );
    let nothing = sentence(&contrast(Vec::new()), &around);
    assert!(!nothing.contains("raised"), "no figure stands under it: {nothing}");
}

/// What a sentence and the tables say of the same figure has the same sign.
#[test]
fn sentence_and_table_agree_whichever_way_a_figure_is_good() {
    for (better, key) in [(Better::Lower, "client-cpu"), (Better::Higher, "server-cpu")] {
        let time = endpoint("p50", 0.9, 0.88, 0.92, Some(Verdict::Better));
        let aside = Endpoint { better, ..endpoint(key, 0.913, 0.748, 1.087, None) };
        let (change, interval) = (aside.change_words().unwrap(), aside.interval_words().unwrap());
        let expected = match better {
            Better::Lower => ("+8.7 %", "-8.7 to +25.2 %"),
            Better::Higher => ("-8.7 %", "-25.2 to +8.7 %"),
        };
        assert_eq!((change.as_str(), interval.as_str()), expected);
        let said = of(vec![time.clone(), aside]);
        assert!(said.contains(&format!("{change} ({interval}), not tested")), "{said}");
        for verdict in
            [Verdict::Better, Verdict::NoDifferenceShown, Verdict::Untestable, Verdict::None]
        {
            let primary = Endpoint { verdict: Some(verdict), ..time.clone() };
            let table = primary.interval_words().unwrap();
            let said = of(vec![primary]);
            assert!(said.contains(&table), "{said}");
        }
    }
}
