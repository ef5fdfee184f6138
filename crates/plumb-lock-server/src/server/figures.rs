//! What the server says of itself: for people, for monitoring, for clients.

use std::fmt::Write as _;

use plumb_engine::clock;
use plumb_lock_table::table::{Holder, Rules};
use plumb_measure::Clock;
use plumb_wire::prometheus::Exposition;
use plumb_wire::resp;

use super::LockServer;
use super::refusal::Refusal;
use super::words::Command;

/// The version of Redis whose commands this server has where it has any: clients ask.
pub(super) const REDIS_VERSION: &str = "7.0.0";

/// One figure: its name, whether it only grows, what it is, and its value.
pub(super) type Figure = (&'static str, bool, &'static str, u64);

impl<C: Clock, R: Rules> LockServer<'_, C, R> {
    fn figures(&self) -> Vec<Figure> {
        let (usage, counts) = (self.table.usage(), &self.counts);
        let clients = self.clients.iter().flatten().count() as u64;
        let [owners, arguments, locks] = [usage.owners, usage.arguments, usage.locks];
        let mut figures = vec![
            (
                "uptime_seconds",
                true,
                "Time since the start",
                (self.now - self.started) / 1_000_000_000,
            ),
            (
                "cpu_microseconds",
                true,
                "Processor time of the server's process",
                clock::process_cpu_ns() / 1_000,
            ),
            ("epoch", false, "Another number when locks were lost", self.plan.epoch),
            ("clients", false, "Connections", clients),
            ("connections", true, "Connections so far", self.connections_so_far),
            ("waiting", false, "Clients that wait for a lock", self.waiters.len() as u64),
            (
                "leases",
                false,
                "Times of leases, graces and keys that run",
                self.lives.leases() as u64,
            ),
            ("commands", true, "Commands", counts.commands),
            ("granted", true, "Requests granted", counts.granted),
            ("rejected", true, "Requests rejected", counts.rejected),
            ("errors", true, "Commands refused with an error", counts.errors),
            ("dequeues", true, "Requests to release", counts.dequeues),
            ("dequeue_alls", true, "Requests to release everything", counts.clears),
            ("inherits", true, "Inheritances", counts.inherits),
            ("removals", true, "Locks removed by an administrator", counts.removals),
            ("expired", true, "Owners and keys that ended by time or connection", counts.expired),
            ("waits", true, "Requests that waited", counts.waited),
            ("reports", true, "Listings and checks", counts.reports),
            ("wrong_passwords", true, "Passwords that were wrong", counts.guesses),
            (
                "turn_work_maximum",
                false,
                "Most commands and rows of one turn",
                self.turn_work_peak(),
            ),
            ("scanned", true, "Arguments looked at for wildcards", self.table.scanned()),
            ("overflows", true, "Times the table was full", self.table.overflow_count()),
            ("backups", false, "Locks inherited by an update", self.table.backups().into()),
            ("table_bytes", false, "Bytes allocated for the table", self.table.allocated() as u64),
            ("owners", false, "Owners", owners.actual.into()),
            ("owners_peak", false, "Most owners", owners.peak.into()),
            ("arguments", false, "Arguments locked", arguments.actual.into()),
            ("arguments_peak", false, "Most arguments", arguments.peak.into()),
            ("locks", false, "Locks", locks.actual.into()),
            ("locks_peak", false, "Most locks", locks.peak.into()),
            ("rows_maximum", false, "Most owners, arguments or locks", locks.maximum.into()),
            ("syncs", true, "Times the journal was made to last", self.notes.syncs()),
        ];
        figures.extend(self.replication_figures());
        figures
    }

    /// The text format of Prometheus.
    pub(super) fn metrics(&self) -> String {
        let mut page = Exposition::new("plumb_lock_");
        for (name, grows, help, value) in self.figures() {
            let help = format!("{help}.");
            if grows {
                page.counter(&format!("{name}_total"), &help, value);
            } else {
                page.gauge(name, &help, value);
            }
        }
        page.finish()
    }

    /// `INFO`, in the form clients of Redis read.
    pub(super) fn info(&self) -> String {
        let mut text = format!(
            "# Server\r\nredis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\n\
             plumb_version:{}\r\nrun_id:{:040x}\r\njournal:{}\r\ntick:{}\r\n\r\n# Replication\r\nrole:{}\r\n\
             replication:{}\r\n\r\n# Locks\r\n",
            env!("CARGO_PKG_VERSION"),
            self.plan.replication.id,
            self.notes.policy_name(),
            self.plan.tick.name(),
            self.role_name(),
            self.replication_name(),
        );
        for (name, _, _, value) in self.figures() {
            let _ = write!(text, "{name}:{value}\r\n");
        }
        text
    }

    /// `LOCKSTAT`, `LOCKSTAT OVERFLOWS`, `LOCKSTAT FORGET`.
    pub(super) fn lockstat(
        &mut self,
        client: usize,
        command: Command<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let version = self.version(client);
        match command.len() {
            1 => {
                let figures = self.figures();
                resp::push_map(out, figures.len(), version);
                for (name, _, _, value) in figures {
                    resp::push_bulk(out, name.as_bytes());
                    resp::push_integer(out, value);
                }
            }
            2 if command.is(1, "OVERFLOWS") => self.push_overflows(out),
            2 if command.is(1, "FORGET") => {
                self.table.forget_overflows();
                resp::push_simple(out, "OK");
            }
            _ => return Err(Refusal::Word(command.text(1), "OVERFLOWS and FORGET are known")),
        }
        Ok(())
    }

    /// Number, time, part, and the owners and arguments that held most.
    fn push_overflows(&self, out: &mut Vec<u8>) {
        resp::push_array(out, self.table.overflows().count());
        for overflow in self.table.overflows() {
            resp::push_array(out, 5);
            resp::push_integer(out, overflow.number);
            resp::push_integer(out, overflow.at_ms);
            resp::push_bulk(out, overflow.part.name().as_bytes());
            push_holders(out, &overflow.owners);
            push_holders(out, &overflow.arguments);
        }
    }
}

fn push_holders(out: &mut Vec<u8>, holders: &[Holder]) {
    resp::push_array(out, 2 * holders.len());
    for holder in holders {
        resp::push_bulk(out, &holder.text);
        resp::push_integer(out, holder.locks.into());
    }
}
