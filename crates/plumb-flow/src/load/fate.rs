//! What a runtime did with messages that it had only accepted, by its own counts.

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Finding, FindingKind, Scope, Span, counted, grouped};
use serde_json::Value;

use super::log_on::LogOn;
use super::options::MessageLoadOptions;
use super::runtime_use::began;
use crate::FlowError;
use crate::verbs::Client;

/// How long it is waited for messages unless somebody says.
const DRAIN: Span = Span::from_ms(1_000);
/// Between two looks at a runtime that still works.
const LOOK_NS: u64 = 100_000_000;

/// Who is asked what became of the messages.
#[derive(Debug)]
pub(super) struct Fate {
    manager: Client,
    /// How long it is waited for messages that are still on their way.
    drain: Span,
}

/// What a runtime has counted of its queue, all its nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    /// When each of its processes began: `done` and `failed` are counted since then.
    began: Vec<String>,
    done: u64,
    failed: u64,
    /// Messages that wait or run.
    waiting: u64,
}

impl QueueCounts {
    fn of(answer: &Value) -> Option<Self> {
        let figures = answer.get("figures")?;
        let number = |path: &str| figures.pointer(path)?.as_u64();
        Some(Self {
            began: began(answer)?,
            done: number("/queued/done")?,
            failed: number("/queued/failed")?,
            waiting: number("/queue/waiting")? + number("/queue/running")?,
        })
    }
}

impl Fate {
    /// Who asks the server as whoever sends.
    ///
    /// # Errors
    /// As [`LogOn::manager`].
    pub(super) fn of(options: &MessageLoadOptions, log_on: &LogOn) -> Result<Self, FlowError> {
        Ok(Self { manager: log_on.manager(options)?, drain: options.sink.drain.unwrap_or(DRAIN) })
    }

    /// The counts of the runtime.
    ///
    /// # Errors
    /// [`FlowError`] when the manager cannot be asked or does not tell.
    pub(super) fn look(&self, stop: &Stop) -> Result<QueueCounts, FlowError> {
        let answer = self.manager.ask("/manager?most=1", None, stop)?;
        QueueCounts::of(&answer).ok_or_else(|| {
            FlowError::Plan("the transaction manager tells nothing of its queue".into())
        })
    }

    /// What is to be known of `accepted` messages that were answered with 202; `None` when the runtime
    /// did them all.
    ///
    /// # Errors
    /// [`FlowError`] when there is no timer.
    pub(super) fn finding(
        &self,
        before: Result<QueueCounts, FlowError>,
        accepted: u64,
        stop: &Stop,
    ) -> Result<Option<Finding>, FlowError> {
        if accepted == 0 {
            return Ok(None);
        }
        Ok(match before {
            Ok(before) => match self.settled(&before, accepted, stop)? {
                Ok(after) => of_counts(&before, &after, accepted),
                Err(error) => Some(untold(accepted, &error.to_string())),
            },
            Err(error) => Some(untold(accepted, &error.to_string())),
        })
    }

    /// The counts once as many as were accepted have ended, or the time for that is over.
    fn settled(
        &self,
        before: &QueueCounts,
        accepted: u64,
        stop: &Stop,
    ) -> Result<Result<QueueCounts, FlowError>, FlowError> {
        let deadline_ns = MonotonicClock.now_ns().saturating_add(self.drain.ns());
        loop {
            // who wants to stop wants the counts all the same
            let counts = match self.look(&Stop::new()?) {
                Ok(counts) => counts,
                Err(error) => return Ok(Err(error)),
            };
            let now_ns = MonotonicClock.now_ns();
            let ended = (counts.done + counts.failed).saturating_sub(before.done + before.failed);
            if ended >= accepted || now_ns >= deadline_ns || stop.asked() {
                return Ok(Ok(counts));
            }
            stop.wait_until((now_ns + LOOK_NS).min(deadline_ns))?;
        }
    }
}

/// Nobody looked at what became of `accepted` messages.
pub(super) fn untold(accepted: u64, why: &str) -> Finding {
    let text = format!(
        "{} accepted with 202; what became of them is not known: {why}",
        messages_were(accepted)
    );
    Finding { kind: FindingKind::Untold, scope: Scope::Nothing, text }
}

