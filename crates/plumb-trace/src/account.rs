//! From the spans of a sample of operations to where their time went.

use std::collections::BTreeMap;

use plumb_measure::{
    Answer, Attribution, Moments, PartKind, Recorder, Row, ServerTimes, SpanAccount, StepSource,
    Telling, TracedOperation,
};

use crate::span::{SpanId, SpanPart};
use crate::store::SpanStore;
use crate::tree::{Told, told};

/// What has no name of its own, because there are more names than are told of one operation.
const OTHERS: &str = "other spans";

/// Where the time of the traced operations of `row`, called `subject`, went by the spans of `store`;
/// `None` where none was traced. `round_trip_ns` is the shortest that TCP saw.
#[must_use]
pub fn account(
    subject: &str,
    row: &Row,
    round_trip_ns: Option<u64>,
    store: &SpanStore,
) -> Option<SpanAccount> {
    let traced = row.step.as_deref()?.traced();
    let mut sample = traced.sample();
    sample.retain(|operation| store.has_room_for(operation.trace));
    let all: Vec<(Moments, Told)> =
        sample.iter().map(|it| (it.moments, told_of(it, store))).collect();
    let names = Names::of(all.iter().map(|(_, told)| told));
    let mut recorder = Recorder::new(1);
    for (moments, told) in &all {
        let answer = Answer { told: Some(names.times(told)), ..Answer::ok(0) };
        recorder.record(0, *moments, answer);
    }
    let (texts, kinds) = (names.texts(), names.kinds());
    let attribution = Attribution::of_step(StepSource {
        subject,
        row: recorder.rows().first()?,
        names: &texts,
        round_trip_ns,
        telling: Telling::Spans(&kinds),
    })?;
    Some(SpanAccount {
        attribution,
        traced: traced.seen(),
        sample: all.len() as u64,
        with_spans: all.iter().filter(|(_, told)| !told.parts.is_empty()).count() as u64,
        loose: all.iter().map(|(_, told)| told.loose as u64).sum(),
    })
}

fn told_of(operation: &TracedOperation, store: &SpanStore) -> Told {
    let Moments { sent, first, .. } = operation.moments;
    let own = SpanId(operation.trace.own_span());
    told(&store.of(operation.trace), own, first.saturating_sub(sent))
}

/// The parts with the longest times, each with its number; all others have one together.
struct Names<'a> {
    known: Vec<&'a SpanPart>,
    others: bool,
}

impl<'a> Names<'a> {
    fn of(all: impl Iterator<Item = &'a Told>) -> Self {
        let mut sums: BTreeMap<&SpanPart, u64> = BTreeMap::new();
        for (part, ns) in all.flat_map(|told| &told.parts) {
            let sum = sums.entry(part).or_default();
            *sum = sum.saturating_add(*ns);
        }
        let mut known: Vec<(&SpanPart, u64)> = sums.into_iter().collect();
        known.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let others = known.len() > ServerTimes::MAX;
        if others {
            known.truncate(ServerTimes::MAX - 1);
        }
        Self { known: known.into_iter().map(|(part, _)| part).collect(), others }
    }

    fn times(&self, told: &Told) -> ServerTimes {
        let mut times = ServerTimes::default();
        let mut others: u64 = 0;
        for (part, ns) in &told.parts {
            let place = self.known.iter().position(|known| *known == part);
            match place.and_then(|place| u8::try_from(place).ok()) {
                // kept to a microsecond: cut, so that the sum stays below the wait
                Some(place) => drop(times.push(place, ns / 1_000 * 1_000)),
                None => others = others.saturating_add(*ns),
            }
        }
        if others > 0
            && let Ok(place) = u8::try_from(self.known.len())
        {
            times.push(place, others / 1_000 * 1_000);
        }
        times
    }

    fn texts(&self) -> Vec<String> {
        let names = self.known.iter().map(|part| part.name());
        names.chain(self.others.then(|| OTHERS.to_owned())).collect()
    }

