//! What keeps the statements of a user from writing, by the server's own word.

/// Who keeps a statement from writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The session: it was asked to be read-only when it began, the server reports that it is, and
    /// would report if that changed.
    Session,
    /// Each call: one message that begins a read-only transaction, asks, and rolls back. The server
    /// leaves out the rest of a message behind an error, so the statement never stands alone.
    Call(Why),
}

/// Why a session cannot promise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The process that answers is not the one that the session was begun with.
    Pooler,
    /// What was asked for when the session began was refused or dropped.
    Dropped,
    /// The server does not report whether its sessions are read-only.
    Unreported,
}

impl Why {
    /// The reason and what follows from it, as outputs name it behind the server.
    pub(crate) fn describe(self) -> String {
        let reason = match self {
            Self::Pooler => "through a pooler",
            Self::Dropped => "through something that drops start-up parameters",
            Self::Unreported => "without a report of what its sessions may (versions before 14)",
        };
        format!(
            "{reason}: each call is one message of BEGIN, the statement as text, and ROLLBACK, and \
             nothing is prepared"
        )
    }
}
