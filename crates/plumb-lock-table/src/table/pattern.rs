//! Arguments with wildcards.

use super::ARGUMENT_BYTES_MAX;

/// The character that equals every character.
pub const WILDCARD: u8 = b'@';

/// Which positions of an argument of one length are wildcards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    bits: [u64; 4],
    length: u8,
}

impl Mask {
    /// The mask of an argument; `None` when it has no wildcard.
    pub(super) fn of(argument: &[u8]) -> Option<Self> {
        // all of it, as it is short: a search that may end early takes longer
        if !argument.iter().fold(false, |found, byte| found | (*byte == WILDCARD)) {
            return None;
        }
        let mut bits = [0; 4];
        for (at, byte) in argument.iter().enumerate() {
            if *byte == WILDCARD {
                bits[at / 64] |= 1 << (at % 64);
            }
        }
        Some(Self { bits, length: u8::try_from(argument.len()).unwrap_or(u8::MAX) })
    }

    pub(super) fn length(&self) -> usize {
        usize::from(self.length)
    }

    /// True when every wildcard of this one is a wildcard of `other`.
    pub(super) fn within(&self, other: &Self) -> bool {
        self.bits.iter().zip(other.bits).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// `argument`, of the mask's length, with the mask's wildcards put into it.
    pub(super) fn project<'b>(
        &self,
        argument: &[u8],
        room: &'b mut [u8; ARGUMENT_BYTES_MAX],
    ) -> &'b [u8] {
        let projected = &mut room[..argument.len()];
        projected.copy_from_slice(argument);
        for (word, bits) in self.bits.iter().enumerate() {
            let mut left = *bits;
            while left != 0 {
                let at = word * 64 + left.trailing_zeros() as usize;
                if let Some(byte) = projected.get_mut(at) {
                    *byte = WILDCARD;
                }
                left &= left - 1;
            }
        }
        projected
    }
}

/// True when two arguments of one name stand for an object in common: they are as long as each
/// other and equal position by position, where a wildcard on either side equals everything.
#[must_use]
pub fn overlap(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(left, right)| left == right || *left == WILDCARD || *right == WILDCARD)
}

/// The characters in front of the first wildcard.
pub(super) fn literal_start(argument: &[u8]) -> &[u8] {
    let end = argument.iter().position(|byte| *byte == WILDCARD).unwrap_or(argument.len());
    &argument[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_on_either_side_equals_everything() {
        assert!(overlap(b"@@CD", b"AB@@"));
        assert!(overlap(b"ABCD", b"AB@@"));
        assert!(!overlap(b"ABCD", b"AC@@"));
        assert!(!overlap(b"AB", b"AB@"));
        assert!(overlap(b"", b""));
    }

    #[test]
    fn a_projection_has_the_wildcards_of_the_mask() {
        let mask = Mask::of(b"@B@D").unwrap();
        let mut room = [0; ARGUMENT_BYTES_MAX];
        assert_eq!(mask.project(b"WXYZ", &mut room), b"@X@Z");
        assert!(Mask::of(b"@BCD").unwrap().within(&mask));
        assert!(!Mask::of(b"@@CD").unwrap().within(&mask));
        assert_eq!(Mask::of(b"ABCD"), None);
        let long = [WILDCARD; ARGUMENT_BYTES_MAX];
        assert_eq!(Mask::of(&long).unwrap().project(&[b'x'; 255], &mut room), long);
    }
}
