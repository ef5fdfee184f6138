//! Where a user stands in its program, and how it goes on.

mod ending;
mod frame;

use std::sync::Arc;

use plumb_engine::OperationGroup;
use plumb_measure::{FailureKind, Outcome};
use plumb_scenario::condition::Undecided;
use plumb_scenario::draw::Draw;
use plumb_scenario::template::{Missing, Template};
use plumb_scenario::variables::{Slot, Value, Variables};

use super::program::{Instruction, InstructionIndex, Parallel, Program};
use frame::Frame;
pub(crate) use frame::SharedTurns;

/// Instructions that are carried out without a request before others have their turn.
const STEPS_AT_ONCE: usize = 10_000;
/// The pause of a user that went through so many.
const BREATH_NS: u64 = 1_000_000;

/// The place of a user in a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    at: InstructionIndex,
    frames: Vec<Frame>,
    /// The step that fails, because it cannot be decided whether it is to be done.
    undecided: Option<u16>,
}

/// Where a cursor halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// At a request, until [`Cursor::pass`].
    Request(u16),
    /// At several that are made at the same time, until it is passed: [`Cursor::parallel`].
    Parallel,
    /// At a request of which nobody knows whether it is to be done, until it is passed.
    Undecided(u16),
    /// For so many nanoseconds.
    Pause(u64),
    /// At the end.
    End,
}

/// What a cursor needs of everybody else.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) program: &'a Program,
    pub(crate) variables: &'a mut Variables,
    pub(crate) draw: &'a mut Draw,
    pub(crate) shared: &'a SharedTurns,
    /// Groups that became complete.
    pub(crate) complete: &'a mut Vec<OperationGroup>,
    /// Why something could not be decided.
    pub(crate) undecided: &'a mut Option<Undecided>,
}

impl Cursor {
    /// Goes on to the next halt.
    pub(crate) fn go(&mut self, around: &mut Around<'_>) -> Halt {
        for _ in 0..STEPS_AT_ONCE {
            if let Some(step) = self.undecided {
                return Halt::Undecided(step);
            }
            let Some(instruction) = around.program.get(self.at as usize) else {
                return Halt::End;
            };
            match instruction {
                Instruction::Request(step) => return Halt::Request(*step),
                Instruction::Parallel(_) => return Halt::Parallel,
                Instruction::Think(think) => {
                    self.at += 1;
                    match around.draw.think_ns(think) {
                        0 => {}
                        ns => {
                            self.complete_ended(around);
                            return Halt::Pause(ns);
                        }
                    }
                }
                other => self.at = self.step(other, around),
            }
        }
        Halt::Pause(BREATH_NS)
    }

    /// The requests it halted at, that are made at the same time.
    pub(crate) fn parallel(&self, program: &Program) -> Option<Arc<Parallel>> {
        match program.get(self.at as usize) {
            Some(Instruction::Parallel(parallel)) => Some(Arc::clone(parallel)),
            _ => None,
        }
    }

    /// The place in its program.
    pub(crate) fn at(&self) -> InstructionIndex {
        self.at
    }

    /// Goes past the request it halted at.
    pub(crate) fn pass(&mut self) {
        if self.undecided.take().is_none() {
            self.at += 1;
        }
    }

    /// Back to the beginning; what was begun is broken off.
    pub(crate) fn restart(&mut self, complete: &mut Vec<OperationGroup>) {
        self.at = 0;
        self.undecided = None;
        while let Some(mut frame) = self.frames.pop() {
            frame.complete(complete);
        }
    }

    /// Adds an operation to the groups it belongs to.
    pub(crate) fn count(&mut self, took_ns: u64, counts: bool, failed: Option<FailureKind>) {
        for frame in &mut self.frames {
            if let Frame::Group { took_ns: all, counts: all_count, outcome, asked, .. } = frame {
                *all += took_ns;
                *all_count &= counts;
                *asked = true;
                if let (Some(kind), Outcome::Ok) = (failed, *outcome) {
                    *outcome = Outcome::Failed(kind);
                }
            }
        }
    }

