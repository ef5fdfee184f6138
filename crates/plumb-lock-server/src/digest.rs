//! What a set of locks sums up to, so that two sides can compare theirs without listing them.
//!
//! Every lock is hashed with a key that whoever compares has drawn anew, and the hashes are added
//! modulo 2^128, so that their order does not matter. A table holds a lock once. Two different
//! sets therefore differ by a sum of hashes of which each stands there once, with one sign or the
//! other: it is zero with a probability of 2^-128, were the hash a random function. Nobody who
//! does not know the key can choose locks for which it is.
//!
//! # Source
//! Aumasson, Bernstein: SipHash, a fast short-input PRF (here with 1 and 3 rounds, and 128 bits).
//! Bellare, Micciancio: a new paradigm for collision-free hashing, section on sums of hashes.

use plumb_lock_table::table::{ARGUMENT_BYTES_MAX, Lock, NAME_BYTES_MAX, OWNER_BYTES_MAX};
use siphasher::sip128::SipHasher13;

/// The bytes of a key.
pub const KEY_BYTES: usize = 16;
/// What stands in front of the texts: their lengths, the mode, both counters, and whether the lock
/// is inherited.
const HEAD_BYTES: usize = 9;

/// A set of locks: how many, and what they sum up to. Owner, name, argument, mode, both counters
/// and the mark of an inheritance count; user, time and fence number do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// How many.
    pub locks: u64,
    /// The sum of their hashes, modulo 2^128.
    pub sum: u128,
}

/// The longest lock as bytes.
const LOCK_BYTES_MAX: usize = HEAD_BYTES + OWNER_BYTES_MAX + NAME_BYTES_MAX + ARGUMENT_BYTES_MAX;

/// Hashes locks with the key of one comparison.
#[derive(Clone, Debug)]
pub struct Digester {
    hasher: SipHasher13,
    room: [u8; LOCK_BYTES_MAX],
}

impl Digester {
    /// With a `key` that was drawn for this comparison.
    #[must_use]
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self { hasher: SipHasher13::new_with_key(key), room: [0; LOCK_BYTES_MAX] }
    }

    /// Counts one lock more.
    #[inline]
    pub fn add(&mut self, digest: &mut Digest, lock: &Lock<'_>) {
        let length = written(lock, &mut self.room);
        digest.locks += 1;
        let hash = self.hasher.hash(&self.room[..length]).as_u128();
        digest.sum = digest.sum.wrapping_add(hash);
    }
}

impl Digest {
    /// The digest of this set and another, which have no lock in common.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = self.sum.wrapping_add(other.sum);
        Self { locks: self.locks + other.locks, sum }
    }
}

/// A lock as bytes that mean no other lock; how many. Lengths come first, so that no two texts run
/// into each other.
fn written(lock: &Lock<'_>, room: &mut [u8]) -> usize {
    let length = |text: &[u8]| u8::try_from(text.len()).unwrap_or(u8::MAX); // 255 is the most
    let ([d0, d1], [u0, u1]) = (lock.dialog.to_le_bytes(), lock.update.to_le_bytes());
    let (name, argument) = (length(lock.name), length(lock.argument));
    let (owner, mode, backup) = (length(lock.owner), lock.mode.letter(), u8::from(lock.backup));
    room[..HEAD_BYTES].copy_from_slice(&[owner, name, argument, mode, d0, d1, u0, u1, backup]);
    [lock.owner, lock.name, lock.argument].into_iter().fold(HEAD_BYTES, |at, text| {
        room[at..at + text.len()].copy_from_slice(text);
        at + text.len()
    })
}

/// A key from its hexadecimal digits.
#[must_use]
pub fn key(digits: &[u8]) -> Option<[u8; KEY_BYTES]> {
    (digits.len() == 2 * KEY_BYTES).then_some(())?;
    u128_of(digits).map(u128::to_be_bytes)
}

/// A number from its hexadecimal digits, at most 32.
#[must_use]
pub fn u128_of(digits: &[u8]) -> Option<u128> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    u128::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| plain)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_lock_table::table::Held;

    const LOCK: Lock<'_> = Lock {
        owner: b"ab",
        user: b"ann",
        since_ms: 7,
        name: b"MARA",
        argument: b"001",
        mode: Held::E,
        dialog: 0,
        update: 1,
        backup: false,
        fence: 9,
    };

    fn of(locks: &[Lock<'_>]) -> Digest {
        let (mut digester, mut digest) = (Digester::new(&[3; KEY_BYTES]), Digest::default());
        locks.iter().for_each(|lock| digester.add(&mut digest, lock));
        digest
    }

    #[test]
    fn the_order_does_not_matter_and_everything_else_does() {
        let other = Lock { argument: b"002", ..LOCK };
        assert_eq!(of(&[LOCK, other]), of(&[other, LOCK]));
        assert_eq!(of(&[LOCK, other]), of(&[LOCK]).and(of(&[other])));
        let changed = [
            Lock { owner: b"a", ..LOCK },
            Lock { owner: b"a", name: b"bMARA", ..LOCK },
            Lock { owner: b"abM", name: b"ARA", ..LOCK },
            Lock { name: b"MARA0", argument: b"01", ..LOCK },
            Lock { argument: b"", ..LOCK },
            Lock { mode: Held::X, ..LOCK },
            Lock { dialog: 1, ..LOCK },
            Lock { update: 2, ..LOCK },
            Lock { dialog: 1, update: 0, ..LOCK },
            Lock { backup: true, ..LOCK },
        ];
        for lock in changed {
            assert_ne!(of(&[lock]).sum, of(&[LOCK]).sum, "{lock:?}");
        }
        let same = Lock { user: b"", since_ms: 1, fence: 1, ..LOCK };
        assert_eq!(of(&[same]), of(&[LOCK]));
    }

    #[test]
    fn another_key_gives_another_sum() {
        let mut digest = Digest::default();
        Digester::new(&[4; KEY_BYTES]).add(&mut digest, &LOCK);
        assert_ne!(digest, of(&[LOCK]));
    }

    #[test]
    fn the_longest_lock_has_room() {
        let (owner, name, argument) =
            ([b'o'; OWNER_BYTES_MAX], [b'n'; NAME_BYTES_MAX], [b'a'; ARGUMENT_BYTES_MAX]);
        let lock = Lock { owner: &owner, name: &name, argument: &argument, ..LOCK };
        assert_eq!(of(&[lock]).locks, 1);
    }

    #[test]
    fn a_key_is_32_hexadecimal_digits() {
        assert_eq!(key(b"000102030405060708090a0b0c0d0e0F").map(|key| key[15]), Some(15));
        for wrong in [&b""[..], b"00", b"+00102030405060708090a0b0c0d0e0f", &[b'g'; 32]] {
            assert_eq!(key(wrong), None);
        }
    }
}
