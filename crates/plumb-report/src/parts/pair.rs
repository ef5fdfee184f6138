//! A pair of pages: how much longer the one takes than the other.

use plumb_measure::{PairDifference, ResultRecord, show_ns};

use super::name::names;
use crate::figures::grouped;

/// Pages of a pair whose lengths differ by more than this, bytes, do not take the same time on the
/// wire.
const PAIR_APART_BYTES: u64 = 1_024;

/// What the first pair says of whole answers, in a sentence; `None` without one.
pub(crate) fn sentence(result: &ResultRecord) -> Option<String> {
    let pair = result.pair.as_ref()?;
    let times = pair.last_byte.as_ref()?;
    let shown = |name: &String| {
        let mut called = result.parts.iter().zip(names(&result.parts));
        called.find(|(part, _)| part.name == *name).map_or_else(|| name.clone(), |(_, short)| short)
    };
    let (dynamic, fixed) = (shown(&pair.dynamic), shown(&pair.fixed));
    Some(match difference(times) {
        (Some(verb), size) => format!("{dynamic} {verb} than {fixed} to its last byte by {size}."),
        (None, size) => {
            format!("{dynamic} is not told apart from {fixed} to its last byte: {size}.")
        }
    })
}

/// True where an interval says which page takes longer: zero is not within it.
#[must_use]
pub fn is_told_apart(times: &PairDifference) -> bool {
    let ends = times.low_ns.zip(times.high_ns);
    ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
}

/// What a pair of pages of different lengths compares beside the work.
pub(super) fn lengths(result: &ResultRecord) -> Option<String> {
    let pair = result.pair.as_ref()?;
    let median = |name: &str| {
        let part = result.parts.iter().find(|part| part.name == name)?;
        Some(part.length?.p50)
    };
    let (dynamic, fixed) = (median(&pair.dynamic)?, median(&pair.fixed)?);
    (dynamic.abs_diff(fixed) > PAIR_APART_BYTES).then(|| {
        format!(
            "The pages of the pair are {} and {} bytes long at the median: the difference of their \
             times holds that of their transfer, too. Name a static file of about the same length.",
            grouped(dynamic),
            grouped(fixed)
        )
    })
}

/// Which way two pages differ and by how much: `takes longer`, `1.25 ms (95 % interval 1.20 ms to
/// 1.31 ms)`. Of a page that is the quicker one the interval is turned round, too. Nothing but the
/// estimate where they are not told apart.
pub(super) fn difference(times: &PairDifference) -> (Option<&'static str>, String) {
    let told = is_told_apart(times);
    let quicker = told && times.ns < 0.0;
    let (verb, side) = if quicker { ("is quicker", -1.0) } else { ("takes longer", 1.0) };
    let estimate = signed(side * times.ns);
    let ends = if quicker { (times.high_ns, times.low_ns) } else { (times.low_ns, times.high_ns) };
    let text = match (ends, times.level) {
        ((Some(low), Some(high)), Some(level)) => format!(
            "{estimate} ({:.1} % interval {} to {})",
            level * 100.0,
            signed(side * low),
            signed(side * high)
        ),
        _ => format!("{estimate} (no interval: it takes 6 blocks or more)"),
    };
    (told.then_some(verb), text)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the size of a difference of times; a cast to an integer saturates"
)]
fn signed(ns: f64) -> String {
    let size = show_ns(ns.abs().round() as u64);
    if ns <= -0.5 { format!("-{size}") } else { size }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{LengthFigures, PairRecord, PartRecord};

    use super::*;

    #[test]
    fn a_pair_of_pages_of_different_lengths_is_remarked() {
        let note = |fixed: u64| {
            let part = |name: &str, p50| PartRecord {
                name: name.into(),
                length: Some(LengthFigures { min: p50, p25: None, p50, p75: None, max: p50 }),
                ..PartRecord::default()
            };
            let pair = PairRecord {
                dynamic: "/page".into(),
                fixed: "/image".into(),
                method: String::new(),
                blocks: 20,
                first_byte: None,
                last_byte: None,
            };
            let parts = vec![part("/page", 1_026), part("/image", fixed)];
            lengths(&ResultRecord { parts, pair: Some(pair), ..ResultRecord::default() })
        };
        assert_eq!(note(2_050), None);
        let said = note(35_000).unwrap();
        assert!(said.starts_with("The pages of the pair are 1,026 and 35,000 bytes"), "{said}");
    }

    #[test]
    fn a_difference_has_its_interval_and_says_which_page_is_the_quicker_one() {
        let times = PairDifference {
            ns: 1_500.0,
            low_ns: Some(1_000.0),
            high_ns: Some(2_000.0),
            level: Some(0.9531),
        };
        let (verb, size) = difference(&times);
        assert_eq!(verb, Some("takes longer"));
        assert_eq!(size, "1.50 us (95.3 % interval 1.00 us to 2.00 us)");
        let turned = PairDifference {
            ns: -1_500.0,
            low_ns: Some(-2_000.0),
            high_ns: Some(-1_000.0),
            ..times
        };
        assert_eq!(difference(&turned), (Some("is quicker"), size));
    }

    #[test]
    fn pages_whose_interval_holds_zero_are_not_told_apart() {
        let times = PairDifference {
            ns: -1_500.0,
            low_ns: Some(-2_000.0),
            high_ns: Some(1_000.0),
            level: Some(0.9531),
        };
        let size = "-1.50 us (95.3 % interval -2.00 us to 1.00 us)";
        assert_eq!(difference(&times), (None, size.into()));
        let few = PairDifference { low_ns: None, high_ns: None, level: None, ..times };
        let size = "-1.50 us (no interval: it takes 6 blocks or more)";
        assert_eq!(difference(&few), (None, size.into()));
    }
}
