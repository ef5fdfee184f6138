//! Where the time of an answer went, in its headers.

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
    told.into_iter().flatten().filter_map(|(name, text)| Some((name, text.try_into().ok()?)))
}

/// Milliseconds, as browsers show them.
///
/// # Source
/// W3C Server Timing.
fn server_timing(timings: &Timings) -> String {
    let in_process_ns = timings.queue_ns + timings.service_ns();
    let front_ns = timings.total_ns.checked_sub(in_process_ns).filter(|_| timings.total_ns > 0);
    let mut text = String::with_capacity(160);
    let mut add = |name: &str, ns: u64| {
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(name);
        text.push_str(";dur=");
        push_ms(&mut text, ns);
    };
    add("queue", timings.queue_ns);
    add("load", timings.load_ns);
    add("database", timings.database_ns);
    let met = [
        ("database.wire", timings.way_ns),
        ("database.logon", timings.log_on_ns),
        ("lock", timings.lock_ns),
        ("backend", timings.called.ns),
    ];
    for (name, ns) in met.into_iter().filter(|(_, ns)| *ns > 0) {
        add(name, ns);
    }
    add("render", timings.render_ns);
    if let Some(front_ns) = front_ns {
        add("front", front_ns);
        add("total", timings.total_ns);
    }
    for (name, ns) in &timings.called.told {
        add(name, *ns);
    }
    text
}

/// Appends `ns` in milliseconds with three digits of a fraction: six times an answer, so without the
/// machinery of formatting.
fn push_ms(text: &mut String, ns: u64) {
    const POINT: usize = 17;
    let (mut left, mut digits) = (ns / 1_000, [b'0'; POINT + 4]);
    let mut at = digits.len();
    while left > 0 || at >= POINT {
        at -= 1;
        if at == POINT {
            digits[at] = b'.';
        } else {
            digits[at] += u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
        }
    }
    text.push_str(str::from_utf8(&digits[at..]).unwrap_or_default());
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
    use crate::answer::Called;

    #[test]
    fn timings_are_written_in_milliseconds() {
        let timings = Timings {
            queue_ns: 12_345_678,
            database_ns: 999_999,
            render_ns: 1_000,
            ..Timings::default()
        };
        let text = "queue;dur=12.345, load;dur=0.000, database;dur=0.999, render;dur=0.001";
        assert_eq!(server_timing(&timings), text);
        assert_eq!(sap_statistics(&timings), "total=13,queue=12,load=0,db=1,render=0");
        for (ns, said) in
            [(0, "0.000"), (999, "0.000"), (1_234_567, "1.234"), (u64::MAX, "18446744073709.551")]
        {
            let mut text = String::new();
            push_ms(&mut text, ns);
            assert_eq!(text, said);
        }
        assert_eq!(headers(&timings, false).count(), 1);
        assert_eq!(headers(&timings, true).count(), 2);
        let called = Called { ns: 7_000, told: vec![("backend.database".into(), 3_000)] };
        let split = Timings { way_ns: 90_000, log_on_ns: 8_000, called, ..timings.clone() };
        let text = "queue;dur=12.345, load;dur=0.000, database;dur=0.999, database.wire;dur=0.090, \
                    database.logon;dur=0.008, backend;dur=0.007, render;dur=0.001, \
                    backend.database;dur=0.003";
        assert_eq!(server_timing(&split), text);
        let whole = Timings { lock_ns: 5_000, total_ns: 13_400_000, ..timings };
        let more = "queue;dur=12.345, load;dur=0.000, database;dur=0.999, lock;dur=0.005, \
                    render;dur=0.001, front;dur=0.048, total;dur=13.400";
        assert_eq!(server_timing(&whole), more);
    }
}
