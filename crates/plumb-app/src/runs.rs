//! Runs of the sales load: what was done in each, second by second.
//!
//! A run is what its steps name, not what happens to lie in the database. Its figures are of a fixed
//! window, which begins when every clerk has been through the first loop: what comes before is the
//! start, and whole waves at the edges would count too much.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_measure::counted;
use serde::Serialize;

/// Runs that are remembered; the oldest is forgotten for a new one.
const RUNS: usize = 16;
/// Seconds of a run that are remembered: a day.
const SECONDS: usize = 86_400;
/// Clerks of one run.
const CLERKS: usize = 100_000;

/// Line items of an order, and dialog steps for it, in the published benchmark.
const ITEMS_PER_ORDER: f64 = 5.0;
const STEPS_PER_ORDER: f64 = 15.0;
/// How far from these a run may be, as a share.
const TOLERANCE: f64 = 0.02;
/// The think time of the published benchmark, seconds, and the mean response time that it allows.
const THINK_SECONDS: f64 = 10.0;
const RESPONSE_MS: f64 = 1_000.0;
/// 100 of the published unit are so many line items an hour, and three times as many steps.
const ITEMS_PER_100: f64 = 2_000.0;

/// All runs of the server.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    begun: u64,
    runs: VecDeque<Run>,
}

/// One run.
#[derive(Debug)]
struct Run {
    number: u64,
    began_ns: u64,
    seconds: Vec<Second>,
    /// When each clerk had its first invoice, nanoseconds from the beginning.
    first_loops: HashMap<String, u64>,
}

/// What was done in one second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    steps: u64,
    failed: u64,
    orders: u64,
    items: u64,
    response_ns: u64,
}

/// A dialog step that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done<'a> {
    /// From its arrival to its answer, in the server.
    pub(crate) response_ns: u64,
    /// True when it did what it was asked for.
    pub(crate) right: bool,
    /// The order that it brought to its invoice.
    pub(crate) invoiced: Option<Invoiced<'a>>,
}

/// An order that was invoiced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invoiced<'a> {
    /// The customer, who stands for the clerk: each clerk sells to one of its own.
    pub(crate) customer: &'a str,
    pub(crate) items: u64,
}

/// The figures of a run in its window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunFigures {
    pub(crate) run: u64,
    /// Customers with an invoice: as many as there are clerks, if each has its own.
    pub(crate) clerks: usize,
    /// Line items of invoiced orders since the run began, the window aside.
    pub(crate) items_invoiced: u64,
    /// Steps since then.
    pub(crate) dialog_steps: u64,
    /// Length of the window.
    pub(crate) window_seconds: u64,
    /// Where it begins, from the beginning of the run; absent before the first invoice.
    pub(crate) window_begins_second: Option<u64>,
    /// Absent until the window is complete.
    pub(crate) window: Option<WindowFigures>,
    /// Why there is no window yet, and what is not as in the published benchmark.
    pub(crate) reasons: Vec<String>,
}

/// What was done in the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WindowFigures {
    pub(crate) orders: u64,
    pub(crate) items: u64,
    pub(crate) dialog_steps: u64,
    pub(crate) failed_steps: u64,
    pub(crate) items_per_hour: f64,
    pub(crate) dialog_steps_per_hour: f64,
    pub(crate) items_per_order: f64,
    pub(crate) dialog_steps_per_order: f64,
    /// In the server, from the arrival of a step to its answer.
    pub(crate) mean_response_ms: f64,
    /// From one step of a clerk to its next, in the mean: think time and response.
    pub(crate) seconds_between_steps: f64,
    /// Line items an hour as a multiple of 20, where everything is as in the published benchmark.
    pub(crate) saps_like: Option<f64>,
    /// What that figure is.
    pub(crate) saps_like_means: &'static str,
}

/// No run has that number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this server knows no such run: begin one with POST /sap/bc/sd/runs")]
pub(crate) struct NoRun;

impl Runs {
    /// Begins a run at `now_ns`; its number.
    pub(crate) fn begin(&self, now_ns: u64) -> u64 {
        let mut state = self.lock();
        state.begun += 1;
        let number = state.begun;
        if state.runs.len() == RUNS {
            state.runs.pop_front();
        }
        let (seconds, first_loops) = (Vec::new(), HashMap::new());
        state.runs.push_back(Run { number, began_ns: now_ns, seconds, first_loops });
        number
    }

    /// True when a run of that number is remembered.
    pub(crate) fn knows(&self, number: u64) -> bool {
        self.lock().runs.iter().any(|run| run.number == number)
    }

    /// Adds a step of the run `number` that ended at `now_ns`.
    pub(crate) fn add(&self, number: u64, done: Done<'_>, now_ns: u64) {
        if let Some(run) = self.lock().runs.iter_mut().find(|run| run.number == number) {
            run.add(done, now_ns);
        }
    }

