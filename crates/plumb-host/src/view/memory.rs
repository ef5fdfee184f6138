//! Memory on the screen.

use plumb_procfs::counter;

use super::bar;
use super::figure::{bytes, count, or_dash, percent};
use super::history::History;
use super::text::{Line, Style};
use crate::sample::Sample;

pub(super) fn section(history: &History, sample: &Sample, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(memory) = history.latest(|sample| sample.memory) {
        let show = |value: u64| bytes(counter::float(value));
        let pct = counter::percent(memory.used_bytes(), memory.total_bytes);
        let mut line = Line::titled("MEM");
        line.add(Style::of_share(pct, 80.0, 95.0), &format!("{:>5} % ", percent(pct)));
        line.append(bar::share(pct, Style::User, width / 6));
        line.add(
            Style::Dim,
            &format!(" {} of {}  ", show(memory.used_bytes()), show(memory.total_bytes)),
        );
        line.pair("cache", Style::Plain, &show(memory.cached_bytes + memory.buffers_bytes));
        let swapped = memory.swap_used_bytes > 0;
        let style = if swapped { Style::Warm } else { Style::Plain };
        line.pair("swap", style, &show(memory.swap_used_bytes));
        if width >= 150 {
            line.pair("programs", Style::Plain, &show(memory.anonymous_bytes));
            line.pair("slab", Style::Plain, &show(memory.slab_bytes));
            line.pair("dirty", Style::Plain, &show(memory.dirty_bytes));
            line.pair("huge", Style::Plain, &show(memory.huge_bytes));
        }
        lines.push(line);
    }
    let wide = width >= 110;
    let mut line = Line::titled("PAGE");
    if let Some(paging) = history.latest(|sample| sample.paging) {
        let swapping = |pages: u64| if pages > 0 { Style::Hot } else { Style::Plain };
        line.pair("swap in", swapping(paging.swapped_in), &count(paging.swapped_in));
        line.pair("out", swapping(paging.swapped_out), &count(paging.swapped_out));
        let major = if wide { "major faults" } else { "major" };
        line.pair(major, Style::Plain, &count(paging.major_faults));
        let refaults = paging.refaults_anonymous + paging.refaults_file;
        line.pair("refaults", Style::Plain, &count(refaults));
        if paging.oom_kills > 0 {
            line.pair("killed", Style::Hot, &count(paging.oom_kills));
        }
    }
    if let Some(pressure) = &sample.pressure {
        line.add(Style::Dim, if wide { " time waiting for " } else { "waits" });
        let gap = if wide { "  " } else { "" };
        for (name, pct) in [
            ("cpu", pressure.cpu_some_pct),
            ("mem", pressure.memory_some_pct),
            ("disk", pressure.io_some_pct),
        ] {
            line.add(Style::Dim, &format!(" {name}"));
            let places = usize::from(wide);
            let value = or_dash(pct, |pct| format!("{pct:.places$}"));
            line.add(Style::of_share(pct.unwrap_or(0.0), 20.0, 60.0), &format!(" {value}{gap}"));
        }
        line.add(Style::Dim, " %");
    }
    lines.push(line);
    lines
}
