//! Metrics as remote write: a request of series with one sample each, compressed.
//!
//! # Source
//! Prometheus, "Remote-Write 1.0 specification"; `prometheus/prompb/remote.proto` and `types.proto`.

use plumb_measure::real;
use plumb_wire::prometheus::MetricKind;
use prost::Message;

use crate::Identity;
use crate::family::{Family, Sample, Value, label_name};

/// What all series are of.
const JOB: &str = "plumb";

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Point>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Point {
    #[prost(double, tag = "1")]
    value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    metric_family_name: String,
    #[prost(string, tag = "4")]
    help: String,
}

/// `families` at `now_ns`, nanoseconds since 1970, as the body of a request.
pub(crate) fn encode(families: &[Family], identity: &Identity, now_ns: u64) -> Vec<u8> {
    let timestamp = i64::try_from(now_ns / 1_000_000).unwrap_or(i64::MAX);
    let mut request = WriteRequest::default();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let name = family.prometheus_name();
        request.metadata.push(Metadata {
            kind: match family.kind {
                MetricKind::Counter => 1,
                MetricKind::Gauge => 2,
                MetricKind::Summary => 5,
            },
            metric_family_name: name.clone(),
            help: family.help.into(),
        });
        for sample in &family.samples {
            let series = |name: &str, further: Option<&str>, value: f64| TimeSeries {
                labels: labels(name, sample, further, identity),
                samples: vec![Point { value, timestamp }],
            };
            match &sample.value {
                Value::Number(number) => {
                    request.timeseries.push(series(&name, None, real(*number)));
                }
                Value::Times { count, sum_ns, quantiles } => {
                    let sum = seconds(*sum_ns);
                    request.timeseries.push(series(&format!("{name}_sum"), None, sum));
                    let count = real(*count);
                    request.timeseries.push(series(&format!("{name}_count"), None, count));
                    request.timeseries.extend(
                        quantiles.iter().map(|(_, quantile, ns)| {
                            series(&name, Some(quantile), real(*ns) / 1e9)
                        }),
                    );
                }
            }
        }
    }
    compressed(&request.encode_to_vec())
}

/// In the order of their names, as the protocol has it; of two of one name the first.
fn labels(name: &str, sample: &Sample, quantile: Option<&str>, identity: &Identity) -> Vec<Label> {
    let ours = [("__name__", name), ("job", JOB), ("instance", identity.run.as_str())];
    let ours = ours.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let quantile = quantile.map(|quantile| ("quantile".to_owned(), quantile.to_owned()));
    let theirs = sample.labels.iter().map(|(name, value)| (label_name(name), value.clone()));
    let mut labels: Vec<Label> = ours
        .chain(quantile)
        .chain(theirs)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| Label { name, value })
        .collect();
    labels.sort_by(|a, b| a.name.cmp(&b.name));
    labels.dedup_by(|later, first| later.name == first.name);
    labels
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    // it fails of more than 4 GiB, and a receiver refuses what is empty
    snap::raw::Encoder::new().compress_vec(bytes).unwrap_or_default()
}

/// A sum of times as seconds.
#[expect(clippy::cast_precision_loss, reason = "fifteen digits are enough for a sum of times")]
pub(crate) fn seconds(ns: u128) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::MetricUnit;

    #[test]
    fn labels_are_in_order_and_each_is_there_once() {
        let labels = vec![
            ("row".to_owned(), "a \"page\"".to_owned()),
            ("part-size".to_owned(), "1KiB".to_owned()),
            ("job".to_owned(), "mine".to_owned()),
            ("empty".to_owned(), String::new()),
        ];
        let quantiles = vec![(0.5, "0.5", 2_000_000)];
        let value = Value::Times { count: 3, sum_ns: 6_000_000, quantiles };
        let family = Family {
            name: "response",
            unit: MetricUnit::Seconds,
            kind: MetricKind::Summary,
            help: "Times.",
            samples: vec![Sample { labels, value }],
        };
        let identity = Identity { run: "r".into(), ..Identity::default() };
        let body = encode(&[family], &identity, 1_500_000_000);
        let bytes = snap::raw::Decoder::new().decompress_vec(&body).expect("compressed");
        let request = WriteRequest::decode(&bytes[..]).expect("a request");
        let shown: Vec<(Vec<String>, f64, i64)> = request
            .timeseries
            .iter()
            .map(|it| {
                let labels = it.labels.iter().map(|it| format!("{}={}", it.name, it.value));
                (labels.collect(), it.samples[0].value, it.samples[0].timestamp)
            })
            .collect();
        let around = ["instance=r", "job=plumb", "part_size=1KiB"];
        let of = |name: &str, quantile: &[&str]| -> Vec<String> {
            let named = [name];
            let all = named.iter().chain(&around).chain(quantile).chain(&["row=a \"page\""]);
            all.map(|it| (*it).to_owned()).collect()
        };
        let expected = [
            (of("__name__=plumb_run_response_seconds_sum", &[]), 0.006, 1_500),
            (of("__name__=plumb_run_response_seconds_count", &[]), 3.0, 1_500),
            (of("__name__=plumb_run_response_seconds", &["quantile=0.5"]), 0.002, 1_500),
        ];
        assert_eq!(shown, expected);
        assert_eq!(request.metadata[0].kind, 5);
    }
}
