//! Where the time of requests went lately, in words.

use plumb_measure::{counted, real, show_ns, show_rate};
use serde::Serialize;

use super::percent;
use crate::dispatcher::{Sums, UnderWay, Waiting};

/// What was seen in a window up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lately {
    /// How long the window is: the last minute, or less.
    pub(super) window_ns: u64,
    /// The steps that ended in it, with all of their times.
    pub(super) ended: Sums,
    /// Those that run, with their times in it.
    pub(super) running: UnderWay,
    /// Those that wait, with their times in it.
    pub(super) waiting: Waiting,
}

/// Where the time goes, and what would change that. It is of the steps that ended in the window, and
/// of those that run or wait at its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// `queue`, `background`, `processor`, `load`, `database`, `lock`, `backend`, `render` or `idle`: the
    /// largest part of the response time.
    pub(crate) cause: &'static str,
    /// Its share in percent; absent without steps.
    pub(crate) share_percent: Option<f64>,
    /// The length of the window, which ends now.
    pub(crate) window_ns: u64,
    /// Steps that ended in it.
    pub(crate) ended: u64,
    /// Their mean response time; absent without any.
    pub(crate) mean_ns: Option<u64>,
    /// Steps that run now.
    pub(crate) running: u64,
    /// How long the oldest of them has been running; absent without any.
    pub(crate) running_longest_ns: Option<u64>,
    /// Of those that run, how many wait inside a database call.
    pub(crate) in_database: u64,
    /// Steps that wait for a work process now.
    pub(crate) waiting: u64,
    /// How long the first of them has been waiting; absent without any.
    pub(crate) waiting_longest_ns: Option<u64>,
    /// The same for people.
    pub(crate) words: String,
}

impl Verdict {
    /// The verdict on `lately`, with so many work processes.
    pub(super) fn of(lately: &Lately, processes: usize) -> Self {
        let Lately { window_ns, ended, running, waiting } = *lately;
        let some = |count: u64, ns: u64| (count > 0).then_some(ns);
        let mut verdict = Self {
            cause: "idle",
            share_percent: None,
            window_ns,
            ended: ended.steps,
            mean_ns: (ended.queue_ns + ended.busy_ns).checked_div(ended.steps),
            running: running.sums.steps,
            running_longest_ns: some(running.sums.steps, running.longest_ns),
            in_database: running.in_database,
            waiting: waiting.steps,
            waiting_longest_ns: some(waiting.steps, waiting.longest_ns),
            words: String::new(),
        };
        let mut all = ended;
        all += running.sums;
        all.queue_ns += waiting.sum_ns;
        all.limited_ns += waiting.limited_ns;
        if let Some((part, ns, whole)) = largest(&all) {
            // a step that finds a work process free waits only for a processor to run it
            let waiting = waiting.steps - waiting.limited;
            let crowded = all.crowded + waiting;
            let free = crowded.saturating_mul(2) < all.steps - all.limited + waiting;
            verdict.cause = if part == "queue" && free { "processor" } else { part };
            verdict.share_percent = percent(ns, whole);
        }
        verdict.words = format!("{} {}", verdict.what(&ended, processes), verdict.seen());
        verdict
    }

