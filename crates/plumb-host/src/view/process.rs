//! Processes on the screen.

use plumb_procfs::counter::float;

use super::figure::{bytes, count, number, or_dash, percent};
use super::history::History;
use super::text::{Line, Style};
use crate::sample::{ProcessSample, Sample};

pub(super) fn section(history: &History, sample: &Sample, width: usize, room: usize) -> Vec<Line> {
    let columns = "    PID name              cpu%   user system   memory threads";
    let wide = width >= 90;
    let mut lines = Vec::new();
    let mut add = |title: &str, processes: &[ProcessSample], more: &str| {
        if processes.is_empty() {
            return;
        }
        let mut head = Line::titled(title);
        head.add(Style::Dim, columns.trim_start_matches("    "));
        head.add(Style::Dim, more);
        lines.push(head);
        lines.extend(processes.iter().map(|process| row(process, wide)));
    };
    add("PROC", &sample.processes, if wide { "  files waits/s forced/s" } else { "" });
    // those that use most are looked for more seldom than the screen is drawn
    let span = history.top().first().map(|process| process.interval_ns).filter(|ns| *ns > 0);
    let span = span.map_or_else(String::new, |ns| format!("  over {:.0} s", float(ns) / 1e9));
    add("TOP", history.top(), &span);
    lines.truncate(room);
    lines
}

fn row(process: &ProcessSample, wide: bool) -> Line {
    let name: String = process.name.as_str().chars().take(16).collect();
    let mut line = Line::of(Style::Plain, &format!("{:>9} {name:<16}", process.pid));
    line.add(Style::Bold, &format!("{:>6}", percent(process.cpu_pct)));
    line.add(Style::Plain, &format!("{:>7}", percent(process.user_pct)));
    line.add(Style::Plain, &format!("{:>7}", percent(process.system_pct)));
    line.add(Style::Plain, &format!("{:>9}", bytes(float(process.resident_bytes))));
    line.add(Style::Plain, &format!("{:>8}", count(process.threads)));
    if wide && process.files.is_some() {
        line.add(Style::Plain, &format!("{:>7}", or_dash(process.files, count)));
        let rate = |value| or_dash(value, number);
        line.add(Style::Plain, &format!("{:>8}", rate(process.voluntary_switches_per_s)));
        line.add(Style::Plain, &format!("{:>9}", rate(process.involuntary_switches_per_s)));
    }
    line
}
