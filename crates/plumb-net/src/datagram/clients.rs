//! The clients of a server of datagrams: those that have shown that answers reach them.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use super::window::Window;

/// A client that was silent for so long may make room for another.
pub(super) const FORGET_NS: u64 = 10 * SWEEP_NS;
/// How often it is looked for those, nanoseconds: whoever asks for room in vain must not cost more.
const SWEEP_NS: u64 = 1_000_000_000;
/// Hellos that are remembered until their client comes with its token.
const HELLOS_MAX: usize = 10_000;

/// Up to a number of clients.
#[derive(Debug)]
pub(super) struct Clients {
    most: usize,
    by_address: HashMap<SocketAddr, Heard>,
    hellos: Hellos,
    /// What comes of one whose address another has taken is noted here, and nowhere else.
    late: Heard,
    /// When it was looked last for those that fell silent.
    swept_ns: Option<u64>,
}

/// What is known of a client.
#[derive(Debug, Default)]
pub(super) struct Heard {
    at_ns: u64,
    /// The mark of its hello: who comes with another is another client at the same address.
    mark: u64,
    /// It came behind its hello. Of one that was forgotten and goes on nobody knows what came before.
    pub(super) is_whole: bool,
    /// Different messages that came.
    pub(super) messages: u64,
    pub(super) numbers: Window<1>,
    /// The key of the stream that it sends.
    pub(super) stream: Option<u64>,
}

/// The marks of the latest hellos, with which nobody has come yet.
#[derive(Debug, Default)]
struct Hellos {
    of: HashMap<SocketAddr, u64>,
    in_order: VecDeque<(SocketAddr, u64)>,
}

impl Clients {
    /// At most so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            by_address: HashMap::new(),
            hellos: Hellos::default(),
            late: Heard::default(),
            swept_ns: None,
        }
    }

    /// Somebody says hello for the address `from`, of which the client there need not know: true when it has
    /// a place, or there would be one. A hello takes none and changes nothing before somebody has shown, by
    /// its `mark`, that its answer reaches him.
    pub(super) fn greet(&mut self, from: SocketAddr, mark: u64, now_ns: u64) -> bool {
        if let Some(heard) = self.by_address.get_mut(&from)
            && heard.mark == mark
        {
            heard.at_ns = now_ns;
            return true; // it came twice
        }
        let room = self.by_address.contains_key(&from) || self.has_room(now_ns);
        if room {
            self.hellos.note(from, mark);
        }
        room
    }

    /// The client at `from`, which has shown that the answer to the hello of this `mark` reached it, if there
    /// is room for it. It takes the address from another there when its hello is the latest, or the other has
    /// been silent: a datagram may come late, of one that is gone.
    pub(super) fn proven(
        &mut self,
        from: SocketAddr,
        mark: u64,
        now_ns: u64,
    ) -> Option<&mut Heard> {
        if !self.by_address.contains_key(&from) && !self.has_room(now_ns) {
            return None;
        }
        let is_known = self.by_address.get(&from).is_some_and(|heard| heard.mark == mark);
        let is_whole = !is_known && self.hellos.take(from, mark);
        let new = || Heard { mark, is_whole, ..Heard::default() };
        let heard = self.by_address.entry(from).or_insert_with(new);
        if heard.mark != mark {
            if !is_whole && now_ns.saturating_sub(heard.at_ns) < FORGET_NS {
                self.late = new();
                return Some(&mut self.late);
            }
            *heard = new();
        }
        heard.at_ns = now_ns;
        Some(heard)
    }

    /// The key of the stream that the client of this `mark` at `from` sends, which has sent more of it.
    pub(super) fn stream(&mut self, from: SocketAddr, mark: u64, now_ns: u64) -> Option<u64> {
        let heard = self.by_address.get_mut(&from).filter(|heard| heard.mark == mark)?;
        let key = heard.stream?;
        heard.at_ns = now_ns;
        Some(key)
    }

    fn has_room(&mut self, now_ns: u64) -> bool {
        let swept = |at: u64| now_ns.saturating_sub(at) < SWEEP_NS;
        if self.by_address.len() >= self.most && !self.swept_ns.is_some_and(swept) {
            self.swept_ns = Some(now_ns);
            self.by_address.retain(|_, heard| now_ns.saturating_sub(heard.at_ns) < FORGET_NS);
        }
        self.by_address.len() < self.most
    }
}

impl Hellos {
    fn note(&mut self, from: SocketAddr, mark: u64) {
        if self.of.insert(from, mark) == Some(mark) {
            return; // it came twice
        }
        self.in_order.push_back((from, mark));
        if self.in_order.len() > HELLOS_MAX
            && let Some((from, mark)) = self.in_order.pop_front()
        {
            self.take(from, mark);
        }
    }

    /// Forgets the hello of this mark; true when it was the latest for its address.
    fn take(&mut self, from: SocketAddr, mark: u64) -> bool {
        let is_latest = self.of.get(&from) == Some(&mark);
        if is_latest {
            self.of.remove(&from);
        }
        is_latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: usize) -> SocketAddr {
        let [high, low] = [number >> 16, number & 0xffff].map(|part| u16::try_from(part).unwrap());
        SocketAddr::from(([10, 0, 0, u8::try_from(high).unwrap()], low))
    }

    #[test]
    fn hellos_take_no_place_and_the_latest_are_remembered() {
        let mut clients = Clients::new(1);
        for number in 0..=HELLOS_MAX {
            assert!(clients.greet(at(number), 7, 0));
        }
        assert_eq!(clients.hellos.of.len(), HELLOS_MAX);
        assert_eq!(clients.proven(at(1), 7, 0).map(|heard| heard.is_whole), Some(true));
        assert!(clients.proven(at(0), 7, 0).is_none() && !clients.greet(at(0), 7, 0));
        // the first of all was forgotten, and what came of it is not counted
        assert_eq!(clients.proven(at(0), 7, FORGET_NS).map(|heard| heard.is_whole), Some(false));
    }

    #[test]
    fn those_that_fell_silent_are_looked_for_once_a_while() {
        let mut clients = Clients::new(1);
        assert!(clients.proven(at(1), 7, 0).is_some());
        assert!(!clients.greet(at(2), 7, FORGET_NS - 1));
        assert!(!clients.greet(at(2), 7, FORGET_NS));
        assert!(clients.greet(at(2), 7, FORGET_NS - 1 + SWEEP_NS));
    }
}
