//! Groups in which a user has nothing more to ask: they end with its last answer, not with the think time
//! behind that, in which the load may be over.

use plumb_scenario::condition::Condition;
use plumb_scenario::variables::{Value, Variables};

use super::{Around, Cursor};
use crate::scenario::program::{Instruction, InstructionIndex};

impl Cursor {
    /// Times the groups in which nothing but think times follows, as far as that is known before they
    /// are over.
    pub(super) fn complete_ended(&mut self, around: &mut Around<'_>) {
        let (mut at, mut within) = (self.at, self.frames.len());
        while let Some(innermost) = within.checked_sub(1) {
            let frame = &mut self.frames[innermost];
            let behind = match around.program.get(at as usize) {
                Some(Instruction::Think(_)) => Some(at + 1),
                Some(Instruction::GroupEnd) => {
                    frame.complete(around.complete);
                    within = innermost;
                    Some(at + 1)
                }
                Some(Instruction::Again { to }) => {
                    within = innermost;
                    match frame.is_at_last_turn() {
                        true => Some(at + 1),
                        false => behind_last_turn(*to, frame.done() + 1, around),
                    }
                }
                Some(Instruction::Turns) => behind_last_turn(at + 1, 0, around),
                Some(Instruction::Each { list, to, .. }) => {
                    let list = around.variables.get(*list);
                    list.is_some_and(Value::is_empty_list).then_some(*to)
                }
                Some(Instruction::Unless { condition, to, .. }) => {
                    is_over(condition, around.variables).then_some(*to)
                }
                _ => None,
            };
            match behind {
                Some(behind) => at = behind,
                None => return,
            }
        }
    }
}

/// Where the loop with a condition at `at` leads that had `done` turns; `None` where it has another.
fn behind_last_turn(
    at: InstructionIndex,
    done: u64,
    around: &Around<'_>,
) -> Option<InstructionIndex> {
    match around.program.get(at as usize) {
        Some(Instruction::While { condition, most, to, .. }) => {
            (done >= *most || is_over(condition, around.variables)).then_some(*to)
        }
        _ => None,
    }
}

/// True when a condition does not hold, and will not before something is asked for.
fn is_over(condition: &Condition, variables: &Variables) -> bool {
    condition.is_of_variables() && condition.holds(variables) == Ok(false)
}
