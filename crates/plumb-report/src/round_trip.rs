//! Round trips that the kernel's time stamps took apart: a line each, a table, and the picture.

use maud::{Markup, html};
use plumb_measure::{
    Distribution, Estimate, PartKind, ResultRecord, RoundTrip, RoundTripMeans, RunRecord,
    SlowSample, show_ns,
};

use crate::attribution::{name, spread, stack, steps};
use crate::figures::{ABSENT, Pick, typeset};
use crate::points::Points;
use crate::sheet;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// What the columns of the table are.
const ABOUT: &str = "Means add up to the round trip; medians and percentiles of parts do not. Slowest: \
    means of the slowest hundredth of the messages taken apart.";
/// The percentiles of the table.
const PICKS: [(&str, Pick); 3] =
    [("p50", |times| times.p50), ("p95", |times| times.p95), ("p99", |times| times.p99)];

/// The results whose messages were taken apart, in the order of their labels.
fn taken_apart<'a>(points: &Points<'a>) -> Vec<(&'a ResultRecord, &'a RoundTrip)> {
    let all = points.results.iter();
    all.filter_map(|result| Some((*result, result.round_trip.as_ref()?))).collect()
}

/// True when messages of any result were taken apart.
pub(crate) fn are_in(record: &RunRecord) -> bool {
    record.results.iter().any(|result| result.round_trip.is_some())
}

/// What is said of each result, the parts first.
pub(crate) fn sentences(record: &RunRecord) -> Vec<String> {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let said = |(result, trip): (&ResultRecord, &RoundTrip)| {
        let own = if several { format!("{}: ", points.name(result)) } else { String::new() };
        let means = RoundTripMeans::of(trip);
        let line = means.map(|means| format!("{own}{}", means.line()));
        let legend = means.map(|means| match means.stamp_cost() {
            Some(cost) => format!("{}. {cost}", trip.legend()),
            None => format!("{}.", trip.legend()),
        });
        let finding = means.map(|means| means.finding());
        let left_out = trip.left_out().map(|text| format!("{own}{text}."));
        let slowest = slowest(result).map(|text| format!("{own}{text}"));
        [line, legend, finding, slowest, left_out].into_iter().flatten().collect::<Vec<_>>()
    };
    taken_apart(&points).into_iter().flat_map(said).collect()
}

/// How much of the time of the slowest of all operations, stamped or not, this machine took to wake the
/// program; `None` where that is known of none.
fn slowest(result: &ResultRecord) -> Option<String> {
    let known = |slow: &SlowSample| Some((slow.waking_ns?, slow.service_ns));
    let known: Vec<(u64, u64)> = result.slowest.iter().filter_map(known).collect();
    let count = u64::try_from(known.len()).ok().filter(|count| *count > 0)?;
    let mean =
        |which: fn(&(u64, u64)) -> u64| show_ns(known.iter().map(which).sum::<u64>() / count);
    let took = mean(|known| known.1);
    let took = match count {
        1 => format!("slowest took {took}"),
        count => format!("{count} slowest took {took} on average"),
    };
    Some(format!(
        "Of all messages, the {took}, {} of it from the packet of the answer in this machine's kernel to \
         the program.",
        mean(|known| known.0)
    ))
}

/// A row for each part of each result; `None` without any.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.push(Column::words("part"));
    columns.push(Column::latency("mean"));
    columns.extend(PICKS.map(|(title, _)| Column::latency(title)));
    columns.push(Column::latency("slowest"));
    let mut table = Table::new(columns);
    for (result, trip) in taken_apart(&points).into_iter().filter(|(_, trip)| trip.count() > 0) {
        let trust = Trust::of(&result.validity);
        let mut push = |part: &str, mean: Estimate, times: Option<&Distribution>, slowest| {
            let mut row = points.cells(result);
            row.push(part.to_owned());
            row.push(spread(mean));
            let picked = |pick: Pick| times.map_or_else(|| ABSENT.into(), |it| show_ns(pick(it)));
            row.extend(PICKS.map(|(_, pick)| picked(pick)));
            row.push(Option::<Estimate>::map_or(slowest, ABSENT.into(), spread));
            table.push_trusted(row, trust);
        };
        let slowest = trip.slowest.as_ref();
        for part in &trip.account.parts {
            let of = |kind: PartKind| {
                let parts = slowest.map(|slowest| &slowest.parts)?;
                parts.iter().find(|part| part.kind == kind).map(|part| part.time)
            };
            push(name(part.kind), part.time, trip.times(Some(part.kind)), of(part.kind));
        }
        push("round trip", trip.account.client, trip.times(None), slowest.map(|it| it.client));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Everything about round trips taken apart, as Markdown; empty without any.
pub(crate) fn markdown(record: &RunRecord) -> String {
    let said = sentences(record);
    if said.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n### A round trip taken apart\n\n");
    said.iter().for_each(|line| out += &format!("- {}\n", crate::table::escaped(line)));
    if let Some(table) = table(record) {
        out += &format!("\n{}\n{ABOUT}\n", table.markdown());
    }
    out
}

/// The same for the page.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let points = Points::of(record);
    let several = points.results.len() > 1;
    let all = taken_apart(&points);
    let kinds = steps::kinds_of(all.iter().map(|(_, trip)| &trip.account));
    let title = |result| if several { points.name(result) } else { String::new() };
    html! {
        @if !all.is_empty() {
            section {
                h2 { "A round trip taken apart" }
                (stack::legend(&kinds))
                @for (result, trip) in &all {
                    @let trust = Trust::of(&result.validity);
                    (steps::picture(&title(result), &trip.account, trust))
                    @if let Some(slowest) = &trip.slowest && let Ok(split) = slowest.split() {
                        div class="stack" { (stack::bar("slowest", &split, !trust.is_full())) }
                    }
                }
                @for said in sentences(record) { p { (typeset(&said)) } }
                @if let Some(table) = table(record) {
                    p class="about" { (ABOUT) }
                    (sheet::table("The parts, one row each", &table))
                }
                @if let Some((_, trip)) = all.first() {
                    dl class="formulas" {
                        @for part in &trip.account.parts { dt { (name(part.kind)) } dd { (part.how) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_slowest_message_is_not_counted() {
        let known = SlowSample {
            at_ns: 0,
            response_ns: 3_000_000,
            service_ns: 3_000_000,
            row: 0,
            connection: 0,
            tcp: None,
            waking_ns: Some(1_000_000),
        };
        let of = |count| {
            let slowest = vec![known; count];
            self::slowest(&ResultRecord { slowest, ..ResultRecord::default() })
        };
        let one = of(1).unwrap();
        assert!(
            one.starts_with("Of all messages, the slowest took 3.00 ms, 1.00 ms of it"),
            "{one}"
        );
        let two = of(2).unwrap();
        assert!(
            two.starts_with("Of all messages, the 2 slowest took 3.00 ms on average, "),
            "{two}"
        );
        assert_eq!(of(0), None);
    }
}
