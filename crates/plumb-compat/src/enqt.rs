//! Called as `enqt`: its opcodes against a lock server of ours, and tables like its own.

mod profile;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};

use anyhow::{Context as _, bail};
use clap::{ArgMatches, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer as _, Watch};
use plumb_engine::{IntervalRecords, Sampler};
use plumb_lock::{FillOptions, Locks, TargetOptions, room};
use plumb_measure::{FindingKind, Floor, ResultRecord, Scope, Transport};
use serde_json::Value;

use plumb_command::exit::{self, Unread};
use plumb_command::{Exit, carry_out, plain, signals};
use profile::Profile;

const USAGE: &str = "usage: enqt pf=PROFILE OPCODE [ARGUMENTS] (Plumbline's own implementation, \
                     against `plumb lock serve`)
   8 [SECONDS [COUNT]]      print the server's statistics every SECONDS (5)
  10 SECONDS [PROCESSES]    put a load like that of sales and distribution on the server
  11 [OWNERS LOCKS]         take so many locks of so many owners (10 55000); they stay
  12 [OWNERS LOCKS]         release the locks that 11 took
     --depth N              with 11 and 12: so many requests under way for each owner (1)
  20 [OWNERS LOCKS]         read the locks that 11 took: is each there, and no other?
The profile names the server: enque/serverhost, enque/serverinst or SAPSYSTEM (port 32NN),
enque/encni/port, enqueue/table_size.";

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opcode {
    Live,
    Sales,
    Create,
    Destroy,
    Verify,
}

/// Runs `line` as enqt would.
pub fn main(line: &[OsString]) -> Exit {
    let words: Vec<String> =
        line.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut out = io::stdout();
    if words.iter().any(|word| matches!(&**word, "-h" | "-help" | "--help")) {
        let _ = writeln!(out, "{USAGE}"); // a closed pipe leaves nobody to tell, here and below
        return Exit::Ran;
    }
    match run(&words, &mut out) {
        Ok(exit) => exit,
        Err(error) => {
            let _ = writeln!(out, "*** ERROR => {}", exit::said(&error));
            Exit::DidNotRun
        }
    }
}

fn run(words: &[String], out: &mut (impl Write + Send)) -> anyhow::Result<Exit> {
    let path = words.iter().find_map(|word| word.strip_prefix("pf="));
    let path = path.with_context(|| format!("pf=PROFILE is missing\n{USAGE}"))?;
    let rest: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !word.starts_with("pf=")).collect();
    let Some((code, arguments)) = rest.split_first() else {
        bail!("the opcode is missing\n{USAGE}");
    };
    let opcode = match *code {
        "8" => Opcode::Live,
        "10" => Opcode::Sales,
        "11" => Opcode::Create,
        "12" => Opcode::Destroy,
        "20" => Opcode::Verify,
        other => bail!("opcode {other} is not one of 8, 10, 11, 12 and 20\n{USAGE}"),
    };
    let profile = profile::read(path)?;
    writeln!(Unread(&mut *out), "enqueue server {} port {}", profile.host, profile.port)?;
    let line = words_of(opcode, arguments, &profile)?;
    let matches = Locks.command().try_get_matches_from(&line).map_err(|message| {
        let text = message.to_string();
        let cause = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        anyhow::anyhow!("{cause}\n{USAGE}")
    })?;
    let stop = signals::stop()?;
    let room = target_of(&matches).and_then(|target| room::locks_at(&target, &stop));
    let wanted = if opcode == Opcode::Create { locks_of(&matches) } else { None };
    announce(&mut Unread(&mut *out), (profile.table_kib, room, wanted))?;
    match Locks.job(&matches).map_err(plain)? {
        Job::Verb(mut verb) => {
            // with nobody to read on it ends
            carry_out(verb.as_mut(), (out, &mut io::stderr()), &stop)
        }
        Job::Measure(mut job) => {
            let options = &job.outline().options;
            let published = published(opcode, options);
            let mut lines = Lines { out: &mut Unread(out), opcode, published, valid: true };
            job.run(&mut lines, &stop).map_err(plain)?;
            Ok(match (stop.asked(), lines.valid) {
                (true, _) => Exit::Interrupted,
                (false, true) => Exit::Ran,
                (false, false) => Exit::Finding,
            })
        }
    }
}

