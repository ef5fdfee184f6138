//! What is held against what, and how the contrasts of a comparison are told apart.

use plumb_comparison::{Comparison, Contrast, DesignKind, Endpoint, Role, Verdict};
use plumb_measure::AcceptedLoad;

use crate::labels::{LabelMap, Labels};
use crate::noun::capitalised;

/// The contrasts of a comparison in the order of its record.
pub(super) struct Contrasts<'a> {
    pub(super) all: &'a [Contrast],
    /// True when more than one candidate is compared.
    pub(super) several_candidates: bool,
    pub(super) kind: DesignKind,
    accepted_load: Option<AcceptedLoad>,
    labels: Labels<'a>,
}

/// The contrasts at one point of the plan, one a candidate.
pub(super) struct Point<'a> {
    /// Its labels in words; empty without any.
    pub(super) name: String,
    pub(super) contrasts: Vec<&'a Contrast>,
}

impl<'a> Contrasts<'a> {
    /// Arranges the contrasts of a comparison.
    pub(super) fn of(comparison: &'a Comparison) -> Self {
        let all = &comparison.contrasts[..];
        let maps: Vec<&LabelMap> = all.iter().map(|contrast| &contrast.labels).collect();
        let several_candidates = all.windows(2).any(|pair| pair[0].candidate != pair[1].candidate);
        Self {
            all,
            several_candidates,
            kind: comparison.design.kind,
            accepted_load: comparison.accepted_load,
            labels: Labels::of(&maps),
        }
    }

    /// What distinguishes a contrast from the others; what is compared when it is the only one.
    pub(super) fn name(&self, contrast: &Contrast) -> String {
        let point = self.point(contrast);
        match (self.several_candidates, point.is_empty()) {
            (false, false) => point,
            (true, false) => format!("{point}, {}", contrast.candidate),
            (_, true) => contrast.candidate.clone(),
        }
    }

    /// Candidate, baseline and point in words.
    pub(super) fn title(&self, contrast: &Contrast) -> String {
        let sides = format!("{} against {}", contrast.candidate, contrast.baseline);
        let point = self.point(contrast);
        if point.is_empty() { sides } else { format!("{sides}, {point}") }
    }

    /// The labels that every contrast shares, in words; empty for a single contrast, whose name
    /// has them.
    pub(super) fn shared(&self) -> String {
        if self.labels.varying.is_empty() { String::new() } else { self.labels.shared() }
    }

    /// The contrasts, those of one point together, in the order in which the points come first.
    pub(super) fn points(&self) -> Vec<Point<'a>> {
        let mut points: Vec<Point<'a>> = Vec::new();
        for contrast in self.all {
            let same = |point: &&mut Point<'a>| {
                point.contrasts.first().is_some_and(|first| first.labels == contrast.labels)
            };
            match points.iter_mut().find(same) {
                Some(point) => point.contrasts.push(contrast),
                None => {
                    points.push(Point { name: self.point(contrast), contrasts: vec![contrast] });
                }
            }
        }
        points
    }

    /// The answer in a sentence, which names its contrast where there are several.
    pub(super) fn sentence(&self, contrast: &Contrast) -> String {
        let said = &contrast.sentence;
        let mut names = vec![self.point(contrast)];
        if self.several_candidates {
            names.push(contrast.candidate.clone());
        }
        // a sentence may name what all share, too, between the labels that tell its point apart
        let is_said = |name: &String| name.split(", ").all(|part| said.contains(part));
        names.retain(|name| !is_said(name));
        if self.all.len() < 2 || names.is_empty() {
            return said.clone();
        }
        format!("{}: {said}", names.join(", "))
    }

    /// The verdicts in a sentence, which has to do for all of them.
    pub(super) fn counted(&self) -> String {
        counted(self.all, self.accepted_load)
    }

    fn point(&self, contrast: &Contrast) -> String {
        self.labels.name(&contrast.labels)
    }
}