    /// Carries out what neither asks nor waits, and says where to go on.
    fn step(&mut self, instruction: &Instruction, around: &mut Around<'_>) -> InstructionIndex {
        let next = self.at + 1;
        match instruction {
            Instruction::Request(_) | Instruction::Parallel(_) | Instruction::Think(_) => next, // they halt
            Instruction::Share { share, to } => {
                if around.draw.happens(*share) {
                    next
                } else {
                    *to
                }
            }
            Instruction::Unless { condition, to, fails } => {
                match condition.holds(around.variables) {
                    Ok(true) => next,
                    Ok(false) => *to,
                    Err(why) => self.cannot_decide(why, (*fails, *to), around),
                }
            }
            Instruction::Set { values, to, fails } => match set(values, around.variables) {
                Ok(()) => next,
                Err(missing) => {
                    self.cannot_decide(Undecided::Missing(missing), (*fails, *to), around)
                }
            },
            Instruction::Each { fails, list, variable, most, turns, to } => {
                let values = match around.variables.get(*list) {
                    Some(Value::List(values)) => Arc::clone(values),
                    Some(Value::Text(text)) => Arc::from([Arc::clone(text)]),
                    None => {
                        let why = Undecided::Missing(Missing::NotSet(*list));
                        return self.cannot_decide(why, (*fails, *to), around);
                    }
                };
                self.begin(Frame::each(values, *variable, *most, *turns), (next, *to), around)
            }
            Instruction::Turns => {
                self.frames.push(Frame::While { done: 0 });
                next
            }
            Instruction::While { condition, most, to, fails } => {
                let done = self.frames.last().map_or(0, Frame::done);
                let holds = match condition.holds(around.variables) {
                    Ok(holds) => holds && done < *most,
                    Err(why) => {
                        self.cannot_decide(why, (*fails, *to), around);
                        false
                    }
                };
                if !holds {
                    self.frames.pop();
                }
                if holds { next } else { *to }
            }
            Instruction::Repeat(turns) => {
                self.frames.push(Frame::Repeat { left: turns.saturating_sub(1) });
                next
            }
            Instruction::Again { to } => match self.frames.last_mut().map(|f| f.turn(around)) {
                Some(true) => *to,
                _ => {
                    self.frames.pop();
                    next
                }
            },
            Instruction::Group(row) => {
                self.frames.push(Frame::group(*row));
                next
            }
            Instruction::GroupEnd => {
                if let Some(mut frame) = self.frames.pop() {
                    frame.complete(around.complete);
                }
                next
            }
        }
    }

    /// Nobody knows whether what comes next is to be done: the step `fails`, and it goes on at `to`.
    fn cannot_decide(
        &mut self,
        why: Undecided,
        (fails, to): (u16, InstructionIndex),
        around: &mut Around<'_>,
    ) -> InstructionIndex {
        *around.undecided = Some(why);
        self.undecided = Some(fails);
        to
    }

    /// Begins a loop, and says where to go on: within it, where it has a turn.
    fn begin(
        &mut self,
        mut frame: Frame,
        (within, behind): (InstructionIndex, InstructionIndex),
        around: &mut Around<'_>,
    ) -> InstructionIndex {
        if !frame.turn(around) {
            return behind;
        }
        self.frames.push(frame);
        within
    }
}

