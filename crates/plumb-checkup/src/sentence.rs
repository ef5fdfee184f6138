//! What the verdicts say, for people.

use super::{CheckupFinding, CheckupLayer, FaultKind, LayerState, LayerVerdict};
use plumb_measure::{Estimate, Split, show_ns};

/// Times that a server reports, of which so many are named.
const TOLD_MAX: usize = 2;
/// Parts that are smaller, in percent of the mean, are not worth a word.
const TOLD_MIN: f64 = 5.0;

/// The verdict in a sentence or two: the first finding, or where a user's time goes; `layers` in
/// their order. `untold` are clauses of what could not be told.
pub(super) fn of(findings: &[CheckupFinding], layers: &[LayerVerdict], untold: &[&str]) -> String {
    let judged: Vec<&LayerVerdict> =
        layers.iter().filter(|layer| layer.state == LayerState::Judged).collect();
    let unjudged = unjudged(findings, layers);
    let finished = unjudged.is_empty();
    let mut said = Vec::new();
    match findings {
        [first, more @ ..] => {
            said.extend([first.evidence.clone(), costs(first), further(more.len())]);
        }
        [] if finished => said.push(most(&judged, untold)),
        [] => {}
    }
    if !finished {
        said.extend([format!("Not finished: {unjudged}."), known(&judged)]);
    }
    if (!findings.is_empty() || !finished) && !untold.is_empty() {
        said.push(format!("{} cannot be told.", capitalised(&listed(untold))));
    }
    said.retain(|sentence| !sentence.is_empty());
    said.join(" ")
}

