//! Scenarios: what was demanded, what became of the users, and how it scales with their number.

use plumb_measure::{Distribution, ResultRecord, RunRecord, ScenarioFigures, show_count, show_ns};
use plumb_page::threshold;

use crate::figures::{ABSENT, failures_of, grouped, real, time_of, with_unit};
use crate::noun::Noun;
use crate::points::Points;
use crate::section::Section;
use crate::table::{Column, ColumnKind, Table};
use crate::trust::Trust;

/// The title of what a scenario demands.
pub(crate) const THRESHOLDS: &str = "Thresholds";

/// True for a load of scenarios.
pub(crate) fn are_in(record: &RunRecord) -> bool {
    record.plan.layer == "http" && record.plan.verb == "load"
}

/// Every table of scenarios beside those of their steps.
pub(crate) fn sections(record: &RunRecord) -> Vec<Section> {
    vec![
        Section {
            title: THRESHOLDS,
            about: "What the scenario demands, and what was found. What cannot be judged is missed.",
            table: thresholds(record),
        },
        Section {
            title: "How it scales",
            about: "Total time counts from the beginning of the recorded part to the last answer; \
                    the times are response times of all steps together.",
            table: totals(record),
        },
        Section {
            title: "Users",
            about: "Scripts that were done, those that a failure broke off, and users that ended \
                    of themselves; the warm-up is counted in. Dropped scripts were due in the \
                    recorded part and could not begin in time. Start-up is the time from the \
                    planned beginning of a user until its connection stood.",
            table: users(record),
        },
    ]
}

fn thresholds(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let mut columns = points.columns();
    columns.push(Column::words("threshold"));
    columns.push(Column::figure("found"));
    columns.push(Column::words("verdict"));
    let mut table = Table::new(columns);
    for result in &points.results {
        for threshold in &result.thresholds {
            let mut row = points.cells(result);
            row.push(threshold.text.clone());
            row.push(threshold::found(threshold));
            row.push(if threshold.met { "met" } else { "missed" }.into());
            table.push_main(row, !threshold.met);
        }
    }
    table
}

fn totals(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let mut columns = points.columns();
    if columns.is_empty() {
        return Table::new(columns); // a single point scales with nothing
    }
    columns.extend([
        Column::figure("total time"),
        Column::figure("requests"),
        Column::figure("failed"),
        Column::new(ColumnKind::Rate, Noun::of(record).rate),
        Column::figure("received").giving_way(1),
    ]);
    columns.extend(["p50", "p95"].map(Column::latency));
    columns.push(Column::latency("p99").giving_way(2));
    let mut table = Table::new(columns);
    for result in &points.results {
        let mut row = points.cells(result);
        row.extend([
            show_ns(result.duration_ns),
            grouped(result.operations),
            grouped(failures_of(result)),
            show_count(result.throughput_per_s),
            with_unit(real(result.bytes_received), "B"),
        ]);
        let picks: [fn(&Distribution) -> u64; 3] = [|t| t.p50, |t| t.p95, |t| t.p99];
        row.extend(picks.map(|pick| time_of(result.response_ns.as_ref(), pick)));
        table.push_trusted(row, Trust::of(&result.validity));
    }
    table
}

fn users(record: &RunRecord) -> Table {
    let points = Points::of(record);
    let any = |of: fn(&ResultRecord) -> bool| points.results.iter().any(|result| of(result));
    let broken = any(|result| result.scenarios.iter().any(|it| it.broken > 0));
    let empty = any(|result| result.scenarios.iter().any(|it| it.empty > 0));
    let dropped = any(|result| result.scenarios.iter().any(|it| it.dropped > 0));
    let ended = any(|result| result.scenarios.iter().any(|it| !it.ended.is_empty()));
    let mut columns = points.columns();
    columns.extend([
        Column::words("scenario"),
        Column::words("load").giving_way(2),
        Column::figure("at most"),
        Column::figure("begun"),
        Column::figure("scripts"),
    ]);
    if broken {
        columns.push(Column::figure("broken off"));
    }
    if dropped {
        columns.push(Column::figure("dropped"));
    }
    if empty {
        columns.push(Column::figure("empty").giving_way(1));
    }
    columns
        .extend(["start-up p50", "start-up max"].map(|title| Column::latency(title).giving_way(3)));
    if ended {
        columns.push(Column::words("ended"));
    }
    let mut table = Table::new(columns);
    for result in &points.results {
        for scenario in &result.scenarios {
            let mut row = points.cells(result);
            row.extend([scenario.name.clone(), scenario.load.clone()]);
            row.extend([scenario.users, scenario.begun, scenario.scripts].map(grouped));
            if broken {
                row.push(grouped(scenario.broken));
            }
            if dropped {
                row.push(grouped(scenario.dropped));
            }
            if empty {
                row.push(grouped(scenario.empty));
            }
            let picks: [fn(&Distribution) -> u64; 2] = [|t| t.p50, |t| t.max];
            row.extend(picks.map(|pick| time_of(start_up(result, scenario), pick)));
            if ended {
                let said: Vec<String> = scenario
                    .ended
                    .iter()
                    .map(|(why, users)| format!("{why}: {}", grouped(*users)))
                    .collect();
                row.push(if said.is_empty() { ABSENT.into() } else { said.join(", ") });
            }
            table.push(row);
        }
    }
    table
}

/// The start-up of the users of a scenario. Of a scenario that is alone it is that of the load,
/// which is all that older records have.
fn start_up<'a>(
    result: &'a ResultRecord,
    scenario: &'a ScenarioFigures,
) -> Option<&'a Distribution> {
    let of_all = result.driver.start_up_ns.as_ref().filter(|_| result.scenarios.len() == 1);
    scenario.start_up_ns.as_ref().or(of_all)
}
