//! The lock server, its clients and its journal.

#[path = "../kit/mod.rs"]
mod kit;

mod lock;
mod lock_exclusion;
mod lock_journal;
mod lock_libraries;
mod lock_load;
mod lock_notice;
mod lock_pair;
mod lock_postgres;
mod lock_redis;
mod lock_trouble;
mod lock_witness;
