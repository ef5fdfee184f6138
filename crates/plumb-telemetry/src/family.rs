//! Metrics with their samples, whatever form they are written in.

use plumb_wire::prometheus::{Exposition, MetricKind, seconds};

/// What all names begin with in the text of Prometheus.
const PREFIX: &str = "plumb_run_";
/// The same with OpenTelemetry.
const SCOPE: &str = "plumb.run.";

/// The unit of a metric, a base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// A number of something.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

/// A metric with all its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Its name without prefix, unit and ending, for example `connect_failures`.
    pub name: &'static str,
    /// Its unit.
    pub unit: MetricUnit,
    /// What it is.
    pub kind: MetricKind,
    /// What it means, a sentence.
    pub help: &'static str,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// The value of a metric under some labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values, in the order in which they are shown.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: Value,
}

/// What a sample holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// Times, nanoseconds.
    Times {
        /// How many, from the beginning.
        count: u64,
        /// Their sum, from the beginning.
        sum_ns: u128,
        /// Quantiles of late: which, from 0 to 1, how that is written, and the time.
        quantiles: Vec<(f64, &'static str, u64)>,
    },
}

impl Family {
    /// Its whole name with Prometheus, for example `plumb_run_connect_failures_total`.
    #[must_use]
    pub fn prometheus_name(&self) -> String {
        format!("{PREFIX}{}", self.bare_name())
    }

    /// Its whole name with OpenTelemetry, for example `plumb.run.connect_failures`.
    #[must_use]
    pub fn otlp_name(&self) -> String {
        format!("{SCOPE}{}", self.name)
    }

    fn bare_name(&self) -> String {
        let unit = match self.unit {
            MetricUnit::Count => "",
            MetricUnit::Seconds => "_seconds",
            MetricUnit::Bytes => "_bytes",
        };
        let end = if self.kind == MetricKind::Counter { "_total" } else { "" };
        format!("{}{unit}{end}", self.name)
    }
}

/// `families` as the text that Prometheus reads.
#[must_use]
pub fn exposition(families: &[Family]) -> String {
    let mut page = Exposition::new(PREFIX);
    for family in families {
        let name = family.bare_name();
        page.about(&name, family.kind, family.help);
        for Sample { labels, value } in &family.samples {
            let mut labels: Vec<(&str, &str)> =
                labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            match value {
                Value::Number(number) => page.sample(&name, &labels, number),
                Value::Times { count, sum_ns, quantiles } => {
                    page.sample(&format!("{name}_sum"), &labels, seconds(*sum_ns));
                    page.sample(&format!("{name}_count"), &labels, count);
                    for (_, quantile, ns) in quantiles {
                        labels.push(("quantile", quantile));
                        page.sample(&name, &labels, seconds((*ns).into()));
                        labels.pop();
                    }
                }
            }
        }
    }
    page.finish()
}

/// A label's name as Prometheus takes it.
pub(crate) fn label_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
