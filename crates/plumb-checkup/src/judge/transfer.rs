//! Answers that take long from their first byte to their last: the rate of the line, or of whoever writes
//! them.

use super::sentence::named;
use super::told::told_work;
use super::{Evidence, one_a_server};
use crate::finding::{CheckupFinding, FaultCost, FaultKind};
use crate::{CheckupLayer, CheckupOutcome, CheckupPart, PartRole};
use plumb_measure::{Attribution, PartKind, bits_per_s, grouped, show_count, show_ns};

/// A time from which an operation is slow, nanoseconds: up to a tenth of a second an answer seems immediate.
///
/// # Source
/// Nielsen, Usability Engineering, 1993, 5.5.
const SLOW_NS: u64 = 100_000_000;
/// An answer of no more bytes leaves in one go, whatever the line: what it waits for is who writes it.
///
/// # Source
/// RFC 6928: ten segments of 1,460 bytes.
const WINDOW_BYTES: u64 = 14_600;

/// What passes between the first byte of an answer and its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) cost: FaultCost,
    bytes: u64,
}

impl Transfer {
    /// The transfer of the answers of `outcome` where it makes up half of a slow operation, or more; `None` where the server tells that it works meanwhile, and where nobody knows.
    pub(super) fn of(outcome: &CheckupOutcome) -> Option<Self> {
        let bytes = outcome.answer_bytes.filter(|bytes| *bytes > WINDOW_BYTES)?;
        let (ns, half, whole_ns) = measured(outcome.attribution.as_ref()?)?;
        let low_ns = ns.saturating_sub(half);
        let before_ns = whole_ns.saturating_sub(ns);
        let is_most = whole_ns >= SLOW_NS && low_ns.saturating_mul(2) >= whole_ns;
        let works_meanwhile = told_work(outcome).is_some_and(|told| told > before_ns);
        let cost = FaultCost::of(ns, low_ns, ns.saturating_add(half), whole_ns);
        (is_most && !works_meanwhile).then_some(Self { cost, bytes })
    }

    /// `400,000 bytes at 7.94 Mbit/s`.
    fn rate(&self) -> String {
        let rate = bits_per_s(self.bytes, self.cost.ns);
        format!("{} bytes at {}bit/s", grouped(self.bytes), show_count(rate))
    }
}

/// The mean of the transfer, half of its interval, and the mean of the operations, nanoseconds.
fn measured(account: &Attribution) -> Option<(u64, u64, u64)> {
    if account.cannot_be_split.is_some() {
        return None;
    }
    let part = account.parts.iter().find(|part| part.kind == PartKind::Transfer)?;
    let mean = |ns: i64| u64::try_from(ns).ok();
    let ns = mean(part.time.mean_ns)?;
    let half = part.time.half_width_ns.unwrap_or(ns); // one that nobody knows is no exact one
    Some((ns, half, mean(account.client.mean_ns)?))
}

/// The servers whose answers take long to come through, each with the operation that it costs most.
pub(super) fn findings(evidence: &Evidence<'_>) -> Vec<CheckupFinding> {
    let answered = evidence.answered().filter(|(part, _)| part.role == PartRole::Yardstick);
    let found = answered.filter_map(|(part, it)| Some(finding(part, Transfer::of(it)?)));
    one_a_server(&found.collect::<Vec<_>>())
}

fn finding(part: &CheckupPart, transfer: Transfer) -> CheckupFinding {
    let Transfer { cost, .. } = transfer;
    let evidence = format!(
        "The answer of the {} takes long to come through: {} takes {} at the mean, of which {} pass between \
         the first byte and the last, {}. Whether the line carries no more, or what writes the answer is no \
         faster, cannot be told from here.",
        part.server,
        named(&part.operation),
        show_ns(cost.whole_ns),
        show_ns(cost.ns),
        transfer.rate(),
    );
    CheckupFinding {
        kind: FaultKind::Transfer,
        layer: Some(part.layer),
        server: part.server.clone(),
        operation: Some(part.operation.clone()),
        cost: Some(cost),
        ranked_ns: None,
        evidence,
        next: next(part.layer).into(),
    }
}

/// What tells the line from whoever writes.
fn next(layer: CheckupLayer) -> &'static str {
    match layer {
        CheckupLayer::Pages => {
            "Compare with the rate of plumb net stream from the same host (plumb net serve there): where \
             that is no higher, it is the line, or a limiter on it; else what writes the answer, or passes \
             it on. A smaller or compressed page takes less either way."
        }
        CheckupLayer::Network
        | CheckupLayer::Locks
        | CheckupLayer::Messages
        | CheckupLayer::Database => {
            "Compare with the rate of plumb net stream from the same host (plumb net serve there): where \
             that is no higher, it is the line, or a limiter on it; else what writes the answer."
        }
    }
}

/// What of the time that `last` takes longer than `first` is transfer: `its transfer grew from 400 ms to
/// 1.60 s, 400,000 bytes at 2.00 Mbit/s`; `None` where that is less than half of it.
pub(super) fn grown(first: &CheckupOutcome, last: &CheckupOutcome) -> Option<String> {
    let now = Transfer::of(last)?;
    let before = first.attribution.as_ref().and_then(measured).map_or(0, |(ns, ..)| ns);
    let added = last.mean_ns?.saturating_sub(first.mean_ns?);
    let grown = now.cost.ns.saturating_sub(before);
    (grown.saturating_mul(2) >= added.max(1)).then(|| {
        let (before, after) = (show_ns(before), show_ns(now.cost.ns));
        format!("its transfer grew from {before} to {after}, {}", now.rate())
    })
}
