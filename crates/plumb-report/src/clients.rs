//! Several clients at one server: a row each, and what all did at the same time.

use plumb_measure::{ClientFigures, NipingFigures, ResultRecord, RunRecord, show_count, show_ns};

use crate::figures::{ABSENT, grouped, milliseconds, total, with_unit};
use crate::noun::Noun;
use crate::points::Points;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

/// One row a client of every result; `None` when each had only one.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let any = |of: fn(&ClientFigures) -> bool| {
        points.results.iter().flat_map(|result| &result.clients).any(of)
    };
    let niping = any(|client| client.niping.is_some());
    let carried = any(|client| client.carried_kb_s.is_some());
    let counted = any(|client| client.messages_at_server.is_some());
    let mut columns = points.columns();
    columns.push(Column::words("client"));
    columns.push(Column::figure("count").giving_way(3));
    columns.push(Column::figure("failed").giving_way(5));
    columns.push(Column::new(ColumnKind::Rate, Noun::of(record).rate));
    columns.extend(["p50", "p99"].map(Column::latency));
    if niping {
        columns.push(Column::latency("avg").giving_way(4));
        columns.push(Column::latency("av2"));
        columns.push(Column::latency("tr2").giving_way(2)); // av2 says the same
    }
    if carried {
        columns.push(Column::latency("carried"));
    }
    if counted {
        columns.push(Column::figure("at server").giving_way(1));
    }
    let mut table = Table::new(columns);
    for result in points.results.iter().filter(|result| !result.clients.is_empty()) {
        let trust = Trust::of(&result.validity);
        for client in &result.clients {
            let mut cells = points.cells(result);
            cells.extend(of_one(client));
            cells.extend(niping.then(|| of_niping(client.niping.as_ref())).into_iter().flatten());
            cells.extend(carried.then(|| rate(client.carried_kb_s)));
            cells.extend(counted.then(|| counts(client)));
            table.push_trusted(cells, trust);
        }
        let mut cells = points.cells(result);
        cells.extend(of_all(result));
        // a transfer rate of niping is made of the times of one client
        cells.extend(niping.then(|| of_niping(None)).into_iter().flatten());
        cells.extend(carried.then(|| rate(result.overlap.and_then(|it| it.carried_kb_s))));
        cells.extend(counted.then(|| counts_of_all(result)));
        table.push_trusted(cells, trust);
    }
    points.results.iter().any(|result| !result.clients.is_empty()).then_some(table)
}

fn of_one(client: &ClientFigures) -> [String; 6] {
    let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
    [
        client.client.to_string(),
        grouped(client.operations),
        grouped(client.failures),
        show_count(client.throughput_per_s),
        time(client.p50),
        time(client.p99),
    ]
}

fn of_all(result: &ResultRecord) -> [String; 6] {
    let times = result.response_ns.as_ref();
    let time = |ns: Option<u64>| ns.map_or_else(|| ABSENT.into(), show_ns);
    [
        "all".into(),
        grouped(result.operations),
        grouped(total(result.failures.values().copied())),
        result.overlap.map_or_else(|| ABSENT.into(), |it| show_count(it.throughput_per_s)),
        time(times.map(|times| times.p50)),
        time(times.map(|times| times.p99)),
    ]
}

fn of_niping(figures: Option<&NipingFigures>) -> [String; 3] {
    let time = |ms: Option<f64>| ms.map_or_else(|| ABSENT.into(), milliseconds);
    [
        time(figures.map(|it| it.avg_ms)),
        time(figures.and_then(|it| it.av2_ms)),
        rate(figures.and_then(|it| it.tr2_kb_s)),
    ]
}

fn rate(kb_s: Option<f64>) -> String {
    kb_s.map_or_else(|| ABSENT.into(), |rate| with_unit(rate, "kB/s"))
}

fn counts(client: &ClientFigures) -> String {
    of_sent(client.messages_at_server, client.messages_sent)
}

fn counts_of_all(result: &ResultRecord) -> String {
    let sent = total(result.clients.iter().map(|client| client.messages_sent));
    of_sent(result.clients.iter().map(|client| client.messages_at_server).sum(), sent)
}

/// What the columns and the last row mean; none without several clients.
pub(crate) fn notes(record: &RunRecord) -> Vec<String> {
    let all = || record.results.iter().filter(|result| !result.clients.is_empty());
    let any = |of: fn(&ClientFigures) -> bool| all().flat_map(|result| &result.clients).any(of);
    let carried = any(|client| client.carried_kb_s.is_some()).then(|| {
        "Carried: the payload of both directions, 2 * size * messages / time / 1024, each client \
         over its own time."
            .into()
    });
    let counted = any(|client| client.messages_at_server.is_some()).then(|| {
        "At server: what the server counted of all messages sent, the first of a connection and \
         the warm-up included."
            .into()
    });
    let together = all().any(|result| result.overlap.is_some()).then(|| together(record));
    let apart = all().any(|result| result.overlap.is_none()).then(|| {
        "No sum of the rates: over no whole interval (--interval) did all clients run at the same \
         time. Run longer, or take a shorter interval."
            .into()
    });
    [carried, together, apart, counted].into_iter().flatten().collect()
}

/// Over which time the rates of all are.
fn together(record: &RunRecord) -> String {
    let spans = record.results.iter().filter_map(|result| result.overlap);
    let spans: Vec<String> = spans.map(|overlap| show_ns(overlap.span_ns)).collect();
    format!(
        "All clients: the rates are those of the {} in which all of them ran; count and times are \
         of every message.",
        spans.join(", ")
    )
}

/// What the server counted of the messages that were sent.
fn of_sent(counted: Option<u64>, sent: u64) -> String {
    match counted {
        None => ABSENT.into(),
        Some(n) if n == sent => "all".into(),
        Some(n) => format!("{} of {}", grouped(n), grouped(sent)),
    }
}
