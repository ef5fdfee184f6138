//! The tables of a report, the same in every format.

use std::collections::BTreeSet;

use plumb_measure::{Distribution, DriverFacts, ResultRecord, RunRecord, show_count, show_ns};

use crate::figures::{ABSENT, Pick, failures_of, grouped, milliseconds, share, time_of, with_unit};
use crate::notes::{in_pieces, waited};
use crate::noun::Noun;
use crate::points::Points;
use crate::streams;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

/// One row a result: what was asked first of any run.
pub(crate) fn results(record: &RunRecord) -> Table {
    if streams::are_in(record) {
        return streams::results(record);
    }
    let points = Points::of(record);
    let noun = Noun::of(record);
    let failed = points.results.iter().any(|result| failures_of(result) > 0);
    let refused = points.results.iter().any(|result| result.refused > 0);
    let dropped = points.results.iter().any(|result| result.dropped > 0);
    let niping = points.results.iter().any(|result| result.niping.is_some());
    let doubted = points.results.iter().any(|result| Trust::of(&result.validity) != Trust::Full);

    let mut columns = points.columns();
    if doubted {
        columns.push(Column::new(ColumnKind::Verdict, "verdict"));
    }
    columns.push(Column::figure("count").giving_way(4));
    columns.push(Column::figure("failed").giving_way(if failed { 0 } else { 6 }));
    if refused {
        columns.push(Column::figure("refused"));
    }
    if dropped {
        columns.push(Column::figure("dropped"));
    }
    columns.push(Column::new(ColumnKind::Rate, noun.rate));
    columns.extend(RESPONSE.map(|(title, _, rank)| Column::latency(title).giving_way(rank)));
    if niping {
        columns.push(Column::latency("av2").giving_way(3));
        columns.push(Column::latency("tr2").giving_way(5));
    }

    let mut table = Table::new(columns);
    for result in &points.results {
        let trust = Trust::of(&result.validity);
        let mut cells = points.cells(result);
        if doubted {
            cells.push(trust.short().into());
        }
        cells.push(grouped(result.operations));
        cells.push(grouped(failures_of(result)));
        if refused {
            cells.push(grouped(result.refused));
        }
        if dropped {
            cells.push(grouped(result.dropped));
        }
        cells.push(match result.operations {
            0 => ABSENT.into(),
            _ => show_count(result.throughput_per_s),
        });
        cells.extend(RESPONSE.map(|(_, pick, _)| time_of(result.response_ns.as_ref(), pick)));
        if niping {
            cells.extend(niping_cells(result));
        }
        table.push_trusted(cells, trust);
    }
    table
}

/// The response times of the results table, with the rank at which each gives way.
const RESPONSE: [(&str, Pick, u8); 6] = [
    ("p50", |times| times.p50, 0),
    ("p90", |times| times.p90, 7),
    ("p99", |times| times.p99, 0),
    ("p99.9", |times| times.p999, 2),
    ("max", |times| times.max, 1),
    ("mean", |times| times.mean, 8),
];

fn niping_cells(result: &ResultRecord) -> [String; 2] {
    let figures = result.niping.as_ref();
    let av2 = figures.and_then(|figures| figures.av2_ms);
    let tr2 = figures.and_then(|figures| figures.tr2_kb_s);
    [
        av2.map_or_else(|| ABSENT.into(), milliseconds),
        tr2.map_or_else(|| ABSENT.into(), |rate| with_unit(rate, "kB/s")),
    ]
}

/// Every time that was measured of one result, and the floor: a row each.
pub(crate) fn times(record: &RunRecord, result: &ResultRecord) -> Table {
    // and when each gives way in a narrow terminal
    const PICKS: [(&str, u8, Pick); 7] = [
        ("min", 2, |times| times.min),
        ("p50", 0, |times| times.p50),
        ("p90", 4, |times| times.p90),
        ("p99", 0, |times| times.p99),
        ("p99.9", 3, |times| times.p999),
        ("max", 0, |times| times.max),
        ("mean", 1, |times| times.mean),
    ];
    let mut table = Table::new(vec![Column::words("")]);
    table.columns.extend(PICKS.map(|(title, rank, _)| Column::latency(title).giving_way(rank)));
    let mut row = |name: &str, times: Option<&Distribution>, trust| {
        if times.is_some() {
            let cells = PICKS.map(|(.., pick)| time_of(times, pick));
            table.push_trusted([name.to_owned()].into_iter().chain(cells).collect(), trust);
        }
    };
    let trust = Trust::of(&result.validity);
    row("response", result.response_ns.as_ref(), trust);
    row("service", result.service_ns.as_ref().filter(|_| waited(result)), trust);
    row("first byte", result.first_byte_ns.as_ref().filter(|_| in_pieces(result)), trust);
    row("connect", result.connect_ns.as_ref(), trust);
    row("TLS", result.tls_ns.as_ref(), trust);
    row("tool's floor", record.floor.as_ref().map(|floor| &floor.service_ns), Trust::Full);
    table
}

