//! A figure that is put together from several cells of a snapshot.

use std::collections::HashSet;

use crate::stat::Stat;

/// How cells become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// A sum, which needs all its figures.
    Sum,
    /// The largest of those that are there.
    Max,
}

impl Join {
    /// What no cell at all comes to.
    pub(crate) fn of_nothing(self) -> Option<f64> {
        match self {
            Self::Sum => Some(0.0),
            Self::Max => None,
        }
    }
}

/// One figure a snapshot, from one or more sections (disks stand in several when there are many).
#[derive(Clone, Debug)]
pub(crate) struct Gauge {
    join: Join,
    /// Sections that belong to it.
    sections: u32,
    open: Option<Open>,
    pub(crate) stat: Stat,
}

/// A snapshot of which not every section came yet.
#[derive(Clone, Debug)]
struct Open {
    id: u64,
    seconds: f64,
    /// All that came so far.
    share: Share,
    sections: u32,
}

/// What one section says of a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Share {
    /// Its cells joined, those of paths aside.
    pub(crate) value: Option<f64>,
    /// Figures of paths, each with the number of its disk.
    pub(crate) paths: Vec<(usize, Option<f64>)>,
    /// The numbers of the disks that have done anything, and counted their paths with it.
    pub(crate) used: Vec<usize>,
}

impl From<Option<f64>> for Share {
    fn from(value: Option<f64>) -> Self {
        Self { value, ..Self::default() }
    }
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
    pub(crate) fn offer(&mut self, id: u64, seconds: f64, share: Share) {
        let is_same = |open: &Open| open.id == id && open.sections < self.sections;
        if !self.open.as_ref().is_some_and(is_same) {
            self.close();
        }
        let nothing = || Share::from(self.join.of_nothing());
        let open =
            self.open.get_or_insert_with(|| Open { id, seconds, share: nothing(), sections: 0 });
        open.sections += 1;
        open.share.value = joined(self.join, open.share.value, share.value);
        open.share.paths.extend(share.paths);
        open.share.used.extend(share.used);
        if open.sections == self.sections {
            self.close();
        }
    }

    /// Books the last snapshot. One of which a section is lacking has no figure: a sum of a part
    /// would be too small.
    pub(crate) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let used: HashSet<usize> = open.share.used.into_iter().collect();
            let paths = open.share.paths.into_iter().filter(|(disk, _)| !used.contains(disk));
            let value = paths
                .fold(open.share.value, |value, (_, figure)| joined(self.join, value, figure))
                .filter(|_| open.sections == self.sections);
            self.stat.offer(value, open.seconds, open.id);
        }
    }
}

/// Both figures joined.
pub(crate) fn joined(join: Join, one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match join {
        Join::Sum => one.zip(other).map(|(one, other)| one + other),
        Join::Max => one.zip(other).map(|(one, other)| one.max(other)).or(one).or(other),
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
            gauge.offer(id, 1.0, Some(value).into());
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
        assert_eq!(joined(Join::Sum, Some(1.0), None), None, "a sum of a part is too small");
    }

    #[test]
    fn a_path_in_another_section_counts_where_its_disk_does_not() {
        for (of_disk, sum) in [(5.0, 6.0), (0.0, 9.0)] {
            let used = if of_disk > 0.0 { vec![7] } else { Vec::new() };
            let disk = Share { used, ..Some(of_disk + 1.0).into() };
            let path = Share { paths: vec![(7, Some(8.0))], ..Join::Sum.of_nothing().into() };
            for shares in [[disk.clone(), path.clone()], [path, disk]] {
                let mut gauge = Gauge::new(Join::Sum);
                gauge.expect();
                gauge.expect();
                shares.into_iter().for_each(|share| gauge.offer(1, 1.0, share));
                assert_eq!(gauge.stat.max(), Some(sum), "{of_disk} at the disk");
            }
        }
    }
}
