//! What the machine did meanwhile, for people.

use plumb_measure::{CpuSplit, CpuUse, HostUse, ReceiveUse, ResultRecord, RunRecord, show_ns};

use crate::figures::{ABSENT, grouped};
use crate::points::Points;
use crate::table::{Column, Table};
use crate::tables::{label_cells, label_columns};
use crate::verdict::Trust;

/// The machine over all results, in one line; empty when it was not watched.
pub(crate) fn summary(record: &RunRecord) -> String {
    let uses = || record.results.iter().filter_map(|result| result.host.as_ref());
    let most = |of: fn(&HostUse) -> Option<f64>| uses().filter_map(of).reduce(f64::max);
    let mut words = Vec::new();
    if let Some(busy) = most(|host| host.busy_pct) {
        words.push(format!("{busy:.0} % of all processors busy"));
    }
    match most(|host| host.foreign_pct) {
        Some(foreign) => words.push(format!("others took {foreign:.1} %")),
        None if uses().next().is_some() => {
            words.push("too short to say what others took".into());
        }
        None => {}
    }
    if let Some(steal) = most(|host| host.steal_pct).filter(|steal| *steal > 0.0) {
        words.push(format!("the hypervisor took {steal:.1} %"));
    }
    let receive = uses().filter_map(|host| host.receive.as_ref());
    let by_share = |a: &&ReceiveUse, b: &&ReceiveUse| a.effective_cpus.total_cmp(&b.effective_cpus);
    if let Some(receive) = receive.min_by(by_share) {
        words.push(spread(receive));
    }
    if record.results.len() > 1 && !words.is_empty() {
        words.insert(0, "at most".into());
        return words.join(", ").replacen("at most, ", "at most ", 1);
    }
    words.join(", ")
}

fn spread(receive: &ReceiveUse) -> String {
    let ReceiveUse { effective_cpus, cpus, hottest_cpu, .. } = receive;
    format!(
        "receive work is handled by {effective_cpus:.1} of {cpus} CPUs, most of it by CPU \
         {hottest_cpu}"
    )
}

/// Processor time an operation of both sides, split as far as it is known.
pub(crate) fn cpu(cpu: CpuUse, host: Option<&HostUse>) -> String {
    let side = |ns: u64, split: Option<CpuSplit>, name: &str| {
        let split = split.map_or_else(String::new, |it| {
            let (user, system) = (show_ns(it.user_ns_per_op), show_ns(it.system_ns_per_op));
            format!(" (user {user}, system {system})")
        });
        format!("{} {name}{split}", show_ns(ns))
    };
    let mut words = vec![side(cpu.client_ns_per_op, cpu.client, "client")];
    match (cpu.server_ns_per_op, host) {
        (Some(ns), _) => words.push(side(ns, cpu.server, "server")),
        (None, Some(host)) if host.tested.is_empty() => {
            words.push("server not measured (not a process of this machine)".into());
        }
        (None, Some(_)) => words.push("server not measured (fewer than 200 clock ticks)".into()),
        (None, None) => {}
    }
    words.extend(cpu.interrupt_ns_per_op.map(|ns| format!("{} interrupts", show_ns(ns))));
    format!("an operation: {}", words.join(", "))
}

/// What the machine did, a row a result; `None` when it was not watched.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let watched = record.results.iter().any(|result| result.host.is_some());
    let titles = [
        "busy",
        "busiest",
        "others",
        "steal",
        "interrupts",
        "disk wait",
        "swapped",
        "sent again",
        "receiving CPUs",
    ];
    let mut columns = label_columns(&points);
    columns.extend(titles.map(Column::figure));
    let mut table = Table::new(columns);
    for result in &points.results {
        let mut row = label_cells(&points, result);
        row.extend(cells(result));
        table.push_trusted(row, Trust::of(&result.validity));
    }
    watched.then_some(table)
}

fn cells(result: &ResultRecord) -> [String; 9] {
    let host = result.host.as_ref();
    let percent = |of: fn(&HostUse) -> Option<f64>| {
        host.and_then(of).map_or_else(|| ABSENT.into(), |share| format!("{share:.1} %"))
    };
    let count = |of: fn(&HostUse) -> u64| host.map_or_else(|| ABSENT.into(), |it| grouped(of(it)));
    let receive = host.and_then(|it| it.receive.as_ref());
    [
        percent(|it| it.busy_pct),
        percent(|it| it.busy_max_pct),
        percent(|it| it.foreign_pct),
        percent(|it| it.steal_pct),
        percent(|it| it.interrupt_pct),
        percent(|it| it.iowait_pct),
        count(|it| it.swapped_pages),
        count(|it| it.retransmitted),
        receive
            .map_or_else(|| ABSENT.into(), |it| format!("{:.1} of {}", it.effective_cpus, it.cpus)),
    ]
}
