//! An axis on which better lies ahead, whichever way a figure is good.

use plumb_comparison::{Better, Endpoint};

use crate::axis::{Axis, Naming};
use crate::scale::{Scale, Shape};
use crate::tick::{Tick, factor_named, round_down, round_up, step_for, thinned, trimmed};

/// The effect of a change on one figure: a ratio that can be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    better: Better,
    ratio: f64, // candidate over baseline, finite and above zero
}

/// Factors beyond this are drawn at it.
const FACTOR_MAX: f64 = 1e9;

impl Effect {
    /// `None` for a ratio that is none.
    #[must_use]
    pub fn of(better: Better, ratio: f64) -> Option<Self> {
        (ratio.is_finite() && ratio > 0.0).then_some(Self { better, ratio })
    }

    /// No effect.
    #[must_use]
    pub fn none() -> Self {
        Self { better: Better::Lower, ratio: 1.0 }
    }

    /// The estimate of an endpoint.
    #[must_use]
    pub fn estimate(endpoint: &Endpoint) -> Option<Self> {
        Self::of(endpoint.better, endpoint.ratio?)
    }

    /// The ends of an endpoint's interval, the worse one first.
    #[must_use]
    pub fn ends(endpoint: &Endpoint) -> Option<(Self, Self)> {
        let interval = endpoint.interval?;
        let low = Self::of(endpoint.better, interval.low)?;
        let high = Self::of(endpoint.better, interval.high)?;
        Some(match endpoint.better {
            Better::Lower => (high, low),
            Better::Higher => (low, high),
        })
    }

    /// The ends of a margin around no effect, a share from 0 to 1, the worse one first.
    #[must_use]
    pub fn margin(better: Better, share: f64) -> Option<(Self, Self)> {
        let low = Self::of(better, 1.0 - share)?;
        let high = Self::of(better, 1.0 + share)?;
        Some(match better {
            Better::Lower => (high, low),
            Better::Higher => (low, high),
        })
    }

    /// In percent of the baseline: positive is better.
    fn improvement(self) -> f64 {
        match self.better {
            Better::Lower => 100.0 * (1.0 - self.ratio),
            Better::Higher => 100.0 * (self.ratio - 1.0),
        }
    }

    /// How many times better: below 1 is worse.
    fn factor(self) -> f64 {
        let factor = match self.better {
            Better::Lower => 1.0 / self.ratio,
            Better::Higher => self.ratio,
        };
        factor.clamp(1.0 / FACTOR_MAX, FACTOR_MAX)
    }
}

/// An axis of effects: in percent of the baseline, or in factors where percents would hide the
/// small ones behind the large.
#[derive(Clone, Debug)]
pub struct Effects {
    /// The axis itself.
    pub axis: Axis,
}

/// Improvement in percent, to either side, from which the axis tells factors.
const PERCENT_MAX: f64 = 200.0;
/// The axis is at least so many percent wide, so that noise does not look like an effect.
const WIDTH_MIN: f64 = 1.0;

impl Effects {
    /// An axis that holds `effects`, no effect, and a step to both sides of it.
    #[must_use]
    pub fn of(effects: &[Effect], (start, end): (f64, f64)) -> Self {
        let within = |effect: &Effect| effect.improvement().abs() <= PERCENT_MAX;
        let axis = if effects.iter().all(within) {
            percents(effects, (start, end))
        } else {
            factors(effects, (start, end))
        };
        Self { axis }
    }

    /// The coordinate of an effect; one outside the axis stands at its end.
    #[must_use]
    pub fn at(&self, effect: Effect) -> f64 {
        self.axis.at(self.figure(effect))
    }

    /// True for an effect that lies beyond an end of the axis.
    #[must_use]
    pub fn beyond(&self, effect: Effect) -> bool {
        let figure = self.figure(effect);
        let Scale { low, high, .. } = self.axis.scale;
        figure < low - low.abs() * 1e-9 || figure > high + high.abs() * 1e-9
    }

    /// True for an effect that lies no further beyond an end than `spans` times the axis.
    #[must_use]
    pub fn near(&self, effect: Effect, spans: f64) -> bool {
        let Scale { low, high, shape, .. } = self.axis.scale;
        let along = |figure: f64| if shape == Shape::Log { figure.log10() } else { figure };
        let (low, high, figure) = (along(low), along(high), along(self.figure(effect)));
        let reach = (high - low) * spans;
        figure >= low - reach && figure <= high + reach
    }

    fn figure(&self, effect: Effect) -> f64 {
        match self.axis.scale.shape {
            Shape::Linear => effect.improvement(),
            Shape::Log => effect.factor(),
        }
    }
}

fn percents(effects: &[Effect], (start, end): (f64, f64)) -> Axis {
    let figures = || effects.iter().map(|effect| effect.improvement());
    let (low, high) = (figures().fold(0.0, f64::min), figures().fold(0.0, f64::max));
    let step = step_for((high - low).max(WIDTH_MIN) / 6.0);
    let (below, above) = ((low / step).floor().min(-1.0), (high / step).ceil().max(1.0));
    let scale = Scale { shape: Shape::Linear, low: below * step, high: above * step, start, end };
    let mut ticks = Vec::new();
    let mut count = below;
    while count <= above {
        let value = count * step;
        ticks.push(Tick { at: scale.at(value), label: signed(value) });
        count += 1.0;
    }
    Axis {
        naming: Naming::Fixed,
        scale,
        ticks: outward(ticks, scale.at(0.0)),
        title: "improvement in % of the baseline".into(),
    }
}

