//! One direction of a connection that takes time: bytes go in, and come out when they are due.
//! Pure: whoever calls says what time it is.

use std::collections::VecDeque;

use plumb_measure::statistics::SplitMix64;
use plumb_measure::{BitRate, Histogram};

use crate::plan::PathPlan;

/// Bytes that cross a line of limited rate in one piece, at least: the payload of a usual packet.
const PIECE_BYTES: u64 = 1_448;
/// Pieces of a fast line last so long, so that it does not wake the loop for every packet.
const PIECE_NS: u64 = 50_000;
/// An empty store larger than this is given back.
const SPARE_BYTES: usize = 256 << 10;

/// The rate of one direction, shared by all connections: they stand in one queue.
#[derive(Debug)]
pub(crate) struct Shaper {
    rate: Option<BitRate>,
    free_at: u64,
}

impl Shaper {
    pub(crate) fn new(rate: Option<BitRate>) -> Self {
        Self { rate, free_at: 0 }
    }

    /// The longest stretch of `left` bytes that passes at once.
    fn piece(&self, left: usize) -> usize {
        let Some(rate) = self.rate else {
            return left;
        };
        let piece = rate.bytes_in(PIECE_NS).max(PIECE_BYTES);
        usize::try_from(piece).map_or(left, |piece| piece.min(left))
    }

    /// When the last of `bytes` that came at `now` is on its way.
    fn passes(&mut self, now: u64, bytes: usize) -> u64 {
        let Some(rate) = self.rate else {
            return now;
        };
        let start = self.free_at.max(now);
        self.free_at = start.saturating_add(rate.time_of(bytes as u64));
        self.free_at
    }
}

/// How the bytes of one direction end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing more will be sent.
    Finish,
    /// The connection was reset.
    Reset,
}

/// The bytes under way in one direction of one connection. They keep their order.
#[derive(Debug)]
pub(crate) struct Line {
    path: PathPlan,
    /// Time until the sender learns that bytes have arrived: the way back.
    ack_ns: u64,
    window: usize,
    random: SplitMix64,
    bytes: VecDeque<u8>,
    /// Bytes that wait for their time, in order: when, how many.
    pieces: VecDeque<(u64, usize)>,
    /// Bytes at the front whose time has come.
    due: usize,
    last_due: u64,
    end: Option<(u64, End)>,
    /// Bytes that arrived and whose sender does not know yet: until when, how many.
    acks: VecDeque<(u64, usize)>,
    /// Bytes sent whose sender does not know yet that they arrived; at most the window.
    unacknowledged: usize,
}

impl Line {
    /// An empty line over `path` that holds at most `window` bytes which are not acknowledged;
    /// an acknowledgement takes `ack_ns`.
    pub(crate) fn new(path: PathPlan, ack_ns: u64, window: usize, seed: u64) -> Self {
        Self {
            path,
            ack_ns,
            window,
            random: SplitMix64::new(seed),
            bytes: VecDeque::new(),
            pieces: VecDeque::new(),
            due: 0,
            last_due: 0,
            end: None,
            acks: VecDeque::new(),
            unacknowledged: 0,
        }
    }

    /// Bytes that the line takes at `now`.
    pub(crate) fn room(&mut self, now: u64) -> usize {
        while let Some((_, bytes)) = take_by(&mut self.acks, now) {
            self.unacknowledged -= bytes;
        }
        self.window - self.unacknowledged
    }

    /// When a full line takes bytes again; `None` while none have arrived.
    pub(crate) fn room_at(&self) -> Option<u64> {
        self.acks.front().map(|(at, _)| *at)
    }

    /// Takes `bytes` that came at `now`, no more than there is room for.
    pub(crate) fn push(&mut self, now: u64, bytes: &[u8], shaper: &mut Shaper) {
        let delay_ns = self.delay_ns();
        let mut left = bytes.len();
        while left > 0 {
            let piece = shaper.piece(left);
            let due = shaper.passes(now, piece).saturating_add(delay_ns);
            self.last_due = self.last_due.max(due);
            self.pieces.push_back((self.last_due, piece));
            left -= piece;
        }
        self.bytes.extend(bytes);
        self.unacknowledged += bytes.len();
    }

