//! What a tolerance says of comparisons that were made up.

use plumb_comparison::Verdict as Answer;
use plumb_measure::statistics::Interval;

use super::*;
use crate::State;
use crate::comparison::tests::{RAISED, comparison, contrast, raised};

/// A contrast without an interval, of runs with so many intervals of time.
fn without_interval(ratio: f64, intervals_of_time: Option<u64>) -> Contrast {
    let mut contrast = contrast(Some(ratio), Answer::None);
    contrast.endpoints[0].interval = None;
    contrast.endpoints[0].intervals_of_time = intervals_of_time;
    contrast
}

/// One whose change, in percent, is known to lie between `low` and `high`.
fn known_between(low: f64, change: f64, high: f64) -> Contrast {
    let ratio = |percent: f64| 1.0 - percent / 100.0;
    let mut contrast = contrast(Some(ratio(change)), Answer::None);
    let interval = Interval { low: ratio(high), high: ratio(low), level: 0.95 };
    contrast.endpoints[0].interval = Some(interval);
    contrast
}

#[test]
fn what_is_exactly_at_the_limit_is_within_it() {
    for percent in 1..100_u32 {
        let tolerance = f64::from(percent) / 100.0;
        // 2 ms, and what the tolerance allows
        let ratio = f64::from(2_000_000 + 20_000 * percent) / 2e6;
        let held = |ratio| {
            let mut exact = contrast(Some(ratio), Answer::None);
            exact.endpoints[0].interval = Some(Interval { low: ratio, high: ratio, level: 0.95 });
            Held::of(&exact, Some(tolerance))
        };
        assert_eq!(held(ratio), Held::Within, "{percent} %");
        assert_eq!(held(ratio + 1e-6), Held::Beyond, "{percent} %");
        assert_eq!(limit(Some(tolerance)), format!("{percent} %"));
    }
}

#[test]
fn a_change_is_judged_only_where_all_of_its_interval_is_on_one_side_of_the_tolerance() {
    for ((low, change, high), held) in [
        ((-79.9, -12.6, 38.8), Held::Undecided(Doubt::Unsteady)),
        ((-34.1, -6.0, 20.0), Held::Undecided(Doubt::Unsteady)),
        ((-12.0, -9.0, -6.0), Held::Undecided(Doubt::Unsteady)),
        ((-10.0, -6.0, -2.0), Held::Within),
        ((-3.0, 40.0, 60.0), Held::Within),
        ((-15.0, -12.6, -10.2), Held::Beyond),
        ((-900.0, -300.0, -11.0), Held::Beyond),
    ] {
        let found = Held::of(&known_between(low, change, high), Some(0.1));
        assert_eq!(found, held, "{low} {change} {high}");
    }
}

#[test]
fn without_an_interval_nothing_is_decided_however_large_the_change() {
    for ratio in [0.2, 1.0, 1.8, 5.0] {
        for (count, doubt) in
            [(None, Doubt::NoIntervals), (Some(9), Doubt::Unsteady), (Some(10), Doubt::Unsteady)]
        {
            let found = Held::of(&without_interval(ratio, count), Some(0.1));
            assert_eq!(found, Held::Undecided(doubt), "{ratio} {count:?}");
        }
    }
    let logless = comparison(vec![without_interval(1.8, None)]);
    let verdict = Verdict::of_baseline(&logless, Some(0.1), "t".into(), String::new());
    assert_eq!(verdict.state(), State::Unanswered);
    let said = &verdict.cases[0].remarks[0].text;
    assert!(said.contains("no intervals of time are written down; keep intervals.hlog"), "{said}");
}

/// A throughput of 100 in a second that changed by as many percent, within 1 of them.
fn rate(change: f64, lower_bound: Option<LowerBound>) -> Contrast {
    let ratio = 1.0 + change / 100.0;
    let mut contrast = contrast(Some(ratio), Answer::None);
    let rate = ("throughput", "throughput", FigureUnit::PerSecond, Better::Higher);
    let interval = Interval { low: ratio - 0.01, high: ratio + 0.01, level: 0.95 };
    contrast.endpoints = vec![Endpoint {
        ratio: Some(ratio),
        interval: (ratio > 0.0).then_some(interval),
        intervals_of_time: Some(50),
        lower_bound,
        ..Endpoint::described(rate, 100.0, 100.0 * ratio)
    }];
    contrast
}

