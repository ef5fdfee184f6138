//! The lock server, its table and its journal, against models and any bytes.

#[path = "../../../plumb-wire/tests/cases/mod.rs"]
mod cases;
#[path = "../linear/clients.rs"]
mod clients;
#[path = "../linear/mod.rs"]
mod linear;
#[path = "../../../plumb-lock-table/tests/model/mod.rs"]
mod model;
#[path = "../../../plumb-lock-table/tests/numbers/mod.rs"]
mod numbers;

mod fuzz_server;
mod fuzz_stream;
mod keys;
mod linearity;
mod lives;
mod notices;
mod order;
mod pair;
mod promotion;
mod removals;
mod rights;
mod slices;
mod two;
mod waiting;
mod whose;
