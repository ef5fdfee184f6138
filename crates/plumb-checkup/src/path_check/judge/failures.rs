//! What failed, and what its kinds say of the path.

use std::collections::BTreeMap;

use crate::path_check::PartOutcome;
use plumb_measure::{FailureKind, Span, counted, grouped};

/// What becomes of connections that are not made.
const ATTEMPTS: [FailureKind; 4] = [
    FailureKind::ConnectRefused,
    FailureKind::ConnectTimedOut,
    FailureKind::ConnectFailed,
    FailureKind::HandshakeFailed,
];

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

    /// Messages that failed; an answer that nobody asked for is none of them, nor an attempt to connect.
    pub(super) fn messages(&self) -> u64 {
        let unasked = self.count(FailureKind::Unasked);
        self.kinds.values().sum::<u64>() - unasked - self.attempts()
    }

    /// Connections that were not made.
    fn attempts(&self) -> u64 {
        ATTEMPTS.into_iter().map(|kind| self.count(kind)).sum()
    }

    /// True where messages found their connection ended or forgotten, and failed in no other way.
    pub(super) fn tells_of_silence(&self) -> bool {
        let kinds = [FailureKind::TimedOut, FailureKind::Closed, FailureKind::Reset];
        let of_silence = |name: &&str| kinds.iter().any(|kind| kind.name() == *name);
        !self.kinds.is_empty() && self.kinds.keys().all(of_silence)
    }

    /// The kinds with their counts: `2 garbled, 1 reset`.
    pub(super) fn kinds(&self) -> String {
        self.named(|_| true)
    }

    /// Those of messages.
    pub(super) fn kinds_of_messages(&self) -> String {
        let beside = |name: &str| ATTEMPTS.iter().any(|kind| kind.name() == name);
        self.named(|name| !beside(name) && name != FailureKind::Unasked.name())
    }

    fn named(&self, which: impl Fn(&str) -> bool) -> String {
        let which = self.kinds.iter().filter(|(kind, _)| which(kind));
        let kinds: Vec<String> = which.map(|(kind, n)| format!("{} {kind}", grouped(*n))).collect();
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
            (self.attempts() > 0).then(|| {
                format!(
                    "Connecting failed {} ({}).",
                    counted(self.attempts(), "time"),
                    self.named(|name| ATTEMPTS.iter().any(|kind| kind.name() == name))
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
