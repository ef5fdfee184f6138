//! From figures to coordinates, and the ticks that name them.

mod clock;
mod effect;

pub(super) use clock::{day, time_of_day};
pub(crate) use effect::Effect;
pub(super) use effect::Effects;

use crate::figures::{place, real};

/// How figures spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Linear,
    Log,
}

/// From a figure to a coordinate; `low < high`.
#[derive(Clone, Copy, Debug)]
struct Scale {
    shape: Shape,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.shape {
            Shape::Linear => (value - self.low) / (self.high - self.low),
            Shape::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.start + share * (self.end - self.start)
    }
}

/// A place on an axis with its name; the name is empty where it has no room.
#[derive(Clone, Debug)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// An axis from one coordinate to another.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    pub(super) ticks: Vec<Tick>,
    pub(super) title: String,
}

/// Spread from which figures need a logarithmic axis to be told apart.
const LOG_FROM: f64 = 12.0;
/// Beyond this no figure is told apart any more: 30 years in nanoseconds.
const FAR: f64 = 1e18;
/// An axis close around its figures spans at least this share of them: less is noise.
const CLOSEST: f64 = 0.01;
/// Width of one character of a label in user units, as wide as a phone shows it.
const CHARACTER: f64 = 7.4;

impl Axis {
    /// Times from `low` to `high` nanoseconds: logarithmic when they spread wide, else from zero.
    pub(super) fn times(title: &str, (low, high): (u64, u64), start: f64, end: f64) -> Self {
        Self::quantity(title, (real(low.max(1)), real(high.max(1))), (start, end), &TIME)
    }

    /// The same of times that are figures of statistics, and need not be whole.
    pub(super) fn times_between(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::quantity(title, (range.0.max(1.0), range.1.max(1.0)), (start, end), &TIME)
    }

    /// The same axis under another title.
    pub(super) fn titled(self, title: &str) -> Self {
        Self { title: format!("{title} ({})", self.title), ..self }
    }

    /// Rates from `low` to `high` a second, on the same rule.
    pub(super) fn rates(title: &str, (low, high): (f64, f64), start: f64, end: f64) -> Self {
        Self::quantity(title, (low, high), (start, end), &RATE)
    }

    /// Time since the start of a run, from zero to `end_ns`.
    pub(super) fn since_start(end_ns: u64, start: f64, end: f64) -> Self {
        let (unit_ns, unit) = match end_ns {
            0..1_000_000 => (1e3, "\u{b5}s"),
            1_000_000..2_000_000_000 => (1e6, "ms"),
            2_000_000_000..600_000_000_000 => (1e9, "s"),
            600_000_000_000..14_400_000_000_000 => (60e9, "min"),
            _ => (3600e9, "h"),
        };
        let high = (real(end_ns) / unit_ns).max(1e-3);
        let scale = Scale { shape: Shape::Linear, low: 0.0, high, start, end };
        let step = step_for(high / 6.0);
        let ticks = multiples(step, high)
            .map(|value| Tick { at: scale.at(value), label: trimmed(value) })
            .collect();
        let scale = Scale { high: high * unit_ns, ..scale };
        Self { scale, ticks: thinned(ticks), title: format!("{unit} since the start") }
    }

    /// Shares below 1 as decades of `1 / (1 - q)`, from zero to `decades`.
    pub(super) fn percentiles(decades: f64, start: f64, end: f64) -> Self {
        const NAMES: [(f64, &str); 10] = [
            (0.0, "0"),
            (std::f64::consts::LOG10_2, "50"),
            (1.0, "90"),
            (2.0, "99"),
            (3.0, "99.9"),
            (4.0, "99.99"),
            (5.0, "99.999"),
            (6.0, "99.9999"),
            (7.0, "99.99999"),
            (8.0, "99.999999"),
        ];
        let high = decades.max(1.0);
        let scale = Scale { shape: Shape::Linear, low: 0.0, high, start, end };
        let ticks = NAMES
            .into_iter()
            .filter(|(value, _)| *value <= high)
            .map(|(value, label)| Tick { at: scale.at(value), label: label.into() })
            .collect();
        Self { scale, ticks: thinned(ticks), title: "percentile of the samples".into() }
    }

