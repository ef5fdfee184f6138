//! What either side of a connection can do, as bits.

/// Of MySQL's generation of clients.
pub const LONG_PASSWORD: u32 = 1;
/// Flags of columns have two bytes.
pub const LONG_FLAG: u32 = 1 << 2;
/// The database is named at the log-on.
pub const CONNECT_WITH_DB: u32 = 1 << 3;
/// Of version 4.1.
pub const PROTOCOL_41: u32 = 1 << 9;
/// Encryption.
pub const TLS: u32 = 1 << 11;
/// Answers tell the state of the transaction.
pub const TRANSACTIONS: u32 = 1 << 13;
/// Proofs of version 4.1.
pub const SECURE_CONNECTION: u32 = 1 << 15;
/// Several answers to one statement.
pub const MULTI_RESULTS: u32 = 1 << 17;
/// The same of prepared ones.
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
/// Methods of proof have names.
pub const PLUGIN_AUTH: u32 = 1 << 19;
/// Proofs may be long.
pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// Changes of a session are reported with answers.
pub const SESSION_TRACK: u32 = 1 << 23;
/// Rows end with one message of the kind that ends everything else.
pub const DEPRECATE_EOF: u32 = 1 << 24;