#[test]
fn a_lower_bound_shows_neither_that_a_candidate_is_worse_nor_that_a_baseline_is_reached() {
    let open = Held::Undecided(Doubt::LowerBound);
    for (bound, [worse, same]) in [
        (None, [Held::Beyond, Held::Within]),
        (Some(LowerBound::Candidate), [open, Held::Within]),
        (Some(LowerBound::Baseline), [Held::Beyond, open]),
        (Some(LowerBound::Both), [open, open]),
    ] {
        assert_eq!(Held::of(&rate(-10.0, bound), Some(0.05)), worse, "{bound:?}");
        assert_eq!(Held::of(&rate(-3.0, bound), Some(0.05)), same, "{bound:?}");
    }
}

#[test]
fn a_throughput_that_the_median_does_not_show_decides_where_it_is_worse() {
    let both = |median: f64, change: f64, bound| {
        let mut contrast = known_between(median - 1.0, median, median + 1.0);
        contrast.endpoints.extend(rate(change, bound).endpoints);
        contrast
    };
    let wide = |change: f64| {
        let mut contrast = both(0.8, change, None);
        if let Some(interval) = &mut contrast.endpoints[1].interval {
            (interval.low, interval.high) = (interval.low - 0.3, interval.high + 0.3);
        }
        contrast
    };
    for (contrast, held, key) in [
        (both(0.8, -55.9, None), Held::Beyond, "throughput"),
        (
            both(0.8, -55.9, Some(LowerBound::Candidate)),
            Held::Undecided(Doubt::LowerBound),
            "throughput",
        ),
        (wide(-30.0), Held::Undecided(Doubt::Unsteady), "throughput"),
        (wide(-4.0), Held::Within, "p50"),
        (both(0.8, -5.5, None), Held::Undecided(Doubt::Unsteady), "throughput"),
        (both(0.8, -4.5, None), Held::Within, "p50"),
        (both(-20.0, -55.9, None), Held::Beyond, "p50"),
        (both(0.8, 30.0, None), Held::Within, "p50"),
    ] {
        assert_eq!(Held::of(&contrast, Some(0.05)), held, "{contrast:?}");
        assert_eq!(deciding(&contrast, Some(0.05)).unwrap().key, key, "{contrast:?}");
    }
    let of = |change| {
        let all = comparison(vec![both(0.8, change, None)]);
        Verdict::of_baseline(&all, Some(0.05), "t".into(), String::new())
    };
    assert_eq!(
        of(0.0).sentence,
        "By median response time and throughput none of 1 point is worse than the baseline by \
         more than 5 %."
    );
    let all = comparison(vec![wide(-4.0)]);
    let unsteady = Verdict::of_baseline(&all, Some(0.05), "t".into(), String::new());
    let by_median =
        "By median response time none of 1 point is worse than the baseline by more than 5 %.";
    assert_eq!(unsteady.sentence, by_median, "of the throughput nobody can tell");
    let worse = of(-55.9);
    assert_eq!(worse.state(), State::Failed);
    assert!(worse.cases[0].found.contains("-55.9 %"), "{}", worse.cases[0].found);
}

/// At a rate, which sets the throughput, few very slow operations show in the mean alone.
#[test]
fn a_mean_that_the_median_does_not_show_decides_where_it_is_worse() {
    let mean = ("mean", "mean response time", FigureUnit::Ns, Better::Lower);
    let with_mean = |low: f64, high: f64| {
        let mut contrast = known_between(-1.1, -0.4, 0.4);
        let interval = Interval { low, high, level: 0.95 };
        contrast.endpoints.push(Endpoint {
            ratio: Some(f64::midpoint(low, high)),
            interval: Some(interval),
            intervals_of_time: Some(50),
            ..Endpoint::described(mean, 11e6, 11e6 * f64::midpoint(low, high))
        });
        contrast
    };
    for (low, high, held, key) in [
        (3.2, 4.1, Held::Beyond, "mean"),
        (0.9, 4.1, Held::Undecided(Doubt::Unsteady), "mean"),
        (0.9, 1.2, Held::Within, "p50"),
        (0.98, 1.02, Held::Within, "p50"),
    ] {
        let contrast = with_mean(low, high);
        assert_eq!(Held::of(&contrast, Some(0.1)), held, "{low} {high}");
        assert_eq!(deciding(&contrast, Some(0.1)).unwrap().key, key, "{low} {high}");
    }
    let all = comparison(vec![with_mean(0.98, 1.02)]);
    let said = Verdict::of_baseline(&all, Some(0.1), "t".into(), String::new()).sentence;
    assert!(said.starts_with("By median response time and mean response time none of 1"), "{said}");
}

#[test]
fn a_run_in_which_nothing_came_is_worse_than_any_tolerance_below_all() {
    assert_eq!(Held::of(&rate(-100.0, None), Some(0.99)), Held::Beyond);
    assert_eq!(Held::of(&rate(-100.0, None), Some(1.0)), Held::Within);
}

