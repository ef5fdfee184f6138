//! A page and Markdown of what hosts recorded: plain figures and words, whatever the format of the
//! file.

mod html;
mod markdown;
mod tables;

pub use html::render as html;
pub use markdown::render as markdown;
pub(crate) use tables::together as side_by_side;

pub use plumb_chart::{ChartTime, HistoryChart, Series};
use plumb_measure::counted;

/// The name of the JSON form, which the page names, too.
pub const SCHEMA: &str = "plumb.show/1";

/// Recordings on one page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recordings {
    /// Version of the program that read them.
    pub version: String,
    /// The counters that several have, beside each other; absent where there are none.
    pub together: Option<Together>,
    /// The recordings, in the order in which they were named.
    pub list: Vec<Recording>,
}

/// The counters of several recordings beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Together {
    /// What tells the recordings apart.
    pub names: Vec<String>,
    /// One row a counter.
    pub rows: Vec<JoinedCounter>,
    /// Which of them hold figures that cannot be true.
    pub doubts: Vec<String>,
}

/// A counter of several recordings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinedCounter {
    /// What it counts.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Average, minimum and maximum, one a recording; absent where it has none.
    pub figures: Vec<Option<[Option<f64>; 3]>>,
}

/// What one host did while it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Name of the host.
    pub host: String,
    /// What was recorded, when and by which program, in one line.
    pub about: String,
    /// The file it was read from.
    pub file: String,
    /// The figures asked for first.
    pub keys: Vec<Key>,
    /// One row a counter.
    pub counters: Vec<Counter>,
    /// What the counters come to over the whole recording, with the rule by which it was counted.
    pub totals: Vec<Fact>,
    /// Commands, the most processor time first.
    pub commands: Vec<Command>,
    /// When the figures of the charts were taken.
    pub time: ChartTime,
    /// What a reader looks at first.
    pub charts: Vec<HistoryChart>,
    /// What else was recorded; folded away at first.
    pub further: Vec<HistoryChart>,
    /// What a reader must know of the charts, and which sections have none.
    pub notes: Vec<String>,
    /// What is known of the host and the recording.
    pub facts: Vec<Fact>,
    /// Figures that must agree with each other.
    pub check: Check,
    /// What was wrong with the file.
    pub troubles: Vec<Remark>,
    /// Troubles beyond those that were kept.
    pub troubles_left_out: u64,
}

/// Something known, by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value in words.
    pub value: String,
}

/// A figure to be seen first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
    /// What there is to say about it.
    pub about: String,
}

/// A counter over the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// What it counts.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Average over time.
    pub average: Option<f64>,
    /// The smallest figure.
    pub min: Option<f64>,
    /// The largest figure.
    pub max: Option<f64>,
    /// Figures that are missing.
    pub missing: u64,
    /// The columns it was made from, and how.
    pub source: String,
}

/// What the processes of one command used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The command.
    pub name: String,
    /// Processor time, seconds.
    pub cpu_s: f64,
    /// The most that one process took in an interval, percent of one processor.
    pub cpu_max_percent: f64,
    /// The most memory one process held, KiB.
    pub resident_max_kib: Option<f64>,
}

/// Comparisons of figures that must agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Comparisons made.
    pub comparisons: u64,
    /// Figures that cannot be true.
    pub findings: Vec<Remark>,
    /// Findings beyond those that were kept.
    pub left_out: u64,
}

/// Words about a line of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1.
    pub line: u64,
    /// What there is to say.
    pub text: String,
}

impl Recordings {
    /// The hosts in one line; of many only the first.
    fn title(&self) -> String {
        const NAMED: usize = 4;
        let names: Vec<&str> = self.list.iter().map(|one| one.host.as_str()).collect();
        match names.len() {
            0 => "No recordings".into(),
            n if n > NAMED => format!("{} and {} more", names[..NAMED].join(", "), n - NAMED),
            _ => names.join(", "),
        }
    }
}

impl Check {
    /// The verdict: a word, the class of its colours, and what it rests on.
    fn verdict(&self) -> (&'static str, &'static str, String) {
        let findings = self.findings.len() as u64 + self.left_out;
        match (self.comparisons, findings) {
            (0, 0) => ("NOT CHECKED", "open", "No figures that must agree were recorded.".into()),
            (n, 0) => (
                "CONSISTENT",
                "good",
                format!("{} of figures that must agree, nothing found.", counted(n, "comparison")),
            ),
            (n, found) => (
                "NOT CONSISTENT",
                "bad",
                format!(
                    "{} cannot be true beside the others, in {}.",
                    counted(found, "figure"),
                    counted(n, "comparison")
                ),
            ),
        }
    }
}

impl Recording {
    /// Troubles, those included that were not kept.
    fn troubles_all(&self) -> u64 {
        self.troubles.len() as u64 + self.troubles_left_out
    }
}
