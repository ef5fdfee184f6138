//! What a journal lacks of what was acknowledged.

use std::collections::BTreeMap;
use std::fmt;

use super::position::Position;

/// Something that was acknowledged is missing, or may be: the epoch is a new one, and fence numbers
/// begin above all that can have been given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A journal is shorter than it was.
    Cut {
        /// Its number.
        number: u64,
        /// Sound bytes of it.
        bytes: u64,
        /// Bytes of it that were acknowledged.
        acknowledged: u64,
    },
    /// The file `position` is missing or damaged, which says how much there was.
    NoPosition,
    /// A repair has taken away what was damaged.
    Repaired,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { number, bytes, acknowledged } => write!(
                f,
                "journal {number} has {bytes} sound bytes of {acknowledged} that were \
                 acknowledged: what is missing is lost"
            ),
            Self::NoPosition => f.write_str(
                "the file position, which says how much was acknowledged, is missing or damaged: \
                 something may be lost",
            ),
            Self::Repaired => f.write_str("a repair has taken away what was damaged"),
        }
    }
}

/// The journals that were read: by number, the bytes that are sound, and those that the next one
/// says.
#[derive(Clone, Debug, Default)]
pub(super) struct Read {
    pub(super) sound: BTreeMap<u64, u64>,
    pub(super) before: BTreeMap<u64, u64>,
}

impl Read {
    /// What is missing of the journals from `start` on.
    pub(super) fn loss(&self, start: u64, position: Option<&Position>) -> Option<Loss> {
        let Some(position) = position else {
            return Some(Loss::NoPosition);
        };
        let named = (position.number, position.bytes);
        let before = self.before.iter().map(|(number, bytes)| (number.saturating_sub(1), *bytes));
        // a snapshot holds what the journals in front of it held
        let known = before.chain([named]).filter(|(number, _)| *number >= start);
        let missing = known.filter_map(|(number, acknowledged)| {
            let bytes = self.sound.get(&number).copied().unwrap_or(0);
            (bytes < acknowledged).then_some(Loss::Cut { number, bytes, acknowledged })
        });
        missing.min_by_key(|loss| match loss {
            Loss::Cut { number, .. } => *number,
            Loss::NoPosition | Loss::Repaired => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sound: &[(u64, u64)], before: &[(u64, u64)]) -> Read {
        Read { sound: sound.iter().copied().collect(), before: before.iter().copied().collect() }
    }

    fn at(number: u64, bytes: u64) -> Position {
        Position { number, bytes, ..Position::default() }
    }

    #[test]
    fn what_was_acknowledged_is_there_or_missed() {
        let whole = read(&[(4, 100), (5, 60)], &[(5, 100), (4, 9)]);
        assert_eq!(whole.loss(4, Some(&at(5, 60))), None);
        assert_eq!(whole.loss(4, Some(&at(5, 50))), None, "it may say less");
        let cut = Loss::Cut { number: 5, bytes: 60, acknowledged: 61 };
        assert_eq!(whole.loss(4, Some(&at(5, 61))), Some(cut));
        assert_eq!(whole.loss(4, None), Some(Loss::NoPosition));
        let gone = Loss::Cut { number: 6, bytes: 0, acknowledged: 1 };
        assert_eq!(whole.loss(4, Some(&at(6, 1))), Some(gone));
        assert_eq!(whole.loss(4, Some(&at(3, 1_000))), None, "the snapshot holds it");
        let torn = read(&[(4, 99), (5, 60)], &[(5, 100)]);
        let cut = Loss::Cut { number: 4, bytes: 99, acknowledged: 100 };
        assert_eq!(torn.loss(4, Some(&at(5, 60))), Some(cut));
    }
}
