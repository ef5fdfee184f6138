//! From figures to coordinates.

use plumb_measure::real;

/// How figures spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Linear,
    Log,
}

impl Shape {
    /// As the script of the page knows it.
    fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
        }
    }
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

    /// The figure at a coordinate.
    pub(crate) fn value(&self, at: f64) -> f64 {
        let share = (at - self.start) / (self.end - self.start);
        match self.shape {
            Shape::Linear => self.low + share * (self.high - self.low),
            Shape::Log => self.low * (self.high / self.low).powf(share),
        }
    }

    /// All of it in words that the script of the page reads.
    pub(crate) fn words(&self) -> String {
        let Self { shape, low, high, start, end } = self;
        format!("{} {low} {high} {start} {end}", shape.word())
    }
}

/// A place in a list for arithmetic of coordinates.
pub(crate) fn place(index: usize) -> f64 {
    real(index as u64)
}