    /// The figures of the run `number`, or else of the newest, in a window of so many seconds.
    ///
    /// # Errors
    /// [`NoRun`].
    pub(crate) fn figures(
        &self,
        number: Option<u64>,
        window_seconds: u64,
    ) -> Result<RunFigures, NoRun> {
        let state = self.lock();
        let run = match number {
            Some(number) => state.runs.iter().find(|run| run.number == number),
            None => state.runs.back(),
        };
        Ok(run.ok_or(NoRun)?.figures(window_seconds))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    fn add(&mut self, done: Done<'_>, now_ns: u64) {
        let time_ns = now_ns.saturating_sub(self.began_ns);
        let place = usize::try_from(time_ns / 1_000_000_000).unwrap_or(usize::MAX);
        if place >= SECONDS {
            return; // a run that goes on for longer has had its window
        }
        if self.seconds.len() <= place {
            self.seconds.resize(place + 1, Second::default());
        }
        let second = &mut self.seconds[place];
        second.response_ns += done.response_ns;
        second.steps += u64::from(done.right);
        second.failed += u64::from(!done.right);
        if let Some(Invoiced { customer, items }) = done.invoiced {
            second.orders += 1;
            second.items += items;
            if self.first_loops.len() < CLERKS {
                self.first_loops.entry(customer.to_owned()).or_insert(time_ns);
            }
        }
    }

    fn figures(&self, window_seconds: u64) -> RunFigures {
        // the first whole second behind the first loop of the last clerk
        let begins = self.first_loops.values().max().map(|ns| ns.div_ceil(1_000_000_000));
        let mut figures = RunFigures {
            run: self.number,
            clerks: self.first_loops.len(),
            items_invoiced: self.seconds.iter().map(|second| second.items).sum(),
            dialog_steps: self.seconds.iter().map(|second| second.steps).sum(),
            window_seconds,
            window_begins_second: begins,
            window: None,
            reasons: Vec::new(),
        };
        let Some(begins) = begins else {
            figures.reasons.push("no order has been invoiced yet".into());
            return figures;
        };
        let ends = begins + window_seconds;
        // what goes on behind the window proves that the load lasted through it
        if (self.seconds.len() as u64) <= ends {
            figures.reasons.push(format!(
                "the window is not complete: it ends {ends} s after the beginning of the run, and the \
                 last step was in second {}; let the load go on, or ask for a shorter window \
                 (?window=SECONDS)",
                self.seconds.len()
            ));
            return figures;
        }
        let place = |second: u64| usize::try_from(second).unwrap_or(usize::MAX);
        let mut all = Second::default();
        for second in &self.seconds[place(begins)..place(ends)] {
            all += *second;
        }
        let (window, reasons) = all.figures(window_seconds, figures.clerks);
        (figures.window, figures.reasons) = (Some(window), reasons);
        figures
    }
}

impl std::ops::AddAssign for Second {
    fn add_assign(&mut self, more: Self) {
        self.steps += more.steps;
        self.failed += more.failed;
        self.orders += more.orders;
        self.items += more.items;
        self.response_ns += more.response_ns;
    }
}

impl Second {
    /// The figures of so many seconds, and what of them is not as in the published benchmark.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    fn figures(self, seconds: u64, clerks: usize) -> (WindowFigures, Vec<String>) {
        let hours = seconds as f64 / 3_600.0;
        let ratio = |part: f64, whole: u64| if whole > 0 { part / whole as f64 } else { 0.0 };
        let asked = self.steps + self.failed;
        let mut figures = WindowFigures {
            orders: self.orders,
            items: self.items,
            dialog_steps: self.steps,
            failed_steps: self.failed,
            items_per_hour: rounded(self.items as f64 / hours),
            dialog_steps_per_hour: rounded(self.steps as f64 / hours),
            items_per_order: rounded(ratio(self.items as f64, self.orders)),
            dialog_steps_per_order: rounded(ratio(self.steps as f64, self.orders)),
            mean_response_ms: rounded(ratio(self.response_ns as f64 / 1e6, asked)),
            seconds_between_steps: rounded(ratio(clerks as f64 * seconds as f64, asked)),
            saps_like: None,
            saps_like_means: "SAPS-like, not certified: 100 are 2,000 order line items and 6,000 \
                              dialog steps an hour",
        };
        let reasons = figures.deviations();
        if reasons.is_empty() {
            figures.saps_like = Some(rounded(figures.items_per_hour / ITEMS_PER_100 * 100.0));
        }
        (figures, reasons)
    }
}

impl WindowFigures {
    /// What is not as in the published benchmark.
    fn deviations(&self) -> Vec<String> {
        let beyond = |found: f64, published: f64| (found / published - 1.0).abs() > TOLERANCE;
        let mut reasons = Vec::new();
        if self.failed_steps > 0 {
            reasons.push(format!("{} failed", counted(self.failed_steps, "dialog step")));
        }
        if beyond(self.items_per_order, ITEMS_PER_ORDER) {
            let found = self.items_per_order;
            reasons.push(format!("{found} line items an order, published are 5"));
        }
        if beyond(self.dialog_steps_per_order, STEPS_PER_ORDER) {
            let found = self.dialog_steps_per_order;
            reasons.push(format!("{found} dialog steps an order, published are 15"));
        }
        let think = self.seconds_between_steps - self.mean_response_ms / 1_000.0;
        if beyond(think, THINK_SECONDS) {
            reasons.push(format!("{think:.2} s of think time, published are 10"));
        }
        if self.mean_response_ms >= RESPONSE_MS {
            let found = self.mean_response_ms;
            reasons.push(format!("a mean response time of {found} ms, not below 1,000"));
        }
        reasons
    }
}

