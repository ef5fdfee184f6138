//! What failed, and what its kinds say of the path.

use std::collections::BTreeMap;

use crate::path_check::PartOutcome;
use plumb_measure::{FailureKind, Span, counted, grouped};

/// What failed in one part, or in several.
pub(super) struct Failed<'a> {
    kinds: BTreeMap<&'a str, u64>,
    quiet_closes: u64,
}

impl<'a> Failed<'a> {
    pub(super) fn of(outcomes: impl IntoIterator<Item = &'a PartOutcome>) -> Self {
        let mut all = Self { kinds: BTreeMap::new(), quiet_closes: 0 };
        for outcome in outcomes {
            all.quiet_closes += outcome.quiet_closes;
            for (kind, n) in &outcome.failures {
                *all.kinds.entry(kind).or_default() += n;
            }
        }
        all
    }

    fn count(&self, kind: FailureKind) -> u64 {
        self.kinds.get(kind.name()).copied().unwrap_or(0)
    }

    /// Messages that failed; an answer that nobody asked for is none of them.
    pub(super) fn messages(&self) -> u64 {
        self.kinds.values().sum::<u64>() - self.count(FailureKind::Unasked)
    }

    /// The kinds with their counts: `2 garbled, 1 reset`.
    pub(super) fn kinds(&self) -> String {
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, n)| format!("{} {kind}", grouped(*n))).collect();
        kinds.join(", ")
    }

    /// What follows of the kinds, each sentence behind a space; an answer was to come within `timeout_ns`.
    pub(super) fn conclusions(&self, timeout_ns: u64) -> String {
        let ended =
            self.count(FailureKind::Closed) + self.count(FailureKind::Reset) + self.quiet_closes;
        let unasked = self.count(FailureKind::Unasked);
        let (changed, late) =
            (self.count(FailureKind::Garbled) > 0, self.count(FailureKind::TimedOut) > 0);
        let found = [
            changed.then(|| {
                "What came back is not what was sent: the server, or something on the way, changes \
                 messages."
                    .to_owned()
            }),
            (unasked > 0).then(|| {
                format!(
                    "{} came that nobody had asked for, as where a message is answered twice.",
                    counted(unasked, "answer")
                )
            }),
            late.then(|| {
                format!(
                    "No answer came within {}: it, or what it answers, was lost, or the server stood \
                     still.",
                    Span::from_ns(timeout_ns)
                )
            }),
            (ended > 0).then(|| {
                format!(
                    "Connections were ended {} in between: the path, or the server, does not hold a \
                     connection.",
                    counted(ended, "time")
                )
            }),
        ];
        found.into_iter().flatten().map(|text| format!(" {text}")).collect()
    }
}