/// Where a user's time goes when nothing is wrong.
fn most(judged: &[&LayerVerdict], untold: &[&str]) -> String {
    let nothing = match untold {
        [] => "No fault was found".to_owned(),
        untold => format!("No fault was found, but {} cannot be told", listed(untold)),
    };
    let (slowest, others): (Vec<&LayerVerdict>, Vec<&LayerVerdict>) =
        judged.iter().copied().partition(|layer| layer.slowest);
    match (judged, &slowest[..]) {
        ([], _) => "Nothing was measured.".into(),
        ([only], _) => {
            format!("{nothing}; only the {} was measured: {}.", only.server, takes(only))
        }
        _ => {
            let by_mean = more_in_the_mean(&slowest, &others);
            let by = if by_mean.is_some() { "by medians, " } else { "" };
            let which = match slowest[..] {
                [one] => format!("the {}: {}", one.server, takes(one)),
                _ => {
                    let names: Vec<String> = slowest.iter().copied().map(adds).collect();
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    format!("one of these, which cannot be told apart: {}", listed(&names))
                }
            };
            let first = format!("{nothing}; {by}most of a user's time is {which}.");
            let said = [Some(first), by_mean, Some(beside(&others))];
            let said = said.into_iter().flatten().filter(|it| !it.is_empty());
            said.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Who of the `others` adds more than all of the `slowest` in the mean, a tenth at least, and than its own
/// median: what few operations take is in no median.
fn more_in_the_mean(slowest: &[&LayerVerdict], others: &[&LayerVerdict]) -> Option<String> {
    let most_ns = slowest.iter().map(|it| added_in_the_mean(it)).max()??;
    let other = others.iter().copied().max_by_key(|it| added_in_the_mean(it))?;
    let added_ns = added_in_the_mean(other)?;
    let is_more = |than_ns: i64| added_ns > than_ns.saturating_add(than_ns / 10);
    (is_more(most_ns) && is_more(other.own?.ns)).then(|| {
        format!(
            "In the mean it is the {}: {} takes {}, as some of its operations take far longer than most.",
            other.server,
            operation(other),
            show_ns(other.mean_ns.unwrap_or_default())
        )
    })
}

/// What a layer adds to an operation in the mean, nanoseconds: without the round trip to its host.
fn added_in_the_mean(layer: &LayerVerdict) -> Option<i64> {
    let floor_ns = layer.own?.floor_ns.unwrap_or(0);
    i64::try_from(layer.mean_ns?.saturating_sub(floor_ns)).ok()
}

/// `It costs a user 47.2 ms of 52.7 ms an operation (46.9 ms to 47.4 ms).`
fn costs(finding: &CheckupFinding) -> String {
    let Some(cost) = finding.cost else { return String::new() };
    if cost.ns == cost.whole_ns {
        return String::new(); // the evidence names it already
    }
    let (ns, whole) = (show_ns(cost.ns), show_ns(cost.whole_ns));
    let (low, high) = (show_ns(cost.low_ns), show_ns(cost.high_ns));
    let whose = cost.of.whose();
    format!("It costs a user {ns} of {whole} an operation{whose} ({low} to {high}).")
}

fn further(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "One more fault was found.".into(),
        more => format!("{more} more faults were found."),
    }
}

/// What is known while not everything is.
fn known(judged: &[&LayerVerdict]) -> String {
    match beside(judged) {
        said if said.is_empty() => said,
        said => format!("Known so far: {}", uncapitalised(&said)),
    }
}

/// `a flight list takes 1.90 ms at the median, of which the round trip to its host is 21.0 us`.
fn takes(layer: &LayerVerdict) -> String {
    let mut said = format!("{} takes {} at the median", operation(layer), median(layer));
    match layer.own.map(|own| (own.floor_ns, own.ns)) {
        Some((Some(floor_ns), ns)) if ns > 0 => {
            said += &format!(", of which the round trip to its host is {}", show_ns(floor_ns));
        }
        Some((Some(_), _)) => said += ", no more than a round trip to its host",
        Some((None, _)) if layer.layer != CheckupLayer::Network => {
            said += ", the way through the network included";
        }
        _ => {}
    }
    said + &account(layer)
}

/// What the server says of its own time.
fn account(layer: &LayerVerdict) -> String {
    let Some((mean_ns, of)) = layer.accounted().filter(|(ns, _)| *ns > 0) else {
        return String::new();
    };
    let times = layer.told_parts().map(|(name, ns)| (name, Estimate::exact(ns, 1)));
    let Ok(split) = Split::of(Estimate::exact(mean_ns, 1), times, "rest") else {
        return "; the times that the server reports add up to more than the mean".into();
    };
    let mut told: Vec<(&str, f64)> = split
        .parts
        .iter()
        .map(|part| (part.of, (part.share * 100.0).round()))
        .filter(|(_, share)| *share >= TOLD_MIN)
        .collect();
    if told.is_empty() {
        return String::new();
    }
    told.sort_by(|one, other| other.1.total_cmp(&one.1));
    let names = told.iter().take(TOLD_MAX).enumerate().map(|(at, (name, share))| match at {
        0 => format!("{name} is {share} % of the mean{}", of.whose()),
        _ => format!("{name} {share} %"),
    });
    let names: Vec<String> = names.collect();
    format!("; the server reports that {}{}", names.join(", "), of.untold())
}

/// `A lock request takes 45.0 us, a round trip 21.0 us.`
fn beside(others: &[&LayerVerdict]) -> String {
    let mut said = String::new();
    for (at, layer) in others.iter().enumerate() {
        said += &match at {
            0 => format!("{} takes {}", capitalised(&operation(layer)), median(layer)),
            _ => format!(", {} {}", operation(layer), median(layer)),
        };
    }
    if said.is_empty() { said } else { said + "." }
}

/// `the lock server (a lock request adds 24.0 us, between 23.1 us and 24.9 us)`.
fn adds(layer: &LayerVerdict) -> String {
    let of = operation(layer);
    let said = match layer.own {
        None => format!("{of} adds"),
        Some(own) if own.high_ns < 0 => format!("{of} takes less than a round trip"),
        Some(own) => {
            let [ns, low, high] =
                [own.ns, own.low_ns, own.high_ns].map(|ns| show_ns(ns.unsigned_abs()));
            let between = || format!("{ns}, between {low} and {high}");
            format!("{of} adds {}", own.at_most().unwrap_or_else(between))
        }
    };
    format!("the {} ({said})", layer.server)
}

/// What is not judged, and why, where a finding does not say it already.
fn unjudged(findings: &[CheckupFinding], layers: &[LayerVerdict]) -> String {
    let left = layers.iter().filter(|layer| layer.state != LayerState::Judged);
    let (named, other): (Vec<&LayerVerdict>, Vec<&LayerVerdict>) =
        left.partition(|layer| findings.iter().any(|finding| explains(finding, layer)));
    let names = |layers: &[&LayerVerdict]| {
        let names: Vec<String> =
            layers.iter().map(|layer| format!("the {}", layer.server)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} {} not judged", listed(&names), if names.len() == 1 { "is" } else { "are" })
    };
    let mut said: Vec<String> = other
        .iter()
        .map(|layer| {
            let why = layer.why.as_deref().unwrap_or_default().trim_end_matches('.');
            format!("{} ({why})", names(&[layer]))
        })
        .collect();
    if !named.is_empty() {
        said.push(names(&named));
    }
    said.join("; ")
}

/// True when `finding` is why `layer` is not judged.
fn explains(finding: &CheckupFinding, layer: &LayerVerdict) -> bool {
    match finding.kind {
        FaultKind::ForeignLoad | FaultKind::Steal => layer.state == LayerState::NotValid,
        FaultKind::Unreachable | FaultKind::Failures | FaultKind::Slow => {
            finding.server == layer.server && finding.layer == Some(layer.layer)
        }
        FaultKind::Loss
        | FaultKind::DelayedAcknowledgement
        | FaultKind::Wire
        | FaultKind::Transfer
        | FaultKind::Pool
        | FaultKind::Processors
        | FaultKind::Saturation
        | FaultKind::Quota => false,
    }
}

fn operation(layer: &LayerVerdict) -> String {
    named(layer.operation.as_deref().unwrap_or_default())
}

fn median(layer: &LayerVerdict) -> String {
    layer.median.map_or_else(String::new, |median| show_ns(median.ns))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Characters of an operation in a sentence: that of a page is its path.
const OPERATION_MAX: usize = 48;
/// Of a longer one, the characters in front.
const OPERATION_HEAD: usize = 16;

/// An operation as a sentence names it: of a long path the beginning and the end.
pub(super) fn named(operation: &str) -> String {
    let long = operation.chars().count();
    if long <= OPERATION_MAX {
        return operation.to_owned();
    }
    let head: String = operation.chars().take(OPERATION_HEAD).collect();
    let tail: String = operation.chars().skip(long + OPERATION_HEAD + 3 - OPERATION_MAX).collect();
    format!("{head}...{tail}")
}

/// `text` with a capital letter in front.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `text` without one.
pub(super) fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Middle, OwnTime};

    #[test]
    fn what_the_server_says_of_itself_is_named_with_its_share() {
        let layer = LayerVerdict {
            layer: CheckupLayer::Pages,
            server: "application server".into(),
            state: LayerState::Judged,
            why: None,
            slowest: true,
            operation: Some("a flight list".into()),
            median: Some(Middle { ns: 1_900_000, ..Middle::default() }),
            own: None,
            mean_ns: Some(2_000_000),
            faster_mean_ns: None,
            told_ns: [
                ("database", 475_000),
                ("queue", 20_000),
                ("render", 1_300_000),
                ("total", 1_799_000),
            ]
            .map(|(name, ns)| (name.to_owned(), ns))
            .into(),
        };
        assert_eq!(
            takes(&layer),
            "a flight list takes 1.90 ms at the median; the server reports that render is 65 % of the \
             mean, database 24 %"
        );
    }

    #[test]
    fn times_that_contain_each_other_are_no_shares() {
        let layer = LayerVerdict {
            layer: CheckupLayer::Pages,
            server: "application server".into(),
            state: LayerState::Judged,
            why: None,
            slowest: false,
            operation: Some("a flight list".into()),
            median: Some(Middle { ns: 1_900_000, ..Middle::default() }),
            own: None,
            mean_ns: Some(2_000_000),
            faster_mean_ns: None,
            told_ns: [("database", 475_000), ("program", 1_900_000)]
                .map(|(name, ns)| (name.to_owned(), ns))
                .into(),
        };
        let text = takes(&layer);
        assert!(text.ends_with("the server reports add up to more than the mean"), "{text}");
    }

    #[test]
    fn no_layer_is_said_to_add_less_than_nothing() {
        let layer = LayerVerdict {
            layer: CheckupLayer::Locks,
            server: "lock server".into(),
            state: LayerState::Judged,
            why: None,
            slowest: true,
            operation: Some("a lock request".into()),
            median: None,
            own: Some(OwnTime { ns: -1_090, low_ns: -2_000, high_ns: 500, floor_ns: Some(7_910) }),
            mean_ns: None,
            faster_mean_ns: None,
            told_ns: [].into(),
        };
        let said = "the lock server (a lock request adds no more than 500 ns, if anything)";
        assert_eq!(adds(&layer), said);
        let own = layer.own.map(|own| OwnTime { high_ns: -200, ..own });
        let less = "the lock server (a lock request takes less than a round trip)";
        assert_eq!(adds(&LayerVerdict { own, ..layer }), less);
    }

    #[test]
    fn of_a_long_path_the_beginning_and_the_end_are_named() {
        assert_eq!(named("a flight list"), "a flight list");
        let path = "/a/service/with/a/long/name/Collection(key='AA',number='17')?$format=json";
        assert_eq!(named(path), "/a/service/with/...AA',number='17')?$format=json");
        assert_eq!(named(path).chars().count(), OPERATION_MAX);
    }

    #[test]
    fn names_are_listed_as_people_do() {
        let names = ["a", "b", "c"];
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
    }
}