    /// Takes the end, which came at `now`: it stays behind all bytes.
    pub(crate) fn push_end(&mut self, now: u64, end: End) {
        let due = self.last_due.max(now.saturating_add(self.delay_ns()));
        self.end.get_or_insert((due, end));
    }

    /// The delay of what comes next, jitter included.
    fn delay_ns(&mut self) -> u64 {
        let range = usize::try_from(self.path.jitter_ns).map_or(usize::MAX, |ns| ns + 1);
        self.path.delay_ns + self.random.below(range) as u64
    }

    /// Lets go what is due at `now`. How much later than due goes into `late`, unless earlier
    /// bytes still wait for a receiver that is slow, or was not there before `receiver_since`.
    pub(crate) fn release(&mut self, now: u64, receiver_since: u64, late: &mut Histogram) {
        let prompt = self.due == 0;
        while let Some((due, bytes)) = take_by(&mut self.pieces, now) {
            self.due += bytes;
            if prompt {
                late.record(now - due.max(receiver_since).min(now));
            }
        }
    }

    /// Bytes that may leave now.
    pub(crate) fn ready(&self) -> &[u8] {
        let (front, _) = self.bytes.as_slices();
        &front[..front.len().min(self.due)]
    }

    /// So many of the bytes that were ready have left at `now`.
    pub(crate) fn left(&mut self, bytes: usize, now: u64) {
        self.bytes.drain(..bytes);
        self.due -= bytes;
        let known_at = now.saturating_add(self.ack_ns);
        match self.acks.back_mut() {
            Some((at, more)) if *at == known_at => *more += bytes,
            _ => self.acks.push_back((known_at, bytes)),
        }
        if self.bytes.is_empty() && self.bytes.capacity() > SPARE_BYTES {
            self.bytes = VecDeque::new();
        }
    }

    /// The end, once all bytes have left and it is due.
    pub(crate) fn ended(&self, now: u64) -> Option<End> {
        let (due, end) = self.end?;
        (self.bytes.is_empty() && due <= now).then_some(end)
    }

    /// When the next bytes, or the end, are due; `None` while nothing waits for its time.
    pub(crate) fn next_due(&self) -> Option<u64> {
        match self.pieces.front() {
            Some((due, _)) => Some(*due),
            None if self.bytes.is_empty() => self.end.map(|(due, _)| due),
            None => None,
        }
    }
}

