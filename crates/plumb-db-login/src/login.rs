//! Where, as whom and with which password: the URL first, then the environment, the service file
//! and the password file, as `libpq` looks for them, `~/.my.cnf`, as the clients of MariaDB
//! do, or the environment of `sqlcmd`.

mod hana;
mod mssql;
mod mysql;
#[cfg(feature = "odbc")]
mod odbc;
mod passfile;
mod private;
mod prompt;
mod service;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use plumb_engine::options::{TransportKind, TransportOptions};
use plumb_engine::{Address, Endpoint, check_unbound};

#[cfg(feature = "odbc")]
use plumb_sql::odbc::Attributes;

use crate::LoginError;
use crate::product::Product;
use crate::ssl_mode::SslMode;
use crate::url::{self, Url};

use passfile::Entry;
pub use prompt::ask;

/// The port of a server when none is named.
const PORT: u16 = 5432;

/// A password. It shows itself nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The password itself, for the driver alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password)")
    }
}

/// Everything that a connection needs to know.
#[derive(Clone, Debug)]
pub struct Login {
    /// The kind of database.
    pub product: Product,
    /// Host name or number; for a unix socket its folder (PostgreSQL), or itself.
    pub host: String,
    /// Port; 0 where a driver knows it.
    pub port: u16,
    /// User.
    pub user: String,
    /// Database, or schema; empty for that of the user.
    pub database: String,
    /// Password, where one was found.
    pub password: Option<Secret>,
    /// What the session calls itself.
    pub application: String,
    /// How much of TLS.
    pub ssl: SslMode,
    /// The certificates of the authorities that are trusted; `system` for those of this machine.
    pub root_cert: Option<PathBuf>,
    /// Certificate and key that are shown to the server.
    pub client_cert: Option<(PathBuf, PathBuf)>,
    /// Why the password file was not read.
    pub ignored: Option<String>,
    /// What a driver of ODBC is told.
    #[cfg(feature = "odbc")]
    pub attributes: Attributes,
}

