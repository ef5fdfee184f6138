//! The curves of a kind: read once more from the records, merged where runs repeat each other.

use std::collections::BTreeMap;

use maud::Markup;
use plumb_chart::LINES_MAX;
use plumb_measure::Distribution;

use super::cell::Cell;
use super::entry::Entry;
use super::kind::RunGroup;
use crate::chart::{self, Curve, Panel};
use crate::figures::grouped;
use crate::merged::Merged;
use crate::points::spread;
use crate::trust::Trust;

/// Charts of curves that are still read.
const PANELS_MAX: usize = 4;

/// A chart of curves before its records are read: a title and the cells.
type Outline<'a> = (String, Vec<Named<'a>>);

/// A cell as a chart names it.
struct Named<'a> {
    name: String,
    cell: &'a Cell,
    /// Of a series that has the same colour in every chart.
    colour: Option<usize>,
}

impl<'a> Named<'a> {
    fn new(name: String, cell: &'a Cell) -> Self {
        Self { name, cell, colour: None }
    }
}

/// The charts of curves of a kind, and what a reader must know of them.
pub(super) fn charts(kind: &RunGroup, entries: &[Entry]) -> (Vec<Markup>, Vec<String>) {
    let outlines = outlines(kind);
    let cells: Vec<&Cell> =
        outlines.iter().flat_map(|(_, curves)| curves.iter().map(|named| named.cell)).collect();
    let read = Read::of(&cells, entries);
    let mut notes = Vec::new();
    let whole = kind.cells.iter().filter(|cell| cell.figures.timed > 0).count();
    if cells.len() < whole {
        notes.push(format!(
            "{} of {} curves are drawn, evenly spread; the table holds every point.",
            grouped(cells.len() as u64),
            grouped(whole as u64)
        ));
    }
    if read.merged > 0 {
        notes.push(
            "A curve of several runs is that of all their samples together: they repeat one plan. \
             Runs of different plans are never merged."
                .to_owned(),
        );
    }
    if read.lost > 0 {
        notes.push(format!(
            "{} could not be read once more for the curves, and {} part in none.",
            super::counted(read.lost, "distribution"),
            if read.lost == 1 { "has" } else { "have" }
        ));
    }
    let mut curves = read.curves.iter();
    let panels = outlines.iter().map(|(title, named)| Panel {
        title: title.clone(),
        curves: named
            .iter()
            .zip(curves.by_ref())
            .filter_map(|(Named { name, cell, colour }, found)| {
                let (times, runs) = found.as_ref()?;
                let name = match runs {
                    1 => name.clone(),
                    _ => format!("{name} ({runs} runs merged)"),
                };
                Some(Curve { name, times, trust: cell.trust(), colour: *colour })
            })
            .collect(),
    });
    let panels: Vec<Panel<'_>> = panels.collect();
    (chart::curves(read.floor.as_ref(), panels), notes)
}

/// Which curves share a chart: those at one value of the sweep, or all.
fn outlines(kind: &RunGroup) -> Vec<Outline<'_>> {
    const TITLE: &str = "Response time by percentile";
    let labels = kind.labels();
    let drawn = |cell: &&Cell| cell.figures.timed > 0;
    let Some(sweep) = kind.sweep(&labels) else {
        let all = kind.cells.iter().filter(drawn);
        let all = all.map(|cell| Named::new(labels.name(&cell.labels), cell));
        return vec![(TITLE.into(), thinned(all.collect()))];
    };
    if let [only] = &sweep.series[..] {
        let values = sweep.values.iter().zip(&only.places);
        let curves = values.filter_map(|(value, cell)| {
            let cell = cell.filter(|cell| drawn(cell))?;
            Some(Named::new(format!("{} {value}", sweep.label), cell))
        });
        return vec![(TITLE.into(), thinned(curves.collect()))];
    }
    let few = sweep.series.len() <= LINES_MAX;
    spread(sweep.values.len(), PANELS_MAX)
        .into_iter()
        .map(|at| {
            let curves = sweep.series.iter().enumerate().filter_map(|(number, series)| {
                let cell = series.places[at].filter(|cell| drawn(cell))?;
                let colour = few.then_some(number);
                Some(Named { name: series.name.clone(), cell, colour })
            });
            let title = format!("{TITLE}, {} {}", sweep.label, sweep.values[at]);
            (title, thinned(curves.collect()))
        })
        .collect()
}

/// As many of the curves as can be told apart, evenly spread.
fn thinned(curves: Vec<Named<'_>>) -> Vec<Named<'_>> {
    let kept = spread(curves.len(), LINES_MAX);
    let all = curves.into_iter().enumerate();
    all.filter(|(at, _)| kept.contains(at)).map(|(_, curve)| curve).collect()
}

/// What was read once more.
#[derive(Default)]
struct Read {
    /// A distribution for each cell with the number of its runs; `None` where none can be read.
    curves: Vec<Option<(Distribution, usize)>>,
    /// The first floor that was found.
    floor: Option<Distribution>,
    /// Cells of several runs.
    merged: usize,
    /// Distributions that were there before and cannot be read any more.
    lost: usize,
}

/// The samples of one cell, as far as they were read.
enum Samples {
    None,
    One(Distribution),
    Several(Box<Merged>, usize),
}

impl Samples {
    /// Adds those of one run; false when they cannot be read.
    fn add(&mut self, times: Distribution) -> bool {
        match self {
            Self::None => *self = Self::One(times),
            Self::One(first) => {
                let mut merged = Box::new(Merged::new());
                let both = merged.add(first) && merged.add(&times);
                if !both {
                    return false;
                }
                *self = Self::Several(merged, 2);
            }
            Self::Several(merged, runs) => {
                if !merged.add(&times) {
                    return false;
                }
                *runs += 1;
            }
        }
        true
    }

    fn distribution(self) -> Option<(Distribution, usize)> {
        match self {
            Self::None => None,
            Self::One(times) => Some((times, 1)),
            Self::Several(merged, runs) => Some((merged.distribution()?, runs)),
        }
    }
}

impl Read {
    /// The distributions of `cells`: of those results that may be used, or of the only one.
    fn of(cells: &[&Cell], entries: &[Entry]) -> Self {
        let mut wanted: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (at, cell) in cells.iter().enumerate() {
            for (run, point) in &cell.members {
                let usable = entries[*run].points[*point].trust == Trust::Full;
                if usable || !cell.repeated() {
                    wanted.entry(*run).or_default().push((at, *point));
                }
            }
        }
        let mut read = Self::default();
        let mut samples: Vec<Samples> = cells.iter().map(|_| Samples::None).collect();
        for (run, places) in wanted {
            let Ok(mut responses) = plumb_folder::read_responses(&entries[run].path) else {
                read.lost += places.len();
                continue;
            };
            if read.floor.is_none() {
                read.floor = responses.floor.map(|floor| floor.service_ns);
            }
            for (cell, point) in places {
                // a run that goes on may have been written anew meanwhile
                let found = responses.results.get_mut(point);
                let found = found.filter(|result| result.labels == cells[cell].point);
                match found.and_then(|result| result.response_ns.take()) {
                    Some(times) => read.lost += usize::from(!samples[cell].add(times)),
                    None => read.lost += usize::from(entries[run].points[point].times.is_some()),
                }
            }
        }
        read.curves = samples.into_iter().map(Samples::distribution).collect();
        read.merged = read.curves.iter().flatten().filter(|(_, runs)| *runs > 1).count();
        read
    }
}
