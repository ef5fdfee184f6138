//! What an administrator removes.

use plumb_measure::Clock;
use plumb_wire::resp;

use super::connection::Waits;
use super::refusal::Refusal;
use super::words::Command;
use super::{After, LockServer};
use crate::table::{Rules, Selector};

/// Places that one turn looks at for locks of a fence number.
const PLACES_A_TURN: u32 = 10_000;
const REMEDY: &str = "REMOVE OWNER owner, REMOVE FENCE number, or REMOVE LOCK name argument [OWNER \
                      owner] [FENCE number]";

/// A look for locks of a fence number, which may be anywhere in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    client: usize,
    fence: u64,
    /// Where it goes on; `None` once it is over.
    next: Option<u32>,
    gone: u32,
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
        let gone = self.table.remove(selector, &mut self.notes);
        self.removed(gone, out);
        Ok(After::Next)
    }

    fn removed(&mut self, gone: u32, out: &mut Vec<u8>) {
        self.counts.removals += u64::from(gone);
        resp::push_integer(out, u64::from(gone));
    }

    /// A small table is looked through at once; for a large one the client waits.
    fn remove_fence(&mut self, client: usize, fence: u64, out: &mut Vec<u8>) -> After {
        self.looked = true;
        let known = self.searches.iter().position(|search| search.client == client);
        let at = known.unwrap_or_else(|| {
            self.searches.push(Search { client, fence, next: Some(0), gone: 0 });
            self.searches.len() - 1
        });
        if known.is_none() {
            self.search(at);
        }
        if self.searches[at].next.is_none() {
            let found = self.searches.swap_remove(at);
            self.removed(found.gone, out);
            return After::Next;
        }
        self.wish = None;
        if let Some(client) = &mut self.clients[client] {
            client.waits = Waits::Slices;
        }
        After::Wait
    }

    /// Goes on with one look; true when one is over by now.
    pub(super) fn go_on_searching(&mut self) -> bool {
        let unfinished = self.searches.iter().position(|search| search.next.is_some());
        unfinished.is_some_and(|at| self.search(at))
    }

    fn search(&mut self, at: usize) -> bool {
        let search = &mut self.searches[at];
        let places = (search.next.unwrap_or(0), PLACES_A_TURN);
        let (gone, next) = self.table.remove_fence(search.fence, places, &mut self.notes);
        (search.gone, search.next) = (search.gone + gone, next);
        next.is_none()
    }

    /// True while locks of a fence number are looked for.
    pub(super) fn is_searching(&self) -> bool {
        self.searches.iter().any(|search| search.next.is_some())
    }

    /// Nobody waits for what this client looked for.
    pub(super) fn forget_search(&mut self, client: usize) {
        self.searches.retain(|search| search.client != client);
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
