//! Spans of one run, as many as there is room for.

use std::collections::BTreeMap;

use plumb_measure::TraceId;

use crate::Span;

/// Traces that are kept at most.
const TRACES_MAX: usize = 65_536;
/// Spans of all traces that are kept at most.
const SPANS_MAX: usize = 1_000_000;
/// A trace with more spans is not told.
pub(crate) const SPANS_OF_TRACE_MAX: usize = 1_024;

/// The spans of one run. Where there are too many, the traces with the smallest draws are kept
/// whole: a random part of them, whatever order they came in.
#[derive(Debug)]
pub struct SpanStore {
    run: u64,
    /// By draw.
    traces: BTreeMap<u64, Vec<Span>>,
    spans: usize,
    /// Traces with this draw or a larger one are not kept.
    below: Option<u64>,
    /// Spans of other runs and of other programs.
    foreign: u64,
}

impl SpanStore {
    /// No spans yet, of run `run`.
    #[must_use]
    pub fn new(run: u64) -> Self {
        Self { run, traces: BTreeMap::new(), spans: 0, below: None, foreign: 0 }
    }

    /// Takes `span`, if it is of this run, there is room, and it did not come before.
    pub fn take(&mut self, span: Span) {
        if span.trace.run() != self.run {
            self.foreign += 1;
            return;
        }
        let draw = span.trace.draw();
        if self.below.is_some_and(|below| draw >= below) {
            return;
        }
        let spans = self.traces.entry(draw).or_default();
        // what was sent twice, or read twice from a file that is read again, is one
        if spans.len() <= SPANS_OF_TRACE_MAX && spans.iter().all(|it| it.id != span.id) {
            spans.push(span);
            self.spans += 1;
        }
        self.make_room(TRACES_MAX, SPANS_MAX);
    }

    fn make_room(&mut self, traces_max: usize, spans_max: usize) {
        while self.traces.len() > traces_max || self.spans > spans_max {
            let Some((draw, spans)) = self.traces.pop_last() else { return };
            self.spans -= spans.len();
            self.below = Some(draw);
        }
    }

    /// True where spans of this trace would have been kept.
    #[must_use]
    pub fn has_room_for(&self, trace: TraceId) -> bool {
        self.below.is_none_or(|below| trace.draw() < below)
    }

    /// What came of `trace`, each span once; nothing where it had more than can be told.
    #[must_use]
    pub fn of(&self, trace: TraceId) -> Vec<&Span> {
        let spans = self.traces.get(&trace.draw()).map_or(&[][..], Vec::as_slice);
        if spans.len() > SPANS_OF_TRACE_MAX {
            return Vec::new();
        }
        spans.iter().collect()
    }

    /// How many spans are kept.
    #[must_use]
    pub fn spans(&self) -> usize {
        self.spans
    }

    /// Spans of other runs and other programs, which are not kept.
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.foreign
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SpanId;
    use crate::span::{SpanKind, SpanPart};

    fn span(run: u64, drawn: u64, id: u8) -> Span {
        Span {
            trace: TraceId::of_run(run, drawn).unwrap(),
            id: SpanId([id; 8]),
            parent: None,
            clock: 0,
            kind: SpanKind::Server,
            part: SpanPart::new("x", SpanKind::Server, None),
            start_ns: 0,
            end_ns: 1,
        }
    }

    #[test]
    fn spans_of_other_runs_are_counted_and_those_sent_twice_are_one() {
        let mut store = SpanStore::new(1);
        [span(1, 5, 1), span(1, 5, 1), span(1, 5, 2), span(2, 5, 3)]
            .into_iter()
            .for_each(|it| store.take(it));
        let told = store.of(span(1, 5, 0).trace).len();
        assert_eq!((store.foreign(), told, store.spans()), (1, 2, 2));
    }

    #[test]
    fn a_trace_is_kept_whole_or_not_at_all() {
        let mut store = SpanStore::new(1);
        for drawn in 1..=100 {
            store.take(span(1, drawn, 1));
            store.make_room(10, 100);
        }
        for drawn in 1..=100 {
            store.take(span(1, drawn, 2));
            store.make_room(10, 100);
        }
        let traces = (1..=100).map(|drawn| span(1, drawn, 0).trace);
        let (kept, others): (Vec<_>, Vec<_>) = traces.partition(|it| store.has_room_for(*it));
        assert_eq!((kept.len(), store.spans()), (10, 20));
        assert!(kept.iter().all(|it| store.of(*it).len() == 2));
        assert!(others.iter().all(|it| store.of(*it).is_empty()));
    }

    #[test]
    fn a_trace_with_too_many_spans_tells_nothing() {
        let mut store = SpanStore::new(1);
        for number in 0..SPANS_OF_TRACE_MAX as u64 + 9 {
            store.take(Span { id: SpanId(number.to_be_bytes()), ..span(1, 5, 1) });
        }
        assert!(store.of(span(1, 5, 0).trace).is_empty());
        assert_eq!(store.spans(), SPANS_OF_TRACE_MAX + 1);
    }
}
