//! Charts of Windows' performance counters: which belong together, and which of them are drawn.

use std::collections::BTreeMap;

use plumb_nmon::{Column, CounterObject, Recording, counter_unit};

use crate::moments::Moments;
use crate::recording::{HistoryChart, Series};

/// Lines that are told apart in one chart.
const LINES_MAX: usize = 6;
/// Charts that are drawn; a page is read by people.
const CHARTS_MAX: usize = 36;
/// The instance that is all of them together.
const TOTAL: &str = "_Total";

/// Counters that are drawn together: of one object and one unit.
#[derive(Debug)]
pub(crate) struct Charts<'r> {
    charts: Vec<Together<'r>>,
    /// Charts beyond those that are drawn.
    pub(crate) left_out: usize,
}

/// One chart.
#[derive(Debug)]
struct Together<'r> {
    machine: Option<&'r str>,
    object: &'r str,
    unit: &'static str,
    lines: Vec<Counter<'r>>,
}

#[derive(Clone, Copy, Debug)]
struct Counter<'r> {
    section: &'r str,
    instance: Option<&'r str>,
    column: &'r Column,
}

impl<'r> Charts<'r> {
    /// Those of `recording`, in the order of its columns.
    pub(crate) fn of(recording: &'r Recording) -> Self {
        let mut charts: Vec<Together<'r>> = Vec::new();
        let mut places = BTreeMap::new();
        for section in &recording.sections {
            let Some(object) = CounterObject::of(section) else { continue };
            let (machine, name) = (object.machine, object.name);
            for column in section.columns.iter().filter(|column| column.stat.count() > 0) {
                let unit = counter_unit(&column.name);
                // of counters without a unit nobody knows whether they can be compared
                let alone = unit.is_empty().then_some(&column.name);
                let at = *places.entry((machine, name, unit, alone)).or_insert(charts.len());
                if at == charts.len() {
                    charts.push(Together { machine, object: name, unit, lines: Vec::new() });
                }
                let instance = object.instance;
                charts[at].lines.push(Counter { section: &section.name, instance, column });
            }
        }
        let mut charts: Vec<Together<'r>> = charts.into_iter().flat_map(Together::apart).collect();
        let left_out = charts.len().saturating_sub(CHARTS_MAX);
        charts.truncate(CHARTS_MAX);
        Self { charts, left_out }
    }

    /// The sections whose figures are drawn.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &'r str> {
        self.charts.iter().flat_map(|chart| chart.lines.iter().take(LINES_MAX).map(|it| it.section))
    }

    /// The charts, whose sections were read with every figure.
    pub(crate) fn drawn(&self, moments: &Moments) -> Vec<HistoryChart> {
        let drawn = self.charts.iter().map(|chart| chart.drawn(moments));
        drawn.filter(|chart| !chart.series.is_empty()).collect()
    }
}

impl<'r> Together<'r> {
    /// The same as several charts of one counter each, where it has more lines than can be told apart.
    fn apart(self) -> Vec<Self> {
        if self.lines.len() <= LINES_MAX {
            return vec![self];
        }
        let mut charts: Vec<Self> = Vec::new();
        let mut places = BTreeMap::new();
        for line in self.lines {
            let at = *places.entry(&line.column.name).or_insert(charts.len());
            if at == charts.len() {
                charts.push(Self { lines: Vec::new(), ..self });
            }
            charts[at].lines.push(line);
        }
        charts.iter_mut().for_each(Self::rank);
        charts
    }

    /// The total first, then what is highest.
    fn rank(&mut self) {
        let of = |line: &Counter<'_>| (line.instance != Some(TOTAL), line.column.stat.average());
        self.lines.sort_by(|one, other| {
            let (one, other) = (of(one), of(other));
            let average = |of: Option<f64>| of.unwrap_or(f64::MIN);
            one.0.cmp(&other.0).then(average(other.1).total_cmp(&average(one.1)))
        });
    }

