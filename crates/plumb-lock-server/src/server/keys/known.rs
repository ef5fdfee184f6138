//! The Lua scripts of lock libraries. A script is never run: what it does is known by its digest.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// What a known script does. Keys and arguments are counted from one, as scripts count them; a
/// value is that of the key, unless another one is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Deletes the key if its value is argument 1: 1; 0 of another value, `absent` without a key.
    Release { absent: i64 },
    /// Sets the time to live to argument 2 if the value is argument 1: 1, or 0.
    Renew,
    /// The same, and sets a key that is not there: 1, or 0.
    RenewOrTake,
    /// The same as [`Renew`](Self::Renew) for a key with a time to live, to which the new one is
    /// added when argument 3 says `0`: 1, or 0.
    Extend,
    /// The time to live, milliseconds, if the value is argument 1, but at least `least`; `other`
    /// of another value and without a key.
    Left { least: i64, other: i64 },
    /// Sets the key to argument 1 for argument 3 if it is not there, or if its value begins as
    /// argument 1 does, for argument 2 bytes: `OK`, or nothing.
    TakeOrReplace,
    /// Sets all keys to argument 1 for argument 2 if none is there: how many, or 0.
    TakeAll,
    /// Deletes all keys whose value is argument 1: how many.
    ReleaseAll,
    /// Sets the time to live of all keys to argument 2 if the value of each is argument 1: how
    /// many, or 0.
    ExtendAll,
    /// Sets the time to live of each key to argument 1, unless argument 2 is a condition that does
    /// not hold: 1 if one was set.
    ExpireEach,
    /// Takes the key once more for argument 2, for argument 1: nothing, or the time to live when
    /// somebody else has it.
    Hold,
    /// The same: -1 and a token, or the time to live and -1.
    HoldWithToken,
    /// Gives the key back once; with `tells`, the last time, those who listen are told; with
    /// `latched`, the same answer is given when it is repeated under the name of the last key.
    ReleaseHold { tells: bool, latched: bool },
    /// Sets the time to live of each key to argument 1 that the argument behind has: 1 or 0 each.
    RenewHolds,
    /// Sets the time to live of the key to argument 1 if argument 2 has it: 1 or 0.
    RenewHold,
    /// Deletes the key whoever has it, if it counts its holds; with `tells`, those who listen are
    /// told.
    ForceRelease { tells: bool },
}

impl Script {
    /// How many keys it takes, and how many arguments at least.
    pub(super) fn takes(self) -> (RangeInclusive<usize>, usize) {
        const MANY: usize = 256;
        match self {
            Self::Release { .. } | Self::Left { .. } => (1..=1, 1),
            Self::Renew | Self::RenewOrTake | Self::Hold | Self::RenewHold => (1..=1, 2),
            Self::Extend | Self::TakeOrReplace => (1..=1, 3),
            Self::ReleaseAll => (1..=MANY, 1),
            Self::TakeAll | Self::ExtendAll | Self::ExpireEach | Self::RenewHolds => (1..=MANY, 2),
            Self::HoldWithToken => (2..=2, 2),
            Self::ForceRelease { tells: true } => (2..=2, 1),
            Self::ForceRelease { tells: false } => (1..=1, 0),
            Self::ReleaseHold { tells: false, latched: false } => (1..=1, 2),
            Self::ReleaseHold { tells: false, latched: true }
            | Self::ReleaseHold { tells: true, latched: false } => (2..=2, 3),
            Self::ReleaseHold { tells: true, latched: true } => (3..=3, 5),
        }
    }
}

const RELEASE: Script = Script::Release { absent: 0 };
const LATCHED_RELEASE: Script = Script::ReleaseHold { tells: true, latched: true };
const UNLATCHED_RELEASE: Script = Script::ReleaseHold { tells: true, latched: false };

