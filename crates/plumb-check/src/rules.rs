//! Every rule of a table against every row.

use crate::cell::At;
use crate::figure::Figure;
use crate::finding::{Disagreement, Finding, Report};
use crate::formula::Formula;
use crate::interval::Interval;
use crate::likely::{cause, range, shown};
use crate::table::{Cell, Extremes, Row, Rule, Table};

impl Table {
    /// Checks every figure that the header says something about.
    #[must_use]
    pub fn check(&self) -> Report {
        let mut report = Report::default();
        for row in &self.rows {
            for column in 0..self.columns.len() {
                self.cell(row, column, &mut report);
            }
            self.shares(row, &mut report);
        }
        if let Some(extremes) = &self.extremes {
            self.extremes(extremes, &mut report);
        }
        report.sort();
        report
    }

    fn cell(&self, row: &Row, column: usize, report: &mut Report) {
        let about = &self.columns[column];
        let needs_figure = about.unit.is_some() || !about.rules.is_empty();
        let figure = match row.cells.get(column) {
            Some(Cell::Figure(figure)) => figure,
            Some(Cell::Words(words)) if needs_figure => {
                let at = At { table: self, row, column };
                report.add(at.finding(Disagreement::Words, words, "a figure", "the header", None));
                return;
            }
            _ => return,
        };
        let at = At { table: self, row, column };
        if figure.odd && needs_figure {
            let expected = shown(figure.value);
            let likely = Some("the other separator is meant".to_owned());
            let finding = at.finding(
                Disagreement::Separator,
                &figure.text,
                &expected,
                "the decimal sign",
                likely,
            );
            report.add(finding);
        }
        at.link(figure, report);
        for rule in &about.rules {
            at.rule(rule, figure, report);
        }
    }

    /// Columns that are parts of the same whole.
    fn shares(&self, row: &Row, report: &mut Report) {
        let mut done: Vec<&str> = Vec::new();
        for column in &self.columns {
            for rule in &column.rules {
                if let Rule::PartOf(whole) = rule
                    && !done.contains(&whole.text.as_str())
                {
                    done.push(&whole.text);
                    self.whole(row, whole, report);
                }
            }
        }
    }

    fn whole(&self, row: &Row, whole: &Formula, report: &mut Report) {
        let belongs = |rule: &Rule| matches!(rule, Rule::PartOf(other) if other.text == whole.text);
        let parts: Vec<usize> = (0..self.columns.len())
            .filter(|at| self.columns[*at].rules.iter().any(belongs))
            .collect();
        let figures: Option<Vec<&Figure>> = parts.iter().map(|at| row.figure(*at)).collect();
        let (Some(figures), Some(expected)) =
            (figures, whole.value(&|column| row.interval(column)))
        else {
            return; // a share is missing
        };
        report.checked();
        let zero = Interval::exactly(0.0);
        let sum = figures.iter().fold(zero, |sum, figure| sum.plus(figure.interval));
        if sum.meets(expected) {
            return;
        }
        let total: f64 = figures.iter().map(|figure| figure.value).sum();
        let names: Vec<&str> = parts.iter().map(|at| self.columns[*at].name.as_str()).collect();
        let texts: Vec<&str> = figures.iter().map(|figure| figure.text.as_str()).collect();
        let off = expected.middle() - total;
        let likely = self.misprint(row, &parts, expected).unwrap_or_else(|| {
            let words =
                if off > 0.0 { "a share is missing or too small" } else { "a share is too large" };
            format!("{words} by {}", shown(off.abs()))
        });
        let finding = Finding {
            line: row.line,
            row: row.name(),
            column: names.join(" + "),
            kind: Disagreement::Shares,
            printed: format!("{} = {}", texts.join(" + "), shown(total)),
            expected: range(expected),
            formula: format!("parts of {}", whole.text),
            likely: Some(likely),
        };
        report.add(finding);
    }

    /// The one share that, read differently, makes the sum right.
    fn misprint(&self, row: &Row, parts: &[usize], whole: Interval) -> Option<String> {
        parts.iter().find_map(|part| {
            let figure = row.figure(*part)?;
            let others = parts.iter().filter(|other| *other != part);
            let rest = others
                .filter_map(|other| row.interval(*other))
                .fold(Interval::exactly(0.0), Interval::plus);
            let cause = cause(figure, whole.minus(rest), false)?;
            Some(format!("{}: {cause}", self.columns[*part].name))
        })
    }

    /// Averages outside of their extremes, where these are rows.
    fn extremes(&self, extremes: &Extremes, report: &mut Report) {
        let is = |row: &Row, word: &str| {
            row.cells
                .get(extremes.column)
                .is_some_and(|cell| cell.text().eq_ignore_ascii_case(word))
        };
        let mut found: [Option<&Row>; 3] = [None; 3];
        for row in &self.rows {
            let words = [&extremes.min, &extremes.average, &extremes.max];
            let Some(which) = words.iter().position(|word| is(row, word)) else { continue };
            if found[which].is_some() {
                found = [None; 3]; // the next group begins
            }
            found[which] = Some(row);
            if let [Some(min), Some(average), Some(max)] = found {
                for column in (0..self.columns.len()).filter(|at| *at != extremes.column) {
                    let at = At { table: self, row: average, column };
                    at.between(min.interval(column), max.interval(column), report);
                }
                found = [None; 3];
            }
        }
    }
}

impl Row {
    pub(crate) fn name(&self) -> String {
        self.cells.first().map(|cell| cell.text().to_owned()).unwrap_or_default()
    }
}
