//! From what was measured to the slowest layer.
//!
//! A layer is judged by the time that it adds itself to one operation: the median of the slowest of
//! its yardsticks, less the median round trip to the same host. The network is judged by that round
//! trip. Layers whose intervals overlap cannot be told apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sentence;
use super::{Checkup, CheckupLayer, CheckupOutcome, CheckupPart, Middle, PartRole};
use crate::{Scope, Validity};

/// With fewer operations not even the shortest and the longest enclose the median at 95 %: both lie
/// on the same side of it in 2 of 2^n cases.
const SAMPLES_MIN: u64 = 6;

/// What a checkup says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckupVerdict {
    /// In a sentence or two, for people.
    pub sentence: String,
    /// A verdict on each server: those that can be judged first, the slowest of them first.
    pub layers: Vec<LayerVerdict>,
}

/// How far a layer can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerState {
    /// Its yardsticks are valid, and it stands in the comparison.
    Judged,
    /// It was measured, but the times of a yardstick may not be used.
    NotValid,
    /// A yardstick left no record.
    NotMeasured,
    /// It is not measured to the end.
    Open,
}

/// What is known of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerVerdict {
    /// Its layer.
    pub layer: CheckupLayer,
    /// Its name, as in [`CheckupPart::server`].
    pub server: String,
    /// How far it can be judged.
    pub state: LayerState,
    /// Why it cannot be; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// True when it is the slowest, or cannot be told apart from the slowest.
    pub slowest: bool,
    /// The yardstick that it is judged by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operation: Option<String>,
    /// The median of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub median: Option<Middle>,
    /// What the layer adds itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own: Option<OwnTime>,
    /// The mean of the yardstick, nanoseconds, where the server says something of its own time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_ns: Option<u64>,
    /// Means of what the server says of its own time, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub told_ns: BTreeMap<String, u64>,
}

/// The time that a layer adds itself to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTime {
    /// The difference of the medians, nanoseconds.
    pub ns: i64,
    /// Lower end of its interval, nanoseconds.
    pub low_ns: i64,
    /// Upper end of its interval, nanoseconds.
    pub high_ns: i64,
    /// The median round trip that was taken off, nanoseconds; absent where none to that host is
    /// known, and of the network itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor_ns: Option<u64>,
}

/// Judges every server of `checkup`.
pub(super) fn judge(checkup: &Checkup) -> CheckupVerdict {
    let floors = floors(checkup);
    let servers = checkup.servers().into_iter();
    let mut layers: Vec<LayerVerdict> =
        servers.map(|(layer, server, parts)| verdict(layer, server, &parts, &floors)).collect();
    mark_slowest(&mut layers);
    let rank = |layer: &LayerVerdict| layer.own.map_or(i64::MAX, |own| -own.ns);
    layers.sort_by_key(rank); // stable: what is not judged stays in the order of the parts
    CheckupVerdict { sentence: sentence::of(&layers), layers }
}

/// The shortest median round trip to each host.
fn floors(checkup: &Checkup) -> BTreeMap<&str, Middle> {
    let mut floors: BTreeMap<&str, Middle> = BTreeMap::new();
    let yardsticks = checkup
        .parts
        .iter()
        .filter(|part| part.layer == CheckupLayer::Network && part.role == PartRole::Yardstick);
    for outcome in yardsticks.filter_map(|part| part.outcome.as_ref()).filter(|it| usable(it)) {
        if let (Some(host), Some(middle)) = (&outcome.host, outcome.median) {
            let floor = floors.entry(host).or_insert(middle);
            if middle.ns < floor.ns {
                *floor = middle;
            }
        }
    }
    floors
}

fn usable(outcome: &CheckupOutcome) -> bool {
    outcome.error.is_none() && outcome.validity.valid && outcome.validity.latency_valid
}

