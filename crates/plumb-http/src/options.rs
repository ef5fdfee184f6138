//! What is asked for, how often, and what counts as an answer.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use plumb_engine::layer::JobError;
use plumb_engine::options::{LoadOptions, MeasurementOptions};
use plumb_measure::ByteSize;
use plumb_negotiate::Initiator;
use plumb_scenario::Expected;
use plumb_trace::TraceOptions;
use plumb_wire::http::Url;
use plumb_wire::secret::{in_header_line, masked};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::credentials::Source;
use crate::proof::{Initiators, service_problem};
use crate::proxy::Proxy;
use crate::{HttpError, HttpVersion};

/// What is asked of whom, how often.
#[derive(Args, Clone, Debug)]
pub struct PingOptions {
    /// The pages, of one server: http://HOST/PATH or https://HOST/PATH; several are asked for in turn
    #[arg(value_name = "URL", required_unless_present = "pair")]
    pub urls: Vec<String>,

    /// Measure what DYNAMIC takes longer than STATIC, asked for in turn: its processing time
    ///
    /// STATIC is a file of about the same length that the same server answers from memory.
    #[arg(long, value_names = ["DYNAMIC", "STATIC"], num_args = 2, conflicts_with = "urls")]
    pub pair: Vec<String>,

    /// Connections, each with requests of its own; a list makes a sweep
    #[arg(short = 'c', long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub connections: Vec<NonZeroUsize>,

    /// Requests under way on one connection of HTTP/2
    #[arg(long, value_name = "N", default_value = "1")]
    pub streams: NonZeroUsize,

    /// The statuses of a correct answer: codes, and classes such as 2xx
    #[arg(long, value_name = "STATUS,...", default_value = "2xx")]
    pub expect_status: Expected,

    /// Whether every answer of a URL must be as long as the others
    #[arg(long, value_name = "RULE", value_enum, default_value = "same")]
    pub length: LengthRule,

    /// What is sent and how.
    #[command(flatten)]
    pub request: RequestOptions,

    /// How much load, and how it is driven.
    #[command(flatten)]
    pub load: LoadOptions,

    /// How the target is reached, and where results go.
    #[command(flatten)]
    pub measurement: MeasurementOptions,

    /// What other tools are given.
    #[command(flatten)]
    pub export: ExportOptions,
}

/// What other tools are given, beside the run folder.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct ExportOptions {
    /// Write a line for each operation into this new file, in JMeter's form of CSV
    #[arg(long, value_name = "FILE")]
    pub jtl: Option<PathBuf>,

    /// Show the figures to Prometheus while they are measured: http://HOST:PORT/metrics
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics: Option<String>,
}

impl ExportOptions {
    /// Refuses what is told operation by operation, of a load that remotes drive.
    ///
    /// # Errors
    /// When it is asked for, with what to do.
    pub(crate) fn check_spread(&self, traced: bool) -> Result<(), JobError> {
        let asked = match (self.jtl.is_some(), traced) {
            (true, _) => "--jtl",
            (false, true) => "traces",
            (false, false) => return Ok(()),
        };
        Err(format!("{asked}: single operations stay with the remotes; leave it or --remotes out")
            .into())
    }

    /// Every option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        let mut options = Map::new();
        options.insert("jtl".into(), json!(self.jtl));
        options.insert("metrics".into(), json!(self.metrics));
        options
    }
}

/// What a request holds, and what happens before it is measured.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Request")]
pub struct RequestOptions {
    /// Method [default: GET, with a body POST]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,

    /// Send the content of this file
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    /// Ask for each page on a new connection
    #[arg(long)]
    pub close: bool,

    /// Measure the URLs as they are given: follow no redirect, answer no challenge
    ///
    /// Nothing is asked for before the measurement. With --credentials the user is sent with every
    /// request, whether the server asks or not.
    #[arg(long)]
    pub as_given: bool,

    /// A file of one line USER:PASSWORD that only its owner may read, for a server that asks
    ///
    /// Without it the environment is looked at (PLUMB_HTTP_USER and PLUMB_HTTP_PASSWORD), then the
    /// terminal is asked.
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,

