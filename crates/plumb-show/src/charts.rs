//! Which figures of a recording are drawn over time, and how they are put together.

use std::collections::BTreeSet;

use crate::recording::{HistoryChart, Series};
use plumb_nmon::{Column, CounterObject, Recording, Section};

use crate::moments::Moments;
use crate::scale::scale;
use crate::{processes, windows};

/// Columns of a section that are told apart in one chart.
const FEW: usize = 6;

/// Further sections that are drawn; a page is read by people.
const FURTHER_MAX: usize = 24;

/// Sections of which the charts take what they need.
const KNOWN: [&str; 14] = [
    "CPU_ALL",
    "LPAR",
    "MEM",
    "AVAIL",
    "PROC",
    "NET",
    "IBREAD",
    "IBWRITE",
    "DISKBUSY",
    "DISKREAD",
    "DISKWRITE",
    "QUEUE",
    "VM",
    "PAGE",
];

/// Charts that are seen at once; further ones unfold.
const FIRST_MAX: usize = 12;

/// The charts of a recording.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    /// What a reader looks at first.
    pub(crate) first: Vec<HistoryChart>,
    /// The others.
    pub(crate) further: Vec<HistoryChart>,
    /// Titles of charts that would be zero throughout.
    pub(crate) idle: Vec<String>,
}

/// The sections whose figures are drawn.
pub(crate) fn sections(recording: &Recording) -> Vec<&str> {
    let names = recording.sections.iter().map(|section| section.name.as_str());
    let known = names.filter(|name| KNOWN.contains(&family(name)));
    let few = few(recording).map(|section| section.name.as_str());
    known.chain(few).chain(windows::Charts::of(recording).sections()).collect()
}

/// The name without the number that tells parts of one section apart.
fn family(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Sections beside the known ones that have few columns, and figures other than zero.
fn few(recording: &Recording) -> impl Iterator<Item = &Section> {
    let moves = |column: &Column| column.stat.max().is_some_and(|max| max > 0.0);
    recording
        .sections
        .iter()
        .filter(|section| !KNOWN.contains(&family(&section.name)) && !of_one_cpu(&section.name))
        .filter(|section| CounterObject::of(section).is_none())
        .filter(|section| section.columns.len() <= FEW)
        .filter(move |section| section.columns.iter().any(moves))
        .take(FURTHER_MAX)
}

/// True for the sections of single processors, which others sum up.
fn of_one_cpu(name: &str) -> bool {
    matches!(family(name), "CPU" | "PCPU" | "SCPU")
}

/// Names of sections that have figures and are not drawn, those of single processors and of counters of
/// Windows apart.
pub(crate) fn left_out(recording: &Recording) -> Vec<&str> {
    let drawn: BTreeSet<&str> = sections(recording).into_iter().collect();
    let there = recording.sections.iter().filter(|section| section.rows > 0);
    let there = there.filter(|section| CounterObject::of(section).is_none());
    let names = there.map(|section| section.name.as_str());
    names.filter(|name| !drawn.contains(name) && !of_one_cpu(name)).collect()
}

/// Everything that is drawn of `recording`.
pub(crate) fn of(recording: &Recording, moments: &Moments) -> Charts {
    let draw = Draw { recording, moments };
    let mut charts = vec![
        draw.shares(),
        draw.commands(),
        draw.partition(),
        draw.queue(),
        draw.memory(),
        draw.paging(),
        draw.disk_traffic(),
        draw.disks_busy(),
        draw.disk_queue(),
        draw.network(),
        draw.interfaces(),
        draw.rdma(),
    ];
    charts.extend(windows::Charts::of(recording).drawn(moments));
    let there = charts.into_iter().filter(|chart| !chart.series.is_empty());
    let (mut first, idle): (Vec<HistoryChart>, Vec<HistoryChart>) = there.partition(moves);
    let mut further = first.split_off(first.len().min(FIRST_MAX));
    further.extend(few(recording).map(|section| whole(recording, section, moments)));
    Charts { first, further, idle: idle.into_iter().map(|chart| chart.title).collect() }
}

/// True for a chart with any figure other than zero.
fn moves(chart: &HistoryChart) -> bool {
    chart.series.iter().flat_map(|line| &line.values).any(|value| *value > 0.0)
}

fn whole(recording: &Recording, section: &Section, moments: &Moments) -> HistoryChart {
    let host = recording.facts.host().unwrap_or_default();
    let title = section.title.strip_suffix(host).unwrap_or(&section.title).trim();
    let series = section
        .columns
        .iter()
        .map(|column| Series { name: column.name.clone(), values: moments.values(&column.series) });
    HistoryChart {
        title: if title.is_empty() { section.name.clone() } else { title.to_owned() },
        axis: section.name.clone(),
        series: series.filter(known).collect(),
        ..HistoryChart::default()
    }
}

/// True for a line with any figure.
fn known(series: &Series) -> bool {
    series.values.iter().any(|value| value.is_finite())
}

struct Draw<'r> {
    recording: &'r Recording,
    moments: &'r Moments,
}