fn verdict(
    layer: CheckupLayer,
    server: &str,
    parts: &[&CheckupPart],
    floors: &BTreeMap<&str, Middle>,
) -> LayerVerdict {
    let yardsticks: Vec<&CheckupPart> =
        parts.iter().copied().filter(|part| part.role == PartRole::Yardstick).collect();
    let unjudged = |state, why: &str| LayerVerdict {
        layer,
        server: server.into(),
        state,
        why: Some(why.into()),
        slowest: false,
        operation: None,
        median: None,
        own: None,
        mean_ns: None,
        told_ns: BTreeMap::new(),
    };
    let outcomes: Vec<(&CheckupPart, &CheckupOutcome)> =
        yardsticks.iter().filter_map(|part| Some((*part, part.outcome.as_ref()?))).collect();
    if let Some(error) = outcomes.iter().find_map(|(_, outcome)| outcome.error.as_deref()) {
        return unjudged(LayerState::NotMeasured, error);
    }
    if let Some((_, outcome)) = outcomes.iter().find(|(_, outcome)| !usable(outcome)) {
        return unjudged(LayerState::NotValid, gravest(&outcome.validity));
    }
    if let Some((part, outcome)) = outcomes.iter().find(|(_, it)| it.operations < SAMPLES_MIN) {
        let (operation, count) = (&part.operation, outcome.operations);
        let why = format!("of {operation} there are {count}: too few for a median; give more time");
        return unjudged(LayerState::NotValid, &why);
    }
    if outcomes.len() < yardsticks.len() || yardsticks.is_empty() {
        return unjudged(LayerState::Open, "it is not measured to the end");
    }
    let timed = outcomes.iter().filter_map(|(part, it)| Some((*part, *it, it.median?)));
    let Some((part, outcome, median)) = timed.max_by_key(|(.., median)| median.ns) else {
        return unjudged(LayerState::NotValid, "nothing was timed");
    };
    let floor = outcome.host.as_deref().and_then(|host| floors.get(host));
    let floor = floor.filter(|_| layer != CheckupLayer::Network);
    LayerVerdict {
        state: LayerState::Judged,
        why: None,
        operation: Some(part.operation.clone()),
        median: Some(median),
        own: Some(own(median, floor.copied())),
        mean_ns: outcome.mean_ns,
        told_ns: outcome.told_ns.clone(),
        ..unjudged(LayerState::Judged, "")
    }
}

/// The first reason for which times may not be used.
fn gravest(validity: &Validity) -> &str {
    let grave = validity.reasons.iter().find(|finding| finding.scope != Scope::Nothing);
    grave.map_or("its figures are not valid", |finding| &finding.text)
}

/// What is left of `median` without `floor`. Both are measured apart, so the squares of what is not
/// known of them add up.
fn own(median: Middle, floor: Option<Middle>) -> OwnTime {
    let taken = floor.unwrap_or_default();
    let ns = signed(median.ns) - signed(taken.ns);
    let below =
        apart(median.ns - median.low_ns.min(median.ns), taken.high_ns.max(taken.ns) - taken.ns);
    let above =
        apart(median.high_ns.max(median.ns) - median.ns, taken.ns - taken.low_ns.min(taken.ns));
    OwnTime { ns, low_ns: ns - below, high_ns: ns + above, floor_ns: floor.map(|floor| floor.ns) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "nanoseconds of hours"
)]
fn apart(one: u64, other: u64) -> i64 {
    (one as f64).hypot(other as f64).ceil() as i64
}

