//! Where the time of an operation went, in words and tables.

mod html;
mod tables;

use plumb_measure::{Attribution, PartKind, RunRecord};

pub(crate) use html::{section, styles};
pub(crate) use tables::{findings, parts, readings, times};

use crate::figures::{grouped, real};
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

/// The whole and its parts: `51.2 ms at the client: 3.4 server, 0.1 wire, 47.7 waiting before the
/// server saw it (queue of the pool)`.
fn sentence(attribution: &Attribution) -> String {
    let scale = Scale::of(attribution.client.mean_ns);
    let mean = |kind: PartKind| attribution.mean_ns(kind);
    let has = |kind: &PartKind| attribution.parts.iter().any(|part| part.kind == *kind);
    let mut words = vec![
        format!("{} server", scale.figure(mean(PartKind::Server))),
        format!("{} wire", scale.figure(mean(PartKind::Wire))),
    ];
    let before: Vec<PartKind> = BEFORE.into_iter().filter(has).collect();
    if !before.is_empty() {
        let sum = before.iter().map(|kind| mean(*kind)).sum();
        let each: Vec<String> = match before.as_slice() {
            [only] => vec![name(*only).into()],
            all => all
                .iter()
                .map(|kind| format!("{} {}", scale.figure(mean(*kind)), name(*kind)))
                .collect(),
        };
        let figure = scale.figure(sum);
        words.push(format!("{figure} waiting before the server saw it ({})", each.join(", ")));
    }
    words.push(format!("{} rest", scale.figure(mean(PartKind::Rest))));
    format!(
        "{} {} at the client: {} (means of {} calls; looked into {} times).",
        scale.figure(attribution.client.mean_ns),
        scale.unit,
        words.join(", "),
        grouped(attribution.client.count),
        grouped(attribution.observed)
    )
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
        let decimals = match signed(whole_ns) / ns {
            _ if unit == "ns" => 0,
            value if value < 10.0 => 2,
            _ => 1,
        };
        Self { unit, ns, decimals }
    }

    fn figure(&self, ns: i64) -> String {
        let text = format!("{:.*}", self.decimals, signed(ns) / self.ns);
        // nothing is less than nothing
        let nothing = text.bytes().all(|byte| b"-0.".contains(&byte));
        text.strip_prefix('-').filter(|_| nothing).map(str::to_owned).unwrap_or(text)
    }
}

fn signed(ns: i64) -> f64 {
    let size = real(ns.unsigned_abs());
    if ns < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::{Estimate, Part};
    use std::collections::BTreeMap;

    fn of(client_us: i64, parts: &[(PartKind, i64)]) -> Attribution {
        let time = |us: i64| Estimate { mean_ns: us * 1_000, half_width_ns: None, count: 1_234 };
        Attribution {
            subject: "SELECT 1".into(),
            client: time(client_us),
            parts: parts
                .iter()
                .map(|(kind, us)| Part { kind: *kind, time: time(*us), how: String::new() })
                .collect(),
            observed: 80,
            times: BTreeMap::new(),
            readings: Vec::new(),
            advice: Vec::new(),
        }
    }

    #[test]
    fn the_sentence_adds_up_in_one_unit() {
        let parts = [
            (PartKind::Server, 3_400),
            (PartKind::Wire, 100),
            (PartKind::Queue, 47_650),
            (PartKind::Rest, 50),
        ];
        assert_eq!(
            sentence(&of(51_200, &parts)),
            "51.2 ms at the client: 3.4 server, 0.1 wire, 47.6 waiting before the server saw it \
             (queue of the pool), 0.1 rest (means of 1,234 calls; looked into 80 times)."
        );
    }

    #[test]
    fn what_waits_for_several_things_says_how_long_for_each() {
        let parts = [(PartKind::Due, 5), (PartKind::Queue, 7), (PartKind::Rest, -1)];
        let text = sentence(&of(11, &parts));
        let waiting = "12.0 waiting before the server saw it (5.0 waiting for a caller, 7.0 queue \
                       of the pool), -1.0 rest";
        assert!(text.contains(waiting), "{text}");
        assert_eq!(Scale::of(50_000_000).figure(-1_000), "0.0");
    }
}
