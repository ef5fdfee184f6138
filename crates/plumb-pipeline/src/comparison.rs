//! The cases of a comparison.

use plumb_comparison::{
    Comparison, Contrast, DesignKind, Endpoint, FigureUnit, Verdict as Answer, signed,
};
use plumb_measure::counted;
use plumb_page::figures::{milliseconds, per_second, with_unit};

use crate::run::kind_of;
use crate::{Case, Grade, Remark, Verdict};

impl Verdict {
    /// The cases of `comparison`, called `title`: one a contrast, by its primary figure. `everything`
    /// is the whole report as Markdown.
    #[must_use]
    pub fn of_comparison(comparison: &Comparison, title: String, everything: String) -> Self {
        let mut cases: Vec<Case> = comparison.contrasts.iter().map(case_of).collect();
        if let Some(reason) = &comparison.design.cut_short {
            let text = format!("it ended before its plan did: {reason}");
            cases.push(Case {
                group: title.clone(),
                name: "completion".into(),
                found: String::new(),
                remarks: vec![Remark::new("cut-short", Grade::Warns, text)],
                duration_ns: None,
            });
        }
        let separate = comparison.design.kind == DesignKind::Separate;
        let command = comparison.variants.iter().map(|it| it.command.clone()).collect();
        Self {
            title,
            sentence: sentence(comparison),
            started: comparison.compared.clone(),
            version: comparison.plumb.version.clone(),
            command: if separate { Vec::new() } else { command },
            record: None,
            cases,
            everything,
        }
    }
}

/// How the primary figure of a run stands to that of its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is no worse than the tolerance allows.
    Within,
    /// It is worse.
    Beyond,
    /// The tolerance is near, and the runs are too short or too unsteady to say how well the figure is
    /// known. Where no intervals of time are written down a longer run would not help, and the change
    /// decides.
    Near,
    /// Nobody said what is allowed, or there is nothing to compare.
    Unknown,
}

/// Without an interval a change that lies no further than this share of the tolerance from the tolerance
/// itself decides nothing.
const NEAR: f64 = 0.5;

