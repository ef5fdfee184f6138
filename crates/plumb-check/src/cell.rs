//! The rules of a column against one of its figures.

use crate::figure::Figure;
use crate::finding::{Disagreement, Finding, Report};
use crate::formula::Formula;
use crate::interval::Interval;
use crate::likely::{cause, range, shown};
use crate::table::{Base, Improvement, Row, Rule, Table, Time};
use crate::unit::{self, Unit};

/// A cell of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'t> {
    pub(crate) table: &'t Table,
    pub(crate) row: &'t Row,
    pub(crate) column: usize,
}

impl At<'_> {
    fn name(&self, column: usize) -> &str {
        &self.table.columns[column].name
    }

    fn unit(&self, column: usize) -> Option<&Unit> {
        self.table.columns[column].unit.as_ref()
    }

    /// Bytes, seconds or ones of a unit of the column.
    fn base(&self, column: usize) -> f64 {
        self.unit(column).map_or(1.0, Unit::to_base)
    }

    fn is_data(&self) -> bool {
        self.unit(self.column).is_some_and(|unit| unit.kind == unit::Quantity::Data)
    }

    pub(crate) fn finding(
        &self,
        kind: Disagreement,
        printed: &str,
        expected: &str,
        formula: &str,
        likely: Option<String>,
    ) -> Finding {
        Finding {
            line: self.row.line,
            row: self.row.name(),
            column: self.name(self.column).to_owned(),
            kind,
            printed: printed.to_owned(),
            expected: expected.to_owned(),
            formula: formula.to_owned(),
            likely,
        }
    }

    pub(crate) fn rule(&self, rule: &Rule, figure: &Figure, report: &mut Report) {
        let value = |formula: &Formula| formula.value(&|column| self.row.interval(column));
        match rule {
            Rule::PartOf(_) => {} // looked at once a row
            Rule::Is(formula) => {
                self.is(figure, Disagreement::Formula, value(formula), &formula.text, report);
            }
            Rule::AtMost(formula) => {
                let bound = value(formula).map(|most| (f64::NEG_INFINITY, most.high));
                self.bound(figure, bound, &format!("at most {}", formula.text), report);
            }
            Rule::AtLeast(formula) => {
                let bound = value(formula).map(|least| (least.low, f64::INFINITY));
                self.bound(figure, bound, &format!("at least {}", formula.text), report);
            }
            Rule::Total { rate, time } => self.total(figure, *rate, time, report),
            Rule::SameAs(other) => {
                let factor = self.base(*other) / self.base(self.column);
                let expected = self.row.interval(*other).map(|other| other.times(factor));
                let unit = self.unit(*other).map_or("", |unit| unit.text.as_str());
                let formula = format!("{} in {unit}", self.name(*other));
                self.is(figure, Disagreement::Units, expected, &formula, report);
            }
            Rule::Between(min, max) => {
                self.between(self.row.interval(*min), self.row.interval(*max), report);
            }
            Rule::Improvement(improvement) => self.improvement(figure, improvement, report),
        }
    }

    /// A figure that must have a value.
    fn is(
        &self,
        figure: &Figure,
        kind: Disagreement,
        expected: Option<Interval>,
        formula: &str,
        report: &mut Report,
    ) {
        let Some(expected) = expected else { return };
        report.checked();
        if !figure.interval.meets(expected) {
            let likely = cause(figure, expected, self.is_data());
            report.add(self.finding(kind, &figure.text, &range(expected), formula, likely));
        }
    }

    fn bound(
        &self,
        figure: &Figure,
        bound: Option<(f64, f64)>,
        formula: &str,
        report: &mut Report,
    ) {
        let Some((low, high)) = bound else { return };
        report.checked();
        if !figure.interval.meets(Interval { low, high }) {
            let expected = if low.is_finite() { low } else { high };
            let finding =
                self.finding(Disagreement::Bound, &figure.text, &shown(expected), formula, None);
            report.add(finding);
        }
    }

    fn total(&self, figure: &Figure, rate: usize, time: &Time, report: &mut Report) {
        let (seconds, words) = match time {
            Time::Fixed(seconds) => {
                (Some(Interval::exactly(*seconds)), format!("{} s", shown(*seconds)))
            }
            Time::Column(column) => {
                let factor = self.base(*column);
                let seconds = self.row.interval(*column).map(|time| time.times(factor));
                (seconds, self.name(*column).to_owned())
            }
        };
        let factor = self.base(rate) / self.base(self.column);
        let expected = self.row.interval(rate).zip(seconds);
        let expected = expected.map(|(rate, seconds)| rate.by(seconds).times(factor));
        let formula = format!("{} x {words}", self.name(rate));
        self.is(figure, Disagreement::Total, expected, &formula, report);
    }

    /// A rate must not be more than the link carries.
    pub(crate) fn link(&self, figure: &Figure, report: &mut Report) {
        let (Some((text, link)), Some(unit)) = (&self.table.link, self.unit(self.column)) else {
            return;
        };
        if !unit.is_data_rate() {
            return;
        }
        report.checked();
        let directions = self.table.columns[self.column].directions;
        let most = link * directions / unit.to_base();
        let possible = Interval { low: f64::NEG_INFINITY, high: most };
        if figure.interval.meets(possible) {
            return;
        }
        let likely = figure
            .otherwise
            .filter(|otherwise| *otherwise <= most)
            .map(|otherwise| {
                format!("the separator is read the wrong way: as {} it fits", shown(otherwise))
            })
            .or_else(|| {
                let eighth = figure.interval.times(0.125).meets(possible);
                eighth.then(|| "a factor of 8: bits and bytes".to_owned())
            });
        let times = figure.value / most;
        let printed = format!("{} ({} times the link)", figure.text, shown(times));
        let expected = format!("at most {} {}", shown(most), unit.text);
        let formula = format!("the link of {text}, {directions} way(s)");
        report.add(self.finding(Disagreement::Link, &printed, &expected, &formula, likely));
    }

    pub(crate) fn between(
        &self,
        min: Option<Interval>,
        max: Option<Interval>,
        report: &mut Report,
    ) {
        let (Some(figure), Some(min), Some(max)) = (self.row.figure(self.column), min, max) else {
            return;
        };
        report.checked();
        let inside = !figure.interval.below(min) && !max.below(figure.interval);
        if !inside || max.below(min) {
            let bounds = Interval::between(min.middle(), max.middle());
            let likely = cause(figure, bounds, self.is_data());
            let expected = range(Interval { low: min.middle(), high: max.middle() });
            let formula = "minimum and maximum";
            report.add(self.finding(
                Disagreement::Extremes,
                &figure.text,
                &expected,
                formula,
                likely,
            ));
        }
    }

    fn improvement(&self, figure: &Figure, rule: &Improvement, report: &mut Report) {
        let (candidate, baseline) =
            (self.row.interval(rule.candidate), self.row.interval(rule.baseline));
        let (Some(candidate), Some(baseline)) = (candidate, baseline) else { return };
        report.checked();
        let [to_baseline, to_candidate] = rule.both(candidate, baseline);
        let wanted = rule.base.unwrap_or(Base::Baseline);
        let (expected, other, base, other_base) = match wanted {
            Base::Baseline => (to_baseline, to_candidate, rule.baseline, rule.candidate),
            Base::Candidate => (to_candidate, to_baseline, rule.candidate, rule.baseline),
        };
        if figure.interval.meets(expected) {
            return;
        }
        let (base, other_base) = (self.name(base), self.name(other_base));
        let likely = if figure.interval.meets(other) {
            let unstated = if rule.base.is_none() { ", which the table does not say" } else { "" };
            Some(format!("the base: it is a percentage of {other_base}{unstated}"))
        } else if figure.interval.times(-1.0).meets(expected) {
            Some("the sign is the wrong way round".to_owned())
        } else {
            cause(figure, expected, false)
        };
        let formula = format!(
            "{} against {}, percent of {base}",
            self.name(rule.candidate),
            self.name(rule.baseline)
        );
        let finding = self.finding(
            Disagreement::Improvement,
            &figure.text,
            &range(expected),
            &formula,
            likely,
        );
        report.add(finding);
    }
}
