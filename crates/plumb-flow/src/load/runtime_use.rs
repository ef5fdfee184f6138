//! What of a runtime was in use during a load, as it reports: which of its parts was full?

use plumb_measure::{Figure, Finding, FindingKind, Scope};
use serde_json::Value;

/// Where the edges of a load can lift a share that is whole, in percent: executions count when they
/// end, those of before the load among them.
const EDGES_PERCENT: f64 = 105.0;

/// What was in use of a runtime, or why that is not known.
pub(super) type InUse = Result<Vec<Figure>, Finding>;

/// The account of a runtime at one moment, all its nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RuntimeAccount {
    /// When each of its processes began: all that is told here has been counted since then.
    began: Vec<String>,
    /// Time of its workers.
    execution_ns: u64,
    workers: u64,
    /// Time of all executions in data servers, and of it waiting for sessions.
    data_ns: u64,
    waited_ns: u64,
    /// 0 where calls of back ends are in `data_ns`, too.
    sessions: u64,
    /// Time of flushes of its queues, each of which has one writer.
    flush_ns: u64,
    queues: u64,
    /// Times that a limit of memory was reached; `None` where a node does not know.
    limit_reached: Option<u64>,
}

impl RuntimeAccount {
    /// The account in an answer of the manager; `None` of one that has none.
    pub(super) fn of(answer: &Value) -> Option<Self> {
        let figures = answer.get("figures")?;
        let number = |path: &str| figures.pointer(path)?.as_u64();
        let data = figures.get("data")?.as_array()?;
        let sum = |name: &str| data.iter().map(|it| it.get(name)?.as_u64()).sum::<Option<u64>>();
        let sessions = sum("limit")?;
        let back_ends = figures.get("back_ends").and_then(Value::as_array);
        let only_data = back_ends.is_none_or(Vec::is_empty);
        let nodes = answer.get("nodes").and_then(Value::as_array).map_or(0, Vec::len);
        Some(Self {
            began: began(answer)?,
            execution_ns: number("/queued/execution_ns")?,
            workers: number("/pools/workers/limit")?,
            data_ns: number("/queued/data_ns")? + number("/executions/data_ns")?,
            waited_ns: sum("waited_ns")?,
            sessions: if only_data { sessions } else { 0 },
            flush_ns: number("/queue/flush_ns")?,
            queues: (nodes as u64).max(1),
            limit_reached: number("/memory_limit_reached"),
        })
    }

    /// What was in use between `before` and this one, `elapsed_ns` later.
    ///
    /// # Errors
    /// A remark, when not every process counted all that time.
    pub(super) fn since(&self, before: &Self, elapsed_ns: u64) -> InUse {
        if self.began != before.began {
            let text = "the runtime or one of its nodes began anew during the load, or does not answer: \
                        what was in use of it is not known";
            let kind = FindingKind::Untold;
            return Err(Finding { kind, scope: Scope::Nothing, text: text.into() });
        }
        Ok(self.used_since(before, elapsed_ns))
    }

    fn used_since(&self, before: &Self, elapsed_ns: u64) -> Vec<Figure> {
        let mut figures = Vec::new();
        let mut share = |name: &str, after: u64, before: u64, places: u64, formula: &str| {
            let whole_ns = elapsed_ns.saturating_mul(places);
            let share = percent(after.saturating_sub(before), whole_ns);
            // one that cannot be is of executions that had begun long before
            if let Some(share) = share.filter(|share| *share <= EDGES_PERCENT) {
                let share = share.min(100.0);
                let (name, formula) = (name.into(), formula.into());
                figures.push(Figure { name, value: share, unit: "%".into(), formula });
            }
        };
        let time = (self.execution_ns, before.execution_ns, self.workers);
        share("workers busy", time.0, time.1, time.2, "time of executions / (time x workers)");
        let held = |it: &Self| it.data_ns.saturating_sub(it.waited_ns);
        let time = (held(self), held(before), self.sessions);
        let formula = "(time in data servers - waits for sessions) / (time x sessions)";
        share("sessions busy", time.0, time.1, time.2, formula);
        let time = (self.flush_ns, before.flush_ns, self.queues);
        share("queue flushing", time.0, time.1, time.2, "time of flushes / (time x queues)");
        let reached = self.limit_reached.zip(before.limit_reached);
        figures.extend(reached.map(|(after, before)| Figure {
            name: "memory limit reached".into(),
            value: count(after.saturating_sub(before)),
            unit: "times".into(),
            formula: "times that a node had to give memory back before it got more".into(),
        }));
        figures
    }
}

