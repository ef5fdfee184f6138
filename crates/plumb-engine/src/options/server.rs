//! How the loop of a server runs, and whom it serves.

use clap::Args;
use plumb_measure::{Span, Tick};

use crate::{Cidr, ServePlan};

/// Whom a server serves, and how it waits for them.
#[derive(Args, Clone, Debug)]
pub struct ServerLoopOptions {
    /// Clients served at once; more are turned away
    #[arg(long, value_name = "N", default_value = "10000")]
    pub max_clients: usize,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// Ask the kernel again and again instead of waiting: needs a core for itself
    #[arg(long)]
    pub spin: bool,

    /// Keep the tick of a processor that waits, for clients that look for the floor
    ///
    /// Clients are told, and their records say so: figures of such a server are not those of an
    /// ordinary one.
    #[arg(long, conflicts_with = "spin")]
    pub hold_tick: bool,

    /// Run on this processor
    #[arg(long, value_name = "CPU")]
    pub pin: Option<usize>,
}

impl ServerLoopOptions {
    /// What is done about the tick of a processor that idles.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.hold_tick.into()
    }

    /// A plan for the loop, in which a message that was begun must go on within `stall`.
    #[must_use]
    pub fn plan(&self, stall: Span) -> ServePlan {
        ServePlan {
            allow: self.allow.clone(),
            spin: self.spin,
            pin: self.pin,
            tick: self.tick(),
            ..ServePlan::new(self.max_clients, stall)
        }
    }
}
