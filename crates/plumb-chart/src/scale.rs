//! From figures to coordinates.

use plumb_measure::real;

/// How figures spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Linear,
    Log,
}

/// From a figure to a coordinate; `low < high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) shape: Shape,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) start: f64,
    pub(crate) end: f64,
}

impl Scale {
    /// The coordinate of a figure; a figure outside stands at its end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = match self.shape {
            Shape::Linear => (value - self.low) / (self.high - self.low),
            Shape::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.start + share * (self.end - self.start)
    }
}

/// A place in a list for arithmetic of coordinates.
pub(crate) fn place(index: usize) -> f64 {
    real(index as u64)
}