/// What is compared, over a whole report.
pub(super) fn title(comparison: &Comparison) -> String {
    let names: Vec<&str> =
        comparison.variants.iter().map(|variant| variant.name.as_str()).collect();
    match names[..] {
        [] => "comparison".into(),
        [only] => only.into(),
        [baseline, ref candidates @ ..] => format!("{} against {baseline}", candidates.join(", ")),
    }
}

/// The figure that the question is about: the first, unless another is marked.
pub(super) fn primary(contrast: &Contrast) -> Option<&Endpoint> {
    let marked = contrast.endpoints.iter().find(|endpoint| endpoint.role == Role::Primary);
    marked.or(contrast.endpoints.first())
}

/// What follows for the candidate of a contrast.
pub(super) fn verdict(contrast: &Contrast) -> Verdict {
    primary(contrast).and_then(|endpoint| endpoint.verdict).unwrap_or(Verdict::None)
}

/// What the answer is called: the verdict, and that it is an A/A comparison where it is one.
pub(super) fn heading(contrast: &Contrast) -> String {
    let word = verdict(contrast).words().to_uppercase();
    if contrast.same_treatment { format!("A/A COMPARISON, {word}") } else { word }
}

/// What the verdict of a contrast means for the reader.
pub(super) fn meaning(contrast: &Contrast, kind: DesignKind) -> &'static str {
    match verdict(contrast) {
        Verdict::Better | Verdict::Worse if contrast.same_treatment => {
            "Both have the same commands and settings, and still a difference was shown: chance, \
             which is allowed 5 %, or something that the experiment does not hold still."
        }
        Verdict::NoDifferenceShown | Verdict::Equivalent if contrast.same_treatment => {
            "Both have the same commands and settings. The interval is the noise of this machine: an \
             effect within it would not be told from none with as many pairs."
        }
        Verdict::Better if kind == DesignKind::Separate => {
            "The primary figure improved by more than chance explains; whatever else changed \
             between the runs has its part in that."
        }
        Verdict::Worse if kind == DesignKind::Separate => {
            "The primary figure got worse by more than chance explains; whatever else changed \
             between the runs has its part in that."
        }
        Verdict::Better => "The primary figure improved by more than chance explains.",
        Verdict::Worse => "The primary figure got worse by more than chance explains.",
        Verdict::Equivalent => {
            "The whole interval of the primary figure lies within the margin given beforehand."
        }
        Verdict::NoDifferenceShown => {
            "Neither better nor worse was shown. That is not equality: every effect within the \
             interval remains possible."
        }
        Verdict::Untestable => {
            "With so few rounds no difference, however large, can be shown in so many tests. The \
             interval says which effects are possible; more rounds can decide."
        }
        Verdict::None => "There is no pair, or the design cannot answer.",
    }
}

/// The verdicts of several contrasts as a sentence: `Better in 2 contrasts, no difference shown in 1.`
pub(crate) fn counted(contrasts: &[Contrast], accepted_load: Option<AcceptedLoad>) -> String {
    let counts = VERDICTS
        .into_iter()
        .map(|kind| (kind, contrasts.iter().filter(|one| verdict(one) == kind).count()))
        .filter(|(_, count)| *count > 0);
    let said: Vec<String> = counts
        .enumerate()
        .map(|(at, (kind, count))| match at {
            0 => {
                format!("{} in {}", kind.words(), plumb_measure::counted(count as u64, "contrast"))
            }
            _ => format!("{} in {count}", kind.words()),
        })
        .collect();
    let accepted = accepted_load.map(|it| format!("; {}", it.words())).unwrap_or_default();
    format!("{}{accepted}.", capitalised(&said.join(", ")))
}

/// Every verdict, in the order in which they are counted.
pub(super) const VERDICTS: [Verdict; 6] = [
    Verdict::Better,
    Verdict::Worse,
    Verdict::Equivalent,
    Verdict::NoDifferenceShown,
    Verdict::Untestable,
    Verdict::None,
];
