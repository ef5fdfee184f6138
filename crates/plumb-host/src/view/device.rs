//! Network and disks on the screen.

use plumb_procfs::counter;
use plumb_procfs::kernel::{DiskKind, InterfaceKind};

use super::bar;
use super::figure::{bytes, count, number, or_dash, percent};
use super::history::History;
use super::text::{Line, Style};
use crate::sample::{DiskSample, InterfaceSample, Sample};

/// Traffic of all whole disks, bytes a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DiskSum {
    pub(super) read: f64,
    pub(super) written: f64,
}

/// Disks that have a line.
pub(super) fn disks(sample: &Sample) -> usize {
    sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole).count()
}

pub(super) fn disk_sum(sample: &Sample) -> DiskSum {
    let disks = sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole);
    disks.fold(DiskSum::default(), |sum, disk| DiskSum {
        read: sum.read + disk.read_bytes_per_s,
        written: sum.written + disk.write_bytes_per_s,
    })
}

pub(super) fn section(history: &History, sample: &Sample, width: usize, room: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let wide = room >= 20; // room for charts
    let rows = room.saturating_sub(if wide { 10 } else { 3 });
    let disks: Vec<&DiskSample> = disks_by_traffic(sample);
    let disk_rows = disks.len().clamp(1, (rows / 3).max(1));
    let network_rows = rows.saturating_sub(disk_rows).max(1);
    let head_width = if wide { 0 } else { width }; // the charts say the same, and more
    lines.push(network_head(history, sample, head_width));
    lines.extend(network_rows_of(sample, network_rows));
    lines.push(tcp(history));
    if wide {
        lines.push(Line::default());
    }
    lines.push(disk_head(history, sample, head_width));
    lines.extend(disks.into_iter().take(disk_rows).map(disk_row));
    if wide {
        lines.push(Line::default());
        let left = room.saturating_sub(lines.len());
        lines.extend(charts(history, width, left));
    }
    lines.truncate(room);
    lines
}

/// A title with the columns of the rows below it, and the last minutes at the right.
fn table_head(title: &str, columns: &str, values: &[f64], width: usize) -> Line {
    let mut line = Line::titled(title);
    line.add(Style::Dim, columns);
    let room = width.saturating_sub(line.width() + 2).min(60);
    if room >= 6 {
        line.add(Style::Plain, "  ");
        let top = values.iter().copied().fold(0.0, f64::max);
        line.add(Style::System, &bar::spark(values, top, room));
    }
    line
}

fn network_head(history: &History, sample: &Sample, width: usize) -> Line {
    let all =
        |sample: &Sample| sample.traffic().received_bytes_per_s + sample.traffic().sent_bytes_per_s;
    let title = if sample.rdma.is_empty() { "NET" } else { "NET+" };
    let columns = "            in/s    out/s  pkt in pkt out use%  bad";
    table_head(title, columns, &history.series(all), width)
}

/// SMC, which is part of the rows below it, then ports and interfaces: the loopback last, else
/// those that carry most first.
fn network_rows_of(sample: &Sample, rows: usize) -> Vec<Line> {
    let ports = sample.rdma.iter().map(|port| {
        let carries =
            port.received_bytes_per_s.unwrap_or(0.0) + port.sent_bytes_per_s.unwrap_or(0.0);
        (false, carries, rdma_row(port))
    });
    let interfaces = sample.interfaces.iter().map(|each| {
        let carries = each.received_bytes_per_s + each.sent_bytes_per_s;
        (each.kind == InterfaceKind::Loopback, carries, interface_row(each))
    });
    let mut ranked: Vec<(bool, f64, Line)> = ports.chain(interfaces).collect();
    ranked.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let smc = sample.smc.as_ref().map(smc_row);
    smc.into_iter().chain(ranked.into_iter().map(|(.., line)| line)).take(rows).collect()
}

fn interface_row(interface: &InterfaceSample) -> Line {
    let used = or_dash(interface.used_pct, |pct| format!("{pct:.0}"));
    let style = Style::of_share(interface.used_pct.unwrap_or(0.0), 70.0, 90.0);
    row(
        interface.name.as_str(),
        [Some(interface.received_bytes_per_s), Some(interface.sent_bytes_per_s)],
        [Some(interface.received_packets_per_s), Some(interface.sent_packets_per_s)],
        (style, &used),
        interface.errors + interface.drops,
    )
}

fn rdma_row(port: &crate::sample::RdmaSample) -> Line {
    row(
        port.name.as_str(),
        [port.received_bytes_per_s, port.sent_bytes_per_s],
        [port.received_packets_per_s, port.sent_packets_per_s],
        (Style::Plain, "rdma"),
        port.trouble,
    )
}

fn smc_row(smc: &crate::sample::SmcSample) -> Line {
    let both = [
        Some(smc.smc_r.received_bytes_per_s + smc.smc_d.received_bytes_per_s),
        Some(smc.smc_r.sent_bytes_per_s + smc.smc_d.sent_bytes_per_s),
    ];
    let mut line = row("SMC", both, [None, None], (Style::Plain, "-"), smc.handshake_errors);
    let connections = smc.smc_r.connections + smc.smc_d.connections;
    line.add(Style::Dim, &format!("  new {connections}"));
    let groups = smc.link_groups;
    line.add(Style::Dim, &format!(" link groups {}+{}", groups.as_client, groups.as_server));
    let full = smc.smc_r.buffer_full + smc.smc_d.buffer_full;
    line.add(Style::of_trouble(full), &format!(" buffer full {full}"));
    line.add(Style::of_trouble(smc.fallbacks), &format!(" fell back {}", smc.fallbacks));
    if let Some(first) = smc.reasons.first() {
        line.add(Style::Hot, &format!(" {}", first.reason));
    }
    line
}

