//! Why nobody can prove who asks.

/// Why there is no token. No message holds a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiateError {
    /// This program has no library for it.
    #[error(
        "Negotiate (Kerberos) is not part of this program: build one with --features kerberos \
         (docs/http-scenarios.md)"
    )]
    NotBuilt,
    /// The library says no.
    #[error("no ticket for {service}: {cause}{}", remedy(cause))]
    NoTicket {
        /// The service that was asked for.
        service: String,
        /// In words of the library.
        cause: String,
    },
    /// The server says no.
    #[error("the server does not accept the ticket for {service}: {cause}{}", remedy(cause))]
    NotAccepted {
        /// The service that was asked for.
        service: String,
        /// In words of the library.
        cause: String,
    },
    /// The server did not prove who it is.
    #[error("{service} did not prove who it is: {cause}")]
    NotProved {
        /// The service that was asked for.
        service: String,
        /// In words of the library.
        cause: String,
    },
}

/// What words of the library mean for whoever reads them, in the order in which they are looked for.
///
/// # Source
/// The messages of MIT Kerberos 1.20 (`krb5_err.et`, `k5e1_err.et`).
const REMEDIES: [(&str, &str); 12] = [
    (
        "Server ",
        "the service has another name, or the KDC does not know it: give its name as service",
    ),
    ("Client ", "is the user right? Write NAME or NAME@REALM"),
    ("Ticket expired", "get a new one with kinit"),
    ("credentials have expired", "get a new ticket with kinit"),
    ("Clock skew too great", "set the clock of this machine by that of the KDC (NTP)"),
    ("Ticket not yet valid", "set the clock of this machine by that of the KDC (NTP)"),
    ("Cannot contact any KDC", "does the KDC run, and is it the one that krb5.conf names?"),
    ("Cannot find KDC", "name the KDC of this realm in krb5.conf"),
    ("Preauthentication failed", "the password is not right"),
    (
        "Decrypt integrity check failed",
        "the password is not right, or the key of a keytab is too old",
    ),
    ("Password incorrect", "the password is not right"),
    (
        "redentials",
        "get a ticket with kinit, name a keytab in KRB5_CLIENT_KTNAME, or give a user with a \
                    password",
    ),
];

/// What to try, with what stands in front of it.
fn remedy(cause: &str) -> String {
    let known = REMEDIES.iter().find(|(words, _)| cause.contains(words));
    let remedy = known.map_or("klist shows the tickets at hand", |(_, remedy)| remedy);
    format!("; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_says_comes_with_what_to_try() {
        for (cause, words) in [
            ("Server HTTP/erp@R not found in Kerberos database", "give its name as service"),
            ("Client 'me@R' not found in Kerberos database", "is the user right"),
            ("Ticket expired", "kinit"),
            ("Cannot contact any KDC for realm 'R'", "does the KDC run"),
            ("Clock skew too great", "NTP"),
            (
                "No Kerberos credentials available (default cache: FILE:/tmp/x)",
                "KRB5_CLIENT_KTNAME",
            ),
            ("Decrypt integrity check failed", "password is not right"),
            ("Something else", "klist"),
        ] {
            let service = "HTTP@erp".to_owned();
            let error = NegotiateError::NoTicket { service, cause: cause.into() }.to_string();
            assert!(error.starts_with(&format!("no ticket for HTTP@erp: {cause}; ")), "{error}");
            assert!(error.contains(words), "{error}");
        }
    }
}
