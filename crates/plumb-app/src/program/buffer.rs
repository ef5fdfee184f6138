//! The program buffer: compiled programs up to a size, the one unused for longest leaves first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::Program;

/// Compiled programs, shared by all work processes.
#[derive(Debug)]
pub(crate) struct Buffer {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    kept: HashMap<String, Kept>,
    uses: u64,
    figures: BufferFigures,
}

#[derive(Debug)]
struct Kept {
    program: Arc<Program>,
    used: u64,
}

/// What the buffer holds and has done since it was last emptied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct BufferFigures {
    /// Bytes it may hold.
    pub(crate) size: usize,
    /// Bytes it holds.
    pub(crate) used: usize,
    /// Programs it holds.
    pub(crate) programs: usize,
    /// Programs found.
    pub(crate) hits: u64,
    /// Programs that had to be compiled.
    pub(crate) misses: u64,
    /// Programs that had to leave for others.
    pub(crate) swaps: u64,
    /// The most bytes it has held.
    pub(crate) used_max: usize,
}

impl Buffer {
    /// An empty buffer of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let figures = BufferFigures { size, ..BufferFigures::default() };
        Self { state: Mutex::new(State { kept: HashMap::new(), uses: 0, figures }) }
    }

    /// The program `name`; counted as a hit or a miss.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Program>> {
        let mut state = self.lock();
        state.uses += 1;
        let now = state.uses;
        let found = state.kept.get_mut(name).map(|kept| {
            kept.used = now;
            Arc::clone(&kept.program)
        });
        if found.is_some() {
            state.figures.hits += 1;
        } else {
            state.figures.misses += 1;
        }
        found
    }

    /// Keeps `program`, and lets others go where it needs their room. One that is larger than the
    /// whole buffer is not kept.
    pub(crate) fn keep(&self, name: &str, program: Arc<Program>) {
        let bytes = program.bytes();
        let mut state = self.lock();
        if bytes > state.figures.size {
            state.figures.swaps += 1;
            return;
        }
        state.remove(name);
        while state.figures.used + bytes > state.figures.size {
            let oldest = state.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { break };
            state.remove(&oldest);
            state.figures.swaps += 1;
        }
        let used = state.uses;
        state.kept.insert(name.into(), Kept { program, used });
        state.figures.used += bytes;
        state.figures.used_max = state.figures.used_max.max(state.figures.used);
        state.figures.programs = state.kept.len();
    }

    /// Lets everything go and counts from zero.
    pub(crate) fn reset(&self) {
        let mut state = self.lock();
        state.kept.clear();
        let size = state.figures.size;
        state.figures = BufferFigures { size, ..BufferFigures::default() };
    }

    pub(crate) fn figures(&self) -> BufferFigures {
        self.lock().figures
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove(&mut self, name: &str) {
        if let Some(gone) = self.kept.remove(name) {
            self.figures.used -= gone.program.bytes();
            self.figures.programs = self.kept.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(bytes: usize) -> Arc<Program> {
        Arc::new(Program::compile(&"x".repeat(bytes)).unwrap())
    }

    #[test]
    fn the_one_unused_for_longest_leaves() {
        let each = program(1000).bytes();
        let buffer = Buffer::new(2 * each + 10);
        buffer.keep("a", program(1000));
        buffer.keep("b", program(1000));
        assert!(buffer.find("a").is_some());
        buffer.keep("c", program(1000));
        assert!(buffer.find("b").is_none());
        assert!(buffer.find("a").is_some() && buffer.find("c").is_some());
        let figures = buffer.figures();
        assert_eq!((figures.swaps, figures.programs, figures.used), (1, 2, 2 * each));
        assert_eq!((figures.hits, figures.misses), (3, 1));
    }

    #[test]
    fn what_is_too_large_for_the_buffer_is_not_kept() {
        let buffer = Buffer::new(500);
        buffer.keep("large", program(1000));
        assert_eq!((buffer.figures().programs, buffer.figures().swaps), (0, 1));
    }

    #[test]
    fn a_reset_empties_it_and_counts_from_zero() {
        let buffer = Buffer::new(1 << 20);
        buffer.keep("a", program(10));
        buffer.find("a");
        buffer.reset();
        assert_eq!(buffer.figures(), BufferFigures { size: 1 << 20, ..BufferFigures::default() });
        assert!(buffer.find("a").is_none());
    }
}
