//! What a machine did under a load, on the axis of time of that load.

use maud::Markup;
use plumb_chart::{ChartTime, HistoryChart, Series, View, history};
use plumb_folder::{Counter, HostTrack, TrackPlace};

/// Strips that tell their figures: these charts stand many to a page.
const STRIPS: usize = 60;

/// The charts of a track on an axis that ends at `end_ns`, nanoseconds after the start of the run,
/// and what there is to say beside them.
pub(crate) fn charts(track: &HostTrack, end_ns: u64) -> (Vec<Markup>, Vec<String>) {
    let end_s = crate::figures::real(end_ns) / 1e9;
    let within = |place: &&TrackPlace| place.from_s < end_s;
    let at_s: Vec<f64> = track
        .places
        .iter()
        .filter(within)
        .map(|place| f64::midpoint(place.from_s, place.to_s).min(end_s))
        .collect();
    if at_s.len() < 2 {
        return (Vec::new(), Vec::new());
    }
    let time = ChartTime { clock_s: None, at_s };
    let count = time.at_s.len();
    let series = |name: &str, counter: Counter| {
        let values = track.of(counter).into_iter().take(count).collect();
        Series { name: name.into(), values }
    };
    let view = View { end_s: Some(end_s), strips: STRIPS };
    let draw = |title: &str, axis: &str, unit: &str, series: Vec<Series>| {
        let title = format!("{title}, {}", track.name);
        let all = HistoryChart {
            title,
            axis: axis.into(),
            unit: unit.into(),
            series,
            ..HistoryChart::default()
        };
        history(&all, &time, view)
    };
    let processors = vec![
        series("busy", Counter::Busy),
        series("soft interrupts", Counter::SoftInterrupts),
        series("disk wait", Counter::DiskWait),
        series("steal", Counter::Steal),
    ];
    let network = vec![series("received", Counter::Received), series("sent", Counter::Sent)];
    let mut charts: Vec<Markup> = Vec::new();
    charts.extend(draw("Processors", "% of all processors", "%", processors));
    charts.extend(draw("Network", "bytes a second", "B/s", network));
    let mut notes = Vec::new();
    let troubles = vec![
        series("pages swapped", Counter::Swapped),
        series("faults from disk", Counter::MajorFaults),
        series("segments sent again", Counter::SentAgain),
    ];
    let (known, silent): (Vec<Series>, Vec<Series>) =
        troubles.into_iter().partition(|one| one.values.iter().any(|value| *value > 0.0));
    let zero: Vec<&str> = silent
        .iter()
        .filter(|one| one.values.iter().any(|value| value.is_finite()))
        .map(|one| one.name.as_str())
        .collect();
    if !zero.is_empty() {
        notes.push(format!("Did not happen on {}: {}.", track.name, zero.join(", ")));
    }
    if !known.is_empty() {
        charts.extend(draw("Paging and loss", "a second", "/s", known));
    }
    if track.joined > 1 {
        notes.push(format!("{}: each place is the mean of {} samples.", track.name, track.joined));
    }
    (charts, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::place;

    fn track(busy: &[f64], swapped: f64) -> HostTrack {
        let places = busy.iter().enumerate().map(|(at, busy)| {
            let mut values = [f64::NAN; 9];
            values[Counter::Busy as usize] = *busy;
            values[Counter::Swapped as usize] = swapped;
            TrackPlace { from_s: place(at), to_s: place(at + 1), values }
        });
        HostTrack { name: "db1".into(), places: places.collect(), joined: 1 }
    }

    #[test]
    fn what_did_not_happen_is_said_and_not_drawn() {
        let (charts, notes) = charts(&track(&[40.0, 50.0, 60.0], 0.0), 3_000_000_000);
        assert_eq!(charts.len(), 1);
        assert_eq!(notes, ["Did not happen on db1: pages swapped."]);
    }

    #[test]
    fn paging_has_a_chart_and_what_lies_behind_the_run_is_left_out() {
        let (charts, notes) = charts(&track(&[40.0, 50.0, 99.0], 7.0), 2_000_000_000);
        assert_eq!((charts.len(), notes.len()), (2, 0));
        let page = charts[0].clone().into_string();
        assert!(page.contains("Processors, db1: busy") && !page.contains("99.0"), "{page}");
    }

    #[test]
    fn a_single_sample_is_no_course() {
        assert!(charts(&track(&[40.0], 0.0), 1_000_000_000).0.is_empty());
    }
}
