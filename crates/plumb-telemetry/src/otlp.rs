//! Metrics as OTLP: a request to export them.
//!
//! # Source
//! `opentelemetry/proto/collector/metrics/v1/metrics_service.proto` and
//! `opentelemetry/proto/metrics/v1/metrics.proto`, version 1.

use plumb_measure::real;
use plumb_trace::attributes::{KeyValue, Resource, text};
use plumb_wire::prometheus::MetricKind;
use prost::Message;

use crate::family::{Family, MetricUnit, Sample, Value};
use crate::{Identity, remote_write::seconds};

/// Sums go on from the beginning of the run.
const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

/// What a receiver answers to it.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_data_points: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// How many points a receiver rejected that answered `content` with success, and why; `None` where it
/// took all.
///
/// # Source
/// OTLP Specification 1, OTLP/HTTP, Partial Success.
pub(crate) fn rejected(content: &[u8]) -> Option<(u64, String)> {
    let partial = Response::decode(content).ok()?.partial_success?;
    let points = u64::try_from(partial.rejected_data_points).ok().filter(|points| *points > 0)?;
    Some((points, partial.error_message))
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(message, optional, tag = "5")]
    gauge: Option<Gauge>,
    #[prost(message, optional, tag = "7")]
    sum: Option<Sum>,
    #[prost(message, optional, tag = "11")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<SummaryPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    // of a oneof, where a zero has to be there
    #[prost(sfixed64, optional, tag = "6")]
    as_int: Option<i64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct SummaryPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, tag = "5")]
    sum: f64,
    #[prost(message, repeated, tag = "6")]
    quantile_values: Vec<ValueAtQuantile>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ValueAtQuantile {
    #[prost(double, tag = "1")]
    quantile: f64,
    #[prost(double, tag = "2")]
    value: f64,
}

/// `families` at `now_ns` of a run that began at `start_ns`, both nanoseconds since 1970, as a request.
pub(crate) fn encode(
    families: &[Family],
    identity: &Identity,
    (start_ns, now_ns): (u64, u64),
) -> Vec<u8> {
    let resource = Resource {
        attributes: vec![
            text("service.name", "plumb"),
            text("service.instance.id", &identity.run),
            text("service.version", &identity.version),
            text("host.name", &identity.host),
        ],
    };
    let metrics = families.iter().filter(|family| !family.samples.is_empty());
    let metrics = metrics.map(|family| metric(family, (start_ns, now_ns))).collect();
    let scope = Scope { name: "plumb".into(), version: identity.version.clone() };
    let of_scope = ScopeMetrics { scope: Some(scope), metrics };
    let of_resource = ResourceMetrics { resource: Some(resource), scope_metrics: vec![of_scope] };
    Request { resource_metrics: vec![of_resource] }.encode_to_vec()
}

fn metric(family: &Family, times: (u64, u64)) -> Metric {
    let unit = match family.unit {
        MetricUnit::Count => "",
        MetricUnit::Seconds => "s",
        MetricUnit::Bytes => "By",
    };
    let bare = Metric {
        name: family.otlp_name(),
        description: family.help.into(),
        unit: unit.into(),
        ..Metric::default()
    };
    let numbers = || family.samples.iter().filter_map(|it| number(it, times)).collect();
    match family.kind {
        MetricKind::Gauge => Metric { gauge: Some(Gauge { data_points: numbers() }), ..bare },
        MetricKind::Counter => {
            let sum = Sum {
                data_points: numbers(),
                aggregation_temporality: CUMULATIVE,
                is_monotonic: true,
            };
            Metric { sum: Some(sum), ..bare }
        }
        MetricKind::Summary => {
            let points = family.samples.iter().filter_map(|it| summary(it, times)).collect();
            Metric { summary: Some(Summary { data_points: points }), ..bare }
        }
    }
}

fn number(sample: &Sample, (start_ns, now_ns): (u64, u64)) -> Option<NumberPoint> {
    let Value::Number(number) = sample.value else { return None };
    Some(NumberPoint {
        start_time_unix_nano: start_ns,
        time_unix_nano: now_ns,
        as_int: Some(i64::try_from(number).unwrap_or(i64::MAX)),
        attributes: attributes(sample),
    })
}

fn summary(sample: &Sample, (start_ns, now_ns): (u64, u64)) -> Option<SummaryPoint> {
    let Value::Times { count, sum_ns, quantiles } = &sample.value else { return None };
    let quantile_values = quantiles
        .iter()
        .map(|(quantile, _, ns)| ValueAtQuantile { quantile: *quantile, value: real(*ns) / 1e9 });
    Some(SummaryPoint {
        start_time_unix_nano: start_ns,
        time_unix_nano: now_ns,
        count: *count,
        sum: seconds(*sum_ns),
        quantile_values: quantile_values.collect(),
        attributes: attributes(sample),
    })
}

fn attributes(sample: &Sample) -> Vec<KeyValue> {
    sample.labels.iter().map(|(name, value)| text(name, value)).collect()
}
