//! Many contrasts at one look: a table for each probe, with a row for each combination of levels and
//! a column for each candidate.

use plumb_comparison::Contrast;

use super::contrasts::{Contrasts, Point, primary};
use super::figures::{change, interval, value, verdict};
use crate::figures::ABSENT;
use crate::labels::{LabelMap, Labels};
use crate::table::{Column, Table};

/// The label that names the probe, where there are several.
const PROBE: &str = "probe";

/// The primary figure of every contrast of one probe.
pub(super) struct Grid {
    /// The probe and its figure.
    pub(super) title: String,
    pub(super) table: Table,
}

/// A grid for each probe; none where a single point is compared.
pub(super) fn of(contrasts: &Contrasts<'_>) -> Vec<Grid> {
    grids(contrasts, None)
}

/// The same within `width` columns of text: with a table for each candidate, where one for all has
/// no room.
pub(super) fn within(contrasts: &Contrasts<'_>, width: usize) -> Vec<Grid> {
    let candidates = candidates(contrasts.all.iter());
    let mut singly: Vec<_> = candidates
        .into_iter()
        .map(|candidate| grids(contrasts, Some(candidate)).into_iter())
        .collect();
    let narrow = |whole: Grid| {
        let split: Vec<Grid> = singly.iter_mut().filter_map(Iterator::next).collect();
        if whole.table.width() <= width { vec![whole] } else { split }
    };
    of(contrasts).into_iter().flat_map(narrow).collect()
}

fn grids(contrasts: &Contrasts<'_>, only: Option<&str>) -> Vec<Grid> {
    let points = contrasts.points();
    if points.len() < 2 {
        return Vec::new();
    }
    let mut probes: Vec<Option<&str>> = Vec::new();
    for probe in points.iter().filter_map(labels).map(probe) {
        if !probes.contains(&probe) {
            probes.push(probe);
        }
    }
    let of_probe = |wanted: &Option<&str>| {
        let rows: Vec<&Point<'_>> =
            points.iter().filter(|point| labels(point).map(probe) == Some(*wanted)).collect();
        grid(*wanted, &rows, only)
    };
    probes.iter().map(of_probe).collect()
}

fn grid(probe: Option<&str>, points: &[&Point<'_>], only: Option<&str>) -> Grid {
    let maps: Vec<&LabelMap> = points.iter().filter_map(|point| labels(point)).collect();
    let varying = slowest_first(&maps);
    let contrasts = || points.iter().flat_map(|point| point.contrasts.iter().copied());
    let candidates: Vec<&str> = candidates(contrasts())
        .into_iter()
        .filter(|candidate| only.is_none_or(|only| only == *candidate))
        .collect();
    let baseline = contrasts().next().map_or("baseline", |contrast| &contrast.baseline);
    let mut columns: Vec<Column> = varying.iter().map(|label| Column::words(*label)).collect();
    columns.push(Column::figure(baseline));
    columns.extend(candidates.iter().map(|candidate| Column::words(*candidate)));
    let mut table = Table::new(columns);
    for point in points {
        let label = |name: &&str| labels(point).and_then(|labels| labels.get(*name).cloned());
        let label = |name| label(name).unwrap_or_else(|| ABSENT.into());
        let mut cells: Vec<String> = varying.iter().map(label).collect();
        let known = point.contrasts.iter().find_map(|contrast| primary(contrast));
        cells.push(known.map_or_else(|| ABSENT.into(), |one| value(&one.unit, one.baseline)));
        let cell = |candidate: &&str| {
            let contrast = point.contrasts.iter().find(|it| it.candidate == **candidate);
            contrast.map_or_else(|| ABSENT.into(), |contrast| said(contrast))
        };
        cells.extend(candidates.iter().map(cell));
        table.push(cells);
    }
    Grid { title: title(probe, contrasts()), table }
}

/// The labels that differ from row to row, the one that changes least often first.
fn slowest_first<'a>(rows: &[&'a LabelMap]) -> Vec<&'a str> {
    let mut varying = Labels::of(rows).varying;
    varying.retain(|label| *label != PROBE);
    let changes = |label: &&str| {
        rows.windows(2).filter(|two| two[0].get(*label) != two[1].get(*label)).count()
    };
    varying.sort_by_key(changes);
    varying
}

/// The change, its interval and what follows.
fn said(contrast: &Contrast) -> String {
    let Some(endpoint) = primary(contrast) else { return "not measured".into() };
    let word = verdict(endpoint);
    match (change(endpoint), interval(endpoint)) {
        (absent, _) if absent == ABSENT => word,
        (change, absent) if absent == ABSENT => format!("{change}, {word}"),
        (change, interval) => {
            format!("{change} ({}) {word}", interval.trim_end_matches(" %"))
        }
    }
}

fn title<'a>(probe: Option<&str>, contrasts: impl Iterator<Item = &'a Contrast>) -> String {
    let mut figures: Vec<&str> = Vec::new();
    for endpoint in contrasts.filter_map(primary) {
        if !figures.contains(&endpoint.name.as_str()) {
            figures.push(&endpoint.name);
        }
    }
    let figures = match figures[..] {
        [] => "no figure".into(),
        _ => figures.join(", "),
    };
    probe.map_or_else(|| figures.clone(), |probe| format!("{probe}: {figures}"))
}

fn labels<'a>(point: &Point<'a>) -> Option<&'a LabelMap> {
    point.contrasts.first().map(|contrast| &contrast.labels)
}

fn probe(labels: &LabelMap) -> Option<&str> {
    labels.get(PROBE).map(String::as_str)
}

/// Every candidate once, in the order of the record.
fn candidates<'a>(contrasts: impl Iterator<Item = &'a Contrast>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for contrast in contrasts {
        if !names.contains(&contrast.candidate.as_str()) {
            names.push(&contrast.candidate);
        }
    }
    names
}
