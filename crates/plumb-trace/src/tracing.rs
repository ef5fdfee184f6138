//! `traceparent`: to which trace a request belongs, and what becomes of the spans.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use plumb_engine::{LoadResult, Step, Stop, clock};
use plumb_measure::statistics::SplitMix64;
use plumb_measure::{Answer, PartRecord, Row, Span, TraceId, TracedOperations, Validity, counted};
use serde_json::{Map, Value, json};

use crate::{SpanSource, SpanStore, TraceError, account};

/// The header of W3C Trace Context.
/// The name of the header line of a trace.
pub const PARENT: &str = "traceparent";

/// Which requests say to which trace they belong, and where spans come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traces")]
pub struct TraceOptions {
    /// Send a W3C traceparent with each request, sampled: servers with OpenTelemetry write spans of it
    #[arg(long)]
    pub traceparent: bool,

    /// Read the spans from this file of a collector: OTLP JSON, a request a line or one in all
    #[arg(long, value_name = "FILE", requires = "traceparent", conflicts_with = "otlp_port")]
    pub spans: Option<PathBuf>,

    /// Receive the spans over OTLP/HTTP on this port of 127.0.0.1, as JSON or protobuf
    #[arg(long, value_name = "PORT", requires = "traceparent")]
    pub otlp_port: Option<u16>,

    /// How long spans are waited for after each load; shorter where every trace has its first
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "traceparent")]
    pub spans_wait: Span,
}

impl TraceOptions {
    /// Every option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        let mut options = Map::new();
        if self.traceparent {
            options.insert("traceparent".into(), json!(true));
            options.insert("spans".into(), json!(self.spans));
            options.insert("otlp-port".into(), json!(self.otlp_port));
            options.insert("spans-wait".into(), json!(self.spans_wait));
        }
        options
    }
}

/// The traces of a measurement, and where their spans come from.
#[derive(Debug)]
pub struct Tracing {
    source: Option<SpanSource>,
    /// The port that is to be listened on.
    port: Option<u16>,
    patience: Span,
    random: SplitMix64,
}

impl Tracing {
    /// What `options` ask for; `None` where no request is traced. `headers` are those of every
    /// request.
    ///
    /// # Errors
    /// [`TraceError`] where spans cannot be read or received, or a header is one of ours.
    pub fn new(options: &TraceOptions, headers: &[String]) -> Result<Option<Self>, TraceError> {
        if !options.traceparent {
            return Ok(None);
        }
        if headers.iter().any(|line| is_parent(line)) {
            return Err(TraceError::ParentGiven);
        }
        let source = options.spans.as_deref().map(SpanSource::file).transpose()?;
        // never that of --seed: spans of an earlier run must not be taken for ours
        let random =
            SplitMix64::new(clock::wall_ns() ^ u64::from(std::process::id()).rotate_left(40));
        Ok(Some(Self { source, port: options.otlp_port, patience: options.spans_wait, random }))
    }

    /// Listens for spans, where they come over a port, and says on standard error where.
    ///
    /// # Errors
    /// [`TraceError::Port`] where it cannot listen there.
    pub fn listen(&mut self) -> Result<(), TraceError> {
        let Some(port) = self.port else { return Ok(()) };
        let source = SpanSource::port(port)?;
        if let Some(address) = source.address() {
            // who cannot be told has the port on the command line
            let _ = writeln!(std::io::stderr(), "spans are taken on http://{address}/v1/traces");
        }
        self.source = Some(source);
        Ok(())
    }

    /// A load begins: its traces.
    #[must_use]
    pub fn begin(&mut self) -> Traces {
        let run = self.random.next_u64();
        if let Some(source) = &mut self.source {
            source.begin(run);
        }
        Traces { run, drawn: Arc::new(AtomicU64::new(self.random.next_u64())) }
    }

    /// The spans of the operations in `rows`; `None` where they come from nowhere.
    fn collect(&mut self, rows: &[Row], stop: &Stop) -> Result<Option<SpanStore>, TraceError> {
        let Some(source) = &mut self.source else { return Ok(None) };
        let traced = rows.iter().filter_map(|row| Some(row.step.as_deref()?.traced()));
        let wanted = traced.flat_map(TracedOperations::sample).map(|it| it.trace);
        source.collect(&wanted.collect::<Vec<_>>(), self.patience, stop).map(Some)
    }

