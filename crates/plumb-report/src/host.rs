//! What the machine did meanwhile, for people.

use plumb_measure::{
    CpuSplit, CpuUse, HostUse, LinkUse, ReceiveUse, ResultRecord, RunRecord, show_ns,
};

use crate::figures::{ABSENT, grouped};
use crate::points::Points;
use crate::table::{Column, Table};
use crate::trust::Trust;

/// A shorter load may be over before the processes at its other end are looked for, nanoseconds.
const SOUGHT_NS: u64 = 250_000_000;

/// The machine that drove the load over all results, in one line; empty when it was not watched.
pub(crate) fn summary(record: &RunRecord) -> String {
    let uses: Vec<&HostUse> =
        record.results.iter().filter_map(|result| result.host.as_ref()).collect();
    let mut words = Vec::new();
    words.extend(busy(&uses));
    match most(&uses, |host| host.foreign_pct) {
        Some(foreign) => words.push(format!("others took {foreign:.1} %")),
        None if !uses.is_empty() => {
            words.push("what others took is not known".into());
        }
        None => {}
    }
    words.extend(rest(&uses));
    over_all(record, &words)
}

/// The far machine over all results, in one line; empty when there is none.
pub(crate) fn far_summary(record: &RunRecord) -> String {
    let Some(far) = &record.far else {
        return String::new();
    };
    let uses: Vec<&HostUse> =
        record.results.iter().filter_map(|result| result.far.as_ref()).collect();
    let words: Vec<String> = busy(&uses).into_iter().chain(rest(&uses)).collect();
    if words.is_empty() {
        return format!("{}: no samples", far.name);
    }
    let part = far_part(&record.results).map_or_else(String::new, |part| format!(" ({part})"));
    format!("{}: {}{part}", far.name, over_all(record, &words))
}

/// How much of the time of `results` the samples of the far machine cover, where that is less than nine
/// tenths.
fn far_part<'a>(results: impl IntoIterator<Item = &'a ResultRecord>) -> Option<String> {
    let (mut covered_ns, mut duration_ns) = (0u64, 0u64);
    for result in results {
        let far_ns = result.far.as_ref().map_or(0, |far| far.covered_ns);
        covered_ns = covered_ns.saturating_add(far_ns);
        duration_ns = duration_ns.saturating_add(result.duration_ns);
    }
    let lacks = covered_ns < duration_ns / 10 * 9;
    lacks.then(|| format!("samples of {} of {}", show_ns(covered_ns), show_ns(duration_ns)))
}

fn most(uses: &[&HostUse], of: fn(&HostUse) -> Option<f64>) -> Option<f64> {
    uses.iter().filter_map(|host| of(host)).reduce(f64::max)
}

fn busy(uses: &[&HostUse]) -> Option<String> {
    most(uses, |host| host.busy_pct).map(|busy| format!("{busy:.0} % of all processors busy"))
}

/// What the hypervisor took, the fullest link where it is worth a word, and who received.
fn rest(uses: &[&HostUse]) -> Vec<String> {
    let steal = most(uses, |host| host.steal_pct).filter(|steal| *steal > 0.0);
    let steal = steal.map(|steal| format!("the hypervisor took {steal:.1} %"));
    let receive = uses.iter().filter_map(|host| host.receive.as_ref());
    let by_share = |a: &&ReceiveUse, b: &&ReceiveUse| a.effective_cpus.total_cmp(&b.effective_cpus);
    let link = uses.iter().filter_map(|host| host.link.as_ref()).filter(|link| link.is_notable());
    let link = link.max_by(|a, b| a.used_pct.total_cmp(&b.used_pct)).map(ToString::to_string);
    steal.into_iter().chain(link).chain(receive.min_by(by_share).map(spread)).collect()
}

/// The words about all results, of which there may be many.
fn over_all(record: &RunRecord, words: &[String]) -> String {
    let many = record.results.len() > 1 && !words.is_empty();
    format!("{}{}", if many { "at most " } else { "" }, words.join(", "))
}

