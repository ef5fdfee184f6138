//! Why spans cannot be had.

use std::path::PathBuf;

/// Why spans cannot be read or received. Each message says where and what to try.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file cannot be opened or read.
    #[error(
        "cannot read {}: {cause}; --spans names the file that a collector of OpenTelemetry writes",
        path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        cause: std::io::Error,
    },
    /// A line of a file is no OTLP.
    #[error(
        "{}, line {line}: {problem}; expected OTLP JSON, an ExportTraceServiceRequest (resourceSpans) a \
         line or one in all",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: OtlpError,
    },
    /// A line of a file is too long.
    #[error("{}, line {line}: longer than {most_mib} MiB", path.display())]
    LongLine {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What a line may have.
        most_mib: usize,
    },
    /// The port cannot be listened on, or what listens there cannot work.
    #[error("--otlp-port {port}: {cause}")]
    Port {
        /// The port.
        port: u16,
        /// What happened.
        cause: String,
    },
    /// Requests have a header that is written anew for each.
    #[error(
        "the header traceparent is given, and --traceparent writes it anew for each request; leave one of \
         them out"
    )]
    ParentGiven,
    /// The kernel refuses to wait.
    #[error("cannot wait for spans: {0}")]
    Wait(std::io::Error),
}

/// What is wrong with what should be OTLP.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// It is no JSON, or none of this form.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is no protobuf, or none of this form.
    #[error("{0}")]
    Protobuf(#[from] prost::DecodeError),
    /// A number of a trace or of a span has the wrong length, no hex digits, or is zero.
    #[error("a span's {name} is none: {bytes} bytes of hex digits are expected, not all zero")]
    Id {
        /// The field.
        name: &'static str,
        /// The length it must have.
        bytes: usize,
    },
    /// A time is no number of nanoseconds.
    #[error("a span's {name} is no number of nanoseconds")]
    Time {
        /// The field.
        name: &'static str,
    },
}
