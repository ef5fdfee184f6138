//! What a server counts, again and again, with its history.

use std::io::Write;

use clap::Args;
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::{EngineError, Stop};
use plumb_measure::{Clock as _, Span};

use super::history::{History, WINDOWS};
use crate::LockError;
use crate::ask::{Figures, PATIENCE};
use crate::target::TargetOptions;

/// How often, and for how long.
#[derive(Args, Clone, Debug)]
pub struct LiveOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Time from one block of lines to the next
    ///
    /// "last" is the rate over this time, "actual" that over the last 5 s. A window is made of whole
    /// blocks: `-` stands for one that has not passed yet, and for one that they pass by more than
    /// half, as of 10 s for "actual".
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub every: Span,

    /// Blocks to print; 0: until it is interrupted
    #[arg(long, value_name = "N", default_value = "0")]
    pub count: u64,
}

/// The lines of a block: their names, and the counters of the server that make them.
const LINES: [(&str, &[&str]); 5] = [
    ("Enqueue", &["granted", "rejected"]),
    ("  rejected", &["rejected"]),
    ("Dequeue", &["dequeues"]),
    ("Dequeue all", &["dequeue_alls"]),
    ("Inherit", &["inherits"]),
];

/// Looks at a server until it is told to stop.
#[derive(Debug)]
pub struct Live {
    options: LiveOptions,
    histories: [History; LINES.len()],
    interrupted: bool,
}

/// The counters at one moment.
struct Look {
    at_ns: u64,
    figures: Figures,
}

impl Look {
    fn of(&self, names: &[&str]) -> u64 {
        names.iter().map(|name| self.figures.of(name)).sum()
    }
}

/// Notes what was counted since the look `before`. Another server, or another start of one, counts
/// anew, and so does its history.
fn note(histories: &mut [History; LINES.len()], before: &Look, now: &Look) {
    if !now.figures.go_on_from(&before.figures) {
        *histories = Default::default();
        return;
    }
    let time_ns = now.at_ns.saturating_sub(before.at_ns);
    for ((_, counters), history) in LINES.iter().zip(histories) {
        history.note(time_ns, now.of(counters).saturating_sub(before.of(counters)));
    }
}

impl Live {
    /// Looks on as `options` say; it connects once it runs.
    ///
    /// # Errors
    /// [`LockError`] when no time lies between two looks.
    pub fn new(options: LiveOptions) -> Result<Self, LockError> {
        if options.every.ns() == 0 {
            return Err(EngineError::Plan("--every 0s never waits; write 1s or more".into()).into());
        }
        Ok(Self { options, histories: Default::default(), interrupted: false })
    }

    fn watch(&mut self, out: &mut dyn Write, stop: &Stop) -> Result<(), LockError> {
        let target = self.options.target.resolve()?;
        let look = || -> Result<Look, LockError> {
            let figures = target.figures(PATIENCE, stop)?;
            Ok(Look { at_ns: MonotonicClock.now_ns(), figures })
        };
        let mut before = look()?;
        let mut printed = 0;
        while self.options.count == 0 || printed < self.options.count {
            let due = before.at_ns + self.options.every.ns();
            if stop.wait_until(due)? || stop.asked() {
                self.interrupted = self.options.count > 0;
                return Ok(());
            }
            let now = look()?;
            self.block(out, &before, &now)?;
            before = now;
            printed += 1;
        }
        Ok(())
    }

    /// One block: operations a minute over every window, and the state of the table.
    fn block(&mut self, out: &mut dyn Write, before: &Look, now: &Look) -> Result<(), LockError> {
        note(&mut self.histories, before, now);
        write!(out, "{:<22}{:>12}", clock::utc(clock::wall_ns()), "last")?;
        for (name, _) in WINDOWS {
            write!(out, "{name:>12}")?;
        }
        writeln!(out, "   ops/min")?;
        for ((name, _), history) in LINES.iter().zip(&self.histories) {
            write!(out, "{name:<22}")?;
            let windows = WINDOWS.map(|(_, window_ns)| history.per_minute(window_ns));
            for rate in [history.last_per_minute()].into_iter().chain(windows) {
                match rate {
                    Some(rate) => write!(out, "{rate:>12.0}")?,
                    None => write!(out, "{:>12}", "-")?, // the blocks so far do not make it up
                }
            }
            writeln!(out)?;
        }
        for (title, part) in [("Owners", "owners"), ("Arguments", "arguments"), ("Locks", "locks")]
        {
            let (actual, peak) = (now.of(&[part]), now.of(&[&format!("{part}_peak")]));
            let maximum = now.of(&["rows_maximum"]);
            writeln!(out, "{title:<22}{actual:>12} peak {peak}, maximum {maximum}")?;
        }
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

impl Verb for Live {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.watch(out, stop)?)
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        live: LiveOptions,
    }

    #[test]
    fn the_time_from_block_to_block_has_its_rate_whatever_windows_it_makes_up() {
        let second_block = |every_s: u64| {
            let look = |blocks: u64| {
                let by_name = [("granted".to_owned(), 100 * every_s * blocks)].into();
                let at_ns = blocks * every_s * 1_000_000_000;
                Look { at_ns, figures: Figures { by_name, run: Some(1), ..Figures::default() } }
            };
            let options = Words::try_parse_from(["live", "host"]).unwrap().live;
            let mut live = Live::new(options).unwrap();
            live.block(&mut Vec::new(), &look(0), &look(1)).unwrap();
            let mut out = Vec::new();
            live.block(&mut out, &look(1), &look(2)).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().next().unwrap().contains("        last      actual"), "{text}");
            let line = text.lines().find(|line| line.starts_with("Enqueue")).unwrap().to_owned();
            line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(second_block(1), "6000 - - - -");
        assert_eq!(second_block(4), "6000 - - - -", "8 s are neither 5 s nor 10 s");
        assert_eq!(second_block(5), "6000 6000 6000 - -");
        assert_eq!(second_block(30), "6000 - - 6000 -");
        assert_eq!(second_block(600), "6000 - - - -");
    }

    #[test]
    fn counters_of_two_servers_or_two_starts_are_not_set_against_each_other() {
        const SECOND_NS: u64 = 1_000_000_000;
        let look = |second: u64, granted: u64, run: u64| {
            let by_name = [("granted".to_owned(), granted)].into();
            Look {
                at_ns: second * SECOND_NS,
                figures: Figures { by_name, run: Some(run), ..Figures::default() },
            }
        };
        // a failover to a server that has granted less, and on it; the first one had granted more
        let looks = [look(0, 900, 1), look(1, 1_000, 1), look(2, 40, 2), look(3, 50, 2)];
        let mut histories = Default::default();
        let mut told = Vec::new();
        for pair in looks.windows(2) {
            note(&mut histories, &pair[0], &pair[1]);
            told.push(histories[0].per_minute(SECOND_NS).map(f64::round));
        }
        assert_eq!(told, [Some(6_000.0), None, Some(600.0)]);
    }
}