/// What the environment says, so that a test can say something else.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
pub(crate) fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Login {
    /// What `target`, the URL of a database, and the environment of this process say together.
    ///
    /// # Errors
    /// [`LoginError`] says what is wrong with either.
    pub fn of_target(target: &str) -> Result<Self, LoginError> {
        if target.starts_with(url::ODBC) {
            check_unbound("a driver of ODBC")?;
        }
        Self::of(&Url::parse(target)?, &process_environment)
    }

    /// What `url` and the environment say together.
    ///
    /// # Errors
    /// [`LoginError`] names the variable, file or parameter that contradicts.
    pub fn of(url: &Url, env: Environment<'_>) -> Result<Self, LoginError> {
        match url.product {
            Product::Postgres => Self::of_postgres(url, env),
            Product::Mysql => Self::of_mysql(url, env),
            Product::Mssql => Self::of_mssql(url, env),
            Product::Hana => Self::of_hana(url, env),
            #[cfg(feature = "odbc")]
            Product::Odbc => Ok(Self::of_odbc(url, env)),
        }
    }

    /// A login that says nothing else.
    fn at(product: Product, host: String, port: u16, user: String) -> Self {
        Self {
            product,
            host,
            port,
            user,
            database: String::new(),
            password: None,
            application: "plumb".into(),
            ssl: SslMode::Disable,
            root_cert: None,
            client_cert: None,
            ignored: None,
            #[cfg(feature = "odbc")]
            attributes: Attributes::default(),
        }
    }

    fn of_postgres(url: &Url, env: Environment<'_>) -> Result<Self, LoginError> {
        let service = match url.parameters.get("service").cloned().or_else(|| env("PGSERVICE")) {
            Some(name) => service::read(&name, env)?,
            None => BTreeMap::new(),
        };
        let parameter = |name: &str, variable: &str| {
            let named = url.parameters.get(name).or_else(|| service.get(name)).cloned();
            named.or_else(|| env(variable))
        };
        let either = |given: &Option<String>, name: &str, variable: &str| {
            given.clone().or_else(|| parameter(name, variable))
        };
        let host = either(&url.host, "host", "PGHOST").unwrap_or_else(|| "localhost".into());
        let port = match (url.port, parameter("port", "PGPORT")) {
            (Some(port), _) => port,
            (None, Some(text)) => text.trim().parse().map_err(|_| LoginError::Url {
                complaint: "PGPORT or the port of the service is no port from 1 to 65535".into(),
            })?,
            (None, None) => PORT,
        };
        let user = either(&url.user, "user", "PGUSER")
            .or_else(|| env("USER"))
            .or_else(|| env("LOGNAME"))
            .ok_or_else(|| LoginError::Url {
                complaint: "no user is named, in the URL, PGUSER or USER".into(),
            })?;
        let database =
            either(&url.database, "dbname", "PGDATABASE").unwrap_or_else(|| user.clone());
        let named = parameter("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
        let usual = || Some(PathBuf::from(env("HOME")?).join(".postgresql/root.crt"));
        let root_cert = named.or_else(|| usual().filter(|file| file.exists()));
        let ssl = SslMode::of(parameter("sslmode", "PGSSLMODE").as_deref(), root_cert.as_deref())?;
        let (cert, key) = (parameter("sslcert", "PGSSLCERT"), parameter("sslkey", "PGSSLKEY"));
        let client_cert = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert.into(), key.into())),
            (None, None) => None,
            _ => {
                let complaint = "sslcert and sslkey belong together, and one is missing".into();
                return Err(LoginError::Url { complaint });
            }
        };
        let mut login = Self {
            database,
            ssl,
            root_cert,
            client_cert,
            ..Self::at(Product::Postgres, host, port, user)
        };
        login.application = parameter("application_name", "PGAPPNAME").unwrap_or(login.application);
        login.password = match env("PGPASSWORD").or_else(|| service.get("password").cloned()) {
            Some(password) => Some(Secret(password)),
            None => login.kept_password(parameter("passfile", "PGPASSFILE"), env),
        };
        if login.unix() {
            login.ssl = SslMode::Disable; // nothing to hide, as libpq sees it
        }
        Ok(login)
    }

    /// The password that the password file has for this login.
    fn kept_password(&mut self, named: Option<String>, env: Environment<'_>) -> Option<Secret> {
        let file = match (named, env("HOME")) {
            (Some(file), _) => PathBuf::from(file),
            (None, Some(home)) => PathBuf::from(home).join(".pgpass"),
            (None, None) => return None,
        };
        // for a socket file in its usual place, libpq looks for `localhost`
        let host = if self.unix() { "localhost" } else { &self.host };
        let entry = Entry { host, port: self.port, database: &self.database, user: &self.user };
        match passfile::find(&file, &entry) {
            Ok(found) => found.map(Secret),
            Err(reason) => {
                self.ignored = Some(reason);
                None
            }
        }
    }

    /// Takes a password that somebody typed.
    pub fn with_password(&mut self, password: String) {
        self.password = Some(Secret(password));
    }

    /// True for a socket file of this machine.
    pub fn unix(&self) -> bool {
        self.host.starts_with('/')
    }

    /// The server as messages name it.
    pub fn server(&self) -> String {
        #[cfg(feature = "odbc")]
        if self.product == Product::Odbc {
            return self.attributes.place();
        }
        match self.endpoint_file() {
            Some(file) => format!("unix:{}", file.display()),
            None => self.address().to_string(),
        }
    }

    fn address(&self) -> Address {
        Address::Host { host: self.host.clone(), port: self.port }
    }

    fn endpoint_file(&self) -> Option<PathBuf> {
        self.unix().then(|| match self.product {
            Product::Postgres => PathBuf::from(&self.host).join(format!(".s.PGSQL.{}", self.port)),
            _ => PathBuf::from(&self.host),
        })
    }

    /// Everything the host may stand for under the options `transport`.
    ///
    /// # Errors
    /// When it has no address of the version of IP asked for.
    pub fn endpoints(&self, transport: &TransportOptions) -> Result<Vec<Endpoint>, LoginError> {
        #[cfg(feature = "odbc")]
        if self.product == Product::Odbc {
            return odbc::endpoints(transport);
        }
        match (self.endpoint_file(), &transport.transport) {
            (Some(_), TransportKind::Smc) => {
                let problem = "--transport smc: the server is named by a socket file";
                Err(LoginError::Transport(problem))
            }
            (Some(file), TransportKind::Tcp) => Ok(vec![Endpoint::Unix(file)]),
            _ => Ok(transport.endpoints(&self.address().to_string(), self.port)?),
        }
    }
}

