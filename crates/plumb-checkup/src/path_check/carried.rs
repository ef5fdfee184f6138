//! What messages say of how much a line carries.

use std::cmp::Reverse;

use super::PathPart;
use plumb_measure::{Span, bits_per_s, real, show_plain};

/// What messages carried, as far as their bytes took time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// In one direction, bits a second.
    pub(super) bits_per_s: f64,
    /// What the smallest message takes, nanoseconds: the way, whatever is sent.
    shortest_ns: u64,
}

impl Carried {
    /// That of the largest message that came back, beside the smallest: a message goes there, and comes back.
    /// Of small ones a shaper lets many pass faster than its rate. `None` as long as the largest takes less
    /// than twice as long as the smallest: its time is then the distance, and no rate.
    pub(super) fn of(parts: &[PathPart]) -> Option<Self> {
        let came_back = || {
            let way = |part: &PathPart| part.outcome.as_ref()?.way_ns();
            parts.iter().filter_map(move |part| Some((part.size_bytes, way(part)?)))
        };
        let (most, longest_ns) = came_back().max_by_key(|(bytes, ns)| (*bytes, Reverse(*ns)))?;
        let (least, shortest_ns) = came_back().min()?;
        (most > least && longest_ns > shortest_ns.saturating_mul(2)).then(|| {
            let both_ways = (most - least).saturating_mul(2);
            Self { bits_per_s: bits_per_s(both_ways, longest_ns - shortest_ns), shortest_ns }
        })
    }

    /// How long a message of so many bytes takes there and back, seconds.
    fn takes_s(&self, bytes: u64) -> f64 {
        real(self.shortest_ns) / 1e9 + 16.0 * real(bytes) / self.bits_per_s
    }

    /// That the messages of `part` take longer than an answer may, if they do.
    pub(super) fn too_slow_for(&self, part: &PathPart) -> Option<String> {
        let takes_s = self.takes_s(part.size_bytes);
        let timeout = Span::from_ns(part.timeout_ns);
        (takes_s * 1e9 > real(part.timeout_ns)).then(|| {
            format!(
                "no message of {} bytes came back within {timeout}; smaller ones carry {} kbit/s, at \
                 which it takes {takes_s:.1} s: the line is slow. Take a longer --timeout to measure it.",
                part.size_bytes,
                show_plain(self.bits_per_s / 1e3)
            )
        })
    }
}
