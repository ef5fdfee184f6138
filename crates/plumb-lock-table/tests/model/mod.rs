//! A lock table that is obviously right: one list, searched from end to end.

use std::collections::BTreeSet;

use plumb_lock_table::table::{Held, Mode, Scope};

/// One elementary lock of a request.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    pub(crate) mode: Mode,
    pub(crate) name: Vec<u8>,
    pub(crate) argument: Vec<u8>,
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) owner: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) argument: Vec<u8>,
    pub(crate) mode: Held,
    pub(crate) dialog: u16,
    pub(crate) update: u16,
    pub(crate) backup: bool,
    pub(crate) fence: u64,
}

/// What the model says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    Granted(u64),
    /// Refused by a held lock, whichever of those that [`Model::meets`] finds.
    Held(usize),
    Itself(usize),
    NotHeld(usize),
    Full,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) rows: Vec<Row>,
    pub(crate) next_fence: u64,
    pub(crate) room: usize,
}

/// `request` over `held` by another owner, and by the same: `+` is granted.
const FOREIGN: [(char, &str); 5] = [
    // held   S O E X
    ('S', "++--"),
    ('O', "++--"),
    ('E', "----"),
    ('X', "----"),
    ('R', "-+--"),
];
const OWN: [(char, &str); 5] =
    [('S', "+++-"), ('O', "+++-"), ('E', "+++-"), ('X', "----"), ('R', "+++-")];

fn asked_as(mode: Mode) -> char {
    match mode {
        Mode::S | Mode::W => 'S',
        Mode::O => 'O',
        Mode::E | Mode::V => 'E',
        Mode::X | Mode::U => 'X',
        Mode::R | Mode::C => 'R',
    }
}

fn granted(table: &[(char, &str)], ask: char, held: Held) -> bool {
    let column = match held {
        Held::S => 0,
        Held::O => 1,
        Held::E => 2,
        Held::X => 3,
    };
    let (_, row) = table.iter().find(|(letter, _)| *letter == ask).expect("every mode has a row");
    row.as_bytes()[column] == b'+'
}

fn same_object(name: &[u8], one: &[u8], other: &[u8]) -> bool {
    if name.is_empty() {
        return one == other;
    }
    one.len() == other.len()
        && (0..one.len()).all(|at| one[at] == other[at] || one[at] == b'@' || other[at] == b'@')
}

fn keeps(mode: Mode) -> Option<Held> {
    match mode {
        Mode::S => Some(Held::S),
        Mode::E => Some(Held::E),
        Mode::X => Some(Held::X),
        Mode::O => Some(Held::O),
        _ => None,
    }
}

impl Model {
    pub(crate) fn new(room: usize) -> Self {
        Self { rows: Vec::new(), next_fence: 1, room }
    }

    /// True when `row` refuses `want` to `owner`.
    pub(crate) fn meets(owner: &[u8], want: &Want, row: &Row) -> bool {
        let table = if row.owner == owner { &OWN } else { &FOREIGN };
        row.name == want.name
            && same_object(&row.name, &row.argument, &want.argument)
            && !granted(table, asked_as(want.mode), row.mode)
    }

    fn own(&self, owner: &[u8], want: &Want, mode: Held) -> Option<usize> {
        self.rows.iter().position(|row| {
            row.owner == owner
                && row.name == want.name
                && row.argument == want.argument
                && row.mode == mode
        })
    }

    pub(crate) fn judge(&self, owner: &[u8], wants: &[Want]) -> Option<Say> {
        for (index, want) in wants.iter().enumerate() {
            for earlier in &wants[..index] {
                let same = earlier.name == want.name
                    && same_object(&want.name, &earlier.argument, &want.argument);
                let twice = earlier.mode == Mode::R
                    && "RO".contains(asked_as(want.mode))
                    && earlier.name == want.name
                    && earlier.argument == want.argument;
                let held =
                    if earlier.mode == Mode::R { Some(Held::E) } else { keeps(earlier.mode) };
                let refused = held.is_some_and(|held| !granted(&OWN, asked_as(want.mode), held));
                if twice || same && refused {
                    return Some(Say::Itself(index));
                }
            }
            if asked_as(want.mode) == 'R' && self.own(owner, want, Held::O).is_none() {
                return Some(Say::NotHeld(index));
            }
            if self.rows.iter().any(|row| Self::meets(owner, want, row)) {
                return Some(Say::Held(index));
            }
        }
        None
    }

    pub(crate) fn enqueue(&mut self, owner: &[u8], scope: Scope, wants: &[Want]) -> Say {
        if let Some(refused) = self.judge(owner, wants) {
            return refused;
        }
        // room is judged before a promotion of the same request frees any
        let mut kept = self.clone();
        let kept_ones = wants.iter().filter(|want| keeps(want.mode).is_some());
        let new = kept_ones.filter(|want| kept.take(owner, scope, want)).count();
        if new > 0 && kept.beyond(self.room) {
            return Say::Full;
        }
        let fresh = self.next_fence;
        let mut highest = 0;
        for want in wants {
            if let Some(mode) = keeps(want.mode) {
                self.take(owner, scope, want);
                let at = self.own(owner, want, mode).expect("it was taken");
                highest = highest.max(self.rows[at].fence);
            } else if want.mode == Mode::R {
                self.promote(owner, want, fresh);
                highest = fresh;
            }
        }
        if highest == fresh {
            self.next_fence += 1;
        }
        Say::Granted(highest)
    }

