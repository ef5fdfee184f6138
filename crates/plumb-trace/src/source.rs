//! Where spans come from, and how long they are waited for.

use std::path::Path;

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, Span as Time, TraceId};

use crate::SpanId;
use crate::TraceError;
use crate::file::SpanFile;
use crate::receiver::Receiver;
use crate::store::SpanStore;

/// How often it is looked whether spans came.
const LOOK: Time = Time::from_ms(200);
/// With every trace there and nothing new for this long, all have come.
const QUIET: Time = Time::from_ms(1_000);

/// Where the spans of servers come from.
#[derive(Debug)]
pub struct SpanSource(Kind);

#[derive(Debug)]
enum Kind {
    File { file: SpanFile, store: SpanStore },
    Port(Receiver),
}

impl SpanSource {
    /// The file of a collector, which may grow.
    ///
    /// # Errors
    /// [`TraceError`] where what stands in it already cannot be read.
    pub fn file(path: &Path) -> Result<Self, TraceError> {
        Ok(Self(Kind::File { file: SpanFile::open(path)?, store: SpanStore::new(0) }))
    }

    /// A port of loopback to which exporters send.
    ///
    /// # Errors
    /// [`TraceError::Port`].
    pub fn port(port: u16) -> Result<Self, TraceError> {
        Receiver::listen(port).map(|receiver| Self(Kind::Port(receiver)))
    }

    /// Where exporters send their spans: HOST:PORT; `None` of a file.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        match &self.0 {
            Kind::Port(receiver) => Some(receiver.address()),
            Kind::File { .. } => None,
        }
    }

    /// A run begins, whose traces have this number.
    pub fn begin(&mut self, run: u64) {
        match &mut self.0 {
            Kind::File { store, .. } => *store = SpanStore::new(run),
            Kind::Port(receiver) => receiver.begin(run),
        }
    }

    /// The spans of the run, once each of `wanted` has one and nothing more comes, or after
    /// `patience`, or when somebody asks to stop.
    ///
    /// # Errors
    /// [`TraceError`] where the file cannot be read any more.
    pub fn collect(
        &mut self,
        wanted: &[TraceId],
        patience: Time,
        stop: &Stop,
    ) -> Result<SpanStore, TraceError> {
        let deadline_ns = MonotonicClock.now_ns().saturating_add(patience.ns());
        let (mut known, mut changed_ns) = (usize::MAX, 0);
        loop {
            let (spans, complete) = self.look(wanted)?;
            let now_ns = MonotonicClock.now_ns();
            if spans != known {
                (known, changed_ns) = (spans, now_ns);
            }
            let over = complete && now_ns.saturating_sub(changed_ns) >= QUIET.ns();
            let next_ns = deadline_ns.min(now_ns.saturating_add(LOOK.ns()));
            if over
                || now_ns >= deadline_ns
                || stop.wait_until(next_ns).map_err(TraceError::Wait)?
            {
                return Ok(self.take());
            }
        }
    }

    /// How many spans there are, and whether every trace of `wanted` has its first.
    fn look(&mut self, wanted: &[TraceId]) -> Result<(usize, bool), TraceError> {
        let seen =
            |store: &SpanStore| (store.spans(), wanted.iter().all(|it| is_there(store, *it)));
        match &mut self.0 {
            Kind::File { file, store } => {
                file.read(|span| store.take(span))?;
                Ok(seen(store))
            }
            Kind::Port(receiver) => Ok(receiver.look(seen)),
        }
    }

    fn take(&mut self) -> SpanStore {
        match &mut self.0 {
            Kind::File { store, .. } => std::mem::replace(store, SpanStore::new(0)),
            Kind::Port(receiver) => receiver.take(),
        }
    }

    /// What was wrong with the first request that could not be read, once.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        match &self.0 {
            Kind::Port(receiver) => receiver.complaint(),
            Kind::File { .. } => None,
        }
    }
}

fn is_there(store: &SpanStore, trace: TraceId) -> bool {
    let own = Some(SpanId(trace.own_span()));
    !store.has_room_for(trace) || store.of(trace).iter().any(|span| span.parent == own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_read_again_brings_each_span_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spans.json");
        std::fs::write(&path, "").unwrap();
        let mut source = SpanSource::file(&path).unwrap();
        source.begin(7);
        let trace = TraceId::of_run(7, 1).unwrap();
        let request = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"{:016x}","startTimeUnixNano":"1","endTimeUnixNano":"2"}}]}}]}}]}}"#,
            9
        );
        // over several lines, in one without an end, and in one with an end
        for text in [request.replace(',', ",\n"), request.clone(), request + "\n"] {
            std::fs::write(&path, text).unwrap();
            for _ in 0..3 {
                assert_eq!(source.look(&[trace]).unwrap().0, 1);
            }
        }
        assert_eq!(source.take().of(trace).len(), 1);
    }
}
