//! Processors on the screen.

use plumb_measure::Span;

use super::bar;
use super::figure::{number, percent};
use super::history::History;
use super::text::{Line, Style};
use crate::sample::{CpuShare, Sample};

/// Narrowest cell in which a bar says something.
const CELL_MIN: usize = 26;
/// Characters of a cell beside its bar: number, share, share of soft interrupts, gap.
const CELL_TEXT: usize = 5 + 6 + 8 + 2;

/// Lines of the bars.
pub(super) fn rows(sample: &Sample, width: usize, room: usize) -> usize {
    each(&sample.cpus, width, rows_max(room)).len()
}

fn rows_max(room: usize) -> usize {
    if room < 30 { 6 } else { room / 3 }
}

pub(super) fn section(
    history: &History,
    sample: &Sample,
    width: usize,
    room: usize,
    chart_height: usize,
) -> Vec<Line> {
    let Some(cpu) = &sample.cpu else {
        return vec![Line::titled("CPU"), Line::default()];
    };
    let share = &cpu.share;
    let mut head = Line::titled("CPU");
    let style = Style::of_share(share.busy_pct, 75.0, 90.0);
    let bold = if style == Style::Plain { Style::Bold } else { style };
    head.add(bold, &format!("{:>5} %", percent(share.busy_pct)));
    head.add(Style::Dim, &format!(" of {}  ", cpu.online));
    let mut legend = |character: char, style: Style, name: &str, pct: f64| {
        head.add(style, &format!("{character} "));
        head.add(Style::Dim, name);
        head.add(Style::Plain, &format!(" {}  ", percent(pct)));
    };
    legend(bar::USER, Style::User, "user", share.user_pct + share.nice_pct);
    legend(
        bar::SYSTEM,
        Style::System,
        if width < 100 { "sys" } else { "system" },
        share.system_pct,
    );
    legend(bar::INTERRUPT, Style::Interrupt, "irq", share.irq_pct + share.softirq_pct);
    if let Some(steal) = share.steal_pct {
        let style = Style::of_share(steal, 1.0, 5.0);
        head.add(style, &format!("{} ", bar::STEAL));
        head.add(Style::Dim, "steal");
        head.add(style, &format!(" {}  ", percent(steal)));
    }
    head.pair("wait", Style::Plain, &percent(share.iowait_pct));
    if width >= 150 {
        head.pair("switches/s", Style::Plain, &number(cpu.context_switches_per_s));
        head.pair("interrupts/s", Style::Plain, &number(cpu.interrupts_per_s));
        head.pair("forks/s", Style::Plain, &number(cpu.forks_per_s));
        head.pair("runnable", Style::Plain, &cpu.running.to_string());
        head.pair("blocked", Style::Plain, &cpu.blocked.to_string());
    }
    let busy = history.series(|sample| sample.cpu.map_or(0.0, |cpu| cpu.share.busy_pct));
    let shown = busy.len().min(width - 7) as u64;
    let span = Span::from_ns(history.every.ns().saturating_mul(shown));
    head.right(Style::Dim, &format!("the last {span}"), width);
    let mut lines = vec![head];
    for (place, row) in bar::chart(&busy, 100.0, width - 7, chart_height).iter().enumerate() {
        let label = match place {
            _ if chart_height < 2 => "      ",
            0 => "100 % ",
            last if last + 1 == chart_height => "  0 % ",
            _ => "      ",
        };
        let mut line = Line::of(Style::Dim, label);
        line.add(Style::User, row);
        lines.push(line);
    }
    lines.extend(each(&sample.cpus, width, rows_max(room)));
    lines
}

/// A bar for each processor where there is room, else a character.
fn each(cpus: &[CpuShare], width: usize, rows_max: usize) -> Vec<Line> {
    let columns = (width / CELL_MIN).clamp(1, cpus.len().max(1));
    let rows = cpus.len().div_ceil(columns);
    if rows > rows_max {
        return strips(cpus, width);
    }
    // no more columns than that many rows need, so that the bars are long
    let columns = cpus.len().div_ceil(rows.max(1)).max(1);
    let columns = if cpus.len() <= rows_max.min(4) && width < 100 { 1 } else { columns };
    let rows = cpus.len().div_ceil(columns);
    let cell = width / columns;
    let mut lines = Vec::new();
    for row in 0..rows {
        let mut line = Line::default();
        for share in cpus.iter().skip(row).step_by(rows) {
            let mut bar = Line::of(Style::Dim, &format!("{:>4} ", share.number));
            bar.append(bar::cpu(share, cell.saturating_sub(CELL_TEXT)));
            let style = Style::of_share(share.busy_pct, 75.0, 90.0);
            bar.add(style, &format!("{:>4.0} %", share.busy_pct));
            let style = if share.softirq_pct >= 50.0 { Style::Hot } else { Style::Dim };
            bar.add(style, &format!(" irq {:>3.0}", share.softirq_pct + share.irq_pct));
            bar.add(Style::Plain, "  ");
            line.append(bar.fitted(cell));
        }
        lines.push(line);
    }
    lines
}

/// A character for each processor: its work, and below it that of soft interrupts.
fn strips(cpus: &[CpuShare], width: usize) -> Vec<Line> {
    let gutter = 12;
    let mut lines = Vec::new();
    for piece in cpus.chunks(width.saturating_sub(gutter).max(8)) {
        let first = piece.first().map_or(0, |share| share.number);
        let strip = |of: fn(&CpuShare) -> f64| {
            let values: Vec<f64> = piece.iter().map(of).collect();
            bar::spark(&values, 100.0, values.len())
        };
        let mut busy = Line::of(Style::Dim, &format!("{first:>5} busy "));
        busy.add(Style::User, &strip(|share| share.busy_pct));
        let mut soft = Line::of(Style::Dim, "       irq ");
        soft.add(Style::Interrupt, &strip(|share| share.softirq_pct + share.irq_pct));
        lines.extend([busy, soft]);
    }
    lines
}