fn row(
    name: &str,
    bytes_per_s: [Option<f64>; 2],
    packets_per_s: [Option<f64>; 2],
    (used_style, used): (Style, &str),
    trouble: u64,
) -> Line {
    let name: String = name.chars().take(11).collect();
    let mut line = Line::of(Style::Plain, &format!("  {name:<11}"));
    for value in bytes_per_s {
        line.add(Style::Plain, &format!("{:>9}", or_dash(value, bytes)));
    }
    for value in packets_per_s {
        line.add(Style::Plain, &format!("{:>8}", or_dash(value, number)));
    }
    line.add(used_style, &format!("{used:>5}"));
    line.add(Style::of_trouble(trouble), &format!("{:>5}", count(trouble)));
    line
}

fn tcp(history: &History) -> Line {
    let mut line = Line::titled("TCP");
    let Some(tcp) = history.latest(|sample| sample.tcp) else {
        return line;
    };
    line.pair("open", Style::Plain, &count(tcp.established));
    line.pair("new/s", Style::Plain, &number(tcp.opened_per_s + tcp.accepted_per_s));
    let sent_again = count(tcp.retransmitted);
    line.pair("sent again", Style::of_share(tcp.retransmitted_pct, 0.1, 1.0), &sent_again);
    line.pair("resets", Style::Plain, &count(tcp.resets));
    let style = Style::of_trouble(tcp.listen_overflows.unwrap_or(0));
    line.pair("turned away", style, &or_dash(tcp.listen_overflows, count));
    line
}

fn disks_by_traffic(sample: &Sample) -> Vec<&DiskSample> {
    let mut disks: Vec<&DiskSample> =
        sample.disks.iter().filter(|disk| disk.kind == DiskKind::Whole).collect();
    let traffic = |disk: &DiskSample| disk.read_bytes_per_s + disk.write_bytes_per_s;
    disks.sort_by(|a, b| traffic(b).total_cmp(&traffic(a)));
    disks
}

fn disk_head(history: &History, sample: &Sample, width: usize) -> Line {
    let all = |sample: &Sample| {
        let sum = disk_sum(sample);
        sum.read + sum.written
    };
    let columns = if sample.disks.is_empty() {
        "   none"
    } else {
        "          read/s  write/s   ops/s   queue busy%   ms"
    };
    table_head("DISK", columns, &history.series(all), width)
}

fn disk_row(disk: &DiskSample) -> Line {
    let name: String = disk.name.as_str().chars().take(11).collect();
    let mut line = Line::of(Style::Plain, &format!("  {name:<11}"));
    line.add(Style::Plain, &format!("{:>9}", bytes(disk.read_bytes_per_s)));
    line.add(Style::Plain, &format!("{:>9}", bytes(disk.write_bytes_per_s)));
    line.add(Style::Plain, &format!("{:>8}", number(disk.reads_per_s + disk.writes_per_s)));
    line.add(Style::Plain, &format!("{:>8}", number(disk.queue_mean)));
    let style = Style::of_share(disk.busy_pct, 70.0, 95.0);
    line.add(style, &format!("{:>5}", percent(disk.busy_pct)));
    let slower = disk.read_ms.into_iter().chain(disk.write_ms).reduce(f64::max);
    line.add(Style::Plain, &format!("{:>6}", or_dash(slower, number)));
    line
}

/// Lines of a chart at most: a taller one shows no more. Memory moves slowly.
const CHART_MAX: usize = 24;
const MEMORY_MAX: usize = 4;

/// Network, disks and memory over time, on large screens.
fn charts(history: &History, width: usize, room: usize) -> Vec<Line> {
    let network = history.series(|sample| {
        let traffic = sample.traffic();
        traffic.received_bytes_per_s + traffic.sent_bytes_per_s
    });
    let disks = history.series(|sample| {
        let sum = disk_sum(sample);
        sum.read + sum.written
    });
    let memory = history.held(|sample| Some(counter::float(sample.memory?.used_bytes())));
    let total = history.latest(|sample| sample.memory).map_or(0, |memory| memory.total_bytes);
    let highest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let most = |values: &[f64]| format!(", at most {}/s", bytes(highest(values)));
    let (of_network, of_disks) = (most(&network), most(&disks));
    let of_memory = format!(", of {}", bytes(counter::float(total)));
    let (network_top, disks_top) = (highest(&network), highest(&disks));
    let mut all = vec![
        ("network in + out", of_network, network, network_top),
        ("disk read + write", of_disks, disks, disks_top),
    ];
    // what never carried anything needs no chart
    all.retain(|(.., top)| *top > 0.0);
    let memory_height = (room / 4).saturating_sub(1).min(MEMORY_MAX);
    let left = if total > 0 { room.saturating_sub(memory_height + 1) } else { room };
    let height = (left / all.len().max(1)).saturating_sub(1).min(CHART_MAX);
    let mut heights = vec![height; all.len()];
    if total > 0 {
        all.push(("memory used", of_memory, memory, counter::float(total)));
        heights.push(memory_height);
    }
    let mut lines = Vec::new();
    let drawn = all.into_iter().zip(heights).filter(|(_, height)| *height > 0);
    for ((name, most, values, top), height) in drawn {
        let mut head = Line::of(Style::Dim, &format!("      {name}"));
        head.add(Style::Plain, &most);
        lines.push(head);
        for row in bar::chart(&values, top, width.saturating_sub(7), height) {
            let mut line = Line::of(Style::Plain, "      ");
            line.add(Style::System, &row);
            lines.push(line);
        }
    }
    lines
}
