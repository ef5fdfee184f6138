//! Which messages may be given out, without a word about the disk.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::super::QueueError;

/// What is known in memory of the messages on disk: where the claims of each transaction stand,
/// and what is not given out although its turn has come.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// By number, from 1.
    lanes: Vec<Lane>,
    running: HashMap<u64, Running>,
    claims: u64,
    /// The latest the wall clock was, milliseconds since 1970.
    latest_ms: u64,
    /// Why nothing is given out any more.
    pub(super) ended: Option<QueueError>,
    /// Threads that wait for a message.
    pub(super) waiters: usize,
}

/// The messages of one transaction.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) name: Arc<str>,
    /// All up to this id were given out once, or are held or put off.
    pub(super) cursor: u64,
    /// The last one on disk.
    pub(super) newest: u64,
    /// Up to the cursor, to be given out next.
    pub(super) released: BTreeSet<u64>,
    /// Put off on disk, and in memory now: released, held or given out.
    pub(super) taken_up: HashSet<u64>,
    /// When the first of those that are put off is due, milliseconds since 1970.
    pub(super) next_due_ms: Option<u64>,
    keys: HashMap<String, Key>,
    running: usize,
    rests_until_ns: u64,
    last_claim: u64,
}

/// Messages of one order key.
#[derive(Debug)]
struct Key {
    /// Released, given out or put off: the others wait for it.
    holder: u64,
    held: BTreeSet<u64>,
}

/// A message that is given out.
#[derive(Clone, Debug)]
pub(super) struct Running {
    /// The number of its transaction.
    pub(super) lane: i64,
    pub(super) bytes: u64,
    /// Before this attempt.
    pub(super) failures: u32,
    pub(super) order_key: Option<String>,
    settled: bool,
}

/// What a transaction of the disk has changed for claims.
#[derive(Debug)]
pub(super) enum Move {
    /// The first message of a transaction, which gets the next number.
    Lane(Arc<str>),
    /// A message is there, above all before.
    Arrived { lane: i64, id: u64 },
    /// One that was given out is done or dead.
    Ended { id: u64 },
    /// One that was given out is put off.
    Again { id: u64, at_ms: u64, due_ms: u64 },
    /// One that was dead is back.
    Revived { lane: i64, id: u64, order_key: Option<String> },
    /// One that was not given out is gone.
    Forgotten { lane: i64, id: u64, order_key: Option<String> },
    /// When those that are put off are due has to be looked up anew.
    Rebased,
}

impl Move {
    /// Whether something may come up at another time than was known before.
    pub(super) fn changes_times(&self) -> bool {
        matches!(self, Self::Again { .. } | Self::Rebased)
    }
}

impl Board {
    /// The lane with this number; numbers are those of the database, from 1.
    pub(super) fn lane(&mut self, number: i64) -> Option<&mut Lane> {
        self.lanes.get_mut(place(number))
    }

