//! The slowest operations of a run, and what TCP did around them.

use plumb_measure::{ResultRecord, RunRecord, SlowSample, show_ns};

use crate::figures::{ABSENT, grouped};
use crate::points::Points;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// Operations in the table.
const ROWS: usize = 10;
/// Operations in a line.
const NAMED: usize = 3;

/// What the columns mean.
pub(crate) const ABOUT: &str = "Of all results together, longest first. At: when the answer was \
                                complete, after the start of the run. TCP as the kernel read it \
                                before and right after the operation; before is the last reading \
                                of that connection, which is as old as the column says.";

/// One row an operation, over all results; `None` without any.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let slowest = slowest(&points);
    if slowest.is_empty() {
        return None;
    }
    let tcp = slowest.iter().any(|(_, sample)| sample.tcp.is_some());
    let mut table = Table::new(points.columns());
    table.columns.push(Column::latency("response"));
    table.columns.extend(["service", "at", "connection"].map(Column::figure));
    let stamped = slowest.iter().any(|(_, sample)| sample.waking_ns.is_some());
    if stamped {
        table.columns.push(Column::figure("client waking"));
    }
    if tcp {
        let titles = ["read before", "retransmits", "rtt before", "rtt after", "cwnd before"];
        table.columns.extend(titles.map(Column::figure));
        table.columns.push(Column::figure("cwnd after"));
    }
    for (result, sample) in slowest {
        let mut row = points.cells(result);
        row.extend([sample.response_ns, sample.service_ns, sample.at_ns].map(show_ns));
        row.push(grouped(sample.connection));
        if stamped {
            row.push(sample.waking_ns.map_or_else(|| ABSENT.into(), show_ns));
        }
        if tcp {
            row.extend(around(sample));
        }
        table.push_trusted(row, Trust::of(&result.validity));
    }
    Some(table)
}

/// The three slowest of the only result, in one line; empty where there are more results or none.
pub(crate) fn line(record: &RunRecord) -> String {
    let [only] = &record.results[..] else {
        return String::new();
    };
    let words: Vec<String> = only.slowest.iter().take(NAMED).map(named).collect();
    words.join("; ")
}

fn slowest<'a>(points: &Points<'a>) -> Vec<(&'a ResultRecord, &'a SlowSample)> {
    let results = points.results.iter().copied();
    let mut all: Vec<(&ResultRecord, &SlowSample)> =
        results.flat_map(|result| result.slowest.iter().map(move |slow| (result, slow))).collect();
    all.sort_by_key(|(_, sample)| std::cmp::Reverse(sample.response_ns));
    all.truncate(ROWS);
    all
}

fn around(sample: &SlowSample) -> [String; 6] {
    let Some(tcp) = &sample.tcp else {
        return [const { ABSENT }; 6].map(Into::into);
    };
    [
        show_ns(tcp.since_ns),
        grouped(tcp.retransmits),
        show_ns(tcp.before.rtt_ns),
        show_ns(tcp.after.rtt_ns),
        grouped(tcp.before.cwnd),
        grouped(tcp.after.cwnd),
    ]
}

fn named(sample: &SlowSample) -> String {
    let retransmits = sample.tcp.map_or(0, |tcp| tcp.retransmits);
    let again = match retransmits {
        0 => String::new(),
        1 => ", 1 retransmit".into(),
        n => format!(", {} retransmits", grouped(n)),
    };
    format!("{} at {}{again}", show_ns(sample.response_ns), show_ns(sample.at_ns))
}
