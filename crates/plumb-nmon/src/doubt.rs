//! Figures of a snapshot that cannot be true beside the others of the same snapshot, noted while
//! they stream by.

use crate::facts::System;
use crate::section::Section;

/// Half of the last decimal of nmon's figures: how far a printed figure may be from what it stands
/// for, in the unit of the figure.
pub const HALF_DECIMAL: f64 = 0.05;
/// Doubts that are kept.
const KEPT_MAX: usize = 1_000;
/// Clock ticks of 10 ms by which the shares of single processors may miss that of all: the kernel
/// cuts off each of up to three counters of each processor, and of their sum, to whole ticks.
const TICKS: f64 = 5.0;
/// Busy time of a disk: the clock of the recorder lets it be a little more than all, percent.
const DISK_BUSY_MAX: f64 = 105.0;

const SHARES: [&str; 5] = ["User%", "Sys%", "Wait%", "Idle%", "Steal%"];
/// Parts of the memory, and what none of them can be more than.
const PARTS: [(&str, &str); 5] = [
    ("memfree", "memtotal"),
    ("swapfree", "swaptotal"),
    ("cached", "memtotal"),
    ("Real free(MB)", "Real total(MB)"),
    ("Virtual free(MB)", "Virtual total(MB)"),
];

/// A figure that cannot be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// Line of the file, from 1; of the uncompressed text.
    pub line: u64,
    /// Number of the snapshot.
    pub id: u64,
    /// The section.
    pub section: String,
    /// The figure, or what was added up.
    pub column: String,
    /// What stands there.
    pub value: f64,
    /// What it should be, from and to, in the unit of the figure; from minus infinity where only
    /// the upper end is known.
    pub expected: (f64, f64),
    /// From what.
    pub rule: Rule,
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Shares of a processor, or of all, are 100 together.
    Shares,
    /// The mean of the single processors is the share of all.
    Singles,
    /// A share is no more than all.
    Share,
    /// A part is no more than its whole.
    Whole(&'static str),
}

/// What has been doubted so far, and the comparisons that were made.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    list: Vec<Doubt>,
    left_out: u64,
    comparisons: u64,
    /// The shares of processors, a snapshot each.
    snapshots: Vec<Processors>,
}

/// The shares of one snapshot.
#[derive(Clone, Debug, Default)]
struct Processors {
    id: u64,
    /// Of `CPU_ALL`, with its line and the seconds of its interval.
    all: Option<([f64; 5], u64, f64)>,
    sums: [f64; 5],
    count: u32,
}

/// What is compared in the rows of one section.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions {
    shares: Option<[Option<usize>; 5]>,
    /// One of the processors, or all of them together.
    is_all: bool,
    is_single: bool,
    /// Columns of percent, and the most that they can be.
    percents: Vec<(usize, f64)>,
    wholes: Vec<(usize, usize, &'static str)>,
}

/// A row as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) section: &'a Section,
    pub(crate) figures: &'a [f64],
    pub(crate) line: u64,
    pub(crate) id: u64,
    /// Its place in the timeline.
    pub(crate) place: Option<usize>,
    /// Length of its interval.
    pub(crate) seconds: f64,
}

impl Questions {
    pub(crate) fn of(section: &Section, system: System) -> Self {
        let name = section.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_all = section.name == "CPU_ALL";
        let is_single = name == "CPU" && section.name.len() > name.len();
        let is_aix = system == System::Aix || section.place("PhysicalCPUs").is_some();
        let places = SHARES.map(|share| section.place(share));
        let has_shares = places[..4].iter().all(Option::is_some);
        // those of a logical processor of AIX are parts of what its core did
        let adds_up = has_shares && (is_all || is_single && !is_aix);
        let most = if name == "DISKBUSY" { DISK_BUSY_MAX } else { 100.0 + HALF_DECIMAL };
        let percents = match name {
            "CPU_ALL" => SHARES.iter().filter_map(|share| section.place(share)).collect(),
            "CPU" | "JFSFILE" | "DISKBUSY" => (0..section.columns.len()).collect(),
            _ => Vec::new(),
        };
        let wholes = PARTS.iter().filter(|_| name == "MEM").filter_map(|(part, whole)| {
            Some((section.place(part)?, section.place(whole)?, *whole))
        });
        Self {
            shares: adds_up.then_some(places),
            is_all: is_all && !is_aix,
            is_single: is_single && !is_aix,
            percents: percents.into_iter().map(|place| (place, most)).collect(),
            wholes: wholes.collect(),
        }
    }
}

