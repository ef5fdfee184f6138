//! A witness: it keeps who gives locks out, and nothing else.

use super::register::{Answer, Ballot, Register, Request};

/// What a witness has promised, and what it keeps. Both outlive it before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    promised: Ballot,
    register: Register,
}

impl Witness {
    /// Numbers of one.
    pub(super) const NUMBERS: usize = 2 + Register::NUMBERS;

    /// What it keeps.
    #[must_use]
    pub fn register(&self) -> &Register {
        &self.register
    }

    /// Answers a request. What has changed must be kept before the answer is sent.
    pub fn hear(&mut self, request: &Request) -> Answer {
        let granted = match request {
            Request::Claim(ballot) => *ballot >= self.promised,
            Request::Keep(register) => {
                register.ballot >= self.promised && register.version() >= self.register.version()
            }
        };
        match request {
            Request::Claim(ballot) if granted => self.promised = *ballot,
            Request::Keep(register) if granted => {
                (self.promised, self.register) = (register.ballot, *register);
            }
            Request::Claim(_) | Request::Keep(_) => {}
        }
        Answer { granted, promised: self.promised, register: self.register }
    }

    pub(super) fn numbers(&self) -> [u64; Self::NUMBERS] {
        let [term, candidate, round, holder, partner, epoch] = self.register.numbers();
        let Ballot { term: promised, candidate: to } = self.promised;
        [promised, to, term, candidate, round, holder, partner, epoch]
    }

    pub(super) fn of([term, candidate, register @ ..]: [u64; Self::NUMBERS]) -> Self {
        Self { promised: Ballot { term, candidate }, register: Register::of(register) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballot(term: u64, candidate: u64) -> Ballot {
        Ballot { term, candidate }
    }

    fn keep(term: u64, candidate: u64, round: u64) -> Request {
        let ballot = ballot(term, candidate);
        Request::Keep(Register { ballot, round, holder: candidate, partner: 0, epoch: 1 })
    }

    #[test]
    fn nothing_of_a_lower_ballot_is_kept_behind_a_promise() {
        let mut witness = Witness::default();
        assert!(witness.hear(&Request::Claim(ballot(1, 7))).granted);
        assert!(witness.hear(&keep(1, 7, 1)).granted);
        assert!(witness.hear(&Request::Claim(ballot(2, 8))).granted, "a higher one is promised");
        let answer = witness.hear(&keep(1, 7, 2));
        assert!(!answer.granted, "the first was promised to be over");
        assert_eq!((answer.promised, answer.register.round), (ballot(2, 8), 1));
        assert!(!witness.hear(&Request::Claim(ballot(2, 7))).granted, "of two in a term one");
        assert!(witness.hear(&keep(3, 7, 1)).granted, "whoever has a majority needs no promise");
        assert_eq!(witness.register().holder, 7);
    }

    #[test]
    fn what_was_said_earlier_and_comes_late_changes_nothing() {
        let mut witness = Witness::default();
        assert!(witness.hear(&keep(1, 7, 3)).granted);
        assert!(!witness.hear(&keep(1, 7, 2)).granted);
        assert!(witness.hear(&keep(1, 7, 3)).granted, "the same once more is no harm");
        assert_eq!(witness.register().round, 3);
    }
}
