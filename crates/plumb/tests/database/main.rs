//! Statements against real databases: where their time goes, what stands on the way, what is refused.

#[path = "../kit/mod.rs"]
mod kit;

mod certificates;
mod cutter;
mod flow_batches;
mod flow_killed;
mod flow_rows;
mod flow_shared;
mod hana;
mod mariadb;
mod mssql;
#[cfg(feature = "odbc")]
mod odbc;
mod ping;
mod pooler;
mod read_only;
mod replay;
mod silent;