impl Draw<'_> {
    /// A column as one line; `None` without figures.
    fn line(&self, name: &str, section: &str, column: &str) -> Option<Series> {
        let column = self.recording.column(section, column)?;
        let line = Series { name: name.to_owned(), values: self.moments.values(&column.series) };
        Some(line).filter(known)
    }

    /// The columns of all sections of a family that `counts` takes.
    fn columns(&self, wanted: &str, counts: impl Fn(&str) -> bool) -> Vec<&Column> {
        let sections = self.recording.sections.iter().filter(|one| family(&one.name) == wanted);
        sections.flat_map(|one| &one.columns).filter(|column| counts(&column.name)).collect()
    }

    /// Columns put together into one line: a figure for every moment that has what `join` needs.
    fn joined(&self, name: &str, columns: &[&Column], join: fn(f64, f64) -> f64) -> Option<Series> {
        let lines = columns.iter().map(|column| self.moments.values(&column.series));
        let values = lines.reduce(|mut all, line| {
            all.iter_mut().zip(line).for_each(|(sum, value)| *sum = join(*sum, value));
            all
        })?;
        Some(Series { name: name.to_owned(), values }).filter(known)
    }

    /// A sum, which needs all its figures.
    fn sum(&self, name: &str, columns: &[&Column]) -> Option<Series> {
        self.joined(name, columns, |one, other| one + other)
    }

    fn shares(&self) -> HistoryChart {
        let parts =
            [("user", "User%"), ("system", "Sys%"), ("stolen", "Steal%"), ("wait", "Wait%")];
        let lines =
            parts.into_iter().filter_map(|(name, column)| self.line(name, "CPU_ALL", column));
        let chart = chart("Processors", "% of all processors", "%", lines.collect());
        HistoryChart { stacked: true, ..chart }
    }

    /// The commands that took most, and all others together.
    fn commands(&self) -> HistoryChart {
        let stamps = self.recording.timeline.stamps();
        let listed = processes::over_time(&self.recording.processes, stamps);
        let lines = listed
            .into_iter()
            .map(|(name, values)| Series { name, values: self.moments.values(&values) });
        let chart = chart("Processes", "% of one processor", "%", lines.filter(known).collect());
        HistoryChart { stacked: true, ..chart }
    }

    fn partition(&self) -> HistoryChart {
        let lines = [
            ("busy", "PhysicalCPU"),
            ("entitled", "entitled"),
            ("virtual processors", "virtualCPUs"),
        ];
        let lines = lines.iter().filter_map(|(name, column)| self.line(name, "LPAR", column));
        chart("Processors of the partition", "processors", "", lines.collect())
    }

    fn queue(&self) -> HistoryChart {
        let lines = [("runnable", "Runnable"), ("blocked", "Blocked"), ("swapped in", "Swap-in")];
        let lines = lines.iter().filter_map(|(name, column)| self.line(name, "PROC", column));
        chart("Run queue", "processes", "", lines.collect())
    }

    fn memory(&self) -> HistoryChart {
        let linux = ["memfree", "cached", "buffers"];
        let available: Vec<&Column> =
            linux.iter().filter_map(|name| self.recording.column("MEM", name)).collect();
        let mut lines: Vec<Series> =
            self.line("available", "AVAIL", "available").into_iter().collect();
        if lines.is_empty() && available.len() == linux.len() {
            lines.extend(self.sum("free or cached", &available)); // the nearest to it
        }
        for (name, column) in [
            ("free", "memfree"),
            ("free", "Real free(MB)"),
            ("swap free", "swapfree"),
            ("paging space free", "Virtual free(MB)"),
        ] {
            lines.extend(self.line(name, "MEM", column));
        }
        let total = ["memtotal", "Real total(MB)"]
            .iter()
            .find_map(|name| self.recording.column("MEM", name)?.stat.max());
        let (unit, factor) = scale("MB", &mut lines);
        let note = total.map(|total| format!("{:.1} {unit} of memory in all.", total / factor));
        HistoryChart { notes: note.into_iter().collect(), ..chart("Memory", &unit, &unit, lines) }
    }

    fn paging(&self) -> HistoryChart {
        let stamps = self.recording.timeline.stamps();
        let mut lines = Vec::new();
        for (name, column) in
            [("swapped in", "pswpin"), ("swapped out", "pswpout"), ("major faults", "pgmajfault")]
        {
            // counts of an interval
            let Some(column) = self.recording.column("VM", column) else { continue };
            let rates: Vec<f64> = column
                .series
                .iter()
                .zip(stamps)
                .map(|(count, stamp)| count / f64::from(stamp.seconds.max(1)))
                .collect();
            let line = Series { name: name.to_owned(), values: self.moments.values(&rates) };
            lines.extend(Some(line).filter(known));
        }
        lines.extend(self.line("swapped in", "PAGE", "pgsin"));
        lines.extend(self.line("swapped out", "PAGE", "pgsout"));
        chart("Paging", "pages or faults a second", "1/s", lines)
    }

    fn disk_traffic(&self) -> HistoryChart {
        let counted = self.recording.disks().map(|disks| disks.counted).unwrap_or_default();
        let counts = |name: &str| counted.iter().any(|one| one == name);
        let mut lines = Vec::new();
        lines.extend(self.sum("read", &self.columns("DISKREAD", counts)));
        lines.extend(self.sum("written", &self.columns("DISKWRITE", counts)));
        traffic("Disks", lines)
    }

    fn disks_busy(&self) -> HistoryChart {
        let counted = self.recording.disks().map(|disks| disks.counted);
        let counts = |name: &str| {
            counted.as_ref().is_none_or(|counted| counted.iter().any(|one| one == name))
        };
        let columns = self.columns("DISKBUSY", counts);
        let lines = if columns.len() <= FEW {
            let each = columns.iter().filter_map(|column| self.sum(&column.name, &[*column]));
            each.collect()
        } else {
            // a largest needs any of its figures
            let name = format!("the busiest of {}", columns.len());
            self.joined(&name, &columns, f64::max).into_iter().collect()
        };
        chart("Disks busy", "% of the time", "%", lines)
    }

    fn disk_queue(&self) -> HistoryChart {
        let counted = self.recording.disks().map(|disks| disks.counted).unwrap_or_default();
        let columns = self.columns("QUEUE", |name| counted.iter().any(|one| one == name));
        let lines = self.sum("all disks", &columns).into_iter().collect();
        chart("Disk queue", "requests under way", "", lines)
    }

    fn network(&self) -> HistoryChart {
        let mut lines = Vec::new();
        for (name, ending) in [("received", "-read-KB/s"), ("sent", "-write-KB/s")] {
            lines.extend(self.sum(name, &self.interface_columns(ending)));
        }
        traffic("Network", lines)
    }

    /// Both ways of every interface that is counted, where more than one is.
    fn interfaces(&self) -> HistoryChart {
        let (read, write) =
            (self.interface_columns("-read-KB/s"), self.interface_columns("-write-KB/s"));
        let mut lines = Vec::new();
        if (2..=FEW).contains(&read.len()) {
            for column in read {
                let name = column.name.trim_end_matches("-read-KB/s");
                let back = format!("{name}-write-KB/s");
                let both: Vec<&Column> = std::iter::once(column)
                    .chain(write.iter().copied().filter(|other| other.name == back))
                    .collect();
                lines.extend(self.sum(name, &both));
            }
        }
        traffic("Network by interface, both ways", lines)
    }

    /// The columns of the interfaces whose traffic is counted.
    fn interface_columns(&self, ending: &str) -> Vec<&Column> {
        let counted = self.recording.network().map(|network| network.counted).unwrap_or_default();
        self.columns("NET", |name| {
            name.strip_suffix(ending).is_some_and(|name| counted.iter().any(|one| one == name))
        })
    }

    fn rdma(&self) -> HistoryChart {
        let mut lines = Vec::new();
        lines.extend(self.sum("received", &self.columns("IBREAD", |_| true)));
        lines.extend(self.sum("sent", &self.columns("IBWRITE", |_| true)));
        traffic("RDMA", lines)
    }
}

