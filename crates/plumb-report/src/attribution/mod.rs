//! Where the time of an operation went, in words and tables.

mod html;
mod tables;

use plumb_measure::{
    Account, Attribution, Calls, Estimate, PartKind, PartShare, RunRecord, Split, show_ns,
    signed_real,
};

pub(crate) use html::{section, styles};
pub(crate) use tables::{findings, parts, readings, times};

use crate::figures::grouped;
use crate::points::Points;

/// Every kind of part, in the order in which an operation meets them.
const KINDS: [PartKind; 6] = [
    PartKind::Due,
    PartKind::Queue,
    PartKind::Connect,
    PartKind::Wire,
    PartKind::Server,
    PartKind::Rest,
];

/// What an operation waits for before anything of it reaches the server.
const BEFORE: [PartKind; 3] = [PartKind::Due, PartKind::Queue, PartKind::Connect];

/// A kind of part as columns and legends name it.
fn name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Server => "server",
        PartKind::Wire => "wire",
        PartKind::Due => "waiting for a caller",
        PartKind::Queue => "queue of the pool",
        PartKind::Connect => "connecting",
        PartKind::Rest => "rest",
    }
}

/// One sentence a result that was looked into, with the name of the result where there are several.
pub(crate) fn sentences(record: &RunRecord) -> Vec<(String, String)> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    points
        .results
        .iter()
        .filter_map(|result| {
            let name = if several { points.name(result) } else { String::new() };
            Some((name, sentence(result.attribution.as_ref()?)))
        })
        .collect()
}

/// The answer, then the figures behind it.
fn sentence(attribution: &Attribution) -> String {
    let calls = grouped(attribution.client.count);
    let looked = format!("looked into {} times", grouped(attribution.observed));
    match attribution.account() {
        Ok(account) => {
            let (means, slowest) = match account.of {
                Calls::All => (format!("means of {calls} calls"), String::new()),
                Calls::Faster => (
                    format!("means of the faster nine tenths of {calls} calls and of every look"),
                    slowest_tenth(attribution),
                ),
            };
            let (answer, figures) = (answer(&account), figures(&account.split));
            format!("Network or database? {answer} {figures} ({means}; {looked}).{slowest}")
        }
        Err(reason) => {
            let measured = attribution.parts.iter().filter(|part| part.kind != PartKind::Rest);
            let parts: Vec<String> =
                measured.map(|part| format!("{} {}", name(part.kind), spread(part.time))).collect();
            format!(
                "Network or database? It cannot be split: {reason}. At the client {}; measured \
                 beside it: {} (means of {calls} calls; {looked}).",
                spread(attribution.client),
                parts.join(", ")
            )
        }
    }
}

/// What the answer does not say where it is of the faster nine tenths.
fn slowest_tenth(attribution: &Attribution) -> String {
    let share = attribution.slowest_share().map_or_else(String::new, |share| {
        format!(", {} of the time of all calls,", percent(share))
    });
    format!(" The slowest tenth{share} is not told apart.")
}

/// A part with less of the time is not named where none has most of it.
const NAMED: f64 = 0.1;

/// Who has most of the time, as far as the intervals tell.
fn answer(account: &Account) -> String {
    let Some(most) = account.split.largest().filter(|share| share.share >= 0.5) else {
        return no_part_has_most(account);
    };
    let owner = match most.of {
        PartKind::Server => "The database",
        PartKind::Wire => "The network",
        PartKind::Due | PartKind::Queue => "Neither",
        PartKind::Connect => "Connecting, which takes both",
        PartKind::Rest => "It cannot be told",
    };
    let whose = account.of.whose();
    format!("{owner}: {} of the time{whose} is {}.", percent(most.share), most.of.describe())
}