    /// How a server that asks is told who asks
    #[arg(long, value_name = "SCHEME", value_enum, default_value = "basic")]
    pub authentication: AuthenticationScheme,

    /// The principal of the server that tickets are for: HTTP/HOST or HTTP/HOST@REALM [default: that of
    /// the host of the URL]
    #[arg(long, value_name = "PRINCIPAL")]
    pub service: Option<String>,

    /// What holds for every request.
    #[command(flatten)]
    pub exchange: ExchangeOptions,
}

impl RequestOptions {
    /// Who asks the server of `urls` with tickets, where that is asked for.
    ///
    /// # Errors
    /// [`HttpError`] when nobody can.
    pub(crate) fn initiator(&self, urls: &[Url]) -> Result<Option<Arc<Initiator>>, HttpError> {
        let wrong = |why: &str| Err(HttpError::Credentials(why.into()));
        match (self.authentication, &self.service, self.exchange.http) {
            (AuthenticationScheme::Basic, None, _) => return Ok(None),
            (AuthenticationScheme::Basic, Some(_), _) => {
                return wrong(
                    "--service is what tickets are for: give --authentication negotiate, too",
                );
            }
            (AuthenticationScheme::Negotiate, _, HttpVersion::Two) => {
                let problem = "Negotiate is measured over HTTP/1.1; leave one of both out";
                return Err(HttpError::Http2 { problem });
            }
            (AuthenticationScheme::Negotiate, service, HttpVersion::One) => {
                if let Some(problem) = service.as_deref().and_then(service_problem) {
                    return wrong(&format!("--{problem}"));
                }
            }
        }
        let who = Source::new(self.credentials.as_deref()).at_hand()?;
        let host = urls.first().map_or("", Url::host);
        let initiator = Initiators::default().of(who.as_ref(), host, self.service.as_deref())?;
        Ok(Some(initiator))
    }
}

/// How a server that asks is told who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthenticationScheme {
    /// By a user and a password
    Basic,
    /// By a ticket of Kerberos: that of kinit, of the keytab in KRB5_CLIENT_KTNAME, or of a user with a
    /// password; in a program that is built with it
    Negotiate,
}

/// What holds for every request and its answer, in a ping and in a scenario.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Request")]
pub struct ExchangeOptions {
    /// A further header line of every request; records mask what its name tells to be a secret
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,

    /// The version of HTTP that is spoken
    ///
    /// Over https the server must agree to it in the handshake (ALPN), over http it is spoken from the
    /// first byte on. What was spoken stands in the record.
    #[arg(long, value_name = "VERSION", value_enum, default_value = "1.1")]
    pub http: HttpVersion,

    /// Send every request through this proxy: http://HOST:PORT
    ///
    /// An https URL is reached through a tunnel (CONNECT) for each connection. A proxy that asks
    /// who you are is told PLUMB_PROXY_USER and PLUMB_PROXY_PASSWORD from the environment.
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,

    /// Content that an answer may have; more is a failure
    #[arg(long, value_name = "SIZE")]
    pub max_body: Option<ByteSize>,

    /// To which traces requests belong.
    #[command(flatten)]
    pub traces: TraceOptions,
}

impl ExchangeOptions {
    /// Bytes of content that an answer may have.
    pub(crate) fn body_bytes_max(&self) -> u64 {
        self.max_body.map_or(u64::MAX, |size| size.bytes())
    }

    /// Every option with the value in force, for the run record; `proxy` as it was understood.
    pub(crate) fn in_force(&self, proxy: Option<&Proxy>) -> Map<String, Value> {
        let mut options = Map::new();
        let headers: Vec<String> =
            self.header.iter().map(|line| masked(line, &in_header_line(line))).collect();
        options.insert("header".into(), json!(headers));
        options.insert("http".into(), json!(self.http));
        options.insert("proxy".into(), json!(proxy.map(|proxy| proxy.url().to_string())));
        options.insert("max-body".into(), json!(self.max_body));
        options
    }
}

/// Whether answers of one length were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthRule {
    /// Answers of different lengths make the run invalid
    Same,
    /// Answers may differ in length
    Any,
}
