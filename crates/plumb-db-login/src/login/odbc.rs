//! What a driver of ODBC is told: the connection string, and the password from the environment.

use plumb_engine::Endpoint;
use plumb_engine::options::{TransportKind, TransportOptions};

use crate::LoginError;
use crate::product::Product;
use crate::url::Url;

use super::{Environment, Login, Secret};

/// The user where the data source names one, or nobody does.
const OF_THE_SOURCE: &str = "(that of the data source)";

impl Login {
    /// What `url` and the environment say together.
    pub(super) fn of_odbc(url: &Url, env: Environment<'_>) -> Self {
        let user = url.user.clone().unwrap_or_else(|| OF_THE_SOURCE.into());
        Self {
            database: url.database.clone().unwrap_or_default(),
            password: env("ODBC_PASSWORD").map(Secret),
            attributes: url.attributes.clone(),
            ..Self::at(Product::Odbc, url.attributes.place(), 0, user)
        }
    }
}

/// Where the driver goes is its own affair.
///
/// # Errors
/// Where a transport is asked for that it would have to know of.
pub(super) fn endpoints(transport: &TransportOptions) -> Result<Vec<Endpoint>, LoginError> {
    match transport.transport {
        TransportKind::Tcp => Ok(vec![Endpoint::Own]),
        TransportKind::Smc | TransportKind::Udp | TransportKind::Unix(_) => {
            Err(LoginError::Transport(
                "--transport: a driver of ODBC makes its connections itself, as its data source says",
            ))
        }
    }
}
