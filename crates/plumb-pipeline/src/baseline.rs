//! The cases of a run that was compared with its baseline.

use plumb_comparison::{
    Better, CONVENTION, Comparison, Contrast, Endpoint, FigureUnit, LowerBound, signed,
};
use plumb_measure::counted;
use plumb_page::figures::{milliseconds, per_second, with_unit};

use crate::comparison::under;
use crate::{Grade, Remark, Verdict};

/// How the primary figure of a run stands to that of its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is no worse than the tolerance allows, wherever in its interval the change lies.
    Within,
    /// It is worse, wherever in its interval the change lies.
    Beyond,
    /// Nobody can tell which.
    Undecided(Doubt),
    /// Nobody said what is allowed, or there is nothing to compare.
    Unknown,
}

/// Why nobody can tell how a run stands to its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The runs are too short or too unsteady.
    Unsteady,
    /// A run has no intervals of time written down, from which the interval of a change is taken.
    NoIntervals,
    /// A throughput that decides is a lower bound.
    LowerBound,
}

impl Held {
    /// That of `contrast` where the candidate may be worse by `tolerance`, a share of the baseline
    /// from 0 to 1. Without an interval of the change nothing is decided.
    #[must_use]
    pub fn of(contrast: &Contrast, tolerance: Option<f64>) -> Self {
        let primary = contrast.endpoints.first();
        let change = primary.and_then(|it| Some((it, it.improvement(it.ratio?))));
        // what cannot be compared is not within anything
        let (Some((primary, change)), Some(tolerance)) = (change, tolerance) else {
            return Self::Unknown;
        };
        if !change.is_finite() {
            return Self::Unknown;
        }
        let bound = primary.lower_bound;
        // a figure exactly at the limit is within it, however its quotient is rounded
        let limit = -100.0 * tolerance - 1e-9;
        match reach(primary, change) {
            Err(doubt) => Self::Undecided(doubt),
            Ok((low, _)) if low >= limit => match bound.is_some_and(LowerBound::is_of_baseline) {
                true => Self::Undecided(Doubt::LowerBound),
                false => Self::Within,
            },
            Ok((_, high)) if high < limit => match bound.is_some_and(LowerBound::is_of_candidate) {
                true => Self::Undecided(Doubt::LowerBound),
                false => Self::Beyond,
            },
            Ok(_) => Self::Undecided(Doubt::Unsteady),
        }
    }
}

/// The improvements in percent between which the `change` of `primary` lies, the worse end first.
fn reach(primary: &Endpoint, change: f64) -> Result<(f64, f64), Doubt> {
    if let Some(known) = primary.improvement_interval() {
        return Ok(known);
    }
    // of a run in which nothing came nothing varied
    if primary.better == Better::Higher && primary.candidate <= 0.0 {
        return Ok((change, change));
    }
    Err(primary.intervals_of_time.map_or(Doubt::NoIntervals, |_| Doubt::Unsteady))
}

impl Verdict {
    /// The cases of a run that was compared with its baseline, within `tolerance`, a share from 0 to
    /// 1: runs taken one after another get no verdict of statistics, and this limit stands in its
    /// place.
    #[must_use]
    pub fn of_baseline(
        comparison: &Comparison,
        tolerance: Option<f64>,
        title: String,
        everything: String,
    ) -> Self {
        let mut verdict = Self::of_comparison(comparison, title, everything);
        let held: Vec<Held> =
            comparison.contrasts.iter().map(|it| Held::of(it, tolerance)).collect();
        verdict.sentence = under(summed_up(&held, tolerance), comparison);
        for (case, contrast) in verdict.cases.iter_mut().zip(&comparison.contrasts) {
            case.remarks.retain(|remark| remark.grade == Grade::Notes);
            // the same from run to run, so that a host can follow it
            case.group.clone_from(&verdict.title);
            let against = contrast.endpoints.first().map(against).unwrap_or_default();
            // the limit comes last: what is worse, or undecided, is the figure
            let judged = |judgement: &str| under(format!("{against}: {judgement}"), comparison);
            case.found = match against.is_empty() {
                true => String::new(),
                false => under(against.clone(), comparison),
            };
            let remark = match Held::of(contrast, tolerance) {
                Held::Within => None,
                Held::Beyond => {
                    let text = judged(&format!("worse by more than {}", limit(tolerance)));
                    Some(Remark::new("tolerance-exceeded", Grade::Fails, text))
                }
                Held::Undecided(doubt) => {
                    let text = judged(&undecided(tolerance, doubt));
                    Some(Remark::new("no-verdict", Grade::LeavesOpen, text))
                }
                Held::Unknown if tolerance.is_some() => {
                    // without any figure the sentence says why
                    let text = match contrast.endpoints.first() {
                        Some(_) => "nothing can be compared",
                        None => contrast.sentence.as_str(),
                    };
                    Some(Remark::new("no-verdict", Grade::LeavesOpen, text))
                }
                Held::Unknown => {
                    let text = "no tolerance was given, and runs that were taken one after another \
                                get no verdict without one";
                    Some(Remark::new("no-verdict", Grade::LeavesOpen, text))
                }
            };
            case.remarks.splice(0..0, remark);
        }
        verdict
    }
}

