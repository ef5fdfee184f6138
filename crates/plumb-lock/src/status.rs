//! `plumb lock status`: is the server there, how busy is it, how full is its table?

mod overflow;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use plumb_engine::Stop;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_measure::{Clock as _, Share, Span};
use serde_json::json;

use crate::LockError;
use crate::ask::Figures;
use crate::target::TargetOptions;
use overflow::Overflow;

/// What is asked, and what is still in order.
#[derive(Args, Clone, Debug)]
pub struct StatusOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Count for so long to tell rates; 0s: tell none
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub over: Span,

    /// An answer must be there within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: Span,

    /// The use of the table from which on the exit code is 1
    #[arg(long, value_name = "PERCENT", default_value = "90%")]
    pub full: Share,

    /// The epoch that is expected: with another one, locks were lost, and the exit code is 1
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Asks a server how it is.
#[derive(Debug)]
pub struct Status {
    options: StatusOptions,
    warned: bool,
}

/// Counters that are told as rates, what this command itself asks left out.
const RATES: [&str; 6] = ["commands", "granted", "rejected", "dequeues", "dequeue_alls", "errors"];

impl Status {
    /// Asks as `options` say, once it runs.
    #[must_use]
    pub fn new(options: StatusOptions) -> Self {
        Self { options, warned: false }
    }

    fn look(&mut self, out: &mut dyn Write, stop: &Stop) -> Result<(), LockError> {
        let target = self.options.target.resolve()?;
        let (patience, over) = (self.options.timeout, self.options.over);
        let before = target.figures(patience, stop)?;
        let begun_ns = MonotonicClock.now_ns();
        let mut rates = BTreeMap::new();
        let mut now = before.clone();
        if over.ns() > 0 {
            stop.wait_until(begun_ns + over.ns())?;
            now = target.figures(patience, stop)?;
            let time_ns = MonotonicClock.now_ns() - begun_ns;
            rates = rates_of(&before, &now, time_ns, target.commands_a_question());
        }
        let findings = self.findings(&now);
        self.warned = !findings.is_empty();
        let overflows = match now.of("overflows") {
            0 => Some(Vec::new()),
            _ => {
                let said = target.ask(&[&[b"LOCKSTAT", b"OVERFLOWS"]], patience, stop)?;
                said.first().and_then(overflow::all)
            }
        };
        if self.options.json {
            let listed = |overflows: &Vec<_>| overflows.iter().map(Overflow::json).collect();
            let overflows: Option<Vec<_>> = overflows.as_ref().map(listed);
            let state = json!({
                "schema": "plumb.lock-status/1", "server": target.name, "findings": findings, "per_s": rates,
                "figures": now.by_name, "overflows": overflows,
            });
            writeln!(out, "{state:#}")?;
        } else {
            print(out, &target.name, &now, &rates)?;
            if !now.go_on_from(&before) {
                writeln!(out, "no rates: another server, or another start of it, answered later")?;
            }
            if let Some(last) = overflows.as_ref().and_then(|them| them.last()) {
                writeln!(out, "{last}")?;
            }
            findings.iter().try_for_each(|finding| writeln!(out, "attention: {finding}"))?;
        }
        Ok(())
    }

    /// What is not in order.
    fn findings(&self, now: &Figures) -> Vec<String> {
        let mut findings = Vec::new();
        let maximum = now.of("rows_maximum");
        for part in ["owners", "arguments", "locks"] {
            let used = share(now.of(part), maximum);
            if used >= self.options.full.of_one() {
                findings.push(format!(
                    "{:.1} % of the {part} are in use; a larger --table-size holds more",
                    100.0 * used
                ));
            }
        }
        let (witnesses, reached) = (now.of("witnesses"), now.of("witnesses_reached"));
        if now.of("gives_out") == 1 && reached < witnesses {
            findings.push(format!("{reached} of its {witnesses} witnesses can be asked"));
        }
        if now.of("witness") == 1 {
            return findings;
        }
        if now.of("in_sync") == 1 && now.of("primary") == 0 {
            return findings; // as a replica is
        }
        findings.extend(trouble_of_two(now).map(Into::into));
        if now.of("contested") == 1 {
            findings.push(
                "another server gives locks out, too, and a lock may be held twice: stop one of the \
                 two, and start it again with --replica-of the other (the log says where it is)"
                    .into(),
            );
        }
        let epoch = now.of("epoch");
        if let Some(expected) = self.options.epoch.filter(|expected| *expected != epoch) {
            findings.push(format!(
                "the epoch is {epoch}, not {expected}: locks were lost, take them anew"
            ));
        }
        findings
    }
}