/// Gives a user new values of variables, none of which knows the others yet.
fn set(values: &[(Slot, Template)], variables: &mut Variables) -> Result<(), Missing> {
    let mut made = Vec::with_capacity(values.len());
    for (slot, template) in values {
        let mut text = Vec::new();
        template.write(variables, &mut text)?;
        made.push((*slot, Value::text(&String::from_utf8_lossy(&text))));
    }
    made.into_iter().for_each(|(slot, value)| variables.set(slot, value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use plumb_measure::{LoadPart, Span};
    use plumb_scenario::file::Think;
    use plumb_scenario::variables::{Common, Names};

    use super::*;
    use crate::scenario::program::Turns;

    /// Walks `program` to its end and says what it asked for, with the value of `v` each time.
    fn walked(program: &Program, list: &[&str], shared: &SharedTurns) -> Vec<(u16, String)> {
        let mut names = Names::default();
        let (slot, variable) = (names.slot("list").unwrap(), names.slot("v").unwrap());
        let mut common = Common::default();
        common.set(slot, Value::list(list.iter().copied()));
        let mut variables = Variables::new(common.share());
        let (mut draw, mut complete, mut undecided) = (Draw::of_user(1, 0), Vec::new(), None);
        let (mut cursor, mut asked) = (Cursor::default(), Vec::new());
        loop {
            let halt = cursor.go(&mut Around {
                program,
                variables: &mut variables,
                draw: &mut draw,
                shared,
                complete: &mut complete,
                undecided: &mut undecided,
            });
            match halt {
                Halt::Request(step) => {
                    let value = match variables.get(variable) {
                        Some(Value::Text(text)) => text.to_string(),
                        _ => String::new(),
                    };
                    asked.push((step, value));
                    cursor.count(5, true, None);
                    cursor.pass();
                }
                Halt::Pause(_) => {}
                Halt::Parallel => cursor.pass(),
                Halt::Undecided(step) => panic!("step {step}: {undecided:?}"),
                Halt::End => {
                    assert!(cursor.frames.is_empty());
                    return asked;
                }
            }
        }
    }

    fn each(turns: Turns, to: InstructionIndex) -> Instruction {
        let mut names = Names::default();
        let (list, variable) = (names.slot("list").unwrap(), names.slot("v").unwrap());
        Instruction::Each { fails: 9, list, variable, most: u64::MAX, turns, to }
    }

    #[test]
    fn loops_within_loops_are_walked_to_their_end() {
        // list; each { repeat 2 { detail } ; more }
        let program = vec![
            Instruction::Request(0),
            each(Turns::Own, 7),
            Instruction::Repeat(2),
            Instruction::Request(1),
            Instruction::Again { to: 3 },
            Instruction::Request(2),
            Instruction::Again { to: 2 },
        ];
        let asked = walked(&program, &["a", "b"], &SharedTurns::default());
        let steps: Vec<u16> = asked.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, [0, 1, 1, 2, 1, 1, 2]);
        let values: String = asked.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, "aaabbb");
        assert_eq!(walked(&program, &[], &SharedTurns::default()).len(), 1);
    }

    #[test]
    fn a_shared_list_gives_each_value_to_one_user() {
        let program =
            vec![each(Turns::Shared(0), 3), Instruction::Request(0), Instruction::Again { to: 1 }];
        let shared = SharedTurns::new(1, LoadPart::default());
        assert_eq!(walked(&program, &["a", "b", "c"], &shared).len(), 3);
        assert_eq!(walked(&program, &["a", "b", "c"], &shared).len(), 0);
    }

    #[test]
    fn a_group_is_as_long_as_its_requests_and_fails_with_them() {
        let mut cursor = Cursor::default();
        let mut complete = Vec::new();
        for (counts, failed) in [(true, None), (true, Some(FailureKind::Closed)), (false, None)] {
            cursor.frames.push(Frame::Group {
                row: 3,
                took_ns: 0,
                counts: true,
                outcome: Outcome::Ok,
                asked: false,
            });
            cursor.count(5, counts, None);
            cursor.count(7, counts, failed);
            cursor.restart(&mut complete);
        }
        let found: Vec<_> = complete.iter().map(|it| (it.row, it.took_ns, it.outcome)).collect();
        let failed = Outcome::Failed(FailureKind::Closed);
        assert_eq!(found, [(3, 12, Outcome::Ok), (3, 12, failed)]);
    }

    #[test]
    fn a_loop_over_what_is_not_there_fails_its_first_step_once() {
        let program =
            vec![each(Turns::Own, 3), Instruction::Request(9), Instruction::Again { to: 1 }];
        let mut variables = Variables::new(Common::default().share());
        let (mut draw, mut undecided) = (Draw::of_user(1, 0), None);
        let mut cursor = Cursor::default();
        let mut go = |cursor: &mut Cursor| {
            cursor.go(&mut Around {
                program: &program,
                variables: &mut variables,
                draw: &mut draw,
                shared: &SharedTurns::default(),
                complete: &mut Vec::new(),
                undecided: &mut undecided,
            })
        };
        assert_eq!(go(&mut cursor), Halt::Undecided(9));
        assert_eq!(go(&mut cursor), Halt::Undecided(9), "until it is passed");
        cursor.pass();
        assert_eq!(go(&mut cursor), Halt::End);
        assert!(matches!(undecided, Some(Undecided::Missing(_))));
    }

    #[test]
    fn a_loop_that_asks_for_nothing_lets_others_have_their_turn() {
        let program = vec![
            Instruction::Repeat(u64::MAX),
            Instruction::Think(Think::Fixed(Span::from_ns(0))),
            Instruction::Again { to: 1 },
        ];
        let mut variables = Variables::new(Common::default().share());
        let halt = Cursor::default().go(&mut Around {
            program: &program,
            variables: &mut variables,
            draw: &mut Draw::of_user(1, 0),
            shared: &SharedTurns::default(),
            complete: &mut Vec::new(),
            undecided: &mut None,
        });
        assert_eq!(halt, Halt::Pause(BREATH_NS));
    }
}