fn spread(receive: &ReceiveUse) -> String {
    let ReceiveUse { effective_cpus, cpus, hottest_cpu, .. } = receive;
    format!(
        "receive work is handled by {effective_cpus:.1} of {cpus} CPUs, most of it by CPU \
         {hottest_cpu}"
    )
}

/// Processor time an operation of both sides, split as far as it is known, of a load of `duration_ns`
/// nanoseconds.
pub(crate) fn cpu(cpu: CpuUse, host: Option<&HostUse>, duration_ns: u64) -> String {
    // the client's own figure is that of its driving threads, its parts are those of the process
    let side = |ns: u64, split: Option<CpuSplit>, name: &str| {
        let split = split.map_or_else(String::new, |it| {
            let (user, system) = (show_ns(it.user_ns_per_op), show_ns(it.system_ns_per_op));
            let whose = if name == "client" { "its process: " } else { "" };
            format!(" ({whose}user {user}, system {system})")
        });
        format!("{} {name}{split}", show_ns(ns))
    };
    let mut words = vec![side(cpu.client_ns_per_op, cpu.client, "client")];
    match (cpu.server_ns_per_op, host) {
        (Some(ns), _) => words.push(side(ns, cpu.server, "server")),
        (None, Some(host)) if host.tested.is_empty() && duration_ns < SOUGHT_NS => {
            words.push(format!(
                "server not measured (no process of it was found on this machine: a load of {} may be over \
                 before it is looked for)",
                show_ns(duration_ns)
            ));
        }
        (None, Some(host)) if host.tested.is_empty() => {
            words.push("server not measured (no process of it was found on this machine)".into());
        }
        (None, Some(_)) => {
            words.push(
                "server not measured (less than 250 ms of processor time was seen of those of its processes \
                 that were found at the start)"
                    .into(),
            );
        }
        (None, None) => {}
    }
    words.extend(cpu.interrupt_ns_per_op.map(|ns| format!("{} interrupts", show_ns(ns))));
    format!("an operation: {}", words.join(", "))
}

/// What the machines did, a row a result and machine; `None` when none was watched.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let points = Points::of(record);
    let watched = record.results.iter().any(|result| result.host.is_some() || result.far.is_some());
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
    let mut columns = points.columns();
    columns.extend(record.far.as_ref().map(|_| Column::words("machine")));
    columns.extend(titles.map(Column::figure));
    let machines = record.results.iter().flat_map(|it| [it.host.as_ref(), it.far.as_ref()]);
    let notable = |link: &LinkUse| link.is_notable();
    let links = machines.flatten().any(|host| host.link.as_ref().is_some_and(notable));
    columns.extend(links.then(|| Column::words("fullest link")));
    let mut table = Table::new(columns);
    for result in &points.results {
        let mut push = |machine: Option<&str>, host: Option<&HostUse>| {
            let mut row = points.cells(result);
            row.extend(machine.map(str::to_owned));
            row.extend(cells(host));
            row.extend(links.then(|| link(host)));
            table.push_trusted(row, Trust::of(&result.validity));
        };
        match &record.far {
            None => push(None, result.host.as_ref()),
            Some(far) => {
                push(Some(&record.host.name), result.host.as_ref());
                let part = result.far.as_ref().and_then(|_| far_part([*result]));
                let part = part.map_or_else(String::new, |part| format!(", {part}"));
                push(Some(&format!("{} (far host{part})", far.name)), result.far.as_ref());
            }
        }
    }
    watched.then_some(table)
}

fn link(host: Option<&HostUse>) -> String {
    let link = host.and_then(|host| host.link.as_ref());
    link.map_or_else(|| ABSENT.into(), ToString::to_string)
}

fn cells(host: Option<&HostUse>) -> [String; 9] {
    let percent = |of: fn(&HostUse) -> Option<f64>| {
        host.and_then(of).map_or_else(|| ABSENT.into(), |share| format!("{share:.1} %"))
    };
    let count =
        |of: fn(&HostUse) -> Option<u64>| host.and_then(of).map_or_else(|| ABSENT.into(), grouped);
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
