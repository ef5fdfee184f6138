//! Passwords that are guessed: each wrong one makes the next wait longer.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plumb_engine::Peer;

/// How long the first wrong password makes the next wait, nanoseconds; each further one twice as
/// long.
const DELAY_NS: u64 = 100_000_000;
/// The longest that one wrong password makes the next wait.
const DELAY_NS_MAX: u64 = 2_000_000_000;
/// Behind so much waiting a password is not even taken.
const QUEUE_NS_MAX: u64 = 10_000_000_000;
/// An address that was quiet for so long begins anew.
const FORGET_NS: u64 = 60_000_000_000;
/// Addresses that are told from each other; further ones share one place.
const ADDRESSES_MAX: usize = 4_096;

/// Who guesses. An address stands for all its connections; of IPv6 its network of 64 bits does,
/// and processes of this machine are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guesser {
    Ip(IpAddr),
    Machine,
    Others,
}

#[derive(Clone, Copy, Debug, Default)]
struct Penalty {
    wrong: u32,
    /// The next password is looked at then, nanoseconds.
    free_at: u64,
}

impl Penalty {
    fn delay(self) -> u64 {
        let doubled = self.wrong.saturating_sub(1).min(10);
        (DELAY_NS << doubled).min(DELAY_NS_MAX)
    }
}

/// When a password is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// At once.
    Now,
    /// At this moment, nanoseconds.
    At(u64),
    /// Not at all: too many wait.
    Never,
}

/// The wrong passwords of the last time, by where they came from.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    by_guesser: BTreeMap<Guesser, Penalty>,
}

impl Guesses {
    /// When the password of this client is looked at, right or wrong: whoever could tell a right
    /// one by a quick answer would not wait for the slow ones.
    pub(super) fn turn(&mut self, peer: &Peer, now: u64) -> Turn {
        let guesser = self.guesser(peer);
        let Some(penalty) = self.by_guesser.get_mut(&guesser) else {
            return Turn::Now;
        };
        if penalty.free_at <= now {
            return Turn::Now;
        }
        if penalty.free_at > now + QUEUE_NS_MAX {
            return Turn::Never;
        }
        let at = penalty.free_at;
        penalty.free_at += penalty.delay();
        Turn::At(at)
    }

    /// A password was wrong.
    pub(super) fn wrong(&mut self, peer: &Peer, now: u64) {
        if self.by_guesser.len() >= ADDRESSES_MAX {
            self.by_guesser.retain(|_, penalty| penalty.free_at + FORGET_NS > now);
        }
        let guesser = self.guesser(peer);
        let penalty = self.by_guesser.entry(guesser).or_default();
        if penalty.free_at + FORGET_NS <= now {
            penalty.wrong = 0;
        }
        penalty.wrong = penalty.wrong.saturating_add(1);
        penalty.free_at = penalty.free_at.max(now) + penalty.delay();
    }

    /// A password was right.
    pub(super) fn right(&mut self, peer: &Peer) {
        let guesser = self.guesser(peer);
        if guesser != Guesser::Others {
            self.by_guesser.remove(&guesser);
        }
    }

    fn guesser(&self, peer: &Peer) -> Guesser {
        let guesser = match peer {
            Peer::Unix => Guesser::Machine,
            Peer::Ip(address) => Guesser::Ip(match address.ip().to_canonical() {
                IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
                ip @ IpAddr::V4(_) => ip,
            }),
        };
        let room = self.by_guesser.len() < ADDRESSES_MAX || self.by_guesser.contains_key(&guesser);
        if room { guesser } else { Guesser::Others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::Ip(text.parse().unwrap())
    }

    #[test]
    fn each_wrong_password_makes_the_next_wait_longer_on_whatever_connection() {
        let mut guesses = Guesses::default();
        let (one, same, other) = (peer("10.0.0.1:1"), peer("10.0.0.1:2"), peer("10.0.0.2:1"));
        assert_eq!(guesses.turn(&one, 0), Turn::Now);
        guesses.wrong(&one, 0);
        assert_eq!(guesses.turn(&same, 0), Turn::At(DELAY_NS));
        assert_eq!(guesses.turn(&one, 0), Turn::At(2 * DELAY_NS), "one behind the other");
        assert_eq!(guesses.turn(&other, 0), Turn::Now, "nobody else waits");
        let mut now = 0;
        for _ in 0..20 {
            now = match guesses.turn(&one, now) {
                Turn::At(at) => at,
                turn => panic!("{turn:?}"),
            };
            guesses.wrong(&one, now);
        }
        assert!(now > 20 * DELAY_NS, "{now}");
    }

    #[test]
    fn a_crowd_that_guesses_is_refused_and_forgotten_once_it_is_quiet() {
        let mut guesses = Guesses::default();
        let one = peer("[2001:db8::1]:1");
        guesses.wrong(&one, 0);
        let turns: Vec<Turn> = (0..1_000)
            .map(|port| guesses.turn(&peer(&format!("[2001:db8::2]:{port}")), 0))
            .collect();
        assert!(turns.contains(&Turn::Never), "its network is one guesser");
        assert!(turns.iter().filter(|turn| matches!(turn, Turn::At(_))).count() < 200);
        let later = 2 * FORGET_NS;
        assert_eq!(guesses.turn(&one, later), Turn::Now);
        guesses.wrong(&one, later);
        assert_eq!(guesses.turn(&one, later), Turn::At(later + DELAY_NS), "it began anew");
        guesses.right(&one);
        assert_eq!(guesses.turn(&one, later), Turn::Now);
    }

    #[test]
    fn addresses_beyond_the_limit_share_one_place() {
        let mut guesses = Guesses::default();
        for number in 0..2 * u32::try_from(ADDRESSES_MAX).unwrap() {
            let ip = std::net::Ipv4Addr::from(number);
            guesses.wrong(&Peer::Ip((ip, 1).into()), 1);
        }
        assert_eq!(guesses.by_guesser.len(), ADDRESSES_MAX + 1);
    }
}
