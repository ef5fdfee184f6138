//! How often which time was measured: distributions over each other on a sheet, and a small one in a
//! row.

use std::fmt::Write as _;

use maud::{Markup, html};
use plumb_measure::{Histogram, real, show_ns};
use plumb_page::figures::{share, typeset};

use crate::axis::Axis;
use crate::scale::place;
use crate::sheet::{
    BOTTOM, Chart, Key, LEFT, LINES_MAX, Mark, RIGHT, TOP, coordinate as n, line, mark,
};

/// A distribution as it is drawn.
#[derive(Clone, Debug)]
pub struct Density<'a> {
    /// Whose it is.
    pub name: String,
    /// The class of its colour.
    pub class: &'static str,
    /// Its times, nanoseconds.
    pub times: &'a Histogram,
}

/// Quantiles between which the axis lies; what is beyond is told in a note.
const ENDS: (f64, f64) = (0.001, 0.97);
/// Places of a chart: the more, the more there is to tell apart.
const PLACES: (usize, usize) = (12, 100);
/// Places of a small one.
const SMALL_PLACES: usize = 150;

/// The densities over each other, six at most; nothing without a time.
#[must_use]
pub fn densities(title: &str, all: &[Density<'_>]) -> Option<Markup> {
    let drawn: Vec<&Density<'_>> =
        all.iter().filter(|one| !one.times.is_empty()).take(LINES_MAX).collect();
    let low = drawn.iter().map(|one| one.times.quantile(ENDS.0)).min()?;
    let high = drawn.iter().map(|one| one.times.quantile(ENDS.1)).max()?;
    let x = Axis::times_around("response time", (real(low), real(high)), LEFT, RIGHT);
    let places = places(drawn.iter().map(|one| one.times.count()).max().unwrap_or(0));
    let heights: Vec<Vec<f64>> = drawn.iter().map(|one| shares(one.times, &x, places)).collect();
    let top = heights.iter().flatten().copied().fold(0.0, f64::max).max(0.01);
    let y = Axis::rates(
        &format!("% of the operations, in each of {places} places"),
        (0.0, 100.0 * top),
        BOTTOM,
        TOP,
    );
    let step = (RIGHT - LEFT) / place(places);
    let middle = |at: usize| LEFT + (place(at) + 0.5) * step;
    let marks = html! {
        @for (one, heights) in drawn.iter().zip(&heights) {
            @let points: Vec<(f64, f64)> =
                heights.iter().enumerate().map(|(at, share)| (middle(at), y.at(100.0 * share))).collect();
            path class={ "spread " (one.class) } d=(area(&points)) {}
            path class={ "line " (one.class) } d=(line(&points)) {}
        }
        @for at in 0..places {
            rect class="hover" x=(n(LEFT + place(at) * step)) y=(n(TOP)) width=(n(step)) height=(n(BOTTOM - TOP)) {
                title { (typeset(&said(&drawn, &heights, at, &x, step))) }
            }
        }
        @for one in &drawn {
            @let median = one.times.quantile(0.5);
            (mark(one.class, Mark::Dot, (x.at_int(median), BOTTOM),
                  &typeset(&format!("{}: median {}", one.name, show_ns(median)))))
        }
    };
    let keys = drawn.iter().map(|one| Key::new(one.class, one.name.clone())).collect();
    let mut notes = vec!["A dot on the axis: the median.".to_owned()];
    notes.extend(drawn.iter().filter_map(|one| beyond(one, &x)));
    if all.len() > drawn.len() {
        notes.push(format!("{} of {} are drawn.", drawn.len(), all.len()));
    }
    Some(Chart { title: title.into(), keys, x, y, marks, notes }.draw())
}

/// A small density over `axis`, which spans `wide` user units, for a row: a mound that stands on its
/// base and is stretched to the room there is.
#[must_use]
pub fn mound(times: &Histogram, axis: &Axis, wide: f64) -> Markup {
    let heights = shares(times, axis, SMALL_PLACES);
    let top = heights.iter().copied().fold(0.0, f64::max);
    let step = wide / place(SMALL_PLACES);
    let mut path = String::new();
    let seen = |share: &f64| top > 0.0 && *share > 0.0;
    if let (Some(first), Some(last)) =
        (heights.iter().position(seen), heights.iter().rposition(seen))
    {
        // writing to a String does not fail
        let _ = write!(path, "M{} 100", n(place(first) * step));
        for (at, share) in heights.iter().enumerate().take(last + 1).skip(first) {
            let up = n(100.0 - 100.0 * share / top);
            let (from, to) = (n(place(at) * step), n(place(at + 1) * step));
            let _ = write!(path, "L{from} {up}L{to} {up}");
        }
        let _ = write!(path, "L{} 100Z", n(place(last + 1) * step));
    }
    html! {
        svg class="mound" viewBox={ "0 0 " (n(wide)) " 100" } preserveAspectRatio="none" aria-hidden="true" {
            path d=(path) {}
        }
    }
}

/// Twice the cube root of the count (Rice's rule), within bounds.
fn places(count: u64) -> usize {
    let places = (2.0 * real(count).cbrt()).min(place(PLACES.1));
    (PLACES.0..=PLACES.1).rev().find(|at| place(*at) <= places).unwrap_or(PLACES.0)
}

/// The share of the times in each of so many places of equal width along `axis`. A bucket that is
/// wider than a place is spread over those that it covers; what lies beyond the axis is in none.
fn shares(times: &Histogram, axis: &Axis, places: usize) -> Vec<f64> {
    let mut shares = vec![0.0; places];
    let (start, end) = (axis.scale.start, axis.scale.end);
    let unit = place(places) / (end - start);
    let all = real(times.count().max(1));
    for (low, high, count) in times.ranges() {
        let middle = real(low).midpoint(real(high));
        if middle < axis.scale.low || !axis.holds(middle) {
            continue;
        }
        let from = (axis.at_int(low) - start) * unit;
        let to = ((axis.at(real(high) + 1.0) - start) * unit).max(from);
        let portion = real(count) / all;
        let first = within(from, places);
        let last = within(to, places);
        if first == last {
            shares[first] += portion;
            continue;
        }
        for (at, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
            let covered = (to.min(place(at + 1)) - from.max(place(at))).max(0.0);
            *share += portion * covered / (to - from);
        }
    }
    shares
}

/// The place at which a coordinate of places lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
fn within(at: f64, places: usize) -> usize {
    (at.max(0.0) as usize).min(places - 1)
}

fn area(points: &[(f64, f64)]) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let closed: Vec<(f64, f64)> = std::iter::once((first.0, BOTTOM))
        .chain(points.iter().copied())
        .chain([(last.0, BOTTOM)])
        .collect();
    line(&closed) + "Z"
}

