//! Which of the latest numbers have come: what tells a datagram that was overtaken from one that came
//! twice.

/// How a number came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// For the first time, and higher than all before.
    Next,
    /// For the first time, behind a higher one.
    Overtaken,
    /// Not for the first time.
    Again,
    /// So far behind that it is not known any more whether it had come.
    TooLate,
}

/// Numbers beyond are believed of nobody: at one a nanosecond they would take 146 years.
const NUMBER_MAX: u64 = 1 << 62;

/// The latest `64 * WORDS` numbers.
#[derive(Clone, Debug)]
pub(crate) struct Window<const WORDS: usize> {
    came: Box<[u64; WORDS]>,
    /// One more than the highest number that came.
    end: u64,
}

impl<const WORDS: usize> Default for Window<WORDS> {
    fn default() -> Self {
        Self { came: Box::new([0; WORDS]), end: 0 }
    }
}

impl<const WORDS: usize> Window<WORDS> {
    /// How many numbers it keeps.
    pub(crate) const LENGTH: u64 = 64 * WORDS as u64;

    /// One more than the highest number that came; 0 before.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Notes that `number` came. What falls out of the window meanwhile is told to `left`: whether it
    /// had come, and how many numbers in a row.
    pub(crate) fn note(&mut self, number: u64, left: impl FnMut(bool, u64)) -> Arrival {
        if number >= NUMBER_MAX || number + Self::LENGTH < self.end {
            return Arrival::TooLate;
        }
        let higher = number >= self.end;
        if higher {
            self.advance(number + 1, left);
        }
        let (word, bit) = Self::place(number);
        let before = self.came[word] & bit != 0;
        self.came[word] |= bit;
        match (higher, before) {
            (true, _) => Arrival::Next,
            (false, true) => Arrival::Again,
            (false, false) => Arrival::Overtaken,
        }
    }

    /// Makes `end` the end of the window.
    pub(crate) fn advance(&mut self, end: u64, mut left: impl FnMut(bool, u64)) {
        let steps = end.saturating_sub(self.end);
        for number in self.end..self.end + steps.min(Self::LENGTH) {
            let (word, bit) = Self::place(number);
            if number >= Self::LENGTH {
                left(self.came[word] & bit != 0, 1);
            }
            self.came[word] &= !bit;
        }
        if steps > Self::LENGTH {
            // of a jump beyond the window nothing in between has come
            left(false, steps - Self::LENGTH);
        }
        self.end = self.end.max(end);
    }

    /// Tells `left` of every number that is still in the window, in order.
    pub(crate) fn rest(&self, mut left: impl FnMut(bool, u64)) {
        for number in self.end.saturating_sub(Self::LENGTH)..self.end {
            let (word, bit) = Self::place(number);
            left(self.came[word] & bit != 0, 1);
        }
    }

    fn place(number: u64) -> (usize, u64) {
        let at = number % Self::LENGTH;
        (usize::try_from(at / 64).unwrap_or(0), 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plumb_measure::statistics::SplitMix64;

    use super::*;

    /// What a set of all numbers would say, over numbers that jump, fall back and come twice.
    #[test]
    fn a_window_says_what_a_set_of_all_numbers_says() {
        let mut random = SplitMix64::new(7);
        for jump in [2, 40, 300] {
            let mut window = Window::<1>::default();
            let (mut came, mut end, mut left) = (BTreeSet::new(), 0_u64, Vec::new());
            for _ in 0..3_000 {
                let back = random.below(90) as u64;
                let forth = if random.below(3) == 0 { random.below(jump) as u64 } else { 0 };
                let number = (end + forth).saturating_sub(back);
                let expected = match number {
                    _ if number + 64 < end => Arrival::TooLate,
                    _ if number >= end => Arrival::Next,
                    _ if came.contains(&number) => Arrival::Again,
                    _ => Arrival::Overtaken,
                };
                let arrival = window.note(number, |seen, many| {
                    left.extend(std::iter::repeat_n(seen, usize::try_from(many).unwrap()));
                });
                assert_eq!(arrival, expected, "{number} where {end} is the end");
                if arrival != Arrival::TooLate {
                    came.insert(number);
                    end = end.max(number + 1);
                }
                assert_eq!(window.end(), end);
            }
            window.rest(|seen, _| left.push(seen));
            let all: Vec<bool> = (0..end).map(|number| came.contains(&number)).collect();
            assert_eq!(left, all, "every number leaves once, in order");
        }
    }

    #[test]
    fn a_number_that_nobody_can_have_sent_costs_no_time() {
        let mut window = Window::<1>::default();
        assert_eq!(window.note(u64::MAX, |_, _| {}), Arrival::TooLate);
        let mut missing = 0;
        assert_eq!(window.note(NUMBER_MAX - 1, |_, many| missing += many), Arrival::Next);
        assert_eq!(missing, NUMBER_MAX - 64);
    }
}
