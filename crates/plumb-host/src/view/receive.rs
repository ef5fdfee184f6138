//! Who does the work of receiving, on the screen.

use super::figure::{count, number, percent};
use super::history::History;
use super::text::{Line, Style};
use crate::sample::Sample;
use crate::usage::Usage;

pub(super) fn section(
    history: &History,
    sample: &Sample,
    width: usize,
    room: usize,
    detailed: bool,
) -> Vec<Line> {
    let mut line = Line::titled("RX");
    let usage = Usage::of([sample]);
    match usage.receive() {
        None => line.add(Style::Dim, "nothing received"),
        Some(spread) => {
            let one_sided = spread
                .findings(None)
                .iter()
                .any(|finding| matches!(finding, crate::ReceiveFinding::OneSided { .. }));
            let style = if one_sided { Style::Hot } else { Style::Plain };
            line.add(style, &spread.to_string());
            if width >= 90 {
                line.add(Style::Dim, &format!(", CPU {} does ", spread.hottest_cpu));
                line.add(Style::Plain, &format!("{} %", percent(spread.hottest_pct)));
            }
            line.add(Style::Plain, "  ");
            line.pair("dropped", Style::of_trouble(spread.dropped), &count(spread.dropped));
            let style = if spread.squeezed > 0 { Style::Warm } else { Style::Plain };
            line.pair("squeezed", style, &count(spread.squeezed));
        }
    }
    let mut lines = vec![line];
    if !detailed {
        return lines;
    }
    if let Some(soft) = &sample.softirqs {
        let mut line = Line::titled("SOFT");
        for (name, per_s) in [
            ("receive/s", soft.net_rx_per_s),
            ("send", soft.net_tx_per_s),
            ("timer", soft.timer_per_s),
            ("disk", soft.block_per_s),
            ("sched", soft.sched_per_s),
            ("rcu", soft.rcu_per_s),
        ] {
            line.pair(name, Style::Plain, &number(per_s));
        }
        lines.push(line);
    }
    if history.interrupts().is_empty() {
        return lines;
    }
    lines.push(Line::default());
    let mut head = Line::titled("IRQ");
    head.add(Style::Dim, &format!("{:<26}{:>8}  mostly on", "", "per s"));
    lines.push(head);
    let rows = room.saturating_sub(lines.len()).max(3);
    for interrupt in history.interrupts().iter().take(rows) {
        let name: String = interrupt.name.as_str().chars().take(24).collect();
        let mut line = Line::of(Style::Plain, &format!("  {:<5} {name:<24}", interrupt.line));
        line.add(Style::Plain, &format!("{:>8}", number(interrupt.per_s)));
        line.add(Style::Dim, &format!("  CPU {:<4}", interrupt.cpu));
        line.add(Style::Plain, &format!("{:>5} %", percent(interrupt.cpu_pct)));
        lines.push(line.fitted(width));
    }
    lines
}
