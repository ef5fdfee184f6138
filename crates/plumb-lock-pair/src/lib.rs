//! Two lock servers and their witnesses: what they say to each other, and who gives locks out.
//!
//! [`replication`] keeps a second server in step with the first, [`election`] has a majority of
//! witnesses decide which of the two gives locks out. Both are pure but for the file of a witness:
//! no sockets and no clock.

pub mod election;
pub mod replication;
