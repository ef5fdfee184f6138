//! Who holds what.

use plumb_lock_table::table::{Lock, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::LockServer;
use super::refusal::Refusal;
use super::words::Command;
use crate::digest::{self, Digest, Digester};

/// Locks of one page, when nothing is said.
const PAGE: u64 = 1_000;
/// The most locks of one page.
const PAGE_MAX: u64 = 10_000;
/// Places that one page looks at: what others wait for meanwhile is below a few milliseconds.
const LOOKED_MAX: u32 = 10_000;
/// A page ends behind so many bytes, for the same reason.
const PAGE_BYTES_MAX: usize = 256 << 10;
/// Places that one part of a digest looks at, for the same reason.
const DIGESTED_MAX: u32 = 10_000;

/// What a listing asks for.
#[derive(Default)]
struct Wanted<'a> {
    owner: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    cursor: u64,
    count: u64,
}

impl Wanted<'_> {
    fn fits(&self, lock: &Lock<'_>) -> bool {
        // an empty text is one, too: that is the name of keys
        self.owner.is_none_or(|owner| owner == lock.owner)
            && self.user.is_none_or(|user| user == lock.user)
            && self.name.is_none_or(|name| name == lock.name)
    }
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `LOCKS [OWNER owner] [USER user] [NAME name] [CURSOR n] [COUNT n]`: the cursor of the next
    /// page, zero at the end, and the locks of this one.
    pub(super) fn list(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let wanted = wanted(command, 1, "locks")?;
        let mut page = Vec::new();
        let mut count = 0;
        let cursor = u32::try_from(wanted.cursor).unwrap_or(u32::MAX);
        let looked = self.table.page(cursor, LOOKED_MAX, |lock| {
            if wanted.fits(lock) {
                push_lock(&mut page, lock);
                count += 1;
            }
            (count as u64) < wanted.count && page.len() < PAGE_BYTES_MAX
        });
        self.counts.reports += 1;
        self.looked = true;
        resp::push_array(out, 2);
        resp::push_integer(out, looked.next.unwrap_or(0).into());
        resp::push_array(out, count);
        out.extend_from_slice(&page);
        Ok(())
    }

    /// `DIGEST key [OWNER owner] [USER user] [NAME name] [CURSOR n]`: the cursor of the next part,
    /// zero at the end, and what the locks of this one sum up to: how many, and the sum.
    pub(super) fn digest(
        &mut self,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let remedy = "a key is 32 hexadecimal digits";
        let key =
            digest::key(command.get(1)).ok_or_else(|| Refusal::Word(command.text(1), remedy))?;
        let wanted = wanted(command, 2, "digest")?;
        let (mut digester, mut digest) = (Digester::new(&key), Digest::default());
        let cursor = u32::try_from(wanted.cursor).unwrap_or(u32::MAX);
        let looked = self.table.page(cursor, DIGESTED_MAX, |lock| {
            if wanted.fits(lock) {
                digester.add(&mut digest, lock);
            }
            true
        });
        self.counts.reports += 1;
        self.looked = true;
        resp::push_array(out, 3);
        resp::push_integer(out, looked.next.unwrap_or(0).into());
        resp::push_integer(out, digest.locks);
        resp::push_bulk(out, format!("{:032x}", digest.sum).as_bytes());
        Ok(())
    }

    /// `COUNT owner`: how many locks it has.
    pub(super) fn count(&mut self, command: Command<'_>, out: &mut Vec<u8>) -> Result<(), Refusal> {
        command.exactly(2, "count")?;
        self.counts.reports += 1;
        resp::push_integer(out, self.table.count_of(command.get(1)).into());
        Ok(())
    }
}

/// The words from `first` on, two each.
fn wanted<'w>(
    command: Command<'w>,
    first: usize,
    name: &'static str,
) -> Result<Wanted<'w>, Refusal> {
    let mut wanted = Wanted { count: PAGE, ..Wanted::default() };
    if command.len() < first || !(command.len() - first).is_multiple_of(2) {
        return Err(Refusal::Arity(name));
    }
    for at in (first..command.len()).step_by(2) {
        let value = command.get(at + 1);
        if command.is(at, "OWNER") {
            wanted.owner = Some(value);
        } else if command.is(at, "USER") {
            wanted.user = Some(value);
        } else if command.is(at, "NAME") {
            wanted.name = Some(value);
        } else if command.is(at, "CURSOR") {
            wanted.cursor = command.number(at + 1, "a cursor is what the last page said")?;
        } else if command.is(at, "COUNT") {
            let count = command.number(at + 1, "a count is 1 to 10000")?;
            wanted.count = count.clamp(1, PAGE_MAX);
        } else {
            let remedy = "OWNER, USER, NAME, CURSOR and COUNT are known";
            return Err(Refusal::Word(command.text(at), remedy));
        }
    }
    Ok(wanted)
}

/// Owner, user, since, name, argument, mode, dialog, update, inherited, fence.
fn push_lock(out: &mut Vec<u8>, lock: &Lock<'_>) {
    resp::push_array(out, 10);
    resp::push_bulk(out, lock.owner);
    resp::push_bulk(out, lock.user);
    resp::push_integer(out, lock.since_ms);
    resp::push_bulk(out, lock.name);
    resp::push_bulk(out, lock.argument);
    resp::push_bulk(out, &[lock.mode.letter()]);
    resp::push_integer(out, lock.dialog.into());
    resp::push_integer(out, lock.update.into());
    resp::push_integer(out, lock.backup.into());
    resp::push_integer(out, lock.fence);
}
