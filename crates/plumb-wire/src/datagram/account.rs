//! What has become of a stream of datagrams, as its receiver counted it.

use super::{Fields, NotOurs};

/// Classes of lengths of gaps: 1, 2, 3-4, 5-8, 9-16, 17-32, 33-64, and more.
pub const GAP_BINS: usize = 8;

/// The class of a gap of `length` lost datagrams in a row, from 1 on.
#[must_use]
pub fn gap_bin(length: u64) -> usize {
    let class = length.max(1).next_power_of_two().trailing_zeros() as usize;
    class.min(GAP_BINS - 1)
}

/// What has become of the stream with this key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// As the stream [began](super::Begin) with.
    pub key: u64,
    /// How many datagrams the client has sent in all, once it sends no more, or wants none any
    /// more; `None` before.
    pub ended: Option<u64>,
}

/// So many datagrams stand for "not ended".
const GOES_ON: u64 = u64::MAX;

impl Ask {
    /// Reads what stands behind the head. What follows is filling: the answer is longer.
    ///
    /// # Errors
    /// [`NotOurs::Body`].
    pub fn parse(body: &[u8]) -> Result<Self, NotOurs> {
        let mut fields = Fields(body);
        let mut read = || Some((fields.u64()?, fields.u64()?));
        let (key, ended) = read().ok_or(NotOurs::Body(body.len()))?;
        Ok(Self { key, ended: (ended != GOES_ON).then_some(ended) })
    }

    /// Appends it, as long as its answer.
    pub fn push(&self, out: &mut Vec<u8>) {
        let end = out.len() + Account::BYTES;
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(&self.ended.unwrap_or(GOES_ON).to_be_bytes());
        out.resize(end, 0);
    }
}

/// What the receiver of a stream has counted, and what its sender has sent, as far as the server is
/// the one or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The server sends nothing more of this stream.
    pub over: bool,
    /// When this was so, nanoseconds on the clock of who counted.
    pub now_ns: u64,
    /// Datagrams that the server sent.
    pub sent: u64,
    /// Different datagrams that came.
    pub received: u64,
    /// Bytes of these, heads of datagrams included.
    pub bytes: u64,
    /// Datagrams that had come before.
    pub duplicates: u64,
    /// Datagrams that came behind one with a higher number.
    pub reordered: u64,
    /// Datagrams that came so late that they were counted as lost; the count stays.
    pub too_late: u64,
    /// Datagrams that did not come, as far as it is known by now.
    pub lost: u64,
    /// Datagrams that the receiver's machine had and dropped, because nobody had read those before;
    /// of all streams over that socket.
    pub overflowed: u64,
    /// When the first came, nanoseconds on the clock of who counted; 0: none has.
    pub first_ns: u64,
    /// When the last came.
    pub last_ns: u64,
    /// The jitter of RFC 3550 by now, nanoseconds.
    pub jitter_ns: u64,
    /// The largest it has been.
    pub jitter_max_ns: u64,
    /// The longest run of lost datagrams.
    pub gap_max: u64,
    /// Runs of lost datagrams, by their lengths; see [`gap_bin`].
    pub gaps: [u64; GAP_BINS],
    /// Processor time of the server's thread that sent the stream, nanoseconds.
    pub cpu_ns: u64,
}

impl Account {
    /// Bytes behind the head.
    pub const BYTES: usize = 1 + 8 * (15 + GAP_BINS);

    /// Reads what stands behind the head.
    ///
    /// # Errors
    /// [`NotOurs::Body`].
    pub fn parse(body: &[u8]) -> Result<Self, NotOurs> {
        let mut fields = Fields(body);
        let account = Self::read(&mut fields).filter(|_| fields.at_end());
        account.ok_or(NotOurs::Body(body.len()))
    }

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let over = match fields.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut account = Self { over, ..Self::default() };
        for place in account.numbers() {
            *place = fields.u64()?;
        }
        Some(account)
    }

    /// Appends it.
    pub fn push(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.over));
        for number in self.clone().numbers() {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// All numbers, in the order in which they are written.
    fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let Self {
            over: _,
            now_ns,
            sent,
            received,
            bytes,
            duplicates,
            reordered,
            too_late,
            lost,
            overflowed,
            first_ns,
            last_ns,
            jitter_ns,
            jitter_max_ns,
            gap_max,
            gaps,
            cpu_ns,
        } = self;
        let counts = [sent, received, bytes, duplicates, reordered, too_late, lost, overflowed];
        let times = [now_ns, first_ns, last_ns, jitter_ns, jitter_max_ns, cpu_ns, gap_max];
        counts.into_iter().chain(times).chain(gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_as_it_was_written_and_no_longer_than_its_question() {
        let mut account = Account { over: true, ..Account::default() };
        account.numbers().zip(1..).for_each(|(place, number)| *place = number);
        let mut body = Vec::new();
        account.push(&mut body);
        assert_eq!(body.len(), Account::BYTES);
        assert_eq!(Account::parse(&body), Ok(account));
        let mut question = Vec::new();
        for ended in [None, Some(0), Some(1 << 50)] {
            let ask = Ask { key: 77, ended };
            question.clear();
            ask.push(&mut question);
            assert_eq!(Ask::parse(&question), Ok(ask));
            assert_eq!(question.len(), body.len());
        }
        body[0] = 2;
        assert_eq!(Account::parse(&body), Err(NotOurs::Body(Account::BYTES)));
        assert_eq!(Account::parse(&[]), Err(NotOurs::Body(0)));
        assert_eq!(Ask::parse(&question[..15]), Err(NotOurs::Body(15)));
    }

    #[test]
    fn gaps_are_of_the_class_that_their_length_falls_into() {
        let classes: Vec<usize> =
            (1..=9).chain([16, 17, 64, 65, u64::MAX >> 1]).map(gap_bin).collect();
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6, 7, 7]);
    }
}