/// The SHA-1 of each known script as [`plain`] text, whose it is, and what it does.
const KNOWN: [(&str, Script); 30] = [
    // nearly all libraries
    ("436c6eb9061c0fd6bb5eb9f0ccd80873a070bd03", RELEASE),
    ("7daaa33a98d8afa0ad706c19f6ccf417927fb6a4", RELEASE), // with unlink
    ("176c4cdf6099774baa754c4892167064ec752ab7", Script::Renew),
    // redis-py
    ("1f37489385113287b5c4277ce97ce91eee27e161", RELEASE),
    ("549c5774470b9ecc1a0f48a2fea86a36eb945186", Script::Extend),
    ("add55a5216bb8b2ac89d381b43cab17e01074ac9", Script::Renew),
    // redsync
    ("08e2de7fbde503fa8f7733707d5ece3d6d804efd", Script::Release { absent: -1 }),
    ("e68009d59ef1782faa826083ed0624a7831b120c", Script::RenewOrTake),
    // bsm/redislock
    ("675290f8d7b9ee8bd3023f8fde54de3dce9859a4", Script::TakeOrReplace),
    ("3a001e53d6b93a792f23b001ad718bba92a5342f", Script::Left { least: -1, other: -3 }),
    // pottery
    ("3f251da8099c0decaf32f347e407a2728de809db", Script::Left { least: 0, other: 0 }),
    // redlock of node
    ("f14c4d39c6b54ea9c8eaf1a2b46e290282b7ba79", Script::TakeAll),
    ("fc85e1c73468e80dd838916e38400e59d4687047", Script::ReleaseAll),
    ("436aef7398e1893f2610b38d7ecb472d92f1fdd8", Script::ExtendAll),
    // redis-semaphore of node: its mutex
    ("14619301787c6360046a974d30b0cee055f2a811", Script::Renew),
    ("5da8caccece477fab11a0724f6c34a266ab65f08", RELEASE),
    // Redisson: its lock, its spin lock, its fenced lock, its multi-lock. Whose holds are taken, those
    // are renewed: a time that its watchdog cannot prolong ends while the lock is in use
    ("2ee32ef415262d18eea1c41586bfdbdb55ec50f5", Script::Hold),
    ("541fe7d3e6b19085958d2cd9d46a5342cfce6c01", LATCHED_RELEASE),
    ("c03f62fb5314efbb1343b0ea2e9f8cd116775014", Script::ForceRelease { tells: true }),
    ("abcfcb245729641ab9e62c07dc7c84a73c4d321a", Script::RenewHolds),
    ("c5d001738cded4827cf2ad129a40f4860e7781a2", Script::Hold),
    (
        "f0e4f12d731eabb55f090070d4f68fe2218fffd2",
        Script::ReleaseHold { tells: false, latched: true },
    ),
    ("7e7ffd7a7f4c826c276379a44483a96b377eb1a1", Script::ForceRelease { tells: false }),
    ("1dca9d06ec3b2d603c4c38663854ccd091d4da46", Script::HoldWithToken),
    ("df1f8b60cc8611bc176530addc24be5d4ebe4b49", Script::ExpireEach),
    // Redisson before 3.45, 3.24 and 3.21
    ("49d9da5b0448e3eee681e45916a8979a7c2b6697", Script::RenewHold),
    ("f7d856abb88a92e7eeb9928ac720aa3e62f4a270", UNLATCHED_RELEASE),
    (
        "d011fbcf82ae1549cf82be7dbd3f6d3af6d20eb4",
        Script::ReleaseHold { tells: false, latched: false },
    ),
    ("9e84480f41725745c95441eabf467d6b5be6cd6f", UNLATCHED_RELEASE),
    ("6e643ce9edb0c7f101d37a32c1d6edcb8e80d68c", Script::ForceRelease { tells: true }),
];

/// The longest script that is looked at, bytes.
const SCRIPT_BYTES_MAX: usize = 2048;

/// The scripts that clients have loaded, by their SHA-1.
#[derive(Debug, Default)]
pub(in crate::server) struct Scripts {
    by_digest: HashMap<[u8; 40], Script>,
}

impl Scripts {
    /// The script of this text, which is known by its digest from now on.
    pub(super) fn load(&mut self, text: &[u8]) -> Option<(Script, [u8; 40])> {
        let script = known(text)?;
        let digest = digest(text);
        const KEPT_MAX: usize = 1024; // texts differ in white space and comments only
        if self.by_digest.len() < KEPT_MAX {
            self.by_digest.insert(digest, script);
        }
        Some((script, digest))
    }