    /// What the time is spent on, and what would change that.
    fn what(&self, ended: &Sums, processes: usize) -> String {
        let share = self.share_percent.unwrap_or(0.0);
        match self.cause {
            "idle" => "No time was spent on steps.".into(),
            "processor" => format!(
                "Requests wait for a processor: {share:.0} % of the response time passes on the \
                 way to a work process, although most steps find {} free. The processors are taken, \
                 or have to be woken; more work processes do not help.",
                if processes == 1 {
                    "the only one".into()
                } else {
                    format!("one of the {processes}")
                }
            ),
            "queue" => {
                let bound = ended.busy_ns.checked_div(ended.steps).map_or(String::new(), |each| {
                    let (each, rate) = (show_ns(each), show_rate(rate(processes, each)));
                    format!(
                        " A step takes {each}, so that no more than {rate} steps a second are \
                         possible;"
                    )
                });
                format!(
                    "Requests wait for a work process: {share:.0} % of the response time is the \
                     queue in front of {processes} work {}.{bound} More work processes help \
                     (dispatcher.work-processes) as long as processors and database allow.",
                    if processes == 1 { "process" } else { "processes" }
                )
            }
            "background" => format!(
                "Background steps wait for each other: {share:.0} % of the response time is their \
                 queue in front of the work processes that they may have at once, even where others \
                 are free. A smaller dispatcher.dialog-reserved leaves them more."
            ),
            "load" => format!(
                "Programs are loaded: {share:.0} % of the response time is reading and compiling \
                 them. That is normal at the first use; if it goes on, the program buffer is too \
                 small (programs.buffer-size)."
            ),
            "database" => format!(
                "The database works: {share:.0} % of the response time is spent in its calls."
            ),
            "lock" => format!(
                "Steps wait for the lock server: {share:.0} % of the response time passes until it \
                 has answered. More processors or work processes do not make it answer sooner."
            ),
            "backend" => format!(
                "Steps wait for the back end: {share:.0} % of the response time is spent in its \
                 calls. Its own figures say where it goes there."
            ),
            _ if self.running == 0 => format!(
                "The work processes compute: {share:.0} % of the response time is rendering and \
                 the steps' own work."
            ),
            // the calls of a step are told apart when it has ended
            _ => format!(
                "The work processes compute, or steps under way wait for the lock server or the \
                 back end: {share:.0} % of the response time is that, rendering and the steps' own work."
            ),
        }
    }

    /// Of which time and of which steps that is.
    fn seen(&self) -> String {
        let ended = match self.mean_ns {
            Some(mean) => format!(
                "{} ended, with a mean response time of {}",
                steps(self.ended),
                show_ns(mean)
            ),
            None => "no step ended".into(),
        };
        let running = self.running_longest_ns.map_or(String::new(), |longest| {
            let stuck = match self.in_database {
                0 => String::new(),
                some => format!(", {some} of them in a database call"),
            };
            format!("; {} under way, for up to {}{stuck}", steps(self.running), show_ns(longest))
        });
        let waiting = self.waiting_longest_ns.map_or(String::new(), |longest| {
            format!("; {} waiting, for up to {}", steps(self.waiting), show_ns(longest))
        });
        format!("In the last {}: {ended}{running}{waiting}.", show_ns(self.window_ns))
    }
}

/// The largest part of the time, and the whole of it; `None` when there is none.
fn largest(all: &Sums) -> Option<(&'static str, u64, u64)> {
    let known_ns = all.load_ns + all.database_ns + all.lock_ns + all.backend_ns;
    let parts = [
        ("queue", all.queue_ns - all.limited_ns),
        ("background", all.limited_ns),
        ("load", all.load_ns),
        ("database", all.database_ns),
        ("lock", all.lock_ns),
        ("backend", all.backend_ns),
        ("render", all.busy_ns.saturating_sub(known_ns)),
    ];
    let whole: u64 = parts.iter().map(|(_, ns)| ns).sum();
    // the first of equals
    let (part, ns) = parts.into_iter().rev().max_by_key(|(_, ns)| *ns)?;
    (whole > 0).then_some((part, ns, whole))
}

fn steps(count: u64) -> String {
    counted(count, "step")
}