impl Doubts {
    /// The figures that cannot be true, as they came up; at most a thousand.
    #[must_use]
    pub fn list(&self) -> &[Doubt] {
        &self.list
    }

    /// Doubts beyond those that are kept.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Comparisons that were made.
    #[must_use]
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    /// Compares the figures of a row with each other.
    pub(crate) fn row(&mut self, questions: &Questions, read: Read<'_>) {
        let figure =
            |place: usize| read.figures.get(place).copied().filter(|figure| figure.is_finite());
        for (place, most) in &questions.percents {
            if let Some(value) = figure(*place) {
                self.compare(read, *place, value, *most, Rule::Share);
            }
        }
        for (part, whole, name) in &questions.wholes {
            if let (Some(part_mb), Some(whole_mb)) = (figure(*part), figure(*whole)) {
                self.compare(
                    read,
                    *part,
                    part_mb,
                    whole_mb + 2.0 * HALF_DECIMAL,
                    Rule::Whole(name),
                );
            }
        }
        let Some(places) = questions.shares else { return };
        let found = places.map(|place| place.and_then(figure));
        let [Some(_), Some(_), Some(_), Some(_), _] = found else { return };
        let shares = found.map(|share| share.unwrap_or(0.0));
        let sum: f64 = shares.iter().sum();
        if questions.is_single && sum <= 0.0 {
            return; // it was switched off
        }
        // five shares, each printed with one decimal
        let expected = (100.0 - 5.0 * HALF_DECIMAL, 100.0 + 5.0 * HALF_DECIMAL);
        self.comparisons += 1;
        if sum < expected.0 || sum > expected.1 {
            let present: Vec<&str> =
                SHARES.iter().zip(places).filter_map(|(name, at)| at.map(|_| *name)).collect();
            self.add(read, present.join(" + "), sum, expected, Rule::Shares);
        }
        self.remember(questions, shares, read);
    }

    fn remember(&mut self, questions: &Questions, shares: [f64; 5], read: Read<'_>) {
        let Some(place) = read.place.filter(|_| questions.is_all || questions.is_single) else {
            return;
        };
        if self.snapshots.len() <= place {
            self.snapshots.resize_with(place + 1, Processors::default);
        }
        let snapshot = &mut self.snapshots[place];
        snapshot.id = read.id;
        if questions.is_all {
            snapshot.all = Some((shares, read.line, read.seconds));
        } else {
            snapshot.count += 1;
            snapshot.sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        }
    }

    /// Compares the single processors with all of them, a snapshot each; `columns` of `CPU_ALL` are
    /// those that the file has.
    pub(crate) fn close(&mut self, all: Option<&Section>) {
        let snapshots = std::mem::take(&mut self.snapshots);
        let Some(section) = all else { return };
        let most = snapshots.iter().map(|snapshot| snapshot.count).max().unwrap_or(0);
        for snapshot in snapshots {
            let Some((shares, line, seconds)) = snapshot.all else { continue };
            // a processor without a line was switched off, or its line is missing
            if snapshot.count == 0 || snapshot.count != most || seconds <= 0.0 {
                continue;
            }
            let room = 2.0 * HALF_DECIMAL + TICKS / seconds;
            for (at, name) in
                SHARES.iter().enumerate().filter(|(_, it)| section.place(it).is_some())
            {
                let mean = snapshot.sums[at] / f64::from(snapshot.count);
                self.comparisons += 1;
                if (shares[at] - mean).abs() > room {
                    let read =
                        Read { section, figures: &[], line, id: snapshot.id, place: None, seconds };
                    let expected = ((mean - room).max(0.0), mean + room);
                    self.add(read, (*name).to_owned(), shares[at], expected, Rule::Singles);
                }
            }
        }
    }

    fn compare(&mut self, read: Read<'_>, place: usize, value: f64, most: f64, rule: Rule) {
        self.comparisons += 1;
        if value > most {
            let column = read.section.columns[place].name.clone();
            self.add(read, column, value, (f64::NEG_INFINITY, most), rule);
        }
    }

    fn add(
        &mut self,
        read: Read<'_>,
        column: String,
        value: f64,
        expected: (f64, f64),
        rule: Rule,
    ) {
        if self.list.len() >= KEPT_MAX {
            self.left_out += 1;
            return;
        }
        let (line, id, section) = (read.line, read.id, read.section.name.clone());
        self.list.push(Doubt { line, id, section, column, value, expected, rule });
    }
}
