//! The answer in one sentence.
//!
//! A change in it reads as in the tables: an improvement in percent of the baseline, plus is better.
//! What is only said in words, such as "5.2 % slower", has no sign.

use plumb_comparison::{Better, CONVENTION, Contrast, Endpoint, Verdict, signed};
use plumb_measure::{AcceptedLoad, counted};

use crate::contrast::{Tests, effects};
use crate::figures::{MEAN, THROUGHPUT};

/// What stands around a contrast.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The tests it was one of; `None` where nothing was tested.
    pub tests: Option<Tests>,
    /// What went wrong, in switching between its variants or with the whole experiment, or why another
    /// figure than the one that was named stands first, without an end; `None` when nothing did.
    pub trouble: Option<String>,
    /// Foreign load that was accepted in the runs that count.
    pub accepted_load: Option<AcceptedLoad>,
}

/// What a contrast says, primary figure first, processor time behind it.
#[must_use]
pub fn sentence(contrast: &Contrast, around: &Around) -> String {
    let mut place = match contrast.name() {
        name if name.is_empty() => String::new(),
        name => format!("At {name}: "),
    };
    let primary = contrast.endpoints.first();
    let primary = primary.filter(|primary| primary.ratio.is_some() || primary.p.is_some());
    let Some(primary) = primary else {
        let trouble = around.trouble.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
        return format!("{place}{trouble}{}.", nothing(contrast));
    };
    if contrast.same_treatment {
        place += &format!(
            "A/A comparison, {} and {} have the same commands and settings: ",
            contrast.candidate, contrast.baseline
        );
    }
    let mut parts = vec![first_part(contrast, primary, around)];
    let aside = &contrast.endpoints[1..];
    let of_all = OF_ALL.iter().find_map(|key| aside.iter().find(|it| it.key == *key));
    let unsaid = of_all.filter(|it| is_unsaid(it, primary));
    parts.extend(unsaid.and_then(second_part));
    let price = aside.iter().filter(|it| AROUND.contains(&it.key.as_str()));
    parts.extend(price.filter_map(second_part));
    let in_words =
        matches!(primary.verdict, None | Some(Verdict::Better | Verdict::Worse | Verdict::None));
    let has_sign =
        parts.len() > 1 || primary.interval.is_some() || primary.ratio.is_some() && !in_words;
    parts.extend(around.trouble.clone());
    let convention = if has_sign { format!("; {CONVENTION}") } else { String::new() };
    let accepted = around.accepted_load.map(|it| format!("; {}", it.words())).unwrap_or_default();
    format!("{place}{}{convention}{accepted}.", parts.join(", "))
}

/// The keys of the figures that are said beside the primary one: its price.
const AROUND: [&str; 2] = ["client-cpu", "server-cpu"];

/// The keys of the figures that every operation has its part in; the first that there is may tell what the
/// primary one does not. At a rate there is no throughput.
const OF_ALL: [&str; 2] = [THROUGHPUT, MEAN];

/// True of a figure that changed although the primary one shows nothing of it, or the opposite, tested or
/// not: few very slow operations leave a median as it is.
fn is_unsaid(endpoint: &Endpoint, primary: &Endpoint) -> bool {
    let Some((low, high)) = endpoint.improvement_interval() else { return false };
    let (worse, better) = (high < 0.0, low > 0.0);
    match primary.verdict {
        Some(Verdict::NoDifferenceShown | Verdict::Equivalent) => worse || better,
        Some(Verdict::Better) => worse,
        Some(Verdict::Worse) => better,
        Some(Verdict::Untestable | Verdict::None) | None => {
            let (low, high) = primary.improvement_interval().unwrap_or((0.0, 0.0));
            worse && high >= 0.0 || better && low <= 0.0
        }
    }
}

fn nothing(contrast: &Contrast) -> String {
    match contrast.endpoints.first() {
        None => format!(
            "{} cannot be compared with {}: there is no figure of a pair of both",
            contrast.candidate, contrast.baseline
        ),
        Some(_) => format!(
            "{} cannot be compared with {}: no pair is complete",
            contrast.candidate, contrast.baseline
        ),
    }
}

