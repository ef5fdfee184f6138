//! Why calls and connections failed: the first of each, which a result tells beside its counts.

use std::collections::BTreeMap;

use plumb_measure::{FailureKind, ResultRecord, counted};

use crate::answer::Failure;

/// Complaints of calls that are told.
const TOLD_MAX: usize = 5;
/// Characters of a server's words that are told.
const WORDS_MAX: usize = 200;

/// What is told of the failures of one load, whose calls are told apart by a `K`.
#[derive(Debug)]
pub(crate) struct Complaints<K> {
    /// What failed, and why, the first of each.
    pub(crate) calls: BTreeMap<K, String>,
    /// Why a connection could not be made.
    pub(crate) connection: Option<String>,
    /// The first statement whose changes were not rolled back.
    pub(crate) stays: Option<String>,
}

impl<K> Default for Complaints<K> {
    fn default() -> Self {
        Self { calls: BTreeMap::new(), connection: None, stays: None }
    }
}

impl<K> Complaints<K> {
    /// What a result says of them.
    fn remarks(&self) -> impl Iterator<Item = String> {
        let told = self.calls.values().take(TOLD_MAX);
        let more = self.calls.len().saturating_sub(TOLD_MAX) as u64;
        told.map(|complaint| format!("the first failure of {complaint}"))
            .chain((more > 0).then(|| format!("{} failed, too", counted(more, "other statement"))))
            .chain(
                self.connection
                    .as_deref()
                    .map(|why| format!("the first connection that could not be made: {why}")),
            )
            .chain(
                self.stays
                    .iter()
                    .map(|it| format!("what {it} changed was not rolled back, and stays")),
            )
    }
}

/// Has `record` say what there are.
pub(crate) fn complain<K>(record: &mut ResultRecord, complaints: &Complaints<K>) {
    for remark in complaints.remarks() {
        record.validity = std::mem::take(&mut record.validity).with_remark(&remark);
    }
}

/// Why a call of a statement that is no secret failed: in the server's words, and by its number. `None` where
/// the kind says it all.
pub(crate) fn told(kind: FailureKind, trouble: &impl Failure) -> Option<String> {
    let cut = |words: &str| match words.char_indices().nth(WORDS_MAX) {
        Some((end, _)) => format!("{}...", &words[..end]),
        None => words.to_owned(),
    };
    let words = trouble.words().map(|it| cut(&it));
    let why = match (words, trouble.reason()) {
        (Some(words), Some(reason)) => format!("{words} ({reason})"),
        (why, None) | (None, why) => why?,
    };
    Some(format!("kind {}: {why}", kind.name()))
}
