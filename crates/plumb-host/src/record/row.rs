//! The cells of a line of CSV.

use std::fmt::Write as _;

/// What one cell holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// A figure, to three places.
    Float(f64),
    /// A whole number.
    Count(u64),
    /// Nanoseconds, written as seconds to the microsecond.
    Seconds(u64),
    /// Nothing.
    Absent,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

/// A line that is being written. What is absent leaves its cell empty.
pub(super) struct Row<'a> {
    line: &'a mut String,
}

impl<'a> Row<'a> {
    pub(super) fn new(line: &'a mut String) -> Self {
        Self { line }
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        self.line.push(',');
        match cell {
            Cell::Float(value) if (0.0..1e15).contains(&value) => self.thousandths(value),
            Cell::Float(value) if value.abs() < 1e15 => _ = write!(self.line, "{value}"),
            Cell::Float(value) => _ = write!(self.line, "{value:e}"),
            Cell::Count(value) => self.digits(value),
            Cell::Seconds(ns) => self.seconds(ns),
            Cell::Absent => {}
        }
    }

    /// A figure to three places, without those that say nothing. Whoever samples a hundred times a
    /// second would notice what the general formatting of a hundred floats costs.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the caller has looked: it is positive and small enough"
    )]
    fn thousandths(&mut self, value: f64) {
        let thousandths = (value * 1000.0).round() as u64;
        self.digits(thousandths / 1000);
        let places = thousandths % 1000;
        if places > 0 {
            let digit = |place: u64| char::from(b'0' + (places / place % 10) as u8);
            self.line.push('.');
            self.line.extend([digit(100), digit(10), digit(1)]);
        }
    }

    fn digits(&mut self, mut value: u64) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + u8::try_from(value % 10).unwrap_or(0);
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.line.extend(digits[start..].iter().map(|digit| char::from(*digit)));
    }

    fn seconds(&mut self, ns: u64) {
        let _ = write!(self.line, "{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_to_three_places() {
        let mut line = String::new();
        let mut row = Row::new(&mut line);
        for value in [0.0, 0.0004, 12.5, 99.9996, 1_234_567.891, f64::MAX / 1e300, -0.25, 1e300] {
            row.cell(value.into());
        }
        row.cell(u64::MAX.into());
        row.cell(None::<f64>.into());
        row.cell(Cell::Seconds(1_000_001_000));
        assert_eq!(
            line,
            ",0,0,12.500,100,1234567.891,179769313.486,-0.25,1e300,18446744073709551615,,1.000001"
        );
    }
}
