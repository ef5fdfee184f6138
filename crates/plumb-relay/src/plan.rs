//! What a relay does to the connections that pass through it.

use std::fmt;
use std::str::FromStr;

use plumb_measure::{BitRate, ByteSize, Share, Span};

use plumb_engine::{Cidr, EngineError};

/// One direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathPlan {
    /// Every byte leaves this much later than it came, nanoseconds.
    pub delay_ns: u64,
    /// And up to this much later still, nanoseconds, evenly distributed; the order is kept.
    pub jitter_ns: u64,
    /// All connections together carry no more than this.
    pub rate: Option<BitRate>,
}

/// When a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So long after it came.
    After(Span),
    /// Once so many bytes have come in from both sides together.
    Bytes(ByteSize),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected a time or a size above zero, for example 30s or 1MiB".into();
        if text.ends_with(|last: char| last.is_ascii_digit()) {
            return Err(expected()); // seconds or bytes: only its unit tells
        }
        match (text.parse::<Span>(), text.parse::<ByteSize>()) {
            (Ok(time), _) if time.ns() > 0 => Ok(Self::After(time)),
            (_, Ok(size)) => Ok(Self::Bytes(size)),
            _ => Err(expected()),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(time) => write!(f, "{time}"),
            Self::Bytes(size) => write!(f, "{size}"),
        }
    }
}

/// What becomes of a connection that was silent for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It is forgotten: nothing passes any more, and nobody is told.
    Forget,
    /// Both sides are reset.
    Reset,
}

/// Which connections do not live to their own end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossPlan {
    /// This share of the connections is reset as soon as it has come.
    pub refuse: Option<Share>,
    /// When a connection is cut: both sides are reset.
    pub cut: Option<Limit>,
    /// The share of the connections that is cut; `None`: all.
    pub cut_share: Option<Share>,
    /// After so long without a byte from either side, this.
    pub idle: Option<(Span, Idle)>,
}

/// A whole relay.
#[derive(Clone, Debug, PartialEq)]
pub struct RelayPlan {
    /// From the client to the target.
    pub there: PathPlan,
    /// From the target to the client.
    pub back: PathPlan,
    /// Bytes of one direction of a connection that may be under way or not yet acknowledged.
    pub window: ByteSize,
    /// Connections that are lost.
    pub loss: LossPlan,
    /// Who may connect over IP; empty: everybody who reaches the address.
    pub allow: Vec<Cidr>,
    /// Connections at once; more are reset.
    pub max_connections: usize,
    /// The target must take a connection within this.
    pub connect_timeout: Span,
    /// The relay ends after this; `None`: when it is told to stop.
    pub for_time: Option<Span>,
    /// Seed of jitter and loss.
    pub seed: u64,
}

impl RelayPlan {
    /// Checks what no single option can know.
    ///
    /// # Errors
    /// [`EngineError::Plan`] names the option and what to write instead.
    pub fn check(&self) -> Result<(), EngineError> {
        let wrong = |text: &str| Err(EngineError::Plan(text.into()));
        if self.max_connections == 0 {
            return wrong("--max-connections 0 lets no connection through: write 1 or more");
        }
        if self.connect_timeout.ns() == 0 {
            return wrong("--connect-timeout 0s leaves no time to connect: write for example 5s");
        }
        if self.loss.idle.is_some_and(|(time, _)| time.ns() == 0) {
            return wrong("--idle-cut 0s cuts everything: write for example 2s");
        }
        if self.loss.cut_share.is_some() && self.loss.cut.is_none() {
            return wrong("--cut-share says how many, but nothing says when: add --cut-after");
        }
        Ok(())
    }

    /// The window as memory counts.
    pub(crate) fn window_bytes(&self) -> usize {
        usize::try_from(self.window.bytes()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_time_or_a_size() {
        assert_eq!("30s".parse(), Ok(Limit::After(Span::from_ms(30_000))));
        assert_eq!("1MiB".parse(), Ok(Limit::Bytes(ByteSize::new(1 << 20).unwrap())));
        for wrong in ["", "5", "0s", "0B", "12x"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
