//! May this be granted? Nothing is changed here.

use std::ops::ControlFlow;

use super::name::{order, order_end};
use super::pattern::{Mask, WILDCARD, literal_start, overlap};
use super::request::{ARGUMENT_BYTES_MAX, Element, Elements, Request};
use super::rules::{Fault, Rules};
use super::slab::NONE;
use super::{Ask, Held, Lock, LockId, Mode, OwnerId, Table, TablePart};

/// Why a request was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The element at `index` meets the lock `entry`.
    Held { index: usize, entry: u32 },
    /// The element at `index` meets an earlier one of the same request.
    Itself { index: usize },
    /// The element at `index` promotes what its owner does not hold.
    NotHeld { index: usize },
    /// The element at `index` would be counted more than 65,535 times.
    Counter { index: usize },
    /// The element at `index` would look at too many arguments.
    TooBroad { index: usize },
    /// No room.
    Full { part: TablePart },
    /// The arguments of a name have to be put in order first.
    Unordered,
}

/// What became of a request for locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// All locks are held now; or, for a check, could be.
    Granted {
        /// The highest fence number among them; zero when nothing is kept.
        fence: u64,
        /// The owner, if these are its first locks.
        newcomer: Option<OwnerId>,
    },
    /// A lock is in the way. Indices count from zero.
    Held {
        /// Which element met it.
        index: usize,
        /// The lock.
        lock: Lock<'a>,
        /// The same, to ask later whether it still stands.
        id: LockId,
        /// True when it is the owner's own.
        own: bool,
    },
    /// An earlier element of the same request is in the way.
    Itself {
        /// Which element.
        index: usize,
    },
    /// There is no own O to promote: it was never taken, or another's promotion deleted it.
    NotHeld {
        /// Which element.
        index: usize,
    },
    /// The lock is held 65,535 times already.
    Counter {
        /// Which element.
        index: usize,
    },
    /// The request would look at more arguments than it may.
    TooBroad {
        /// Which element.
        index: usize,
    },
    /// The table has no room.
    Full {
        /// In which part.
        part: TablePart,
    },
    /// The arguments of a large name have to be put in order before requests with wildcards can
    /// be judged: ask again when [`Table::put_in_order`] says that they are.
    Unordered,
}

/// Rows that a grant adds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    pub(super) arguments: u32,
    pub(super) locks: u32,
    /// Where the last element stands.
    pub(super) place: Located,
}

/// Where an element's name and argument are, when they are there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Located {
    pub(super) name: Option<u32>,
    pub(super) granule: Option<u32>,
    /// The hash of the argument under the name, where there is one.
    pub(super) hash: u32,
}

/// An argument that is looked for, as the rules read it.
struct Wanted<'a> {
    argument: &'a [u8],
    mask: Option<Mask>,
}