/// The server that the words name.
fn target_of(matches: &ArgMatches) -> Option<TargetOptions> {
    let (_, verb) = matches.subcommand()?.1.subcommand()?;
    TargetOptions::from_arg_matches(verb).ok()
}

/// Locks that are to be taken.
fn locks_of(matches: &ArgMatches) -> Option<u64> {
    let (_, verb) = matches.subcommand()?.1.subcommand()?;
    let options = FillOptions::from_arg_matches(verb).ok()?;
    Some(options.owners.get() as u64 * u64::from(options.locks.get()))
}

/// The table as the profile has it, in KiB, and the locks for which the server says that it has room;
/// whether that is enough for those that are `wanted`.
fn announce(
    out: &mut impl Write,
    (table_kib, room, wanted): (Option<u64>, Option<u64>, Option<u64>),
) -> io::Result<()> {
    if let Some(kib) = table_kib {
        writeln!(out, "the profile says enqueue/table_size {kib} KB")?;
    }
    let Some(room) = room else { return Ok(()) };
    writeln!(out, "the server has room for {room} locks")?;
    let raise = "raise --table-size of `plumb lock serve`";
    match (wanted, table_kib.map(room::locks_in)) {
        (Some(wanted), _) if wanted > room => {
            writeln!(out, "attention: {wanted} locks are to be taken, which is more; {raise}")
        }
        (_, Some(said)) if said > room => {
            writeln!(out, "attention: a table as in the profile has room for {said}; {raise}")
        }
        _ => Ok(()),
    }
}

/// What `--depth` says, and the other arguments.
fn depth_of<'a>(arguments: &[&'a str]) -> anyhow::Result<(Option<&'a str>, Vec<&'a str>)> {
    let mut others = arguments.to_vec();
    let Some(at) = others.iter().position(|word| *word == "--depth") else {
        return Ok((None, others));
    };
    anyhow::ensure!(at + 1 < others.len(), "--depth needs a number\n{USAGE}");
    let depth = others.remove(at + 1);
    others.remove(at);
    Ok((Some(depth), others))
}

/// Which published table a figure may be set against, and how far.
fn published(opcode: Opcode, options: &BTreeMap<String, Value>) -> Option<String> {
    const PAPER: &str = "of \"SAP enqt\" with SMC-R";
    let number = |name: &str| options.get(name).and_then(Value::as_u64);
    let text = match opcode {
        Opcode::Sales => {
            let connections = options.get("connections").and_then(|them| them.get(0)?.as_u64());
            let table = match connections {
                Some(1) => "table 4 (1 process)",
                Some(5) => "table 5 (5 processes)",
                _ => return Some("no published table has so many processes".into()),
            };
            format!(
                "{table} {PAPER}: what changes between two transports, not the rate; its orders \
                 take other locks than ours"
            )
        }
        Opcode::Create if number("depth") != Some(1) => {
            "no published table: with --depth requests share a round trip".into()
        }
        Opcode::Create if (number("owners"), number("locks")) == (Some(10), Some(55_000)) => {
            format!(
                "table 6 {PAPER} (10 x 55,000 locks): the time, as far as both servers do the same"
            )
        }
        Opcode::Create => "no published table: table 6 has 10 x 55,000 locks".into(),
        Opcode::Live | Opcode::Destroy | Opcode::Verify => return None,
    };
    Some(text)
}

