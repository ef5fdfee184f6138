//! Clients that wait, and what they are told in the end.

use plumb_engine::ConnectionId;
use plumb_lock_table::table::{OwnerId, Rules};
use plumb_measure::Clock;
use plumb_wire::resp::{self, Words};

use super::connection::Waits;
use super::lives::NEVER;
use super::refusal::Refusal;
use super::waiters::Waiter;
use super::words::Command;
use super::{After, LockServer};

/// Waiting requests that are tried again in one turn.
const TRIED_A_TURN: u32 = 200;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// The client waits with this command for what it wished for last.
    pub(super) fn keep_waiting(&mut self, client: usize, owner: Option<OwnerId>, command: &[u8]) {
        let Some(asking) = &mut self.clients[client] else {
            return;
        };
        let until = match asking.waits {
            Waits::Until(until) | Waits::Turn(until) => until,
            Waits::No | Waits::Slices | Waits::Order(_) => NEVER,
        };
        // who asks for no lock loses none
        let asks = self.wish.is_some() || matches!(asking.waits, Waits::Order(_));
        let owner = owner.filter(|_| asks);
        let waiter = Waiter { client, until, owner, lost: false, command: command.to_vec() };
        let seat = match (self.wish.take(), asking.waits) {
            (Some(wish), _) => {
                self.table.watch(wish.met.lock);
                self.waiters.wait(waiter, wish)
            }
            (None, Waits::Slices | Waits::Order(_)) => self.waiters.pause(waiter),
            (None, _) => self.waiters.pause_until(waiter),
        };
        asking.seat = Some(seat);
    }

    /// Tries the next request that can be tried until one is answered; whose that is.
    pub(super) fn answer_next(&mut self, out: &mut Vec<u8>) -> Option<ConnectionId> {
        while let Some(lock) = self.table.next_ended() {
            self.waiters.ended(lock);
            self.tell_end(lock);
        }
        while self.tried < TRIED_A_TURN {
            let (number, client, lost, text) = {
                let (number, waiter) = self.waiters.pop()?;
                (number, waiter.client, waiter.lost, waiter.command.clone())
            };
            self.tried += 1;
            self.counts.cared += 1;
            self.replicated.shows = !self.waits_to_log_on(client);
            if lost {
                self.counts.errors += 1;
                resp::push_error(out, Refusal::Ended.to_string().as_bytes());
                return self.waited(number);
            }
            let mut words = Words::default();
            let read = resp::command(&text, &self.plan.limits, &mut words);
            assert!(matches!(read, Ok(Some(_))), "it was read before");
            match self.answer(client, Command { bytes: &text, words: &words }, out) {
                After::Wait => self.wait_on(number),
                After::Close => {
                    if let Some(client) = &mut self.clients[client] {
                        client.closes = true;
                    }
                    return self.waited(number);
                }
                After::Next | After::Page | After::Stream => return self.waited(number),
            }
        }
        None
    }

    /// True for a client whose password is looked at late: what it is told shows no locks, so that
    /// somebody can log on to a server that may tell nobody about them.
    fn waits_to_log_on(&self, client: usize) -> bool {
        let waits = self.clients[client].as_ref().map(|client| client.waits);
        matches!(waits, Some(Waits::Turn(_)))
    }

    /// A request was tried and goes on waiting: in its place when it waits for a lock as before.
    fn wait_on(&mut self, number: u64) {
        let in_group = self.waiters.is_in_group(number);
        if in_group && let Some(wish) = self.wish.take() {
            self.table.watch(wish.met.lock);
            return self.waiters.refused(number, wish.met);
        }
        if let Some(waiter) = self.waiters.answered(number) {
            self.keep_waiting(waiter.client, waiter.owner, &waiter.command);
        }
    }

    /// The client waits no longer; where it sits.
    fn waited(&mut self, number: u64) -> Option<ConnectionId> {
        let waiter = self.waiters.answered(number)?;
        self.give_search_up(waiter.client); // where what it asked for was refused meanwhile
        self.answered_with_locks(waiter.client);
        let client = self.clients[waiter.client].as_mut()?;
        (client.waits, client.seat, client.has_waited) = (Waits::No, None, false);
        client.connection_id
    }
}