    /// The values of a label at the places of their `numbers`, which ascend.
    pub(super) fn values(
        title: &str,
        names: &[&str],
        numbers: &[f64],
        (start, end): (f64, f64),
    ) -> Self {
        let inset = (end - start) * 0.04;
        let (start, end) = (start + inset, end - inset);
        let (low, high) = match numbers {
            [low, .., high] if low < high => (*low, *high),
            [low, ..] => (*low - 1.0, *low + 1.0),
            [] => (0.0, 1.0),
        };
        let log = low > 0.0 && high / low >= 8.0;
        let shape = if log { Shape::Log } else { Shape::Linear };
        let scale = Scale { shape, low, high, start, end };
        let ticks = names
            .iter()
            .zip(numbers)
            .map(|(name, number)| Tick { at: scale.at(*number), label: (*name).to_owned() })
            .collect();
        let title = if log { format!("{title} (log scale)") } else { title.into() };
        Self { scale, ticks: thinned(ticks), title }
    }

    /// Places in time, counted from one: rounds or intervals, `first < last` or a single one.
    pub(super) fn counted(title: &str, (first, last): (u64, u64), start: f64, end: f64) -> Self {
        let inset = (end - start) * 0.03;
        let (start, end) = (start + inset, end - inset);
        let (first, last) = (real(first), real(last));
        // a number so large that its neighbours are the same float still has room around it
        let beside = (first * 1e-9).max(1.0);
        let (low, high) =
            if first < last { (first, last) } else { (first - beside, first + beside) };
        let scale = Scale { shape: Shape::Linear, low, high, start, end };
        let step = step_for(((high - low) / 7.0).max(1.0));
        let from = (first / step).ceil() * step;
        let ticks = (0..16u32)
            .map(|at| from + f64::from(at) * step)
            .take_while(|value| *value <= last.max(first))
            .map(|value| Tick { at: scale.at(value), label: trimmed(value) })
            .collect();
        Self { scale, ticks: thinned(ticks), title: title.into() }
    }

    /// Times from `low` to `high` nanoseconds, close around them so that small changes show.
    pub(super) fn times_around(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::around(title, range, (start, end), &TIME)
    }

    /// Rates or plain figures from `low` to `high`, likewise.
    pub(super) fn figures_around(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::around(title, range, (start, end), &RATE)
    }

    fn around(title: &str, range: (f64, f64), (start, end): (f64, f64), units: &[Unit]) -> Self {
        let (low, high) = (range.0.clamp(-FAR, FAR), range.1.clamp(-FAR, FAR));
        if low > 1.0 / FAR && high / low >= LOG_FROM {
            return Self::logarithmic(title, (low, high), (start, end), units);
        }
        let size = high.abs().max(low.abs()).max(1.0 / FAR);
        let step = step_for((high - low).max(size * CLOSEST) / 4.5);
        let (below, above) = ((low / step).floor(), (high / step).ceil());
        let above = above.max(below + 1.0);
        let scale =
            Scale { shape: Shape::Linear, low: below * step, high: above * step, start, end };
        let unit = unit_for(size, units);
        let ticks = (0..16u32)
            .map(|at| below + f64::from(at))
            .take_while(|count| *count <= above)
            .map(|count| {
                let value = count * step;
                let label = if size < 0.1 { format!("{value:.2e}") } else { named(value, unit) };
                Tick { at: scale.at(value), label }
            })
            .collect();
        let title = if below > 0.0 { format!("{title} (not from zero)") } else { title.to_owned() };
        Self { scale, ticks, title }
    }

