//! The table of locks with the semantics of SAP's enqueue server, and the journal that keeps it.
//!
//! [`table`] says who may have what: pure, without clock or I/O. [`journal`] writes its changes down
//! and makes the table of them again; it knows files, and neither sockets nor a clock.

pub mod journal;
pub mod table;
