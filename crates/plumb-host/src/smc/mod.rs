//! Shared memory communications: what was really carried by SMC, and what fell back to TCP.

mod facts;
mod readiness;
mod setup;
mod socket;

pub use plumb_netlink::smc::{Fallback, LinkGroups, SmcCounters, SmcTraffic};

pub use facts::{SmcDevice, SmcFacts, SmcPort};
pub use readiness::{Lack, LackKind, Readiness};
pub use setup::{NotSet, Ueid, add_ueid};
pub(crate) use socket::Smc;