fn signed(ns: u64) -> i64 {
    // half, so that a sum of two cannot overflow whatever a record claims
    i64::try_from(ns).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Marks the one that adds most, and whoever cannot be told apart from it.
fn mark_slowest(layers: &mut [LayerVerdict]) {
    let judged = layers.iter().filter_map(|layer| layer.own);
    if judged.clone().count() < 2 {
        return; // of one layer nobody can say that it is slower than others
    }
    let Some(most) = judged.max_by_key(|own| own.ns) else { return };
    for layer in layers {
        layer.slowest = layer.own.is_some_and(|own| own.high_ns >= most.low_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkup::CHECKUP_SCHEMA;
    use crate::{Finding, FindingKind, Program, Status};

    const US: u64 = 1_000;

    fn part(layer: CheckupLayer, server: &str, operation: &str) -> CheckupPart {
        CheckupPart {
            layer,
            server: server.into(),
            operation: operation.into(),
            how: "one user".into(),
            role: PartRole::Yardstick,
            expected_ns: 1,
            words: Vec::new(),
            outcome: None,
        }
    }

    /// A median of so many microseconds, known to a tenth of one, at `host`.
    fn takes(us: u64, host: &str) -> Option<CheckupOutcome> {
        let ns = us * US;
        Some(CheckupOutcome {
            host: Some(host.into()),
            validity: Validity::of([]),
            operations: 1_000,
            median: Some(Middle { ns, low_ns: ns - 100, high_ns: ns + 100, intervals: 20 }),
            ..CheckupOutcome::default()
        })
    }

    fn checkup(parts: Vec<CheckupPart>) -> Checkup {
        let mut checkup = Checkup {
            schema: CHECKUP_SCHEMA.into(),
            plumb: Program { version: "0.0.0".into() },
            host: None,
            started: "2026-11-21T08:30:48Z".into(),
            status: Status::Complete,
            command: Vec::new(),
            target: "this machine".into(),
            parts,
            left_out: Vec::new(),
            troubles: Vec::new(),
            idle: None,
            verdict: CheckupVerdict::default(),
        };
        checkup.judge();
        checkup
    }

    fn landscape(lock_us: u64, list_us: u64) -> Vec<CheckupPart> {
        let with = |part: CheckupPart, outcome| CheckupPart { outcome, ..part };
        let page = part(CheckupLayer::Pages, "application server", "a page");
        let list = part(CheckupLayer::Pages, "application server", "a flight list");
        vec![
            with(part(CheckupLayer::Network, "network", "a round trip"), takes(21, "::1")),
            with(part(CheckupLayer::Locks, "lock server", "a lock request"), takes(lock_us, "::1")),
            with(page, takes(90, "::1")),
            with(list, takes(list_us, "::1")),
        ]
    }

    fn slowest(checkup: &Checkup) -> Vec<&str> {
        let marked = checkup.verdict.layers.iter().filter(|layer| layer.slowest);
        marked.map(|layer| layer.server.as_str()).collect()
    }

    #[test]
    fn a_layer_is_judged_by_what_it_adds_to_the_slowest_of_its_yardsticks() {
        let checkup = checkup(landscape(45, 1_900));
        assert_eq!(slowest(&checkup), ["application server"]);
        let first = &checkup.verdict.layers[0];
        assert_eq!(first.operation.as_deref(), Some("a flight list"));
        let own = first.own.unwrap();
        assert_eq!((own.ns, own.floor_ns), (1_879_000, Some(21_000)));
        assert_eq!((own.low_ns, own.high_ns), (1_879_000 - 142, 1_879_000 + 142));
        assert_eq!(
            checkup.verdict.sentence,
            "The application server is the slowest layer: a flight list takes 1.90 ms at the \
             median, of which the round trip to its host is 21.0 us. A lock request takes 45.0 us, a \
             round trip 21.0 us."
        );
        assert!(!checkup.has_findings());
    }

    #[test]
    fn a_round_trip_that_takes_most_makes_the_network_the_slowest() {
        let mut parts = landscape(45, 91);
        parts[0].outcome = takes(80, "::1");
        let checkup = checkup(parts);
        assert_eq!(slowest(&checkup), ["network"], "the page adds 11 us, the lock nothing");
        assert!(
            checkup.verdict.sentence.starts_with(
                "The network is the slowest layer: a round trip takes 80.0 us at the median. "
            ),
            "{}",
            checkup.verdict.sentence
        );
    }

    #[test]
    fn layers_whose_intervals_overlap_cannot_be_told_apart() {
        // the page adds 69 us, the lock as much
        let checkup = checkup(landscape(90, 90));
        assert_eq!(slowest(&checkup), ["lock server", "application server"]);
        let said = &checkup.verdict.sentence;
        assert!(said.starts_with("No layer stands out as the slowest: "), "{said}");
        assert!(said.contains("cannot be told apart"), "{said}");
    }

    #[test]
    fn what_is_not_valid_is_named_and_never_called_slowest() {
        let mut parts = landscape(45, 1_900);
        let foreign = Finding {
            kind: FindingKind::ForeignLoad,
            scope: Scope::Everything,
            text: "others took 40 %".into(),
        };
        if let Some(outcome) = &mut parts[3].outcome {
            outcome.validity = Validity::of([foreign]);
        }
        let checkup = checkup(parts);
        assert_eq!(slowest(&checkup), ["lock server"]);
        let said = &checkup.verdict.sentence;
        assert!(
            said.ends_with("The application server is not judged: others took 40 %."),
            "{said}"
        );
        assert!(checkup.has_findings());
    }

    #[test]
    fn a_handful_of_operations_has_no_median_to_judge_by() {
        let mut parts = landscape(45, 1_900);
        if let Some(outcome) = &mut parts[3].outcome {
            outcome.operations = 5;
        }
        let checkup = checkup(parts);
        assert_eq!(slowest(&checkup), ["lock server"]);
        let said = &checkup.verdict.sentence;
        assert!(said.contains("is not judged: of a flight list there are 5: too few"), "{said}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_named_with_the_reason() {
        let mut parts = landscape(45, 1_900);
        parts[1].outcome = Some(CheckupOutcome::none("cannot connect to ::1: refused".into()));
        let checkup = checkup(parts);
        assert_eq!(slowest(&checkup), ["application server"]);
        let said = &checkup.verdict.sentence;
        assert!(
            said.contains("The lock server could not be measured: cannot connect to ::1: refused."),
            "{said}"
        );
        assert!(checkup.has_findings());
    }

    #[test]
    fn without_a_round_trip_to_its_host_the_network_is_part_of_a_layer() {
        let mut parts = landscape(45, 1_900);
        for part in &mut parts[2..] {
            part.outcome = part
                .outcome
                .take()
                .map(|it| CheckupOutcome { host: Some("10.1.2.3".into()), ..it });
        }
        let checkup = checkup(parts);
        assert_eq!(checkup.verdict.layers[0].own.unwrap().floor_ns, None);
        let said = &checkup.verdict.sentence;
        assert!(
            said.contains("1.90 ms at the median, the way through the network included."),
            "{said}"
        );
    }

    #[test]
    fn one_layer_is_not_slower_than_others() {
        let mut parts = landscape(45, 1_900);
        parts.truncate(1);
        let alone = checkup(parts.clone());
        assert_eq!(slowest(&alone), [""; 0]);
        assert!(alone.verdict.sentence.starts_with("Only the network could be judged: "));
        parts[0].outcome = None;
        let none = checkup(parts);
        assert_eq!(none.verdict.layers[0].state, LayerState::Open);
        assert!(none.verdict.sentence.starts_with("No layer could be judged. "));
        assert!(!none.has_findings());
    }

    #[test]
    fn a_checkup_is_read_back_as_it_was_written() {
        let checkup = checkup(landscape(45, 1_900));
        assert_eq!(Checkup::from_json(&checkup.to_json()).unwrap(), checkup);
        assert!(Checkup::from_json("{\"schema\":\"plumb.checkup/9\"}").is_err());
    }

    #[test]
    fn no_claim_of_a_record_overflows() {
        let far = Middle { ns: u64::MAX, low_ns: 0, high_ns: u64::MAX, intervals: 0 };
        let near = Middle { ns: 0, low_ns: u64::MAX, high_ns: 0, intervals: 0 };
        for (median, floor) in [(far, near), (near, far), (far, far), (near, near)] {
            let own = own(median, Some(floor));
            assert!(own.low_ns <= own.ns && own.ns <= own.high_ns, "{own:?}");
        }
    }
}
