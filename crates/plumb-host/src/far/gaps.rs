//! Times without samples of a far machine.

use std::collections::VecDeque;

use plumb_measure::{counted, show_ns};

/// Gaps that are kept; of older ones nobody asks any more.
const KEPT_MAX: usize = 1_000;

/// The times in which a far machine could not be recorded.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    gaps: VecDeque<Gap>,
}

#[derive(Debug)]
struct Gap {
    from_ns: u64,
    /// Absent while it is not over.
    until_ns: Option<u64>,
    /// What the machine did, in words that go on behind `it`.
    cause: String,
}

impl Gaps {
    /// From `from_ns` on there are no samples, because it `cause`.
    pub(super) fn begin(&mut self, from_ns: u64, cause: String) {
        if self.gaps.len() >= KEPT_MAX {
            self.gaps.pop_front();
        }
        self.gaps.push_back(Gap { from_ns, until_ns: None, cause });
    }

    /// From `until_ns` on there are samples again.
    pub(super) fn end(&mut self, until_ns: u64) {
        if let Some(gap) = self.gaps.back_mut() {
            gap.until_ns.get_or_insert(until_ns);
        }
    }

    /// Why samples lack from `from_ns` to `to_ns`, in words that go on behind `it`; `None` where none do.
    pub(super) fn within(&self, from_ns: u64, to_ns: u64) -> Option<String> {
        let lacks = |gap: &&Gap| {
            gap.from_ns < to_ns && gap.until_ns.is_none_or(|until_ns| until_ns > from_ns)
        };
        let mut gaps = self.gaps.iter().filter(lacks);
        let first = gaps.next()?;
        let again = match first.until_ns {
            Some(until_ns) => {
                let after = show_ns(until_ns.saturating_sub(first.from_ns));
                format!(", and answered again {after} after its last sample")
            }
            None => String::new(),
        };
        let more = match gaps.count() as u64 {
            0 => String::new(),
            more => format!(", and {} later", counted(more, "more gap")),
        };
        Some(format!("{}{again}{more}", first.cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_gap_is_told_where_it_lies_and_no_longer() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.within(0, 100 * S), None);
        gaps.begin(4 * S, "did not answer".into());
        assert_eq!(gaps.within(0, 4 * S), None, "all of it was seen");
        assert_eq!(gaps.within(50 * S, 60 * S).as_deref(), Some("did not answer"));
        gaps.end(7 * S);
        let told = "did not answer, and answered again 3.00 s after its last sample";
        assert_eq!(gaps.within(0, 10 * S).as_deref(), Some(told));
        assert_eq!(gaps.within(7 * S, 60 * S), None, "it is over");
        gaps.end(9 * S);
        gaps.begin(8 * S, "closed the connection".into());
        let both = format!("{told}, and 1 more gap later");
        assert_eq!(gaps.within(0, 10 * S), Some(both));
        assert_eq!(gaps.within(7 * S, 10 * S).as_deref(), Some("closed the connection"));
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut gaps = Gaps::default();
        for at_ns in 0..KEPT_MAX as u64 + 10 {
            gaps.begin(2 * at_ns, "closed the connection".into());
            gaps.end(2 * at_ns + 1);
        }
        assert_eq!(gaps.gaps.len(), KEPT_MAX);
        assert_eq!(gaps.within(0, 20), None);
    }
}
