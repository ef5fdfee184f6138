//! What witnesses keep, what they are asked and what they answer, as words.

use super::VERSION;

/// Under whose name something is asked. Of two the higher one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ballot {
    /// Higher than any that the candidate has heard of.
    pub term: u64,
    /// The candidate: a number that no other server and no other start has.
    pub candidate: u64,
}

/// Who gives locks out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register {
    /// Under which ballot this was said. The default: nothing was ever said.
    pub ballot: Ballot,
    /// How often it was said anew under this ballot.
    pub round: u64,
    /// The server that gives locks out: a number that it keeps with its journal.
    pub holder: u64,
    /// The replica that has everything anybody was told of, and may take over; 0: none has.
    pub partner: u64,
    /// The epoch of the locks.
    pub epoch: u64,
}

impl Register {
    /// Numbers of one.
    pub(super) const NUMBERS: usize = 6;

    /// Of two registers that with the higher version is the later one.
    #[must_use]
    pub fn version(&self) -> (Ballot, u64) {
        (self.ballot, self.round)
    }

    pub(super) fn numbers(&self) -> [u64; Self::NUMBERS] {
        let Self { ballot, round, holder, partner, epoch } = *self;
        [ballot.term, ballot.candidate, round, holder, partner, epoch]
    }

    pub(super) fn of([term, candidate, round, holder, partner, epoch]: [u64; 6]) -> Self {
        Self { ballot: Ballot { term, candidate }, round, holder, partner, epoch }
    }
}

/// What a witness is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Promise to keep nothing of a lower ballot, and tell what you have.
    Claim(Ballot),
    /// Keep this.
    Keep(Register),
}

/// Words that are no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRequest {
    /// Another version.
    #[error(
        "ERR the server speaks version {0} of what witnesses are asked, and this witness version \
         {VERSION}: run the same release of plumb on all"
    )]
    Version(u64),
    /// Not as it is asked.
    #[error(
        "ERR WITNESS is what servers ask: CLAIM with 3 numbers, or KEEP with 7; clients ask the \
         servers"
    )]
    Words,
}

impl Request {
    /// The words of the command.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let (kind, numbers) = match self {
            Self::Claim(ballot) => ("CLAIM", vec![ballot.term, ballot.candidate]),
            Self::Keep(register) => ("KEEP", register.numbers().to_vec()),
        };
        let head = ["WITNESS".to_owned(), kind.to_owned(), VERSION.to_string()];
        head.into_iter().chain(numbers.iter().map(ToString::to_string)).collect()
    }

    /// The request that stands in the words of a command.
    ///
    /// # Errors
    /// [`NoRequest`] when none does.
    pub fn read(words: &[&[u8]]) -> Result<Self, NoRequest> {
        let [_, kind, version, numbers @ ..] = words else {
            return Err(NoRequest::Words);
        };
        match number(version).ok_or(NoRequest::Words)? {
            VERSION => {}
            other => return Err(NoRequest::Version(other)),
        }
        let numbers = numbers.iter().map(|word| number(word)).collect::<Option<Vec<u64>>>();
        let numbers = numbers.ok_or(NoRequest::Words)?;
        if kind.eq_ignore_ascii_case(b"CLAIM")
            && let [term, candidate] = *numbers
        {
            return Ok(Self::Claim(Ballot { term, candidate }));
        }
        if kind.eq_ignore_ascii_case(b"KEEP")
            && let Ok(numbers) = <[u64; Register::NUMBERS]>::try_from(numbers)
        {
            return Ok(Self::Keep(Register::of(numbers)));
        }
        Err(NoRequest::Words)
    }
}

/// What a witness answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// It was promised, or kept.
    pub granted: bool,
    /// The highest ballot that anything was promised to.
    pub promised: Ballot,
    /// What it keeps.
    pub register: Register,
}

/// Words that are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("does not answer as a witness does")]
pub struct NoAnswer;

impl Answer {
    /// Words of one.
    pub const WORDS: usize = 3 + Register::NUMBERS;

    /// The words of the reply.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let Ballot { term, candidate } = self.promised;
        let head = [u64::from(self.granted), term, candidate];
        head.iter().chain(&self.register.numbers()).map(ToString::to_string).collect()
    }

    /// The answer that stands in these words.
    ///
    /// # Errors
    /// [`NoAnswer`] when none does.
    pub fn read(words: &[&[u8]]) -> Result<Self, NoAnswer> {
        let numbers = words.iter().map(|word| number(word)).collect::<Option<Vec<u64>>>();
        let numbers = <[u64; Self::WORDS]>::try_from(numbers.ok_or(NoAnswer)?);
        let [granted @ 0..=1, term, candidate, register @ ..] = numbers.map_err(|_| NoAnswer)?
        else {
            return Err(NoAnswer);
        };
        let promised = Ballot { term, candidate };
        Ok(Self { granted: granted == 1, promised, register: Register::of(register) })
    }
}

fn number(word: &[u8]) -> Option<u64> {
    let digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(words: &[String]) -> Vec<&[u8]> {
        words.iter().map(String::as_bytes).collect()
    }

    #[test]
    fn what_is_no_request_is_refused_with_what_was_expected() {
        let read = |text: &str| {
            Request::read(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>()).unwrap_err()
        };
        for words in ["WITNESS", "WITNESS CLAIM 1 7", "WITNESS KEEP 1 7 8", "WITNESS CLAIM 1 -7 8"]
        {
            assert_eq!(read(words), NoRequest::Words, "{words}");
        }
        assert_eq!(read("WITNESS CLAIM 1 7 18446744073709551616"), NoRequest::Words);
        assert_eq!(read("WITNESS CLAIM 2 7 8"), NoRequest::Version(2));
    }

    proptest! {
        #[test]
        fn requests_and_answers_are_read_as_they_were_said(
            numbers: [u64; 6], ballot: [u64; 2], granted: bool,
        ) {
            let [term, candidate] = ballot;
            let (promised, register) = (Ballot { term, candidate }, Register::of(numbers));
            for request in [Request::Claim(promised), Request::Keep(register)] {
                prop_assert_eq!(Request::read(&bytes(&request.words())), Ok(request));
            }
            let answer = Answer { granted, promised, register };
            prop_assert_eq!(Answer::read(&bytes(&answer.words())), Ok(answer));
        }

        #[test]
        fn any_words_are_read_without_harm(
            words in prop::collection::vec("[0-9]{0,21}|KEEP|CLAIM|[\\PC]{0,8}", 0..12),
        ) {
            let words = bytes(&words);
            if let Ok(request) = Request::read(&words) {
                prop_assert_eq!(Request::read(&bytes(&request.words())), Ok(request));
            }
            if let Ok(answer) = Answer::read(&words) {
                prop_assert_eq!(Answer::read(&bytes(&answer.words())), Ok(answer));
            }
        }
    }
}