    /// The coordinate of a figure; a figure outside the axis stands at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.scale.at(value)
    }

    /// True when a figure does not lie beyond the end of the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        value <= self.scale.high * 1.000_001
    }

    /// The coordinate of an integer figure.
    pub(super) fn at_int(&self, value: u64) -> f64 {
        self.scale.at(real(value))
    }

    fn quantity(title: &str, range: (f64, f64), (start, end): (f64, f64), units: &[Unit]) -> Self {
        let (low, high) = (range.0.min(FAR), range.1.min(FAR));
        if low > 0.0 && high / low >= LOG_FROM {
            return Self::logarithmic(title, (low, high), (start, end), units);
        }
        let step = step_for((high / 4.5).max(1e-3));
        let top = (high / step).ceil().max(1.0) * step;
        let scale = Scale { shape: Shape::Linear, low: 0.0, high: top, start, end };
        let unit = unit_for(top, units);
        let ticks = multiples(step, top)
            .map(|value| Tick { at: scale.at(value), label: named(value, unit) })
            .collect();
        Self { scale, ticks, title: title.into() }
    }

    fn logarithmic(
        title: &str,
        (low, high): (f64, f64),
        (start, end): (f64, f64),
        units: &[Unit],
    ) -> Self {
        let (low, high) = (round_down(low), round_up(high));
        let scale = Scale { shape: Shape::Log, low, high, start, end };
        let decades = (high / low).log10();
        let mut ticks = Vec::new();
        let mut decade = 10f64.powf((low * 1.001).log10().floor());
        let mut passed = 0;
        while decade <= high * 1.001 {
            for factor in [1, 2, 5] {
                let value = decade * f64::from(factor);
                if factor_named(factor, decades, passed)
                    && value >= low * 0.999
                    && value <= high * 1.001
                {
                    let label = named(value, unit_for(value * 1.001, units));
                    ticks.push(Tick { at: scale.at(value), label });
                }
            }
            decade *= 10.0;
            passed += 1;
        }
        Self { scale, ticks, title: format!("{title} (log scale)") }
    }
}

/// Whether a multiple of the `passed`th decade has a tick on an axis of so many decades.
fn factor_named(factor: u8, decades: f64, passed: u32) -> bool {
    match decades {
        d if d <= 2.4 => true,
        d if d <= 3.4 => factor != 2,
        d if d <= 6.0 => factor == 1,
        d if d <= 12.0 => factor == 1 && passed.is_multiple_of(2),
        _ => factor == 1 && passed.is_multiple_of(4),
    }
}

/// A unit: how much of the smallest it is, and its name with the blank that it needs.
type Unit = (f64, &'static str);

const TIME: [Unit; 4] = [(1.0, " ns"), (1e3, " \u{b5}s"), (1e6, " ms"), (1e9, " s")];
const RATE: [Unit; 4] = [(1.0, ""), (1e3, " k"), (1e6, " M"), (1e9, " G")];

fn unit_for(value: f64, units: &[Unit]) -> Unit {
    units.iter().copied().rev().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""))
}

fn named(value: f64, (factor, unit): Unit) -> String {
    let number = trimmed(value / factor);
    if number == "0" { number } else { format!("{number}{unit}") }
}

/// A number to three decimals without the zeros behind them.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `0, step, 2 step, ...` up to `top`; a few dozen at most.
fn multiples(step: f64, top: f64) -> impl Iterator<Item = f64> {
    (0..64u32).map(move |at| f64::from(at) * step).take_while(move |value| *value <= top * 1.000_1)
}

/// The smallest of 1, 2 or 5 times a power of ten that is not below `least`.
fn step_for(least: f64) -> f64 {
    round_up(least)
}

fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| decade * f >= value * 0.999_9);
    decade * factor.unwrap_or(10.0)
}

fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| decade * f <= value * 1.000_1);
    decade * factor.unwrap_or(1.0)
}

