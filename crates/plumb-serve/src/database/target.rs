//! Which database is meant.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use crate::ServeError;

/// A server must take a connection within this.
const CONNECT: Duration = Duration::from_secs(5);
/// A server that does not acknowledge what was sent for this long is gone.
const SILENCE: Duration = Duration::from_secs(10);

/// Where sessions log on.
#[derive(Clone, Debug)]
pub enum DatabaseTarget {
    /// The file of an embedded `SQLite`.
    Sqlite(PathBuf),
    /// A `PostgreSQL` server.
    Postgres(Box<::postgres::Config>),
}

impl DatabaseTarget {
    /// The database that `url` names: `postgres://...`, or a path.
    ///
    /// # Errors
    /// [`ServeError::Database`] when a URL cannot be understood.
    pub fn parse(url: &str) -> Result<Self, ServeError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let mut config =
                ::postgres::Config::from_str(url).map_err(|cause| ServeError::Database {
                    url: without_password(url),
                    cause: cause.to_string(),
                    remedy: "write postgres://USER:PASSWORD@HOST:PORT/NAME",
                })?;
            config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
            return Ok(Self::Postgres(Box::new(config)));
        }
        if url.contains("://") {
            return Err(ServeError::Database {
                url: without_password(url),
                cause: "this kind of database is not known".into(),
                remedy: "write postgres://USER:PASSWORD@HOST:PORT/NAME, or the path of a file",
            });
        }
        Ok(Self::Sqlite(url.into()))
    }
}

/// A URL that can be shown to people.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let Some((account, place)) = rest.rsplit_once('@') else { return url.into() };
    let user = account.split_once(':').map_or(account, |(user, _)| user);
    format!("{scheme}://{user}@{place}")
}

impl std::fmt::Display for DatabaseTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "SQLite, {}", path.display()),
            Self::Postgres(config) => {
                let host = match config.get_hosts().first() {
                    Some(::postgres::config::Host::Tcp(name)) => name.clone(),
                    Some(::postgres::config::Host::Unix(path)) => path.display().to_string(),
                    None => "localhost".into(),
                };
                write!(f, "PostgreSQL at {host}, {}", config.get_dbname().unwrap_or("default"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = without_password("postgres://sap:secret@db:5432/app");
        assert_eq!(shown, "postgres://sap@db:5432/app");
        let target = DatabaseTarget::parse("postgres://sap:secret@db:5432/app").unwrap();
        assert_eq!(target.to_string(), "PostgreSQL at db, app");
        let error = DatabaseTarget::parse("mysql://sap:secret@db/app").unwrap_err().to_string();
        assert!(!error.contains("secret") && error.contains("postgres://"), "{error}");
    }
}
