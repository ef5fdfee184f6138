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
            let asked = 1 + u64::from(target.login.is_some()); // by us, in between
            let own = |name: &str| if name == "commands" { asked } else { 0 };
            let rate = |name: &str| {
                let others = figure(&now, name).saturating_sub(own(name));
                rate(others, figure(&before, name), time_ns)
            };
            rates = RATES.iter().map(|name| ((*name).to_owned(), rate(name))).collect();
        }
        let findings = self.findings(&now);
        self.warned = !findings.is_empty();
        let overflows = match figure(&now, "overflows") {
            0 => Vec::new(),
            _ => overflow::all(&target.ask_one(&[b"LOCKSTAT", b"OVERFLOWS"], patience, stop)?),
        };
        if self.options.json {
            let overflows: Vec<_> = overflows.iter().map(Overflow::json).collect();
            let state = json!({
                "server": target.name, "findings": findings, "per_s": rates, "figures": now,
                "overflows": overflows,
            });
            writeln!(out, "{state:#}")?;
        } else {
            print(out, &target.name, &now, &rates)?;
            if let Some(last) = overflows.last() {
                writeln!(out, "{last}")?;
            }
            findings.iter().try_for_each(|finding| writeln!(out, "attention: {finding}"))?;
        }
        Ok(())
    }

    /// What is not in order.
    fn findings(&self, now: &BTreeMap<String, u64>) -> Vec<String> {
        let mut findings = Vec::new();
        let maximum = figure(now, "rows_maximum");
        for part in ["owners", "arguments", "locks"] {
            let used = share(figure(now, part), maximum);
            if used >= self.options.full.of_one() {
                findings.push(format!(
                    "{:.1} % of the {part} are in use; a larger --table-size holds more",
                    100.0 * used
                ));
            }
        }
        let (witnesses, reached) = (figure(now, "witnesses"), figure(now, "witnesses_reached"));
        if figure(now, "gives_out") == 1 && reached < witnesses {
            findings.push(format!("{reached} of its {witnesses} witnesses can be asked"));
        }
        if figure(now, "witness") == 1 {
            return findings;
        }
        if figure(now, "gives_out") == 0 {
            let elected = 2 * figure(now, "witnesses_agree") > witnesses;
            let what = if figure(now, "primary") == 1 && witnesses > 0 && !elected {
                "no lock is given out: no majority of its witnesses lets this server do that"
            } else if figure(now, "primary") == 1 {
                "no lock is given out: the replica is away, and this server waits for it"
            } else if figure(now, "in_sync") == 1 {
                return findings; // as a replica is
            } else {
                "a replica that is not in sync with a primary, or a server that was replaced"
            };
            findings.push(what.into());
        } else if figure(now, "replica_seen") == 1 && figure(now, "in_sync") == 0 {
            findings.push("replication is suspended: what is locked now is here alone".into());
        }
        let epoch = figure(now, "epoch");
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
    now: &BTreeMap<String, u64>,
    rates: &BTreeMap<String, f64>,
) -> Result<(), LockError> {
    let of = |name: &str| figure(now, name);
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

/// How it is as one of two; `None` for one alone.
fn pair(now: &BTreeMap<String, u64>) -> Option<String> {
    let of = |name: &str| figure(now, name);
    if of("witness") == 1 {
        return Some(format!("witness, term {}", of("election_term")));
    }
    let mut text = match (of("primary"), of("gives_out"), of("in_sync")) {
        (1, _, 1) => "primary, in sync with its replica".to_owned(),
        (1, 1, _) if of("replica_seen") == 1 => "primary, alone: replication suspended".to_owned(),
        (1, 1, _) if of("promotions") > 0 => "primary, alone since it was promoted".to_owned(),
        (1, 1, _) if of("witnesses") > 0 => "primary, alone".to_owned(),
        (1, 1, _) => return None,
        (1, ..) => "primary, waits for its replica".to_owned(),
        (_, _, 1) => "replica, in sync with its primary".to_owned(),
        _ => "replica, not in sync".to_owned(),
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

fn figure(figures: &BTreeMap<String, u64>, name: &str) -> u64 {
    figures.get(name).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
fn rate(now: u64, before: u64, time_ns: u64) -> f64 {
    now.saturating_sub(before) as f64 * 1e9 / time_ns.max(1) as f64
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