/// What was measured beside the response time, the figures of the layer among it, a row a result.
/// The further times of a single result are in [`times`].
pub(crate) fn further(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let any = |which: fn(&ResultRecord) -> bool| points.results.iter().any(|r| which(r));
    let mut columns = points.columns();
    let mut cells: Vec<fn(&ResultRecord) -> String> = Vec::new();
    let mut add = |wanted: bool, title: &str, latency: bool, cell: fn(&ResultRecord) -> String| {
        if wanted {
            let column = if latency { Column::latency(title) } else { Column::figure(title) };
            columns.push(column);
            cells.push(cell);
        }
    };
    let (wait, pieces) = (several && any(waited), several && any(in_pieces));
    add(wait, "service p50", true, |r| time_of(r.service_ns.as_ref(), |times| times.p50));
    add(wait, "service p99", true, |r| time_of(r.service_ns.as_ref(), |times| times.p99));
    add(wait, "service max", true, |r| time_of(r.service_ns.as_ref(), |times| times.max));
    add(pieces, "first byte p50", true, |r| time_of(r.first_byte_ns.as_ref(), |times| times.p50));
    add(pieces, "first byte p99", true, |r| time_of(r.first_byte_ns.as_ref(), |times| times.p99));
    let connect = any(|r| r.connect_ns.is_some());
    add(connect, "connects", false, |r| {
        r.connect_ns.as_ref().map_or_else(|| ABSENT.into(), |times| grouped(times.count))
    });
    add(connect && several, "connect p50", true, |r| {
        time_of(r.connect_ns.as_ref(), |times| times.p50)
    });
    add(connect && several, "connect max", true, |r| {
        time_of(r.connect_ns.as_ref(), |times| times.max)
    });
    let tls = several && any(|r| r.tls_ns.is_some());
    add(tls, "TLS p50", true, |r| time_of(r.tls_ns.as_ref(), |times| times.p50));
    add(tls, "TLS max", true, |r| time_of(r.tls_ns.as_ref(), |times| times.max));
    add(any(|r| r.tls_resumed.is_some()), "TLS resumed", false, |r| {
        r.tls_resumed.map_or_else(|| ABSENT.into(), grouped)
    });
    add(any(|r| r.http2.is_some()), "HTTP/2 connections", false, |r| {
        r.http2.as_ref().map_or_else(|| ABSENT.into(), |http2| grouped(http2.connections))
    });
    add(any(|r| r.http2.is_some()), "streams at once", false, |r| {
        r.http2.as_ref().map_or_else(|| ABSENT.into(), |http2| grouped(http2.streams_at_once))
    });
    let again = any(|r| r.http2.as_ref().is_some_and(|http2| http2.sent_again > 0));
    add(again, "sent again", false, |r| {
        r.http2.as_ref().map_or_else(|| ABSENT.into(), |http2| grouped(http2.sent_again))
    });
    add(any(|r| r.tcp.is_some()), "retransmits", false, |r| {
        r.tcp.map_or_else(|| ABSENT.into(), |tcp| grouped(tcp.retransmits))
    });
    let cpu = any(|r| r.cpu.is_some());
    add(cpu, "client CPU/op", false, |r| {
        r.cpu.map_or_else(|| ABSENT.into(), |cpu| show_ns(cpu.client_ns_per_op))
    });
    let server = any(|r| r.cpu.is_some_and(|cpu| cpu.server_ns_per_op.is_some()));
    add(server, "server CPU/op", false, |r| {
        r.cpu.and_then(|cpu| cpu.server_ns_per_op).map_or_else(|| ABSENT.into(), show_ns)
    });
    add(true, "duration", false, |r| show_ns(r.duration_ns));
    add(true, "sent", false, |r| carried(r, r.bytes_sent));
    add(true, "received", false, |r| carried(r, r.bytes_received));

    let formulas = formulas(record);
    columns.extend(formulas.iter().map(|(name, _)| Column::figure(*name)));
    let mut table = Table::new(columns);
    for result in &points.results {
        let mut row = points.cells(result);
        row.extend(cells.iter().map(|cell| cell(result)));
        row.extend(formulas.iter().map(|(name, _)| layer_figure(result, name)));
        table.push_trusted(row, Trust::of(&result.validity));
    }
    table
}

/// The figures of the layer, a row a result; `None` where there are none. Those further to the right
/// give way first.
pub(crate) fn figures(record: &RunRecord) -> Option<Table> {
    let formulas = formulas(record);
    if formulas.is_empty() {
        return None;
    }
    let points = Points::of(record);
    let mut columns = points.columns();
    let ranked = formulas.iter().zip(0_u8..);
    columns.extend(ranked.map(|((name, _), rank)| Column::figure(*name).giving_way(rank)));
    let mut table = Table::new(columns);
    for result in &points.results {
        let mut row = points.cells(result);
        row.extend(formulas.iter().map(|(name, _)| layer_figure(result, name)));
        table.push_trusted(row, Trust::of(&result.validity));
    }
    Some(table)
}

