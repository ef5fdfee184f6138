//! Where the time of an answer went, in its headers.

use std::fmt::Write as _;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::answer::Timings;

pub(super) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const SAP_STATISTICS: HeaderName = HeaderName::from_static("sap-statistics");

/// True when a request with these `headers` and this `query` asks for statistics.
pub(super) fn asks_for_statistics(headers: &HeaderMap, query: &str) -> bool {
    headers.get(SAP_STATISTICS).is_some_and(|value| value == "true")
        || query.split('&').any(|pair| pair == "sap-statistics=true")
}

/// The headers that tell `timings`, and the statistics of whoever asked for them.
pub(super) fn headers(
    timings: &Timings,
    statistics: bool,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let told = [
        Some((SERVER_TIMING, server_timing(timings))),
        statistics.then(|| (SAP_STATISTICS, sap_statistics(timings))),
    ];
    told.into_iter().flatten().filter_map(|(name, text)| Some((name, text.parse().ok()?)))
}

/// Milliseconds, as browsers show them.
///
/// # Source
/// W3C Server Timing.
fn server_timing(timings: &Timings) -> String {
    let parts = [
        ("queue", timings.queue_ns),
        ("load", timings.load_ns),
        ("database", timings.database_ns),
        ("render", timings.render_ns),
    ];
    let mut text = String::with_capacity(80);
    for (name, ns) in parts {
        let separator = if text.is_empty() { "" } else { ", " };
        // a String takes everything
        let _ = write!(text, "{separator}{name};dur={}.{:03}", ns / 1_000_000, ns / 1_000 % 1_000);
    }
    text
}

/// Whole milliseconds: all of it, what the front half did, and the database.
fn sap_statistics(timings: &Timings) -> String {
    let ms = |ns: u64| (ns + 500_000) / 1_000_000;
    let total_ns = timings.queue_ns + timings.service_ns();
    format!(
        "total={},queue={},load={},db={},render={}",
        ms(total_ns),
        ms(timings.queue_ns),
        ms(timings.load_ns),
        ms(timings.database_ns),
        ms(timings.render_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_written_in_milliseconds() {
        let timings =
            Timings { queue_ns: 12_345_678, load_ns: 0, database_ns: 999_999, render_ns: 1_000 };
        let text = "queue;dur=12.345, load;dur=0.000, database;dur=0.999, render;dur=0.001";
        assert_eq!(server_timing(&timings), text);
        assert_eq!(sap_statistics(&timings), "total=13,queue=12,load=0,db=1,render=0");
        assert_eq!(headers(&timings, false).count(), 1);
        assert_eq!(headers(&timings, true).count(), 2);
    }
}
