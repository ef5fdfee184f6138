//! Places for connections beyond the limit, so that whoever looks after a server reaches it when
//! others hold every connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The places, of which the newest connection always gets one: it takes that of the oldest, so that
/// connections that say nothing keep nobody out.
#[derive(Debug)]
pub(crate) struct Reserve {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// By age; whoever is told to go gives its place to another.
    places: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// A place in the reserve until it is dropped.
#[derive(Debug)]
pub(crate) struct ReservedPlace<'a> {
    reserve: &'a Reserve,
    number: u64,
}

impl Reserve {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, taken: Mutex::default() }
    }

    /// The number of a place, and what tells that another one needs it; `None` when there are none.
    pub(crate) fn enter(&self) -> Option<(u64, oneshot::Receiver<()>)> {
        if self.limit == 0 {
            return None;
        }
        let mut taken = self.lock();
        if taken.places.len() >= self.limit
            && let Some((_, oldest)) = taken.places.pop_front()
        {
            // it may have gone by itself
            let _ = oldest.send(());
        }
        let (tell, told) = oneshot::channel();
        taken.next += 1;
        let number = taken.next;
        taken.places.push_back((number, tell));
        Some((number, told))
    }

    /// Keeps the place of that number until the guard is dropped.
    pub(crate) fn hold(&self, number: u64) -> ReservedPlace<'_> {
        ReservedPlace { reserve: self, number }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReservedPlace<'_> {
    fn drop(&mut self) {
        self.reserve.lock().places.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_takes_the_place_of_the_oldest() {
        let reserve = Reserve::new(2);
        let (first, mut first_told) = reserve.enter().unwrap();
        let (second, mut second_told) = reserve.enter().unwrap();
        let (_first, _second) = (reserve.hold(first), reserve.hold(second));
        assert!(first_told.try_recv().is_err());
        let (third, _told) = reserve.enter().unwrap();
        let third = reserve.hold(third);
        assert!(first_told.try_recv().is_ok() && second_told.try_recv().is_err());
        drop(third);
        let (_fourth, _told) = reserve.enter().unwrap();
        assert!(matches!(second_told.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        assert!(Reserve::new(0).enter().is_none());
    }
}
