//! The options of `plumb net ping`.

use std::num::{NonZeroU32, NonZeroUsize};

use clap::Args;
use plumb_engine::options::{LoadOptions, OutputOptions, TransportOptions};
use plumb_engine::tls::TlsOptions;
use plumb_measure::ByteSize;
use plumb_wire::extension::Exchange as Terms;

/// What is sent where, how often.
#[derive(Args, Clone, Debug)]
pub struct PingOptions {
    /// The echo server: HOST, HOST:PORT, smc:HOST:PORT, udp:HOST:PORT or unix:PATH (port 3298
    /// unless named)
    ///
    /// Or a route through SAProuters: /H/router/S/3299/W/-/H/host/S/3298, where `-` stands for a
    /// password that is asked for, or taken from PLUMB_ROUTE_PASSWORD.
    #[arg(value_name = "HOST")]
    pub host: String,

    /// Payload of a message; a list makes a sweep
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', default_value = "1000B")]
    pub size: Vec<ByteSize>,

    /// Connections, each with messages of its own; a list makes a sweep
    #[arg(
        short = 'c',
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1",
        default_value_if("preset", "rss", "64")
    )]
    pub connections: Vec<NonZeroUsize>,

    /// Clients at the same time, each with connections and a load of its own
    ///
    /// They begin together, and each has a row in the report, as so many processes of niping would.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "remotes")]
    pub clients: NonZeroUsize,

    /// What is sent and what comes back, where these differ.
    #[command(flatten)]
    pub asymmetry: AsymmetryOptions,

    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// How the target is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Over UDP: send no datagram in fragments; a --size that the path does not take whole is refused
    #[arg(long, help_heading = "Transport")]
    pub do_not_fragment: bool,

    /// Whether the connections are encrypted.
    #[command(flatten)]
    pub tls: TlsOptions,

    /// Print all that is known of the run, not only a summary
    #[arg(long, help_heading = "Output")]
    pub full: bool,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Requests and replies that differ in size and number, as those of a database do. Only a plumb
/// server gives them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Asymmetry (needs plumb net serve)")]
pub struct AsymmetryOptions {
    /// Payload of a request [default: that of --size]
    #[arg(
        long,
        value_name = "SIZE",
        conflicts_with = "size",
        default_value_if("preset", "rss", "400B")
    )]
    pub request: Option<ByteSize>,

    /// Payload of a reply [default: that of the request]
    #[arg(long, value_name = "SIZE", default_value_if("preset", "rss", "1200B"))]
    pub response: Option<ByteSize>,

    /// Replies to each request [default: 1]
    #[arg(long, value_name = "N", default_value_if("preset", "rss", "4"))]
    pub replies: Option<NonZeroU32>,

    /// A load by name; options that are written override its own
    #[arg(long, value_name = "NAME")]
    pub preset: Option<Preset>,
}

/// Loads that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Small packets, as many as can be, four times as many back, over 64 connections: is receiving
    /// spread over the processors (receive side scaling)? See the line `host`, and `far host`
    Rss,
}

impl Preset {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rss => "rss",
        }
    }
}

impl AsymmetryOptions {
    /// Any of these options was written.
    pub(super) fn is_asked_for(&self) -> bool {
        self.request.is_some()
            || self.response.is_some()
            || self.replies.is_some()
            || self.preset.is_some()
    }

    /// What is asked for beside an echo; `None` when that is all.
    pub(super) fn terms(&self, request: ByteSize) -> Option<Terms> {
        let response = match (self.request, self.response, self.replies) {
            (None, None, None) => return None,
            (_, response, _) => response.unwrap_or(request),
        };
        Some(Terms {
            response_bytes: u32::try_from(response.bytes()).unwrap_or(u32::MAX),
            replies: self.replies.map_or(1, NonZeroU32::get),
        })
    }
}

impl PingOptions {
    /// Payloads of the requests.
    pub(super) fn sizes(&self) -> Vec<ByteSize> {
        self.asymmetry.request.map_or_else(|| self.size.clone(), |request| vec![request])
    }
}
