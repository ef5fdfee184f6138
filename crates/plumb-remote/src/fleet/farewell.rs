//! How long remotes may take to hand over what they have.

use super::{FAREWELL_NS, Fleet};

/// Remotes that are to end have [`FAREWELL_NS`], and as long again whenever more of their files has
/// come.
#[derive(Debug)]
pub(super) struct Farewell {
    since_ns: u64,
    bytes: u64,
}

impl Farewell {
    /// It begins now.
    pub(super) fn of(fleet: &Fleet) -> Self {
        let bytes = fleet.remotes.iter().map(|remote| remote.kept.bytes()).sum();
        Self { since_ns: fleet.post.now_ns(), bytes }
    }

    /// True once nothing came of `fleet` for too long.
    pub(super) fn is_over(&mut self, fleet: &Fleet) -> bool {
        let now = Self::of(fleet);
        let waited_ns = now.since_ns.saturating_sub(self.since_ns);
        if now.bytes > self.bytes {
            *self = now;
            return false;
        }
        waited_ns > FAREWELL_NS
    }
}
