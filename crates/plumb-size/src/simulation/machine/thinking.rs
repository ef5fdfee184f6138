//! Users who think, and when they ask.

use super::super::Load;
use super::super::draw::Draw;
use super::{GENERATION, Kind, Machine, code};

/// Users who think while bursts begin and end.
///
/// Their thoughts have no memory, so that none of them has an end of its own: whoever is the next to ask
/// is any of them, as soon as the first of so many thoughts ends. That is drawn anew whenever there are
/// more or fewer of them, or they think faster or slower.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    users: Vec<u32>,
    next: u32, // generation of the next who asks
}

impl Machine<'_> {
    pub(super) fn first_thoughts(&mut self, users: u32, think_s: f64, variation: f64) {
        if self.plan.bursts.is_some() {
            self.crowd.users = (0..users).collect();
            return self.next_thought();
        }
        for user in 0..users {
            // whoever thinks evenly long is somewhere in the middle of it
            let even = variation < 1.0;
            let first_s = if even {
                think_s * self.random.uniform()
            } else {
                self.think.next(&mut self.random)
            };
            self.after(first_s, code(Kind::Thought, 0, user));
        }
    }

    pub(super) fn thinks(&mut self, user: u32) {
        if self.plan.bursts.is_some() {
            self.crowd.users.push(user);
            return self.next_thought();
        }
        let think_s = self.think.next(&mut self.random);
        self.after(think_s, code(Kind::Thought, 0, user));
    }

    /// Draws when the next of the crowd asks, in the place of what was drawn before.
    pub(super) fn next_thought(&mut self) {
        let Load::Closed { think_s, .. } = self.plan.load else { return };
        self.crowd.next = self.crowd.next.wrapping_add(1) & GENERATION;
        let Ok(thinking) = u32::try_from(self.crowd.users.len()) else { return };
        if thinking > 0 {
            let mean_s = think_s / (f64::from(thinking) * self.urgency());
            let wait_s = Draw::of(mean_s, 1.0).next(&mut self.random);
            self.after(wait_s, code(Kind::Thought, self.crowd.next, 0));
        }
    }

    /// A thought is over: that of `user`, or of a crowd that of any.
    pub(super) fn has_thought(&mut self, user: u32, generation: u32) {
        if self.plan.bursts.is_none() {
            return self.asks(user);
        }
        if generation != self.crowd.next {
            self.found.events -= 1; // it was drawn anew since
            return;
        }
        let any = self.random.below(self.crowd.users.len());
        let user = self.crowd.users.swap_remove(any);
        self.next_thought();
        self.asks(user);
    }

    /// A user has thought and asks.
    fn asks(&mut self, user: u32) {
        if let Some(sessions) = self.plan.sessions
            && self.users[user as usize].session == 0
        {
            if self.open_sessions >= sessions.most {
                self.found.refused_sessions += u64::from(self.recording);
                return self.thinks(user);
            }
            self.open_sessions += 1;
            self.found.sessions_max = self.found.sessions_max.max(self.open_sessions);
            self.users[user as usize].session = sessions.operations.max(1);
        }
        self.begins_try(user, self.now_s, 0);
    }
}
