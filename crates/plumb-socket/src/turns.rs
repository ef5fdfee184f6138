//! Connections whose turn ended before their bytes did, in the order in which they have their next one.

use std::collections::VecDeque;

/// A queue in which each connection stands once, however often it was put there: one that stood in it
/// twice would have two turns while everybody else has one.
#[derive(Debug, Default)]
pub struct Turns {
    queue: VecDeque<usize>,
    /// Whether a connection stands in the queue, by its index.
    queued: Vec<bool>,
}

impl Turns {
    /// Puts connection `index` behind all others, unless it stands in the queue already.
    pub fn push(&mut self, index: usize) {
        if index >= self.queued.len() {
            self.queued.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.queued[index], true) {
            self.queue.push_back(index);
        }
    }

    /// Takes the connection whose turn it is.
    pub fn pop(&mut self) -> Option<usize> {
        let index = self.queue.pop_front()?;
        self.queued[index] = false;
        Some(index)
    }

    /// How many connections stand in the queue.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True when nobody waits for a turn.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_stands_in_the_queue_once_and_again_behind_its_turn() {
        let mut turns = Turns::default();
        for index in [5, 0, 5, 5, 0] {
            turns.push(index);
        }
        assert_eq!(turns.len(), 2);
        assert_eq!(turns.pop(), Some(5));
        turns.push(5);
        turns.push(0);
        assert_eq!([turns.pop(), turns.pop(), turns.pop()], [Some(0), Some(5), None]);
        assert!(turns.is_empty());
    }
}
