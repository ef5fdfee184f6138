//! Runs that can stand in one chart: of one layer, one verb and one kind of load.

use std::collections::{BTreeMap, BTreeSet};

use plumb_folder::FoundExperiment;

use super::cell::{Cell, Figures};
use super::entry::Entry;
use super::naming;
use super::plan::Plan;
use crate::labels::{LabelMap, Labels, by_labels};
use crate::noun::Noun;
use crate::sweep::Sweep;
use crate::trust::Trust;

/// The runs of one kind.
#[derive(Clone, Debug)]
pub(super) struct RunGroup {
    pub(super) layer: String,
    pub(super) verb: String,
    /// `closed` or `open`.
    pub(super) load: String,
    /// Numbers of its plans.
    pub(super) plans: Vec<usize>,
    /// In the order of their labels.
    pub(super) cells: Vec<Cell>,
}

impl RunGroup {
    /// The kinds of `plans`, in the order in which they come first.
    pub(super) fn all(
        plans: &[Plan],
        entries: &[Entry],
        experiments: &[FoundExperiment],
    ) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        for (number, plan) in plans.iter().enumerate() {
            match kinds.iter_mut().find(|kind| kind.key() == plan.kind()) {
                Some(kind) => kind.plans.push(number),
                None => kinds.push(Self {
                    layer: plan.layer.clone(),
                    verb: plan.verb.clone(),
                    load: plan.load.clone(),
                    plans: vec![number],
                    cells: Vec::new(),
                }),
            }
        }
        for kind in &mut kinds {
            kind.cells = cells(&kind.plans, plans, entries, experiments);
        }
        kinds
    }

    fn key(&self) -> (&str, &str, &str) {
        (&self.layer, &self.verb, &self.load)
    }

    /// True of streams, whose operations are buffers that nobody asks for.
    pub(super) fn is_stream(&self) -> bool {
        (self.layer.as_str(), self.verb.as_str()) == ("net", "stream")
    }

    /// What it is called: `net ping, closed load`.
    pub(super) fn name(&self) -> String {
        format!("{} {}, {} load", self.layer, self.verb, self.load)
    }

    /// The same without the blocks of experiments, which have a page of their own; all of it where there
    /// is nothing else.
    pub(super) fn beside_experiments(&self, plans: &[Plan]) -> Self {
        let is_block = |cell: &&Cell| plans[cell.plan].variant.is_some();
        let cells: Vec<Cell> = self.cells.iter().filter(|cell| !is_block(cell)).cloned().collect();
        let cells = if cells.is_empty() { self.cells.clone() } else { cells };
        Self { cells, ..self.clone() }
    }

    /// The words of its layer.
    pub(super) fn noun(&self) -> Noun {
        Noun::of_words(&self.layer, &self.verb)
    }

    /// What tells its cells apart.
    pub(super) fn labels(&self) -> Labels<'_> {
        Labels::of(&self.cells.iter().map(|cell| &cell.labels).collect::<Vec<_>>())
    }

    /// Its cells along the label that varies most.
    pub(super) fn sweep<'a>(&'a self, labels: &Labels<'a>) -> Option<Sweep<'a, &'a Cell>> {
        let things: Vec<(&LabelMap, &Cell)> =
            self.cells.iter().map(|cell| (&cell.labels, cell)).collect();
        Sweep::of(labels, &things)
    }

    /// The cells whose latency may be used, with their median in nanoseconds, the shortest first.
    pub(super) fn medians(&self) -> Vec<(&Cell, u64)> {
        let valid = self.cells.iter().filter(|cell| cell.trust() == Trust::Full);
        let mut medians: Vec<(&Cell, u64)> =
            valid.filter_map(|cell| Some((cell, cell.figures.times?.p50))).collect();
        medians.sort_by_key(|(_, median)| *median);
        medians
    }

    /// True when no two of its cells were ever repeated.
    pub(super) fn repeats(&self) -> bool {
        self.cells.iter().any(Cell::repeated)
    }
}

/// The points of the plans, each with the results of all runs that repeat it.
fn cells(
    numbers: &[usize],
    plans: &[Plan],
    entries: &[Entry],
    experiments: &[FoundExperiment],
) -> Vec<Cell> {
    let ours: BTreeSet<usize> = numbers.iter().copied().collect();
    let mut points: BTreeMap<usize, BTreeSet<LabelMap>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| ours.contains(&entry.plan)) {
        let labels = entry.points.iter().map(|point| point.labels.clone());
        points.entry(entry.plan).or_default().extend(labels);
    }
    let own = naming::labels(numbers, plans, experiments, &points);
    let mut found: BTreeMap<(usize, LabelMap), Vec<(usize, usize)>> = BTreeMap::new();
    for (run, entry) in entries.iter().enumerate() {
        if ours.contains(&entry.plan) {
            for (at, point) in entry.points.iter().enumerate() {
                found.entry((entry.plan, point.labels.clone())).or_default().push((run, at));
            }
        }
    }
    let mut cells: Vec<Cell> = found
        .into_iter()
        .map(|((plan, point), members)| {
            let mut labels = own.get(&plan).cloned().unwrap_or_default();
            labels.extend(point.clone());
            let cell = Cell { labels, plan, point, members, figures: Figures::default() };
            cell.summed_up(entries)
        })
        .collect();
    cells.sort_by(|a, b| by_labels(&a.labels, &b.labels));
    cells
}
