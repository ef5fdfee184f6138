//! Rows that wait, in their order, for fields that stand behind them in the document.

use std::collections::VecDeque;

use super::plan::Slot;
use super::row::Row;

/// The rows that wait would be more than the buffer may hold, bytes.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) most: usize,
}

/// Bytes that a row costs beside its values.
const ROW: usize = 96;
const VALUE: usize = 32;

#[derive(Debug)]
struct Waiting {
    /// The byte where the row ended.
    at: usize,
    values: Vec<Option<String>>,
    /// Fields that may still be found.
    missing: Vec<Slot>,
}

/// Rows in waiting, oldest first.
#[derive(Debug)]
pub(super) struct Held {
    rows: VecDeque<Waiting>,
    /// Rows that have left the queue: the number of the oldest that waits.
    first: usize,
    /// Of each level above the rows: the first row of the element that is open there.
    since: Vec<usize>,
    bytes: usize,
    most: usize,
}

impl Held {
    /// For rows that stand `depth` levels below the root, of `most` bytes together.
    pub(super) fn new(depth: usize, most: usize) -> Self {
        Self { rows: VecDeque::new(), first: 0, since: vec![0; depth + 1], bytes: 0, most }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn hold(
        &mut self,
        at: usize,
        values: &[Option<&str>],
        missing: Vec<Slot>,
    ) -> Result<(), Full> {
        let values: Vec<_> = values.iter().map(|value| value.map(String::from)).collect();
        self.bytes += cost(&values);
        self.rows.push_back(Waiting { at, values, missing });
        self.bounded()
    }

    /// A field of the element `up` levels above the rows is known now.
    pub(super) fn fill(&mut self, slot: Slot, up: usize, text: &str) -> Result<(), Full> {
        let from = self.since[up].saturating_sub(self.first);
        for row in self.rows.iter_mut().skip(from) {
            if let Some(at) = row.missing.iter().position(|missing| *missing == slot) {
                row.missing.swap_remove(at);
                row.values[slot] = Some(text.into());
                self.bytes += text.len();
            }
        }
        self.bounded()
    }

    /// The element `up` levels above the rows ends: what was not found in it is not there.
    pub(super) fn settle(&mut self, up: usize, levels: &[usize]) {
        let from = self.since[up].saturating_sub(self.first);
        for row in self.rows.iter_mut().skip(from) {
            row.missing.retain(|slot| levels[*slot] != up);
        }
        let next = self.first + self.rows.len();
        for since in &mut self.since[..=up] {
            *since = next;
        }
    }

    /// Gives out the rows of `document` that wait for nothing; their number.
    pub(super) fn release<E>(
        &mut self,
        document: &[u8],
        sink: &mut impl FnMut(Row<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut released = 0;
        while self.rows.front().is_some_and(|row| row.missing.is_empty()) {
            let Some(row) = self.rows.pop_front() else { break };
            self.first += 1;
            self.bytes -= cost(&row.values);
            let values: Vec<Option<&str>> = row.values.iter().map(Option::as_deref).collect();
            sink(Row { values: &values, document, at: row.at })?;
            released += 1;
        }
        Ok(released)
    }

    fn bounded(&self) -> Result<(), Full> {
        if self.bytes > self.most { Err(Full { most: self.most }) } else { Ok(()) }
    }
}

fn cost(values: &[Option<String>]) -> usize {
    let text: usize = values.iter().flatten().map(String::len).sum();
    ROW + VALUE * values.len() + text
}