    /// True when the lock is a new one.
    fn take(&mut self, owner: &[u8], scope: Scope, want: &Want) -> bool {
        let mode = keeps(want.mode).expect("it is kept");
        let known = self.own(owner, want, mode);
        if known.is_none() {
            self.rows.push(Row {
                owner: owner.to_vec(),
                name: want.name.clone(),
                argument: want.argument.clone(),
                mode,
                dialog: 0,
                update: 0,
                backup: false,
                fence: self.next_fence,
            });
        }
        let at = known.unwrap_or(self.rows.len() - 1);
        self.rows[at].dialog += u16::from(scope != Scope::Update);
        self.rows[at].update += u16::from(scope != Scope::Dialog);
        known.is_none()
    }

    fn promote(&mut self, owner: &[u8], want: &Want, fence: u64) {
        self.rows.retain(|row| {
            row.owner == owner
                || row.mode != Held::O
                || row.name != want.name
                || !same_object(&row.name, &row.argument, &want.argument)
        });
        let optimistic = self.own(owner, want, Held::O).expect("it was judged");
        let mut row = self.rows.remove(optimistic);
        if let Some(at) = self.own(owner, want, Held::E) {
            let other = self.rows.remove(at);
            row.dialog += other.dialog;
            row.update += other.update;
            row.backup |= other.backup;
        }
        (row.mode, row.fence) = (Held::E, fence);
        self.rows.push(row);
    }

    pub(crate) fn dequeue(
        &mut self,
        owner: &[u8],
        scope: Scope,
        wants: &[Want],
        fence: Option<u64>,
    ) -> u32 {
        let mut lowered = 0;
        for want in wants {
            let Some(at) = keeps(want.mode).and_then(|mode| self.own(owner, want, mode)) else {
                continue;
            };
            let row = &mut self.rows[at];
            if fence.is_some_and(|fence| fence != row.fence) {
                continue;
            }
            let before = (row.dialog, row.update);
            if scope != Scope::Update && row.dialog > 0 {
                row.dialog -= 1;
            }
            if scope != Scope::Dialog && row.update > 0 {
                row.update -= 1;
            }
            lowered += u32::from((row.dialog, row.update) != before);
            if row.dialog + row.update == 0 {
                self.rows.remove(at);
            }
        }
        lowered
    }

    pub(crate) fn clear(&mut self, owner: &[u8], scope: Scope) -> u32 {
        let before = self.rows.len();
        for row in self.rows.iter_mut().filter(|row| row.owner == owner) {
            if scope != Scope::Update {
                row.dialog = 0;
            }
            if scope != Scope::Dialog {
                row.update = 0;
            }
        }
        self.rows.retain(|row| row.dialog + row.update > 0);
        u32::try_from(before - self.rows.len()).expect("few")
    }

    /// The number of locks that pass; `None` when there is no room.
    pub(crate) fn inherit(&mut self, from: &[u8], to: &[u8]) -> Option<u32> {
        let before = self.clone();
        let mut passed = 0;
        let heirs: Vec<Row> =
            self.rows.iter().filter(|row| row.owner == from && row.update > 0).cloned().collect();
        for heir in heirs {
            passed += 1;
            let same = |row: &Row, owner: &[u8]| {
                row.owner == owner
                    && (&row.name, &row.argument, row.mode)
                        == (&heir.name, &heir.argument, heir.mode)
            };
            for row in self.rows.iter_mut().filter(|row| same(row, from)) {
                row.update = 0;
            }
            self.rows.retain(|row| row.dialog + row.update > 0);
            if let Some(row) = self.rows.iter_mut().find(|row| same(row, to)) {
                row.update += heir.update;
                row.fence = row.fence.max(heir.fence);
                row.backup = true;
            } else {
                self.rows.push(Row { owner: to.to_vec(), dialog: 0, backup: true, ..heir });
            }
        }
        if self.beyond(self.room) {
            *self = before;
            return None;
        }
        Some(passed)
    }

    pub(crate) fn remove(&mut self, which: impl Fn(&Row) -> bool) -> u32 {
        let before = self.rows.len();
        self.rows.retain(|row| !which(row));
        u32::try_from(before - self.rows.len()).expect("few")
    }

    /// Owners, arguments and locks.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        let owners: BTreeSet<&[u8]> = self.rows.iter().map(|row| &*row.owner).collect();
        let arguments: BTreeSet<(&[u8], &[u8])> =
            self.rows.iter().map(|row| (&*row.name, &*row.argument)).collect();
        [owners.len(), arguments.len(), self.rows.len()]
    }

    fn beyond(&self, room: usize) -> bool {
        self.sizes().iter().any(|size| *size > room)
    }
}
