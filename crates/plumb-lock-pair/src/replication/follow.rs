//! The replica: what is to be done with what a primary says.

use super::frame::Frame;

/// A batch of more bytes in parts is no batch of a table like this one.
const PARTS_BYTES_MAX: usize = 1 << 30;

/// How far a replica is.
#[derive(Debug, Default)]
pub struct Replica {
    epoch: u64,
    stream: u64,
    position: u64,
    stage: Stage,
    in_sync: bool,
    /// The epoch of which it has, or had at some time, whatever its primary had told anybody of; 0:
    /// none.
    held: u64,
    /// Since it was started, or last got everything, it was in sync.
    was_in_sync: bool,
    parts: Vec<u8>,
    sliced: u64,
    heard_at: u64,
}

/// What it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing of any stream.
    #[default]
    Nothing,
    /// A part of a snapshot.
    Filling,
    /// Everything up to its position.
    Whole,
}

/// What is to be done with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task<'a> {
    /// Nothing.
    Nothing,
    /// Release everything, and go on under this epoch.
    Clear {
        /// The epoch.
        epoch: u64,
        /// Fence numbers below this were given out.
        fence: u64,
    },
    /// Apply records, one by one: locks and lives as they stand.
    Slice(&'a [u8]),
    /// Apply a batch as a whole.
    Batch(&'a [u8]),
    /// Apply a batch that came in parts, as a whole.
    Joined(Vec<u8>),
    /// Everything that anybody was told of is here, under this epoch.
    InSync {
        /// The epoch.
        epoch: u64,
    },
    /// The primary wants to know whether somebody is there.
    Ping {
        /// Its clock, nanoseconds.
        at: u64,
    },
}

/// What a primary says does not follow from what it said before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// A batch does not begin where the last one ended.
    #[error("the primary goes on at {from}, where {position} was expected")]
    Position {
        /// As it says.
        from: u64,
        /// As it should be.
        position: u64,
    },
    /// It is another epoch than that of what is here.
    #[error("the primary goes on under epoch {epoch}, where {expected} was expected")]
    Epoch {
        /// As it says.
        epoch: u64,
        /// As it should be.
        expected: u64,
    },
    /// The primary begins anew with less than is here.
    #[error(
        "the primary began epoch {epoch} and may have lost locks of epoch {ours}, which are here: \
         promote this replica; or start it again, and it follows where that one's journal is whole"
    )]
    Lost {
        /// Of the primary.
        epoch: u64,
        /// Of what is here.
        ours: u64,
    },
    /// The primary is of an earlier time than what is here.
    #[error(
        "the primary has epoch {epoch}, and locks of the newer epoch {ours} are here: promote this \
         replica by force, and start that server with --replica-of it"
    )]
    Older {
        /// Of the primary.
        epoch: u64,
        /// Of what is here.
        ours: u64,
    },
    /// It comes where it has no place.
    #[error("the primary says something that has no place there")]
    Order,
    /// A batch in parts is too long.
    #[error("a batch of the primary has more than 1 GiB")]
    Long,
}

impl Replica {
    /// One that was started with the locks of this epoch; 0: with none.
    #[must_use]
    pub fn restored(held: u64) -> Self {
        Self { held, ..Self::default() }
    }

    /// The epoch of the locks that it has; 0 when it has none, or not all of them.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The stream that it can go on with, and from where; zeros when there is none.
    #[must_use]
    pub fn place(&self) -> (u64, u64) {
        if self.stage == Stage::Whole { (self.stream, self.position) } else { (0, 0) }
    }

