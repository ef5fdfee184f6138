//! What this machine's kernel lacks, tried in guests: Debian's kernel in QEMU, without any hardware
//! for it, in which the files of `smc_guest/steps` run the program. SMC runs there over soft-RoCE on
//! loopback, which shows that everything works, and never how fast it is.
//!
//! `PLUMB_TEST_SMC_KERNEL` is the folder that `scripts/smc-kernel.sh` has filled. Without it the tests
//! say why they do nothing. `PLUMB_TEST_GUEST_PROGRAM` is the program that runs in the guests, for
//! example the static one that `./dist` makes [default: the one of this build].

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should end")]

#[path = "../kit/mod.rs"]
mod kit;

mod experiment;
mod faults;
mod guest;
mod receive;
mod shared_memory;
