//! Where, as whom and with which password for SAP HANA: the URL, and the environment for the password.

use crate::LoginError;
use crate::product::Product;
use crate::ssl_mode::SslMode;
use crate::url::Url;

use super::{Environment, Login, Secret};

/// The port of the only tenant of instance 00.
const PORT: u16 = 30015;

impl Login {
    /// What `url` and the environment say together of a server of SAP HANA.
    ///
    /// # Errors
    /// [`LoginError`] names the parameter that contradicts.
    pub(super) fn of_hana(url: &Url, env: Environment<'_>) -> Result<Self, LoginError> {
        let wrong = |complaint: &str| LoginError::Url { complaint: complaint.into() };
        let parameter = |name: &str| url.parameters.get(name).map(String::as_str);
        let truth = |name: &str| match parameter(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(wrong("encrypt and sslvalidatecertificate are true or false")),
        };
        let authority = parameter("ssltruststore");
        let ssl = match (truth("encrypt")?, truth("sslvalidatecertificate")?, authority) {
            (None | Some(false), None, None) => SslMode::Disable,
            (None | Some(false), _, _) => {
                return Err(wrong("without encrypt=true there is no certificate to look at"));
            }
            (Some(true), Some(false), Some(_)) => {
                return Err(wrong("sslvalidatecertificate=false looks at no ssltruststore"));
            }
            (Some(true), Some(false), None) => SslMode::Require,
            (Some(true), None | Some(true), _) => SslMode::VerifyFull,
        };
        let user = (url.user.clone()).or_else(|| env("USER")).or_else(|| env("LOGNAME"));
        let host = url.host.clone().unwrap_or_else(|| "localhost".into());
        if host.starts_with('/') {
            return Err(wrong("the host is no socket file: SAP HANA listens at none"));
        }
        let user = user.ok_or_else(|| wrong("no user is named, in the URL or USER"))?;
        Ok(Self {
            database: url.database.clone().unwrap_or_default(),
            password: env("HDB_PASSWORD").map(Secret),
            ssl,
            root_cert: Some(authority.unwrap_or("system").into()),
            ..Self::at(Product::Hana, host, url.port.unwrap_or(PORT), user)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(url: &str) -> Result<Login, LoginError> {
        let env = |name: &str| (name == "HDB_PASSWORD").then(|| "sesame".to_owned());
        Login::of(&Url::parse(url)?, &env)
    }

    #[test]
    fn what_the_url_says_is_taken() {
        let found = login("hana://SYSTEM@hana1/SAPABAP1").unwrap();
        assert_eq!((found.host.as_str(), found.port), ("hana1", 30015));
        assert_eq!((found.user.as_str(), found.database.as_str()), ("SYSTEM", "SAPABAP1"));
        assert!(!format!("{found:?}").contains("sesame"));
        assert_eq!(login("hdb://me@hana1:39041").unwrap().port, 39041);
    }

    #[test]
    fn encryption_has_the_words_of_its_clients() {
        let mode = |query: &str| login(&format!("hana://me@h/?{query}")).map(|it| it.ssl);
        assert_eq!(mode("encrypt=false").unwrap(), SslMode::Disable);
        assert_eq!(mode("encrypt=true").unwrap(), SslMode::VerifyFull);
        assert_eq!(mode("encrypt=true&sslvalidatecertificate=false").unwrap(), SslMode::Require);
        for wrong in ["encrypt=yes", "ssltruststore=a.pem", "sslmode=require"] {
            assert!(mode(wrong).is_err(), "{wrong}");
        }
    }
}
