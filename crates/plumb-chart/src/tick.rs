//! The ticks of an axis: at round figures, and named where a name has room.

use crate::scale::place;

/// A place on an axis with its name; the name is empty where it has no room.
#[derive(Clone, Debug)]
pub struct Tick {
    /// Its coordinate, in user units.
    pub at: f64,
    /// Its name.
    pub label: String,
}

/// Width of one character of a label in user units, as wide as a phone shows it.
pub(crate) const CHARACTER: f64 = 7.4;

/// Whether a multiple of the `passed`th decade has a tick on an axis of so many decades.
pub(crate) fn factor_named(factor: u8, decades: f64, passed: u32) -> bool {
    match decades {
        d if d <= 2.4 => true,
        d if d <= 3.4 => factor != 2,
        d if d <= 6.0 => factor == 1,
        d if d <= 12.0 => factor == 1 && passed.is_multiple_of(2),
        _ => factor == 1 && passed.is_multiple_of(4),
    }
}

/// A unit: how much of the smallest it is, and its name with the blank that it needs.
pub(crate) type Unit = (f64, &'static str);

pub(crate) const TIME: [Unit; 4] = [(1.0, " ns"), (1e3, " \u{b5}s"), (1e6, " ms"), (1e9, " s")];
pub(crate) const RATE: [Unit; 4] = [(1.0, ""), (1e3, " k"), (1e6, " M"), (1e9, " G")];

pub(crate) fn unit_for(value: f64, units: &[Unit]) -> Unit {
    units.iter().copied().rev().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""))
}

pub(crate) fn named(value: f64, (factor, unit): Unit) -> String {
    let number = trimmed(value / factor);
    if number == "0" { number } else { format!("{number}{unit}") }
}

/// The same of a multiple of `step`, which is told from its neighbours.
pub(crate) fn named_between(value: f64, step: f64, (factor, unit): Unit) -> String {
    let number = to_decimals(value / factor, decimals(step / factor));
    if number == "0" { number } else { format!("{number}{unit}") }
}

/// A multiple of `step` with an exponent, likewise.
pub(crate) fn exponent(value: f64, step: f64) -> String {
    if value.abs() < step / 2.0 {
        return "0".into();
    }
    let digits = decimals(step / 10f64.powf((value.abs() * 1.000_001).log10().floor()));
    format!("{value:.digits$e}")
}

/// Decimals that a multiple of `step` needs, which is 1, 2 or 5 times a power of ten.
fn decimals(step: f64) -> usize {
    let (mut step, mut count) = (step, 0);
    while step < 0.999 && count < 12 {
        step *= 10.0;
        count += 1;
    }
    count
}

fn to_decimals(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number to three decimals without the zeros behind them.
pub(crate) fn trimmed(value: f64) -> String {
    to_decimals(value, 3)
}

/// `0, step, 2 step, ...` up to `top`; a few dozen at most.
pub(crate) fn multiples(step: f64, top: f64) -> impl Iterator<Item = f64> {
    (0..64u32).map(move |at| f64::from(at) * step).take_while(move |value| *value <= top * 1.000_1)
}

/// The smallest of 1, 2 or 5 times a power of ten that is not below `least`.
pub(crate) fn step_for(least: f64) -> f64 {
    round_up(least)
}

pub(crate) fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| decade * f >= value * 0.999_9);
    decade * factor.unwrap_or(10.0)
}

pub(crate) fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| decade * f <= value * 1.000_1);
    decade * factor.unwrap_or(1.0)
}

/// Takes the names from ticks that would touch a neighbour; the first and the last keep theirs.
pub(crate) fn thinned(mut ticks: Vec<Tick>) -> Vec<Tick> {
    let half = |tick: &Tick| place(tick.label.chars().count()) * CHARACTER / 2.0;
    let Some(last) = ticks.last().cloned() else { return ticks };
    let limit = last.at - half(&last) - CHARACTER;
    let mut free = f64::NEG_INFINITY;
    let end = ticks.len() - 1;
    for (at, tick) in ticks.iter_mut().enumerate() {
        let touches = tick.at - half(tick) < free || tick.at + half(tick) > limit;
        if at > 0 && at < end && touches {
            tick.label.clear();
        } else {
            free = tick.at + half(tick) + CHARACTER;
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_along_the_axis_never_touch(
            mut places in prop::collection::vec(0.0f64..370.0, 1..30),
            name in "[a-z]{1,7}",
        ) {
            places.sort_by(f64::total_cmp);
            let ticks = places.iter().map(|at| Tick { at: *at, label: name.clone() }).collect();
            let ticks = thinned(ticks);
            let named: Vec<&Tick> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
            let wide = place(name.len()) * CHARACTER;
            let inner = named.len().saturating_sub(1);
            for pair in named[..inner].windows(2) {
                prop_assert!(pair[1].at - pair[0].at >= wide, "{named:?}");
            }
        }
    }
}
