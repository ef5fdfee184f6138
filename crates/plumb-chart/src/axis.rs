//! Axes of times, rates, shares, rounds and the values of a label.

use plumb_measure::real;

use crate::scale::{Scale, Shape};
use crate::tick::{
    RATE, TIME, Tick, Unit, exponent, factor_named, multiples, named, named_between, round_down,
    round_up, step_for, thinned, trimmed, unit_for,
};

/// An axis from one coordinate to another. Where a constructor takes a start and an end they are
/// coordinates of the sheet, in user units; the end may lie before the start.
#[derive(Clone, Debug)]
pub struct Axis {
    /// In the order of their figures.
    pub ticks: Vec<Tick>,
    /// What it shows, with its unit.
    pub title: String,
    pub(crate) scale: Scale,
    pub(crate) naming: Naming,
}

/// How the figures of an axis are named, for a script that names others than were drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Naming {
    /// Nanoseconds, each with the unit that suits.
    Time,
    /// Numbers with a prefix that suits.
    Count,
    /// Nanoseconds in one unit that has so many of them.
    Since(f64),
    /// By a clock.
    Clock,
    /// By names that stand for no others.
    Fixed,
}

impl Naming {
    fn words(self) -> String {
        match self {
            Self::Time => "time".into(),
            Self::Count => "count".into(),
            Self::Since(unit_ns) => format!("since:{unit_ns}"),
            Self::Clock => "clock".into(),
            Self::Fixed => "fixed".into(),
        }
    }

    fn units(self) -> &'static [Unit] {
        if self == Self::Time { &TIME } else { &RATE }
    }
}

/// Spread from which figures need a logarithmic axis to be told apart.
const LOG_FROM: f64 = 12.0;
/// Beyond this no figure is told apart any more: 30 years in nanoseconds.
const FAR: f64 = 1e18;
/// An axis close around its figures spans at least this share of them: less is noise.
const CLOSEST: f64 = 0.01;

impl Axis {
    /// Times from `low` to `high` nanoseconds: logarithmic when they spread wide, else from zero.
    #[must_use]
    pub fn times(title: &str, (low, high): (u64, u64), start: f64, end: f64) -> Self {
        Self::quantity(title, (real(low.max(1)), real(high.max(1))), (start, end), Naming::Time)
    }

    /// The same on a logarithmic axis however close they lie: for what differs by factors.
    #[must_use]
    pub fn times_over_decades(title: &str, (low, high): (u64, u64), start: f64, end: f64) -> Self {
        let low = real(low.max(1)).min(FAR);
        let high = real(high).clamp(2.0 * low, 2.0 * FAR);
        Self::logarithmic(title, (low, high), (start, end), Naming::Time)
    }

    /// The same of times that are figures of statistics, and need not be whole.
    #[must_use]
    pub fn times_between(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::quantity(title, (range.0.max(1.0), range.1.max(1.0)), (start, end), Naming::Time)
    }

    /// The same axis under another title.
    #[must_use]
    pub fn titled(self, title: &str) -> Self {
        Self { title: format!("{title} ({})", self.title), ..self }
    }

    /// Rates from `low` to `high` a second, on the same rule.
    #[must_use]
    pub fn rates(title: &str, (low, high): (f64, f64), start: f64, end: f64) -> Self {
        Self::quantity(title, (low, high), (start, end), Naming::Count)
    }

    /// Time since the start of a run, from zero to `end_ns`.
    #[must_use]
    pub fn since_start(end_ns: u64, start: f64, end: f64) -> Self {
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
        let naming = Naming::Since(unit_ns);
        Self { scale, naming, ticks: thinned(ticks), title: format!("{unit} since the start") }
    }

    /// Shares below 1 as decades of `1 / (1 - q)`, from zero to `decades`.
    #[must_use]
    pub fn percentiles(decades: f64, start: f64, end: f64) -> Self {
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
        let title = "percentile of the samples".into();
        Self { scale, naming: Naming::Fixed, ticks: thinned(ticks), title }
    }

    /// The values of a label at the places of their `numbers`, which ascend.
    #[must_use]
    pub fn values(title: &str, names: &[&str], numbers: &[f64], (start, end): (f64, f64)) -> Self {
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
        Self { scale, naming: Naming::Fixed, ticks: thinned(ticks), title }
    }

    /// Places in time, counted from one: rounds or intervals, `first < last` or a single one.
    #[must_use]
    pub fn counted(title: &str, (first, last): (u64, u64), start: f64, end: f64) -> Self {
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
        Self { scale, naming: Naming::Count, ticks: thinned(ticks), title: title.into() }
    }

    /// Times from `low` to `high` nanoseconds, close around them so that small changes show.
    #[must_use]
    pub fn times_around(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::around(title, range, (start, end), Naming::Time)
    }

