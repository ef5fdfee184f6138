//! The last batches of a stream, for a replica that comes back.

use std::collections::VecDeque;

/// Batches by the position at which they begin, without a gap, the oldest first.
#[derive(Debug, Default)]
pub struct Backlog {
    batches: VecDeque<(u64, Vec<u8>)>,
    begin: u64,
    end: u64,
}

impl Backlog {
    /// Where the first batch that is kept begins, bytes.
    #[must_use]
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Where the next batch begins, bytes.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends a batch.
    pub fn push(&mut self, batch: Vec<u8>) {
        let begin = self.end;
        self.end += batch.len() as u64;
        self.batches.push_back((begin, batch));
    }

    /// The batches from `position` on, each with where it begins; none when that is no place at
    /// which a batch begins.
    pub fn from(&self, position: u64) -> impl Iterator<Item = (u64, &[u8])> {
        // from the end: each turn asks for the last one, and as many are kept as there is room for
        let last = self.batches.iter().rposition(|(begin, _)| *begin <= position);
        let known = last.filter(|at| self.batches[*at].0 == position);
        let first = known.unwrap_or(self.batches.len());
        self.batches.range(first..).map(|(begin, batch)| (*begin, batch.as_slice()))
    }

    /// True when a batch begins at `position`, or the next one will.
    #[must_use]
    pub fn has(&self, position: u64) -> bool {
        position == self.end || self.from(position).next().is_some()
    }

    /// Forgets the oldest batches that end at `until` or before it, as long as more than `most`
    /// bytes are kept.
    pub fn shrink(&mut self, until: u64, most: u64) {
        while self.end - self.begin > most
            && let Some((_, first)) = self.batches.front()
            && self.begin + first.len() as u64 <= until
        {
            self.begin += first.len() as u64;
            self.batches.pop_front();
        }
    }

    /// Forgets everything: the next batch begins where it would have begun.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.begin = self.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_goes_on_from_where_a_batch_begins() {
        let mut backlog = Backlog::default();
        for text in ["one", "three", "x"] {
            backlog.push(text.into());
        }
        let of = |backlog: &Backlog, at| {
            backlog.from(at).map(|(at, batch)| (at, batch.to_vec())).collect::<Vec<_>>()
        };
        assert_eq!(of(&backlog, 3), [(3, b"three".to_vec()), (8, b"x".to_vec())]);
        assert!(backlog.has(0) && backlog.has(3) && backlog.has(9));
        assert!(!backlog.has(1) && !backlog.has(10), "within a batch, and behind the end");
        backlog.shrink(9, 6);
        assert_eq!((backlog.begin(), backlog.end()), (3, 9));
        assert!(!backlog.has(0));
        backlog.shrink(7, 0);
        assert_eq!(backlog.begin(), 3, "the second is not acknowledged");
        backlog.clear();
        assert_eq!((backlog.begin(), backlog.end()), (9, 9));
        backlog.push(b"on".to_vec());
        assert_eq!(of(&backlog, 9), [(9, b"on".to_vec())]);
    }
}