/// To three places.
fn rounded(figure: f64) -> f64 {
    (figure * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// How clerks work.
    struct Load {
        clerks: u64,
        /// Between the starts of two clerks, milliseconds.
        apart_ms: u64,
        /// Steps of a loop, and seconds from one to the next.
        steps: u64,
        think_seconds: u64,
        seconds: u64,
    }

    impl Load {
        fn play(&self, runs: &Runs, began_ns: u64) -> u64 {
            let run = runs.begin(began_ns);
            for clerk in 0..self.clerks {
                let customer = format!("C-{clerk}");
                let start_ns = clerk * self.apart_ms * 1_000_000 + 7;
                for step in 0.. {
                    let time_ns = start_ns + step * self.think_seconds * SECOND;
                    if time_ns >= self.seconds * SECOND {
                        break;
                    }
                    let last = step % self.steps == self.steps - 1;
                    let invoiced = last.then_some(Invoiced { customer: &customer, items: 5 });
                    let done = Done { response_ns: 4_000_000, right: true, invoiced };
                    runs.add(run, done, began_ns + time_ns);
                }
            }
            run
        }
    }

    const PUBLISHED: Load =
        Load { clerks: 50, apart_ms: 3_000, steps: 15, think_seconds: 10, seconds: 1_400 };

    fn window(runs: &Runs, run: u64, seconds: u64) -> WindowFigures {
        let figures = runs.figures(Some(run), seconds).unwrap();
        figures.window.clone().unwrap_or_else(|| panic!("{figures:?}"))
    }

    #[test]
    fn the_published_proportions_give_the_published_figures() {
        let runs = Runs::default();
        let run = PUBLISHED.play(&runs, 12_345);
        let figures = runs.figures(None, 900).unwrap();
        assert_eq!((figures.run, figures.clerks, figures.reasons.len()), (run, 50, 0));
        let window = window(&runs, run, 900);
        // 50 clerks, 5 items and 15 steps in 150 s each
        assert_eq!((window.items_per_hour, window.dialog_steps_per_hour), (6_000.0, 18_000.0));
        assert_eq!((window.items_per_order, window.dialog_steps_per_order), (5.0, 15.0));
        assert_eq!((window.mean_response_ms, window.seconds_between_steps), (4.0, 10.0));
        assert_eq!(window.saps_like, Some(300.0));
    }

    #[test]
    fn whole_waves_and_earlier_runs_do_not_count_too_much() {
        let runs = Runs::default();
        let six = |apart_ms| Load { apart_ms, steps: 6, ..PUBLISHED };
        for load in [six(1_200), six(0), six(1_200)] {
            let run = load.play(&runs, 1_000_000 * SECOND);
            // 50 clerks, 5 items in 60 s each
            assert_eq!(window(&runs, run, 300).items_per_hour.to_string(), "15000");
            let figures = runs.figures(Some(run), 300).unwrap();
            assert_eq!(figures.window.unwrap().saps_like, None);
            assert_eq!(figures.reasons, ["6 dialog steps an order, published are 15"]);
        }
    }

    #[test]
    fn there_is_no_figure_before_the_window_is_complete() {
        let runs = Runs::default();
        assert_eq!(runs.figures(None, 900), Err(NoRun));
        let run = Load { seconds: 700, ..PUBLISHED }.play(&runs, 0);
        let figures = runs.figures(Some(run), 900).unwrap();
        assert!(figures.window.is_none() && figures.reasons[0].contains("not complete"));
        assert_eq!(figures.window_begins_second, Some(288), "the last clerk began at 147 s");
        assert!(runs.figures(Some(run), 300).unwrap().window.is_some());
        let empty = runs.begin(0);
        assert!(runs.figures(Some(empty), 1).unwrap().reasons[0].contains("no order"));
    }

    #[test]
    fn what_is_not_as_published_is_named() {
        let runs = Runs::default();
        let run = Load { think_seconds: 5, ..PUBLISHED }.play(&runs, 0);
        runs.add(run, Done { response_ns: 0, right: false, invoiced: None }, 400 * SECOND);
        let figures = runs.figures(Some(run), 300).unwrap();
        assert_eq!(figures.window.unwrap().saps_like, None);
        assert_eq!(figures.reasons[0], "1 dialog step failed");
        let think = &figures.reasons[1];
        assert!(think.ends_with("s of think time, published are 10"), "{think}");
    }

    #[test]
    fn old_runs_are_forgotten() {
        let runs = Runs::default();
        for _ in 0..=RUNS {
            runs.begin(0);
        }
        assert!(!runs.knows(1) && runs.knows(2));
        assert_eq!(runs.figures(Some(1), 1), Err(NoRun));
    }
}