    /// Rates or plain figures from `low` to `high`, likewise.
    #[must_use]
    pub fn figures_around(title: &str, range: (f64, f64), start: f64, end: f64) -> Self {
        Self::around(title, range, (start, end), Naming::Count)
    }

    fn around(title: &str, range: (f64, f64), (start, end): (f64, f64), naming: Naming) -> Self {
        let (low, high) = (range.0.clamp(-FAR, FAR), range.1.clamp(-FAR, FAR));
        if low > 1.0 / FAR && high / low >= LOG_FROM {
            return Self::logarithmic(title, (low, high), (start, end), naming);
        }
        let size = high.abs().max(low.abs()).max(1.0 / FAR);
        let step = step_for((high - low).max(size * CLOSEST) / 4.5);
        let (below, above) = ((low / step).floor(), (high / step).ceil());
        let above = above.max(below + 1.0);
        let scale =
            Scale { shape: Shape::Linear, low: below * step, high: above * step, start, end };
        let unit = unit_for(size, naming.units());
        let ticks = (0..16u32)
            .map(|at| below + f64::from(at))
            .take_while(|count| *count <= above)
            .map(|count| {
                let value = count * step;
                let label = match size {
                    size if size < 0.1 => exponent(value, step),
                    _ => named_between(value, step, unit),
                };
                Tick { at: scale.at(value), label }
            })
            .collect();
        let title = if below > 0.0 { format!("{title} (not from zero)") } else { title.to_owned() };
        Self { scale, naming, ticks, title }
    }

    /// Its scale and how its figures are named, as the script of the page reads them.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.scale.words(), self.naming.words())
    }

    /// The coordinate of a figure; a figure outside the axis stands at its end.
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
        self.scale.at(value)
    }

    /// True when a figure does not lie beyond the end of the axis.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        value <= self.scale.high * 1.000_001
    }

    /// The coordinate of an integer figure.
    #[must_use]
    pub fn at_int(&self, value: u64) -> f64 {
        self.scale.at(real(value))
    }

    fn quantity(title: &str, range: (f64, f64), (start, end): (f64, f64), naming: Naming) -> Self {
        let (low, high) = (range.0.min(FAR), range.1.min(FAR));
        if low > 0.0 && high / low >= LOG_FROM {
            return Self::logarithmic(title, (low, high), (start, end), naming);
        }
        let step = step_for((high / 4.5).max(1e-3));
        let top = (high / step).ceil().max(1.0) * step;
        let scale = Scale { shape: Shape::Linear, low: 0.0, high: top, start, end };
        let unit = unit_for(top, naming.units());
        let ticks = multiples(step, top)
            .map(|value| Tick { at: scale.at(value), label: named(value, unit) })
            .collect();
        Self { scale, naming, ticks, title: title.into() }
    }

    fn logarithmic(
        title: &str,
        (low, high): (f64, f64),
        (start, end): (f64, f64),
        naming: Naming,
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
                    let label = match naming {
                        Naming::Count if value < 0.01 => exponent(value, decade),
                        _ => named(value, unit_for(value * 1.001, naming.units())),
                    };
                    ticks.push(Tick { at: scale.at(value), label });
                }
            }
            decade *= 10.0;
            passed += 1;
        }
        Self { scale, naming, ticks, title: format!("{title} (log scale)") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_axis_over_decades_gives_every_decade_the_same_room() {
        let axis = Axis::times_over_decades("time", (17_000, 3_500_000), 0.0, 300.0);
        let decade = axis.at(100_000.0) - axis.at(10_000.0);
        assert!((axis.at(1_000_000.0) - axis.at(100_000.0) - decade).abs() < 1e-9);
        assert!(axis.at(17_000.0) > 0.0 && axis.at(3_500_000.0) < 300.0);
        let alone = Axis::times_over_decades("time", (20_000, 20_000), 0.0, 300.0);
        assert!(alone.ticks.len() > 1 && alone.at(20_000.0).is_finite());
    }

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
    fn small_figures_on_a_logarithmic_axis_have_names_of_their_own() {
        let axis = Axis::figures_around("f", (0.0001, 0.002), 200.0, 0.0);
        assert_eq!(labels(&axis), ["1e-4", "2e-4", "5e-4", "1e-3", "2e-3"]);
        let wide = Axis::figures_around("f", (0.001, 1.0), 200.0, 0.0);
        assert_eq!(labels(&wide).last(), Some(&"1"));
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
        assert_eq!(labels(&tiny), ["1.0e-7", "1.1e-7", "1.2e-7", "1.3e-7"]);
        let small = Axis::figures_around("t", (0.1502, 0.1513), 200.0, 0.0);
        assert_eq!(labels(&small), ["0.15", "0.1505", "0.151", "0.1515"]);
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