fn print(
    out: &mut dyn Write,
    name: &str,
    now: &Figures,
    rates: &BTreeMap<String, f64>,
) -> Result<(), LockError> {
    let of = |name: &str| now.of(name);
    writeln!(
        out,
        "lock server {name}: serving for {} s, epoch {}, clients {}, waiting {}",
        of("uptime_seconds"),
        of("epoch"),
        of("clients"),
        of("waiting")
    )?;
    if let Some(pair) = pair(now) {
        writeln!(out, "{pair}")?;
    }
    writeln!(out, "{:<12}{:>12}{:>12}{:>12}{:>8}", "", "now", "peak", "maximum", "use")?;
    let maximum = of("rows_maximum");
    for part in ["owners", "arguments", "locks"] {
        let peak = of(&format!("{part}_peak"));
        let used = 100.0 * share(of(part), maximum);
        writeln!(out, "{part:<12}{:>12}{peak:>12}{maximum:>12}{used:>6.1} %", of(part))?;
    }
    for (name, rate) in rates {
        writeln!(out, "{:<12}{rate:>12.1}/s", name.replace('_', " "))?;
    }
    Ok(())
}

/// What is not in order between two servers, and what to do.
fn trouble_of_two(now: &Figures) -> Option<&'static str> {
    match (now.of("primary"), now.of("gives_out"), now.of("in_sync")) {
        (1, 1, 0) if now.of("replica_seen") == 1 => {
            Some("replication is suspended: what is locked now is here alone")
        }
        (1, 1, 0) if now.of("promotions") > 0 => Some(
            "no replica has followed since this server was promoted: what is locked now is here \
             alone; start the other server with --replica-of this one",
        ),
        (1, 1, _) => None,
        (1, ..) if !is_let(now) => {
            Some("no lock is given out: no majority of its witnesses lets this server do that")
        }
        (1, ..) => Some("no lock is given out: the replica is away, and this server waits for it"),
        _ => Some(match &*now.replication {
            "replaced" => {
                "this server was replaced and gives no lock out: start it again with --replica-of \
                 the one that took its place"
            }
            "primary-away" => {
                "the primary is away, or cannot be followed: this replica has every lock up to then, \
                 and none that the primary gave out alone since; promote it only if that one is stopped"
            }
            "stands" => "the primary is silent: this replica asks the witnesses for its place",
            _ => {
                "this replica does not have every lock of its primary (its log says why): do not \
                 promote it"
            }
        }),
    }
}

/// How it is as one of two; `None` for one alone.
fn pair(now: &Figures) -> Option<String> {
    let of = |name: &str| now.of(name);
    if of("witness") == 1 {
        return Some(format!("witness, term {}", of("election_term")));
    }
    let mut text = match (of("primary"), of("gives_out"), of("in_sync")) {
        (1, _, 1) => "primary, in sync with its replica".to_owned(),
        (1, 1, _) if of("replica_seen") == 1 => "primary, alone: replication suspended".to_owned(),
        (1, 1, _) if of("promotions") > 0 => "primary, alone since it was promoted".to_owned(),
        (1, 1, _) if of("witnesses") > 0 => "primary, alone".to_owned(),
        (1, 1, _) => return None,
        (1, ..) if !is_let(now) => "primary, not elected by its witnesses".to_owned(),
        (1, ..) => "primary, waits for its replica".to_owned(),
        (_, _, 1) => "replica, in sync with its primary".to_owned(),
        _ => match &*now.replication {
            "replaced" => "replaced by another server",
            "primary-away" => "replica, had every lock when its primary went away",
            "stands" => "replica, asks its witnesses for the place of its primary",
            _ => "replica, not in sync",
        }
        .to_owned(),
    };
    if of("primary") == 1 && of("replica_seen") == 1 {
        let (bytes, ms) = (of("replica_lag_bytes"), of("replica_lag_milliseconds"));
        let _ = write!(text, "; lag {bytes} bytes, {ms} ms");
    }
    if of("witnesses") > 0 {
        let (agree, all) = (of("witnesses_agree"), of("witnesses"));
        let _ = write!(text, "; {agree} of {all} witnesses agree, term {}", of("election_term"));
    }
    if of("promotions") > 0 {
        let at = clock::utc(of("promoted_seconds").saturating_mul(1_000_000_000));
        let _ = write!(text, "; last promoted {at}");
    }
    Some(text)
}