#[test]
fn a_change_that_says_nothing_is_an_open_case_with_its_interval() {
    let all = comparison(vec![known_between(-79.9, -12.6, 38.8)]);
    let verdict = Verdict::of_baseline(&all, Some(0.1), "t".into(), String::new());
    assert_eq!(verdict.state(), State::Unanswered);
    let sentence =
        "Whether 1 of 1 point is worse than the baseline by more than 10 % cannot be told.";
    assert_eq!(verdict.sentence, sentence);
    let against =
        "2.25 ms, the baseline 2.00 ms, -12.6 % (+ is better), 95 % interval -79.9 to +38.8 %";
    assert_eq!(verdict.cases[0].found, against);
    let open = &verdict.cases[0].remarks[0];
    assert_eq!(
        (open.grade, &open.text),
        (Grade::LeavesOpen, &format!("{against}: {}", undecided(Some(0.1), Doubt::Unsteady)))
    );
}

#[test]
fn a_limit_of_foreign_load_that_was_raised_stands_beside_what_is_held_against_a_baseline() {
    let end = RAISED;
    let one = contrast(Some(1.0), Answer::None);
    let held = Verdict::of_baseline(&raised(vec![one]), Some(0.1), "t".into(), String::new());
    let none =
        "By median response time none of 1 point is worse than the baseline by more than 10 %";
    assert_eq!(held.sentence, format!("{none}{end}."));
    assert!(held.cases[0].found.ends_with(end), "{}", held.cases[0].found);

    let said = |contrast| {
        let record = raised(vec![contrast]);
        let judged = Verdict::of_baseline(&record, Some(0.1), "t".into(), String::new());
        judged.cases[0].remarks[0].text.clone()
    };
    let worse = said(contrast(Some(1.2), Answer::None));
    assert!(worse.ends_with(&format!("-18.8 %: worse by more than 10 %{end}")), "{worse}");
    let mut unsteady = contrast(Some(1.11), Answer::None);
    unsteady.endpoints[0].interval = None;
    unsteady.endpoints[0].intervals_of_time = Some(2);
    let open = said(unsteady);
    let doubt = undecided(Some(0.1), Doubt::Unsteady);
    assert!(open.ends_with(&format!("(+ is better): {doubt}{end}")), "{open}");
}

#[test]
fn a_tolerance_decides_where_statistics_cannot() {
    let of = |ratios: &[Option<f64>], tolerance| {
        let all = ratios.iter().map(|ratio| contrast(*ratio, Answer::None)).collect();
        Verdict::of_baseline(&comparison(all), tolerance, "t".into(), String::new())
    };
    for (ratio, tolerance, state) in [
        (Some(1.08), Some(0.1), State::Passed),
        (Some(0.5), Some(0.1), State::Passed),
        (Some(1.12), Some(0.1), State::Failed),
        (Some(f64::NAN), Some(0.1), State::Unanswered),
        (None, Some(0.1), State::Unanswered),
        (Some(1.0), None, State::Unanswered),
    ] {
        let verdict = of(&[ratio], tolerance);
        assert_eq!(verdict.state(), state, "{ratio:?} {tolerance:?}");
    }
    let bare = Contrast { endpoints: Vec::new(), ..contrast(None, Answer::None) };
    let bare = comparison(vec![bare]);
    let verdict = Verdict::of_baseline(&bare, Some(0.1), "t".into(), String::new());
    assert_eq!(
        (verdict.state(), verdict.cases[0].remarks[0].text.as_str()),
        (State::Unanswered, "So it is.")
    );
    let verdict = of(&[Some(1.2), Some(1.0)], Some(0.1));
    let judged = |contrasts| {
        let all = comparison(contrasts);
        Verdict::of_baseline(&all, Some(0.1), "t".into(), String::new())
    };
    let open = || without_interval(1.1, Some(9));
    let mixed = judged(vec![open(), contrast(None, Answer::None), open()]).sentence;
    let both = "1 of 3 points cannot be compared, and whether 2 are worse by more than 10 % cannot be told.";
    assert_eq!(mixed, both);
    let worse = contrast(Some(1.2), Answer::None);
    let open = judged(vec![worse, contrast(None, Answer::None), open()]).sentence;
    let beside =
        "1 of 3 points is worse than the baseline by more than 10 %; of 2 nobody can tell.";
    assert_eq!(open, beside);
    let sentence = "1 of 2 points is worse than the baseline by more than 10 %.";
    assert_eq!(verdict.sentence, sentence);
    let found =
        "2.40 ms, the baseline 2.00 ms, -20.0 % (+ is better), 95 % interval -21.2 to -18.8 %";
    assert_eq!(verdict.cases[0].found, found);
}
