//! What became of messages that were accepted: counted at the client, in a table and in the queue.

use serde::{Deserialize, Serialize};

use crate::units::{counted, show_count};
use crate::{Finding, FindingKind, Scope, Span, grouped, real};

/// Accepted messages, and where they are when the load is over.
///
/// The warm-up is counted as well: it leaves rows like everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Where rows are counted, in words: `table components of PostgreSQL at db:5432, plant`.
    pub sink: String,
    /// Messages that the server said it had accepted.
    pub accepted: u64,
    /// Messages that were sent and never answered: each may have been accepted or not.
    pub unanswered: u64,
    /// Rows that came into the table.
    pub rows: u64,
    /// Rows that a message makes.
    pub rows_each: u64,
    /// Messages that have a row, by their numbers; absent where rows have none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numbers: Option<u64>,
    /// Messages that are dead: more than before the load.
    pub dead: i64,
    /// Messages that wait or run: more than before the load.
    pub waiting: i64,
    /// Messages that were moved while they were counted: each may be counted twice, or not at all.
    #[serde(skip_serializing_if = "is_none", default)]
    pub moving: u64,
    /// From the first to the last time stamp of the rows, nanoseconds; absent with fewer than two
    /// different ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span_ns: Option<u64>,
    /// The step of the time stamps, nanoseconds, as far as they show it.
    pub step_ns: u64,
}

/// Time stamps are too coarse for a rate when their step is more than one in so many of the span.
const STEPS_MIN: u64 = 20;

impl Delivery {
    /// Messages in the table: by their numbers, or the rows by those that a message makes.
    #[must_use]
    pub fn in_the_table(&self) -> u64 {
        self.numbers.unwrap_or_else(|| self.rows / self.rows_each.max(1))
    }

    /// Rows a second, by the time stamps of the table: rows / (last - first).
    #[must_use]
    pub fn rows_per_s(&self) -> Option<f64> {
        let span_ns = self.span_ns.filter(|ns| *ns > 0)?;
        Some(real(self.rows) * 1e9 / real(span_ns))
    }

    /// `1,000 accepted, 990 in the table, 4 dead, 6 waiting`.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "{} accepted, {} in the table, {} dead, {} waiting",
            grouped(self.accepted),
            grouped(self.in_the_table()),
            signed(self.dead),
            signed(self.waiting)
        )
    }

    /// What is against it, and what is to be known.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        [self.does_not_close(), self.not_once(), self.not_known_to_one(), self.coarse()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Found messages less accepted ones.
    fn excess(&self) -> i128 {
        let found = i128::from(self.in_the_table()) + i128::from(self.dead);
        found + i128::from(self.waiting) - i128::from(self.accepted)
    }

    fn does_not_close(&self) -> Option<Finding> {
        let excess = self.excess();
        let moving = i128::from(self.moving);
        let most = moving + i128::from(self.unanswered);
        let problem = if excess < -moving {
            format!("{} missing", counted(magnitude(excess + moving), "message"))
        } else if excess > most {
            let more = magnitude(excess - most);
            format!("{} more than were accepted", counted(more, "message"))
        } else {
            return None;
        };
        let text = format!(
            "the count does not close: {}, so {problem}; nobody else may send to this server or \
             write into {} meanwhile, and a message makes {} there",
            self.sentence(),
            self.sink,
            counted(self.rows_each, "row")
        );
        finding(Scope::Everything, text)
    }

    /// Every message has all its rows, and none twice.
    fn not_once(&self) -> Option<Finding> {
        if self.moving > 0 {
            return None; // rows may have come between two looks at the table
        }
        let messages = self.in_the_table();
        let expected = messages.saturating_mul(self.rows_each);
        if self.rows == expected {
            return None;
        }
        let text = format!(
            "{} in the table are {} of {}: some are there twice, or not at all (--rows says how \
             many a message makes: {})",
            counted(messages, "message"),
            counted(self.rows, "row"),
            grouped(expected),
            grouped(self.rows_each)
        );
        finding(Scope::Everything, text)
    }

    fn not_known_to_one(&self) -> Option<Finding> {
        if self.does_not_close().is_some() {
            return None;
        }
        let open = [
            (self.unanswered, "without an answer", "accepted"),
            (self.moving, "moved while they were counted", "found"),
        ];
        let told: Vec<String> = open
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, which, what)| {
                format!(
                    "{} {which}: what was {what} is known to so many",
                    counted(count, "message")
                )
            })
            .collect();
        (!told.is_empty()).then_some(())?;
        finding(Scope::Nothing, told.join("; "))
    }

    fn coarse(&self) -> Option<Finding> {
        let span_ns = self.span_ns?;
        if self.step_ns.saturating_mul(STEPS_MIN) <= span_ns {
            return None;
        }
        let low = real(self.rows) * 1e9 / real(span_ns + self.step_ns);
        let step = Span::from_ns(self.step_ns);
        let text = format!(
            "the time stamps of the table are known to {step}, and {} lie between the first and \
             the last: the rate may be as low as {} rows/s",
            Span::from_ns(span_ns),
            show_count(low)
        );
        finding(Scope::Nothing, text)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn finding(scope: Scope, text: String) -> Option<Finding> {
    Some(Finding { kind: FindingKind::CountsDiffer, scope, text })
}

fn magnitude(value: i128) -> u64 {
    u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX)
}

