//! What is sent to whom, how often, and where it should arrive.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plumb_engine::options::{LoadOptions, MeasurementOptions};
use plumb_measure::{ByteSize, Span};
use plumb_trace::TraceOptions;

/// Messages for a runtime.
#[derive(Args, Clone, Debug)]
pub struct MessageLoadOptions {
    /// The server, such as http://127.0.0.1:50000
    #[arg(value_name = "URL")]
    pub url: String,

    /// The transaction (POST /runner/NAME); without one, messages are routed by what they are (POST
    /// /messages)
    #[arg(long, value_name = "NAME")]
    pub transaction: Option<String>,

    /// Whether a message is answered after the last action, or once it is on disk [default: as its
    /// transaction says]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<ModeName>,

    /// A parameter of the transaction, repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,

    /// Connections, each with messages of its own; a list makes a sweep
    #[arg(short = 'c', long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroUsize>,

    /// What is sent.
    #[command(flatten)]
    pub content: ContentOptions,

    /// Who sends it.
    #[command(flatten)]
    pub log_on: LogOnOptions,

    /// Where it should arrive.
    #[command(flatten)]
    pub sink: SinkOptions,

    /// To which trace each message belongs.
    #[command(flatten)]
    pub traces: TraceOptions,

    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// How the target is reached, and where results go.
    #[command(flatten)]
    pub measurement: MeasurementOptions,
}

/// What is sent.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub struct ContentOptions {
    /// Send this file, or the files of this folder in turn: XML, or JSON if it begins with `{` or `[`
    ///
    /// `${number}` in a file becomes the number of the message, 12 digits. Without a file production
    /// orders are made (LOIPRO01), whose AUFNR is that number.
    #[arg(long, value_name = "PATH", conflicts_with = "size")]
    pub message: Option<PathBuf>,

    /// Size of the production orders that are made, at least one with 8 components [default: 2KiB]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<ByteSize>,

    /// Number of the first message; those after it count up [default: by the clock]
    #[arg(long, value_name = "N")]
    pub first_number: Option<NonZeroU64>,

    /// A connection whose message was turned away (429, 503) waits so long before its next one; not
    /// with --rate
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub refused_pause: Option<Span>,
}

/// Who sends messages.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Log-on")]
pub struct LogOnOptions {
    /// Log on as this user, with the password of --password-file or PLUMB_FLOW_PASSWORD
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// A file whose first line is the password of --user, or without --user a token
    ///
    /// Without a file the token is that of PLUMB_FLOW_TOKEN, if there is one.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// The table that messages become rows of.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Sink")]
pub struct SinkOptions {
    /// Compare what was accepted with rows here: postgres://USER@HOST/NAME, or the path of an SQLite
    /// file
    #[arg(long, value_name = "URL", requires = "table")]
    pub sink: Option<String>,

    /// A file whose first line is the password of --sink [default: PGPASSWORD]
    #[arg(long, value_name = "FILE", requires = "sink")]
    pub sink_password_file: Option<PathBuf>,

    /// The table: NAME or SCHEMA.NAME
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub table: Option<String>,

    /// Its column with the time of a row, from which the rate is read
    #[arg(long, value_name = "NAME", default_value = "created_at")]
    pub column: Option<String>,

    /// Its column with the number of the message: rows of others are then not counted, and none may
    /// be there twice
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub number_column: Option<String>,

    /// Rows that a message makes
    #[arg(long, value_name = "N", default_value = "1")]
    pub rows: Option<NonZeroU64>,

    /// Wait so long for messages that are still on their way [default: 60s; without --sink 1s]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<Span>,
}

/// When a message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// After the last action
    Sync,
    /// Once it is on disk
    Async,
}

impl ModeName {
    /// The word in a request.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
        }
    }
}
