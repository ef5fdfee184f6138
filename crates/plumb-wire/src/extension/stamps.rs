//! How long the server had single messages of a connection, by the time stamps of its kernel.

/// Which messages of a connection the server is to tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampTerms {
    /// One message in so many, at least one.
    pub every: u32,
    /// Messages that come first and are not counted.
    pub skip: u32,
}

impl StampTerms {
    /// The number, from one, of a message before which `earlier` came, if it is one to tell of.
    #[must_use]
    pub fn number(self, earlier: u32) -> Option<u32> {
        let number = earlier.checked_sub(self.skip)?.wrapping_add(1);
        (number > 0 && number.is_multiple_of(self.every)).then_some(number)
    }
}

/// How long the server had a message. Durations of one clock: the clocks of both sides are never
/// compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampedMessage {
    /// Its number on the connection, from one.
    pub number: u32,
    /// From its last packet in the kernel to the program that read it, nanoseconds.
    pub waking_ns: u64,
    /// From there to the call that sent the answer, nanoseconds.
    pub work_ns: u64,
    /// From that call to the last packet at the driver, nanoseconds.
    pub sending_ns: u64,
}

impl StampTerms {
    pub(super) fn push(self, out: &mut Vec<u8>) {
        [self.every, self.skip].iter().for_each(|n| out.extend_from_slice(&n.to_be_bytes()));
    }
}

impl StampedMessage {
    pub(super) fn push(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        super::totals::push_all(out, [self.waking_ns, self.work_ns, self.sending_ns]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_count_the_same_messages() {
        let terms = StampTerms { every: 4, skip: 1 };
        let numbers: Vec<Option<u32>> = (0..10).map(|earlier| terms.number(earlier)).collect();
        let expected = [None, None, None, None, Some(4), None, None, None, Some(8), None];
        assert_eq!(numbers, expected);
        assert_eq!(StampTerms { every: 1, skip: 0 }.number(0), Some(1));
    }
}