/// When each process of the runtime began that gave this answer, an empty text for one that does not
/// tell; `None` of an answer without figures.
pub(super) fn began(answer: &Value) -> Option<Vec<String>> {
    let figures = answer.get("figures")?;
    let of_nodes = answer.get("nodes").and_then(Value::as_array).into_iter().flatten();
    let began = std::iter::once(figures).chain(of_nodes).map(|it| it.get("began"));
    Some(began.map(|it| it.and_then(Value::as_str).unwrap_or_default().to_owned()).collect())
}

/// `part` of `whole` in percent, `None` of nothing.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| count(part) / count(whole) * 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of years")]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(execution_ns: u64, reached: Option<u64>) -> Value {
        json!({
            "figures": {
                "queued": { "execution_ns": execution_ns, "data_ns": execution_ns / 2 },
                "executions": { "data_ns": execution_ns / 10 },
                "pools": { "workers": { "limit": 4 } },
                "data": [
                    { "name": "a", "limit": 2, "waited_ns": execution_ns / 5 },
                    { "name": "b", "limit": 3, "waited_ns": 0 },
                ],
                "queue": { "flush_ns": execution_ns / 10 },
                "memory_limit_reached": reached,
            },
            "nodes": [{ "node": 1 }, { "node": 2 }],
        })
    }

    #[test]
    fn shares_are_of_the_places_and_of_the_time_that_went_by() {
        let of = |ns, reached| RuntimeAccount::of(&answer(ns, reached)).unwrap();
        let figures = of(3_000, Some(12)).since(&of(1_000, Some(2)), 1_000).unwrap();
        let told: Vec<(&str, f64)> = figures.iter().map(|it| (&*it.name, it.value)).collect();
        assert_eq!(
            told,
            [
                ("workers busy", 50.0),
                ("sessions busy", 16.0),
                ("queue flushing", 10.0),
                ("memory limit reached", 10.0)
            ]
        );
        // a node that does not know leaves the sum unknown, and no time has no share
        let untold = of(3_000, None).since(&of(1_000, Some(2)), 0).unwrap();
        assert!(untold.is_empty(), "{untold:?}");
    }

    #[test]
    fn a_share_of_more_than_there_was_is_left_out() {
        let of = |ns| RuntimeAccount::of(&answer(ns, None)).unwrap();
        let busy = |ns: u64| {
            let figures = of(ns).since(&of(0), 1_000).unwrap();
            figures.iter().find(|it| it.name == "workers busy").map(|it| it.value)
        };
        // four workers
        assert_eq!([busy(3_960), busy(4_000), busy(4_020)], [Some(99.0), Some(100.0), Some(100.0)]);
        assert_eq!([busy(4_400), busy(32_000)], [None, None]);
    }

    #[test]
    fn counters_of_a_process_that_began_anew_are_no_share_of_the_load() {
        let began = |own: &str, nodes: [&str; 2]| {
            let mut told = answer(3_000, None);
            told["figures"]["began"] = json!(own);
            told["nodes"] = nodes.map(|it| json!({ "began": it })).into();
            RuntimeAccount::of(&told).unwrap()
        };
        let before = began("1", ["1", "2"]);
        assert!(began("1", ["1", "2"]).since(&before, 1_000).is_ok());
        for after in [began("5", ["5", "2"]), began("1", ["1", "5"]), began("1", ["1", ""])] {
            let said = after.since(&before, 1_000).unwrap_err();
            assert_eq!(said.scope, Scope::Nothing);
            assert!(said.text.contains("began anew during the load"), "{said:?}");
        }
    }

    #[test]
    fn calls_of_back_ends_are_not_taken_for_work_in_sessions() {
        let mut called = answer(3_000, None);
        called["figures"]["back_ends"] = json!([{ "name": "erp" }]);
        let before = RuntimeAccount::of(&answer(0, None)).unwrap();
        let figures = RuntimeAccount::of(&called).unwrap().since(&before, 1_000).unwrap();
        assert!(figures.iter().all(|it| it.name != "sessions busy"), "{figures:?}");
        assert_eq!(figures.len(), 2);
    }

    #[test]
    fn what_tells_of_no_pools_has_no_account() {
        for none in [json!({}), json!([]), json!({ "figures": { "data": [] } })] {
            assert_eq!(RuntimeAccount::of(&none), None);
        }
    }
}
