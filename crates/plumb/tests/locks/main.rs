//! The lock server, its clients and its journal.

#[path = "../kit/mod.rs"]
mod kit;
#[path = "../../../plumb-lock-server/tests/linear/mod.rs"]
mod linear;
#[path = "../../../plumb-lock-table/tests/model/mod.rs"]
mod model;
#[path = "../../../plumb-lock-table/tests/numbers/mod.rs"]
mod numbers;

mod lock;
mod lock_exclusion;
mod lock_faults;
mod lock_journal;
mod lock_left;
mod lock_libraries;
mod lock_load;
mod lock_notice;
mod lock_pair;
mod lock_postgres;
mod lock_redis;
mod lock_trouble;
mod lock_witness;
