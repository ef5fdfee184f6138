//! Where the time of requests goes, in words.

use plumb_measure::show_ns;
use serde::Serialize;

use super::percent;
use crate::dispatcher::{QueueFigures, Totals};

/// Where the time goes, and what would change that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// `queue`, `processor`, `load`, `database`, `render` or `idle`: the largest part of the
    /// response time.
    pub(crate) cause: &'static str,
    /// Its share in percent; absent without steps.
    pub(crate) share_percent: Option<f64>,
    /// The same for people.
    pub(crate) words: String,
}

impl Verdict {
    /// The verdict on all steps so far.
    pub(crate) fn of(totals: &Totals, queue: &QueueFigures, processes: usize) -> Self {
        let parts = [
            ("queue", totals.queue_ns),
            ("load", totals.load_ns),
            ("database", totals.database_ns),
            ("render", totals.busy_ns.saturating_sub(totals.load_ns + totals.database_ns)),
        ];
        let whole: u64 = parts.iter().map(|(_, ns)| ns).sum();
        // the first of equals
        let largest = parts.into_iter().rev().max_by_key(|(_, ns)| *ns);
        let (Some((cause, ns)), Some(mean)) = (largest, whole.checked_div(totals.steps)) else {
            let words = "No step has been done yet.".into();
            return Self { cause: "idle", share_percent: None, words };
        };
        let share = percent(ns, whole).unwrap_or(0.0);
        let service_ns = totals.busy_ns / totals.steps;
        // a step that finds a work process free waits only for a processor to run it
        let cause = match cause {
            "queue" if queue.crowded.saturating_mul(2) < totals.steps => "processor",
            cause => cause,
        };
        let what = match cause {
            "processor" => format!(
                "Requests wait for a processor: {share:.0} % of the response time passes on the \
                 way to a work process, although most steps find one of the {processes} free. The \
                 processors are taken, or have to be woken; more work processes do not help."
            ),
            "queue" => format!(
                "Requests wait for a work process: {share:.0} % of the response time is the queue. \
                 Of {processes} work processes {} have a step, {} steps wait, at most {} did. A \
                 step takes {}, so that no more than {} steps a second are possible; more work \
                 processes help (dispatcher.work-processes) as long as processors and database \
                 allow.",
                totals.running,
                queue.length,
                queue.length_max,
                show_ns(service_ns),
                rate(processes, service_ns),
            ),
            "load" => format!(
                "Programs are loaded: {share:.0} % of the response time is reading and compiling \
                 them. That is normal at the first use; if it goes on, the program buffer is too \
                 small (programs.buffer-size)."
            ),
            "database" => format!(
                "The database works: {share:.0} % of the response time is spent in its calls."
            ),
            _ => format!(
                "The work processes compute: {share:.0} % of the response time is rendering and \
                 the steps' own work."
            ),
        };
        let words = format!("{what} The mean response time is {}.", show_ns(mean));
        Self { cause, share_percent: Some(share), words }
    }
}

/// Steps a second of `processes` that take `service_ns` for each.
fn rate(processes: usize, service_ns: u64) -> u64 {
    (processes as u64).saturating_mul(1_000_000_000) / service_ns.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_named_as_the_cause_with_the_bound() {
        let totals = Totals {
            steps: 100,
            busy_ns: 1_000_000_000,
            database_ns: 900_000_000,
            queue_ns: 9_000_000_000,
            running: 2,
            ..Totals::default()
        };
        let queue = QueueFigures { crowded: 90, ..QueueFigures::default() };
        let verdict = Verdict::of(&totals, &queue, 2);
        assert_eq!(verdict.cause, "queue");
        assert!(verdict.words.starts_with("Requests wait for a work process: 90 %"), "{verdict:?}");
        assert!(verdict.words.contains("so that no more than 200 steps a second"), "{verdict:?}");
        assert!(verdict.words.ends_with("The mean response time is 100 ms."), "{verdict:?}");
        let queue = QueueFigures { crowded: 40, ..queue };
        let verdict = Verdict::of(&totals, &queue, 2);
        assert_eq!(verdict.cause, "processor", "most steps found a work process");
        assert!(verdict.words.contains("more work processes do not help"), "{verdict:?}");
    }

    #[test]
    fn the_largest_part_is_the_cause() {
        let totals =
            Totals { steps: 1, busy_ns: 100, database_ns: 60, load_ns: 10, ..Totals::default() };
        assert_eq!(Verdict::of(&totals, &QueueFigures::default(), 1).cause, "database");
        let totals = Totals { steps: 1, busy_ns: 100, load_ns: 90, ..Totals::default() };
        assert_eq!(Verdict::of(&totals, &QueueFigures::default(), 1).cause, "load");
        let totals = Totals { steps: 1, busy_ns: 100, ..Totals::default() };
        assert_eq!(Verdict::of(&totals, &QueueFigures::default(), 1).cause, "render");
    }

    #[test]
    fn without_steps_there_is_no_share() {
        let verdict = Verdict::of(&Totals::default(), &QueueFigures::default(), 1);
        assert_eq!((verdict.cause, verdict.share_percent), ("idle", None));
    }
}
