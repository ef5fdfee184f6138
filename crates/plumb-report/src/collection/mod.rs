//! Many runs on one page: folders of runs, experiments, repetitions and sweeps.
//!
//! | function | what it makes |
//! |---|---|
//! | [`html`] | one self-contained page with charts |
//! | [`markdown`] | tables to paste into a ticket |
//! | [`terminal`] | plain text, 80 columns |
//! | [`json`] | one JSON document |
//!
//! Records are read one after the other and kept without their histograms; what is drawn is read
//! once more. Runs of one plan under the same circumstances are repetitions of each other and
//! share a cell; nothing else is averaged, and what is not valid has no part in any figure
//! but the counts of operations, failures and dropped work.

mod cell;
mod claim;
mod definitions;
mod entry;
mod html;
mod json;
mod kind;
mod look;
mod markdown;
mod naming;
mod plan;
mod sketch;
mod tables;
mod terminal;

use std::collections::BTreeMap;

use plumb_folder::{FolderError, Found, FoundExperiment, IntervalLog, Unread, record_digest};

pub use html::render as html;
pub use json::{SCHEMA, render as json};
pub use markdown::render as markdown;
pub use terminal::render as terminal;

use crate::trust::Trust;
use entry::Entry;
use kind::RunGroup;
use plan::Plan;

/// Runs and experiments as one report shows them.
#[derive(Debug)]
pub struct Collection {
    /// The program that made the report.
    version: &'static str,
    /// In order of time.
    entries: Vec<Entry>,
    plans: Vec<Plan>,
    kinds: Vec<RunGroup>,
    experiments: Vec<FoundExperiment>,
    unread: Vec<Unread>,
}

impl Collection {
    /// Reads everything that was found.
    ///
    /// # Errors
    /// [`FolderError`] when a run that was named by itself cannot be read. One that lies in a folder
    /// that was named is kept among what cannot be shown, with its reason.
    pub fn read(found: Found) -> Result<Self, FolderError> {
        let Found { runs, experiments, mut unread, .. } = found;
        let mut plans: Vec<Plan> = Vec::new();
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut entries = Vec::new();
        let mut digests: BTreeMap<_, (usize, [bool; 2])> = BTreeMap::new();
        for run in runs {
            let record = match plumb_folder::read_record(&run.path) {
                Ok(record) => record,
                Err(error) if run.named => return Err(error),
                Err(error) => {
                    unread.push(Unread::of(&run.path, &error));
                    continue;
                }
            };
            // the copy of a folder is the same run; blocks belong to their experiment
            let digest = record_digest(&run.path).ok().filter(|_| run.block.is_none());
            let rank = [run.named, IntervalLog::of(&run.path).is_there()];
            if let Some((at, before)) = digest.as_ref().and_then(|it| digests.get_mut(it)) {
                // the one that was asked for stays, and the one with all that it left
                if rank > *before {
                    *before = rank;
                    let entry: &Entry = &entries[*at];
                    entries[*at] = Entry::of(&run.path, &record, None, entry.plan);
                }
                continue;
            }
            digests.extend(digest.map(|it| (it, (entries.len(), rank))));
            let plan = Plan::of(&record, run.block);
            let number = *numbers.entry(plan.key()).or_insert_with(|| {
                plans.push(plan);
                plans.len() - 1
            });
            plans[number].count(record.plan.seed);
            entries.push(Entry::of(&run.path, &record, run.block, number));
        }
        entries.sort_by(|a, b| (a.started_ns, &a.path).cmp(&(b.started_ns, &b.path)));
        let kinds = RunGroup::all(&plans, &entries, &experiments);
        let version = env!("CARGO_PKG_VERSION");
        Ok(Self { version, entries, plans, kinds, experiments, unread })
    }

    /// True when something that lies beside the runs could not be shown.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.unread.is_empty()
    }

    /// How many runs stand, have no latency, are not checked, and are invalid.
    fn verdicts(&self) -> [(Trust, usize); 4] {
        Trust::ALL
            .map(|trust| (trust, self.entries.iter().filter(|run| run.trust == trust).count()))
    }

    /// How many runs stand under a raised limit of foreign load, and the widest of these limits;
    /// `None` when none does.
    fn raised(&self) -> Option<String> {
        let limits = || self.entries.iter().filter_map(|run| run.raised);
        let widest = limits().reduce(|a, b| if a.percent() < b.percent() { b } else { a })?;
        let (raised, all) = (limits().count(), self.entries.len());
        Some(match (raised == all, limits().all(|it| it.share == widest.share)) {
            (true, true) => format!("limit raised to {widest}"),
            (true, false) => format!("limits raised to at most {widest}"),
            (false, true) => format!("limit of {} raised to {widest}", counted(raised, "run")),
            (false, false) => {
                format!("limits of {} raised to at most {widest}", counted(raised, "run"))
            }
        })
    }

    /// What is shown, in a few words.
    fn title(&self) -> String {
        let runs = counted(self.entries.len(), "run");
        let experiments = counted(self.experiments.len(), "experiment");
        let what = match (self.entries.len(), self.experiments.len()) {
            (_, 0) => runs,
            (0, _) => experiments,
            (_, 1) if self.entries.iter().all(|run| run.block.is_some()) => {
                format!("An experiment of {runs}")
            }
            _ => format!("{experiments}, {runs}"),
        };
        match &self.kinds[..] {
            [only] => format!("{what}: {} {}", only.layer, only.verb),
            _ => what,
        }
    }

    /// From the first start to the last: `2026-11-21T08:30:48Z to 2026-11-21T09:12:00Z`.
    fn period(&self) -> String {
        match &self.entries[..] {
            [] => String::new(),
            [only] => only.started.clone(),
            [first, .., last] if first.started == last.started => first.started.clone(),
            [first, .., last] => format!("{} to {}", first.started, last.started),
        }
    }
}

/// A count and its noun: `1 run`, `2,000 runs`.
fn counted(n: usize, noun: &str) -> String {
    plumb_measure::counted(n as u64, noun)
}
