//! Which kind of database a URL names, and what that kind calls the things that a login needs.

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// PostgreSQL.
    Postgres,
    /// MariaDB and MySQL, which speak one protocol.
    Mysql,
    /// SQL Server.
    Mssql,
    /// SAP HANA.
    Hana,
    /// Whatever has a driver of ODBC.
    #[cfg(feature = "odbc")]
    Odbc,
}

impl Product {
    /// The kind that `url` names by its scheme, and what stands behind the scheme.
    pub fn of_url(url: &str) -> Option<(Self, &str)> {
        let (scheme, rest) = url.split_once("://")?;
        match scheme {
            "postgres" | "postgresql" => Some((Self::Postgres, rest)),
            "mysql" | "mariadb" => Some((Self::Mysql, rest)),
            "mssql" | "sqlserver" => Some((Self::Mssql, rest)),
            "hana" | "hdb" => Some((Self::Hana, rest)),
            _ => None,
        }
    }

    /// Parameters of its URLs that are understood. Those of PostgreSQL are named as `libpq` names them,
    /// those of the others as options of their clients.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &[
                "application_name",
                "dbname",
                "host",
                "passfile",
                "port",
                "service",
                "sslcert",
                "sslkey",
                "sslmode",
                "sslrootcert",
            ],
            Self::Mysql => &["socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode"],
            Self::Mssql => &["encrypt", "servercertificate", "trustservercertificate"],
            Self::Hana => &["encrypt", "ssltruststore", "sslvalidatecertificate"],
            #[cfg(feature = "odbc")]
            Self::Odbc => &[],
        }
    }

    /// Whether its account of a plan is read.
    ///
    /// # Errors
    /// Why not.
    pub fn explains(self) -> Result<(), &'static str> {
        match self {
            Self::Postgres | Self::Mysql | Self::Mssql | Self::Hana => Ok(()),
            #[cfg(feature = "odbc")]
            Self::Odbc => Err("ODBC has no call for a plan"),
        }
    }

    /// Where a password is looked for.
    pub fn keeps_passwords(self) -> &'static str {
        match self {
            Self::Postgres => {
                "set PGPASSWORD, or write a line HOST:PORT:DATABASE:USER:PASSWORD into ~/.pgpass \
                 (chmod 600)"
            }
            Self::Mysql => {
                "set MYSQL_PWD, or write password=... under [client] into ~/.my.cnf (chmod 600)"
            }
            Self::Mssql => "set SQLCMDPASSWORD",
            Self::Hana => "set HDB_PASSWORD",
            #[cfg(feature = "odbc")]
            Self::Odbc => {
                "set ODBC_PASSWORD, which is handed to the driver as PWD, or keep it in the data source"
            }
        }
    }

    /// How an authority is named.
    pub fn names_authority(self) -> &'static str {
        match self {
            Self::Postgres => {
                "name the certificate of the authority in sslrootcert, or write sslrootcert=system \
                 for those of this machine"
            }
            Self::Mysql => {
                "name the certificate of the authority in ssl-ca, or leave ssl-ca out for those of \
                 this machine"
            }
            Self::Mssql => {
                "name the certificate of the authority in servercertificate, or write \
                 trustservercertificate=yes to take any"
            }
            Self::Hana => {
                "name the certificate of the authority in ssltruststore, or write \
                 sslvalidatecertificate=false to take any"
            }
            #[cfg(feature = "odbc")]
            Self::Odbc => "the driver of ODBC says how authorities are named",
        }
    }
}