fn of_counts(before: &QueueCounts, after: &QueueCounts, accepted: u64) -> Option<Finding> {
    if before.began != after.began {
        let why = "the runtime or one of its nodes began anew during the load, or does not answer";
        return Some(untold(accepted, why));
    }
    let done = after.done.saturating_sub(before.done);
    let failed = after.failed.saturating_sub(before.failed);
    let waiting = after.waiting.saturating_sub(before.waiting);
    if failed == 0 && waiting == 0 && done >= accepted {
        return None;
    }
    let none_done = failed > 0 && (done == 0 || failed >= accepted);
    let what_to_do = match failed {
        0 => "",
        _ => "; plumb flow list URL --state failed says why they fail",
    };
    let text = format!(
        "{} accepted with 202, the warm-up among them; by the counts of the runtime {} done \
         meanwhile, {} failed and {} still on the way{what_to_do}",
        messages_were(accepted),
        grouped(done),
        grouped(failed),
        grouped(waiting),
    );
    Some(match none_done {
        true => Finding { kind: FindingKind::Failures, scope: Scope::Everything, text },
        false => Finding { kind: FindingKind::CountsDiffer, scope: Scope::Nothing, text },
    })
}

fn messages_were(count: u64) -> String {
    format!("{} {}", counted(count, "message"), if count == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn counts(done: u64, failed: u64, waiting: u64) -> QueueCounts {
        QueueCounts { done, failed, waiting, ..QueueCounts::default() }
    }

    #[test]
    fn messages_that_all_failed_are_no_valid_load() {
        let found = of_counts(&counts(5, 7, 0), &counts(5, 307, 0), 300).unwrap();
        assert_eq!(found.scope, Scope::Everything);
        let expected = "300 messages were accepted with 202, the warm-up among them; by the counts \
                        of the runtime 0 done meanwhile, 300 failed and 0 still on the way; plumb flow \
                        list URL --state failed says why they fail";
        assert_eq!(found.text, expected);
        // the first failed, and nothing was done yet
        let first = of_counts(&counts(0, 0, 0), &counts(0, 1, 299), 300).unwrap();
        assert_eq!(first.scope, Scope::Everything);
    }

    #[test]
    fn what_is_only_in_part_done_is_a_remark_and_all_done_is_none() {
        for (after, expected) in [
            (counts(290, 10, 0), "290 done meanwhile, 10 failed and 0 still"),
            (counts(0, 0, 300), "0 done meanwhile, 0 failed and 300 still on the way"),
            (counts(40, 0, 260), "40 done meanwhile, 0 failed and 260 still on the way"),
        ] {
            let found = of_counts(&counts(0, 0, 0), &after, 300).unwrap();
            assert_eq!(found.scope, Scope::Nothing, "{found:?}");
            assert!(found.text.contains(expected), "{found:?}");
        }
        assert_eq!(of_counts(&counts(9, 4, 2), &counts(309, 4, 2), 300), None);
        assert_eq!(of_counts(&counts(0, 0, 5), &counts(305, 0, 0), 300), None);
    }

    #[test]
    fn a_runtime_that_began_anew_has_no_counts_of_the_load() {
        let anew = QueueCounts { began: vec!["5".into()], ..counts(300, 0, 0) };
        let found = of_counts(&counts(0, 0, 0), &anew, 300).unwrap();
        assert_eq!((found.kind, found.scope), (FindingKind::Untold, Scope::Nothing));
        assert!(found.text.contains("is not known: the runtime or one of its nodes"), "{found:?}");
    }

    #[test]
    fn counts_are_those_of_the_queue() {
        let answer = json!({ "figures": {
            "began": "1",
            "queued": { "done": 3, "failed": 4 },
            "queue": { "waiting": 5, "running": 6, "failed": 99 },
        }});
        let expected = QueueCounts { began: vec!["1".into()], ..counts(3, 4, 11) };
        assert_eq!(QueueCounts::of(&answer), Some(expected));
        for none in [json!({}), json!([]), json!({ "figures": { "queue": { "waiting": 1 } } })] {
            assert_eq!(QueueCounts::of(&none), None);
        }
    }
}
