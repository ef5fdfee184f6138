//! A witness: servers ask it who gives locks out; it keeps no lock.

use plumb_engine::Peer;
use plumb_lock_pair::election::{Request, Store, Witness};
use plumb_lock_table::journal::{Notes, Restored};
use plumb_lock_table::table::{Limits, Rules};
use plumb_measure::Clock;
use plumb_wire::resp;

use super::Role;
use crate::server::refusal::Refusal;
use crate::server::told::Told;
use crate::server::words::Command;
use crate::server::{Event, LockServer, ServerPlan};

/// What a witness keeps, and where.
pub(in crate::server) struct Witnessing {
    pub(in crate::server) witness: Witness,
    store: Box<dyn Store>,
    /// Something has changed that is not kept yet.
    changed: bool,
}

impl std::fmt::Debug for Witnessing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witnessing").field("witness", &self.witness).finish_non_exhaustive()
    }
}

impl<'a, C: Clock, R: Rules> LockServer<'a, C, R> {
    /// A witness that goes on from this state, and keeps it there. Of a lock server it has the
    /// connections, who may ask, and the figures.
    pub fn witness(
        plan: ServerPlan,
        (witness, store): (Witness, Box<dyn Store>),
        clock: C,
        tell: &'a mut (dyn FnMut(Event<'_>) + Send),
    ) -> Self {
        let restored = Restored::<R>::empty(Limits { rows: 1, scan: 1 });
        let mut server = Self::new(plan, (restored, Notes::none()), clock, tell);
        server.replicated.role = Role::Witness(Witnessing { witness, store, changed: false });
        server
    }

    /// `WITNESS CLAIM ...` and `WITNESS KEEP ...`.
    pub(in crate::server) fn bear_witness(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let Role::Witness(witnessing) = &mut self.replicated.role else {
            return Err(Refusal::NoWitness);
        };
        let words: Vec<&[u8]> = (0..command.len()).map(|at| command.get(at)).collect();
        let request = Request::read(&words)?;
        let before = witnessing.witness;
        let answer = witnessing.witness.hear(&request);
        witnessing.changed |= witnessing.witness != before;
        let words = answer.words();
        resp::push_array(out, words.len());
        words.iter().for_each(|word| resp::push_bulk(out, word.as_bytes()));
        self.plan.epoch = answer.register.epoch;
        let (was, is) = (before.register(), answer.register);
        if (was.holder, was.partner, was.epoch) != (is.holder, is.partner, is.epoch) {
            let peer = self.clients[client].as_ref().map_or(Peer::Unix, |it| it.peer.clone());
            (self.tell)(Event::Replication(Told::Kept(&peer, is)));
        }
        Ok(())
    }

    /// True when a witness has not kept yet what it answers.
    pub(in crate::server) fn has_to_keep(&self) -> bool {
        matches!(&self.replicated.role, Role::Witness(it) if it.changed)
    }

    /// A witness keeps what it has answered, before anybody is told.
    pub(in crate::server) fn keep_witness(&mut self) -> std::io::Result<()> {
        if let Role::Witness(it) = &mut self.replicated.role
            && it.changed
        {
            it.store.keep(&it.witness)?;
            it.changed = false;
        }
        Ok(())
    }
}
