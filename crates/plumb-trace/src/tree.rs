//! From spans to parts: the time of each without that of the spans below it.

use std::collections::{BTreeMap, HashMap};

use plumb_measure::{real, truncated};

use crate::span::{Span, SpanId, SpanPart};

/// Spans below spans that are told apart; what lies deeper is the time of those above.
const DEPTH_MAX: usize = 64;

/// What one operation spent where.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Nanoseconds of each part; together at most what the operation waited.
    pub(crate) parts: BTreeMap<SpanPart, u64>,
    /// Spans that are in none of them.
    pub(crate) loose: usize,
}

/// A stretch of a clock, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    to: u64,
}

impl Window {
    fn of(span: &Span) -> Self {
        Self { from: span.start_ns, to: span.end_ns }
    }

    fn length(self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    fn within(self, other: Self) -> Self {
        let from = self.from.clamp(other.from, other.to);
        Self { from, to: self.to.clamp(from, other.to) }
    }

    /// Its beginning, of at most this length.
    fn at_most(self, ns: u64) -> Self {
        Self { to: self.to.min(self.from.saturating_add(ns)), ..self }
    }
}

/// Spans below one another, not yet counted.
struct Tree<'a> {
    below: HashMap<SpanId, Vec<&'a Span>>,
    parts: BTreeMap<&'a SpanPart, f64>,
    counted: usize,
}

/// What an operation that waited `wait_ns` spent where, by its `spans`; `own` is its own, the parent
/// of the first. Only what lies within its wait is told: a server may go on with an operation whose
/// client has its answer.
pub(crate) fn told(spans: &[&Span], own: SpanId, wait_ns: u64) -> Told {
    let mut tree = Tree { below: HashMap::new(), parts: BTreeMap::new(), counted: 0 };
    let known = |id: SpanId| spans.iter().any(|span| span.id == id);
    for span in spans {
        if let Some(parent) = span.parent {
            tree.below.entry(parent).or_default().push(span);
        }
    }
    let mut first = tree.below.remove(&own).unwrap_or_default();
    if first.is_empty() {
        // whoever passed the operation on wrote no span: the longest below it stands for all
        let loose = spans.iter().filter(|span| span.parent.is_none_or(|parent| !known(parent)));
        first.extend(loose.max_by_key(|span| Window::of(span).length()));
    }
    tree.place_far(&first, wait_ns, 1.0, 0);
    let parts = tree.parts.into_iter().map(|(part, ns)| (part.clone(), truncated(ns)));
    Told { parts: parts.collect(), loose: spans.len() - tree.counted }
}

impl<'a> Tree<'a> {
    /// Counts `span`, of which `window` is to be told, as `share` of it.
    fn place(&mut self, span: &'a Span, window: Window, share: f64, depth: usize) {
        let below = self.below.remove(&span.id).unwrap_or_default();
        let mut covered = 0;
        if depth < DEPTH_MAX {
            let near = |it: &&&Span| it.clock == span.clock && !it.kind.begins_a_service();
            let (near, far): (Vec<&Span>, Vec<&Span>) = below.iter().partition(near);
            covered = self.place_near(&near, window, share, depth + 1);
            let left = window.length().saturating_sub(covered);
            covered += self.place_far(&far, left, share, depth + 1);
        }
        self.counted += 1;
        let own = real(window.length().saturating_sub(covered)) * share;
        *self.parts.entry(&span.part).or_default() += own;
    }

