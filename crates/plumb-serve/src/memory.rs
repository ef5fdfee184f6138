//! The memory that answers of one kind take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is counted in units of so many bytes.
const UNIT: usize = 1 << 10;

/// So much memory, of which each answer takes its part while it is made and sent.
#[derive(Debug)]
pub struct Memory {
    size: usize,
    free: Arc<Semaphore>,
    used_max: AtomicUsize,
}

/// What is taken and was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryFigures {
    /// Bytes that answers may take.
    pub size: usize,
    /// Bytes that are set aside for those being made and sent.
    pub used: usize,
    /// The most bytes that were set aside.
    pub used_max: usize,
}

/// Some of it, until it is dropped.
#[derive(Debug)]
pub struct Share {
    _permit: OwnedSemaphorePermit,
}

impl Memory {
    /// `size` bytes, rounded down to whole KiB.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let size = size - size % UNIT;
        Self { size, free: Arc::new(Semaphore::new(size / UNIT)), used_max: AtomicUsize::new(0) }
    }

    /// Waits until `bytes` are free, which more than the size never are, and sets them aside; `None` of
    /// a number beyond any size.
    pub async fn set_aside(&self, bytes: usize) -> Option<Share> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        let share = Arc::clone(&self.free).acquire_many_owned(units).await.ok()?;
        self.used_max.fetch_max(self.figures().used, Ordering::Relaxed);
        Some(Share { _permit: share })
    }

    /// What is taken now, and was at most.
    #[must_use]
    pub fn figures(&self) -> MemoryFigures {
        let used = self.size - self.free.available_permits() * UNIT;
        let used_max = self.used_max.load(Ordering::Relaxed).max(used);
        MemoryFigures { size: self.size, used, used_max }
    }
}

/// `bytes` that keep `held` as long as they are there.
#[must_use]
pub fn held<T: Send + 'static>(bytes: Bytes, held: T) -> Bytes {
    struct Held<T>(Bytes, T);
    impl<T> AsRef<[u8]> for Held<T> {
        fn as_ref(&self) -> &[u8] {
            let Self(bytes, _held) = self;
            bytes
        }
    }
    Bytes::from_owner(Held(bytes, held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_takes_is_free_again_when_it_is_gone() {
        let memory = Memory::new(10 * UNIT + 5);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let share = runtime.block_on(memory.set_aside(2 * UNIT + 1)).unwrap();
        assert_eq!(memory.figures().used, 3 * UNIT);
        let bytes = held(Bytes::from_static(b"answer"), share);
        let part = bytes.slice(2..);
        drop(bytes);
        assert_eq!((part.as_ref(), memory.figures().used), (&b"swer"[..], 3 * UNIT));
        drop(part);
        let expected = MemoryFigures { size: 10 * UNIT, used: 0, used_max: 3 * UNIT };
        assert_eq!(memory.figures(), expected);
    }
}
