//! On what a reply depends before a client may be told.

/// On what a reply depends before a client may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u64);

impl Mark {
    /// On nothing: it does not show what is locked.
    pub(super) const NOTHING: Self = Self(0);

    /// It shows what is locked, of which a replica has everything at this position.
    pub(super) fn at(end: u64) -> Self {
        Self(end.saturating_add(1))
    }

    pub(super) fn is_behind(self, tellable: u64) -> bool {
        self.0 <= tellable.saturating_add(1)
    }
}
