//! What streams have carried, for people.

use plumb_measure::{
    DatagramFlow, GapClass, OneWay, Portion, ResultRecord, RunRecord, StreamFigures, bits_per_s,
    counted, show_count, show_ns,
};

use crate::figures::{ABSENT, grouped, real, with_unit};
use crate::points::Points;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

/// Intervals that a table shows; a longer run has the rest in its record.
const INTERVALS_MAX: usize = 60;

/// True when a run measured streams.
pub(crate) fn are_in(record: &RunRecord) -> bool {
    record.results.iter().any(|result| result.stream.is_some())
}

/// One row a result.
pub(crate) fn results(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let doubted = points.results.iter().any(|result| Trust::of(&result.validity) != Trust::Full);
    let (there, back) = ways(&points);
    let mut columns = points.columns();
    columns.extend(doubted.then(|| Column::new(ColumnKind::Verdict, "verdict")));
    columns.extend(there.then(|| Column::new(ColumnKind::Rate, "to server")));
    columns.extend(back.then(|| Column::new(ColumnKind::Rate, "from server")));
    let datagrams = points.results.iter().any(|result| of_datagrams(result));
    columns.push(Column::figure("received").giving_way(4));
    if datagrams {
        columns.push(Column::figure("lost"));
        columns.push(Column::figure("reordered"));
        columns.push(Column::figure("twice"));
        columns.push(Column::figure("jitter"));
        columns.push(Column::figure("lost in a row").giving_way(5));
    } else {
        columns.push(Column::figure("sent again").giving_way(2));
    }
    columns.push(Column::figure("client CPU/GB").giving_way(1));
    columns.push(Column::figure("server CPU/GB").giving_way(1));
    columns.push(Column::figure("lasted").giving_way(3));
    let mut table = Table::new(columns);
    for result in &points.results {
        let trust = Trust::of(&result.validity);
        let none = StreamFigures::default();
        let stream = result.stream.as_ref().unwrap_or(&none);
        let mut cells = points.cells(result);
        cells.extend(doubted.then(|| trust.short().to_owned()));
        cells.extend(there.then(|| rate(stream.to_server.as_ref())));
        cells.extend(back.then(|| rate(stream.from_server.as_ref())));
        let known = |text: String| if stream.span_ns() > 0 { text } else { ABSENT.into() };
        cells.push(known(with_unit(real(stream.received_bytes()), "B")));
        if datagrams {
            cells.extend(FLOW_CELLS.map(|of| of_flows(stream, of)));
        } else {
            cells.push(again(stream));
        }
        cells.push(cost(stream.client_cpu_ns, stream));
        cells.push(cost(stream.server_cpu_ns, stream));
        cells.push(known(show_ns(stream.span_ns())));
        table.push_trusted(cells, trust);
    }
    table
}

/// What is said of the datagrams of a direction: lost, reordered, twice, jitter, lost in a row.
const FLOW_CELLS: [fn(&DatagramFlow) -> String; 5] = [
    |flow| format!("{} ({:.2} %)", grouped(flow.lost), flow.loss() * 100.0),
    |flow| grouped(flow.reordered),
    |flow| grouped(flow.duplicates),
    DatagramFlow::jitter,
    |flow| {
        let of_class = |class: &GapClass| {
            let from = class.from;
            let length = match class.to {
                Some(to) if to == from => format!("{from}"),
                Some(to) => format!("{from}-{to}"),
                None => format!("{from}+"),
            };
            format!("{length}: {}x", grouped(class.runs))
        };
        let classes: Vec<String> = flow.gaps.iter().map(of_class).collect();
        if classes.is_empty() { ABSENT.into() } else { classes.join(", ") }
    },
];

/// Loss, jitter and the longest gap, as the tiles of a page say them; nothing of connections.
pub(crate) fn flow_tiles(
    stream: &StreamFigures,
) -> Option<[(&'static str, String, &'static str); 3]> {
    flows(stream).next()?;
    let [lost, _, _, jitter, _] = FLOW_CELLS;
    Some([
        ("lost", of_flows(stream, lost), "datagrams, as the receiver counted"),
        ("jitter", of_flows(stream, jitter), "RFC 3550, at the end"),
        ("lost in a row", of_flows(stream, |flow| grouped(flow.gap_max)), "at most"),
    ])
}

fn flows(stream: &StreamFigures) -> impl Iterator<Item = &DatagramFlow> {
    let ways = stream.to_server.iter().chain(&stream.from_server);
    ways.filter_map(|way| way.datagrams.as_ref())
}

