//! What a watch has seen in all.

use plumb_measure::statistics::{CHANGE_SIDE_MIN, change_points};
use plumb_measure::{counted, real, rounded, show_ns};

use super::entry::Entry;

/// What a watch has seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summary {
    all: usize,
    /// Those of which there are no figures.
    missing: usize,
    /// Those whose figures may not be used.
    invalid: usize,
    /// Those that missed a threshold.
    over: usize,
    /// The first measurement at another level of the median, the level before and its own, nanoseconds.
    changes: Vec<(String, u64, u64)>,
}

impl Summary {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let valid: Vec<(&Entry, f64)> = entries
            .iter()
            .filter(|entry| entry.valid)
            .filter_map(|entry| Some((entry, real(entry.p50_ns?))))
            .collect();
        let series: Vec<f64> = valid.iter().map(|(_, ns)| *ns).collect();
        let changes = change_points(&series).into_iter().filter_map(|change| {
            let (entry, _) = valid.get(change.at)?;
            Some((entry.at.clone(), rounded(change.before), rounded(change.after)))
        });
        let unusable = entries.iter().filter(|entry| !entry.valid);
        // streams have no response times
        let is_missing = |entry: &&Entry| entry.p50_ns.is_none() && entry.operations == 0;
        let missing = unusable.clone().filter(is_missing).count();
        let invalid = unusable.count() - missing;
        let over = entries.iter().filter(|entry| entry.missed.is_some()).count();
        Self { all: entries.len(), missing, invalid, over, changes: changes.collect() }
    }

    /// True when nothing is to be looked at.
    pub(super) fn is_quiet(&self) -> bool {
        self.missing == 0 && self.invalid == 0 && self.over == 0 && self.changes.is_empty()
    }

    /// In some lines.
    pub(super) fn shown(&self, entries: &[Entry]) -> String {
        let Self { all, missing, invalid, over, changes } = self;
        let mut text = counted(*all as u64, "measurement");
        if *missing > 0 {
            text += &format!(", {missing} without an answer");
        }
        if *invalid > 0 {
            text += &format!(", {invalid} not valid");
        }
        if *over > 0 {
            text += &format!(", {over} missed a threshold");
        }
        text.push('\n');
        for (at, before, after) in changes {
            let (before, after) = (show_ns(*before), show_ns(*after));
            text += &format!(
                "the median changed with the measurement of {at}: {before} before, {after} since\n"
            );
        }
        let used = entries.iter().filter(|entry| entry.valid && entry.p50_ns.is_some()).count();
        if used == 0 && entries.iter().any(|entry| entry.valid) {
            text += "without response times no change can be looked for\n";
        } else if changes.is_empty() {
            text += &match used >= 2 * CHANGE_SIDE_MIN {
                true => "no change of the median was found\n".to_owned(),
                false => format!(
                    "too few to look for changes: {used} valid ones, {} are needed\n",
                    2 * CHANGE_SIDE_MIN
                ),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: usize, ns: Option<u64>, valid: bool) -> Entry {
        Entry { p50_ns: ns, valid, ..Entry::none(format!("t{number}"), "nobody answers".into()) }
    }

    /// Medians that scatter a little around `ns`.
    fn around(ns: u64, count: usize) -> impl Iterator<Item = u64> {
        (0..count as u64).map(move |n| ns + n * 7_919 % 1_000)
    }

    #[test]
    fn a_level_that_changed_is_named_with_its_first_measurement() {
        let times = around(100_000, 30).chain(around(150_000, 30));
        let entries: Vec<Entry> =
            times.enumerate().map(|(number, ns)| entry(number, Some(ns), true)).collect();
        let summary = Summary::of(&entries);
        assert_eq!(summary.changes.len(), 1, "{summary:?}");
        assert_eq!(summary.changes[0].0, "t30");
        assert!(!summary.is_quiet());
        let shown = summary.shown(&entries);
        assert!(shown.contains("measurement of t30: 101 us before, 151 us since"), "{shown}");
        assert!(entries[30].shown().contains("p50 150 us, p95 -"), "{}", entries[30].shown());
        let even = Summary::of(&entries[..30]);
        assert!(even.is_quiet(), "{even:?}");
        assert!(even.shown(&entries[..30]).contains("no change of the median"));
    }

    #[test]
    fn a_threshold_that_was_missed_is_counted_and_its_figures_make_a_level() {
        let mut entries: Vec<Entry> = around(100_000, 30)
            .chain(around(150_000, 30))
            .enumerate()
            .map(|(number, ns)| entry(number, Some(ns), true))
            .collect();
        for entry in &mut entries[30..] {
            entry.missed = Some("1 threshold missed: p95 < 120us".into());
        }
        let summary = Summary::of(&entries);
        assert_eq!((summary.missing, summary.invalid, summary.over), (0, 0, 30));
        assert_eq!(summary.changes.len(), 1, "{summary:?}");
        let few = &entries[30..33];
        assert!(!Summary::of(few).is_quiet());
        assert!(Summary::of(few).shown(few).starts_with("3 measurements, 3 missed a threshold\n"));
        let shown = few[0].shown();
        assert!(shown.ends_with("0 failed; 1 threshold missed: p95 < 120us"), "{shown}");
        let steering = Entry::none("t".into(), "\u{1b}[2J\nforged".into()).shown();
        assert!(steering.ends_with("0 failed;  [2J forged"), "{steering}");
    }

    #[test]
    fn what_is_missing_or_not_valid_is_counted_and_makes_no_level() {
        let mut entries: Vec<Entry> = around(100_000, 30)
            .enumerate()
            .map(|(number, ns)| entry(number, Some(ns), true))
            .collect();
        entries.extend((30..60).map(|number| entry(number, Some(900_000), false)));
        entries.push(entry(60, None, false));
        let summary = Summary::of(&entries);
        assert_eq!((summary.all, summary.missing, summary.invalid), (61, 1, 30));
        assert_eq!(summary.changes, []);
        let invalid = &entries[30..33];
        let shown = Summary::of(invalid).shown(invalid);
        assert!(shown.contains("too few to look for changes: 0 valid ones"), "{shown}");
        let stream = [Entry { operations: 9, ..entry(1, None, false) }];
        assert!(Summary::of(&stream).shown(&stream).starts_with("1 measurement, 1 not valid\n"));
        let without = [entry(1, None, true)];
        let shown = Summary::of(&without).shown(&without);
        assert!(shown.contains("without response times"), "{shown}");
        let few = Summary::of(&entries[..3]).shown(&entries[..3]);
        assert!(few.contains("too few to look for changes: 3 valid ones"), "{few}");
    }
}
