//! Applying changes without asking the rules: for a journal, a copy, or a replica.

use super::change::Lock;
use super::request::{
    ARGUMENT_BYTES_MAX, Element, NAME_BYTES_MAX, OWNER_BYTES_MAX, USER_BYTES_MAX,
};
use super::rules::Rules;
use super::{Change, Held, Impossible, Mode, Table, Unnoted};

impl<R: Rules> Table<R> {
    /// Applies changes of a table like this one, in their order. Room is looked at in the end:
    /// within one request a lock may come before the one whose place it takes. What was applied
    /// before a change that is impossible stays.
    ///
    /// # Errors
    /// [`Impossible`] when a change cannot be one of such a table.
    pub fn apply<'a>(
        &mut self,
        batch: impl IntoIterator<Item = Change<'a>>,
    ) -> Result<(), Impossible> {
        batch.into_iter().try_for_each(|change| match change {
            Change::Lock(lock) => self.put(&lock),
            Change::Cleared { owner, scope, .. } => {
                self.clear(owner, scope, &mut Unnoted).map_err(|_| Impossible::TooLong)?;
                self.reap(u32::MAX); // nobody waits for it
                Ok(())
            }
        })?;
        self.see_peaks();
        let most = self.limits.rows;
        let used = [self.owners.rows.used(), self.granules.rows.used(), self.entries.used()];
        if used.iter().any(|used| *used > most) { Err(Impossible::Full) } else { Ok(()) }
    }

    /// Lets a lock stand as `lock` says.
    fn put(&mut self, lock: &Lock<'_>) -> Result<(), Impossible> {
        if lock.owner.is_empty()
            || lock.owner.len() > OWNER_BYTES_MAX
            || lock.user.len() > USER_BYTES_MAX
            || lock.name.len() > NAME_BYTES_MAX
            || lock.argument.len() > ARGUMENT_BYTES_MAX
        {
            return Err(Impossible::TooLong);
        }
        self.raise_fence(lock.fence.saturating_add(1)); // a file may say anything
        let hash = self.owners.hash_of(lock.owner);
        let owner = self.owners.find_hashed(hash, lock.owner);
        let mode = match lock.mode {
            Held::S => Mode::S,
            Held::O => Mode::O,
            Held::E => Mode::E,
            Held::X => Mode::X,
        };
        let element = Element { mode, name: lock.name, argument: lock.argument };
        let place = self.place(&element);
        let there = place.granule.zip(owner).and_then(|(at, owner)| self.own(at, owner, lock.mode));
        if (lock.dialog, lock.update) == (0, 0) {
            if let Some(at) = there {
                self.unlink(at);
            }
            return Ok(());
        }
        let at = there.unwrap_or_else(|| {
            let owner = owner
                .unwrap_or_else(|| self.owners.insert(hash, lock.owner, lock.user, lock.since_ms));
            let granule = self.granule_of(&element, Some(place));
            self.new_lock(owner, granule, lock.mode)
        });
        let entry = &mut self.entries[at];
        (entry.dialog, entry.update) = (lock.dialog, lock.update);
        entry.fence = lock.fence;
        self.backups += u32::from(lock.backup);
        self.backups -= u32::from(std::mem::replace(&mut entry.backup, lock.backup));
        Ok(())
    }
}
