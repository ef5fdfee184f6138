//! What an answer says of the time it took the other side.

use crate::TraceId;

/// Times of one answer that are kept.
const TIMES_MAX: usize = 12;

/// Up to twelve times that came with one answer, each under the number that its protocol gave to
/// its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerTimes {
    count: u8,
    names: [u8; TIMES_MAX],
    us: [u32; TIMES_MAX],
    trace: Option<TraceId>,
}

impl ServerTimes {
    /// The times of one answer that are kept at most.
    pub const MAX: usize = TIMES_MAX;

    /// Adds a time of `ns` nanoseconds, kept to a microsecond and up to 71 minutes. False when
    /// there is no room left: it is then not kept.
    pub fn push(&mut self, name: u8, ns: u64) -> bool {
        let at = usize::from(self.count);
        if at == TIMES_MAX {
            return false;
        }
        self.names[at] = name;
        self.us[at] = u32::try_from(ns.saturating_add(500) / 1_000).unwrap_or(u32::MAX);
        self.count += 1;
        true
    }

    /// The same times, of an operation that was sent with this trace.
    #[must_use]
    pub fn of_trace(self, trace: TraceId) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// The trace that the operation was sent with, if it was.
    #[must_use]
    pub fn trace(&self) -> Option<TraceId> {
        self.trace
    }

    /// Number of the name, and nanoseconds.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64)> + Clone + '_ {
        let both = self.names.iter().zip(self.us).take(usize::from(self.count));
        both.map(|(name, us)| (usize::from(*name), u64::from(us) * 1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_times_are_kept_to_a_microsecond() {
        let mut told = ServerTimes::default();
        assert!(told.push(3, 53_250_499));
        assert!((1..12).all(|name| told.push(name, u64::MAX)));
        assert!(!told.push(12, 1));
        let times: Vec<_> = told.iter().collect();
        assert_eq!((times.len(), times[0]), (12, (3, 53_250_000)));
        assert_eq!(times[1].1, u64::from(u32::MAX) * 1_000);
    }
}
