//! Samples for people: a full screen, or one line a sample. Pure: samples in, text out.

mod bar;
mod cpu;
mod device;
mod figure;
mod history;
mod memory;
mod process;
mod receive;
mod screen;
mod text;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_procfs::{State, counter};

use crate::sample::Sample;
use text::{Line, Style};

pub use history::History;
pub(crate) use screen::Screen;
pub use text::Paint;

use figure::{bytes, number, percent};

/// Screens narrower or lower than this are not made to fit.
const WIDTH_MIN: usize = 40;
const HEIGHT_MIN: usize = 8;
/// Screens as wide as this have room for two columns.
const WIDTH_TWO: usize = 150;
/// Lines that the processes should have, and shall have.
const PROCESSES: usize = 7;
const PROCESSES_LEAST: usize = 4;

/// The last sample of `history`, with what came before, as `height` lines of at most `width`
/// characters each.
#[must_use]
pub fn render(history: &History, width: usize, height: usize, paint: Paint) -> String {
    let (width, height) = (width.max(WIDTH_MIN), height.max(HEIGHT_MIN));
    let mut lines = vec![head(history, width)];
    match history.last() {
        None => lines.push(Line::of(Style::Dim, "waiting for the second reading")),
        Some(sample) => {
            let room = height - lines.len() - 1;
            lines.extend(body(history, sample, width, room));
        }
    }
    lines.resize_with(height - 1, Line::default);
    lines.push(foot(history, width));
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        line.write(&mut text, width, paint);
    }
    text
}

/// A sample in one line.
#[must_use]
pub fn line(sample: &Sample) -> String {
    let mut parts = Vec::new();
    if let Some(cpu) = &sample.cpu {
        let share = &cpu.share;
        let steal = share.steal_pct.filter(|steal| *steal >= 0.05);
        let steal = steal.map(|steal| format!(" steal {}", percent(steal))).unwrap_or_default();
        parts.push(format!(
            "cpu {} % (user {} sys {} irq {}{steal})",
            percent(share.busy_pct),
            percent(share.user_pct + share.nice_pct),
            percent(share.system_pct),
            percent(share.irq_pct + share.softirq_pct),
        ));
        parts.push(format!("run {}", cpu.running));
    } else {
        parts.push("cpu -".to_owned());
    }
    if let Some(memory) = &sample.memory {
        let used = bytes(counter::float(memory.used_bytes()));
        parts.push(format!("mem {used} of {}", bytes(counter::float(memory.total_bytes))));
    }
    if let Some(paging) = sample.paging.filter(|paging| paging.swapped_per_s > 0.0) {
        parts.push(format!("swap {}/s", number(paging.swapped_per_s)));
    }
    if !(sample.interfaces.is_empty() && sample.rdma.is_empty()) {
        let traffic = sample.traffic();
        let (received, sent) = (traffic.received_bytes_per_s, traffic.sent_bytes_per_s);
        parts.push(format!("net in {}/s out {}/s", bytes(received), bytes(sent)));
    }
    if !sample.disks.is_empty() {
        let disks = device::disk_sum(sample);
        parts.push(format!("disk r {}/s w {}/s", bytes(disks.read), bytes(disks.written)));
    }
    parts.join("  ")
}

fn head(history: &History, width: usize) -> Line {
    let mut line = Line::of(Style::Bold, &history.host);
    if let Some(sample) = history.last() {
        line.add(Style::Plain, &format!("  {}", clock(sample.wall_ns, &history.zone)));
        if let Some(load) = history.latest(|sample| sample.load) {
            line.add(Style::Dim, "   load ");
            let loads = format!("{:.2} {:.2} {:.2}", load.load_1, load.load_5, load.load_15);
            line.add(Style::Plain, &loads);
            line.add(Style::Dim, "   threads ");
            line.add(Style::Plain, &load.threads.to_string());
        }
        if let Some(files) = history.latest(|sample| sample.files).filter(|_| width >= 100) {
            line.add(Style::Dim, "   open files ");
            line.add(Style::Plain, &files.open.to_string());
        }
    }
    line.right(Style::Dim, "plumb host watch", width);
    line
}

/// What to do, what it costs, and what is not seen.
fn foot(history: &History, width: usize) -> Line {
    let mut line = Line::of(Style::Dim, &format!("every {}", history.every));
    if let Some(sample) = history.last() {
        let cost = counter::percent(sample.cost_ns, sample.interval_ns);
        line.add(Style::Dim, &format!(", watching costs {cost:.2} % of a processor"));
        let slow = sample.interval_ns > history.every.ns() + history.every.ns() / 2;
        if slow {
            line.add(Style::Hot, &format!(", late: {} ms", sample.interval_ns / 1_000_000));
        }
    }
    line.add(Style::Dim, ".  Ctrl-C ends it");
    let lacking = |is: fn(&State) -> bool| {
        let which = history.states().iter().filter(|(_, state)| is(state));
        which.map(|(subject, _)| subject.to_string()).collect::<Vec<_>>().join(", ")
    };
    let failed = lacking(|state| matches!(state, State::Failed(_)));
    if !failed.is_empty() {
        line.add(Style::Hot, &format!("  failed: {failed}"));
    }
    let unsupported = lacking(|state| matches!(state, State::Unsupported(_)));
    if !unsupported.is_empty() && width >= WIDTH_TWO {
        line.add(Style::Dim, &format!("  this machine does not tell: {unsupported}"));
    }
    line
}

fn body(history: &History, sample: &Sample, width: usize, room: usize) -> Vec<Line> {
    let chart_height = cpu_chart_height(sample, width, room);
    let mut lines = cpu::section(history, sample, width, room, chart_height);
    lines.extend(memory::section(history, sample, width));
    lines.push(Line::default());
    let left = room.saturating_sub(lines.len());
    if width >= WIDTH_TWO {
        let half = (width - 3) / 2;
        let devices = device::section(history, sample, half, left);
        let mut processes =
            receive::section(history, sample, half, left.saturating_sub(PROCESSES), true);
        processes.push(Line::default());
        let rest = left.saturating_sub(processes.len());
        processes.extend(process::section(history, sample, half, rest));
        lines.extend(text::side_by_side(devices, processes, half, left));
        return lines;
    }
    // the network matters more than the list of processes, which takes what is left
    let receive = receive::section(history, sample, width, 1, false);
    let devices_room = left.saturating_sub(receive.len() + PROCESSES_LEAST).max(4);
    lines.extend(device::section(history, sample, width, devices_room));
    lines.extend(receive);
    let rest = room.saturating_sub(lines.len());
    lines.extend(process::section(history, sample, width, rest));
    lines.truncate(room);
    lines
}

/// What the chart of the processors may take, from figures that do not change from sample to
/// sample: a screen whose parts move cannot be read.
fn cpu_chart_height(sample: &Sample, width: usize, room: usize) -> usize {
    if width >= WIDTH_TWO {
        return (room / 5).clamp(1, 10);
    }
    let others = cpu::rows(sample, width, room)
        + sample.interfaces.len()
        + sample.rdma.len()
        + device::disks(sample)
        + 9 // titles, memory, TCP, receiving
        + PROCESSES;
    room.saturating_sub(others).clamp(1, 6)
}

pub(crate) fn clock(wall_ns: u64, zone: &TimeZone) -> String {
    let time = Timestamp::from_nanosecond(i128::from(wall_ns)).unwrap_or_default();
    time.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()
}
