//! Segments that this side sent again.

use super::super::{BAD_LOSS, Judgement, PartOutcome};
use plumb_measure::{grouped, real};

/// Fewer segments sent again are no pattern.
const EVENTS_MIN: u64 = 3;
/// A share of segments sent again that is looked at.
const LOOK_SHARE: f64 = 0.001;

/// Whether the messages of a test are so large that TCP itself makes segments get lost, to find out how
/// much a line carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// They may fill a line.
    May,
    /// They fill none.
    Not,
}

impl Filling {
    /// Messages that take more than twice as long as the smallest, `trip`, take time for their bytes.
    pub(super) fn of(outcome: &PartOutcome, trip: Option<&PartOutcome>) -> Self {
        match outcome.p50_ns.zip(trip.and_then(|trip| trip.p50_ns)) {
            Some((p50_ns, trip_ns)) if p50_ns <= 2 * trip_ns => Self::Not,
            _ => Self::May,
        }
    }
}

/// What `outcomes` say of loss, and its sentence; `None` where nothing stands out, or nobody counted.
pub(super) fn judge<'a>(
    outcomes: impl IntoIterator<Item = &'a PartOutcome>,
    filling: Filling,
) -> Option<(Judgement, String)> {
    let counts = outcomes.into_iter().map(|it| it.retransmits.zip(it.segments_sent));
    let (again, sent) =
        counts.flatten().fold((0_u64, 0_u64), |all, it| (all.0 + it.0, all.1 + it.1));
    let share = real(again) / real(sent.max(1));
    if again < EVENTS_MIN || share < LOOK_SHARE {
        return None;
    }
    let (judgement, cause) = match filling {
        Filling::May => (Judgement::Look, "packets are lost on the way, or a queue on it is full"),
        Filling::Not if share < BAD_LOSS => (Judgement::Look, "packets are lost on the way"),
        Filling::Not => (Judgement::Bad, "packets are lost on the way, and TCP becomes slow"),
    };
    let text = format!(
        "This side sent {} of {} segments again ({:.2} %): {cause}.",
        grouped(again),
        grouped(sent),
        share * 100.0
    );
    Some((judgement, text))
}
