//! One client alone that talks without a pause is heard by a receive that blocks.
//!
//! It saves a system call and a wake-up through epoll for every message, which is what a plain
//! blocking server would not spend either. Everybody else is looked after once in a while, and as
//! soon as somebody else is there, or the client pauses, all wait in epoll again.

use std::time::Duration;

use plumb_link::Link;
use plumb_socket::{Time, make_blocking, make_nonblocking};

use super::Serve;
use crate::service::Service;

/// So many waits in a row must have been for the same client.
const STREAK: u32 = 32;
/// Others are looked after at least this often while the only client talks.
const LOOK_NS: u64 = 1_000_000;
/// A client that is silent for this long is waited for in epoll.
const PAUSE: Duration = Duration::from_millis(4);

/// Who is alone, and since when.
#[derive(Debug, Default)]
pub(super) struct Lone {
    /// The client whose receive blocks.
    pub(super) client: Option<usize>,
    streak: u32,
    looked_at: u64,
}

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Waits for the only client; true when it is time to look after the others.
    pub(super) fn hear_the_only_one(&mut self) -> bool {
        let Some(index) = self.lone.client else {
            return true;
        };
        self.poll.hold_tick(self.now);
        let heard = self.read(index);
        self.now = self.time.now_ns();
        if !heard {
            self.release_the_only_one();
        }
        !heard || self.now >= self.lone.looked_at + LOOK_NS
    }

    /// After a look around: is the same client still alone, or alone for long enough by now?
    pub(super) fn watch_for_the_only_one(&mut self) {
        self.lone.looked_at = self.now;
        let alone = self.clients == 1 && self.slots.len() == self.free.len() + 1;
        if self.lone.client.is_some() {
            if !alone || !self.again.is_empty() {
                self.release_the_only_one();
            }
            return;
        }
        if !alone || self.poll.found() != 1 || self.plan.spin || !L::BLOCKS {
            self.lone.streak = 0;
            return;
        }
        self.lone.streak += 1;
        if self.lone.streak < STREAK {
            return;
        }
        let only = self.slots.iter().position(|slot| slot.client.is_some());
        if let Some(index) = only
            && let Some(client) = self.client(index)
            && client.shaken
            && client.closing.is_none()
            && make_blocking(client.channel.socket(), PAUSE).is_ok()
        {
            self.lone.client = Some(index);
        }
    }

    fn release_the_only_one(&mut self) {
        if let Some(index) = self.lone.client.take()
            && let Some(client) = self.client(index)
        {
            // a socket that cannot be changed is broken, and the next read says so
            let _ = make_nonblocking(client.channel.socket());
            // what came meanwhile was announced to nobody
            self.again.push(index);
        }
        self.lone.streak = 0;
    }
}
