//! What clients and servers of databases say, as bytes: messages written, and taken apart where they lie. No
//! I/O, no clock.
//!
//! | module | protocol |
//! |---|---|
//! | [`mysql`] | that of MariaDB and MySQL |
//! | [`tds`] | the Tabular Data Stream of SQL Server |
//! | [`hana`] | SAP HANA's |
//! | [`odbc`] | connection strings of ODBC |

mod bytes;
pub mod hana;
pub mod mysql;
pub mod odbc;
pub mod tds;

pub use bytes::Bytes;

/// What a server says that refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its number of the error.
    pub number: i32,
    /// The session ends with it.
    pub is_fatal: bool,
    /// The reason.
    pub message: String,
}

impl Refusal {
    /// The reason in one line.
    #[must_use]
    pub fn words(&self) -> String {
        self.message.replace(['\n', '\r'], " ")
    }
}
