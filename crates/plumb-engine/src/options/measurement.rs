//! What measurements of different layers have in common.

use clap::Args;
use plumb_link::tls::TrustOptions;

use super::{OutputOptions, TransportOptions};

/// What every measurement of a server over TCP or TLS has: how it is reached, and where results go.
#[derive(Args, Clone, Debug)]
pub struct MeasurementOptions {
    /// How the target is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Who is believed, and who we say we are, where a URL begins with https.
    #[command(flatten)]
    pub trust: TrustOptions,

    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}
