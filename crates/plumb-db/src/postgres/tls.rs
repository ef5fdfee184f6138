//! TLS as the driver asks for it.

use std::io;
use std::pin::Pin;

use plumb_db_login::{SslMode, Tls};
use plumb_serve::database::tls::Encrypted;
use tokio_postgres::config::SslMode as DriverMode;
use tokio_postgres::tls::TlsConnect;

use crate::stream::Wire;

/// What the driver is told.
pub(super) fn mode_of(mode: SslMode) -> DriverMode {
    match mode {
        SslMode::Disable => DriverMode::Disable,
        SslMode::Prefer => DriverMode::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => DriverMode::Require,
    }
}

type Handshake = Pin<Box<dyn Future<Output = io::Result<Encrypted<Wire>>> + Send>>;

impl TlsConnect<Wire> for Tls {
    type Stream = Encrypted<Wire>;
    type Error = io::Error;
    type Future = Handshake;

    fn connect(self, stream: Wire) -> Handshake {
        Box::pin(self.handshake(stream))
    }
}
