//! A figure along a label, with the range around it.

use maud::{Markup, html};
use plumb_page::trust::Trust;

use crate::axis::Axis;
use crate::scale::place;
use crate::sheet::{
    BOTTOM, Chart, Key, LEFT, LINES_MAX, Mark, RIGHT, TOP, coordinate as n, line, mark,
};

/// A figure and the range around it, all in the unit of its chart.
#[derive(Clone, Debug)]
pub struct SpanMark {
    /// The number that the value of the label stands for.
    pub number: f64,
    /// Lower end of the range.
    pub low: f64,
    /// The figure.
    pub middle: f64,
    /// Upper end of the range.
    pub high: f64,
    /// How far it may be used.
    pub trust: Trust,
    /// What is told when it is pointed at.
    pub words: String,
}

/// The marks that a line joins.
#[derive(Clone, Debug)]
pub struct Strand {
    /// Empty for the only one.
    pub name: String,
    /// In the order of their numbers.
    pub marks: Vec<SpanMark>,
}

/// What stands on the y axis.
#[derive(Clone, Copy, Debug)]
pub enum SpanFigure {
    /// Nanoseconds.
    Times(&'static str),
    /// Operations a second.
    Rates(&'static str),
}

/// Strands along one label.
#[derive(Debug)]
pub struct Spans<'a> {
    /// What it shows.
    pub title: String,
    /// The label along which it goes.
    pub label: &'a str,
    /// Its values and the numbers they stand for, ascending.
    pub values: &'a [&'a str],
    /// The same as numbers.
    pub numbers: &'a [f64],
    /// What stands on the y axis.
    pub quantity: SpanFigure,
    /// As many as there are colours; more are not drawn.
    pub strands: Vec<Strand>,
    /// What a reader must know of it.
    pub notes: Vec<String>,
}

/// Strands stand beside each other, so that no range hides another: user units between two.
const BESIDE: f64 = 5.0;

/// The chart; nothing without a mark.
#[must_use]
pub fn spans(spans: Spans<'_>) -> Option<Markup> {
    let Spans { title, label, values, numbers, quantity, strands, mut notes } = spans;
    let drawn: Vec<&Strand> = strands.iter().take(LINES_MAX).collect();
    let marks = || drawn.iter().flat_map(|strand| &strand.marks);
    let low = marks().map(|mark| mark.low).min_by(f64::total_cmp)?;
    let high = marks().map(|mark| mark.high).max_by(f64::total_cmp)?;
    let x = Axis::values(label, values, numbers, (LEFT, RIGHT));
    let y = match quantity {
        SpanFigure::Times(words) => Axis::times_between(words, (low, high), BOTTOM, TOP),
        SpanFigure::Rates(words) => Axis::rates(words, (low, high), BOTTOM, TOP),
    };
    if marks().any(|mark| mark.trust != Trust::Full) {
        notes.push("A cross: this figure is not valid.".into());
    }
    let middle = place(drawn.len().saturating_sub(1)) / 2.0;
    let lines = html! {
        @for (colour, strand) in drawn.iter().enumerate() {
            @let shift = (place(colour) - middle) * BESIDE;
            (of_strand(strand, &format!("s{colour}"), shift, (&x, &y)))
        }
    };
    let named = drawn.iter().enumerate().filter(|(_, strand)| !strand.name.is_empty());
    let keys = named.map(|(at, strand)| Key::new(format!("s{at}"), strand.name.clone())).collect();
    Some(Chart { title, keys, x, y, marks: lines, notes }.draw())
}

fn of_strand(strand: &Strand, class: &str, shift: f64, (x, y): (&Axis, &Axis)) -> Markup {
    let at = |mark: &SpanMark| x.at(mark.number) + shift;
    let valid = strand.marks.iter().filter(|mark| mark.trust == Trust::Full);
    let points: Vec<(f64, f64)> = valid.map(|mark| (at(mark), y.at(mark.middle))).collect();
    html! {
        path class={ "line " (class) } d=(line(&points)) {}
        @for mark in &strand.marks {
            @let (low, high) = (y.at(mark.low), y.at(mark.high));
            g class=(class) {
                line class="whisker" x1=(n(at(mark))) x2=(n(at(mark))) y1=(n(low)) y2=(n(high)) {}
            }
            (mark_of(class, mark, (at(mark), y.at(mark.middle))))
        }
    }
}

fn mark_of(class: &str, of: &SpanMark, at: (f64, f64)) -> Markup {
    mark(class, if of.trust.is_full() { Mark::Dot } else { Mark::Cross }, at, &of.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: f64, trust: Trust) -> SpanMark {
        SpanMark { number, low: 8e3, middle: 9e3, high: 1e4, trust, words: String::new() }
    }

    fn spans(strands: Vec<Strand>) -> Spans<'static> {
        Spans {
            title: "t".into(),
            label: "size",
            values: &["1B", "100B"],
            numbers: &[1.0, 100.0],
            quantity: SpanFigure::Times("time"),
            strands,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_figure_that_is_not_valid_is_a_cross_and_no_line_leads_to_it() {
        let marks = vec![mark(1.0, Trust::Full), mark(100.0, Trust::Nothing)];
        let page =
            super::spans(spans(vec![Strand { name: String::new(), marks }])).unwrap().into_string();
        assert!(page.contains("A cross: this figure is not valid."));
        assert!(page.contains("class=\"line s0\" d=\"\""), "{page}");
        assert_eq!(page.matches("class=\"whisker\"").count(), 2);
    }

    #[test]
    fn without_a_mark_there_is_no_chart_and_no_more_lines_than_colours() {
        let strand =
            |at: usize| Strand { name: format!("s {at}"), marks: vec![mark(1.0, Trust::Full)] };
        let page = super::spans(spans((0..40).map(strand).collect())).unwrap().into_string();
        assert_eq!(page.matches("class=\"whisker\"").count(), LINES_MAX);
        assert!(super::spans(spans(Vec::new())).is_none());
    }
}
