//! Netlink: how the kernel is asked for what it has no file for.

mod message;
mod socket;

pub(crate) use message::{Dump, attributes, each_payload, request_of, u16_at, u32_at, u64_at};
#[cfg(test)]
pub(crate) use message::{recorded, request};
pub(crate) use socket::{Family, Netlink};
