//! Runs that are looked into: what happened when, with what the machines did under the load.

use std::cmp::Reverse;

use maud::Markup;
use plumb_folder::HostTrack;
use plumb_measure::RunRecord;

use super::entry::Entry;
use super::kind::RunGroup;
use crate::chart;
use crate::points::spread;
use crate::trust::Trust;

/// Runs of a report that are looked into.
const RUNS_MAX: usize = 6;
/// Places of a chart over time: these charts stand many to a page.
const PLACES_MAX: usize = 120;

/// A run over time.
pub(super) struct RunTimeline {
    /// Number of the run.
    pub(super) run: usize,
    /// Why it was chosen; empty when all are shown.
    pub(super) why: &'static str,
    /// On one axis of time.
    pub(super) charts: Vec<Markup>,
    /// What a reader must know of them.
    pub(super) notes: Vec<String>,
}

impl RunTimeline {
    /// The runs that tell most, with their charts; a run that kept no intervals has none.
    pub(super) fn all(kinds: &[RunGroup], entries: &[Entry]) -> Vec<Self> {
        chosen(kinds, entries)
            .into_iter()
            .filter_map(|(run, why)| {
                // it was read before: one that has gone meanwhile is not looked into
                let record = plumb_folder::read_record(&entries[run].path).ok()?;
                let tracks = plumb_folder::read_host_tracks(&entries[run].path, &record.started);
                let (charts, notes) = over_time(&record, &tracks.unwrap_or_default());
                (!charts.is_empty()).then_some(Self { run, why, charts, notes })
            })
            .collect()
    }
}

/// The load over time, and under it what the machines did.
fn over_time(record: &RunRecord, tracks: &[HostTrack]) -> (Vec<Markup>, Vec<String>) {
    let mut charts = chart::timelines_within(record, PLACES_MAX);
    let mut notes = Vec::new();
    if charts.is_empty() {
        return (charts, notes);
    }
    let end_ns = chart::end_ns(record).unwrap_or(1);
    for track in tracks {
        let (drawn, said) = chart::machine(track, end_ns);
        charts.extend(drawn);
        notes.extend(said);
    }
    if tracks.is_empty() {
        notes.push("No samples of a machine lie in its folder.".into());
    }
    (charts, notes)
}

/// All runs when they are few; else the slowest and the fastest of each kind, one that is not valid,
/// and others evenly spread over the time.
fn chosen(kinds: &[RunGroup], entries: &[Entry]) -> Vec<(usize, &'static str)> {
    if entries.len() <= RUNS_MAX {
        return (0..entries.len()).map(|run| (run, "")).collect();
    }
    let mut list: Vec<(usize, &'static str)> = Vec::new();
    for kind in kinds {
        let members = kind.cells.iter().flat_map(|cell| &cell.members);
        let medians = members.filter_map(|(run, at)| {
            let point = Some(&entries[*run].points[*at]).filter(|it| it.trust == Trust::Full)?;
            Some((point.times?.p50, *run))
        });
        let ends = [
            (
                medians.clone().max_by_key(|(time, run)| (*time, Reverse(*run))),
                "the run with the longest median",
            ),
            (medians.min(), "the run with the shortest median"),
        ];
        for (found, why) in ends {
            list.extend(found.map(|(_, run)| (run, why)));
        }
    }
    let invalid = entries.iter().position(|run| !run.trust.leaves_any());
    list.insert(list.len().min(2), (invalid.unwrap_or(usize::MAX), "a run that is not valid"));
    let spread = spread(entries.len(), RUNS_MAX).into_iter();
    list.extend(spread.map(|run| (run, "one of those evenly spread over the time")));
    let mut kept: Vec<(usize, &'static str)> = Vec::new();
    for (run, why) in list {
        let new = run < entries.len() && kept.iter().all(|(other, _)| *other != run);
        if new && kept.len() < RUNS_MAX {
            kept.push((run, why));
        }
    }
    kept.sort_by_key(|(run, _)| *run);
    kept
}
