//! Operations under way on one connection.

use std::collections::VecDeque;

use crate::flight::Flight;

/// Operations under way, the oldest first. It stands in place, because most connections have one alone:
/// memory of its own would be one more place to fetch for every message.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    oldest: Option<Flight>,
    /// Empty while there is no oldest.
    later: VecDeque<Flight>,
}

impl Flights {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.oldest.is_some()) + self.later.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Flight> {
        self.oldest.as_ref()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, flight: Flight) {
        if self.oldest.is_none() {
            self.oldest = Some(flight);
        } else {
            self.later.push_back(flight);
        }
    }

    pub(crate) fn push_front(&mut self, flight: Flight) {
        if let Some(second) = self.oldest.replace(flight) {
            self.later.push_front(second);
        }
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<Flight> {
        let oldest = self.oldest.take();
        if !self.later.is_empty() {
            self.oldest = self.later.pop_front();
        }
        oldest
    }

    /// Where the operation with this tag is, counted from the oldest.
    #[inline]
    pub(crate) fn place_of(&self, tag: u16) -> Option<usize> {
        self.iter().position(|flight| flight.op.tag == tag)
    }

    /// The one at this place, counted from the oldest.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Flight> {
        match place.checked_sub(1) {
            None => self.oldest.as_mut(),
            Some(place) => self.later.get_mut(place),
        }
    }

    /// Takes the one at this place, counted from the oldest.
    #[inline]
    pub(crate) fn remove(&mut self, place: usize) -> Option<Flight> {
        match place.checked_sub(1) {
            None => self.pop_front(),
            Some(place) => self.later.remove(place),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Flight> {
        self.oldest.iter().chain(&self.later)
    }

    /// The latest first.
    #[inline]
    pub(crate) fn latest_mut(&mut self) -> impl Iterator<Item = &mut Flight> {
        self.later.iter_mut().rev().chain(self.oldest.iter_mut())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::Op;

    fn flight(tag: u16) -> Flight {
        Flight::new(Op { label: 0, tag }, true, None)
    }

    proptest! {
        #[test]
        fn they_are_a_queue(steps in proptest::collection::vec((0_u8..6, 0_usize..5), 0..60)) {
            let (mut flights, mut model) = (Flights::default(), VecDeque::new());
            for ((step, place), tag) in steps.into_iter().zip(0..) {
                let (ours, queues) = match step {
                    0 => (flights.pop_front(), model.pop_front()),
                    1 => (flights.remove(place), model.remove(place)),
                    2 => {
                        flights.push_front(flight(tag));
                        model.push_front(flight(tag));
                        (None, None)
                    }
                    _ => {
                        flights.push_back(flight(tag));
                        model.push_back(flight(tag));
                        (None, None)
                    }
                };
                prop_assert_eq!(ours, queues);
                prop_assert_eq!((flights.len(), flights.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(flights.front(), model.front());
                prop_assert_eq!(flights.get_mut(place), model.get_mut(place));
                prop_assert!(flights.iter().eq(&model));
                prop_assert!(flights.iter().rev().eq(model.iter().rev()));
                prop_assert!(flights.latest_mut().eq(model.iter_mut().rev()));
            }
        }
    }
}