/// The same in the words of `plumb lock`.
fn words_of(opcode: Opcode, arguments: &[&str], profile: &Profile) -> anyhow::Result<Vec<String>> {
    let (depth, arguments) = depth_of(arguments)?;
    let at = |index: usize, usual: &str| {
        arguments.get(index).map_or_else(|| usual.to_owned(), |word| (*word).to_owned())
    };
    let host = match profile.host.contains(':') {
        true => format!("[{}]:{}", profile.host, profile.port),
        false => format!("{}:{}", profile.host, profile.port),
    };
    let counted = matches!(opcode, Opcode::Create | Opcode::Destroy);
    anyhow::ensure!(counted || depth.is_none(), "--depth belongs to 11 and 12\n{USAGE}");
    anyhow::ensure!(arguments.len() <= 2, "there are too many arguments\n{USAGE}");
    let verb = |name: &str| vec!["lock".to_owned(), "load".into(), name.into(), host.clone()];
    Ok(match opcode {
        Opcode::Live => {
            let every = format!("{}s", at(0, "5"));
            [verb("live"), vec!["--every".into(), every, "--count".into(), at(1, "0")]].concat()
        }
        Opcode::Sales => {
            anyhow::ensure!(!arguments.is_empty(), "opcode 10 needs its SECONDS\n{USAGE}");
            let time = format!("{}s", at(0, ""));
            let more = vec!["--for".into(), time, "--connections".into(), at(1, "1")];
            [verb("sd"), more].concat()
        }
        Opcode::Create | Opcode::Destroy => {
            let name = if opcode == Opcode::Create { "create" } else { "destroy" };
            let depth = vec!["--depth".into(), depth.unwrap_or("1").to_owned()];
            [verb(name), vec![at(0, "10"), at(1, "55000")], depth].concat()
        }
        Opcode::Verify => [verb("verify"), vec![at(0, "10"), at(1, "55000")]].concat(),
    })
}

/// Prints a result as enqt does.
struct Lines<'a, W> {
    out: &'a mut W,
    opcode: Opcode,
    /// What the figure may be set against.
    published: Option<String>,
    valid: bool,
}