/// The first of `queue`, if its moment has come at `now`.
fn take_by(queue: &mut VecDeque<(u64, usize)>, now: u64) -> Option<(u64, usize)> {
    let (at, _) = queue.front()?;
    (*at <= now).then(|| queue.pop_front())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn path(delay_ns: u64, jitter_ns: u64) -> PathPlan {
        PathPlan { delay_ns, jitter_ns, rate: None }
    }

    fn line(delay_ns: u64, jitter_ns: u64) -> Line {
        Line::new(path(delay_ns, jitter_ns), 0, 1 << 20, 7)
    }

    /// What leaves at `now`.
    fn take(line: &mut Line, now: u64) -> Vec<u8> {
        let mut late = Histogram::new();
        line.release(now, 0, &mut late);
        let mut taken = Vec::new();
        while !line.ready().is_empty() {
            let part = line.ready().to_vec();
            line.left(part.len(), now);
            taken.extend(part);
        }
        taken
    }

    #[test]
    fn bytes_leave_exactly_a_delay_after_they_came() {
        let (mut line, mut free) = (line(20 * MS, 0), Shaper::new(None));
        line.push(5 * MS, b"first", &mut free);
        line.push(6 * MS, b"second", &mut free);
        assert_eq!(line.next_due(), Some(25 * MS));
        assert_eq!(take(&mut line, 25 * MS - 1), b"");
        assert_eq!(take(&mut line, 25 * MS), b"first");
        assert_eq!(line.next_due(), Some(26 * MS));
        assert_eq!(take(&mut line, 30 * MS), b"second");
        assert_eq!(line.next_due(), None);
    }

    #[test]
    fn the_end_stays_behind_the_bytes_and_takes_as_long() {
        let (mut line, mut free) = (line(20 * MS, 0), Shaper::new(None));
        line.push(0, b"last", &mut free);
        line.push_end(MS, End::Finish);
        line.push_end(2 * MS, End::Reset); // what was said first counts
        assert_eq!(take(&mut line, 20 * MS), b"last");
        assert_eq!(line.ended(21 * MS - 1), None);
        assert_eq!(line.next_due(), Some(21 * MS));
        assert_eq!(line.ended(21 * MS), Some(End::Finish));
    }

    #[test]
    fn a_rate_lets_the_bytes_of_a_message_arrive_one_after_another() {
        let rate: BitRate = "11584kbit".parse().unwrap(); // a piece a millisecond
        let mut shaper = Shaper::new(Some(rate));
        let mut line = line(10 * MS, 0);
        line.push(0, &[1; 2 * 1_448 + 724], &mut shaper);
        let dues: Vec<_> = line.pieces.iter().copied().collect();
        assert_eq!(dues, [(11 * MS, 1_448), (12 * MS, 1_448), (12 * MS + MS / 2, 724)]);
        let mut other = Line::new(path(10 * MS, 0), 0, 1 << 20, 8);
        other.push(0, &[2; 1_448], &mut shaper);
        assert_eq!(other.next_due(), Some(13 * MS + MS / 2), "all connections share the rate");
    }

    #[test]
    fn a_window_opens_again_a_way_back_after_bytes_have_arrived() {
        let mut line = Line::new(path(20 * MS, 0), 30 * MS, 10, 7);
        let mut free = Shaper::new(None);
        line.push(0, &[0; 10], &mut free);
        assert_eq!((line.room(19 * MS), line.room_at()), (0, None));
        assert_eq!(take(&mut line, 20 * MS).len(), 10);
        assert_eq!((line.room(50 * MS - 1), line.room_at()), (0, Some(50 * MS)));
        assert_eq!(line.room(50 * MS), 10);
    }

    #[test]
    fn lateness_is_that_of_the_line_not_of_a_slow_receiver() {
        let (mut line, mut free) = (line(20 * MS, 0), Shaper::new(None));
        let mut late = Histogram::new();
        line.push(0, b"a", &mut free);
        line.release(20 * MS + 40, 0, &mut late);
        assert_eq!((late.count(), late.max()), (1, 40));
        line.push(MS, b"b", &mut free);
        line.release(90 * MS, 0, &mut late); // `a` has not left: the receiver does not read
        assert_eq!(late.count(), 1);
        assert_eq!(line.ready(), b"ab");
        line.left(2, 90 * MS);
        line.push(100 * MS, b"c", &mut free);
        line.release(130 * MS, 125 * MS, &mut late); // it was not connected when `c` was due
        assert_eq!((late.count(), late.min(), late.quantile(1.0) >= 5 * MS), (2, 40, true));
    }

    proptest! {
        #[test]
        fn no_byte_is_early_lost_or_overtaken(
            delay in 0..50 * MS,
            jitter in 0..20 * MS,
            seed: u64,
            kbit in prop::option::of(100_u64..1_000_000),
            sizes in prop::collection::vec((0..3 * MS, 1..20_000_usize), 1..30),
        ) {
            let rate = kbit.map(|kbit| format!("{kbit}kbit").parse().unwrap());
            let mut shaper = Shaper::new(rate);
            let mut line = Line::new(path(delay, jitter), 0, usize::MAX, seed);
            let (mut now, mut came) = (0, Vec::new());
            for (pause, size) in sizes {
                now += pause;
                let number = u8::try_from(came.len() % 251).unwrap();
                line.push(now, &vec![number; size], &mut shaper);
                came.push((now, number, size));
            }
            let mut arrived = Vec::new();
            while let Some(at) = line.next_due() {
                arrived.extend(take(&mut line, at).into_iter().map(|byte| (at, byte)));
            }
            let mut rest = arrived.as_slice();
            for (sent_at, number, size) in &came {
                let (these, behind) = rest.split_at(*size);
                rest = behind;
                let right = |(at, byte): &(u64, u8)| byte == number && *at >= sent_at + delay;
                prop_assert!(these.iter().all(right));
                if rate.is_none() && jitter == 0 {
                    prop_assert!(these.iter().all(|(at, _)| *at == sent_at + delay));
                }
            }
            prop_assert!(rest.is_empty());
            if let (Some(rate), Some((last, _))) = (rate, arrived.last()) {
                let total: usize = came.iter().map(|(_, _, size)| size).sum();
                prop_assert!(*last >= delay + rate.time_of(total as u64).saturating_sub(1));
            }
        }
    }
}