fn no_part_has_most(account: &Account) -> String {
    let (split, whose) = (&account.split, account.of.whose());
    let mut named: Vec<&PartShare<PartKind>> =
        split.all().filter(|share| share.share >= NAMED && !share.may_be_zero()).collect();
    named.sort_by(|one, other| other.share.total_cmp(&one.share));
    let named: Vec<String> = named
        .into_iter()
        .map(|share| format!("{} {}", percent(share.share), name(share.of)))
        .collect();
    if named.is_empty() {
        return format!("No part{whose} is told apart from zero.");
    }
    format!("No part has clearly most of the time{whose}: {}.", named.join(", "))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The whole and its parts: `51.2 ms at the client: 3.4 server, 0.1 wire, 47.7 waiting before the
/// server saw it (queue of the pool)`.
fn figures(split: &Split<PartKind>) -> String {
    let scale = Scale::of(split.whole.mean_ns);
    let part = |kind: PartKind| split.parts.iter().find(|share| share.of == kind);
    let mut words: Vec<String> = [PartKind::Server, PartKind::Wire]
        .into_iter()
        .filter_map(part)
        .map(|share| figure(&scale, share))
        .collect();
    let before: Vec<&PartShare<PartKind>> = BEFORE.into_iter().filter_map(part).collect();
    if !before.is_empty() {
        let sum = before.iter().map(|share| share.time.mean_ns).sum();
        let each: Vec<String> = match before.as_slice() {
            [only] => vec![name(only.of).into()],
            all => all
                .iter()
                .map(|share| format!("{} {}", scale.figure(share.time.mean_ns), name(share.of)))
                .collect(),
        };
        let figure = scale.figure(sum);
        words.push(format!("{figure} waiting before the server saw it ({})", each.join(", ")));
    }
    words.push(match split.excess_ns() {
        0 => figure(&scale, &split.rest),
        excess => exceeded(&scale, excess, split.rest.time),
    });
    let whole = scale.figure(split.whole.mean_ns);
    format!("{whole} {} at the client: {}", scale.unit, words.join(", "))
}

/// Said where the parts are more than the whole, which their intervals allow.
fn exceeded(scale: &Scale, excess_ns: u64, rest: Estimate) -> String {
    let shown = |ns: u64| scale.figure(i64::try_from(ns).unwrap_or(i64::MAX));
    format!(
        "no rest told apart from zero: the parts exceed the whole by {}, and are known to +-{}",
        shown(excess_ns),
        shown(rest.half_width_ns.unwrap_or(0))
    )
}

/// One part in the unit of the whole; of what may be zero, its bound.
fn figure(scale: &Scale, share: &PartShare<PartKind>) -> String {
    if share.may_be_zero() {
        let most = scale.figure(high_ns(share.time));
        return format!("{} not told apart from zero (at most {most})", name(share.of));
    }
    format!("{} {}", scale.figure(share.time.mean_ns), name(share.of))
}

/// The upper end of an interval, never below zero.
fn high_ns(time: Estimate) -> i64 {
    let half = i64::try_from(time.half_width_ns.unwrap_or(0)).unwrap_or(i64::MAX);
    time.mean_ns.saturating_add(half).max(0)
}

/// A mean with half its interval: `3.40 ms +-12.0 us`.
fn spread(known: Estimate) -> String {
    let sign = if known.mean_ns < 0 { "-" } else { "" };
    let mean = format!("{sign}{}", show_ns(known.mean_ns.unsigned_abs()));
    match known.half_width_ns {
        Some(half) => format!("{mean} +-{}", show_ns(half)),
        None => mean,
    }
}

/// One unit for the whole and its parts, so that they can be added up by eye.
struct Scale {
    unit: &'static str,
    ns: f64,
    decimals: usize,
}

impl Scale {
    fn of(whole_ns: i64) -> Self {
        let (unit, ns) = match whole_ns.unsigned_abs() {
            n if n < 1_000 => ("ns", 1.0),
            n if n < 1_000_000 => ("us", 1e3),
            n if n < 1_000_000_000 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let decimals = match signed_real(whole_ns) / ns {
            _ if unit == "ns" => 0,
            value if value < 10.0 => 2,
            _ => 1,
        };
        Self { unit, ns, decimals }
    }

    fn figure(&self, ns: i64) -> String {
        let text = format!("{:.*}", self.decimals, signed_real(ns) / self.ns);
        // nothing is less than nothing
        let nothing = text.bytes().all(|byte| b"-0.".contains(&byte));
        text.strip_prefix('-').filter(|_| nothing).map(str::to_owned).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_measure::{FasterCalls, TimePart};
    use proptest::prelude::*;

    use super::*;

    /// Each known to a hundredth.
    fn of(client_us: i64, parts: &[(PartKind, i64)]) -> Attribution {
        let time = |us: i64| Estimate {
            mean_ns: us * 1_000,
            half_width_ns: Some(us.unsigned_abs() * 10),
            count: 1_234,
        };
        let attribution = Attribution {
            subject: "SELECT 1".into(),
            client: time(client_us),
            parts: parts
                .iter()
                .map(|(kind, us)| TimePart { kind: *kind, time: time(*us), how: String::new() })
                .collect(),
            cannot_be_split: None,
            faster: None,
            observed: 80,
            times: BTreeMap::new(),
            readings: Vec::new(),
            advice: Vec::new(),
        };
        attribution.settled("what they leave")
    }

    #[test]
    fn the_sentence_answers_and_adds_up_in_one_unit() {
        let parts = [(PartKind::Server, 3_400), (PartKind::Wire, 100), (PartKind::Queue, 45_600)];
        assert_eq!(
            sentence(&of(51_200, &parts)),
            "Network or database? Neither: 89 % of the time is waiting for a connection of the \
             pool. 51.2 ms at the client: 3.4 server, 0.1 wire, 45.6 waiting before the server \
             saw it (queue of the pool), 2.1 rest (means of 1,234 calls; looked into 80 times)."
        );
    }

    #[test]
    fn what_waits_for_several_things_says_how_long_for_each() {
        let text = sentence(&of(13, &[(PartKind::Due, 5), (PartKind::Queue, 7)]));
        let waiting = "12.0 waiting before the server saw it (5.0 waiting for a caller, 7.0 queue \
                       of the pool), 1.0 rest";
        assert!(text.contains(waiting), "{text}");
        assert_eq!(Scale::of(50_000_000).figure(-1_000), "0.0");
    }

    #[test]
    fn the_answer_names_who_has_most_of_the_time() {
        let answered = |whole, server, wire| {
            let parts = [(PartKind::Server, server), (PartKind::Wire, wire)];
            sentence(&of(whole, &parts))
        };
        for (parts, expected) in [
            ((5_210, 5_050, 120), "The database: 97 % of the time is the server's own work."),
            ((4_210, 50, 4_120), "The network: 98 % of the time is the way there and back"),
            ((100, 10, 20), "It cannot be told: 70 % of the time is explained by nothing"),
            ((100, 50, 50), "No part has clearly most of the time: 50 % server, 50 % wire."),
            ((100, 45, 40), "No part has clearly most of the time: 45 % server, 40 % wire, 15 %"),
        ] {
            let text = answered(parts.0, parts.1, parts.2);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_rest_whose_interval_contains_zero_is_no_figure() {
        let of = |whole| sentence(&of(whole, &[(PartKind::Wire, 900), (PartKind::Server, 100)]));
        let text = of(1_001);
        assert!(text.contains("rest not told apart from zero (at most 0.01)"), "{text}");
        let text = of(999);
        assert!(
            text.contains(
                "999.0 us at the client: 100.0 server, 900.0 wire, no rest told apart from zero: \
                 the parts exceed the whole by 1.0, and are known to +-13.5 (means"
            ),
            "{text}"
        );
    }

    #[test]
    fn what_cannot_be_split_says_why_and_shows_no_share() {
        let text = sentence(&of(59, &[(PartKind::Server, 38), (PartKind::Wire, 124)]));
        assert_eq!(
            text,
            "Network or database? It cannot be split: the parts were measured on other operations \
             and add up to more than the whole, 162 us of 59.0 us. At the client 59.0 us +-590 ns; \
             measured beside it: server 38.0 us +-380 ns, wire 124 us +-1.24 us (means of 1,234 \
             calls; looked into 80 times)."
        );
        assert!(!text.contains('%'));
    }

    /// An account of all calls whose parts are hardly known, and one of the faster nine tenths.
    fn busy(faster_us: i64, faster_parts: &[(PartKind, i64)]) -> Attribution {
        let faster = of(faster_us, faster_parts);
        let mut all = of(486, &[(PartKind::Server, 50), (PartKind::Wire, 300)]);
        all.parts.iter_mut().for_each(|part| part.time.half_width_ns = Some(305_000));
        let all = all.settled("what they leave");
        let account = || Ok(FasterCalls { client: faster.client, parts: faster.parts });
        all.or_of_the_faster(account)
    }

    #[test]
    fn where_only_the_faster_nine_tenths_are_known_the_sentence_is_of_them() {
        let text = sentence(&busy(180, &[(PartKind::Server, 40), (PartKind::Wire, 120)]));
        assert_eq!(
            text,
            "Network or database? The network: 67 % of the time of the faster nine tenths of the \
             calls is the way there and back, waking the server's process included. 180.0 us at \
             the client: 40.0 server, 120.0 wire, 20.0 rest (means of the faster nine tenths of \
             1,234 calls and of every look; looked into 80 times). The slowest tenth, 67 % of the \
             time of all calls, is not told apart."
        );
        let text = sentence(&busy(100, &[(PartKind::Server, 50), (PartKind::Wire, 50)]));
        assert!(
            text.contains(
                "No part has clearly most of the time of the faster nine tenths of the calls: 50 %"
            ),
            "{text}"
        );
    }

    #[test]
    fn where_these_are_not_known_either_it_cannot_be_split() {
        let text = sentence(&busy(59, &[(PartKind::Server, 38), (PartKind::Wire, 124)]));
        let start = "Network or database? It cannot be split: the parts are not known well enough, \
                     together to +- 431 us of a whole of 486 us. At the client 486 us +-4.86 us; ";
        assert!(text.starts_with(start), "{text}");
        assert!(!text.contains('%'), "{text}");
    }

    fn any_parts() -> impl Strategy<Value = Vec<(PartKind, i64)>> {
        let time = || -20_i64..2_000;
        (time(), time(), time(), time()).prop_map(|(server, wire, queue, connect)| {
            vec![
                (PartKind::Server, server),
                (PartKind::Wire, wire),
                (PartKind::Queue, queue),
                (PartKind::Connect, connect),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_share_that_is_printed_exceeds_the_whole(whole in 1_i64..3_000, parts in any_parts()) {
            let text = sentence(&of(whole, &parts));
            let shares: Vec<u32> = text
                .split(" %")
                .filter_map(|before| before.rsplit(' ').next()?.parse().ok())
                .collect();
            prop_assert!(shares.iter().all(|share| *share <= 100), "{}", text);
            prop_assert!(shares.iter().sum::<u32>() <= 102, "{}", text); // rounded
        }
    }
}