    /// Adds to each of `parts` what the spans of the operations in its row say, and to `validity`
    /// what is to be known of them.
    ///
    /// # Errors
    /// [`TraceError`] where the file of the spans is broken; the parts stand without.
    pub fn add_to<P>(
        &mut self,
        (parts, rows): (&mut [PartRecord], &[Row]),
        validity: &mut Validity,
        load: &LoadResult<P>,
        stop: &Stop,
    ) -> Result<(), TraceError> {
        let Some(store) = self.collect(rows, stop)? else { return Ok(()) };
        let round_trip_ns = load.tcp.map(|tcp| tcp.rtt_min_ns).filter(|ns| *ns > 0);
        for (part, row) in parts.iter_mut().zip(rows) {
            part.spans = account(&part.name, row, round_trip_ns, &store);
        }
        let sum = |of: fn(&plumb_measure::SpanAccount) -> u64| -> u64 {
            parts.iter().filter_map(|part| part.spans.as_ref()).map(of).sum()
        };
        let (sample, with_spans) = (sum(|it| it.sample), sum(|it| it.with_spans));
        let mut remarks = Vec::new();
        if sample > 0 && with_spans == 0 {
            remarks.push(format!(
                "no span came of {}: does the server have OpenTelemetry, does it keep the trace of a \
                 request, and does its exporter send within --spans-wait?",
                counted(sample, "traced operation")
            ));
        }
        if let Some(complaint) = self.source.as_ref().and_then(SpanSource::complaint) {
            remarks.push(format!("OTLP: {complaint}"));
        }
        for remark in remarks {
            *validity = std::mem::take(validity).with_remark(&remark);
        }
        Ok(())
    }
}

/// Traces of one load, each with a number of its own, whichever thread draws it.
#[derive(Clone, Debug)]
pub struct Traces {
    run: u64,
    drawn: Arc<AtomicU64>,
}

impl Traces {
    /// The next trace.
    #[must_use]
    pub fn next(&self) -> Option<TraceId> {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        TraceId::of_run(self.run, SplitMix64::new(number).next_u64())
    }
}

/// Appends the header line of `trace`, sampled.
///
/// # Source
/// W3C Trace Context, section 3.2.
pub fn write_parent(trace: TraceId, out: &mut Vec<u8>) {
    out.extend_from_slice(PARENT.as_bytes());
    out.extend_from_slice(b": ");
    write_parent_value(trace, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the value of that header line.
pub fn write_parent_value(trace: TraceId, out: &mut Vec<u8>) {
    let span = u64::from_be_bytes(trace.own_span());
    let _ = write!(out, "00-{trace}-{span:016x}-01"); // cannot fail
}

fn is_parent(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| name.trim().eq_ignore_ascii_case(PARENT))
}

/// Where the header lines of a request begin.
#[must_use]
pub fn behind_the_first_line(request: &[u8]) -> usize {
    let end = request.windows(2).position(|pair| pair == b"\r\n");
    end.map_or(0, |end| end + 2)
}

/// Puts the header line of `trace` into the request of `out` that begins at `begins`.
pub fn insert_parent(trace: TraceId, begins: usize, out: &mut Vec<u8>) {
    let at = begins + behind_the_first_line(&out[begins..]);
    let rest = out.split_off(at);
    write_parent(trace, out);
    out.extend_from_slice(&rest);
}

/// `answer` to an operation that was sent with `trace`.
#[must_use]
pub fn traced_answer(mut answer: Answer, trace: Option<TraceId>) -> Answer {
    if let (Some(told), Some(trace)) = (&mut answer.told, trace) {
        *told = told.of_trace(trace);
    }
    answer
}

/// `step` of an operation that was sent with `trace`.
#[inline]
#[must_use]
pub fn traced_step(step: Step, trace: Option<TraceId>) -> Step {
    match (step, trace) {
        (Step::Done { consumed, answer, then }, Some(_)) => {
            Step::Done { consumed, answer: traced_answer(answer, trace), then }
        }
        (step, _) => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(traceparent: bool) -> TraceOptions {
        TraceOptions { traceparent, spans: None, otlp_port: None, spans_wait: Span::from_ms(0) }
    }

    #[test]
    fn a_header_line_names_the_trace_and_our_span() {
        let trace = TraceId::of_run(1, 2).unwrap();
        let mut out = b"GET / HTTP/1.1\r\n".to_vec();
        assert_eq!(behind_the_first_line(&out), out.len());
        out.extend_from_slice(b"Host: x\r\n\r\n");
        insert_parent(trace, 0, &mut out);
        let text = String::from_utf8(out).unwrap();
        let line = text.lines().nth(1).unwrap();
        let fields: Vec<&str> = line.strip_prefix("traceparent: ").unwrap().split('-').collect();
        assert_eq!(fields[..2], ["00", "00000000000000010000000000000002"]);
        assert_eq!((fields[2].len(), fields[3]), (16, "01"));
        assert!(text.ends_with("-01\r\nHost: x\r\n\r\n"), "{text}");
    }

    #[test]
    fn every_thread_and_every_load_has_traces_of_its_own() {
        let mut tracing = Tracing::new(&options(true), &[]).unwrap().unwrap();
        let (one, other) = (tracing.begin(), tracing.begin());
        assert_ne!(one.run, other.run);
        let (first, second) = (one.clone(), one.clone());
        let drawn: std::collections::BTreeSet<TraceId> =
            (0..50).flat_map(|_| [first.next(), second.next()]).flatten().collect();
        assert_eq!(drawn.len(), 100);
        assert!(drawn.iter().all(|trace| trace.run() == one.run));
    }

    #[test]
    fn a_traceparent_of_the_user_is_refused_where_we_write_one() {
        let error = Tracing::new(&options(true), &["TraceParent: 00-x".into()]).unwrap_err();
        assert!(error.to_string().contains("--traceparent"), "{error}");
        assert!(Tracing::new(&options(false), &["traceparent: 00".into()]).unwrap().is_none());
    }
}