fn signed(percent: f64) -> String {
    match trimmed(percent.abs()).as_str() {
        "0" => "0".into(),
        number => format!("{}{number} %", if percent < 0.0 { '-' } else { '+' }),
    }
}

fn factors(effects: &[Effect], (start, end): (f64, f64)) -> Axis {
    let figures = || effects.iter().map(|effect| effect.factor());
    let low = round_down(figures().fold(0.5, f64::min));
    let high = round_up(figures().fold(2.0, f64::max));
    let scale = Scale { shape: Shape::Log, low, high, start, end };
    let decades = (high / low).log10();
    let mut ticks = Vec::new();
    for power in -10i32..=10 {
        for factor in [1, 2, 5] {
            let value = 10f64.powi(power) * f64::from(factor);
            // counted from no effect, so that it has its tick
            if factor_named(factor, decades, power.unsigned_abs())
                && value >= low * 0.999
                && value <= high * 1.001
            {
                ticks.push(Tick { at: scale.at(value), label: times(value) });
            }
        }
    }
    Axis {
        naming: Naming::Fixed,
        scale,
        ticks: outward(ticks, scale.at(1.0)),
        title: "times better or worse (log scale)".into(),
    }
}

fn times(factor: f64) -> String {
    let (size, word) = if factor < 1.0 { (1.0 / factor, "worse") } else { (factor, "better") };
    match size {
        s if s < 1.001 => "same".into(),
        s if s < 9_999.0 => format!("{}\u{d7} {word}", trimmed(s)),
        s => format!("{s:.0e}\u{d7} {word}"),
    }
}

/// Takes the names from ticks that would touch a neighbour, from no effect outwards, so that it
/// keeps its own. Along a vertical axis every name has room.
fn outward(ticks: Vec<Tick>, none: f64) -> Vec<Tick> {
    if ticks.first().zip(ticks.last()).is_none_or(|(first, last)| first.at >= last.at) {
        return ticks;
    }
    let mirrored = |mut ticks: Vec<Tick>| {
        ticks.reverse();
        ticks.iter_mut().for_each(|tick| tick.at = -tick.at);
        ticks
    };
    let (below, mut above): (Vec<Tick>, Vec<Tick>) =
        ticks.into_iter().partition(|tick| tick.at < none - 1e-9);
    let mut lower = below;
    lower.extend(above.first().cloned());
    let mut lower = mirrored(thinned(mirrored(lower)));
    lower.pop();
    above = thinned(above);
    lower.append(&mut above);
    lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lower(ratio: f64) -> Effect {
        Effect::of(Better::Lower, ratio).expect("a ratio")
    }

    fn labels(effects: &[Effect]) -> Vec<String> {
        let axis = Effects::of(effects, (0.0, 330.0)).axis;
        axis.ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn what_is_no_ratio_is_no_effect() {
        for ratio in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Effect::of(Better::Lower, ratio), None);
        }
        assert_eq!(Effect::margin(Better::Lower, 1.0), None);
    }

    #[test]
    fn better_lies_ahead_whichever_way_the_figure_is_good() {
        let faster = Effect::of(Better::Higher, 1.2).expect("a ratio");
        let axis = Effects::of(&[lower(0.8), faster, lower(1.1)], (0.0, 100.0));
        assert!(axis.at(lower(0.8)) > axis.at(Effect::none()));
        assert!((axis.at(lower(0.8)) - axis.at(faster)).abs() < 1e-9);
        assert!(axis.at(lower(1.1)) < axis.at(Effect::none()));
    }

    #[test]
    fn effects_in_percent_have_a_step_to_both_sides_of_none() {
        assert_eq!(labels(&[lower(0.86)]), ["-5 %", "0", "+5 %", "+10 %", "+15 %"]);
        assert_eq!(labels(&[]), ["-0.2 %", "0", "+0.2 %"]);
    }

    #[test]
    fn large_effects_are_told_in_factors_and_none_keeps_its_tick() {
        let names = labels(&[lower(4.0), lower(0.5)]);
        assert_eq!(names, ["5\u{d7} worse", "2\u{d7} worse", "same", "2\u{d7} better"]);
        let wide = labels(&[lower(1e-6), lower(1e6)]);
        assert!(wide.iter().any(|name| name == "same"), "{wide:?}");
        assert!(wide.last().is_some_and(|name| name.contains("1e")), "{wide:?}");
    }

    #[test]
    fn an_effect_off_the_axis_stands_at_its_end_and_is_told() {
        let axis = Effects::of(&[lower(0.9)], (0.0, 100.0));
        assert!(!axis.beyond(lower(0.9)));
        assert!(axis.beyond(lower(0.2)));
        assert!((axis.at(lower(0.2)) - 100.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn every_effect_has_a_place_and_ticks_ascend(
            exponents in prop::collection::vec(-300.0f64..300.0, 0..6),
            higher in any::<bool>(),
        ) {
            let better = if higher { Better::Higher } else { Better::Lower };
            let effects: Vec<Effect> =
                exponents.iter().filter_map(|power| Effect::of(better, 10f64.powf(*power))).collect();
            let axis = Effects::of(&effects, (0.0, 330.0));
            for effect in &effects {
                let at = axis.at(*effect);
                prop_assert!((0.0..=330.0).contains(&at), "{at}");
            }
            prop_assert!((2..=24).contains(&axis.axis.ticks.len()), "{:?}", axis.axis.ticks);
            prop_assert!(axis.axis.ticks.windows(2).all(|pair| pair[0].at < pair[1].at));
        }
    }
}
