//! Several clients at one server: a row each, and their sum.

use plumb_measure::{ClientFigures, NipingFigures, ResultRecord, RunRecord, show_count, show_ns};

use crate::figures::{ABSENT, grouped, milliseconds, total, with_unit};
use crate::points::Points;
use crate::table::{Column, Kind, Table};
use crate::tables::{label_cells, label_columns};
use crate::verdict::{Noun, Trust};

/// One row a client of every result; `None` when each had only one.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let any = |of: fn(&ClientFigures) -> bool| {
        points.results.iter().flat_map(|result| &result.clients).any(of)
    };
    let niping = any(|client| client.niping.is_some());
    let counted = any(|client| client.messages_at_server.is_some());
    let mut columns = label_columns(&points);
    columns.push(Column::words("client"));
    columns.push(Column::figure("count").giving_way(2));
    columns.push(Column::figure("failed").giving_way(4));
    columns.push(Column::new(Kind::Rate, Noun::of(record).rate));
    columns.extend(["p50", "p99"].map(Column::latency));
    if niping {
        columns.push(Column::latency("avg").giving_way(3));
        columns.extend(["av2", "tr2"].map(Column::latency));
    }
    if counted {
        columns.push(Column::figure("at server"));
    }
    let mut table = Table::new(columns);
    for result in points.results.iter().filter(|result| !result.clients.is_empty()) {
        let trust = Trust::of(&result.validity);
        for client in &result.clients {
            let mut cells = label_cells(&points, result);
            cells.extend(of_one(client));
            cells.extend(niping.then(|| of_niping(client.niping.as_ref())).into_iter().flatten());
            cells.extend(counted.then(|| counts(client)));
            table.push_trusted(cells, trust);
        }
        let mut cells = label_cells(&points, result);
        cells.extend(of_all(result));
        cells.extend(niping.then(|| niping_of_all(result)).into_iter().flatten());
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
        show_count(result.throughput_per_s),
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

/// Times as of one client; what all transferred is the sum of what each did.
fn niping_of_all(result: &ResultRecord) -> [String; 3] {
    let [avg, av2, _] = of_niping(result.niping.as_ref());
    let each = result.clients.iter().map(|client| client.niping.as_ref()?.tr2_kb_s);
    [avg, av2, rate(each.sum())]
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

/// What `at server` means; `None` where no server told.
pub(crate) fn note(record: &RunRecord) -> Option<String> {
    let clients = record.results.iter().flat_map(|result| &result.clients);
    clients.into_iter().any(|client| client.messages_at_server.is_some()).then(|| {
        "At server: what the server counted of all messages sent, the first of a connection and \
         the warm-up included."
            .into()
    })
}

/// What the server counted of the messages that were sent.
fn of_sent(counted: Option<u64>, sent: u64) -> String {
    match counted {
        None => ABSENT.into(),
        Some(n) if n == sent => "all".into(),
        Some(n) => format!("{} of {}", grouped(n), grouped(sent)),
    }
}