    pub(super) fn find(&self, digest: &[u8]) -> Option<Script> {
        let digest: [u8; 40] = digest.try_into().ok()?;
        self.by_digest.get(&digest.map(|byte| byte.to_ascii_lowercase())).copied()
    }
}

/// The SHA-1 of a text in hexadecimal digits.
pub(super) fn digest(text: &[u8]) -> [u8; 40] {
    let mut digits = [b'0'; 40];
    let text = sha1_smol::Sha1::from(text).digest().to_string();
    digits.copy_from_slice(text.as_bytes());
    digits
}

fn known(text: &[u8]) -> Option<Script> {
    if text.len() > SCRIPT_BYTES_MAX {
        return None;
    }
    let digest = digest(&plain(text));
    KNOWN.iter().find(|(known, _)| known.as_bytes() == digest).map(|(_, script)| *script)
}

/// A script without comments, white space and semicolons, with double quotes, in small letters:
/// the same for the same script, however it is written.
fn plain(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n');
    let code = lines.flat_map(|line| {
        let comment = line.windows(2).position(|two| two == b"--");
        &line[..comment.unwrap_or(line.len())]
    });
    code.filter(|byte| !byte.is_ascii_whitespace() && **byte != b';')
        .map(|byte| if *byte == b'\'' { b'"' } else { byte.to_ascii_lowercase() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_script_is_known_however_it_is_written() {
        let text = b"-- of mine\nif redis.call('GET', KEYS[1]) == ARGV[1]\n  then return \
                     redis.call('DEL', KEYS[1]) -- it was mine\n  else return 0 end;";
        let mut scripts = Scripts::default();
        let (script, digest) = scripts.load(text).unwrap();
        assert_eq!(script, RELEASE);
        assert_eq!(scripts.find(&digest.to_ascii_uppercase()), Some(RELEASE));
        assert!(scripts.load(b"return redis.call('del', KEYS[1])").is_none());
    }

    #[test]
    fn a_script_that_differs_in_a_word_is_another() {
        let script = |command: &str, other: &str| {
            let text = format!(
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('{command}', \
                 KEYS[1], ARGV[2]) else return {other} end"
            );
            known(text.as_bytes())
        };
        assert_eq!(script("pexpire", "0"), Some(Script::Renew));
        assert_eq!(script("expire", "0"), None);
        assert_eq!(script("pexpire", "1"), None);
    }

    #[test]
    fn whatever_version_of_redisson_has_taken_a_lock_its_renewal_and_its_release_are_known() {
        // RedissonBaseLock of 3.16 to 3.44, then RedissonLock and RedissonSpinLock of 3.20, 3.22
        let release = |tell: &str, name: u8, ms: u8| {
            format!(
                "if (redis.call('hexists', KEYS[1], ARGV[{name}]) == 0) then return nil;end; local \
                 counter = redis.call('hincrby', KEYS[1], ARGV[{name}], -1); if (counter > 0) then \
                 redis.call('pexpire', KEYS[1], ARGV[{ms}]); return 0; else redis.call('del', \
                 KEYS[1]); {tell}return 1; end; return nil;"
            )
        };
        let told = |how: &str| release(&format!("redis.call({how}, KEYS[2], ARGV[1]); "), 3, 2);
        let spin = Script::ReleaseHold { tells: false, latched: false };
        for (text, script) in [
            (
                "if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', \
                 KEYS[1], ARGV[1]); return 1; end; return 0;"
                    .to_owned(),
                Script::RenewHold,
            ),
            (told("'publish'"), UNLATCHED_RELEASE),
            (told("ARGV[4]"), UNLATCHED_RELEASE),
            (release("", 2, 1), spin),
        ] {
            assert_eq!(known(text.as_bytes()), Some(script), "{text}");
        }
    }

    #[test]
    fn no_script_is_listed_twice() {
        for (at, (digest, _)) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..at].iter().all(|(other, _)| other != digest), "{digest}");
        }
    }

    #[test]
    fn a_digest_is_the_sha1_of_the_text() {
        // FIPS 180-4, example of one block
        assert_eq!(&digest(b"abc"), b"a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
