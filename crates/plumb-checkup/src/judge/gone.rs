//! Servers that answered first, and were gone later.

use super::sentence::named;
use crate::finding::FaultKind;
use crate::{CheckupOutcome, CheckupPart};
use plumb_measure::{FailureKind, FindingKind, counted, show_ns};

/// What a server said of itself before a part left no record.
pub(super) struct Before {
    text: String,
}

impl Before {
    /// What `parts`, those before one that left no record, say; `None` where none was answered.
    pub(super) fn of(parts: &[&CheckupPart]) -> Option<Self> {
        let answered = parts.iter().filter_map(|part| {
            Some((*part, part.outcome.as_ref().filter(|it| it.operations > 0)?))
        });
        let answered: Vec<(&CheckupPart, &CheckupOutcome)> = answered.collect();
        let (part, last) = answered.last()?;
        let all = answered.iter().map(|(_, it)| it.operations).fold(0, u64::saturating_add);
        let text = format!(
            "answered {}, the last of them {} ({}{})",
            counted(all, "operation"),
            named(&part.operation),
            part.how,
            ended(last)
        );
        Some(Self { text })
    }

    /// That it was measured no further than this, because of `error`, which ends with a full stop or
    /// question mark.
    pub(super) fn and_no_further(&self, server: &str, part: &CheckupPart, error: &str) -> String {
        format!(
            "The {server} could not be measured to the end: it {}; of {} ({}) there is nothing: {error}",
            self.text,
            named(&part.operation),
            part.how
        )
    }
}

/// Why `server` was gone at `part`, since no connection was made; `parts` are those behind it.
pub(super) fn gone(
    server: &str,
    before: &Before,
    part: &CheckupPart,
    kind: FailureKind,
    parts: &[&CheckupPart],
) -> (FaultKind, String, String) {
    let how = match kind {
        FailureKind::ConnectRefused => "connections were refused",
        FailureKind::ConnectTimedOut => "nobody answered connects any more",
        _ => "no connection was made any more",
    };
    let again = parts.iter().find(|part| part.outcome.as_ref().is_some_and(|it| it.operations > 0));
    let again = again.map_or_else(String::new, |part| {
        format!(
            " Later it was there again: {} ({}) was answered.",
            named(&part.operation),
            part.how
        )
    });
    let evidence = format!(
        "The {server} went away while it was measured: it {}; for {} ({}) {how}.{again}",
        before.text,
        named(&part.operation),
        part.how
    );
    let next = "Why did it end, or stop listening? Its log says, its supervisor, or the kernel's where memory \
                ran out (dmesg). Where it is many users that end it, fewer connections in the landscape file \
                show up to how many it lives.";
    (FaultKind::Failures, evidence, next.into())
}

/// When the last right answer of a part came, and what failed of it.
fn ended(outcome: &CheckupOutcome) -> String {
    let until = until(outcome).map_or_else(String::new, |until| format!(", {until}"));
    let mut reasons = outcome.validity.reasons.iter();
    let failures = reasons.find(|it| it.kind == FindingKind::Failures);
    let failures = failures.map_or_else(String::new, |it| format!(", {}", it.text));
    until + failures.trim_end_matches('.')
}

/// `the last right answer came within the first 1.25 s of 2.50 s`; `None` where right answers came until
/// the end.
pub(super) fn until(outcome: &CheckupOutcome) -> Option<String> {
    let until_ns = outcome.answered_until_ns?;
    Some(format!(
        "the last right answer came within the first {} of {}",
        show_ns(until_ns),
        show_ns(outcome.duration_ns)
    ))
}