fn said(drawn: &[&Density<'_>], heights: &[Vec<f64>], at: usize, x: &Axis, step: f64) -> String {
    let time = |place: f64| show_ns(nanoseconds(x.scale.value(place)));
    let from = LEFT + place(at) * step;
    let mut words = format!("{} to {}:", time(from), time(from + step));
    for (one, heights) in drawn.iter().zip(heights) {
        words += if words.ends_with(':') { " " } else { ", " };
        words += &format!("{} {:.2} %", one.name, 100.0 * heights[at]);
    }
    words
}

/// What of a distribution is not on the axis; nothing when all of it is.
fn beyond(one: &Density<'_>, x: &Axis) -> Option<String> {
    let outside = one.times.ranges().filter(|(low, high, _)| {
        let middle = real(*low).midpoint(real(*high));
        middle < x.scale.low || !x.holds(middle)
    });
    let count = outside.map(|(.., count)| count).fold(0, u64::saturating_add);
    (count > 0).then(|| {
        let beyond = share(count, one.times.count());
        let longest = show_ns(one.times.max());
        typeset(&format!("Not on the axis: {beyond} of {}, up to {longest}.", one.name))
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
fn nanoseconds(time: f64) -> u64 {
    time.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn two_distributions_lie_over_each_other_and_what_is_beyond_is_said() {
        let near = histogram((0..1_000).map(|at| 10_000 + at));
        let far = histogram((0..1_000).map(|at| 11_000 + at).chain([90_000_000]));
        let one = |name: &str, class, times| Density { name: name.into(), class, times };
        let both = [one("old", "s5", &near), one("new", "s0", &far)];
        let page = densities("t", &both).unwrap().into_string();
        assert_eq!(page.matches("class=\"line ").count(), 2, "{page}");
        assert!(page.contains("new: median 11.5"), "{page}");
        assert!(page.contains("Not on the axis: &lt; 0.1") || page.contains("of new, up to 90"));
        assert!(densities("t", &[one("none", "s0", &Histogram::new())]).is_none());
    }

    #[test]
    fn a_mound_lies_where_its_times_are() {
        let axis = Axis::times_over_decades("t", (10_000, 1_000_000), 0.0, 300.0);
        let page = mound(&histogram([100_000; 9]), &axis, 300.0).into_string();
        let at = axis.at_int(100_000);
        let left: f64 =
            page.split("d=\"M").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((left - at).abs() <= 300.0 / 150.0, "{left} {at}");
        assert!(mound(&Histogram::new(), &axis, 300.0).into_string().contains("d=\"\""));
    }

    proptest! {
        #[test]
        fn no_time_is_counted_twice_or_lost(
            values in prop::collection::vec(1_000u64..1_000_000_000, 1..300),
            places in 1usize..200,
        ) {
            let times = histogram(values.iter().copied());
            let axis = Axis::times_over_decades("t", (times.min(), times.max()), 0.0, 300.0);
            let sum: f64 = shares(&times, &axis, places).iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }

        #[test]
        fn any_distributions_are_drawn(
            one in prop::collection::vec(any::<u64>(), 1..50),
            other in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let (one, other) = (histogram(one), histogram(other));
            let density = |times| Density { name: "d".into(), class: "s0", times };
            let page = densities("t", &[density(&one), density(&other)]).unwrap().into_string();
            prop_assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
        }
    }
}
