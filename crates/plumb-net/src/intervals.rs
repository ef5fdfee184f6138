//! What was received in each interval of streams, by the clock of whoever received it.

use plumb_measure::{Portion, StreamInterval};

/// Bytes at a moment of the clock of whoever counted them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) at_ns: u64,
    pub(crate) bytes: u64,
    /// Datagrams that are known as lost.
    pub(crate) lost: Option<u64>,
}

/// What both sides have received until a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) here: Option<Seen>,
    pub(crate) there: Option<Seen>,
}

/// What was received in each interval so far.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    pub(crate) list: Vec<StreamInterval>,
    last: Look,
}

impl Intervals {
    /// From this look on.
    pub(crate) fn from(last: Look) -> Self {
        Self { list: Vec::new(), last }
    }

    /// Notes what was received since the last look, `start_ns` after the start.
    pub(crate) fn note(&mut self, start_ns: u64, now: Look) {
        let portion = |now: Option<Seen>, before: Option<Seen>| {
            let (now, before) = (now?, before?);
            Some(Portion {
                bytes: now.bytes.saturating_sub(before.bytes),
                duration_ns: now.at_ns.saturating_sub(before.at_ns),
                lost: now
                    .lost
                    .zip(before.lost)
                    .map(|(now, before)| now.wrapping_sub(before).cast_signed()),
            })
        };
        let to_server = portion(now.there, self.last.there);
        let from_server = portion(now.here, self.last.here);
        if to_server.is_some() || from_server.is_some() {
            self.list.push(StreamInterval { start_ns, to_server, from_server });
        }
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(at_ns: u64, bytes: u64) -> Option<Seen> {
        Some(Seen { at_ns, bytes, lost: None })
    }

    #[test]
    fn intervals_are_by_the_clock_of_whoever_received() {
        let mut intervals = Intervals::from(Look { here: seen(10, 0), there: seen(7_000, 5) });
        intervals.note(0, Look { here: seen(110, 50), there: seen(7_101, 25) });
        intervals.note(100, Look { here: seen(210, 50), there: None });
        let part = |bytes, duration_ns| Some(Portion { bytes, duration_ns, lost: None });
        assert_eq!(
            intervals.list,
            [
                StreamInterval {
                    start_ns: 0,
                    to_server: part(20, 101),
                    from_server: part(50, 100)
                },
                StreamInterval { start_ns: 100, to_server: None, from_server: part(0, 100) },
            ]
        );
    }
}
