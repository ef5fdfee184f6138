//! Whose locks a journal holds.

/// Of which epoch the locks of a journal are.
///
/// A start that draws an epoch of its own, as one does without a journal or where something may be
/// missing, replaces nobody by that: until somebody decides for the new epoch, what counts is the
/// newest one before it that was decided for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The newest epoch that somebody decided for and of which locks are here; 0: none.
    pub epoch: u64,
    /// More may have been given out under it: they were got from its primary, or the journal has
    /// lost something.
    pub of_replica: bool,
}

impl Origin {
    /// That of a server that gave out whatever was given out under this epoch.
    #[must_use]
    pub const fn own(epoch: u64) -> Self {
        Self { epoch, of_replica: false }
    }

    /// That of a replica which has what its primary had under this epoch; 0: it has not got
    /// everything yet.
    #[must_use]
    pub const fn of_replica(epoch: u64) -> Self {
        Self { epoch, of_replica: true }
    }

    /// That of the same locks where something that was acknowledged is missing, or may be: also that
    /// somebody decided for an epoch.
    #[must_use]
    pub const fn lossy(self) -> Self {
        match (self.epoch, self.of_replica) {
            // older than any, and what is said of locks for whose epoch nobody decided
            (0, false) => Self::of_replica(1),
            (epoch, _) => Self::of_replica(epoch),
        }
    }

    /// True for a part of what another server had: it was followed, and left before everything was
    /// here.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.of_replica && self.epoch == 0
    }

    /// No server gave out, under this epoch or an older one, what is missing here; 0: nothing is
    /// known of any.
    #[must_use]
    pub const fn covers(&self) -> u64 {
        if self.of_replica { self.epoch.saturating_sub(1) } else { self.epoch }
    }
}
