//! What an administrator removes.

use plumb_lock_table::table::{LockId, Rules, Scope, Selector};
use plumb_measure::{Clock, counted};
use plumb_wire::resp;

use super::connection::Waits;
use super::notices::{Ends, Loss};
use super::refusal::Refusal;
use super::words::Command;
use super::{After, LockServer};

/// Places that one turn looks at for locks of a fence number.
const PLACES_A_TURN: u32 = 10_000;
const REMEDY: &str = "REMOVE OWNER owner, REMOVE FENCE number, or REMOVE LOCK name argument [OWNER \
                      owner] [FENCE number]";

/// Locks of an owner whose counters of one scope one turn sets to zero; an owner that has no more
/// is dealt with at once.
const CLEARED_A_TURN: u32 = 2_000;

/// What is done in slices while its client waits.
#[derive(Clone, Debug)]
pub(super) struct Search {
    client: usize,
    sought: Sought,
    done: bool,
    gone: u32,
}

/// Which locks are looked for, and where to go on.
#[derive(Clone, Debug)]
enum Sought {
    /// Those of a fence number, which may be anywhere in the table.
    Fence { fence: u64, next: u32, owners: Vec<Vec<u8>> },
    /// Those of an owner, whose counters of one scope are set to zero.
    Scope { owner: Vec<u8>, scope: Scope, next: Option<LockId> },
}

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `REMOVE OWNER`, `REMOVE FENCE` and `REMOVE LOCK`.
    pub(super) fn remove(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        if command.len() == 3 && command.is(1, "FENCE") {
            let fence = command.number(2, REMEDY)?;
            return Ok(self.remove_fence(client, fence, out));
        }
        let selector = selector(command)?;
        if let Selector::Owner(owner) = selector
            && let Some(id) = self.table.owner(owner)
        {
            self.lose(id);
        }
        let mut ends = Ends { notes: &mut self.notes, owners: Vec::new() };
        let gone = self.table.remove(selector, &mut ends);
        let owners = ends.owners;
        match selector {
            Selector::Owner(owner) => self.tell_loss(owner, Loss::Removed, gone),
            _ => self.tell_losses(owners, Loss::Removed),
        }
        let text = (0..command.len()).map(|at| command.text(at)).collect::<Vec<_>>().join(" ");
        self.audit(client, &text, counted(u64::from(gone), "lock"));
        self.removed(gone, out);
        Ok(After::Next)
    }

    fn removed(&mut self, gone: u32, out: &mut Vec<u8>) {
        self.counts.removals += u64::from(gone);
        resp::push_integer(out, u64::from(gone));
    }

    fn remove_fence(&mut self, client: usize, fence: u64, out: &mut Vec<u8>) -> After {
        self.looked = true;
        let sought = || Sought::Fence { fence, next: 0, owners: Vec::new() };
        self.in_slices(client, sought, out)
    }

    /// `DEQALL owner SCOPE 1` or `2` of an owner with many locks.
    pub(super) fn clear_scope(
        &mut self,
        client: usize,
        (owner, scope): (&[u8], Scope),
        out: &mut Vec<u8>,
    ) -> After {
        let sought = || Sought::Scope { owner: owner.to_vec(), scope, next: None };
        self.in_slices(client, sought, out)
    }

    /// True when a release of this scope takes more than one turn, or is under way.
    pub(super) fn takes_slices(&self, client: usize, owner: &[u8], scope: Scope) -> bool {
        let under_way = self.searches.iter().any(|search| search.client == client);
        scope != Scope::Both && (under_way || self.table.count_of(owner) > CLEARED_A_TURN)
    }

    /// Does the first slice of what a client asks for, or answers how many locks are gone once all
    /// was done.
    fn in_slices(
        &mut self,
        client: usize,
        sought: impl FnOnce() -> Sought,
        out: &mut Vec<u8>,
    ) -> After {
        let known = self.searches.iter().position(|search| search.client == client);
        let at = known.unwrap_or_else(|| {
            self.searches.push(Search { client, sought: sought(), done: false, gone: 0 });
            self.searches.len() - 1
        });
        if known.is_none() {
            self.search(at);
        }
        if self.searches[at].done {
            let gone = self.end_search(at);
            resp::push_integer(out, u64::from(gone));
            return After::Next;
        }
        self.wish = None;
        if let Some(client) = &mut self.clients[client] {
            client.waits = Waits::Slices;
        }
        After::Wait
    }

    /// Tells and counts what a search has removed, whether it was done to its end or not; how many
    /// locks.
    fn end_search(&mut self, at: usize) -> u32 {
        let Search { client, sought, done, gone } = self.searches.swap_remove(at);
        match sought {
            Sought::Fence { fence, owners, .. } => {
                self.tell_losses(owners, Loss::Removed);
                let part = if done { "" } else { " in a part of the table" };
                let result = format!("{}{part}", counted(u64::from(gone), "lock"));
                self.audit(client, &format!("REMOVE FENCE {fence}"), result);
                self.counts.removals += u64::from(gone);
            }
            Sought::Scope { .. } => self.counts.clears += 1,
        }
        gone
    }

    /// Goes on with one search; true when it is over by now.
    pub(super) fn go_on_searching(&mut self) -> bool {
        let unfinished = self.searches.iter().position(|search| !search.done);
        unfinished.is_some_and(|at| self.search(at))
    }

    fn search(&mut self, at: usize) -> bool {
        let Self { searches, table, notes, .. } = self;
        let search = &mut searches[at];
        let (gone, done) = match &mut search.sought {
            Sought::Fence { fence, next, owners } => {
                let mut ends = Ends { notes, owners: std::mem::take(owners) };
                let (gone, more) = table.remove_fence(*fence, (*next, PLACES_A_TURN), &mut ends);
                *owners = ends.owners;
                *next = more.unwrap_or(0);
                (gone, more.is_none())
            }
            Sought::Scope { owner, scope, next } => {
                let part = (*next, CLEARED_A_TURN);
                let (gone, more) = table.clear_some(owner, *scope, part, notes);
                *next = more;
                (gone, more.is_none())
            }
        };
        (search.gone, search.done) = (search.gone + gone, done);
        done
    }

    /// True while something is done in slices for a client that waits.
    pub(super) fn is_searching(&self) -> bool {
        self.searches.iter().any(|search| !search.done)
    }

    /// Nobody waits any more for what this client looked for: its next command is not answered by
    /// it. What it has removed is told all the same.
    pub(super) fn give_search_up(&mut self, client: usize) {
        while let Some(at) = self.searches.iter().position(|search| search.client == client) {
            self.end_search(at);
        }
    }
}

fn selector(command: Command<'_>) -> Result<Selector<'_>, Refusal> {
    match command.len() {
        3 if command.is(1, "OWNER") => Ok(Selector::Owner(command.get(2))),
        4 | 6 | 8 if command.is(1, "LOCK") => {
            let (mut owner, mut fence) = (None, None);
            for at in (4..command.len()).step_by(2) {
                if command.is(at, "OWNER") {
                    owner = Some(command.get(at + 1));
                } else if command.is(at, "FENCE") {
                    fence = Some(command.number(at + 1, REMEDY)?);
                } else {
                    return Err(Refusal::Word(command.text(at), REMEDY));
                }
            }
            let (name, argument) = (command.get(2), command.get(3));
            Ok(Selector::Object { name, argument, owner, fence })
        }
        _ => Err(Refusal::Word(command.text(1), REMEDY)),
    }
}
