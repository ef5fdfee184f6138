//! Which command a client has sent.

use plumb_lock_table::table::Rules;
use plumb_measure::Clock;
use plumb_wire::resp;

use super::refusal::Refusal;
use super::words::Command;
use super::{After, LockServer, scrape};

/// A connection on which so many passwords were wrong is closed.
const GUESSES_MAX: u32 = 5;

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    /// Serves one command.
    pub(super) fn obey(&mut self, client: usize, command: Command<'_>, out: &mut Vec<u8>) -> After {
        self.counts.commands += 1;
        self.answer(client, command, out)
    }

    pub(super) fn answer(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> After {
        match self.command(client, command, out) {
            Ok(after) => after,
            Err(refusal) => {
                self.counts.errors += 1;
                resp::push_error(out, refusal.to_string().as_bytes());
                let client = self.clients[client].as_ref();
                let guesses = client.is_some_and(|client| client.guesses >= GUESSES_MAX);
                let last = guesses || matches!(refusal, Refusal::Guesses | Refusal::NoPlace(_));
                if last { After::Close } else { After::Next }
            }
        }
    }

    fn command(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<After, Refusal> {
        const LONGEST: usize = 11;
        let mut capitals = [0; LONGEST];
        let word = command.get(0);
        let Some(verb) = capitals.get_mut(..word.len()) else {
            return Err(Refusal::Unknown(command.text(0)));
        };
        verb.copy_from_slice(word);
        verb.make_ascii_uppercase();
        match &*verb {
            b"GET" if scrape::is_request(command) => return Ok(After::Page),
            b"POST" | b"HOST:" => {
                // a page in somebody's browser has sent this; what follows may be commands
                resp::push_error(out, b"ERR this is no server of pages");
                return Ok(After::Close);
            }
            _ => {}
        }
        if !self.may(client) && !matches!(&*verb, b"AUTH" | b"HELLO" | b"QUIT") {
            return Err(Refusal::NoAuth);
        }
        if self.is_bounded(client) {
            self.bound(client, verb, command)?;
        }
        if matches!(&*verb, b"AUTH" | b"HELLO") && self.may_not_guess_yet(client, command)? {
            return Ok(After::Wait);
        }
        self.may_do(client, verb, command)?;
        if !is_free_of_locks(verb) {
            self.may_give_out()?;
            self.replicated.shows = true;
        }
        match &*verb {
            b"ENQ" => return self.enq(client, command, out),
            b"PROMOTE" => return self.promote(client, command, out),
            b"DEQ" => self.deq(client, command, out)?,
            b"DEQALL" => return self.deqall(client, command, out),
            b"CHECK" => return self.check(client, command, out),
            b"INHERIT" => self.inherit(client, command, out)?,
            b"RENEW" => self.renew(client, command, out)?,
            b"REMOVE" => return self.remove(client, command, out),
            b"LOCKS" => self.list(command, out)?,
            b"DIGEST" => self.digest(command, out)?,
            b"COUNT" => self.count(command, out)?,
            b"LOCKSTAT" => self.lockstat(client, command, out)?,
            b"METRICS" if command.len() == 1 => {
                resp::push_bulk(out, self.metrics().as_bytes());
            }
            b"METRICS" => return Err(Refusal::Arity("metrics")),
            b"EPOCH" if command.len() == 1 => resp::push_integer(out, self.plan.epoch),
            b"EPOCH" => return Err(Refusal::Arity("epoch")),
            b"ROLE" => self.tell_role(out),
            b"WITNESS" => self.bear_witness(client, command, out)?,
            b"REPLICA" => {
                self.replica(client, command, out)?;
                if command.is(1, "STREAM") {
                    return Ok(After::Stream);
                }
            }
            b"SET" => self.set(client, command, out)?,
            b"DEL" | b"UNLINK" => self.del(client, command, out)?,
            b"EVAL" | b"EVALSHA" => self.eval(client, command, out)?,
            b"SUBSCRIBE" => self.subscribe(client, command, out)?,
            b"UNSUBSCRIBE" => self.unsubscribe(client, command, out),
            b"QUIT" => {
                resp::push_simple(out, "OK");
                return Ok(After::Close);
            }
            _ => self.about_keys(client, command, verb, out)?,
        }
        Ok(After::Next)
    }
}

/// True for a command that neither needs nor shows what is locked, or shows it to administrators
/// as this server has it.
pub(super) fn is_free_of_locks(verb: &[u8]) -> bool {
    match verb {
        b"ENQ" | b"DEQ" => false, // the most frequent first
        b"PING" | b"ECHO" | b"HELLO" | b"AUTH" | b"QUIT" | b"SELECT" | b"INFO" | b"CLIENT"
        | b"COMMAND" | b"CONFIG" | b"LOCKSTAT" | b"METRICS" | b"EPOCH" | b"ROLE" | b"REPLICA"
        | b"LOCKS" | b"DIGEST" | b"COUNT" | b"STAMPS" | b"WITNESS" => true,
        _ => false,
    }
}