/// Bytes that were carried; a driver that counts none does not tell.
fn carried(result: &ResultRecord, bytes: u64) -> String {
    if result.operations > 0 && result.bytes_received == 0 {
        return ABSENT.into();
    }
    with_unit(crate::figures::real(bytes), "B")
}

/// The further figures of the layer: names and formulas, each once.
pub(crate) fn formulas(record: &RunRecord) -> Vec<(&str, &str)> {
    let mut formulas: Vec<(&str, &str)> = Vec::new();
    for figure in record.results.iter().flat_map(|result| &result.figures) {
        if !formulas.iter().any(|(name, _)| *name == figure.name) {
            formulas.push((&figure.name, &figure.formula));
        }
    }
    formulas
}

fn layer_figure(result: &ResultRecord, name: &str) -> String {
    let found = result.figures.iter().find(|figure| figure.name == name);
    found.map_or_else(|| ABSENT.into(), |figure| with_unit(figure.value, &figure.unit))
}

/// Failures, a row a result and a column a kind; `None` without any.
pub(crate) fn failures(record: &RunRecord) -> Option<Table> {
    counted(record, |result| result.failures.iter().map(|(kind, n)| (kind.as_str(), *n)).collect())
}

/// Status codes, a row a result and a column a code; `None` where the protocol has none.
pub(crate) fn codes(record: &RunRecord) -> Option<Table> {
    counted(record, |result| result.codes.iter().map(|(code, n)| (code.as_str(), *n)).collect())
}

fn counted(
    record: &RunRecord,
    counts: impl Fn(&ResultRecord) -> Vec<(&str, u64)>,
) -> Option<Table> {
    let points = Points::of(record);
    let kinds: BTreeSet<&str> = points
        .results
        .iter()
        .flat_map(|result| counts(result))
        .filter(|(_, n)| *n > 0)
        .map(|(kind, _)| kind)
        .collect();
    if kinds.is_empty() {
        return None;
    }
    let mut table = Table::new(points.columns());
    table.columns.extend(kinds.iter().map(|kind| Column::figure(*kind)));
    for result in &points.results {
        let found = counts(result);
        let mut row = points.cells(result);
        row.extend(kinds.iter().map(|kind| {
            grouped(found.iter().find(|(name, _)| name == kind).map_or(0, |(_, n)| *n))
        }));
        table.push(row);
    }
    Some(table)
}

/// Content lengths in bytes; `None` where there were none.
pub(crate) fn lengths(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let mut table = Table::new(points.columns());
    table.columns.extend(["shortest", "median", "longest"].map(Column::figure));
    for result in &points.results {
        if let Some(length) = result.length {
            let mut row = points.cells(result);
            row.extend([length.min, length.p50, length.max].map(|n| format!("{} B", grouped(n))));
            table.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// How busy the load generator was, a row a result.
pub(crate) fn driver(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let lagged = points.results.iter().any(|result| result.driver.lag_ns.is_some());
    let named = points.results.iter().any(|result| result.driver.name.is_some());
    let mut columns = points.columns();
    if named {
        columns.push(Column::words("driver"));
    }
    columns.push(Column::words("waits by"));
    columns.push(Column::figure("threads"));
    columns.push(Column::figure("passes"));
    columns.push(Column::figure("idle passes"));
    if lagged {
        columns.extend(["lag p50", "lag p99", "lag max"].map(Column::figure));
    }
    columns.push(Column::figure("quiet closes"));
    let mut table = Table::new(columns);
    for result in &points.results {
        let driver = &result.driver;
        let mut row = points.cells(result);
        if named {
            row.push(driver.name.clone().unwrap_or_else(|| "plumb's own".into()));
        }
        row.push(waits(driver));
        row.push(grouped(driver.threads));
        row.push(grouped(driver.passes));
        row.push(share(driver.idle_passes, driver.passes));
        if lagged {
            const PICKS: [Pick; 3] = [|t| t.p50, |t| t.p99, |t| t.max];
            row.extend(PICKS.map(|pick| time_of(driver.lag_ns.as_ref(), pick)));
        }
        row.push(grouped(driver.quiet_closes));
        table.push(row);
    }
    table
}

/// How a load waited, and what was done about the tick meanwhile.
pub(crate) fn waits(driver: &DriverFacts) -> String {
    match driver.tick {
        Some(ticks) => format!("{}, {ticks}", driver.wait),
        None => driver.wait.clone(),
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::{Tick, Ticks};

    use super::*;

    #[test]
    fn the_tick_stands_beside_the_way_of_waiting() {
        let mut driver = DriverFacts { wait: "blocking receive".into(), ..DriverFacts::default() };
        assert_eq!(waits(&driver), "blocking receive");
        driver.tick = Some(Ticks { client: Tick::Free, server: Some(Tick::Held) });
        assert_eq!(waits(&driver), "blocking receive, tick held by the server");
        driver.server_told(None);
        assert_eq!(waits(&driver), "blocking receive, tick free here, server's unknown");
    }
}