    /// Places spans of the clock of `window` in it, and says how much of it they cover: where they
    /// overlap, they share what they cover together by their lengths.
    fn place_near(&mut self, spans: &[&'a Span], window: Window, share: f64, depth: usize) -> u64 {
        let cut = |span: &&'a Span| (Window::of(span).within(window), *span);
        let mut cut: Vec<(Window, &Span)> = spans.iter().map(cut).collect();
        cut.sort_by_key(|(own, span)| (own.from, own.to, span.id));
        let mut covered = 0;
        let mut rest = &cut[..];
        while let Some((first, _)) = rest.first() {
            let mut to = first.to;
            let touching = |(own, _): &&(Window, &Span)| {
                let touches = own.from < to || own.from == first.from;
                to = to.max(own.to);
                touches
            };
            let count = rest.iter().take_while(touching).count();
            let to = rest[..count].iter().map(|(own, _)| own.to).max().unwrap_or(first.to);
            let together = to - first.from;
            let sum: u64 =
                rest[..count].iter().map(|(own, _)| own.length()).fold(0, u64::saturating_add);
            for (own, span) in &rest[..count] {
                self.place(span, *own, share * fit(together, sum), depth);
            }
            covered += together;
            rest = &rest[count..];
        }
        covered
    }

    /// Places spans of other clocks in `room_ns`, and says how much of it they take: their durations
    /// are added up, and where these are more than the room, each gets its share of it.
    fn place_far(&mut self, spans: &[&'a Span], room_ns: u64, share: f64, depth: usize) -> u64 {
        let cut = |span: &&'a Span| (Window::of(span).at_most(room_ns), *span);
        let cut: Vec<(Window, &Span)> = spans.iter().map(cut).collect();
        let sum = cut.iter().map(|(own, _)| own.length()).fold(0, u64::saturating_add);
        for (own, span) in cut {
            self.place(span, own, share * fit(room_ns, sum), depth);
        }
        sum.min(room_ns)
    }
}

/// What of each of several times is counted, that are `sum` together and have room for `room`.
fn fit(room: u64, sum: u64) -> f64 {
    if sum <= room { 1.0 } else { real(room) / real(sum) }
}

#[cfg(test)]
mod tests {
    use plumb_measure::TraceId;
    use proptest::prelude::*;

    use super::*;
    use crate::span::SpanKind;

    const OWN: SpanId = SpanId([0xee; 8]);

    fn id(number: u8) -> SpanId {
        SpanId([number; 8])
    }

    /// Span `number` of `service` below `parent`; 0 is the operation itself.
    fn span(number: u8, parent: u8, (service, kind): (&str, i64), at: (u64, u64)) -> Span {
        let kind = SpanKind::of_number(kind);
        Span {
            trace: TraceId::of_run(1, 1).unwrap(),
            id: id(number),
            parent: Some(if parent == 0 { OWN } else { id(parent) }),
            clock: service.bytes().map(u64::from).sum(),
            kind,
            part: SpanPart::new(service, kind, None),
            start_ns: at.0,
            end_ns: at.1,
        }
    }

    fn parts(spans: &[Span], wait_ns: u64) -> (Vec<(String, u64)>, usize) {
        let all: Vec<&Span> = spans.iter().collect();
        let told = told(&all, OWN, wait_ns);
        (told.parts.iter().map(|(part, ns)| (part.name(), *ns)).collect(), told.loose)
    }

    fn named(said: &[(&str, u64)]) -> Vec<(String, u64)> {
        said.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect()
    }

    const WEB: (&str, i64) = ("web", 2);
    const WORK: (&str, i64) = ("web", 1);
    const CALL: (&str, i64) = ("web", 3);
    const STOCK: (&str, i64) = ("stock", 2);

    #[test]
    fn a_span_counts_without_those_below_it() {
        let spans = [
            span(1, 0, WEB, (1_000, 2_000)),
            span(2, 1, WORK, (1_100, 1_400)),
            span(3, 2, CALL, (1_200, 1_300)),
        ];
        let expected = [("web internal", 200), ("web server", 700), ("web client", 100)];
        assert_eq!(parts(&spans, 5_000), (named(&expected), 0));
    }

    #[test]
    fn those_that_overlap_are_counted_once() {
        // 100 to 300 and 200 to 400 cover 300; 600 to 700 stands alone
        let spans = [
            span(1, 0, WEB, (0, 1_000)),
            span(2, 1, WORK, (100, 300)),
            span(3, 1, CALL, (200, 400)),
            span(4, 1, CALL, (600, 700)),
        ];
        let expected = [("web internal", 150), ("web server", 600), ("web client", 250)];
        assert_eq!(parts(&spans, 5_000), (named(&expected), 0));
    }

    #[test]
    fn of_another_clock_only_the_duration_counts() {
        let far = (9_000_000_000, 9_000_000_300);
        let spans = [
            span(1, 0, WEB, (0, 1_000)),
            span(2, 1, CALL, (100, 600)),
            span(3, 2, STOCK, far),
            span(4, 3, ("stock", 1), (9_000_000_100, 9_000_000_200)),
        ];
        let expected = [
            ("stock internal", 100),
            ("stock server", 200),
            ("web server", 500),
            ("web client", 200),
        ];
        assert_eq!(parts(&spans, 5_000), (named(&expected), 0));
    }

    #[test]
    fn what_goes_on_after_the_answer_is_no_part_of_the_wait() {
        let spans = [span(1, 0, WEB, (0, 1_000)), span(2, 1, WORK, (400, 900))];
        let expected = [("web internal", 200), ("web server", 400)];
        assert_eq!(parts(&spans, 600), (named(&expected), 0));
        // a call that ends after the span it began in
        let spans = [span(1, 0, WEB, (0, 1_000)), span(2, 1, CALL, (900, 9_000))];
        assert_eq!(parts(&spans, 5_000).0, named(&[("web server", 900), ("web client", 100)]));
    }

    #[test]
    fn a_span_whose_parent_is_missing_is_no_part() {
        let spans = [span(1, 0, WEB, (0, 1_000)), span(3, 2, CALL, (200, 300))];
        assert_eq!(parts(&spans, 5_000), (named(&[("web server", 1_000)]), 1));
        // without the first, the longest stands for all
        let spans =
            [span(2, 9, WORK, (0, 100)), span(3, 2, CALL, (20, 30)), span(4, 8, CALL, (0, 50))];
        let expected = [("web internal", 90), ("web client", 10)];
        assert_eq!(parts(&spans, 5_000), (named(&expected), 1));
        assert_eq!(parts(&[], 5_000), (vec![], 0));
    }

    #[test]
    fn a_ring_of_spans_ends() {
        let ring = [span(1, 2, WEB, (0, 100)), span(2, 1, WORK, (0, 100))];
        assert_eq!(parts(&ring, 500), (vec![], 2));
        let own = [span(1, 1, WEB, (0, 100)), span(2, 0, WORK, (0, 70))];
        assert_eq!(parts(&own, 500), (named(&[("web internal", 70)]), 1));
    }

    #[test]
    fn what_lies_very_deep_is_the_time_of_those_above() {
        let chain = (1..=200).map(|number| span(number, number - 1, WORK, (0, 100)));
        let chain: Vec<Span> = chain.collect();
        let (said, loose) = parts(&chain, 500);
        assert_eq!((said, loose), (named(&[("web internal", 100)]), 200 - DEPTH_MAX - 1));
    }

    fn any_span() -> impl Strategy<Value = Span> {
        let kind = proptest::sample::select(vec![WEB, WORK, CALL, STOCK]);
        let times = (0_u64..2_000, 0_u64..2_000);
        (1_u8..20, 0_u8..20, kind, times).prop_map(|(number, parent, kind, (start, length))| {
            span(number, parent, kind, (start, start + length))
        })
    }

    proptest! {
        #[test]
        fn parts_are_never_more_than_the_wait(
            spans in proptest::collection::vec(any_span(), 0..30),
            wait_ns in 0_u64..3_000,
        ) {
            let all: Vec<&Span> = spans.iter().collect();
            let told = told(&all, OWN, wait_ns);
            prop_assert!(told.parts.values().sum::<u64>() <= wait_ns);
            prop_assert!(told.loose <= spans.len());
        }

        #[test]
        fn the_parts_of_one_span_are_all_of_it(
            spans in proptest::collection::vec(any_span(), 0..30),
        ) {
            let mut all = vec![span(99, 0, WEB, (0, 1_000))];
            let below = |it: Span| match it.parent {
                Some(OWN) => Span { parent: Some(id(99)), ..it },
                _ => it,
            };
            all.extend(spans.into_iter().map(below));
            let (said, _) = parts(&all, 5_000);
            let sum: u64 = said.iter().map(|(_, ns)| ns).sum();
            // each part is cut to a nanosecond
            prop_assert!(sum <= 1_000 && sum + said.len() as u64 >= 1_000, "{said:?}");
        }
    }
}