impl<R: Rules> Table<R> {
    pub(super) fn answer(&self, refused: Refused, owner: Option<u32>) -> Answer<'_> {
        match refused {
            Refused::Held { index, entry } => Answer::Held {
                index,
                lock: self.lock(entry),
                id: self.lock_id(entry),
                own: Some(self.entries[entry].owner) == owner,
            },
            Refused::Itself { index } => Answer::Itself { index },
            Refused::NotHeld { index } => Answer::NotHeld { index },
            Refused::Counter { index } => Answer::Counter { index },
            Refused::TooBroad { index } => Answer::TooBroad { index },
            Refused::Full { part } => Answer::Full { part },
            Refused::Unordered => Answer::Unordered,
        }
    }

    /// Judges all elements; what they would need.
    pub(super) fn judge<E: Elements + ?Sized>(
        &mut self,
        owner: Option<u32>,
        request: &Request<'_, E>,
    ) -> Result<Needs, Refused> {
        let mut needs = Needs::default();
        let mut room = self.limits.scan;
        for index in 0..request.elements.count() {
            let element = request.elements.at(index);
            let mut earlier = (0..index).map(|before| request.elements.at(before));
            if earlier.any(|earlier| meets_itself(&earlier, &element)) {
                return Err(Refused::Itself { index });
            }
            needs.place = self.place(&element);
            self.judge_one(owner, (&element, needs.place), index, &mut room)?;
            let earlier = (0..index).map(|before| request.elements.at(before));
            self.count_needs(
                owner,
                request.scope.counts(),
                (&element, index),
                earlier,
                &mut needs,
            )?;
        }
        Ok(needs)
    }

    pub(super) fn place(&self, element: &Element<'_>) -> Located {
        let Some(name) = self.names.find(element.name) else {
            return Located::default();
        };
        let hash = self.granules.hash_of(name, element.argument);
        let granule = self.granules.find_hashed(hash, name, element.argument);
        Located { name: Some(name), granule, hash }
    }

    fn judge_one(
        &mut self,
        owner: Option<u32>,
        (element, place): (&Element<'_>, Located),
        index: usize,
        room: &mut u64,
    ) -> Result<(), Refused> {
        let Some(name) = place.name else {
            let promotes = element.mode.ask() == Ask::R;
            return if promotes { Err(Refused::NotHeld { index }) } else { Ok(()) };
        };
        let ask = element.mode.ask();
        if ask == Ask::R {
            self.own_optimistic(owner, place.granule).ok_or(Refused::NotHeld { index })?;
        }
        if matches!(ask, Ask::S | Ask::O) && self.names.rows[name].excluding == 0 {
            return Ok(()); // nothing under this name refuses anybody who shares
        }
        let argument = (element.argument, place.granule);
        let met = self.overlaps(name, argument, room, &mut |table, granule| match table
            .refusing(granule, owner, ask)
        {
            Some(entry) => ControlFlow::Break(entry),
            None => ControlFlow::Continue(()),
        });
        match met {
            Err(Obstacle::TooBroad) => Err(Refused::TooBroad { index }),
            Err(Obstacle::Unordered) => Err(Refused::Unordered),
            Ok(Some(entry)) => Err(Refused::Held { index, entry }),
            Ok(None) => Ok(()),
        }
    }

    /// The lock on an argument that refuses `ask`.
    #[inline]
    fn refusing(&self, granule: u32, owner: Option<u32>, ask: Ask) -> Option<u32> {
        if matches!(ask, Ask::S | Ask::O) && self.granules.rows[granule].excluding == 0 {
            return None;
        }
        self.on(granule).find(|index| {
            let entry = &self.entries[*index];
            if self.is_dying(*index) {
                false
            } else if Some(entry.owner) == owner {
                ask.refused_by_own(entry.mode)
                    && !(R::makes(Fault::XCumulates) && entry.mode == Held::X)
            } else {
                ask.refused_by_foreign(entry.mode)
                    && !(R::makes(Fault::SharedBesideExclusive)
                        && ask == Ask::S
                        && entry.mode == Held::E)
            }
        })
    }

    /// The own O on an argument.
    pub(super) fn own_optimistic(&self, owner: Option<u32>, granule: Option<u32>) -> Option<u32> {
        self.own(granule?, owner?, Held::O)
    }

    /// What a granted element adds, apart from what earlier ones add already.
    fn count_needs<'e>(
        &self,
        owner: Option<u32>,
        (dialog, update): (u16, u16),
        (element, index): (&Element<'_>, usize),
        earlier: impl Iterator<Item = Element<'e>>,
        needs: &mut Needs,
    ) -> Result<(), Refused> {
        let granule = needs.place.granule;
        let promotes = element.mode == Mode::R;
        let Some(mode) = element.mode.held().or(promotes.then_some(Held::E)) else {
            return Ok(());
        };
        let mut known = (granule.is_some(), false);
        let add = |counts: (u32, u32), dialog: u16, update: u16| {
            (counts.0 + u32::from(dialog), counts.1 + u32::from(update))
        };
        // a promotion brings the counters of the O, whatever the scope
        let mut counts = if promotes { (0, 0) } else { add((0, 0), dialog, update) };
        let held = |mode| self.own(granule?, owner?, mode).map(|at| &self.entries[at]);
        if let Some(own) = held(mode) {
            known.1 = true;
            counts = add(counts, own.dialog, own.update);
        }
        let (mut promoted, mut optimistic) = (promotes, (0, 0));
        for other in earlier {
            if other.name == element.name && other.argument == element.argument {
                known.0 |= other.mode.held().is_some();
                if other.mode.held() == Some(mode) {
                    known.1 = true;
                    counts = add(counts, dialog, update);
                } else if other.mode == Mode::O {
                    optimistic = add(optimistic, dialog, update); // none comes behind the R
                }
                promoted |= other.mode == Mode::R;
            }
        }
        if promoted && mode == Held::E {
            let own = held(Held::O).map_or((0, 0), |own| (own.dialog, own.update));
            let brought = add(optimistic, own.0, own.1);
            counts = (counts.0 + brought.0, counts.1 + brought.1);
        }
        if counts.0.max(counts.1) > u32::from(u16::MAX) {
            return Err(Refused::Counter { index });
        }
        if !promotes {
            needs.arguments += u32::from(!known.0);
            needs.locks += u32::from(!known.1);
        }
        Ok(())
    }

    /// Calls `visit` for every locked argument that overlaps `argument`, which is at `granule` when
    /// it is locked itself, until it breaks.
    pub(super) fn overlaps<B>(
        &mut self,
        name: u32,
        (argument, granule): (&[u8], Option<u32>),
        room: &mut u64,
        visit: &mut impl FnMut(&Self, u32) -> ControlFlow<B>,
    ) -> Result<Option<B>, Obstacle> {
        let literal = self.names.rows[name].text().is_empty();
        let ignored = literal || R::makes(Fault::RequestWildcardIgnored);
        let wanted = Wanted { argument, mask: if ignored { None } else { Mask::of(argument) } };
        if wanted.mask.is_some() && !self.is_in_order(name) {
            return Err(Obstacle::Unordered);
        }
        let found = match self.among_plain((name, granule), &wanted, room, visit)? {
            ControlFlow::Continue(()) if !literal => {
                self.among_masked(name, &wanted, room, visit)?
            }
            found => found,
        };
        Ok(match found {
            ControlFlow::Break(found) => Some(found),
            ControlFlow::Continue(()) => None,
        })
    }

    /// The arguments without wildcards.
    fn among_plain<B>(
        &self,
        (name, granule): (u32, Option<u32>),
        wanted: &Wanted<'_>,
        room: &mut u64,
        visit: &mut impl FnMut(&Self, u32) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Obstacle> {
        let (Some(_), Some(ordered)) = (&wanted.mask, &self.names.rows[name].ordered) else {
            return Ok(match granule {
                Some(granule) if self.granules.rows[granule].mask == NONE => visit(self, granule),
                _ => ControlFlow::Continue(()),
            });
        };
        let start = literal_start(wanted.argument);
        let all = ordered.arguments.range((order(start), 0)..=(order_end(start), NONE));
        let same = |granule: u32| overlap(self.granules.argument(granule), wanted.argument);
        self.scan(all.map(|(_, granule)| *granule), same, room, visit)
    }

    /// The arguments with wildcards: one probe a mask, unless the request has wildcards where the
    /// mask has none.
    fn among_masked<B>(
        &self,
        name: u32,
        wanted: &Wanted<'_>,
        room: &mut u64,
        visit: &mut impl FnMut(&Self, u32) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Obstacle> {
        if R::makes(Fault::HeldWildcardIgnored) {
            return Ok(ControlFlow::Continue(()));
        }
        for row in &self.names.rows[name].masks {
            if row.members.is_empty() || row.mask.length() != wanted.argument.len() {
                continue;
            }
            *room = room.checked_sub(1).ok_or(Obstacle::TooBroad)?;
            let found = if wanted.mask.as_ref().is_none_or(|mask| mask.within(&row.mask)) {
                let mut room = [0; ARGUMENT_BYTES_MAX];
                let projected = row.mask.project(wanted.argument, &mut room);
                match self.granules.find(name, projected) {
                    Some(granule) => visit(self, granule),
                    None => ControlFlow::Continue(()),
                }
            } else {
                let same = |granule: u32| overlap(self.granules.argument(granule), wanted.argument);
                self.scan(row.members.iter().copied(), same, room, visit)?
            };
            if found.is_break() {
                return Ok(found);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn scan<B>(
        &self,
        all: impl Iterator<Item = u32>,
        same: impl Fn(u32) -> bool,
        room: &mut u64,
        visit: &mut impl FnMut(&Self, u32) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Obstacle> {
        let before = *room;
        let mut found = Ok(ControlFlow::Continue(()));
        for granule in all {
            let Some(left) = room.checked_sub(1) else {
                found = Err(Obstacle::TooBroad);
                break;
            };
            *room = left;
            if same(granule)
                && let broken @ ControlFlow::Break(_) = visit(self, granule)
            {
                found = Ok(broken);
                break;
            }
        }
        let seen = before - *room;
        self.scanned.set(self.scanned.get() + seen);
        self.worked.set(self.worked.get() + seen);
        found
    }
}

/// Why the arguments that overlap another cannot be looked at.
pub(super) enum Obstacle {
    /// There are more to look at than is allowed.
    TooBroad,
    /// They have to be put in order first.
    Unordered,
}

/// True when `later` cannot be granted beside `earlier` of the same request: as if it were held by
/// the same owner already. An O that is promoted can neither be promoted nor taken again.
fn meets_itself(earlier: &Element<'_>, later: &Element<'_>) -> bool {
    if earlier.name != later.name {
        return false;
    }
    let same = earlier.argument == later.argument;
    if earlier.mode == Mode::R && matches!(later.mode.ask(), Ask::R | Ask::O) && same {
        return true;
    }
    let held = earlier.mode.held().or((earlier.mode == Mode::R).then_some(Held::E));
    let meet = if earlier.name.is_empty() || !earlier.argument.contains(&WILDCARD) && same {
        same
    } else {
        overlap(earlier.argument, later.argument)
    };
    meet && held.is_some_and(|held| later.mode.ask().refused_by_own(held))
}