    /// All lanes with their numbers.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (i64, &Lane)> {
        (1..).zip(&self.lanes)
    }

    pub(super) fn is_running(&self, id: u64) -> bool {
        self.running.contains_key(&id)
    }

    /// Ids of those that are given out.
    pub(super) fn running(&self) -> impl Iterator<Item = (u64, &Running)> {
        self.running.iter().map(|(id, running)| (*id, running))
    }

    /// The transaction whose turn it is: of those that have something to give out, the one of
    /// which the least is given out, then the one that was asked longest ago. `most` bounds what
    /// of one transaction is given out.
    pub(super) fn turn(&self, now_ms: u64, now_ns: u64, most: usize) -> Option<i64> {
        let ready = |lane: &Lane| {
            lane.rests_until_ns <= now_ns && lane.running < most && lane.has_ready(now_ms)
        };
        let (number, _) = self
            .lanes()
            .filter(|(_, lane)| ready(lane))
            .min_by_key(|(_, lane)| (lane.running, lane.last_claim))?;
        Some(number)
    }

    /// When something may come up that has to be waited for: milliseconds since 1970 for what is
    /// put off, nanoseconds of the monotonic clock for what rests.
    pub(super) fn next_event(&self, now_ms: u64, now_ns: u64) -> (Option<u64>, Option<u64>) {
        let rests = |lane: &&Lane| lane.rests_until_ns > now_ns;
        let due = self.lanes.iter().filter(|lane| !rests(lane)).filter_map(|lane| lane.next_due_ms);
        let due = due.filter(|due_ms| *due_ms > now_ms);
        let rested = self.lanes.iter().filter(rests).map(|lane| lane.rests_until_ns);
        (due.min(), rested.min())
    }

    /// The turn of `lane` is over.
    pub(super) fn claimed(&mut self, lane: i64) {
        self.claims += 1;
        let claims = self.claims;
        if let Some(lane) = self.lane(lane) {
            lane.last_claim = claims;
        }
    }

    /// True when the wall clock was further on before.
    pub(super) fn clock_went_back(&mut self, now_ms: u64) -> bool {
        let before_ms = std::mem::replace(&mut self.latest_ms, now_ms);
        now_ms < before_ms
    }

    /// How many more may be given out of `lane` of at most `most`.
    pub(super) fn room(&self, lane: i64, most: usize) -> usize {
        self.lanes.get(place(lane)).map_or(0, |lane| most.saturating_sub(lane.running))
    }

    /// The message `id` is given out.
    pub(super) fn give_out(&mut self, id: u64, running: Running) {
        if let Some(lane) = self.lane(running.lane) {
            lane.running += 1;
        }
        self.running.insert(id, running);
    }

    /// Takes a message that was given out as settled; `None` when it is not given out, or was
    /// settled before.
    pub(super) fn settle(&mut self, id: u64) -> Option<Running> {
        let running = self.running.get_mut(&id)?;
        let first = !std::mem::replace(&mut running.settled, true);
        first.then(|| running.clone())
    }

    /// Nothing of the transaction is given out until then.
    pub(super) fn rest(&mut self, name: &str, until_ns: u64) {
        if let Some(lane) = self.lanes.iter_mut().find(|lane| &*lane.name == name) {
            lane.rests_until_ns = until_ns;
        }
    }

    /// What is on disk now.
    pub(super) fn apply(&mut self, moves: Vec<Move>) {
        for change in moves {
            match change {
                Move::Lane(name) => self.lanes.push(Lane::new(name)),
                Move::Arrived { lane, id } => {
                    if let Some(lane) = self.lane(lane) {
                        lane.newest = lane.newest.max(id);
                    }
                }
                Move::Ended { id } => self.ended(id),
                Move::Again { id, at_ms, due_ms } => {
                    self.latest_ms = self.latest_ms.max(at_ms);
                    self.put_off(id, due_ms);
                }
                Move::Revived { lane, id, order_key } => {
                    if let Some(lane) = self.lane(lane) {
                        lane.revived(id, order_key.as_deref());
                    }
                }
                Move::Forgotten { lane, id, order_key } => {
                    if let Some(lane) = self.lane(lane) {
                        lane.released.remove(&id);
                        lane.is_gone(id, order_key.as_deref());
                    }
                }
                Move::Rebased => {
                    self.lanes.iter_mut().for_each(|lane| lane.next_due_ms = Some(0));
                }
            }
        }
    }

    fn ended(&mut self, id: u64) {
        let Some(running) = self.running.remove(&id) else { return };
        if let Some(lane) = self.lane(running.lane) {
            lane.running -= 1;
            lane.is_gone(id, running.order_key.as_deref());
        }
    }

    fn put_off(&mut self, id: u64, due_ms: u64) {
        let Some(running) = self.running.remove(&id) else { return };
        if let Some(lane) = self.lane(running.lane) {
            lane.running -= 1;
            lane.taken_up.remove(&id);
            lane.next_due_ms = Some(lane.next_due_ms.map_or(due_ms, |next| next.min(due_ms)));
        }
    }
}