    fn drawn(&self, moments: &Moments) -> HistoryChart {
        let first = self.lines[0];
        let one_counter = self.lines.iter().all(|it| it.column.name == first.column.name);
        let one_instance = self.lines.iter().all(|it| it.instance == first.instance);
        let name = |line: &Counter<'_>| match (line.instance, one_counter, one_instance) {
            (Some(instance), true, false) => instance.to_owned(),
            (Some(instance), false, false) => format!("{instance}: {}", line.column.name),
            _ => line.column.name.clone(),
        };
        let lines = self
            .lines
            .iter()
            .take(LINES_MAX)
            .map(|line| Series { name: name(line), values: moments.values(&line.column.series) });
        let known = |line: &Series| line.values.iter().any(|value| value.is_finite());
        let mut series: Vec<Series> = lines.filter(known).collect();
        let unit = crate::scale::scaled(self.unit, &mut series);
        let machine = self.machine.map(|machine| format!("\\\\{machine}\\")).unwrap_or_default();
        let instance = first.instance.filter(|_| one_instance);
        let instance = instance.map(|instance| format!("({instance})")).unwrap_or_default();
        // a chart of one line names it behind its title, and one along zero is not drawn
        let moves = series.iter().flat_map(|line| &line.values).any(|value| *value > 0.0);
        let named = one_counter && (series.len() > 1 || !moves);
        let counter = if named { format!(": {}", first.column.name) } else { String::new() };
        let all = self.lines.len();
        let note = format!(
            "{LINES_MAX} of {all} instances are drawn: a total first, then those with the highest average."
        );
        HistoryChart {
            title: format!("{machine}{}{instance}{counter}", self.object),
            axis: if unit.is_empty() { first.column.name.clone() } else { unit.clone() },
            unit,
            series,
            notes: (all > LINES_MAX).then_some(note).into_iter().collect(),
            stacked: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_nmon::{Options, Series as Wanted};

    use super::*;

    fn drawn(header: &str, rows: &[&str]) -> Vec<HistoryChart> {
        let file = format!("\"(PDH-CSV 4.0) (UTC)(0)\",{header}\n{}\n", rows.join("\n"));
        let options = Options { series: Wanted::All, ..Options::default() };
        let read = plumb_nmon::read(file.as_bytes(), &options).unwrap();
        let recording = &read.recordings[0];
        Charts::of(recording).drawn(&Moments::of(&recording.timeline))
    }

    fn outline(charts: &[HistoryChart]) -> Vec<(String, String, Vec<String>)> {
        let names = |chart: &HistoryChart| chart.series.iter().map(|it| it.name.clone()).collect();
        charts.iter().map(|it| (it.title.clone(), it.unit.clone(), names(it))).collect()
    }

    #[test]
    fn an_object_is_a_chart_for_each_unit() {
        let header = r"\\A\Memory\Available MBytes,\\A\Memory\Pages/sec,\\A\Memory\Faults/sec,\\A\System\Threads,\\A\System\Queue,\\B\Memory\Pages/sec";
        let rows = ["11/28/2026 10:00:00,5000,1,2,300,0,7", "11/28/2026 10:00:15,6000,1,2,300,0, "];
        let told = outline(&drawn(header, &rows));
        let of = |title: &str, unit: &str, names: &[&str]| {
            (title.to_owned(), unit.to_owned(), names.iter().map(ToString::to_string).collect())
        };
        let expected = [
            of("Memory", "MB", &["Available MBytes"]),
            of("Memory", "1/s", &["Pages/sec", "Faults/sec"]),
            of("System", "", &["Threads"]),
            of("System: Queue", "", &["Queue"]),
            of(r"\\B\Memory", "1/s", &["Pages/sec"]),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn of_many_instances_the_total_and_the_highest_are_drawn() {
        let instances: Vec<String> =
            (0..9).map(|at| format!(r"\\A\Process(p{at})\% Time")).collect();
        let header = format!(r"{},\\A\Process(_Total)\% Time", instances.join(","));
        let rows =
            ["11/28/2026 10:00:00,0,1,2,3,4,5,6,7,8,9", "11/28/2026 10:00:15,0,1,2,3,4,5,6,7,8,9"];
        let charts = drawn(&header, &rows);
        let [chart] = &charts[..] else { panic!("one chart: {charts:?}") };
        assert_eq!(chart.title, "Process: % Time");
        let names: Vec<&str> = chart.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["_Total", "p8", "p7", "p6", "p5", "p4"]);
        assert!(chart.notes[0].starts_with("6 of 10 instances"), "{chart:?}");
    }
}
