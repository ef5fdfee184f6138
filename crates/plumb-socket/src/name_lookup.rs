//! How long the names of hosts took to look up, and those of their addresses that take no connection.
//!
//! A target is looked up once, before anything is measured, and no figure of a run holds that time. A
//! program that opens a connection feels it, though: slow names, and addresses that it tries in vain, are
//! kept until whoever makes the record asks for them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_measure::{Clock, SLOW_NAME_NS};

/// The longest look-up of each name that took long, since somebody last asked.
static SLOW: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Addresses that took no connection, and how long they were tried, since somebody last asked.
static DEAD: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Whether what this thread looks up is looked up before anything is measured.
    static BEFORE: Cell<bool> = const { Cell::new(true) };
}

/// Look-ups of this thread are made while a load runs, beside it: that they take long is kept no more.
pub(crate) fn look_up_beside_the_load() {
    BEFORE.set(false);
}

/// What `look` finds of the name `host`; how long that took by `clock` is kept.
pub(crate) fn timed<T>(host: &str, clock: &impl Clock, look: impl FnOnce() -> T) -> T {
    let began_ns = clock.now_ns();
    let found = look();
    let took_ns = clock.now_ns().saturating_sub(began_ns);
    if took_ns >= SLOW_NAME_NS && BEFORE.get() {
        let mut slow = slow();
        let longest_ns = slow.entry(host.to_owned()).or_default();
        *longest_ns = took_ns.max(*longest_ns);
    }
    found
}

/// The names that took long to look up since this was last asked, with the longest time of each,
/// nanoseconds. They are forgotten.
pub fn take_slow_names() -> BTreeMap<String, u64> {
    std::mem::take(&mut *slow())
}

/// Keeps that `addresses`, in words, were tried in vain for `took_ns`, where that was long.
pub(crate) fn keep_dead(addresses: String, took_ns: u64) {
    if took_ns >= SLOW_NAME_NS && BEFORE.get() {
        let mut dead = DEAD.lock().unwrap_or_else(PoisonError::into_inner);
        let longest_ns = dead.entry(addresses).or_default();
        *longest_ns = took_ns.max(*longest_ns);
    }
}

/// The addresses that were tried in vain since this was last asked, in words, with how long that took,
/// nanoseconds. They are forgotten.
pub fn take_dead_addresses() -> BTreeMap<String, u64> {
    std::mem::take(&mut *DEAD.lock().unwrap_or_else(PoisonError::into_inner))
}

fn slow() -> MutexGuard<'static, BTreeMap<String, u64>> {
    SLOW.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is moved by hand.
    #[derive(Default)]
    struct Hands(Cell<u64>);

    impl Clock for Hands {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }

    #[test]
    fn addresses_that_were_tried_in_vain_are_told_once() {
        keep_dead("a, tried before b,".into(), 3 * SLOW_NAME_NS);
        keep_dead("c, tried before b,".into(), SLOW_NAME_NS - 1);
        let told = take_dead_addresses();
        assert_eq!(told.get("a, tried before b,"), Some(&(3 * SLOW_NAME_NS)));
        assert_eq!(told.get("c, tried before b,"), None);
        assert!(!take_dead_addresses().contains_key("a, tried before b,"));
    }

    #[test]
    fn names_that_took_long_are_told_once_with_their_longest_time() {
        let clock = Hands::default();
        let took = |host: &str, ns: u64| {
            timed(host, &clock, || clock.0.set(clock.0.get() + ns));
        };
        took("quick", SLOW_NAME_NS - 1);
        took("slow", 3 * SLOW_NAME_NS);
        took("slow", 2 * SLOW_NAME_NS);
        std::thread::spawn(|| {
            let clock = Hands::default();
            look_up_beside_the_load();
            timed("beside", &clock, || clock.0.set(SLOW_NAME_NS));
        })
        .join()
        .unwrap();
        let told = take_slow_names();
        assert_eq!((told.get("quick"), told.get("slow")), (None, Some(&(3 * SLOW_NAME_NS))));
        assert_eq!(told.get("beside"), None);
        assert!(!take_slow_names().contains_key("slow"));
    }
}
