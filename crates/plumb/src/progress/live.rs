//! A measurement while it runs, for whoever waits: one block that is drawn anew in its place on a
//! terminal, a plain line now and then anywhere else.

use std::io::{self, IsTerminal as _, Write as _};

use plumb_engine::IntervalRecords;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Histogram, Span, real, show_count, show_ns};
use plumb_terminal as terminal;

use super::length;

/// Columns of the bar, and of a terminal that does not say how wide it is.
const BAR: usize = 24;
const COLUMNS: usize = 80;
/// A terminal is drawn anew no more often than that, nanoseconds.
const DRAW_EVERY_NS: u64 = 100_000_000;
/// Where there is no terminal: lines of a whole run, the least time between two, and the length of a
/// run from which on there are any, nanoseconds.
const LINES: u64 = 10;
const LINE_EVERY_NS: u64 = 10_000_000_000;
const LINES_FROM_NS: u64 = 60_000_000_000;

/// What is shown of a run.
#[derive(Debug)]
pub(super) struct Live {
    /// What is measured.
    title: String,
    /// How long it takes, as far as that is known, nanoseconds.
    takes_ns: Option<u64>,
    /// Start of the run, on the monotonic clock.
    began_ns: u64,
    /// The point that is measured, and what it does now.
    place: String,
    state: &'static str,
    last: Option<Figures>,
    whole: Whole,
    /// Lines that stand on the terminal.
    drawn: usize,
    shown_ns: u64,
}

/// What an interval, or all of them, say.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    per_s: f64,
    /// Absent where no time was measured.
    p50: Option<u64>,
    p95: Option<u64>,
    failures: u64,
    users: u64,
}

/// All intervals of a point.
#[derive(Debug)]
struct Whole {
    response: Histogram,
    /// Correct answers whose time is not known.
    observed: u64,
    failures: u64,
    duration_ns: u64,
}

impl Whole {
    fn new() -> Self {
        Self { response: Histogram::new(), observed: 0, failures: 0, duration_ns: 0 }
    }

    fn figures(&self) -> Figures {
        Figures {
            per_s: rate(self.response.count() + self.observed, self.duration_ns),
            p50: quantile(&self.response, 0.5),
            p95: quantile(&self.response, 0.95),
            failures: self.failures,
            users: 0,
        }
    }
}

/// The quantile `q` of what was measured.
fn quantile(times: &Histogram, q: f64) -> Option<u64> {
    (!times.is_empty()).then(|| times.quantile(q))
}

fn rate(operations: u64, duration_ns: u64) -> f64 {
    real(operations) * 1e9 / real(duration_ns.max(1))
}

impl Live {
    pub(super) fn new(title: &str, takes: Option<Span>, began_ns: u64) -> Self {
        Self {
            title: title.into(),
            takes_ns: takes.map(Span::ns),
            began_ns,
            place: String::new(),
            state: "",
            last: None,
            whole: Whole::new(),
            drawn: 0,
            shown_ns: began_ns,
        }
    }

    /// A point begins, `place` in words.
    pub(super) fn point(&mut self, place: String) {
        self.place = place;
        self.last = None;
        self.whole = Whole::new();
        self.state("connecting");
    }

    /// What it does now, where it records nothing.
    pub(super) fn state(&mut self, state: &'static str) {
        self.state = state;
        self.draw();
    }

    pub(super) fn interval(&mut self, records: &IntervalRecords) {
        let figures = records.figures;
        let mut response = Histogram::new();
        records.recorder.rows().iter().for_each(|row| response.merge(&row.response));
        let observed = records.recorder.observed();
        self.state = "measuring";
        self.last = Some(Figures {
            per_s: rate(figures.operations + observed, figures.duration_ns),
            p50: quantile(&response, 0.5),
            p95: quantile(&response, 0.95),
            failures: figures.failures,
            users: figures.users,
        });
        self.whole.response.merge(&response);
        self.whole.observed += observed;
        self.whole.failures += figures.failures;
        self.whole.duration_ns += figures.duration_ns;
        self.tick();
    }

    /// Shows it again where that is due.
    pub(super) fn tick(&mut self) {
        let since_ns = MonotonicClock.now_ns().saturating_sub(self.shown_ns);
        let every_ns = match (io::stderr().is_terminal(), self.takes_ns) {
            (true, _) => DRAW_EVERY_NS,
            (false, Some(takes)) if takes >= LINES_FROM_NS => (takes / LINES).max(LINE_EVERY_NS),
            (false, _) => u64::MAX,
        };
        if since_ns >= every_ns {
            self.draw();
        }
    }

    fn draw(&mut self) {
        let now = MonotonicClock.now_ns();
        let elapsed_ns = now.saturating_sub(self.began_ns);
        let mut err = io::stderr();
        if err.is_terminal() {
            let columns = terminal::size(&err).map_or(COLUMNS, |(columns, _)| columns);
            let lines = self.lines(elapsed_ns, columns.max(2) - 1);
            let mut text = self.erasing();
            lines.iter().for_each(|line| text += &format!("{line}\n"));
            self.drawn = lines.len();
            let _ = err.write_all(text.as_bytes()); // progress is a courtesy
        } else if self.last.is_some() && self.takes_ns.is_some_and(|ns| ns >= LINES_FROM_NS) {
            let _ = writeln!(err, "{}", self.plain(elapsed_ns));
        }
        self.shown_ns = now;
    }

