//! Fewer places than figures, in which every peak and every gap is still seen.

use crate::scale::place;

/// Figures of a line that are drawn one by one; of more, neighbours are joined.
pub(crate) const FIGURES_MAX: usize = 1_000;
/// Places of a line whose figures are joined: with minimum, mean and maximum as many points.
const PLACES: usize = FIGURES_MAX / 3;

/// What one figure, or several close to each other, say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinnedPoint {
    /// Number of its slot, counted along the line.
    pub slot: f64,
    /// The first moment of it, seconds.
    pub from_s: f64,
    /// The last.
    pub to_s: f64,
    /// The smallest of its figures.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    count: f64,
}

impl ThinnedPoint {
    fn new(slot: f64, at_s: f64, value: f64) -> Self {
        let (from_s, to_s) = (at_s, at_s);
        Self { slot, from_s, to_s, min: value, mean: value, max: value, count: 1.0 }
    }

    fn add(&mut self, at_s: f64, value: f64) {
        self.to_s = at_s;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1.0;
        self.mean += (value - self.mean) / self.count;
    }

    /// Where it stands, seconds.
    #[must_use]
    pub fn at_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }
}

/// How the moments of a recording are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    start_s: f64,
    /// Seconds of a slot; `None` when every moment has its own.
    width_s: Option<f64>,
}

impl Slots {
    /// The slots of a line.
    #[must_use]
    pub fn of_line(at_s: &[f64]) -> Self {
        Self::new(at_s, FIGURES_MAX, PLACES)
    }

    /// Every moment a slot of its own up to `single` of them; of more, `joined` slots.
    #[must_use]
    pub fn new(at_s: &[f64], single: usize, joined: usize) -> Self {
        let (start_s, end_s) = match at_s {
            [first, .., last] => (*first, *last),
            _ => (0.0, 0.0),
        };
        let width = (end_s - start_s) / place(joined.max(1));
        let width_s = (at_s.len() > single && width > 0.0).then_some(width);
        Self { start_s, width_s }
    }

    /// Seconds of a slot; `None` when every moment has its own.
    #[must_use]
    pub fn width_s(&self) -> Option<f64> {
        self.width_s
    }

    fn number(&self, index: usize, at_s: f64) -> f64 {
        match self.width_s {
            Some(width) => ((at_s - self.start_s) / width).floor(),
            None => place(index),
        }
    }

    /// The stretches of `values` between gaps. A gap that is shorter than a slot cannot be seen.
    #[must_use]
    pub fn stretches(&self, at_s: &[f64], values: &[f64]) -> Vec<Vec<ThinnedPoint>> {
        let mut stretches: Vec<Vec<ThinnedPoint>> = Vec::new();
        let mut missing = true;
        for (index, (at_s, value)) in at_s.iter().copied().zip(values.iter().copied()).enumerate() {
            if !value.is_finite() {
                missing = true;
                continue;
            }
            let slot = self.number(index, at_s);
            match stretches.last_mut().and_then(|open| open.last_mut()) {
                Some(last) if slot - last.slot < 0.5 => last.add(at_s, value),
                Some(last) if !missing || slot - last.slot < 1.5 => {
                    let place = ThinnedPoint::new(slot, at_s, value);
                    if let Some(open) = stretches.last_mut() {
                        open.push(place);
                    }
                }
                _ => stretches.push(vec![ThinnedPoint::new(slot, at_s, value)]),
            }
            missing = false;
        }
        stretches
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(count: u32) -> Vec<f64> {
        (0..count).map(f64::from).collect()
    }

    #[test]
    fn one_peak_of_a_day_is_seen() {
        let at = seconds(86_400);
        let mut values = vec![1.0; 86_400];
        values[40_000] = 99.0;
        values[70_000] = 0.0;
        let stretches = Slots::of_line(&at).stretches(&at, &values);
        let [line] = &stretches[..] else { panic!("{} stretches", stretches.len()) };
        assert!(line.len() * 3 <= FIGURES_MAX + 3, "{}", line.len());
        assert_eq!(line.iter().map(|place| place.max).fold(0.0, f64::max), 99.0);
        assert_eq!(line.iter().map(|place| place.min).fold(9.0, f64::min), 0.0);
        let high = line.iter().filter(|place| place.max > 1.0).count();
        assert_eq!(high, 1);
        assert!(line.iter().all(|place| place.mean < 2.0));
    }

    #[test]
    fn few_figures_are_drawn_as_they_are_and_a_gap_ends_a_stretch() {
        let at = seconds(5);
        let values = [1.0, 2.0, f64::NAN, 0.0, f64::INFINITY];
        let stretches = Slots::of_line(&at).stretches(&at, &values);
        let shown: Vec<Vec<f64>> =
            stretches.iter().map(|part| part.iter().map(|place| place.mean).collect()).collect();
        assert_eq!(shown, [vec![1.0, 2.0], vec![0.0]]);
    }

    #[test]
    fn a_long_gap_is_seen_among_joined_figures() {
        let at: Vec<f64> = (0..2_000).map(f64::from).collect();
        let values: Vec<f64> =
            (0..2_000).map(|i| if (500..900).contains(&i) { f64::NAN } else { 1.0 }).collect();
        let stretches = Slots::of_line(&at).stretches(&at, &values);
        assert_eq!(stretches.len(), 2);
        assert_eq!((stretches[0][0].from_s, stretches[1][0].from_s), (0.0, 900.0));
        assert_eq!(stretches[0].last().map(|place| place.to_s), Some(499.0));
    }

    #[test]
    fn a_moment_that_lasts_for_hours_hides_no_gap() {
        // one missing figure stands for all that was lost
        let mut at = seconds(1_500);
        at.extend([30_000.0]);
        at.extend((60_000..61_000).map(f64::from));
        let mut values = vec![1.0; at.len()];
        values[1_500] = f64::NAN;
        assert_eq!(Slots::of_line(&at).stretches(&at, &values).len(), 2);
    }

    proptest! {
        #[test]
        fn thinning_keeps_both_extremes(values in prop::collection::vec(0.0f64..1e9, 1..4_000)) {
            let at: Vec<f64> = (0..4_000).map(f64::from).take(values.len()).collect();
            let places: Vec<ThinnedPoint> =
                Slots::of_line(&at).stretches(&at, &values).into_iter().flatten().collect();
            let max = |list: &mut dyn Iterator<Item = f64>| list.fold(f64::MIN, f64::max);
            let min = |list: &mut dyn Iterator<Item = f64>| list.fold(f64::MAX, f64::min);
            prop_assert_eq!(max(&mut places.iter().map(|p| p.max)), max(&mut values.iter().copied()));
            prop_assert_eq!(min(&mut places.iter().map(|p| p.min)), min(&mut values.iter().copied()));
            prop_assert!(places.len() <= FIGURES_MAX);
            for place in places {
                prop_assert!(place.min <= place.mean * 1.000_001 && place.mean <= place.max * 1.000_001);
            }
        }
    }
}