/// Steps a second of `processes` that take `service_ns` for each.
fn rate(processes: usize, service_ns: u64) -> f64 {
    real(processes as u64) * 1e9 / real(service_ns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ended: Sums) -> Verdict {
        Verdict::of(&Lately { window_ns: 58_000_000_000, ended, ..Lately::default() }, 2)
    }

    #[test]
    fn the_queue_is_named_as_the_cause_with_the_bound() {
        let ended = Sums {
            steps: 100,
            crowded: 90,
            busy_ns: 1_000_000_000,
            database_ns: 900_000_000,
            queue_ns: 9_000_000_000,
            ..Sums::default()
        };
        let verdict = of(ended);
        assert_eq!(verdict.cause, "queue");
        let words = &verdict.words;
        assert!(words.starts_with("Requests wait for a work process: 90 %"), "{words}");
        assert!(words.contains("so that no more than 200.0 steps a second"), "{words}");
        let seen = "In the last 58.0 s: 100 steps ended, with a mean response time of 100 ms.";
        assert!(words.ends_with(seen), "{words}");
        let verdict = of(Sums { crowded: 40, ..ended });
        assert_eq!(verdict.cause, "processor", "most steps found a work process");
        assert!(verdict.words.contains("more work processes do not help"), "{verdict:?}");
        assert!(verdict.words.contains("most steps find one of the 2 free"), "{verdict:?}");
    }

    #[test]
    fn a_single_work_process_with_long_steps_does_less_than_one_a_second() {
        let of_one = |crowded| {
            let ended = Sums {
                steps: 2,
                crowded,
                busy_ns: 4_000_000_000,
                queue_ns: 30_000_000_000,
                ..Sums::default()
            };
            let lately = Lately { window_ns: 58_000_000_000, ended, ..Lately::default() };
            Verdict::of(&lately, 1).words
        };
        let words = of_one(2);
        assert!(words.contains("is the queue in front of 1 work process. A step takes"), "{words}");
        assert!(words.contains("no more than 0.500 steps a second are possible"), "{words}");
        assert!(of_one(0).contains("most steps find the only one free"), "{}", of_one(0));
        assert_eq!(show_rate(rate(10, 1_500_000_000)), "6.67");
    }

    #[test]
    fn the_largest_part_is_the_cause() {
        let one = Sums { steps: 1, busy_ns: 100, ..Sums::default() };
        assert_eq!(of(Sums { database_ns: 60, load_ns: 10, ..one }).cause, "database");
        assert_eq!(of(Sums { load_ns: 90, ..one }).cause, "load");
        assert_eq!(of(one).cause, "render");
        assert!(of(one).words.starts_with("The work processes compute: "));
        let running = UnderWay { sums: one, ..UnderWay::default() };
        let hanging = Verdict::of(&Lately { running, ..Lately::default() }, 2);
        assert!(hanging.words.contains("compute, or steps under way wait"), "{hanging:?}");
        // a part, and what is told of it
        let parts = [
            (Sums { backend_ns: 90, ..one }, "backend", "Steps wait for the back end: 90 %"),
            (Sums { lock_ns: 90, ..one }, "lock", "Steps wait for the lock server: 90 %"),
        ];
        for (sums, cause, words) in parts {
            let verdict = of(sums);
            assert_eq!((verdict.cause, verdict.share_percent), (cause, Some(90.0)));
            assert!(verdict.words.starts_with(words), "{verdict:?}");
        }
    }

    #[test]
    fn steps_that_hang_count_although_none_ends() {
        let hanging = Sums {
            steps: 2,
            busy_ns: 20_000_000_000,
            database_ns: 19_000_000_000,
            ..Sums::default()
        };
        let mut lately = Lately {
            window_ns: 12_000_000_000,
            ended: Sums { steps: 5, busy_ns: 5_000_000, ..Sums::default() },
            running: UnderWay { sums: hanging, in_database: 2, longest_ns: 10_000_000_000 },
            waiting: Waiting::default(),
        };
        let verdict = Verdict::of(&lately, 2);
        assert_eq!((verdict.cause, verdict.running, verdict.in_database), ("database", 2, 2));
        assert!(
            verdict.words.contains("2 steps under way, for up to 10.0 s, 2 of them in a database")
        );
        let (sum_ns, longest_ns) = (90_000_000_000, 10_000_000_000);
        lately.waiting = Waiting { steps: 9, sum_ns, longest_ns, ..Waiting::default() };
        let verdict = Verdict::of(&lately, 2);
        assert_eq!((verdict.cause, verdict.waiting), ("queue", 9));
        assert!(verdict.words.ends_with("; 9 steps waiting, for up to 10.0 s."), "{verdict:?}");
        // all of them for the background steps before them, and one more for a work process
        lately.waiting = Waiting { limited: 9, limited_ns: sum_ns, ..lately.waiting };
        let verdict = Verdict::of(&lately, 2);
        assert_eq!((verdict.cause, verdict.waiting), ("background", 9));
        assert!(verdict.words.contains("dispatcher.dialog-reserved"), "{verdict:?}");
        lately.waiting.steps = 10;
        lately.waiting.sum_ns += 2 * sum_ns;
        assert_eq!(Verdict::of(&lately, 2).cause, "processor", "5 of 8 found one free");
    }

    #[test]
    fn without_steps_there_is_no_share() {
        let verdict = of(Sums::default());
        assert_eq!((verdict.cause, verdict.share_percent), ("idle", None));
        assert!(verdict.words.ends_with("In the last 58.0 s: no step ended."), "{verdict:?}");
    }
}
