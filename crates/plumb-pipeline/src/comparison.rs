//! The cases of a comparison.

use plumb_measure::{Comparison, Contrast, DesignKind, Verdict as Answer};

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
    /// Nobody said what is allowed, or there is nothing to compare.
    Unknown,
}

impl Held {
    /// That of `contrast` where the candidate may be worse by `tolerance`, a share of the baseline
    /// from 0 to 1.
    #[must_use]
    pub fn of(contrast: &Contrast, tolerance: Option<f64>) -> Self {
        let primary = contrast.endpoints.first();
        let change = primary.and_then(|it| Some(it.improvement(it.ratio?)));
        match (change, tolerance) {
            // what cannot be compared is not within anything
            (Some(change), Some(tolerance)) if change.is_finite() => {
                if change < -100.0 * tolerance { Self::Beyond } else { Self::Within }
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
        for (case, contrast) in verdict.cases.iter_mut().zip(&comparison.contrasts) {
            case.remarks.retain(|remark| remark.grade == Grade::Notes);
            let against = match Held::of(contrast, tolerance) {
                Held::Within => None,
                Held::Beyond => {
                    let percent = 100.0 * tolerance.unwrap_or_default();
                    let text = format!("worse by more than {percent} %: {}", contrast.sentence);
                    Some(Remark::new("tolerance-exceeded", Grade::Fails, text))
                }
                Held::Unknown if tolerance.is_some() => {
                    Some(Remark::new("no-verdict", Grade::LeavesOpen, "nothing can be compared"))
                }
                Held::Unknown => {
                    let text = "no tolerance was given, and runs that were taken one after another \
                                get no verdict without one";
                    Some(Remark::new("no-verdict", Grade::LeavesOpen, text))
                }
            };
            case.remarks.splice(0..0, against);
        }
        verdict
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
        false => format!("{} contrasts: {}.", contrasts.len(), counts.join(", ")),
    }
}
