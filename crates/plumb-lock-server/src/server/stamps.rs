//! Clients that ask how long the server has their commands.

use plumb_engine::ClientStamps;
use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::extension::{StampTerms, StampedMessage};
use plumb_wire::resp;

use super::LockServer;
use super::refusal::Refusal;
use super::words::Command;
use crate::stamps::STAMPS;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// `STAMPS every skip`: behind later replies the client is told how long the server had one
    /// command in `every`, the first `skip` behind this one not counted.
    pub(super) fn stamp_commands(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        command.exactly(3, "stamps")?;
        const REMEDY: &str = "STAMPS takes every (1 or more) and skip";
        let number = |at: usize| {
            let number = command.number(at, REMEDY)?;
            u32::try_from(number).map_err(|_| Refusal::Number(command.text(at), REMEDY))
        };
        // this command is counted with the others, and comes first
        let terms = StampTerms { every: number(1)?, skip: number(2)?.saturating_add(1) };
        if terms.every == 0 {
            return Err(Refusal::Number(command.text(1), REMEDY));
        }
        if let Some(client) = &mut self.clients[client] {
            client.stamps = Some(Box::new((ClientStamps::new(terms), 0)));
        }
        resp::push_simple(out, "OK");
        Ok(())
    }

    /// So many commands of the client were served at once; `answered` when it has its replies.
    pub(super) fn count_commands(
        &mut self,
        client: usize,
        commands: u64,
        answered: bool,
        out: &mut Vec<u8>,
    ) {
        let known = self.clients[client].as_mut().and_then(|client| client.stamps.as_deref_mut());
        let Some((stamps, so_far)) = known.filter(|_| commands > 0) else { return };
        stamps.serve(*so_far, commands);
        *so_far += commands;
        if answered && let Some(told) = stamps.take_due() {
            push(told, out);
        }
    }
}

fn push(told: StampedMessage, out: &mut Vec<u8>) {
    resp::push_array(out, 5);
    resp::push_bulk(out, STAMPS);
    resp::push_integer(out, told.number.into());
    for ns in [told.waking_ns, told.work_ns, told.sending_ns] {
        resp::push_integer(out, ns);
    }
}
