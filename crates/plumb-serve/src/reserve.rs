//! Places for connections beyond the limit, so that whoever looks after a server reaches it when
//! others hold every connection.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The places, of which the newest connection always gets one: it takes that of the oldest whose request
/// has not begun, so that connections that say nothing keep nobody out, or else of the oldest.
#[derive(Debug)]
pub(crate) struct Reserve {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// By age.
    places: VecDeque<Place>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    begun: Arc<AtomicBool>,
    /// Tells whoever has the place that another one needs it.
    tell: oneshot::Sender<()>,
}

/// What whoever enters is given.
#[derive(Debug)]
pub(crate) struct Entered {
    /// The number of its place.
    pub(crate) number: u64,
    /// To be set when its request has begun.
    pub(crate) begun: Arc<AtomicBool>,
    /// Comes when another one needs the place.
    pub(crate) told: oneshot::Receiver<()>,
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

    /// A place; `None` when there are none.
    pub(crate) fn enter(&self) -> Option<Entered> {
        if self.limit == 0 {
            return None;
        }
        let mut taken = self.lock();
        if taken.places.len() >= self.limit {
            let is_idle = |place: &Place| !place.begun.load(Ordering::Relaxed);
            let oldest = taken.places.iter().position(is_idle).unwrap_or(0);
            if let Some(gone) = taken.places.remove(oldest) {
                let _ = gone.tell.send(()); // it may have gone by itself
            }
        }
        taken.next += 1;
        let (number, begun) = (taken.next, Arc::<AtomicBool>::default());
        let (tell, told) = oneshot::channel();
        taken.places.push_back(Place { number, begun: Arc::clone(&begun), tell });
        Some(Entered { number, begun, told })
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
        self.reserve.lock().places.retain(|place| place.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_told(entered: &mut Entered) -> bool {
        entered.told.try_recv().is_ok()
    }

    #[test]
    fn the_newest_takes_the_place_of_the_oldest() {
        let reserve = Reserve::new(2);
        let (mut first, mut second) = (reserve.enter().unwrap(), reserve.enter().unwrap());
        let (_first, _second) = (reserve.hold(first.number), reserve.hold(second.number));
        assert!(!is_told(&mut first));
        let third = reserve.enter().unwrap();
        let third = reserve.hold(third.number);
        assert!(is_told(&mut first) && !is_told(&mut second));
        drop(third);
        let _fourth = reserve.enter().unwrap();
        assert!(matches!(second.told.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        assert!(Reserve::new(0).enter().is_none());
    }

    #[test]
    fn whoever_says_nothing_goes_before_a_request_that_has_begun() {
        let reserve = Reserve::new(2);
        let (mut first, mut second) = (reserve.enter().unwrap(), reserve.enter().unwrap());
        first.begun.store(true, Ordering::Relaxed);
        let third = reserve.enter().unwrap();
        assert!(!is_told(&mut first) && is_told(&mut second));
        third.begun.store(true, Ordering::Relaxed);
        let _fourth = reserve.enter().unwrap();
        assert!(is_told(&mut first), "all have begun");
    }
}