    /// True when it had, as of the last it heard, everything that anybody was told of: then it may
    /// be promoted.
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.in_sync
    }

    /// When something was heard last, nanoseconds.
    #[must_use]
    pub fn heard_at(&self) -> u64 {
        self.heard_at
    }

    /// A connection begins, at this moment in nanoseconds.
    pub fn connected(&mut self, now: u64) {
        self.parts.clear();
        self.sliced = 0;
        self.heard_at = now;
    }

    /// What is said in answer to what was done so far.
    #[must_use]
    pub fn received(&self) -> Frame<'static> {
        Frame::Received { position: self.position, sliced: self.sliced }
    }

    /// The primary said this at `now`.
    ///
    /// # Errors
    /// [`Gap`] when it may not: then the connection is to be closed, and nothing of it counts.
    pub fn take<'a>(&mut self, now: u64, frame: Frame<'a>) -> Result<Task<'a>, Gap> {
        self.heard_at = now;
        match frame {
            Frame::Snapshot { epoch, .. } if self.was_in_sync && epoch != self.epoch => {
                Err(Gap::Lost { epoch, ours: self.epoch })
            }
            Frame::Snapshot { epoch, .. } if epoch < self.held => {
                Err(Gap::Older { epoch, ours: self.held })
            }
            Frame::Snapshot { epoch, stream, position, fence } => {
                *self = Self {
                    epoch,
                    stream,
                    position,
                    stage: Stage::Filling,
                    heard_at: now,
                    ..Self::default()
                };
                Ok(Task::Clear { epoch, fence })
            }
            Frame::Continue { epoch } if self.stage == Stage::Whole => {
                let expected = self.epoch;
                if epoch != expected {
                    return Err(Gap::Epoch { epoch, expected });
                }
                self.in_sync = false; // of what it missed others may have been told
                Ok(Task::Nothing)
            }
            Frame::Slice(records) if self.stage == Stage::Filling => {
                self.sliced += records.len() as u64;
                Ok(Task::Slice(records))
            }
            Frame::Complete if self.stage == Stage::Filling => {
                self.stage = Stage::Whole;
                Ok(Task::Nothing)
            }
            Frame::Changes { from, last, records } if self.stage != Stage::Nothing => {
                self.changes(from, last, records)
            }
            Frame::InSync if self.stage == Stage::Whole && self.parts.is_empty() => {
                (self.in_sync, self.was_in_sync, self.held) = (true, true, self.epoch);
                Ok(Task::InSync { epoch: self.epoch })
            }
            Frame::Ping { at } => Ok(Task::Ping { at }),
            Frame::Continue { .. }
            | Frame::Slice(_)
            | Frame::Complete
            | Frame::Changes { .. }
            | Frame::InSync
            | Frame::Pong { .. }
            | Frame::Received { .. } => Err(Gap::Order),
        }
    }

    fn changes<'a>(&mut self, from: u64, last: bool, records: &'a [u8]) -> Result<Task<'a>, Gap> {
        let position = self.position;
        if from != position {
            return Err(Gap::Position { from, position });
        }
        if !last || !self.parts.is_empty() {
            if self.parts.len() + records.len() > PARTS_BYTES_MAX {
                return Err(Gap::Long);
            }
            self.parts.extend_from_slice(records);
        }
        if !last {
            return Ok(Task::Nothing);
        }
        if self.parts.is_empty() {
            self.position += records.len() as u64;
            return Ok(Task::Batch(records));
        }
        self.position += self.parts.len() as u64;
        Ok(Task::Joined(std::mem::take(&mut self.parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(from: u64, records: &[u8]) -> Frame<'_> {
        Frame::Changes { from, last: true, records }
    }

    #[test]
    fn nothing_counts_that_does_not_follow_from_what_came_before() {
        let mut replica = Replica::default();
        for early in [batch(0, b"x"), Frame::InSync, Frame::Complete, Frame::Continue { epoch: 0 }]
        {
            assert_eq!(replica.take(1, early), Err(Gap::Order), "{early:?}");
        }
        let snapshot = Frame::Snapshot { epoch: 5, stream: 2, position: 10, fence: 3 };
        assert_eq!(replica.take(1, snapshot), Ok(Task::Clear { epoch: 5, fence: 3 }));
        assert_eq!(replica.take(1, Frame::InSync), Err(Gap::Order), "not before it is whole");
        assert_eq!(replica.place(), (0, 0), "half a snapshot is nothing to go on with");
        assert_eq!(replica.take(1, batch(10, b"ab")), Ok(Task::Batch(b"ab")));
        assert_eq!(replica.take(1, Frame::Slice(b"s")), Ok(Task::Slice(b"s")));
        assert_eq!(replica.held(), 0, "it lacks the rest");
        assert_eq!(replica.take(1, Frame::Complete), Ok(Task::Nothing));
        assert_eq!(replica.held(), 0, "others may have been told of more");
        assert_eq!(replica.place(), (2, 12));
        assert_eq!(replica.received(), Frame::Received { position: 12, sliced: 1 });
        assert_eq!(
            replica.take(1, batch(10, b"ab")),
            Err(Gap::Position { from: 10, position: 12 })
        );
        assert!(!replica.in_sync());
        assert_eq!(replica.take(9, Frame::InSync), Ok(Task::InSync { epoch: 5 }));
        assert_eq!(replica.held(), 5);
        assert!(replica.in_sync() && replica.heard_at() == 9);
        let other = Frame::Continue { epoch: 6 };
        assert_eq!(replica.take(9, other), Err(Gap::Epoch { epoch: 6, expected: 5 }));
        let empty = Frame::Snapshot { epoch: 6, stream: 3, position: 0, fence: 3 };
        assert_eq!(replica.take(9, empty), Err(Gap::Lost { epoch: 6, ours: 5 }));
        assert!(replica.in_sync(), "what is here may be all there is");
        assert_eq!(replica.take(9, Frame::Continue { epoch: 5 }), Ok(Task::Nothing));
        assert!(!replica.in_sync(), "others may have been told of what it missed");
        assert_eq!(replica.take(9, snapshot), Ok(Task::Clear { epoch: 5, fence: 3 }));
        assert_eq!(replica.place(), (0, 0), "it has nothing now");
    }

    #[test]
    fn what_was_restored_is_given_up_for_no_older_primary() {
        let mut replica = Replica::restored(5);
        let snapshot = |epoch| Frame::Snapshot { epoch, stream: 2, position: 10, fence: 3 };
        assert_eq!(replica.take(1, snapshot(4)), Err(Gap::Older { epoch: 4, ours: 5 }));
        assert_eq!(replica.held(), 5, "it is here still");
        let clear = |epoch| Ok(Task::Clear { epoch, fence: 3 });
        assert_eq!(replica.take(1, snapshot(6)), clear(6), "somebody decided for that");
        assert_eq!(replica.held(), 0);
        assert_eq!(replica.take(1, snapshot(4)), clear(4), "of a part nothing is lost");
    }

    #[test]
    fn a_batch_in_parts_counts_as_a_whole_or_not_at_all() {
        let mut replica = Replica::default();
        let snapshot = Frame::Snapshot { epoch: 5, stream: 2, position: 0, fence: 3 };
        replica.take(1, snapshot).unwrap();
        replica.take(1, Frame::Complete).unwrap();
        let part = |records| Frame::Changes { from: 0, last: false, records };
        assert_eq!(replica.take(1, part(b"on")), Ok(Task::Nothing));
        assert_eq!(replica.take(1, Frame::InSync), Err(Gap::Order));
        assert_eq!(replica.place(), (2, 0));
        replica.connected(2);
        assert_eq!(replica.take(2, batch(0, b"two")), Ok(Task::Batch(b"two")), "the part is gone");
        let part = |records| Frame::Changes { from: 3, last: false, records };
        replica.take(1, part(b"th")).unwrap();
        assert_eq!(replica.take(1, batch(3, b"ree")), Ok(Task::Joined(b"three".to_vec())));
        assert_eq!(replica.place(), (2, 8));
    }
}
