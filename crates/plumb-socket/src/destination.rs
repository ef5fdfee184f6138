//! Where the connections of one route go, when a name has several addresses or changes them.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use plumb_measure::{Clock as _, Span};

use crate::clock::MonotonicClock;
use crate::name_lookup::look_up_beside_the_load;
use crate::stop::Stop;
use crate::{Endpoint, Error};

/// How often a name is looked up again.
const RENEWED_EVERY: Span = Span::from_ms(1_000);

/// Where the connections of one route go.
#[derive(Clone, Debug)]
pub enum Destination {
    /// All to the same.
    One(Endpoint),
    /// Those of each user to another, in turn.
    Spread(Vec<Endpoint>),
    /// To what the name stands for when they are made.
    Current(Arc<Mutex<Endpoint>>),
}

impl Destination {
    /// Where user `number` connects to now; `None` of no endpoints at all.
    #[must_use]
    pub fn of(&self, number: usize) -> Option<Cow<'_, Endpoint>> {
        match self {
            Self::One(endpoint) => Some(Cow::Borrowed(endpoint)),
            Self::Spread(all) => all.get(number % all.len().max(1)).map(Cow::Borrowed),
            Self::Current(now) => {
                Some(Cow::Owned(now.lock().unwrap_or_else(PoisonError::into_inner).clone()))
            }
        }
    }
}

/// Looks a name up again every second, on a thread of its own, until it is dropped: a lookup may take
/// long, and must not hold up a load. What cannot be looked up stays as it was.
#[derive(Debug)]
pub struct Renewal {
    now: Arc<Mutex<Endpoint>>,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Begins with `first`; `look_up` says what the name stands for.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn begin(
        first: Endpoint,
        look_up: impl Fn() -> Result<Vec<Endpoint>, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let now = Arc::new(Mutex::new(first));
        let stop = Arc::new(Stop::new().map_err(Error::system("make a socket pair"))?);
        let (place, until) = (Arc::clone(&now), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            look_up_beside_the_load();
            let next = || MonotonicClock.now_ns() + RENEWED_EVERY.ns();
            while matches!(until.wait_until(next()), Ok(false)) {
                if let Some(found) = look_up().ok().and_then(|all| all.into_iter().next()) {
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = found;
                }
            }
        });
        Ok(Self { now, stop, thread: Some(thread) })
    }

    /// What the name stands for at any time.
    #[must_use]
    pub fn destination(&self) -> Destination {
        Destination::Current(Arc::clone(&self.now))
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it only looks up
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn endpoint(port: u16) -> Endpoint {
        Endpoint::Tcp(([127, 0, 0, 1], port).into())
    }

    #[test]
    fn users_are_spread_in_turn() {
        let spread = Destination::Spread(vec![endpoint(1), endpoint(2), endpoint(3)]);
        let of = |number| spread.of(number).unwrap().into_owned();
        assert_eq!([0, 1, 2, 3, 4].map(of), [1, 2, 3, 1, 2].map(endpoint));
        assert!(Destination::Spread(Vec::new()).of(0).is_none());
        assert_eq!(*Destination::One(endpoint(7)).of(9).unwrap(), endpoint(7));
    }

    #[test]
    fn a_name_that_changes_leads_elsewhere_and_one_that_is_lost_stays() {
        let (said, asked) = mpsc::sync_channel(0);
        let answers = Mutex::new(vec![Ok(vec![]), Ok(vec![endpoint(2)])].into_iter());
        let renewal = Renewal::begin(endpoint(1), move || {
            let answer = answers.lock().unwrap().next();
            let _ = said.send(());
            answer.unwrap_or_else(|| Err(Error::Plan("no resolver".into())))
        })
        .unwrap();
        let now = renewal.destination();
        assert_eq!(*now.of(0).unwrap(), endpoint(1));
        for _ in 0..3 {
            asked.recv().unwrap(); // what was answered before is then in force
        }
        assert_eq!(*now.of(0).unwrap(), endpoint(2));
        drop(asked);
    }
}