fn first_part(contrast: &Contrast, primary: &Endpoint, around: &Around) -> String {
    let (name, baseline, place) = (&contrast.candidate, &contrast.baseline, place_of(primary));
    let signed = primary.change_words().unwrap_or_else(|| "a change without a percentage".into());
    let interval = interval(primary);
    let same = contrast.same_treatment;
    match primary.verdict {
        Some(Verdict::Better | Verdict::Worse) if same => format!(
            "{name} is {}{interval} although nothing differs: chance, which is allowed 5 %, or \
             something that the experiment does not hold still",
            difference(primary)
        ),
        Some(Verdict::Better | Verdict::Worse) => {
            format!("{name} is {}{interval}", difference(primary))
        }
        Some(Verdict::Equivalent) => {
            format!(
                "{name} is equivalent to {baseline} within the margin {place}: {signed}{interval}"
            )
        }
        Some(Verdict::NoDifferenceShown) if same => {
            format!("no difference is shown {place}: {signed}{interval} is the noise here")
        }
        Some(Verdict::NoDifferenceShown) => format!(
            "no difference between {name} and {baseline} is shown {place}: {signed}{interval}"
        ),
        Some(Verdict::Untestable) => format!(
            "whether {name} differs from {baseline} {place} cannot be tested with {}: {signed} as \
             measured{interval}",
            too_few(primary, around)
        ),
        Some(Verdict::None) | None => {
            format!("no verdict on {name}: {} as measured{interval}", difference(primary))
        }
    }
}

/// `5.2 % slower at the median`. A difference can be shown that has no size: where most pairs are
/// equal, and where the figure of one side is zero. One that is not shown then has no direction.
fn difference(primary: &Endpoint) -> String {
    let change = primary.ratio.map(|ratio| primary.improvement(ratio));
    let (word, place) = (word(primary, change.unwrap_or_default()), place_of(primary));
    let is_shown = matches!(primary.verdict, Some(Verdict::Better | Verdict::Worse));
    match change.map(unsigned) {
        Some(size) if is_shown && size == unsigned(0.0) => {
            format!("{word} {place}, by {size} in the typical pair")
        }
        Some(size) if size == unsigned(0.0) => format!("a change of {size} {place}"),
        Some(size) => format!("{size} {word} {place}"),
        None => format!("{word} {place}, by more than any percentage"),
    }
}

/// `10 rounds, 36 tests at once need 11`.
fn too_few(primary: &Endpoint, around: &Around) -> String {
    let pairs = effects(&primary.blocks).len();
    let rounds = counted(pairs as u64, "round");
    match around.tests {
        Some(Tests { count: 1, needed }) => format!("{rounds} ({needed} would do)"),
        Some(Tests { count, needed }) => {
            format!("{rounds} ({needed} would do for {count} tests at once)")
        }
        None => rounds,
    }
}

/// A figure that was not tested: its change and interval, and no verdict.
fn second_part(endpoint: &Endpoint) -> Option<String> {
    let name = &endpoint.name;
    let change = endpoint.change_words()?;
    Some(match endpoint.interval_words() {
        Some(interval) => format!("{name} {change} ({interval}), not tested"),
        None => format!("{name} {change}, not tested"),
    })
}

fn place_of(endpoint: &Endpoint) -> String {
    match endpoint.key.as_str() {
        "p50" => "at the median".into(),
        "p95" => "at the 95th percentile".into(),
        "figure" => "by its figure".into(),
        _ => format!("in {}", endpoint.name),
    }
}

/// Which way it goes: as the test says where that shows a difference.
fn word(endpoint: &Endpoint, change: f64) -> &'static str {
    let is_better = match endpoint.verdict {
        Some(Verdict::Better) => true,
        Some(Verdict::Worse) => false,
        _ => change > 0.0,
    };
    match (endpoint.key.as_str(), endpoint.better, is_better) {
        ("p50" | "p95" | "mean" | "av2" | "wall", _, true) => "faster",
        ("p50" | "p95" | "mean" | "av2" | "wall", _, false) => "slower",
        (_, Better::Higher, true) | (_, Better::Lower, false) => "higher",
        (_, Better::Higher, false) | (_, Better::Lower, true) => "lower",
    }
}

/// ` (95.75 % interval +14.1 to +15.5 %)`, as the tables have it.
fn interval(endpoint: &Endpoint) -> String {
    match (endpoint.level_words(), endpoint.interval_words()) {
        (Some(level), Some(interval)) => format!(" ({level} interval {interval})"),
        _ => String::new(),
    }
}

/// A change whose direction is said in words.
fn unsigned(change: f64) -> String {
    let shown = signed(change).unwrap_or_else(|| "?".into());
    format!("{} %", shown.trim_start_matches(['+', '-']))
}

#[cfg(test)]
mod tests;
