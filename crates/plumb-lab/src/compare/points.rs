//! Which points of two plans belong together.

use std::collections::BTreeMap;

use crate::LabError;

/// What names a point.
pub(super) type Labels = BTreeMap<String, String>;

/// Which points belong together: those with the same labels, or the only ones. Each side has its
/// name and its points.
///
/// # Errors
/// [`LabError::Mismatch`] when the plans have different points.
pub(super) fn matched(
    (baseline, of_baseline): (&str, &[Labels]),
    (candidate, of_candidate): (&str, &[Labels]),
) -> Result<Vec<(Labels, Labels)>, LabError> {
    match (of_baseline, of_candidate) {
        ([one], [other]) => Ok(vec![(one.clone(), other.clone())]),
        (all, others) if all == others => {
            Ok(all.iter().map(|it| (it.clone(), it.clone())).collect())
        }
        (all, others) => Err(LabError::Mismatch(format!(
            "{baseline} has the points {}, and {candidate} has {}",
            listed(all),
            listed(others)
        ))),
    }
}

/// Points of two sides, of which each belongs to the other.
type Pairs = Vec<(Labels, Labels)>;

/// The points of two separate runs: those that both have, or the only ones, and in words those that only
/// one of them has. Each side has its name and its points.
///
/// # Errors
/// [`LabError::Mismatch`] when they have none in common.
pub(super) fn common(
    baseline: (&str, &[Labels]),
    candidate: (&str, &[Labels]),
) -> Result<(Pairs, Vec<String>), LabError> {
    let refused = match matched(baseline, candidate) {
        Ok(points) => return Ok((points, Vec::new())),
        Err(refused) => refused,
    };
    let both: Pairs = baseline
        .1
        .iter()
        .filter(|point| candidate.1.contains(point))
        .map(|point| (point.clone(), point.clone()))
        .collect();
    if both.is_empty() {
        return Err(refused);
    }
    let sides = [(baseline, candidate.1), (candidate, baseline.1)];
    let told = sides.into_iter().filter_map(|((name, points), others)| {
        let alone: Vec<Labels> =
            points.iter().filter(|point| !others.contains(point)).cloned().collect();
        let (noun, left_out) = match alone.len() {
            0 => return None,
            1 => ("point", "it is"),
            _ => ("points", "they are"),
        };
        Some(format!("Only {name} has the {noun} {}: {left_out} not compared.", listed(&alone)))
    });
    Ok((both, told.collect()))
}

/// Points as people count: 300B before 10000B.
pub(super) fn in_order<'a>(points: impl Iterator<Item = &'a Labels>) -> Vec<Labels> {
    let number = |value: &String| -> u64 {
        let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let key = |labels: &Labels| -> Vec<(String, u64, String)> {
        labels.iter().map(|(key, value)| (key.clone(), number(value), value.clone())).collect()
    };
    let mut points: Vec<Labels> = points.cloned().collect();
    points.sort_by_key(key);
    points.dedup();
    points
}

fn listed(points: &[Labels]) -> String {
    if points.is_empty() {
        return "none".into();
    }
    let name = |labels: &Labels| {
        labels.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
    };
    points.iter().map(|labels| format!("({})", name(labels))).collect::<Vec<_>>().join(" ")
}

pub(super) fn common_labels(one: &Labels, other: &Labels) -> Labels {
    let mut common = one.clone();
    common.retain(|key, value| other.get(key) == Some(value));
    common
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{SeparateRun, separate};
    use super::*;
    use crate::{Faults, fixture};

    /// A run that was taken at so many `users`.
    fn run(name: &str, users: &[&str]) -> SeparateRun {
        let mut record = fixture::run("closed", 1_000_000, None);
        let like = record.results[0].clone();
        let results = users.iter().map(|users| {
            let labels = Labels::from([("users".to_owned(), (*users).to_owned())]);
            plumb_measure::ResultRecord { labels, ..like.clone() }
        });
        record.results = results.collect();
        SeparateRun { name: name.into(), record, folder: PathBuf::new() }
    }

    #[test]
    fn points_that_both_runs_have_are_compared_and_all_others_named() {
        let compared = |one: &[&str], other: &[&str]| {
            let runs = [run("before", one), run("after", other)];
            separate(&fixture::plumb(), "now".into(), &runs, Faults::default())
        };
        let found = compared(&["1", "5", "10", "20"], &["20", "40"]).unwrap();
        let at: Vec<&str> = found.contrasts.iter().map(|it| &*it.labels["users"]).collect();
        assert_eq!(at, ["20"]);
        for said in [
            "Only before has the points (users 1) (users 5) (users 10): they are not compared.",
            "Only after has the point (users 40): it is not compared.",
        ] {
            assert!(found.warnings.iter().any(|it| it == said), "{said}: {:?}", found.warnings);
        }
        let alike = compared(&["1", "20"], &["1", "20"]).unwrap();
        assert_eq!(alike.contrasts.len(), 2);
        assert!(!alike.warnings.iter().any(|it| it.starts_with("Only ")), "{:?}", alike.warnings);
        let refused = compared(&["1", "5"], &["10", "20"]).unwrap_err().to_string();
        assert!(refused.contains("before has the points (users 1) (users 5)"), "{refused}");
    }
}
