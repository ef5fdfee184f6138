//! The points of a sweep: every size with every number of connections.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use plumb_measure::ByteSize;
use plumb_measure::statistics::SplitMix64;
use plumb_wire::extension::Exchange as Terms;

use super::options::PingOptions;

/// One measurement of the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Of a request.
    pub(super) size: ByteSize,
    /// What comes back, unless it is an echo.
    pub(super) terms: Option<Terms>,
    pub(super) connections: NonZeroUsize,
}

impl Point {
    pub(super) fn labels(self) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::new();
        let mut put = |name: &str, value: String| labels.insert(name.to_owned(), value);
        put("connections", self.connections.to_string());
        match self.terms {
            None => put("size", self.size.to_string()),
            Some(terms) => {
                put("request", self.size.to_string());
                put("response", response_of(terms).map_or_else(String::new, |it| it.to_string()));
                put("replies", terms.replies.to_string())
            }
        };
        labels
    }

    /// The payload of a message that comes back as it went.
    pub(super) fn echo(self) -> Option<ByteSize> {
        self.terms.is_none().then_some(self.size)
    }
}

fn response_of(terms: Terms) -> Option<ByteSize> {
    ByteSize::new(terms.response_bytes.into())
}

/// Every size with every number of connections, each pair once.
pub(super) fn sweep(options: &PingOptions) -> Vec<Point> {
    let mut points = Vec::new();
    for size in options.sizes() {
        for connections in &options.connections {
            let terms = options.asymmetry.terms(size);
            let point = Point { size, terms, connections: *connections };
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    points
}

pub(super) fn in_random_order(mut points: Vec<Point>, seed: u64) -> Vec<Point> {
    SplitMix64::new(seed).shuffle(&mut points);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(n: usize) -> Vec<Point> {
        let size = |bytes| ByteSize::new(bytes).unwrap();
        (1..=n as u64)
            .map(|n| Point { size: size(n), terms: None, connections: NonZeroUsize::MIN })
            .collect()
    }

    #[test]
    fn a_seed_gives_one_order_that_holds_every_point() {
        let once = in_random_order(points(12), 42);
        assert_eq!(once, in_random_order(points(12), 42));
        assert_ne!(once, in_random_order(points(12), 43));
        let mut sorted = once;
        sorted.sort_by_key(|point| point.size);
        assert_eq!(sorted, points(12));
    }
}
