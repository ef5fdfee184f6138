//! The cases of a run that was compared with its baseline.

use plumb_comparison::{
    Better, CONVENTION, Comparison, Contrast, Endpoint, FigureUnit, LowerBound, signed,
};
use plumb_measure::counted;
use plumb_page::figures::{milliseconds, per_second, with_unit};

use crate::comparison::under;
use crate::{Grade, Remark, Verdict};

/// The keys of the figures that every operation has its part in.
const OF_ALL: [&str; 2] = ["throughput", "mean"];

/// How the figures of a run stand to that of its baseline.
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

impl Doubt {
    /// Its name, for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsteady => "unsteady",
            Self::NoIntervals => "no-intervals",
            Self::LowerBound => "lower-bound",
        }
    }
}

impl Held {
    /// That of `contrast` where the candidate may be worse by `tolerance`, a share of the baseline
    /// from 0 to 1. Without an interval of the change nothing is decided.
    #[must_use]
    pub fn of(contrast: &Contrast, tolerance: Option<f64>) -> Self {
        deciding(contrast, tolerance).map_or(Self::Unknown, |it| Self::of_figure(it, tolerance))
    }

    fn of_figure(figure: &Endpoint, tolerance: Option<f64>) -> Self {
        let change = figure.ratio.map(|ratio| figure.improvement(ratio));
        // what cannot be compared is not within anything
        let (Some(change), Some(tolerance)) = (change, tolerance) else {
            return Self::Unknown;
        };
        if !change.is_finite() {
            return Self::Unknown;
        }
        let bound = figure.lower_bound;
        // a figure exactly at the limit is within it, however its quotient is rounded
        let limit = -100.0 * tolerance - 1e-9;
        match reach(figure, change) {
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

/// The figure by which `contrast` stands to its baseline: the primary one, or a throughput or a mean that
/// is worse than the `tolerance`, or may be by its own estimate, where that is not: few very slow
/// operations leave a median as it is. `None` where there is no figure.
#[must_use]
pub fn deciding(contrast: &Contrast, tolerance: Option<f64>) -> Option<&Endpoint> {
    let primary = contrast.endpoints.first()?;
    let seems_worse = |it: &Endpoint| {
        let change = it.ratio.map(|ratio| it.improvement(ratio));
        change.zip(tolerance).is_some_and(|(change, tolerance)| change < -100.0 * tolerance - 1e-9)
    };
    let of_primary = Held::of_figure(primary, tolerance);
    if of_primary == Held::Beyond {
        return Some(primary);
    }
    let is_beyond = |it: &&Endpoint| Held::of_figure(it, tolerance) == Held::Beyond;
    let may_be = |it: &&Endpoint| {
        of_primary == Held::Within
            && matches!(Held::of_figure(it, tolerance), Held::Undecided(_))
            && seems_worse(it)
    };
    let by_another = beside(contrast).find(is_beyond).or_else(|| beside(contrast).find(may_be));
    Some(by_another.unwrap_or(primary))
}

/// The figures of all operations beside a primary figure.
fn beside(contrast: &Contrast) -> impl Iterator<Item = &Endpoint> {
    contrast.endpoints.iter().skip(1).filter(|it| OF_ALL.contains(&it.key.as_str()))
}

/// By which figures all of the contrasts are held against their baselines, in words. One of those beside
/// the primary one is among them where it is known to be within the `tolerance`.
fn by_figures(contrasts: &[Contrast], tolerance: Option<f64>) -> String {
    let is_known = |key: &str| {
        let mut all = contrasts.iter().flat_map(beside).filter(|it| it.key == key);
        all.all(|it| Held::of_figure(it, tolerance) == Held::Within)
    };
    let mut names: Vec<&str> = Vec::new();
    for contrast in contrasts {
        let others = beside(contrast).filter(|it| is_known(&it.key));
        for figure in contrast.endpoints.first().into_iter().chain(others) {
            if !names.contains(&figure.name.as_str()) {
                names.push(&figure.name);
            }
        }
    }
    match names.split_last() {
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
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
        let figures = by_figures(&comparison.contrasts, tolerance);
        verdict.sentence = under(summed_up(&held, &figures, tolerance), comparison);
        for (case, contrast) in verdict.cases.iter_mut().zip(&comparison.contrasts) {
            case.remarks.retain(|remark| remark.grade == Grade::Notes);
            // the same from run to run, so that a host can follow it
            case.group.clone_from(&verdict.title);
            let against = deciding(contrast, tolerance).map(against).unwrap_or_default();
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

/// How many points are worse than allowed by these `figures`, in a sentence.
fn summed_up(held: &[Held], figures: &str, tolerance: Option<f64>) -> String {
    let count = |which: fn(&Held) -> bool| held.iter().filter(|it| which(it)).count();
    let (limit, all) = (limit(tolerance), counted(held.len() as u64, "point"));
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let undecided = count(|it| matches!(it, Held::Undecided(_)));
    let unknown = count(|it| *it == Held::Unknown);
    match (count(|it| *it == Held::Beyond), undecided + unknown, tolerance) {
        (_, _, None) => "No tolerance was given, so there is no verdict.".into(),
        (0, 0, Some(_)) if held.is_empty() => "Nothing was compared.".into(),
        (0, 0, Some(_)) => {
            format!("By {figures} none of {all} is worse than the baseline by more than {limit}.")
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
mod tests;
