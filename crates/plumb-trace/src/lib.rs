//! What servers that were not written here tell of an operation: spans of OpenTelemetry, found by the
//! trace that the operation was sent with.
//!
//! [`Tracing`] gives each operation of a load a trace and collects its spans; [`SpanSource`] brings them in: from a file that a collector writes, or over OTLP/HTTP on
//! loopback. They are kept in a [`SpanStore`] of bounded size. [`account`] makes parts of them by
//! their self time (`tree.rs`): durations only across clocks, what overlaps counted once, never more
//! than the operation waited.

mod account;
pub mod attributes;
mod error;
mod file;
mod otlp;
mod receiver;
mod source;
mod span;
mod store;
mod tracing;
mod tree;

pub use account::account;
pub use error::TraceError;
pub use source::SpanSource;
pub use span::{Span, SpanId, SpanKind};
pub use store::SpanStore;
pub use tracing::{
    PARENT, TraceOptions, Traces, Tracing, behind_the_first_line, insert_parent, traced_answer,
    traced_step, write_parent, write_parent_value,
};
