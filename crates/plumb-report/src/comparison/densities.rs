//! The response times of the variants over each other.

use maud::Markup;
use plumb_chart::{Density, densities};
use plumb_measure::Histogram;

use super::contrasts::{Contrasts, Point};

/// Points that are drawn.
const POINTS_MAX: usize = 4;
/// The baseline, then the candidates.
const CLASSES: [&str; 6] = ["s5", "s0", "s1", "s2", "s3", "s4"];

/// A chart a point, of the first few; none where no response times were kept.
pub(super) fn charts(contrasts: &Contrasts<'_>) -> Vec<Markup> {
    contrasts.points().iter().filter_map(chart).take(POINTS_MAX).collect()
}

fn chart(point: &Point<'_>) -> Option<Markup> {
    let mut times: Vec<(&str, Histogram)> = Vec::new();
    for tail in point.contrasts.iter().flat_map(|contrast| &contrast.tails) {
        // the baseline is in the contrast of every candidate
        if times.iter().all(|(name, _)| *name != tail.variant) {
            let decoded = tail.response_ns.as_ref().and_then(|known| known.decode().ok());
            times.extend(decoded.map(|decoded| (tail.variant.as_str(), decoded)));
        }
    }
    if times.len() < 2 {
        return None;
    }
    let title = match point.name.as_str() {
        "" => "How often which response time was measured".to_owned(),
        name => format!("How often which response time was measured, {name}"),
    };
    let drawn = times.iter().zip(CLASSES.iter().cycle());
    let drawn: Vec<Density<'_>> = drawn
        .map(|((name, times), class)| Density { name: (*name).to_owned(), class, times })
        .collect();
    densities(&title, &drawn)
}
