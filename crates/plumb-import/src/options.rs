//! What `plumb http import` is told.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plumb_draft::origin::WantedServers;
use plumb_measure::Span;
use plumb_wire::http::Url;

/// The formats that become scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// HAR 1.2, as browsers and recording proxies save it
    Har,
    /// A test plan of JMeter
    Jmx,
    /// grinder.properties of The Grinder
    Grinder,
    /// An access log in the common or the combined format, as Apache and nginx write it
    AccessLog,
}

// The words for people stand with the command: a comment here would become help text.
#[derive(Args, Clone, Debug)]
#[expect(missing_docs, reason = "the options say it")]
pub struct ImportOptions {
    /// A HAR, a test plan of JMeter (.jmx), a grinder.properties, or an access log
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The format, where the file does not tell it
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub from: Option<Format>,

    /// Write the scenario to this file instead of standard output
    #[arg(long, value_name = "SCENARIO.toml")]
    pub out: Option<PathBuf>,

    /// Write over files that are there
    #[arg(long)]
    pub force: bool,

    /// The main server of several: http://HOST:PORT; that which is asked most unless given
    #[arg(long, value_name = "URL", value_parser = url)]
    pub base: Option<Url>,

    /// Leave out what other servers than the main one are asked
    #[arg(long)]
    pub one_server: bool,

    /// Write the user and the password of the file to this one, readable for its owner only
    #[arg(long, value_name = "FILE")]
    pub credentials_out: Option<PathBuf>,

    /// Exit with 1 when something that changes the load was not carried over
    #[arg(long)]
    pub strict: bool,

    /// Leave out images, fonts, style sheets and scripts
    #[arg(long, help_heading = "HAR")]
    pub drop_static: bool,

    /// Check the length of each answer, too: only where the server always sends the same
    #[arg(long, help_heading = "HAR")]
    pub check_length: bool,

    /// Keep If-None-Match and If-Modified-Since: ask as a browser whose cache is full
    #[arg(long, help_heading = "HAR")]
    pub keep_conditions: bool,

    /// Ask for what the browser took out of its cache, too, which no server was asked for
    #[arg(long, help_heading = "HAR")]
    pub keep_cached: bool,

    /// A pause inside a page becomes a think time from here on
    #[arg(long, value_name = "TIME", default_value = "200ms", help_heading = "HAR")]
    pub think_min: Span,

    /// Play the log so many times as fast
    #[arg(long, value_name = "N", default_value = "1", value_parser = speed, help_heading = "Access log")]
    pub speed: f64,

    /// Also ask with methods that may change something, without the content that they had
    #[arg(long, help_heading = "Access log")]
    pub all_methods: bool,
}

impl ImportOptions {
    /// The servers that the scenario is to ask.
    pub(crate) fn wanted_servers(&self) -> WantedServers<'_> {
        WantedServers { base: self.base.as_ref(), one_server: self.one_server }
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse().ok().filter(|speed: &f64| (0.001..=10_000.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.001 to 10000, such as 10".into())
}

fn url(text: &str) -> Result<Url, String> {
    Url::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
impl ImportOptions {
    /// Nothing but a file.
    pub(crate) fn of(file: &str) -> Self {
        Self {
            file: file.into(),
            from: None,
            out: None,
            force: false,
            base: None,
            one_server: false,
            credentials_out: None,
            strict: false,
            drop_static: false,
            check_length: false,
            keep_conditions: false,
            keep_cached: false,
            think_min: Span::from_ms(200),
            speed: 1.0,
            all_methods: false,
        }
    }
}