impl Held {
    /// That of `contrast` where the candidate may be worse by `tolerance`, a share of the baseline
    /// from 0 to 1. Its change decides, wherever the ends of the interval lie.
    #[must_use]
    pub fn of(contrast: &Contrast, tolerance: Option<f64>) -> Self {
        let primary = contrast.endpoints.first();
        let change = primary.and_then(|it| Some(it.improvement(it.ratio?)));
        match (change, tolerance) {
            // what cannot be compared is not within anything
            (Some(change), Some(tolerance)) if change.is_finite() => {
                let limit = -100.0 * tolerance;
                let unsteady = primary
                    .is_some_and(|it| it.interval.is_none() && it.intervals_of_time.is_some());
                if unsteady && (change - limit).abs() < -NEAR * limit {
                    Self::Near
                // a figure exactly at the limit is within it, however its quotient is rounded
                } else if change < limit - 1e-9 {
                    Self::Beyond
                } else {
                    Self::Within
                }
            }
            _ => Self::Unknown,
        }
    }
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
            // the limit comes last: what is worse, or near, is the figure
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
                Held::Near => {
                    let text = judged(&too_near(tolerance));
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

/// Why a change near `tolerance` decides nothing.
#[must_use]
pub fn too_near(tolerance: Option<f64>) -> String {
    format!(
        "too near to the tolerance of {} for runs so short or so unsteady: measure longer",
        limit(tolerance)
    )
}

/// How many points are worse than allowed, in a sentence.
fn summed_up(held: &[Held], tolerance: Option<f64>) -> String {
    let count = |which| held.iter().filter(|it| **it == which).count();
    let (limit, all) = (limit(tolerance), counted(held.len() as u64, "point"));
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let (near, unknown) = (count(Held::Near), count(Held::Unknown));
    match (count(Held::Beyond), near + unknown, tolerance) {
        (_, _, None) => "No tolerance was given, so there is no verdict.".into(),
        (0, 0, Some(_)) if held.is_empty() => "Nothing was compared.".into(),
        (0, 0, Some(_)) => {
            format!("None of {all} is worse than the baseline by more than {limit}.")
        }
        (0, _, Some(_)) if unknown == 0 => {
            format!("{near} of {all} {} too near to {limit} to tell.", are(near))
        }
        (0, _, Some(_)) if near == 0 => format!("{unknown} of {all} cannot be compared."),
        (0, _, Some(_)) => format!(
            "{unknown} of {all} cannot be compared, and {near} {} too near to {limit} to tell.",
            are(near)
        ),
        (worse, _, Some(_)) => {
            format!("{worse} of {all} {} worse than the baseline by more than {limit}.", are(worse))
        }
    }
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
    let change = change.map_or_else(String::new, |change| format!(", {change} % (+ is better)"));
    format!("{}, the baseline {}{change}", shown(endpoint.candidate), shown(endpoint.baseline))
}

fn case_of(contrast: &Contrast) -> Case {
    let primary = contrast.endpoints.first();
    let verdict = primary.and_then(|endpoint| endpoint.verdict).unwrap_or(Answer::None);
    let grade = match verdict {
        Answer::Worse => Some(Grade::Fails),
        Answer::Untestable | Answer::None => Some(Grade::LeavesOpen),
        Answer::Better | Answer::Equivalent | Answer::NoDifferenceShown => None,
    };
    let rule = if verdict == Answer::None { "no-verdict".into() } else { kind_of(verdict) };
    let against = grade.map(|grade| Remark::new(rule, grade, contrast.sentence.clone()));
    let notes = contrast.checks.remarks.iter();
    let notes = notes.map(|text| Remark::new("statistics", Grade::Notes, text.clone()));
    let figure = primary.map_or("figures", |endpoint| endpoint.name.as_str());
    let name = match contrast.name() {
        point if point.is_empty() => figure.to_owned(),
        point => format!("{point}: {figure}"),
    };
    Case {
        group: format!("{} against {}", contrast.candidate, contrast.baseline),
        name,
        found: contrast.sentence.clone(),
        remarks: against.into_iter().chain(notes).collect(),
        duration_ns: None,
    }
}

/// The answer of the only contrast, or how many of each there are.
fn sentence(comparison: &Comparison) -> String {
    let contrasts = &comparison.contrasts;
    if let [only] = contrasts.as_slice() {
        return only.sentence.clone();
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for contrast in contrasts {
        let primary = contrast.endpoints.first().and_then(|endpoint| endpoint.verdict);
        let words = primary.unwrap_or(Answer::None).words();
        match counts.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => counts.push((words, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(words, count)| format!("{count} {words}")).collect();
    match counts.is_empty() {
        true => "Nothing was compared.".into(),
        false => {
            let counted = format!("{} contrasts: {}.", contrasts.len(), counts.join(", "));
            under(counted, comparison)
        }
    }
}

/// `said` of a comparison, with the limit of foreign load that was raised for it.
fn under(said: String, comparison: &Comparison) -> String {
    let Some(accepted) = comparison.accepted_load else { return said };
    match said.strip_suffix('.') {
        Some(said) => format!("{said}; {}.", accepted.words()),
        None => format!("{said}; {}", accepted.words()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_comparison::{Better, COMPARISON_SCHEMA, Checks, Design, Role};
    use plumb_measure::Program;
    use plumb_measure::statistics::Interval;

    use super::*;
    use crate::State;

    /// A contrast whose primary figure, a time, changed by `ratio`, which is known well.
    fn contrast(ratio: Option<f64>, verdict: Answer) -> Contrast {
        let time = ("p50", "median response time", FigureUnit::Ns, Better::Lower);
        let primary = Endpoint {
            ratio,
            interval: ratio.map(|it| Interval { low: it * 0.99, high: it * 1.01, level: 0.95 }),
            role: Role::Primary,
            verdict: Some(verdict),
            ..Endpoint::described(time, 2e6, 2e6 * ratio.unwrap_or_default())
        };
        Contrast {
            baseline: "main".into(),
            candidate: "run".into(),
            labels: BTreeMap::new(),
            same_treatment: false,
            sentence: "So it is.".into(),
            endpoints: vec![primary],
            checks: Checks::default(),
            tails: Vec::new(),
        }
    }

    fn comparison(contrasts: Vec<Contrast>) -> Comparison {
        Comparison {
            schema: COMPARISON_SCHEMA.into(),
            plumb: Program { version: "1".into() },
            compared: "2026-11-21T08:30:48Z".into(),
            design: Design::separate(),
            variants: Vec::new(),
            differences: Vec::new(),
            shared: BTreeMap::new(),
            accepted_load: None,
            warnings: Vec::new(),
            contrasts,
        }
    }

    #[test]
    fn a_limit_of_foreign_load_that_was_raised_stands_beside_every_verdict() {
        let raised = |contrasts| {
            let limit = plumb_measure::ForeignLimit {
                share: "100%".parse().unwrap(),
                source: plumb_measure::LimitSource::Environment,
            };
            let accepted_load = Some(plumb_comparison::AcceptedLoad {
                limit,
                most_pct: Some(96.0),
                known: plumb_comparison::Known::All,
            });
            Comparison { accepted_load, ..comparison(contrasts) }
        };
        let end = "; limit of foreign load raised to 100 %, others took up to 96.0 %";
        let one = contrast(Some(1.0), Answer::None);
        let of = |record: &Comparison| Verdict::of_comparison(record, "t".into(), String::new());
        let two = of(&raised(vec![one.clone(), one.clone()])).sentence;
        assert_eq!(two, format!("2 contrasts: 2 {}{end}.", Answer::None.words()));
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
        assert!(
            worse.ends_with(&format!("(+ is better): worse by more than 10 %{end}")),
            "{worse}"
        );
        let mut unsteady = contrast(Some(1.11), Answer::None);
        unsteady.endpoints[0].interval = None;
        unsteady.endpoints[0].intervals_of_time = Some(2);
        let near = said(unsteady);
        assert!(near.ends_with(&format!("(+ is better): {}{end}", too_near(Some(0.1)))), "{near}");
    }

    #[test]
    fn what_is_exactly_at_the_limit_is_within_it() {
        for percent in 1..100_u32 {
            let tolerance = f64::from(percent) / 100.0;
            // 2 ms, and what the tolerance allows
            let ratio = f64::from(2_000_000 + 20_000 * percent) / 2e6;
            let held = |ratio| Held::of(&contrast(Some(ratio), Answer::None), Some(tolerance));
            assert_eq!(held(ratio), Held::Within, "{percent} %");
            assert_eq!(held(ratio + 1e-6), Held::Beyond, "{percent} %");
            assert_eq!(limit(Some(tolerance)), format!("{percent} %"));
        }
    }

    #[test]
    fn the_verdict_of_a_contrast_is_that_of_its_case() {
        for (answer, state) in [
            (Answer::Better, State::Passed),
            (Answer::Equivalent, State::Passed),
            (Answer::NoDifferenceShown, State::Passed),
            (Answer::Worse, State::Failed),
            (Answer::Untestable, State::Unanswered),
            (Answer::None, State::Unanswered),
        ] {
            let all = comparison(vec![contrast(Some(1.0), answer)]);
            let verdict = Verdict::of_comparison(&all, "t".into(), String::new());
            assert_eq!(verdict.state(), state, "{answer:?}");
            assert_eq!(verdict.sentence, "So it is.");
        }
        let nothing = Verdict::of_comparison(&comparison(Vec::new()), "t".into(), String::new());
        assert_eq!(nothing.state(), State::Unanswered);
    }

    #[test]
    fn a_tolerance_decides_where_statistics_cannot() {
        let of = |ratios: &[Option<f64>], tolerance| {
            let all = ratios.iter().map(|ratio| contrast(*ratio, Answer::None)).collect();
            Verdict::of_baseline(&comparison(all), tolerance, "t".into(), String::new())
        };
        for (ratio, tolerance, state) in [
            (Some(1.09), Some(0.1), State::Passed),
            (Some(0.5), Some(0.1), State::Passed),
            (Some(1.11), Some(0.1), State::Failed),
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
        let without = |intervals_of_time, ratio| {
            let mut contrast = contrast(Some(ratio), Answer::None);
            contrast.endpoints[0].interval = None;
            contrast.endpoints[0].intervals_of_time = intervals_of_time;
            contrast
        };
        let judged = |contrasts| {
            let all = comparison(contrasts);
            Verdict::of_baseline(&all, Some(0.1), "t".into(), String::new())
        };
        let short = |ratio| judged(vec![without(Some(9), ratio)]);
        for (ratio, state) in [
            (1.04, State::Passed),
            (1.06, State::Unanswered),
            (1.14, State::Unanswered),
            (1.16, State::Failed),
        ] {
            assert_eq!(short(ratio).state(), state, "{ratio} of runs that are too short");
        }
        assert_eq!(short(1.1).sentence, "1 of 1 point is too near to 10 % to tell.");
        let near = || without(Some(9), 1.1);
        let mixed = judged(vec![near(), contrast(None, Answer::None), near()]).sentence;
        assert_eq!(mixed, "1 of 3 points cannot be compared, and 2 are too near to 10 % to tell.");
        // of runs that wrote no intervals down a longer one would say no more
        for (ratio, state) in [(1.06, State::Passed), (1.112, State::Failed)] {
            assert_eq!(judged(vec![without(None, ratio)]).state(), state, "{ratio}");
        }
        let sentence = "1 of 2 points is worse than the baseline by more than 10 %.";
        assert_eq!(verdict.sentence, sentence);
        let found = "2.40 ms, the baseline 2.00 ms, -20.0 % (+ is better)";
        assert_eq!(verdict.cases[0].found, found);
    }
}
