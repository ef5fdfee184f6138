//! Netlink: how the kernel is asked for what it has no file for, and what it says of SMC ([`smc`]).

mod message;
pub mod smc;
mod socket;

pub use message::{
    Dump, GENERIC, Message, attributes, each_payload, messages, recorded, request, request_of,
    request_with, u16_at, u32_at, u64_at,
};
pub use socket::{DUMP, Family, Netlink};
