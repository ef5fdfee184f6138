//! One pass over the elements of a document: fields of a row and of what it stands in are kept where
//! they are found, and a row is given out at its end.

use super::held::{Full, Held};
use super::plan::{NodeId, RowPlan, Slot};
use super::row::Row;
use super::{Late, Position, StreamError};

/// Elements in each other at most.
pub(super) const DEPTH_MAX: usize = 256;
/// Bytes of a value at most.
pub(super) const VALUE_MAX: usize = 1 << 20;

/// A field's value, as far as it is known.
#[derive(Clone, Debug, Default)]
struct Register {
    text: String,
    state: State,
    /// The first row that was given out without it.
    missed: Option<Position>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Absent,
    /// Its element has begun and not ended.
    Begun,
    Found,
}

/// A field whose element has begun, and how deep that stands.
#[derive(Clone, Copy, Debug)]
struct Capture {
    slot: Slot,
    depth: usize,
    at: Position,
}

/// Walks through a document and gives `sink` its rows.
pub(super) struct Walk<'p, S> {
    plan: &'p RowPlan,
    sink: S,
    /// Elements of the plan that are open, outermost first.
    open: Vec<NodeId>,
    /// Open elements below them that the plan does not know.
    unknown: usize,
    registers: Vec<Register>,
    captures: Vec<Capture>,
    /// Rows that wait for fields that stand behind them; `None`: such fields are an error.
    held: Option<Held>,
    rows: u64,
}

impl<'p, S, E> Walk<'p, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    pub(super) fn new(plan: &'p RowPlan, late: Late, sink: S) -> Self {
        let held = match late {
            Late::Refuse => None,
            Late::Hold { bytes } => Some(Held::new(plan.depth, bytes)),
        };
        let registers = vec![Register::default(); plan.names.len()];
        let (open, captures) = (Vec::new(), Vec::new());
        Self { plan, sink, open, unknown: 0, registers, captures, held, rows: 0 }
    }

    /// Rows that were given out.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The document begins, or an item of a list that is the whole document.
    pub(super) fn begin(&mut self, at: Position) {
        self.enter(0, at);
    }

    /// An element begins.
    pub(super) fn element(&mut self, name: &str, at: Position) -> Result<(), StreamError<E>> {
        if self.depth() > DEPTH_MAX {
            return Err(StreamError::TooDeep { at, most: DEPTH_MAX });
        }
        let inner = self.open.last().filter(|_| self.unknown == 0);
        match inner.and_then(|open| self.plan.nodes[*open].child(name)) {
            Some(node) => self.enter(node, at),
            None => self.unknown += 1,
        }
        Ok(())
    }

    /// Whether the plan asks for attributes of the element that has just begun.
    pub(super) fn wants_attributes(&self) -> bool {
        self.unknown == 0 && self.node().is_some_and(|node| !node.attributes.is_empty())
    }

    /// An attribute of the element that has just begun.
    pub(super) fn attribute(
        &mut self,
        name: &str,
        value: &str,
        at: Position,
    ) -> Result<(), StreamError<E>> {
        let Some(node) = self.open.last().filter(|_| self.unknown == 0) else { return Ok(()) };
        for (wanted, slot) in &self.plan.nodes[*node].attributes {
            if **wanted == *name && self.registers[*slot].state == State::Absent {
                append(&mut self.registers[*slot].text, value, at)?;
                self.found(*slot, at)?;
            }
        }
        Ok(())
    }

    /// Whether any text is wanted where the document stands.
    pub(super) fn wants_text(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Text of the element that is open.
    pub(super) fn text(&mut self, text: &str, at: Position) -> Result<(), StreamError<E>> {
        for capture in &self.captures {
            append(&mut self.registers[capture.slot].text, text, at)?;
        }
        Ok(())
    }

    /// The element ends that began last.
    pub(super) fn end(&mut self, at: Position) -> Result<(), StreamError<E>> {
        let depth = self.depth();
        while let Some(capture) = self.captures.pop_if(|capture| capture.depth == depth) {
            self.found(capture.slot, capture.at)?;
        }
        if self.unknown > 0 {
            self.unknown -= 1;
            return Ok(());
        }
        let Some(node) = self.open.pop() else { return Ok(()) };
        if self.plan.nodes[node].is_row {
            self.row(at)?;
        }
        if let (Some(above), Some(held)) = (self.plan.nodes[node].above, &mut self.held) {
            held.settle(above, &self.plan.up);
            self.rows += held.release(&mut self.sink).map_err(StreamError::Sink)?;
        }
        Ok(())
    }

    fn depth(&self) -> usize {
        self.open.len() + self.unknown
    }

    fn node(&self) -> Option<&super::plan::Node> {
        self.open.last().map(|open| &self.plan.nodes[*open])
    }

    fn enter(&mut self, id: NodeId, at: Position) {
        self.open.push(id);
        let depth = self.depth();
        let node = &self.plan.nodes[id];
        for slot in &node.scopes {
            let register = &mut self.registers[*slot];
            register.text.clear();
            (register.state, register.missed) = (State::Absent, None);
        }
        for slot in &node.texts {
            if self.registers[*slot].state == State::Absent {
                self.registers[*slot].state = State::Begun;
                self.captures.push(Capture { slot: *slot, depth, at });
            }
        }
    }

    fn found(&mut self, slot: Slot, at: Position) -> Result<(), StreamError<E>> {
        let register = &mut self.registers[slot];
        register.state = State::Found;
        if let Some(row) = register.missed {
            let field = self.plan.names[slot].to_string();
            return Err(StreamError::Late { at, field, row });
        }
        if let Some(held) = &mut self.held {
            held.fill(slot, self.plan.up[slot], &register.text)
                .map_err(|Full { most }| StreamError::BufferFull { at, most })?;
        }
        Ok(())
    }

    fn row(&mut self, at: Position) -> Result<(), StreamError<E>> {
        let values: Vec<Option<&str>> = self
            .registers
            .iter()
            .map(|register| (register.state == State::Found).then_some(register.text.as_str()))
            .collect();
        let missing =
            (0..values.len()).filter(|slot| self.plan.up[*slot] > 0 && values[*slot].is_none());
        if let Some(held) = &mut self.held {
            let missing: Vec<Slot> = missing.collect();
            if !held.is_empty() || !missing.is_empty() {
                return held
                    .hold(at, &values, missing)
                    .map_err(|Full { most }| StreamError::BufferFull { at, most });
            }
            (self.sink)(Row { position: at, values: &values }).map_err(StreamError::Sink)?;
        } else {
            let missing: Vec<Slot> = missing.collect();
            (self.sink)(Row { position: at, values: &values }).map_err(StreamError::Sink)?;
            for slot in missing {
                self.registers[slot].missed.get_or_insert(at);
            }
        }
        self.rows += 1;
        Ok(())
    }
}

fn append<E>(value: &mut String, more: &str, at: Position) -> Result<(), StreamError<E>> {
    if value.len() + more.len() > VALUE_MAX {
        return Err(StreamError::ValueTooLong { at, most: VALUE_MAX });
    }
    value.push_str(more);
    Ok(())
}