fn chart(title: &str, axis: &str, unit: &str, series: Vec<Series>) -> HistoryChart {
    let (title, axis, unit) = (title.to_owned(), axis.to_owned(), unit.to_owned());
    HistoryChart { title, axis, unit, series, ..HistoryChart::default() }
}

/// Lines of KB/s, or of a larger unit where that reads better.
fn traffic(title: &str, mut lines: Vec<Series>) -> HistoryChart {
    let (unit, _) = scale("KB", &mut lines);
    let unit = format!("{unit}/s");
    chart(title, &unit, &unit, lines)
}

#[cfg(test)]
mod tests {
    use plumb_nmon::Options;

    use super::*;

    fn drawn(file: &str) -> Vec<HistoryChart> {
        let options = Options { series: plumb_nmon::Series::All, ..Options::default() };
        let read = plumb_nmon::read(file.as_bytes(), &options).unwrap();
        let recording = &read.recordings[0];
        of(recording, &Moments::of(&recording.timeline)).first
    }

    #[test]
    fn a_sum_lacks_what_any_of_its_parts_lacks() {
        let charts = drawn(
            "AAA,host,h\nDISKREAD,Disk Read,sda,sdb\nDISKBUSY,Busy,sda,sdb\n\
             ZZZZ,T0001,10:00:00,01-MAY-2026\nDISKREAD,T0001,1,2\nDISKBUSY,T0001,5,6\n\
             ZZZZ,T0002,10:00:01,01-MAY-2026\nDISKREAD,T0002,1,\nDISKBUSY,T0002,7,\n",
        );
        let [traffic, busy] = &charts[..] else { panic!("{charts:?}") };
        assert_eq!(format!("{:?}", traffic.series[0].values), "[3.0, NaN]");
        let names: Vec<&str> = busy.series.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["sda", "sdb"]);
        assert_eq!(format!("{:?}", busy.series[1].values), "[6.0, NaN]");
    }
}