impl Lane {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            cursor: 0,
            newest: 0,
            released: BTreeSet::new(),
            taken_up: HashSet::new(),
            next_due_ms: None,
            keys: HashMap::new(),
            running: 0,
            rests_until_ns: 0,
            last_claim: 0,
        }
    }

    /// How many are given out.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    fn has_ready(&self, now_ms: u64) -> bool {
        !self.released.is_empty()
            || self.newest > self.cursor
            || self.next_due_ms.is_some_and(|due_ms| due_ms <= now_ms)
    }

    fn revived(&mut self, id: u64, order_key: Option<&str>) {
        if id > self.cursor {
            self.newest = self.newest.max(id); // the cursor comes by
        } else if self.may_go(id, order_key) {
            self.released.insert(id);
        }
    }

    /// True when no other message of its order key goes first; it is then the one for which the
    /// others wait. Otherwise it is held until its turn comes.
    pub(super) fn may_go(&mut self, id: u64, order_key: Option<&str>) -> bool {
        let Some(order_key) = order_key else { return true };
        match self.keys.get_mut(order_key) {
            None => {
                let key = Key { holder: id, held: BTreeSet::new() };
                self.keys.insert(order_key.into(), key);
                true
            }
            Some(key) if key.holder == id => true,
            Some(key) => {
                key.held.insert(id);
                false
            }
        }
    }

    /// A message is done, dead or forgotten: the next of its key may go.
    pub(super) fn is_gone(&mut self, id: u64, order_key: Option<&str>) {
        self.taken_up.remove(&id);
        let Some(order_key) = order_key else { return };
        let Some(key) = self.keys.get_mut(order_key) else { return };
        if key.holder != id {
            key.held.remove(&id);
            return;
        }
        match key.held.pop_first() {
            Some(next) => {
                key.holder = next;
                self.released.insert(next);
            }
            None => {
                self.keys.remove(order_key);
            }
        }
    }
}

impl Running {
    pub(super) fn new(lane: i64, bytes: u64, failures: u32, order_key: Option<String>) -> Self {
        Self { lane, bytes, failures, order_key, settled: false }
    }
}

/// Of the lane with this number.
fn place(number: i64) -> usize {
    usize::try_from(number - 1).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(names: &[&str]) -> Board {
        let mut board = Board::default();
        board.apply(names.iter().map(|name| Move::Lane((*name).into())).collect());
        board
    }

    fn give_out(board: &mut Board, lane: i64, id: u64, order_key: Option<&str>) {
        board.give_out(id, Running::new(lane, 1, 0, order_key.map(Into::into)));
    }

    #[test]
    fn the_transaction_of_which_the_least_is_given_out_has_its_turn() {
        let mut board = board(&["slow", "quick"]);
        board.apply(vec![Move::Arrived { lane: 1, id: 9 }, Move::Arrived { lane: 2, id: 8 }]);
        assert_eq!(board.turn(0, 0, 4), Some(1));
        give_out(&mut board, 1, 5, None);
        assert_eq!(board.turn(0, 0, 4), Some(2));
        give_out(&mut board, 2, 6, None);
        board.claimed(2);
        assert_eq!(board.turn(0, 0, 4), Some(1));
        assert_eq!(board.turn(0, 0, 1), None);
        board.rest("slow", 100);
        assert_eq!((board.turn(0, 99, 4), board.turn(0, 100, 4)), (Some(2), Some(1)));
        assert_eq!(board.next_event(0, 99), (None, Some(100)));
    }

    #[test]
    fn successors_of_a_key_wait_until_the_first_is_done_or_dead() {
        let mut board = board(&["t"]);
        let lane = board.lane(1).unwrap();
        assert!(lane.may_go(1, Some("k")) && !lane.may_go(3, Some("k")));
        assert!(!lane.may_go(2, Some("k")) && lane.may_go(4, Some("other")));
        give_out(&mut board, 1, 1, Some("k"));
        board.apply(vec![Move::Again { id: 1, at_ms: 0, due_ms: 50 }]);
        assert_eq!(board.turn(49, 0, 9), None);
        assert_eq!(board.turn(50, 0, 9), Some(1));
        give_out(&mut board, 1, 1, Some("k"));
        board.apply(vec![Move::Ended { id: 1 }]);
        assert_eq!(board.lane(1).unwrap().released, BTreeSet::from([2]));
        let order_key = Some("k".to_owned());
        board.apply(vec![Move::Forgotten { lane: 1, id: 2, order_key }]);
        assert_eq!(board.lane(1).unwrap().released, BTreeSet::from([3]));
    }

    #[test]
    fn a_message_is_settled_once() {
        let mut board = board(&["t"]);
        give_out(&mut board, 1, 1, None);
        assert!(board.settle(1).is_some() && board.settle(1).is_none());
        assert!(board.is_running(1), "until that is on disk");
        board.apply(vec![Move::Ended { id: 1 }]);
        assert!(!board.is_running(1) && board.settle(1).is_none());
    }
}
