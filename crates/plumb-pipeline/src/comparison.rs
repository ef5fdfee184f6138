//! The cases of a comparison.

use plumb_comparison::{Comparison, Contrast, DesignKind, Verdict as Answer};

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
            accepted_load: comparison.accepted_load.map(|it| it.words()),
            cases,
            everything,
        }
    }
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
pub(crate) fn under(said: String, comparison: &Comparison) -> String {
    match comparison.accepted_load {
        Some(accepted) => accepted.beside(&said),
        None => said,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use plumb_comparison::{Better, COMPARISON_SCHEMA, Checks, Design, Endpoint, FigureUnit, Role};
    use plumb_measure::Program;
    use plumb_measure::statistics::Interval;

    use super::*;
    use crate::State;

    /// A contrast whose primary figure, a time, changed by `ratio`, which is known well.
    pub(crate) fn contrast(ratio: Option<f64>, verdict: Answer) -> Contrast {
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

    pub(crate) fn comparison(contrasts: Vec<Contrast>) -> Comparison {
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

    /// The same, measured while others took 96 % of a machine, which was allowed.
    pub(crate) fn raised(contrasts: Vec<Contrast>) -> Comparison {
        let limit = plumb_measure::ForeignLimit {
            share: "100%".parse().unwrap(),
            source: plumb_measure::LimitSource::Environment,
        };
        let accepted_load = Some(plumb_measure::AcceptedLoad {
            limit,
            most_pct: Some(96.0),
            known: plumb_measure::Known::All,
        });
        Comparison { accepted_load, ..comparison(contrasts) }
    }

    /// What is said of that.
    pub(crate) const RAISED: &str =
        "; limit of foreign load raised to 100 %, others took up to 96.0 %";

    #[test]
    fn a_limit_of_foreign_load_that_was_raised_stands_beside_every_verdict() {
        let one = contrast(Some(1.0), Answer::None);
        let of = |record: &Comparison| Verdict::of_comparison(record, "t".into(), String::new());
        let two = of(&raised(vec![one.clone(), one.clone()])).sentence;
        assert_eq!(two, format!("2 contrasts: 2 {}{RAISED}.", Answer::None.words()));
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
}