/// What `url` and an environment of these variables say together.
#[cfg(test)]
fn login(url: &str, env: &[(&str, &str)]) -> Result<Login, LoginError> {
    let look = |name: &str| {
        env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Login::of(&Url::parse(url)?, &look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_comes_before_the_environment() {
        let env = [("PGHOST", "far"), ("PGPORT", "7"), ("PGUSER", "me"), ("PGDATABASE", "sales")];
        let of_env = login("postgres://", &env).unwrap();
        assert_eq!((of_env.host.as_str(), of_env.port), ("far", 7));
        assert_eq!((of_env.user.as_str(), of_env.database.as_str()), ("me", "sales"));
        let of_url = login("postgres://you@near:8/x", &env).unwrap();
        assert_eq!((of_url.server().as_str(), of_url.user.as_str()), ("near:8", "you"));
        assert_eq!(of_url.database, "x");
    }

    #[test]
    fn a_database_that_is_not_named_is_that_of_the_user() {
        let login = login("postgres://me@db1", &[]).unwrap();
        assert_eq!((login.database.as_str(), login.port), ("me", PORT));
    }

    #[test]
    fn a_socket_file_is_not_encrypted() {
        let login = login("postgres:///x?host=/run/pg&user=me&sslmode=require", &[]).unwrap();
        assert_eq!(login.server(), "unix:/run/pg/.s.PGSQL.5432");
        assert_eq!(login.ssl, SslMode::Disable);
    }

    #[test]
    fn a_server_is_verified_by_the_authorities_that_are_named_or_in_their_usual_place() {
        let mode = |url: &str, env: &[(&str, &str)]| login(url, env).map(|it| it.ssl);
        let system = [("PGSSLROOTCERT", "system")];
        assert_eq!(mode("postgres://me@db1", &system).unwrap(), SslMode::VerifyFull);
        let url = "postgres://me@db1/?sslrootcert=system";
        assert_eq!(mode(url, &[]).unwrap(), SslMode::VerifyFull);
        assert!(mode(url, &[("PGSSLMODE", "require")]).is_err());
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().display().to_string();
        let env = [("HOME", folder.as_str()), ("PGSSLMODE", "require")];
        assert_eq!(mode("postgres://me@db1", &env).unwrap(), SslMode::Require);
        std::fs::create_dir(home.path().join(".postgresql")).unwrap();
        std::fs::write(home.path().join(".postgresql/root.crt"), "").unwrap();
        assert_eq!(mode("postgres://me@db1", &env).unwrap(), SslMode::VerifyCa);
    }

    #[test]
    fn a_password_is_not_shown() {
        let login = login("postgres://me@db1", &[("PGPASSWORD", "sesame")]).unwrap();
        assert_eq!(login.password.as_ref().unwrap().reveal(), "sesame");
        assert!(!format!("{login:?}").contains("sesame"));
    }

    #[test]
    fn a_service_says_what_the_url_leaves_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        let text =
            b"# f\xfcr alle\n[other]\nhost=no\n[erp]\nhost=db7\ndbname=erp\n[old]\nhost=d\xfc\n";
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let env = [("PGSERVICEFILE", file.as_str()), ("PGSERVICE", "erp"), ("USER", "me")];
        let erp = login("postgres://:99/", &env).unwrap();
        assert_eq!((erp.host.as_str(), erp.port, erp.database.as_str()), ("db7", 99, "erp"));
        let error = login("postgres://me@h/?service=crm", &env).unwrap_err().to_string();
        assert!(error.contains("no service `crm`") && error.contains("services"), "{error}");
        let error = login("postgres://me@/?service=old", &env).unwrap_err().to_string();
        assert!(error.contains("host in [old] is not UTF-8"), "{error}");
    }

    #[test]
    fn a_key_without_its_certificate_is_refused() {
        let error = login("postgres://me@h/?sslkey=a", &[]).unwrap_err().to_string();
        assert!(error.contains("belong together"), "{error}");
    }
}
