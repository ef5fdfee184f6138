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

    /// Whether the name with this `number` is that of the whole of a server's time.
    #[must_use]
    pub fn is_whole(&self, number: usize) -> bool {
        self.known.get(number).is_some_and(|name| crate::is_whole_time(name))
    }

    /// Every name, at the place of its number.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives the names of `theirs` numbers among `mine`, which grows by those it lacks: at the place of
/// each number its new one; `None` where there is no room for it.
pub fn renumbering(mine: &mut Vec<String>, theirs: &[String]) -> Vec<Option<usize>> {
    let number = |name: &String| {
        let known = mine.iter().position(|known| known == name);
        known.or_else(|| {
            (mine.len() < NAMES_MAX).then(|| {
                mine.push(name.clone());
                mine.len() - 1
            })
        })
    };
    theirs.iter().map(number).collect()
}

/// `list` with what stands at each number moved to its new one; what has none is gone.
pub(crate) fn moved<T: Default>(list: &mut Vec<T>, numbers: &[Option<usize>]) {
    let old = std::mem::take(list);
    for (what, number) in old.into_iter().zip(numbers) {
        let Some(number) = *number else { continue };
        if list.len() <= number {
            list.resize_with(number + 1, T::default);
        }
        list[number] = what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_another_get_numbers_among_mine() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut mine = of(&["db", "app"]);
        let numbers = renumbering(&mut mine, &of(&["total", "db"]));
        assert_eq!(
            (numbers.as_slice(), mine),
            (&[Some(2), Some(0)][..], of(&["db", "app", "total"]))
        );
        let mut list = vec![7, 8, 9]; // nobody knows what the last one is called
        moved(&mut list, &numbers);
        assert_eq!(list, [8, 0, 7]);
        let mut full: Vec<String> = (0..NAMES_MAX).map(|n| n.to_string()).collect();
        assert_eq!(renumbering(&mut full, &of(&["more", "3"])), [None, Some(3)]);
    }

    #[test]
    fn two_threads_give_a_name_one_number() {
        let mut one = ToldNames::default();
        let mut other = one.clone();
        assert_eq!((one.number("db"), one.number("app")), (Some(0), Some(1)));
        assert_eq!((other.number("app"), other.number("total")), (Some(1), Some(2)));
        assert!(other.is_whole(2) && !other.is_whole(1) && !other.is_whole(3));
        assert_eq!(one.number("total"), Some(2));
        assert_eq!(one.all(), ["db", "app", "total"]);
        assert!((0..100).any(|n| one.number(&n.to_string()).is_none()));
        assert_eq!(one.all().len(), NAMES_MAX);
    }
}
