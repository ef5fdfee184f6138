//! Numbers for the names of times that servers tell.

use std::sync::{Arc, Mutex, PoisonError};

/// Names that are kept apart at most: a server cannot make a run grow without end.
pub(crate) const NAMES_MAX: usize = 32;

/// The same numbers for the same names on every thread. A name that was seen costs a look at a
/// short list; only a new one takes the lock.
#[derive(Clone, Debug, Default)]
pub struct ToldNames {
    shared: Arc<Mutex<Vec<String>>>,
    known: Vec<String>,
}

impl ToldNames {
    /// The number of `name`; `None` when there are too many names.
    pub fn number(&mut self, name: &str) -> Option<u8> {
        let find = |names: &[String]| names.iter().position(|known| known == name);
        if find(&self.known).is_none() {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if find(&shared).is_none() && shared.len() < NAMES_MAX {
                shared.push(name.to_owned());
            }
            self.known.clone_from(&shared);
        }
        find(&self.known).and_then(|number| u8::try_from(number).ok())
    }

    /// Every name, at the place of its number.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_give_a_name_one_number() {
        let mut one = ToldNames::default();
        let mut other = one.clone();
        assert_eq!((one.number("db"), one.number("app")), (Some(0), Some(1)));
        assert_eq!((other.number("app"), other.number("total")), (Some(1), Some(2)));
        assert_eq!(one.number("total"), Some(2));
        assert_eq!(one.all(), ["db", "app", "total"]);
        assert!((0..100).any(|n| one.number(&n.to_string()).is_none()));
        assert_eq!(one.all().len(), NAMES_MAX);
    }
}
