//! The way from a source to its agent: changes, and marks that come back once they are on disk.

use tokio::sync::mpsc;

use crate::change::{Change, Position};

/// Changes that a source brings at once.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// In their order.
    pub(crate) changes: Vec<Change>,
    /// Changes that came too early or too late to be taken: never seen. They stand before the others.
    pub(crate) never_seen: u64,
    /// Where to go on behind all of it, where no change says so.
    pub(crate) after: Option<Position>,
    /// Is sent back once all of them are on disk, or lead to nothing.
    pub(crate) mark: Option<Mark>,
}

/// What a source wants back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) u64);

/// Where a source puts its changes.
pub(crate) struct Outlet {
    /// Where it goes on.
    pub(crate) from: Position,
    /// To the agent.
    pub(crate) feeds: mpsc::Sender<Feed>,
    /// From the agent: marks of feeds, in their order.
    pub(crate) marks: mpsc::UnboundedReceiver<Mark>,
    /// What happened, for the log.
    pub(crate) log: std::sync::Arc<dyn Fn(String) + Send + Sync>,
}

impl Outlet {
    /// Hands changes over; false when the agent ends.
    pub(crate) async fn put(&self, feed: Feed) -> bool {
        self.feeds.send(feed).await.is_ok()
    }
}
