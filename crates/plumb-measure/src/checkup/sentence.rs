//! What the verdicts say, for people.

use super::{CheckupLayer, LayerState, LayerVerdict};
use crate::{Estimate, Split, show_ns};

/// Parts of a server's own account that are named.
const TOLD_MAX: usize = 2;
/// Parts that are smaller, in percent of the mean, are not worth a word.
const TOLD_MIN: f64 = 5.0;

/// The verdict in a sentence or two; `layers` in their order.
pub(super) fn of(layers: &[LayerVerdict]) -> String {
    let judged: Vec<&LayerVerdict> =
        layers.iter().filter(|layer| layer.state == LayerState::Judged).collect();
    let (slowest, others): (Vec<&LayerVerdict>, Vec<&LayerVerdict>) =
        judged.iter().copied().partition(|layer| layer.slowest);
    let mut said = match (&judged[..], &slowest[..]) {
        ([], _) => vec!["No layer could be judged.".into()],
        ([only], _) => vec![format!("Only the {} could be judged: {}.", only.server, takes(only))],
        (_, [one]) => {
            let first = format!("The {} is the slowest layer: {}.", one.server, takes(one));
            vec![first, beside(&others)]
        }
        _ => {
            let names: Vec<String> = slowest.iter().copied().map(adds).collect();
            let first = format!(
                "No layer stands out as the slowest: {} cannot be told apart.",
                listed(&names)
            );
            vec![first, beside(&others)]
        }
    };
    said.extend(layers.iter().filter_map(unjudged));
    said.retain(|sentence| !sentence.is_empty());
    said.join(" ")
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
    let Some(mean_ns) = layer.mean_ns.filter(|ns| *ns > 0) else { return String::new() };
    let times = layer.told_ns.iter().map(|(name, ns)| (name.as_str(), Estimate::exact(*ns, 1)));
    let Ok(split) = Split::of(Estimate::exact(mean_ns, 1), times, "rest") else {
        return "; by the server's own account its times add up to more than the mean".into();
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
        0 => format!("{name} is {share} % of the mean"),
        _ => format!("{name} {share} %"),
    });
    let names: Vec<String> = names.collect();
    format!("; by the server's own account {}", names.join(", "))
}

/// `A lock request takes 45.0 us, a round trip 21.0 us.`
fn beside(others: &[&LayerVerdict]) -> String {
    let mut said = String::new();
    for (at, layer) in others.iter().enumerate() {
        said += &match at {
            0 => format!("{} takes {}", capitalised(operation(layer)), median(layer)),
            _ => format!(", {} {}", operation(layer), median(layer)),
        };
    }
    if said.is_empty() { said } else { said + "." }
}

/// `the lock server (a lock request adds 24.0 us, between 23.1 us and 24.9 us)`.
fn adds(layer: &LayerVerdict) -> String {
    let time = |ns: i64| {
        let sign = if ns < 0 { "-" } else { "" }; // less than a round trip is no zero
        format!("{sign}{}", show_ns(ns.unsigned_abs()))
    };
    let own = layer.own.map_or_else(String::new, |own| {
        format!("{}, between {} and {}", time(own.ns), time(own.low_ns), time(own.high_ns))
    });
    format!("the {} ({} adds {own})", layer.server, operation(layer))
}

fn unjudged(layer: &LayerVerdict) -> Option<String> {
    let verb = match layer.state {
        LayerState::Judged => return None,
        LayerState::NotValid | LayerState::Open => "is not judged",
        LayerState::NotMeasured => "could not be measured",
    };
    let why = layer.why.as_deref().unwrap_or_default().trim_end_matches('.');
    let end = if why.ends_with(['?', '!']) { "" } else { "." };
    Some(format!("The {} {verb}: {why}{end}", layer.server))
}

fn operation(layer: &LayerVerdict) -> &str {
    layer.operation.as_deref().unwrap_or_default()
}

fn median(layer: &LayerVerdict) -> String {
    layer.median.map_or_else(String::new, |median| show_ns(median.ns))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
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
            told_ns: [("database", 475_000), ("load", 0), ("queue", 20_000), ("render", 1_300_000)]
                .map(|(name, ns)| (name.to_owned(), ns))
                .into(),
        };
        assert_eq!(
            takes(&layer),
            "a flight list takes 1.90 ms at the median; by the server's own account render is 65 % \
             of the mean, database 24 %"
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
            told_ns: [("database", 475_000), ("total", 1_900_000)]
                .map(|(name, ns)| (name.to_owned(), ns))
                .into(),
        };
        let text = takes(&layer);
        assert!(text.ends_with("its times add up to more than the mean"), "{text}");
    }

    #[test]
    fn what_takes_less_than_a_round_trip_adds_less_than_nothing() {
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
            told_ns: [].into(),
        };
        assert_eq!(
            adds(&layer),
            "the lock server (a lock request adds -1.09 us, between -2.00 us and 500 ns)"
        );
    }

    #[test]
    fn names_are_listed_as_people_do() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
    }
}
