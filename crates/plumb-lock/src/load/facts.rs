//! What a server says of its own cost, before and after a load.

use plumb_engine::Stop;
use plumb_measure::{CpuUse, Tick};

use crate::ask::{PATIENCE, run};
use crate::target::Target;

/// With fewer commands a connection, what connecting costs would be taken for theirs.
const COMMANDS_A_CONNECTION_MIN: u64 = 200;

/// The totals of a server since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Processor time of its process, nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Commands.
    pub(crate) commands: u64,
    /// Bytes that hold its locks: those allocated for the table, or all that Redis uses.
    pub(crate) bytes: u64,
    /// Locks that are there; `None` when it does not tell.
    pub(crate) locks: Option<u64>,
    /// The table has held more locks than now: what is new takes places that are there already.
    pub(crate) spare: bool,
    /// What it does about its tick; `None` when it does not tell.
    pub(crate) tick: Option<Tick>,
    /// Which server counts, and since which start: another number is another count. `None` when it
    /// does not tell.
    pub(crate) run: Option<u64>,
}

impl Facts {
    /// Asks for them; `None` when the server does not tell.
    pub(crate) fn ask(target: &Target, stop: &Stop) -> Option<Self> {
        let said = target.ask_one(&[b"INFO"], PATIENCE, stop).ok()?;
        Self::parse(&said.text())
    }

    /// Those of before and after a load, where one server counted all the time.
    pub(crate) fn of_one_run(before: Option<Self>, after: Option<Self>) -> Option<(Self, Self)> {
        before.zip(after).filter(|(before, after)| before.run == after.run)
    }

    fn parse(info: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.trim().split_once(':'));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let whole = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
        let run = value("run_id").and_then(run);
        if let Some(us) = whole("cpu_microseconds") {
            let (commands, bytes) = (whole("commands")?, whole("table_bytes")?);
            let locks = whole("locks")?;
            let spare = whole("locks_peak")? > locks;
            let tick = value("tick").and_then(|name| name.parse().ok());
            let (cpu_ns, locks) = (us * 1_000, Some(locks));
            return Some(Self { cpu_ns, commands, bytes, locks, spare, tick, run });
        }
        let spent = |name: &str| value(name).and_then(nanoseconds);
        Some(Self {
            cpu_ns: spent("used_cpu_user")? + spent("used_cpu_sys")?,
            commands: whole("total_commands_processed")?,
            bytes: whole("used_memory")?,
            locks: None,
            spare: false,
            tick: None,
            run,
        })
    }

    /// What a lock takes, bytes, behind so many that were `taken`; `None` where that cannot be told.
    /// One that its owner had already is no lock more.
    pub(crate) fn bytes_a_lock(self, before: Self, taken: u64) -> Option<f64> {
        let locks = match (self.locks, before.locks) {
            (Some(locks), Some(before)) => locks.checked_sub(before)?,
            _ => taken,
        };
        #[expect(clippy::cast_precision_loss, reason = "figures are floats")]
        let each = |grown: u64| grown as f64 / locks as f64;
        let grown = self.bytes.checked_sub(before.bytes)?;
        (locks > 0 && !before.spare).then(|| each(grown))
    }

    /// Adds to `cpu` what a command cost the server since `before`, whoever sent it.
    pub(crate) fn add_cost(self, before: Self, connections: u64, cpu: &mut CpuUse) {
        let commands = self.commands.saturating_sub(before.commands);
        if commands >= connections.saturating_mul(COMMANDS_A_CONNECTION_MIN) {
            let spent = self.cpu_ns.checked_sub(before.cpu_ns);
            cpu.server_ns_per_op = spent.and_then(|ns| ns.checked_div(commands));
        }
    }
}

/// `1.250000` seconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let part: String = part.chars().chain("000000000".chars()).take(9).collect();
    Some(whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + part.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_servers_are_understood() {
        let ours = "# Server\r\nplumb_version:1\r\n\r\n# Locks\r\ncpu_microseconds:25\r\n\
                    commands:7\r\ntable_bytes:4096\r\nlocks:3\r\nlocks_peak:4\r\n";
        let locks = Some(3);
        let facts = Facts {
            cpu_ns: 25_000,
            commands: 7,
            bytes: 4_096,
            locks,
            spare: true,
            ..Facts::default()
        };
        assert_eq!(Facts::parse(ours), Some(facts));
        let holds = format!("tick:held\r\n{ours}");
        assert_eq!(Facts::parse(&holds).unwrap().tick, Some(Tick::Held));
        let theirs = "used_memory:9\r\ntotal_commands_processed:3\r\nused_cpu_sys:0.000250\r\n\
                      used_cpu_user:1.5\r\n";
        let facts = Facts { cpu_ns: 1_500_250_000, commands: 3, bytes: 9, ..Facts::default() };
        assert_eq!(Facts::parse(theirs), Some(facts));
        assert_eq!(Facts::parse("redis_version:7\r\n"), None);
    }

    #[test]
    fn totals_of_two_servers_or_of_two_starts_are_not_set_against_each_other() {
        let of = |run: &str| {
            Facts::parse(&format!(
                "run_id:{run}\r\ncpu_microseconds:25\r\ncommands:7\r\ntable_bytes:4096\r\n\
             locks:3\r\nlocks_peak:4\r\n"
            ))
        };
        let ours = [format!("{:040x}", u64::MAX), format!("{:040x}", u64::MAX - 1)];
        let theirs = "6f3bd3d25a6bba43f2a07b6d34ee5f0ea15e6d2a";
        for one in [&*ours[0], &*ours[1], theirs] {
            assert!(Facts::of_one_run(of(one), of(one)).is_some(), "{one}");
            assert!(of(one).unwrap().run.is_some(), "{one}");
        }
        assert_eq!(Facts::of_one_run(of(&ours[0]), of(&ours[1])), None);
        assert_eq!(Facts::of_one_run(of(theirs), of(&ours[1])), None);
        assert_eq!(Facts::of_one_run(None, of(theirs)), None);
        assert_eq!(of("none").unwrap().run, None);
    }

    #[test]
    fn connecting_is_not_taken_for_commands() {
        let after = Facts { cpu_ns: 9_000, commands: 900, ..Facts::default() };
        let mut cpu = CpuUse::default();
        after.add_cost(Facts::default(), 5, &mut cpu);
        assert_eq!(cpu.server_ns_per_op, None);
        after.add_cost(Facts::default(), 4, &mut cpu);
        assert_eq!(cpu.server_ns_per_op, Some(10));
    }

    #[test]
    fn a_table_that_has_room_does_not_tell_what_a_lock_takes() {
        let after = Facts { bytes: 1_000, ..Facts::default() };
        assert_eq!(after.bytes_a_lock(Facts::default(), 10), Some(100.0));
        assert_eq!(after.bytes_a_lock(Facts::default(), 0), None);
        assert_eq!(after.bytes_a_lock(Facts { spare: true, ..Facts::default() }, 10), None);
        assert_eq!(after.bytes_a_lock(Facts { bytes: 1_001, ..Facts::default() }, 10), None);
    }

    #[test]
    fn locks_that_were_there_already_take_nothing() {
        let with = |locks| Facts { bytes: 1_000, locks: Some(locks), ..Facts::default() };
        let before = Facts { bytes: 0, ..with(10) };
        assert_eq!(with(10).bytes_a_lock(before, 10), None, "each was counted up");
        assert_eq!(with(15).bytes_a_lock(before, 10), Some(200.0));
        assert_eq!(with(9).bytes_a_lock(before, 10), None, "others went meanwhile");
    }
}
