//! One pass over the elements of a document: fields of a row and of what it stands in are kept where
//! they are found, and a row is given out at its end.
//!
//! Places are bytes of the document; they become lines and columns when an error tells them.

use std::borrow::Cow;

use super::held::{Full, Held};
use super::plan::{Node, NodeId, RowPlan, Slot};
use super::row::Row;
use super::{Late, Position, StreamError};

/// Elements in each other at most.
pub(super) const DEPTH_MAX: usize = 256;
/// Bytes of a value at most.
pub(crate) const VALUE_MAX: usize = 1 << 20;
/// A row of so many fields needs no memory of its own.
const FEW: usize = 16;

/// A field's value, as far as it is known. It stays in the document as long as it is one piece there.
#[derive(Clone, Debug, Default)]
struct Register<'d> {
    piece: &'d str,
    /// What is put together of several pieces, or written otherwise in the document.
    joined: String,
    is_joined: bool,
    state: State,
    /// The byte behind the first row that was given out without it.
    missed: Option<usize>,
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
    at: usize,
}

/// Walks through a document and gives `sink` its rows.
pub(super) struct RowReader<'d, 'p, S> {
    document: &'d [u8],
    plan: &'p RowPlan,
    sink: S,
    /// Elements of the plan that are open, outermost first.
    open: Vec<NodeId>,
    /// Open elements below them that the plan does not know.
    unknown: usize,
    registers: Vec<Register<'d>>,
    captures: Vec<Capture>,
    /// Rows that wait for fields that stand behind them; `None`: such fields are an error.
    held: Option<Held>,
    rows: u64,
}

