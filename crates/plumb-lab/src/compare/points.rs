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
