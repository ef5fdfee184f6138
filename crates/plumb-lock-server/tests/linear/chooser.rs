//! What a client asks next, by chance.

use plumb_lock_table::table::{Mode, Scope};

use super::call::{Call, Reply};
use crate::model::Want;
use crate::numbers::Numbers;

/// Chooses calls, some of them about what was granted lately.
pub(crate) struct Chooser {
    numbers: Numbers,
    /// What was granted lately.
    granted: Vec<(String, Want, u64)>,
}

impl Chooser {
    pub(crate) fn new(seed: u64) -> Self {
        Self { numbers: Numbers::new(seed), granted: Vec::new() }
    }

    /// What came of a call.
    pub(crate) fn note(&mut self, call: &Call, reply: &Reply) {
        if let (Call::Enqueue { owner, wants, .. }, Reply::Number(fence)) = (call, reply) {
            self.granted.extend(wants.iter().map(|it| (owner.clone(), it.clone(), *fence)));
        }
    }

    pub(crate) fn next_call(&mut self) -> Call {
        let scope = self.numbers.one(&[Scope::Dialog, Scope::Update, Scope::Both]);
        let owner = self.owner();
        match self.numbers.below(100) {
            0..52 => {
                let count = self.numbers.one(&[1, 1, 1, 2, 3]);
                let wait_ms = self.numbers.one(&[0, 0, 0, 2]);
                let wants = (0..count).map(|_| self.likely()).collect();
                Call::Enqueue { owner, scope, wait_ms, wants }
            }
            52..58 => Call::Check { owner, wants: vec![self.likely()] },
            58..82 => self.release(owner, scope),
            82..88 => Call::Clear { owner, scope },
            88..96 => {
                let to = format!("{owner}-update");
                Call::Inherit { from: owner, to }
            }
            96..98 => Call::RemoveOwner { owner },
            _ => Call::RemoveFence { fence: 1 + self.numbers.below(40) },
        }
    }

    /// Mostly of something that was granted.
    fn release(&mut self, owner: String, scope: Scope) -> Call {
        let known = self.numbers.below(4) > 0 && !self.granted.is_empty();
        let (owner, want, fence) = if known {
            let at = usize::try_from(self.numbers.below(self.granted.len() as u64)).expect("few");
            self.granted.swap_remove(at)
        } else {
            (owner, self.want(), 1)
        };
        let fence = (self.numbers.below(4) == 0).then_some(fence);
        Call::Release { owner, scope, wants: vec![want], fence }
    }

    fn owner(&mut self) -> String {
        self.numbers.one(&["a", "b", "c", "a-update"]).to_owned()
    }

    /// Something that was granted lately, in any mode, or something else.
    fn likely(&mut self) -> Want {
        let other = self.want();
        match self.granted.last() {
            Some((_, want, _)) if self.numbers.below(3) == 0 => {
                Want { mode: other.mode, ..want.clone() }
            }
            _ => other,
        }
    }

    fn want(&mut self) -> Want {
        let often = [Mode::S, Mode::E, Mode::E, Mode::X, Mode::O, Mode::O, Mode::R];
        let mode = match self.numbers.below(5) {
            0 => self.numbers.one(&Mode::ALL),
            _ => self.numbers.one(&often),
        };
        let length = self.numbers.one(&[1, 2]);
        let argument = (0..length).map(|_| self.numbers.one(b"aabb@")).collect();
        Want { mode, name: b"T".to_vec(), argument }
    }
}