impl<'d, 'p, S, E> RowReader<'d, 'p, S>
where
    S: FnMut(Row<'_>) -> Result<(), E>,
{
    pub(super) fn new(document: &'d [u8], plan: &'p RowPlan, late: Late, sink: S) -> Self {
        let held = match late {
            Late::Refuse => None,
            Late::Hold { bytes } => Some(Held::new(plan.depth, bytes)),
        };
        let registers = vec![Register::default(); plan.names.len()];
        let (open, captures) = (Vec::new(), Vec::new());
        Self { document, plan, sink, open, unknown: 0, registers, captures, held, rows: 0 }
    }

    /// Rows that were given out.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Line and column of a byte.
    pub(super) fn place(&self, at: usize) -> Position {
        Position::of(self.document, at)
    }

    /// The document begins, or an item of a list that is the whole document.
    pub(super) fn begin(&mut self, at: usize) {
        self.enter(0, at);
    }

    /// What the plan knows of an element of this name where the document stands.
    pub(super) fn child(&self, name: &str) -> Option<NodeId> {
        self.node().and_then(|node| node.child(name))
    }

    /// An element begins, of which the plan knows `child`.
    pub(super) fn element(
        &mut self,
        child: Option<NodeId>,
        at: usize,
    ) -> Result<(), StreamError<E>> {
        if self.depth() > DEPTH_MAX {
            return Err(StreamError::TooDeep { at: self.place(at), most: DEPTH_MAX });
        }
        match child {
            Some(node) => self.enter(node, at),
            None => self.unknown += 1,
        }
        Ok(())
    }

    /// Whether the plan asks for attributes of the element that has just begun.
    pub(super) fn wants_attributes(&self) -> bool {
        self.node().is_some_and(|node| !node.attributes.is_empty())
    }

    /// An attribute of the element that has just begun.
    pub(super) fn attribute(
        &mut self,
        name: &str,
        value: &str,
        at: usize,
    ) -> Result<(), StreamError<E>> {
        let plan = self.plan;
        let Some(node) = self.open.last().filter(|_| self.unknown == 0) else { return Ok(()) };
        for (wanted, slot) in &plan.nodes[*node].attributes {
            if **wanted == *name && self.registers[*slot].state == State::Absent {
                self.fits(*slot, value, at)?;
                self.registers[*slot].join(value);
                self.found(*slot, at)?;
            }
        }
        Ok(())
    }

    /// Whether any text is wanted where the document stands.
    pub(super) fn wants_text(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Text of the element that is open, as it stands in the document or made of it.
    pub(super) fn text(&mut self, text: Cow<'d, str>, at: usize) -> Result<(), StreamError<E>> {
        let piece = match text {
            Cow::Borrowed(piece) => piece,
            Cow::Owned(made) => return self.made(&made, at),
        };
        for capture in 0..self.captures.len() {
            let slot = self.captures[capture].slot;
            self.fits(slot, piece, at)?;
            let register = &mut self.registers[slot];
            if register.text().is_empty() {
                register.keep(piece);
            } else {
                register.join(piece);
            }
        }
        Ok(())
    }

    /// Text of the element that is open, which does not stand in the document like this.
    pub(super) fn made(&mut self, text: &str, at: usize) -> Result<(), StreamError<E>> {
        for capture in 0..self.captures.len() {
            let slot = self.captures[capture].slot;
            self.fits(slot, text, at)?;
            self.registers[slot].join(text);
        }
        Ok(())
    }

    /// The element ends that began last.
    pub(super) fn end(&mut self, at: usize) -> Result<(), StreamError<E>> {
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
            self.rows += held.release(self.document, &mut self.sink).map_err(StreamError::Sink)?;
        }
        Ok(())
    }

    fn depth(&self) -> usize {
        self.open.len() + self.unknown
    }

    /// The element that is open, if the plan knows it.
    fn node(&self) -> Option<&'p Node> {
        self.open.last().filter(|_| self.unknown == 0).map(|open| &self.plan.nodes[*open])
    }

    fn enter(&mut self, id: NodeId, at: usize) {
        self.open.push(id);
        let depth = self.depth();
        let node = &self.plan.nodes[id];
        for slot in &node.scopes {
            self.registers[*slot].clear();
        }
        for slot in &node.texts {
            if self.registers[*slot].state == State::Absent {
                self.registers[*slot].state = State::Begun;
                self.captures.push(Capture { slot: *slot, depth, at });
            }
        }
    }

    fn fits(&self, slot: Slot, more: &str, at: usize) -> Result<(), StreamError<E>> {
        if self.registers[slot].text().len() + more.len() > VALUE_MAX {
            return Err(StreamError::ValueTooLong { at: self.place(at), most: VALUE_MAX });
        }
        Ok(())
    }

    fn found(&mut self, slot: Slot, at: usize) -> Result<(), StreamError<E>> {
        let register = &mut self.registers[slot];
        register.state = State::Found;
        if let Some(row) = register.missed {
            let field = self.plan.names[slot].to_string();
            let (at, row) = (self.place(at), self.place(row));
            return Err(StreamError::Late { at, field, row });
        }
        if let Some(held) = &mut self.held {
            let filled = held.fill(slot, self.plan.up[slot], register.text());
            filled.map_err(|full| buffer_full(&full, self.document, at))?;
        }
        Ok(())
    }

    fn row(&mut self, at: usize) -> Result<(), StreamError<E>> {
        let (mut few, mut many) = ([None; FEW], Vec::new());
        let values = match few.get_mut(..self.registers.len()) {
            Some(values) => values,
            None => {
                many.resize(self.registers.len(), None);
                &mut many[..]
            }
        };
        let mut misses = false;
        for ((value, register), up) in values.iter_mut().zip(&self.registers).zip(&self.plan.up) {
            *value = register.found();
            misses |= *up > 0 && value.is_none();
        }
        let row = Row { values, document: self.document, at };
        match &mut self.held {
            Some(held) if misses || !held.is_empty() => {
                let slots = 0..row.values.len();
                let missing = slots.filter(|it| self.plan.up[*it] > 0 && row.values[*it].is_none());
                let kept = held.hold(at, row.values, missing.collect());
                return kept.map_err(|full| buffer_full(&full, self.document, at));
            }
            _ => (self.sink)(row).map_err(StreamError::Sink)?,
        }
        self.rows += 1;
        if misses {
            let missed = self.registers.iter_mut().zip(&self.plan.up);
            for (register, _) in missed.filter(|(it, up)| **up > 0 && it.state != State::Found) {
                register.missed.get_or_insert(at);
            }
        }
        Ok(())
    }
}

impl<'d> Register<'d> {
    fn text(&self) -> &str {
        if self.is_joined { &self.joined } else { self.piece }
    }

    fn found(&self) -> Option<&str> {
        (self.state == State::Found).then(|| self.text())
    }

    /// The value is a piece of the document.
    fn keep(&mut self, piece: &'d str) {
        (self.piece, self.is_joined) = (piece, false);
    }

    /// The value goes on.
    fn join(&mut self, more: &str) {
        if !self.is_joined {
            self.joined.clear();
            self.joined.push_str(self.piece);
            self.is_joined = true;
        }
        self.joined.push_str(more);
    }

    fn clear(&mut self) {
        (self.piece, self.is_joined) = ("", false);
        (self.state, self.missed) = (State::Absent, None);
    }
}

fn buffer_full<E>(full: &Full, document: &[u8], at: usize) -> StreamError<E> {
    StreamError::BufferFull { at: Position::of(document, at), most: full.most }
}
