//! How long an experiment will take, before it begins.

use plumb_lab::{Extent, PRECISION_ROUNDS_MAX, PRECISION_ROUNDS_MIN, ROUNDS_A_PAIR_MAX};
use plumb_measure::counted;

use crate::experiment::{Plan, rounds_remark};
use crate::progress::length;

/// What a block counts as when its length cannot be known, nanoseconds.
const UNKNOWN_NS: u64 = 2_000_000_000;

/// What is known of the length of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prediction {
    /// Blocks of a complete round.
    pub(super) blocks: u64,
    /// A complete round, nanoseconds.
    pub(super) round_ns: u64,
    /// Rounds when nothing fails.
    pub(super) rounds: u64,
    /// Rounds at most.
    pub(super) rounds_max: u64,
    /// What is not in it, and what it is too short for, in words.
    pub(super) remarks: Vec<String>,
}

impl Prediction {
    /// The prediction for `plan`.
    pub(super) fn of(plan: &Plan) -> Self {
        let blocks = || plan.cells.iter().flat_map(|cell| &cell.blocks);
        let pause_ns = if plan.switches() { plan.settle.ns() } else { 0 };
        let block_ns = |takes_ns: Option<u64>| takes_ns.unwrap_or(UNKNOWN_NS);
        let round_ns = blocks()
            .map(|block| block_ns(block.probe.takes_ns).saturating_add(pause_ns))
            .fold(0, u64::saturating_add);
        let (rounds, rounds_max) = match plan.extent {
            Extent::Pairs(pairs) => (pairs, pairs * ROUNDS_A_PAIR_MAX),
            Extent::Time(ns) => {
                let rounds = (ns / round_ns.max(1)).max(1);
                (rounds, rounds)
            }
            Extent::Precision(_) => {
                (PRECISION_ROUNDS_MIN.max(plan.rounds_needed()), PRECISION_ROUNDS_MAX)
            }
        };
        let guessed = blocks().filter(|block| block.probe.takes_ns.is_none()).count();
        let count = blocks().count();
        let mut remarks = Vec::new();
        if guessed > 0 {
            remarks.push(format!(
                "{guessed} of {count} blocks of a round have no known length and count as {}",
                length(UNKNOWN_NS)
            ));
        }
        if blocks().any(|block| block.before.is_some() || block.after.is_some()) {
            remarks.push("the commands before and after blocks are not in it".into());
        }
        if !plan.servers.is_empty() {
            remarks.push("starting servers is not in it".into());
        }
        remarks.extend(rounds_remark(plan, Some(rounds)));
        Self { blocks: count as u64, round_ns, rounds, rounds_max, remarks }
    }

    /// Rounds of `blocks` blocks, of which nothing else is known.
    #[cfg(test)]
    pub(super) fn plain(blocks: u64, rounds: u64) -> Self {
        Self { blocks, round_ns: 0, rounds, rounds_max: rounds, remarks: Vec::new() }
    }

    /// The whole experiment when nothing fails, nanoseconds.
    pub(super) fn total_ns(&self) -> u64 {
        self.rounds.saturating_mul(self.round_ns)
    }

    /// In a sentence, without its end.
    pub(super) fn words(&self, extent: Extent) -> String {
        let rounds = match extent {
            Extent::Pairs(_) => counted(self.rounds, "round"),
            Extent::Time(_) => format!("about {}", counted(self.rounds, "round")),
            Extent::Precision(_) => {
                format!("{} to {}", self.rounds, counted(self.rounds_max, "round"))
            }
        };
        let about = match extent {
            Extent::Pairs(_) => format!("about {}", length(self.total_ns())),
            Extent::Time(ns) => length(ns),
            Extent::Precision(_) => format!(
                "{} to {}",
                length(self.total_ns()),
                length(self.rounds_max.saturating_mul(self.round_ns))
            ),
        };
        let blocks = self.blocks;
        let remarks: String = self.remarks.iter().map(|text| format!("; {text}")).collect();
        format!("{rounds} of {}, {about}{remarks}", counted(blocks, "block"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{TWO_VARIANTS, plan_of};

    fn file() -> String {
        let probe = r#"
            [[factor]]
            name = "size"
            levels = ["1B", "2B"]
            [[probe]]
            run = "net ping 127.0.0.1 --size ${size} --warmup 100ms"
        "#;
        format!("rounds = 8\nblock = \"300ms\"\n{TWO_VARIANTS}{probe}")
    }

    fn predicted(text: &str) -> (Prediction, String) {
        let plan = plan_of(text).unwrap();
        let prediction = Prediction::of(&plan);
        let words = prediction.words(plan.extent);
        (prediction, words)
    }

    #[test]
    fn blocks_rounds_and_pauses_add_up() {
        let (plain, words) = predicted(&file());
        let block_ns = plain.round_ns / 4;
        assert!((400_000_000..1_000_000_000).contains(&block_ns), "{plain:?}");
        assert_eq!((plain.blocks, plain.rounds, plain.rounds_max), (4, 8, 16));
        assert_eq!(plain.total_ns(), 32 * block_ns);
        assert!(words.starts_with("8 rounds of 4 blocks, about "), "{words}");
        assert!(!words.contains(';'), "{words}");
        // a variant that is switched to makes all blocks wait, so that they stay alike
        let (switched, words) = predicted(
            &file()
                .replace("\"b\"", "\"b\"\nbefore = \"true\"")
                .replace("block =", "settle = \"1s\"\nblock ="),
        );
        assert_eq!(switched.round_ns, plain.round_ns + 4_000_000_000);
        assert!(words.contains("commands before and after blocks are not in it"), "{words}");
    }

    #[test]
    fn a_time_holds_the_rounds_that_fit_and_a_precision_is_a_range() {
        let (time, _) = predicted(&file().replace("rounds = 8", "time = \"1m\""));
        assert_eq!(time.rounds, 60_000_000_000 / time.round_ns);
        let words = Prediction::plain(2, 1).words(Extent::Time(1_000_000_000));
        assert!(words.starts_with("about 1 round of 2 blocks, "), "{words}");
        let (_, words) = predicted(&file().replace("rounds = 8", "precision = \"1%\""));
        assert!(words.starts_with("10 to 200 rounds of 4 blocks, "), "{words}");
    }

    #[test]
    fn what_it_cannot_know_or_is_too_short_for_is_said() {
        let (_, words) = predicted(&file().replace("--warmup", "--count 9 --warmup"));
        assert!(words.contains("4 of 4 blocks of a round have no known length"), "{words}");
        let (_, words) = predicted(&file().replace("rounds = 8", "rounds = 6"));
        assert!(words.contains("can be shown in 2 tests at once: take 7 or more"), "{words}");
    }
}
