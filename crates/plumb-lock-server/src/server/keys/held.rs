//! Keys that count how often their holder has them, as Redisson takes locks.
//!
//! In Redis such a key is a hash with one field, the holder, whose value is the count. Here it is
//! an E, which cumulates, and its holder is the owner.

use plumb_lock_table::table::{Held, LockId, Mode, Rules, Scope};
use plumb_measure::{Clock, counted};
use plumb_wire::resp;

use super::call::Call;
use super::expire::time_ms;
use super::{MS, TTL_MS_MAX, key};
use crate::server::LockServer;
use crate::server::notices::{self, About, Loss};
use crate::server::refusal::Refusal;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Takes the key once more for the holder `ARGV[2]`, for `ARGV[1]` milliseconds from now on:
    /// nothing; or how long whoever has it has it yet.
    pub(super) fn hold(
        &mut self,
        client: usize,
        call: Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match self.hold_or_left(client, call)? {
            None => resp::push_null(out, self.version(client)),
            Some(left) => resp::push_signed(out, left),
        }
        Ok(())
    }

    /// The same, answered with a token: that is the fence number of the lock. -1 stands where
    /// there is none.
    pub(super) fn hold_with_token(
        &mut self,
        client: usize,
        call: Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let left = self.hold_or_left(client, call)?;
        let fence = self.table.holder(b"", call.key(0)).map_or(0, |(_, lock)| lock.fence);
        let token = i64::try_from(fence).unwrap_or(i64::MAX);
        resp::push_array(out, 2);
        resp::push_signed(out, left.unwrap_or(-1));
        resp::push_signed(out, if left.is_none() { token } else { -1 });
        Ok(())
    }

    fn hold_or_left(&mut self, client: usize, call: Call<'_>) -> Result<Option<i64>, Refusal> {
        let ms = time_ms(call.command, call.arg_at(0), 1)?;
        let name = call.key(0);
        self.standing_held(name)?;
        let ttl_ms = u64::try_from(ms).ok().filter(|ms| *ms > 0);
        let taken = self.take_keys(client, call.arg(1), &[key(Mode::E, name)], ttl_ms)?;
        let lock = self.standing(name);
        if !taken {
            return Ok(lock.map(|lock| self.left_or_endless(lock)));
        }
        if let Some(lock) = lock.filter(|_| ttl_ms.is_none()) {
            self.end_key(lock); // its time was over before it began
        }
        Ok(None)
    }

    /// Lowers the count of a holder: 0 when it still has the key, which then lives so long from
    /// now on; 1 when the key is gone, of which those are told who listen to the channel; nothing
    /// when the holder did not have it. Repeated under the same name it gets the same answer.
    pub(super) fn release_hold(
        &mut self,
        client: usize,
        call: Call<'_>,
        (tells, latched): (bool, bool),
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let first = usize::from(tells); // the message comes before the time
        let name = call.key(0);
        let holder = call.arg(first + 1);
        let ms = time_ms(call.command, call.arg_at(first), 1)?;
        let now = self.clock.now_ns();
        let latch = match latched {
            true => {
                let kept_ms = time_ms(call.command, call.arg_at(2 + 2 * first), 1)?;
                let kept_ms = u64::try_from(kept_ms).unwrap_or(0).min(TTL_MS_MAX);
                Some((call.key(1 + first), now + kept_ms * MS))
            }
            false => None,
        };
        if let Some((latch, _)) = latch
            && let Some(answer) = self.latches.answer(latch, now)
        {
            resp::push_integer(out, answer);
            return Ok(());
        }
        let lock = self.standing_held(name)?.filter(|lock| self.is_of(*lock, holder));
        let Some(lock) = lock else {
            resp::push_null(out, self.version(client));
            return Ok(());
        };
        let lowered = [key(Mode::E, name)];
        self.table.dequeue(holder, Scope::Dialog, &lowered[..], None, &mut self.notes)?;
        self.counts.dequeues += 1;
        let gone = self.table.by_id(lock).is_none();
        if gone {
            self.lives.forget_key(lock);
            if tells {
                self.publish_for_script(call.key(1), call.arg(0));
            }
        } else {
            self.live_on(lock, name, ms);
        }
        if let Some((latch, until)) = latch {
            self.latches.remember(latch, u64::from(gone), (now, until));
        }
        resp::push_integer(out, u64::from(gone));
        Ok(())
    }

    /// Lets each key live so long from now on that its holder has: 1 or 0 for each.
    pub(super) fn renew_holds(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        if call.args() < 1 + call.keys {
            return Err(Refusal::Arity("eval"));
        }
        let mut renewed = Vec::with_capacity(call.keys);
        for at in 0..call.keys {
            renewed.push(self.renew_hold(call, at)?);
        }
        resp::push_array(out, renewed.len());
        renewed.into_iter().for_each(|it| resp::push_integer(out, u64::from(it)));
        Ok(())
    }

    /// Lets the key at `at` live `ARGV[1]` milliseconds from now on if its holder has it.
    pub(super) fn renew_hold(&mut self, call: Call<'_>, at: usize) -> Result<bool, Refusal> {
        let ms = time_ms(call.command, call.arg_at(0), 1)?;
        let lock = self.standing_held(call.key(at))?;
        let lock = lock.filter(|lock| self.is_of(*lock, call.arg(1 + at)));
        if let Some(lock) = lock {
            self.live_on(lock, call.key(at), ms);
        }
        Ok(lock.is_some())
    }

    /// Ends a key that counts its holds whoever has it, and one with a value for the connection
    /// that took it; those are told who listen to the channel.
    pub(super) fn force_release(
        &mut self,
        client: usize,
        call: Call<'_>,
        tells: bool,
        out: &mut Vec<u8>,
    ) {
        let lock = self.standing(call.key(0));
        let lock = lock.filter(|lock| self.counts_holds(*lock) || self.took(client, *lock));
        let held = lock.and_then(|lock| self.table.by_id(lock));
        let holder = held.filter(|held| held.mode == Held::E).map(|held| held.owner.to_vec());
        let gone = lock.is_some_and(|lock| self.end_key(lock));
        if let Some(holder) = holder.filter(|_| gone) {
            self.counts.removals += 1;
            self.tell_loss(&holder, Loss::Removed, 1);
            let command = format!("EVAL forceUnlock {}", call.command.text(call.key_at(0)));
            self.audit(client, &command, counted(1, "lock"));
        }
        if gone && tells {
            self.publish_for_script(call.key(1), call.arg(0));
        }
        resp::push_integer(out, u64::from(gone));
    }

    /// Says what a script says, on a channel of its library: on those of the server nobody else
    /// speaks.
    fn publish_for_script(&mut self, channel: &[u8], message: &[u8]) {
        if notices::about(channel) == About::Other {
            self.publish(channel, message);
        }
    }

    /// True for the lock of a key that counts its holds.
    pub(super) fn counts_holds(&self, lock: LockId) -> bool {
        self.table.by_id(lock).is_some_and(|held| held.mode == Held::E)
    }
}