/// True when they carried datagrams.
pub(crate) fn of_datagrams(result: &ResultRecord) -> bool {
    result.stream.iter().any(|stream| flows(stream).next().is_some())
}

/// Of each direction, to the server first.
fn of_flows(stream: &StreamFigures, of: fn(&DatagramFlow) -> String) -> String {
    let said: Vec<String> = flows(stream).map(of).collect();
    if said.is_empty() { ABSENT.into() } else { said.join(" / ") }
}

/// What was received when, a row an interval, and how many more there are; `None` without any.
pub(crate) fn intervals(record: &RunRecord) -> Option<(Table, String)> {
    let points = Points::of(record);
    let (there, back) = ways(&points);
    let mut columns = points.columns();
    columns.push(Column::figure("from"));
    columns.extend(there.then(|| Column::new(ColumnKind::Rate, "to server")));
    columns.extend(back.then(|| Column::new(ColumnKind::Rate, "from server")));
    let mut table = Table::new(columns);
    let rows = points.results.iter().flat_map(|result| {
        let stream = result.stream.iter();
        stream.flat_map(|stream| &stream.intervals).map(move |interval| (result, interval))
    });
    let all = rows.clone().count();
    for (result, interval) in rows.take(INTERVALS_MAX) {
        let mut cells = points.cells(result);
        cells.push(show_ns(interval.start_ns));
        cells.extend(there.then(|| portion(interval.to_server)));
        cells.extend(back.then(|| portion(interval.from_server)));
        table.push_trusted(cells, Trust::of(&result.validity));
    }
    let more = match all.saturating_sub(INTERVALS_MAX) {
        0 => String::new(),
        more => format!("and {} in the record", counted(more as u64, "more interval")),
    };
    (all > 0).then_some((table, more))
}

/// What the run says in a sentence.
pub(crate) fn sentence(record: &RunRecord) -> Option<String> {
    let points = Points::of(record);
    let said = |result: &ResultRecord| {
        let stream = result.stream.as_ref()?;
        let ways = [("to", &stream.to_server), ("from", &stream.from_server)];
        let words: Vec<String> = ways
            .iter()
            .filter(|(_, way)| way.is_some())
            .map(|(word, way)| format!("{} {word} the server", rate(way.as_ref())))
            .collect();
        let streams = counted(stream.streams, "stream");
        Some(format!("{streams} carried {}", words.join(" and ")))
    };
    let list: Vec<String> = points.results.iter().filter_map(|result| said(result)).collect();
    (!list.is_empty()).then(|| format!("{}.", list.join("; ")))
}

/// Which directions any result has.
fn ways(points: &Points<'_>) -> (bool, bool) {
    let any = |of: fn(&StreamFigures) -> bool| {
        points.results.iter().filter_map(|result| result.stream.as_ref()).any(of)
    };
    (any(|stream| stream.to_server.is_some()), any(|stream| stream.from_server.is_some()))
}

/// The rate of a direction; absent where nobody knows for how long anything came.
pub(crate) fn rate(way: Option<&OneWay>) -> String {
    let known = way.filter(|way| way.span_ns > 0);
    known.map_or_else(|| ABSENT.into(), |way| with_unit(way.bits_per_s, "bit/s"))
}

fn portion(portion: Option<Portion>) -> String {
    portion.map_or_else(
        || ABSENT.into(),
        |it| {
            let rate = with_unit(bits_per_s(it.bytes, it.duration_ns), "bit/s");
            match it.lost.filter(|lost| *lost != 0) {
                Some(lost) => format!("{rate}, {lost} lost"),
                None => rate,
            }
        },
    )
}

/// Segments that were sent again, of both directions.
pub(crate) fn again(stream: &StreamFigures) -> String {
    let ways = stream.to_server.iter().chain(&stream.from_server);
    let counts: Vec<u64> = ways.filter_map(|way| way.retransmits).collect();
    if counts.is_empty() {
        ABSENT.into()
    } else {
        grouped(crate::figures::total(counts.into_iter()))
    }
}

/// Processor time for each gigabyte received.
pub(crate) fn cost(cpu_ns: u64, stream: &StreamFigures) -> String {
    match (cpu_ns, stream.received_bytes()) {
        // 0 is what the record has of a side that does not tell it
        (0, _) | (_, 0) => ABSENT.into(),
        // nanoseconds a byte are seconds a gigabyte
        (_, bytes) => format!("{} s", show_count(real(cpu_ns) / real(bytes))),
    }
}