/// True when a majority of its witnesses, if it has any, keeps that it gives locks out.
fn is_let(now: &Figures) -> bool {
    now.of("witnesses") == 0 || 2 * now.of("witnesses_agree") > now.of("witnesses")
}

/// What others had it do a second from `before` on: `asked` commands were our own. None where
/// another server, or another start of one, has counted.
fn rates_of(before: &Figures, now: &Figures, time_ns: u64, asked: u64) -> BTreeMap<String, f64> {
    if !now.go_on_from(before) {
        return BTreeMap::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    let rate = |name: &str| {
        let own = if name == "commands" { asked } else { 0 };
        let others = now.of(name).saturating_sub(before.of(name)).saturating_sub(own);
        others as f64 * 1e9 / time_ns.max(1) as f64
    };
    RATES.iter().map(|name| ((*name).to_owned(), rate(name))).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(used: u64, maximum: u64) -> f64 {
    used as f64 / maximum.max(1) as f64
}

impl Verb for Status {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.look(out, stop)?)
    }

    fn has_findings(&self) -> bool {
        self.warned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[(&str, u64)], run: u64) -> Figures {
        let by_name = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Figures { by_name, run: Some(run), ..Figures::default() }
    }

    #[test]
    fn rates_are_of_what_others_asked_one_server() {
        const SECOND_NS: u64 = 1_000_000_000;
        let before = figures(&[("commands", 10), ("granted", 4)], 1);
        let now = figures(&[("commands", 17), ("granted", 6)], 1);
        let rates = rates_of(&before, &now, 2 * SECOND_NS, 3);
        assert_eq!(rates.get("commands").map(|rate| rate.round()), Some(2.0));
        assert_eq!(rates.get("granted").map(|rate| rate.round()), Some(1.0));
        let restarted = figures(&[("commands", 900), ("granted", 800)], 2);
        assert!(rates_of(&before, &restarted, SECOND_NS, 1).is_empty());
    }

    #[test]
    fn a_server_that_gives_nothing_out_says_why_and_what_to_do() {
        let of = |replication: &str| {
            let figures =
                Figures { replication: replication.into(), ..figures(&[("primary", 0)], 1) };
            (pair(&figures).expect("one of two"), trouble_of_two(&figures).expect("a trouble"))
        };
        let (is, todo) = of("replaced");
        assert!(is.starts_with("replaced") && todo.contains("start it again with --replica-of"));
        let (is, todo) = of("primary-away");
        assert!(
            is.contains("when its primary went away")
                && todo.contains("only if that one is stopped")
        );
        let (is, todo) = of("filling");
        assert!(is.contains("not in sync") && todo.contains("do not promote it"), "{is}: {todo}");
    }

    #[test]
    fn a_server_that_was_promoted_is_in_order_once_a_replica_has_every_lock() {
        let of = |in_sync| {
            let values =
                [("primary", 1), ("gives_out", 1), ("promotions", 1), ("in_sync", in_sync)];
            trouble_of_two(&figures(&values, 1))
        };
        assert!(of(0).is_some_and(|it| it.contains("start the other server with --replica-of")));
        assert_eq!(of(1), None);
    }

    #[test]
    fn a_primary_that_was_not_elected_does_not_wait_for_a_replica() {
        let of = |agree| {
            let values = [("primary", 1), ("witnesses", 3), ("witnesses_agree", agree)];
            pair(&figures(&values, 1)).expect("one of two")
        };
        assert!(of(1).starts_with("primary, not elected by its witnesses; 1 of 3"), "{}", of(1));
        assert!(of(2).starts_with("primary, waits for its replica; 2 of 3"), "{}", of(2));
    }
}