/// A tolerance in words, such as `7 %`.
#[must_use]
pub fn limit(tolerance: Option<f64>) -> String {
    format!("{} %", (tolerance.unwrap_or_default() * 1e8).round() / 1e6)
}

/// Why a change is held to be neither within `tolerance` nor worse.
#[must_use]
pub fn undecided(tolerance: Option<f64>, doubt: Doubt) -> String {
    let why = match doubt {
        Doubt::Unsteady => " from runs so short or so unsteady: measure longer",
        Doubt::NoIntervals => {
            ": no intervals of time are written down; keep intervals.hlog of both runs"
        }
        Doubt::LowerBound => {
            ": where the load generator was the limit, throughput is a lower bound; give it more \
             processors (--threads, --remotes)"
        }
    };
    format!("whether that is worse than the tolerance of {} cannot be told{why}", limit(tolerance))
}

/// How many points are worse than allowed, in a sentence.
fn summed_up(held: &[Held], tolerance: Option<f64>) -> String {
    let count = |which: fn(&Held) -> bool| held.iter().filter(|it| which(it)).count();
    let (limit, all) = (limit(tolerance), counted(held.len() as u64, "point"));
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let undecided = count(|it| matches!(it, Held::Undecided(_)));
    let unknown = count(|it| *it == Held::Unknown);
    match (count(|it| *it == Held::Beyond), undecided + unknown, tolerance) {
        (_, _, None) => "No tolerance was given, so there is no verdict.".into(),
        (0, 0, Some(_)) if held.is_empty() => "Nothing was compared.".into(),
        (0, 0, Some(_)) => {
            format!("None of {all} is worse than the baseline by more than {limit}.")
        }
        (0, _, Some(_)) if unknown == 0 => format!(
            "Whether {undecided} of {all} {} worse than the baseline by more than {limit} cannot be \
             told.",
            are(undecided)
        ),
        (0, _, Some(_)) if undecided == 0 => format!("{unknown} of {all} cannot be compared."),
        (0, _, Some(_)) => format!(
            "{unknown} of {all} cannot be compared, and whether {undecided} {} worse by more than \
             {limit} cannot be told.",
            are(undecided)
        ),
        (worse, open, Some(_)) => {
            let open =
                if open > 0 { format!("; of {open} nobody can tell") } else { String::new() };
            format!(
                "{worse} of {all} {} worse than the baseline by more than {limit}{open}.",
                are(worse)
            )
        }
    }
}

/// The interval of a change behind it, such as `, 95 % interval -1.2 to +0.8 %`; nothing without one.
#[must_use]
pub fn interval_words(endpoint: &Endpoint) -> String {
    let words = endpoint.level_words().zip(endpoint.interval_words());
    words.map_or_else(String::new, |(level, between)| format!(", {level} interval {between}"))
}

/// Both values of a figure, and the change from one to the other.
fn against(endpoint: &Endpoint) -> String {
    let shown = |value: f64| match endpoint.unit {
        FigureUnit::Ns => milliseconds(value / 1e6),
        FigureUnit::PerSecond => per_second(value),
        FigureUnit::KbPerSecond => with_unit(value, "kB/s"),
        FigureUnit::Bytes => with_unit(value, "B"),
        FigureUnit::Plain => with_unit(value, ""),
    };
    let change = endpoint.ratio.and_then(|ratio| signed(endpoint.improvement(ratio)));
    let change = change.map_or_else(String::new, |change| {
        format!(", {change} % ({CONVENTION}){}", interval_words(endpoint))
    });
    format!("{}, the baseline {}{change}", shown(endpoint.candidate), shown(endpoint.baseline))
}

#[cfg(test)]
mod tests {
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
                exact.endpoints[0].interval =
                    Some(Interval { low: ratio, high: ratio, level: 0.95 });
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
            for (count, doubt) in [
                (None, Doubt::NoIntervals),
                (Some(9), Doubt::Unsteady),
                (Some(10), Doubt::Unsteady),
            ] {
                let found = Held::of(&without_interval(ratio, count), Some(0.1));
                assert_eq!(found, Held::Undecided(doubt), "{ratio} {count:?}");
            }
        }
        let logless = comparison(vec![without_interval(1.8, None)]);
        let verdict = Verdict::of_baseline(&logless, Some(0.1), "t".into(), String::new());
        assert_eq!(verdict.state(), State::Unanswered);
        let said = &verdict.cases[0].remarks[0].text;
        assert!(
            said.contains("no intervals of time are written down; keep intervals.hlog"),
            "{said}"
        );
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
        let none = "None of 1 point is worse than the baseline by more than 10 %";
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
}
