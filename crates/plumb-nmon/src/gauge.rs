//! A figure that is put together from several cells of a snapshot.

use crate::stat::Stat;

/// How cells become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    Sum,
    Max,
}

/// One figure a snapshot, from one or more sections (disks stand in several when there are many).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    join: Join,
    /// Sections that belong to it.
    sections: u32,
    open: Option<Open>,
    pub(crate) stat: Stat,
}

/// A snapshot of which not every section came yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    seconds: f64,
    value: Option<f64>,
    sections: u32,
}

impl Gauge {
    pub(crate) fn new(join: Join) -> Self {
        Self { join, sections: 0, open: None, stat: Stat::default() }
    }

    /// Says that one more section belongs to it.
    pub(crate) fn expect(&mut self) {
        self.sections += 1;
    }

    /// Books what one section says of a snapshot.
    pub(crate) fn offer(&mut self, id: u64, seconds: f64, value: Option<f64>) {
        let same = self.open.filter(|open| open.id == id && open.sections < self.sections);
        if same.is_none() {
            self.close();
        }
        let open = self.open.get_or_insert(Open { id, seconds, value: None, sections: 0 });
        open.sections += 1;
        open.value = joined(self.join, open.value, value);
        if open.sections == self.sections {
            self.close();
        }
    }

    /// Books the last snapshot. One of which a section is lacking has no figure: a sum of a part
    /// would be too small.
    pub(crate) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let value = open.value.filter(|_| open.sections == self.sections);
            self.stat.offer(value, open.seconds, open.id);
        }
    }
}

/// Both figures joined, where there are any.
pub(crate) fn joined(join: Join, one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(match join {
            Join::Sum => one + other,
            Join::Max => one.max(other),
        }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_a_snapshot_are_joined() {
        let mut gauge = Gauge::new(Join::Sum);
        gauge.expect();
        gauge.expect();
        for (id, value) in [(1, 1.0), (1, 2.0), (2, 5.0), (3, 10.0), (3, 20.0)] {
            gauge.offer(id, 1.0, Some(value));
        }
        gauge.close();
        let stat = gauge.stat;
        assert_eq!(
            (stat.min(), stat.max(), stat.count(), stat.missing()),
            (Some(3.0), Some(30.0), 2, 1)
        );
    }

    #[test]
    fn the_busiest_is_the_largest() {
        assert_eq!(joined(Join::Max, Some(1.0), Some(4.0)), Some(4.0));
        assert_eq!(joined(Join::Max, None, Some(4.0)), Some(4.0));
        assert_eq!(joined(Join::Sum, None, None), None);
    }
}
