//! The queue from outside, and what of it is left when the machine or the disk fails.

mod hook;

pub(super) use self::hook::Hook;
