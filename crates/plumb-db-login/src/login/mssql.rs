//! Where, as whom and with which password for SQL Server: the URL first, then the environment, as
//! `sqlcmd` looks for them.

use crate::LoginError;
use crate::product::Product;
use crate::ssl_mode::SslMode;
use crate::url::Url;

use super::{Environment, Login, Secret};

/// The port of a server when none is named.
const PORT: u16 = 1433;

impl Login {
    /// What `url` and the environment say together of a SQL Server.
    ///
    /// # Errors
    /// [`LoginError`] names the variable or parameter that contradicts.
    pub(super) fn of_mssql(url: &Url, env: Environment<'_>) -> Result<Self, LoginError> {
        let wrong = |complaint: &str| LoginError::Url { complaint: complaint.into() };
        let parameter = |name: &str| url.parameters.get(name).map(String::as_str);
        let yes = |name: &str| match parameter(name) {
            None => Ok(None),
            Some("yes" | "true") => Ok(Some(true)),
            Some("no" | "false") => Ok(Some(false)),
            Some(_) => Err(wrong("encrypt and trustservercertificate are yes or no")),
        };
        let authority = parameter("servercertificate");
        let ssl = match (yes("encrypt")?, yes("trustservercertificate")?, authority) {
            (Some(false), None | Some(false), None) => SslMode::Disable,
            (Some(false), _, _) => {
                return Err(wrong("encrypt=no leaves no certificate to look at"));
            }
            (_, Some(true), Some(_)) => {
                return Err(wrong("trustservercertificate=yes looks at no servercertificate"));
            }
            (None, None, None) => SslMode::Prefer,
            (_, Some(true), None) => SslMode::Require,
            _ => SslMode::VerifyFull,
        };
        let user = (url.user.clone())
            .or_else(|| env("SQLCMDUSER"))
            .or_else(|| env("USER"))
            .or_else(|| env("LOGNAME"))
            .ok_or_else(|| wrong("no user is named, in the URL, SQLCMDUSER or USER"))?;
        let host = (url.host.clone()).or_else(|| env("SQLCMDSERVER"));
        let host = host.unwrap_or_else(|| "localhost".into());
        if host.starts_with('/') {
            return Err(wrong("the host is no socket file: SQL Server listens at none"));
        }
        let database = url.database.clone().or_else(|| env("SQLCMDDBNAME"));
        Ok(Self {
            database: database.unwrap_or_default(),
            password: env("SQLCMDPASSWORD").map(Secret),
            ssl,
            root_cert: Some(authority.unwrap_or("system").into()),
            ..Self::at(Product::Mssql, host, url.port.unwrap_or(PORT), user)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::login;
    use super::*;

    #[test]
    fn the_url_comes_before_the_environment_of_sqlcmd() {
        let env = [("SQLCMDUSER", "sa"), ("SQLCMDPASSWORD", "sesame"), ("SQLCMDDBNAME", "erp")];
        let of_env = login("sqlserver://db3", &env).unwrap();
        assert_eq!((of_env.host.as_str(), of_env.port, of_env.user.as_str()), ("db3", 1433, "sa"));
        assert_eq!((of_env.database.as_str(), of_env.ssl), ("erp", SslMode::Prefer));
        assert!(!format!("{of_env:?}").contains("sesame"));
        let of_url = login("mssql://me@db3:14330/x", &env).unwrap();
        assert_eq!((of_url.port, of_url.user.as_str()), (14330, "me"));
        assert_eq!(of_url.database, "x");
    }

    #[test]
    fn encryption_has_the_words_of_its_drivers() {
        let mode = |query: &str| login(&format!("mssql://me@db3/?{query}"), &[]).map(|it| it.ssl);
        assert_eq!(mode("encrypt=no").unwrap(), SslMode::Disable);
        assert_eq!(mode("encrypt=yes").unwrap(), SslMode::VerifyFull);
        assert_eq!(mode("encrypt=yes&trustservercertificate=yes").unwrap(), SslMode::Require);
        for wrong in [
            "encrypt=on",
            "encrypt=no&trustservercertificate=yes",
            "trustservercertificate=yes&servercertificate=a.pem",
            "ssl-mode=REQUIRED",
        ] {
            let error = mode(wrong).unwrap_err().to_string();
            assert!(error.contains("encrypt") || error.contains("servercertificate"), "{error}");
        }
    }
}
