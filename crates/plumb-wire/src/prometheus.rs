//! The text that Prometheus reads: counters, gauges and summaries in base units; and the few words of
//! HTTP with which it asks for them.
//!
//! # Source
//! Prometheus, "Exposition formats", text format 0.0.4.

use std::fmt::{Display, Write as _};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
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
        self.about(name, MetricKind::Counter, help);
        self.sample(name, &[], value);
    }

    /// A metric that goes up and down, without labels.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.about(name, MetricKind::Gauge, help);
        self.sample(name, &[], value);
    }

    /// Says what the samples that follow are.
    pub fn about(&mut self, name: &str, kind: MetricKind, help: &str) {
        let prefix = self.prefix;
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Summary => "summary",
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

/// The longest head of a request that is waited for, bytes.
pub const HEAD_BYTES_MAX: usize = 8 << 10;
/// The page there is.
const PATH: &str = "/metrics";

/// The head that `bytes` begin with, with the empty line that ends it; `None` while it is not
/// complete, and for ever if it is longer than [`HEAD_BYTES_MAX`].
#[must_use]
pub fn head(bytes: &[u8]) -> Option<&[u8]> {
    let looked = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let end = looked.windows(4).position(|here| here == b"\r\n\r\n")?;
    Some(&bytes[..end + 4])
}

/// An answer, behind which the connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Everything that is sent, head and text.
    pub text: String,
    /// True when it holds the figures.
    pub found: bool,
}

impl Page {
    /// The answer to a request with this `head`: the text of `figures` to whoever asks for
    /// `/metrics`, else where that is.
    pub fn of(head: &str, figures: impl FnOnce() -> String) -> Self {
        let mut words = head.split_ascii_whitespace();
        let (method, target) = (words.next(), words.next());
        // the parameters of a scrape change nothing
        match (method, target.and_then(|target| target.split('?').next())) {
            (Some("GET"), Some(PATH)) => Self::new("200 OK", "", &figures()),
            (Some("GET"), Some(_)) => {
                Self::new("404 Not Found", "", &format!("the figures are at {PATH}\n"))
            }
            _ => Self::new("405 Method Not Allowed", "Allow: GET\r\n", "use GET\n"),
        }
    }

    /// The answer to whoever has not named what `realm` asks for, and `what` that is.
    #[must_use]
    pub fn locked(realm: &str, what: &str) -> Self {
        let challenge = format!("WWW-Authenticate: Basic realm=\"{realm}\"\r\n");
        Self::new("401 Unauthorized", &challenge, &format!("name {what}\n"))
    }

    fn new(status: &str, lines: &str, text: &str) -> Self {
        let length = text.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {length}\r\n\
             {lines}Connection: close\r\n\r\n{text}"
        );
        Self { text, found: status.starts_with("200") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line_and_has_a_limit() {
        assert_eq!(head(b"GET / HTTP/1.1\r\n\r\nENQ").map(<[u8]>::len), Some(18));
        assert_eq!(head(b"GET / HTTP/1.1\r\n\r"), None);
        let long = [&[b'x'; HEAD_BYTES_MAX][..], b"\r\n\r\n"].concat();
        assert_eq!(head(&long), None);
    }

    #[test]
    fn only_the_figures_are_shown_and_only_to_whoever_gets_them() {
        let of = |head| Page::of(head, || "steps 3\n".into());
        assert_eq!(
            of("GET /metrics HTTP/1.1\r\n\r\n"),
            Page {
                text:
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
                       Content-Length: 8\r\nConnection: close\r\n\r\nsteps 3\n"
                        .into(),
                found: true
            }
        );
        for (head, status) in
            [("GET / HTTP/1.1", "404"), ("POST /metrics HTTP/1.1", "405"), ("", "405")]
        {
            let page = of(head);
            assert!(
                page.text.starts_with(&format!("HTTP/1.1 {status} ")) && !page.found,
                "{page:?}"
            );
        }
        assert!(of("GET /metrics?job=a HTTP/1.1").found);
        let locked = Page::locked("locks", "a user and its password");
        assert!(locked.text.contains("401 ") && locked.text.contains("realm=\"locks\""));
    }

    #[test]
    fn a_document_has_its_metrics_one_after_the_other() {
        let mut page = Exposition::new("plumb_");
        page.counter("steps_total", "Steps done.", 3);
        page.about("wait_seconds", MetricKind::Summary, "Time of waiting.");
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