impl<W: Write> Lines<'_, W> {
    fn print(&mut self, result: &ResultRecord) -> io::Result<()> {
        let found = |name: &str| {
            let found = result.figures.iter().find(|figure| figure.name == name);
            found.map(|figure| figure.value)
        };
        let figure = |name: &str| found(name).unwrap_or(0.0);
        let seconds = result.duration_ns / 1_000_000_000;
        let part = result.duration_ns % 1_000_000_000 / 1_000_000;
        let time = format!("{seconds}.{part:03} s");
        match self.opcode {
            Opcode::Sales => {
                writeln!(
                    self.out,
                    "{:<12}{:>12}{:>12}{:>12}{:>12}",
                    "Operation", "actual", "10 sec", "1 min", "5 min"
                )?;
                write!(self.out, "{:<12}", "Enqueue")?;
                for window in ["actual", "10 s", "1 min", "5 min"] {
                    match found(&format!("enqueues a minute, {window}")) {
                        Some(rate) => write!(self.out, "{rate:>12.0}")?,
                        None => write!(self.out, "{:>12}", "-")?, // less than that has run
                    }
                }
                writeln!(self.out)?;
            }
            Opcode::Create => {
                let failed: u64 = result.failures.values().sum();
                match failed {
                    0 => write!(
                        self.out,
                        "{} locks taken in {time}, {:.0}/s",
                        result.operations, result.throughput_per_s
                    )?,
                    // the time is also that of refusals: no rate
                    _ => write!(
                        self.out,
                        "{} of {} locks taken in {time}",
                        result.operations,
                        result.operations + failed
                    )?,
                }
                if let Some(bytes) = found("bytes a lock") {
                    write!(self.out, ", {bytes:.0} bytes a lock")?;
                }
                writeln!(self.out)?;
            }
            Opcode::Destroy => {
                let (released, expected) = (figure("locks released"), figure("locks expected"));
                write!(self.out, "{released:.0} of {expected:.0} locks released in {time}")?;
                match result.operations {
                    0 => writeln!(self.out)?,
                    owners => writeln!(self.out, ", all of {owners} owners")?,
                }
            }
            Opcode::Verify => {
                let (found, expected) = (figure("locks found"), figure("locks expected"));
                write!(self.out, "{found:.0} of {expected:.0} locks verified in {time}")?;
                match figure("locks beyond these") {
                    beyond if beyond > 0.0 => writeln!(self.out, ", {beyond:.0} too many")?,
                    _ => writeln!(self.out)?,
                }
            }
            Opcode::Live => {}
        }
        if let Some(published) = &self.published
            && is_valid(result)
        {
            writeln!(self.out, "may be set against: {published}")?;
            writeln!(
                self.out,
                "what else ran on this machine was not looked at: `plumb lock load` does that"
            )?;
        }
        if let Some(ns) = result.cpu.and_then(|cpu| cpu.server_ns_per_op) {
            let (us, part) = (ns / 1_000, ns % 1_000 / 10);
            writeln!(self.out, "{us}.{part:02} us of the server's processor time an operation")?;
        }
        for (kind, count) in &result.failures {
            writeln!(self.out, "*** ERROR => {count} operations failed: {kind}")?;
        }
        for finding in &result.validity.reasons {
            match finding.scope {
                Scope::Everything | Scope::Unchecked => {
                    writeln!(self.out, "*** ERROR => the figures are not valid: {}", finding.text)?;
                }
                Scope::Latency => writeln!(self.out, "attention: {}", finding.text)?,
                Scope::Nothing if finding.kind == FindingKind::Complaint => {
                    writeln!(self.out, "attention: {}", finding.text)?;
                }
                Scope::Nothing => {}
            }
        }
        self.out.flush()
    }
}

/// True for a result whose figures stand. What else ran on this machine is not looked at.
fn is_valid(result: &ResultRecord) -> bool {
    result.validity.valid && result.failures.is_empty()
}

impl<W: Write> Watch for Lines<'_, W> {
    fn floor(&mut self, _: Floor) {}

    fn reached(&mut self, _: Transport) {}

    fn server(&mut self, _: String) {}

    fn point(&mut self, _: &BTreeMap<String, String>) -> &mut dyn Sampler {
        self
    }

    fn result(&mut self, result: ResultRecord, _: u64) -> Result<(), JobError> {
        self.valid &= is_valid(&result);
        Ok(self.print(&result)?)
    }
}

impl<W: Write> Sampler for Lines<'_, W> {
    fn interval(&mut self, _: &IntervalRecords) {}
}

#[cfg(test)]
mod tests {
    use plumb_measure::Validity;

    use super::*;

    #[test]
    fn figures_that_are_not_valid_are_set_against_nothing() {
        let print = |validity: Validity| {
            let (mut out, published) = (Vec::new(), Some("table 4".to_owned()));
            let mut lines = Lines { out: &mut out, opcode: Opcode::Sales, published, valid: true };
            let result = ResultRecord { validity, ..ResultRecord::default() };
            lines.result(result, 0).expect("it is written");
            (lines.valid, String::from_utf8(out).expect("text"))
        };
        let (valid, text) = print(Validity::of([]));
        assert!(valid && text.contains("may be set against: table 4\nwhat else ran"), "{text}");
        let (valid, text) = print(Validity::of([]).cut_short_by("the server went"));
        assert!(!valid && !text.contains("may be set against"), "{text}");
        assert!(text.contains("*** ERROR => the figures are not valid: the run ended"), "{text}");
        let (valid, text) = print(Validity::of([]).with_remark("locks of this load may be left"));
        assert!(valid && text.contains("\nattention: locks of this load may be left"), "{text}");
    }
}
