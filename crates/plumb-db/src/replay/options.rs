//! The options of `plumb db replay`.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use plumb_engine::options::{OutputOptions, TransportOptions};
use plumb_measure::{ByteSize, Span};

use super::LogFormat;

/// The most times that a recording is replayed faster or slower than it was.
const TIMES_MAX: f64 = 1e6;
/// Statements with a row of their own at most.
const ROWS_MAX: usize = 1_000;

/// How fast a recording is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was recorded.
    Times(f64),
    /// One statement after the other on each connection, at once.
    Max,
}

impl Speed {
    /// How many times as fast; `None` for at once.
    #[must_use]
    pub fn times(self) -> Option<f64> {
        match self {
            Self::Times(times) => Some(times),
            Self::Max => None,
        }
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let times = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
        times
            .filter(|times| (1.0 / TIMES_MAX..=TIMES_MAX).contains(times))
            .map(Self::Times)
            .ok_or_else(|| "expected how many times as fast, for example 1, 2.5 or max".into())
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => write!(f, "{times}"),
            Self::Max => f.write_str("max"),
        }
    }
}

fn rows(text: &str) -> Result<NonZeroUsize, String> {
    let rows = text.parse::<NonZeroUsize>().ok().filter(|rows| rows.get() <= ROWS_MAX);
    rows.ok_or_else(|| format!("expected a number from 1 to {ROWS_MAX}"))
}

/// Which log is replayed against which database, and how fast.
#[allow(rustdoc::invalid_html_tags, reason = "the help shows a tab in the words of the manual")]
#[derive(Args, Clone, Debug)]
pub struct ReplayOptions {
    /// Statements with their times: PostgreSQL's csvlog or jsonlog, or lines of
    /// SECONDS<tab>SESSION<tab>STATEMENT
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The database, as a URL: see plumb db ping
    #[arg(value_name = "URL")]
    pub url: String,

    /// How FILE is written: csvlog, jsonlog, text [default: by its name: .csv, .json, any other]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<LogFormat>,

    /// How many times as fast as it was recorded: 1, 2.5; max: at once, one after the other
    #[arg(long, value_name = "TIMES", default_value = "1")]
    pub speed: Speed,

    /// Connections; each has sessions of the recording, whose statements follow each other
    #[arg(short = 'c', long, value_name = "N", default_value = "16")]
    pub connections: NonZeroUsize,

    /// Show so many different statements, those that come most often, each by itself
    #[arg(long, value_name = "N", default_value = "40", value_parser = rows)]
    pub statements: NonZeroUsize,

    /// Replay statements that may write, too: each is rolled back
    ///
    /// Without this option all sessions are read-only by the server's own word, and what does not begin
    /// as statements that only ask do is left out and counted. What a transaction cannot take back, such
    /// as numbers taken from a sequence, is not taken back. A table without transactions (MyISAM, Aria)
    /// keeps what one statement writes: then nothing more is asked.
    #[arg(long)]
    pub allow_writes: bool,

    /// The most rows that an answer may hold
    #[arg(long, value_name = "N", default_value = "1000000")]
    pub rows: NonZeroU64,

    /// The most that the rows of an answer may hold
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub size: ByteSize,

    /// Give up a statement that is not answered, or could not begin, within this
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub timeout: Span,

    /// Give up a connection that does not stand within this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub connect_timeout: Span,

    /// The largest scheduling lag at the 99th percentile that is accepted
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub lag: Span,

    /// How the server is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_how_many_times_as_fast() {
        assert_eq!("2.5".parse(), Ok(Speed::Times(2.5)));
        assert_eq!("10x".parse(), Ok(Speed::Times(10.0)));
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!(Speed::Times(0.5).to_string(), "0.5");
        for text in ["0", "-1", "fast", "inf", "NaN", "1e9"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
        assert!(rows("0").is_err() && rows("1001").is_err() && rows("7").is_ok());
    }
}