/// Takes the names from ticks that would touch a neighbour; the first and the last keep theirs.
fn thinned(mut ticks: Vec<Tick>) -> Vec<Tick> {
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
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks
            .iter()
            .map(|tick| tick.label.as_str())
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn close_times_stand_on_an_axis_from_zero() {
        let axis = Axis::times("t", (900_000, 2_300_000), 200.0, 0.0);
        assert_eq!(labels(&axis), ["0", "1 ms", "2 ms", "3 ms"]);
        assert!((axis.at(0.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn far_times_stand_on_a_logarithmic_axis_that_says_so() {
        let axis = Axis::times("t", (9_000, 800_000), 200.0, 0.0);
        let expected = ["5 µs", "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms"];
        assert_eq!(labels(&axis), expected);
        assert!(axis.title.ends_with("(log scale)"));
    }

    #[test]
    fn over_many_decades_only_the_decades_are_named() {
        let axis = Axis::times("t", (9_000, 800_000_000), 200.0, 0.0);
        assert_eq!(labels(&axis), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
    }

    #[test]
    fn percentiles_are_named_up_to_what_was_sampled() {
        let axis = Axis::percentiles(4.0, 0.0, 370.0);
        assert_eq!(labels(&axis), ["0", "50", "90", "99", "99.9", "99.99"]);
    }

    #[test]
    fn close_figures_are_told_apart_and_the_axis_says_that_it_has_no_zero() {
        let axis = Axis::times_around("t", (1_010_000.0, 1_060_000.0), 200.0, 0.0);
        assert_eq!(labels(&axis), ["1 ms", "1.02 ms", "1.04 ms", "1.06 ms"]);
        assert!(axis.title.ends_with("(not from zero)"));
        let alike = Axis::times_around("t", (1e6, 1e6), 200.0, 0.0);
        assert!(alike.ticks.len() > 1, "{alike:?}");
        let tiny = Axis::figures_around("t", (1.0e-7, 1.3e-7), 200.0, 0.0);
        assert_eq!(labels(&tiny).first(), Some(&"1.00e-7"));
    }

    #[test]
    fn rounds_are_counted_and_a_single_one_stands_in_the_middle() {
        let axis = Axis::counted("round", (1, 12), 0.0, 370.0);
        assert_eq!(labels(&axis), ["2", "4", "6", "8", "10", "12"]);
        let one = Axis::counted("round", (3, 3), 0.0, 100.0);
        assert_eq!(labels(&one), ["3"]);
        assert!((one.at(3.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn sizes_stand_by_their_logarithm() {
        let sizes = Axis::values("size", &["1B", "10B", "100B"], &[1.0, 10.0, 100.0], (0.0, 100.0));
        let gaps: Vec<f64> = sizes.ticks.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert!((gaps[0] - gaps[1]).abs() < 1e-9);
    }

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

        #[test]
        fn every_figure_has_a_place_around(a in any::<f64>(), b in any::<f64>(), far in -300.0f64..300.0) {
            let finite = |value: f64| if value.is_finite() { value } else { 10f64.powf(far) };
            let (low, high) = (finite(a).min(finite(b)), finite(a).max(finite(b)));
            for axis in [
                Axis::times_around("t", (low, high), 200.0, 0.0),
                Axis::figures_around("f", (low, high), 200.0, 0.0),
            ] {
                for value in [low, high, 0.0] {
                    let at = axis.at(value);
                    prop_assert!((0.0..=200.0).contains(&at), "{at}");
                }
                prop_assert!((1..=12).contains(&axis.ticks.len()), "{:?}", axis.ticks);
            }
        }

        #[test]
        fn every_time_has_a_place_between_the_ends(low in any::<u64>(), high in any::<u64>()) {
            let axis = Axis::times("t", (low.min(high), low.max(high)), 200.0, 0.0);
            for value in [low, high, 0, u64::MAX] {
                let at = axis.at_int(value);
                prop_assert!((0.0..=200.0).contains(&at), "{at}");
            }
            prop_assert!((1..=9).contains(&axis.ticks.len()), "{:?}", axis.ticks);
        }
    }
}