    fn kinds(&self) -> Vec<PartKind> {
        let kinds = self.known.iter().map(|part| part.part_kind());
        kinds.chain(self.others.then_some(PartKind::Server)).collect()
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::TraceId;

    use super::*;
    use crate::span::{Span, SpanKind};

    const MS: u64 = 1_000_000;

    /// Traced operations that took 10 ms each, and waited 9 for the first byte.
    fn recorded(count: u64) -> Recorder {
        let mut recorder = Recorder::new(1);
        for number in 0..count {
            let sent = number * 20 * MS;
            let moments = Moments { due: sent, sent, first: sent + 9 * MS, last: sent + 10 * MS };
            let trace = TraceId::of_run(1, number + 1).unwrap();
            let told = ServerTimes::default().of_trace(trace);
            recorder.record(0, moments, Answer { told: Some(told), ..Answer::ok(7) });
        }
        recorder
    }

    /// A span of 6 ms with `databases` below it, of together 4 ms.
    fn spans(drawn: u64, databases: u64) -> Vec<Span> {
        let trace = TraceId::of_run(1, drawn).unwrap();
        let span = |number: u64, kind, database: Option<&str>, at: (u64, u64)| Span {
            trace,
            id: SpanId((number + 1).to_be_bytes()),
            parent: Some(SpanId(if number == 0 { trace.own_span() } else { 1_u64.to_be_bytes() })),
            clock: 1,
            kind,
            part: SpanPart::new("web", kind, database),
            start_ns: at.0,
            end_ns: at.1,
        };
        let each = 4 * MS / databases;
        let mut all = vec![span(0, SpanKind::Server, None, (0, 6 * MS))];
        all.extend((0..databases).map(|number| {
            let at = (number * each, (number + 1) * each);
            span(number + 1, SpanKind::Client, Some(&format!("db{number}")), at)
        }));
        all
    }

    fn mean(account: &SpanAccount, kind: PartKind) -> Option<i64> {
        let parts = &account.attribution.parts;
        parts.iter().find(|part| part.kind == kind).map(|part| part.time.mean_ns)
    }

    fn ms(ns: i64) -> f64 {
        plumb_measure::signed_real(ns) / 1e6
    }

    #[test]
    fn operations_without_spans_are_in_what_was_not_measured() {
        let recorder = recorded(100);
        let mut store = SpanStore::new(1);
        (1..=50).flat_map(|drawn| spans(drawn, 1)).for_each(|span| store.take(span));
        let account = account("/x", &recorder.rows()[0], None, &store).unwrap();
        assert_eq!((account.traced, account.sample, account.with_spans), (100, 100, 50));
        let server = ms(mean(&account, PartKind::Server).unwrap());
        let database = ms(mean(&account, PartKind::Database).unwrap());
        let rest = ms(mean(&account, PartKind::Rest).unwrap());
        assert!((server - 1.0).abs() < 1e-9 && (database - 2.0).abs() < 1e-9, "{account:?}");
        assert!((rest - 6.0).abs() < 1e-9, "{rest}");
        assert_eq!(account.attribution.readings.len(), 2);
    }

    #[test]
    fn more_names_than_are_told_of_one_operation_are_told_together() {
        let recorder = recorded(20);
        let mut store = SpanStore::new(1);
        (1..=20).flat_map(|drawn| spans(drawn, 20)).for_each(|span| store.take(span));
        let account = account("/x", &recorder.rows()[0], None, &store).unwrap();
        let whole: i64 = account.attribution.parts.iter().map(|part| part.time.mean_ns).sum();
        assert_eq!(whole, account.attribution.client.mean_ns);
        let names: Vec<&str> =
            account.attribution.readings.iter().map(|it| it.source.as_str()).collect();
        assert_eq!(names.len(), ServerTimes::MAX);
        assert!(names.contains(&OTHERS) && names.contains(&"web server"), "{names:?}");
    }

    #[test]
    fn without_traces_there_is_no_account() {
        assert!(account("/x", &Row::default(), None, &SpanStore::new(1)).is_none());
        let mut recorder = Recorder::new(1);
        let moments = Moments { due: 0, sent: 0, first: 1, last: 2 };
        let answer = Answer { told: Some(ServerTimes::default()), ..Answer::ok(7) };
        recorder.record(0, moments, answer);
        assert!(account("/x", &recorder.rows()[0], None, &SpanStore::new(1)).is_none());
    }
}
