//! The summary of a host recording, checked like any other table.

use plumb_nmon::{Doubt, HALF_DECIMAL, Nmon, Recording, Rule, TroubleKind};

use crate::figure::{Figure, Style};
use crate::finding::{Disagreement, Finding, Report};
use crate::interval::Interval;
use crate::likely::{cause, range, shown};

/// Checks every recording of a file, as [`of_nmon`] does, and that each is of one host: lines of
/// two that are mixed add up to figures of neither.
#[must_use]
pub fn of_file(file: &Nmon) -> Vec<Report> {
    let mut reports: Vec<Report> = file.recordings.iter().map(of_nmon).collect();
    for trouble in file.troubles.list() {
        let TroubleKind::HostsMixed(known, other) = &trouble.kind else { continue };
        let after = file.recordings.partition_point(|recording| recording.line <= trouble.line);
        if let Some(report) = reports.get_mut(after.saturating_sub(1)) {
            report.checked();
            report.add(Finding {
                line: trouble.line,
                row: "AAA".to_owned(),
                column: "host".to_owned(),
                kind: Disagreement::Hosts,
                printed: other.clone(),
                expected: known.clone(),
                formula: "one host a recording".to_owned(),
                likely: Some("files of two hosts were put together line by line".to_owned()),
            });
            report.sort();
        }
    }
    reports
}

/// Checks what must hold for every host, in every snapshot: processor shares add up to 100, those of
/// single processors are in the mean those of all, no percentage is above 100, nothing free is more
/// than there is, and processors busy are no more than there are.
#[must_use]
pub fn of_nmon(recording: &Recording) -> Report {
    let mut report = Report::default();
    let doubts = &recording.doubts;
    report.checked_often(doubts.comparisons());
    for doubt in doubts.list() {
        report.add(finding(doubt));
    }
    report.leave_out(doubts.left_out());
    processors(recording, &mut report);
    report.sort();
    report
}

fn finding(doubt: &Doubt) -> Finding {
    let expected = Interval { low: doubt.expected.0, high: doubt.expected.1 };
    let (kind, formula) = match doubt.rule {
        Rule::Shares => (Disagreement::Shares, "parts of 100"),
        Rule::Singles => (Disagreement::Shares, "the mean of the single processors"),
        Rule::Share => (Disagreement::Bound, "a share of 100 %"),
        Rule::Whole(whole) => (Disagreement::Bound, whole),
    };
    let place =
        FigurePosition { line: doubt.line, section: &doubt.section, snapshot: Some(doubt.id) };
    found(&place, &doubt.column, kind, doubt.value, expected, formula)
}

/// More processors cannot be busy than there are.
fn processors(recording: &Recording, report: &mut Report) {
    // processors may be switched on while it is recorded
    let counted = recording.column("CPU_ALL", "CPUs").and_then(|column| column.stat.max());
    let announced = recording.facts.cpus().map(f64::from);
    let most = announced.into_iter().chain(counted).reduce(f64::max);
    let (Some(busy), Some(most)) = (recording.cores_busy(), most) else { return };
    let Some(value) = busy.stat.max() else { return };
    let expected =
        Interval { low: f64::NEG_INFINITY, high: most * (1.0 + 2.0 * HALF_DECIMAL / 100.0) };
    report.checked();
    if !Interval::exactly(value).meets(expected) {
        let snapshot = busy.stat.max_at();
        // the line of its time, since the figure is made of several
        let line = snapshot.and_then(|id| recording.timeline.line_of(id)).unwrap_or(recording.line);
        let place = FigurePosition { line, section: "cores busy", snapshot };
        let rule = busy.rule.to_string();
        report.add(found(&place, &rule, Disagreement::Bound, value, expected, "processors online"));
    }
}

/// Where a figure stands.
struct FigurePosition<'a> {
    line: u64,
    section: &'a str,
    snapshot: Option<u64>,
}

fn found(
    place: &FigurePosition<'_>,
    column: &str,
    kind: Disagreement,
    value: f64,
    expected: Interval,
    formula: &str,
) -> Finding {
    let printed = shown(value);
    // nmon's figures have one decimal, also where it is zero
    let likely =
        Figure::parse(&format!("{value:.1}"), Style::default()).ok().flatten().and_then(|figure| {
            expected.low.is_finite().then(|| cause(&figure, expected, false)).flatten()
        });
    let expected = if expected.low.is_finite() {
        range(expected)
    } else {
        format!("at most {}", shown(expected.high))
    };
    Finding {
        line: place.line,
        row: within(place.section, place.snapshot),
        column: column.to_owned(),
        kind,
        printed,
        expected,
        formula: formula.to_owned(),
        likely,
    }
}

/// A section, and the snapshot that is meant.
fn within(section: &str, snapshot: Option<u64>) -> String {
    match snapshot {
        Some(id) => format!("{section} of T{id:04}"),
        None => section.to_owned(),
    }
}
