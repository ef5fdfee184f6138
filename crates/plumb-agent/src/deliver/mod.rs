//! Delivery: messages go from the spool to the other side, and are forgotten once it has them.

mod client;
mod lane;
mod verdict;

use std::sync::Arc;

use plumb_measure::Span;
use tokio_rustls::TlsConnector;

pub(crate) use lane::{Lane, LaneCounts};

#[cfg(test)]
mod tests;

/// Where messages go.
#[derive(Clone)]
pub struct TargetPlan {
    /// `HOST:PORT`, to connect to.
    pub address: String,
    /// The host alone, whom a certificate has to name.
    pub host: String,
    /// For the header line `Host`.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// The value of the header line `Authorization`.
    pub(crate) authorization: Option<String>,
    /// Encrypts, where the URL says so.
    pub(crate) tls: Option<Arc<TlsConnector>>,
    /// Messages under way at once.
    pub window: usize,
    /// One after the other, in their order.
    pub ordered: bool,
    /// Whether messages name themselves, so that the other side knows repeated ones.
    pub keys: Keys,
    /// To connect, and for an answer.
    pub timeout: Span,
}

// derived, it would show the password
impl std::fmt::Debug for TargetPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TargetPlan")
            .field("address", &self.address)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// Whether messages carry `Idempotency-Key` (and `X-Order-Key` where they are ordered).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// They do.
    #[default]
    Send,
    /// They do not: what is sent again may be there twice.
    Omit,
}

/// When a message that was not delivered is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Attempts after the first.
    pub times: u32,
    /// Between two of them.
    pub interval: Span,
    /// A message that is older is not sent any more.
    pub lifetime: Option<Span>,
}

impl Default for RetryPlan {
    fn default() -> Self {
        Self { times: 100, interval: Span::from_ms(10_000), lifetime: None }
    }
}