fn signed(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn delivery(accepted: u64, rows: u64, dead: i64, waiting: i64) -> Delivery {
        let sink = "table t".into();
        Delivery { sink, accepted, rows, rows_each: 1, dead, waiting, ..Delivery::default() }
    }

    fn scopes(delivery: &Delivery) -> Vec<Scope> {
        delivery.findings().iter().map(|finding| finding.scope).collect()
    }

    #[test]
    fn accepted_is_in_the_table_dead_or_waiting() {
        let closed = delivery(1_000, 990, 4, 6);
        assert_eq!(closed.sentence(), "1,000 accepted, 990 in the table, 4 dead, 6 waiting");
        assert!(closed.findings().is_empty());
        let lost = delivery(1_000, 990, 4, 5).findings();
        assert_eq!(lost[0].scope, Scope::Everything);
        assert!(lost[0].text.contains("so 1 message missing;"), "{}", lost[0].text);
        let more = delivery(1_000, 1_002, 0, 0).findings();
        assert!(more[0].text.contains("so 2 messages more than were accepted"), "{}", more[0].text);
    }

    #[test]
    fn a_message_without_an_answer_may_be_there_or_not() {
        for rows in [10, 11, 12] {
            let open = Delivery { unanswered: 2, ..delivery(10, rows, 0, 0) };
            assert_eq!(scopes(&open), [Scope::Nothing], "{rows}");
        }
        for rows in [9, 13] {
            let wrong = Delivery { unanswered: 2, ..delivery(10, rows, 0, 0) };
            assert_eq!(scopes(&wrong), [Scope::Everything], "{rows}");
        }
    }

    #[test]
    fn what_moved_while_it_was_counted_is_known_to_so_many() {
        for rows in 7..=13 {
            let moving = Delivery { moving: 3, ..delivery(10, rows, 0, 0) };
            assert_eq!(scopes(&moving), [Scope::Nothing], "{rows}");
        }
        for rows in [6, 14] {
            let moving = Delivery { moving: 3, ..delivery(10, rows, 0, 0) };
            assert_eq!(scopes(&moving), [Scope::Everything], "{rows}");
        }
    }

    #[test]
    fn a_number_that_is_there_twice_is_seen() {
        let twice = Delivery { numbers: Some(10), ..delivery(10, 11, 0, 0) };
        let found = twice.findings();
        assert_eq!(found.len(), 1);
        assert!(found[0].text.starts_with("10 messages in the table are 11 rows of 10"));
        let several = Delivery { numbers: Some(10), rows_each: 8, ..delivery(10, 80, 0, 0) };
        assert!(several.findings().is_empty());
        let half = Delivery { rows_each: 8, ..delivery(10, 84, 0, 0) };
        assert_eq!(scopes(&half), [Scope::Everything]);
    }

    #[test]
    fn the_rate_is_that_of_the_time_stamps() {
        let timed = Delivery {
            span_ns: Some(2_000_000_000),
            step_ns: 1_000,
            ..delivery(1_000, 1_000, 0, 0)
        };
        assert_eq!(timed.rows_per_s(), Some(500.0));
        assert!(timed.findings().is_empty());
        let coarse = Delivery { step_ns: 1_000_000_000, ..timed };
        let text = &coarse.findings()[0].text;
        assert!(text.contains("as low as 333 rows/s"), "{text}");
        let few = Delivery { span_ns: Some(5_000_000_000), ..delivery(2, 2, 0, 0) };
        let few = Delivery { step_ns: 1_000_000_000, ..few };
        assert!(few.findings()[0].text.contains("as low as 0.33 rows/s"), "{:?}", few.findings());
        assert_eq!(delivery(1, 1, 0, 0).rows_per_s(), None);
    }

    proptest! {
        #[test]
        fn it_closes_exactly_when_every_accepted_message_is_somewhere(
            rows in 0_u64..50, dead in 0_i64..50, waiting in 0_i64..50,
            accepted in 0_u64..150, unanswered in 0_u64..5,
        ) {
            let delivery = Delivery { unanswered, ..delivery(accepted, rows, dead, waiting) };
            let found = rows + dead.unsigned_abs() + waiting.unsigned_abs();
            let closes = (accepted..=accepted + unanswered).contains(&found);
            let wrong = scopes(&delivery).contains(&Scope::Everything);
            prop_assert_eq!(closes, !wrong);
        }
    }
}
