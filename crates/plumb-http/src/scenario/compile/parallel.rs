//! Requests that are made at the same time.

use std::ops::Range;
use std::sync::Arc;

use plumb_scenario::ScenarioError;
use plumb_scenario::file;

use super::{Compiler, Manner, Row, number};
use crate::scenario::program::{Instruction, Parallel, ParallelPart, Program};

impl Compiler<'_> {
    /// Appends requests that are made at the same time; false when all of them are excluded.
    pub(super) fn parallel(
        &mut self,
        step: &file::Step,
        name: &str,
        manner: &Manner<'_>,
        (depth, at): (usize, &Range<usize>),
        program: &mut Program,
    ) -> Result<bool, ScenarioError> {
        let row = number(self.groups.len());
        self.groups.push(Row { scenario: manner.scenario.into(), name: name.into() });
        let mut inner = Program::new();
        let manner = Manner { think: None, ..manner.clone() };
        if !self.body(step, &manner, depth, at, &mut inner)? {
            self.groups.pop();
            return Ok(false);
        }
        let (mut parts, mut share, mut condition) = (Vec::new(), None, None);
        for instruction in inner {
            match instruction {
                Instruction::Share { share: one, .. } => share = Some(one),
                Instruction::Unless { condition: one, .. } => condition = Some(one),
                Instruction::Request(step) => {
                    let (share, condition) = (share.take(), condition.take());
                    parts.push(ParallelPart { step, share, condition });
                }
                _ => {
                    let problem = "what stands in parallel is asked for at the same time: requests \
                                   alone, without loops, groups, think times and resources";
                    return Err(self.source.wrong(at, problem));
                }
            }
        }
        program.push(Instruction::Parallel(Arc::new(Parallel {
            row: Some(row),
            parts,
            resources: None,
        })));
        Ok(true)
    }
}
