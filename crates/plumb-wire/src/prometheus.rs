//! The text that Prometheus reads: counters, gauges and summaries in base units.
//!
//! # Source
//! Prometheus, "Exposition formats", text format 0.0.4.

use std::fmt::{Display, Write as _};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Quantiles of late, with the sum and the number of all so far.
    Summary,
}

/// A document that grows, metric by metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exposition {
    prefix: &'static str,
    text: String,
}

impl Exposition {
    /// An empty document whose metrics all begin with `prefix`.
    #[must_use]
    pub fn new(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// The document.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    /// A metric that only grows, without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, Kind::Counter, help);
        self.sample(name, &[], value);
    }

    /// A metric that goes up and down, without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, Kind::Gauge, help);
        self.sample(name, &[], value);
    }

    /// Says what the samples that follow are.
    pub fn about(&mut self, name: &str, kind: Kind, help: &str) {
        let prefix = self.prefix;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Summary => "summary",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // a String takes everything
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
    }

    /// One value of a metric. A name of a label keeps its letters, digits and underscores; anything
    /// else becomes an underscore.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.prefix);
        self.text.push_str(name);
        for (number, (label, value)) in labels.iter().enumerate() {
            self.text.push(if number == 0 { '{' } else { ',' });
            self.text
                .extend(label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "=\"{value}\""); // a String takes everything
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

/// A time in seconds, exact to the nanosecond.
#[must_use]
pub fn seconds(ns: u128) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_metrics_one_after_the_other() {
        let mut page = Exposition::new("plumb_");
        page.counter("steps_total", "Steps done.", 3);
        page.about("wait_seconds", Kind::Summary, "Time of waiting.");
        page.sample("wait_seconds", &[("row", "a \"b\"\\\n"), ("far-host", "x")], seconds(1_500));
        page.gauge("locks", "Locks.", 0);
        assert_eq!(
            page.finish(),
            "# HELP plumb_steps_total Steps done.\n# TYPE plumb_steps_total counter\n\
             plumb_steps_total 3\n\
             # HELP plumb_wait_seconds Time of waiting.\n# TYPE plumb_wait_seconds summary\n\
             plumb_wait_seconds{row=\"a \\\"b\\\"\\\\\\n\",far_host=\"x\"} 0.000001500\n\
             # HELP plumb_locks Locks.\n# TYPE plumb_locks gauge\nplumb_locks 0\n"
        );
    }
}