    /// Leaves the terminal as it was.
    pub(super) fn clear(&mut self) {
        let text = self.erasing();
        self.drawn = 0;
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn erasing(&self) -> String {
        if self.drawn > 0 { format!("\x1b[{}A\r\x1b[J", self.drawn) } else { String::new() }
    }

    /// The block, no line wider than `columns`.
    fn lines(&self, elapsed_ns: u64, columns: usize) -> Vec<String> {
        let mut lines =
            vec![format!("{}{}", self.title, self.place), self.time(elapsed_ns, columns)];
        let rows = self.last.map(|last| [("last", last), ("all", self.whole.figures())]);
        lines.extend(rows.iter().flatten().map(|(name, figures)| row(name, *figures)));
        lines.iter().map(|line| cut(line, columns)).collect()
    }

    /// How much has passed of how much, as a bar where there is room.
    fn time(&self, elapsed_ns: u64, columns: usize) -> String {
        let state = self.state;
        let Some(takes_ns) = self.takes_ns.filter(|takes| *takes > 0) else {
            return format!("{state}, {}", length(elapsed_ns / SECOND * SECOND));
        };
        let (elapsed_ns, left_ns) = (elapsed_ns.min(takes_ns), takes_ns.saturating_sub(elapsed_ns));
        let whole = |ns: u64| length(ns / SECOND * SECOND);
        let words = format!("{state}, {} of {}", whole(elapsed_ns), length(takes_ns));
        let left = format!("{words}, {} left", length(left_ns.div_ceil(SECOND) * SECOND));
        let full = usize::try_from(u128::from(elapsed_ns) * BAR as u128 / u128::from(takes_ns));
        let full = full.unwrap_or(0).min(BAR);
        let bar = format!("[{}{}] {left}", "#".repeat(full), ".".repeat(BAR - full));
        [bar, left].into_iter().find(|line| line.chars().count() <= columns).unwrap_or(words)
    }

    fn plain(&self, elapsed_ns: u64) -> String {
        let time = self.time(elapsed_ns, 0);
        let row = self.last.map_or_else(String::new, |last| row("last", last));
        format!("{}{}: {time}; {row}", self.title, self.place)
    }
}

const SECOND: u64 = 1_000_000_000;

/// The figures that matter most first, for whatever the width leaves.
fn row(name: &str, figures: Figures) -> String {
    let Figures { per_s, p50, p95, failures, users } = figures;
    let failed = if failures > 0 { format!("  FAILED {failures}") } else { String::new() };
    let users = if users > 0 { format!("  {users} users") } else { String::new() };
    let show = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), show_ns);
    let (p50, p95) = (show(p50), show(p95));
    format!("{name:<4} {}/s{failed}  p50 {p50}  p95 {p95}{users}", show_count(per_s))
}

fn cut(line: &str, columns: usize) -> String {
    line.chars().filter(|c| !c.is_control()).take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Live {
        let mut live = Live::new("net ping db1:3298 ", Some(Span::from_ms(30_000)), 0);
        live.place = "[2/3] size 1000B".into();
        live.state = "measuring";
        live.whole.response.record_n(10_000, 1_000);
        live.whole.duration_ns = 10 * SECOND;
        let (p50, p95) = (Some(9_840), Some(12_100));
        live.last = Some(Figures { per_s: 237.0, p50, p95, failures: 3, users: 12 });
        live
    }

    #[test]
    fn the_block_fits_any_width_and_says_how_much_is_left() {
        let live = live();
        for columns in [2, 20, 39, 79, 200] {
            let lines = live.lines(12 * SECOND, columns);
            assert_eq!(lines.len(), 4, "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:?}");
        }
        let wide = live.lines(12 * SECOND, 79);
        assert_eq!(
            wide,
            [
                "net ping db1:3298 [2/3] size 1000B",
                "[#########...............] measuring, 12.0 s of 30.0 s, 18.0 s left",
                "last 237/s  FAILED 3  p50 9.84 us  p95 12.1 us  12 users",
                "all  100/s  p50 10.0 us  p95 10.0 us",
            ]
        );
        let narrow = live.lines(12 * SECOND, 39);
        assert_eq!(narrow[1], "measuring, 12.0 s of 30.0 s");
    }

    #[test]
    fn where_everything_fails_no_time_is_told() {
        let whole = Whole { failures: 269, duration_ns: SECOND, ..Whole::new() };
        assert_eq!(row("all", whole.figures()), "all  0/s  FAILED 269  p50 -  p95 -");
    }

    #[test]
    fn a_run_that_takes_longer_than_expected_has_nothing_left() {
        let live = live();
        assert!(live.time(90 * SECOND, 79).contains("30.0 s of 30.0 s, 0 s left"));
        let unknown = Live { takes_ns: None, ..live };
        assert_eq!(unknown.time(90 * SECOND, 79), "measuring, 90.0 s");
    }

    #[test]
    fn a_name_never_steers_the_terminal() {
        assert_eq!(cut("a\x1b[2Jb\n", 80), "a[2Jb");
    }
}
