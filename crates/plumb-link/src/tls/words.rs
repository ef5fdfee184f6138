//! What went wrong on a TLS connection, in words that follow the address of the other side.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

const NO_TLS_SERVER: &str = "does not speak TLS: is that a TLS port?";
const NO_TLS_CLIENT: &str = "does not speak TLS";
const NO_PROTOCOL: &str = "speaks none of the protocols asked for (ALPN)";
const CUT_SHORT: &str = "closed the connection during the TLS handshake";

/// Which side we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// The other side broke the rules, or does not accept us.
pub(super) fn refusal(side: Side, error: &Error) -> io::Error {
    let words = match side {
        Side::Client => of_server(error),
        Side::Server => of_client(error),
    };
    io::Error::new(io::ErrorKind::InvalidData, words)
}

/// The connection ended before the handshake did.
pub(super) fn cut_short(side: Side) -> io::Error {
    let words = match side {
        Side::Client => format!("{CUT_SHORT}: is that a TLS port?"),
        Side::Server => CUT_SHORT.into(),
    };
    io::Error::new(io::ErrorKind::InvalidData, words)
}

/// The handshake is complete, and no application protocol was agreed on.
pub(super) fn no_protocol() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NO_PROTOCOL)
}

/// True when [`refusal`], [`cut_short`] or [`no_protocol`] made `error`, so that its text says what to try.
pub fn speaks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

fn of_server(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => NO_TLS_SERVER.into(),
        Error::InvalidCertificate(wrong) => format!("shows a certificate {}", wanting(wrong)),
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "demands a client certificate: give one with --cert FILE and --key FILE".into()
        }
        Error::AlertReceived(alert) if about_certificates(*alert) => {
            format!("does not accept our certificate ({}): see --cert", name(*alert))
        }
        Error::AlertReceived(AlertDescription::NoApplicationProtocol)
        | Error::NoApplicationProtocol => NO_PROTOCOL.into(),
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            "does not know the name it was asked for: give another with --server-name".into()
        }
        Error::AlertReceived(alert) => {
            format!("ended the TLS connection ({}): see the log of the server", name(*alert))
        }
        Error::PeerIncompatible(why) => {
            format!("shares no version or cipher of TLS with us ({why:?})")
        }
        other => format!("broke the rules of TLS: {other}"),
    }
}

fn of_client(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => NO_TLS_CLIENT.into(),
        Error::NoCertificatesPresented => "showed no client certificate".into(),
        Error::InvalidCertificate(wrong) => {
            format!("showed a client certificate {}", wanting(wrong))
        }
        Error::AlertReceived(alert) if about_certificates(*alert) => {
            format!("does not accept this server's certificate ({})", name(*alert))
        }
        Error::AlertReceived(alert) => format!("ended the TLS connection ({})", name(*alert)),
        Error::PeerIncompatible(why) => {
            format!("shares no version or cipher of TLS with us ({why:?})")
        }
        other => format!("broke the rules of TLS: {other}"),
    }
}

/// What a certificate lacks.
fn wanting(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!(
                "for {}, not for `{}`: use that name, or give it with --server-name",
                names(presented),
                expected.to_str()
            )
        }
        CertificateError::NotValidForName => {
            "for another name: give that name with --server-name".into()
        }
        CertificateError::UnknownIssuer => {
            "that no authority we trust has signed: name its authority with --ca FILE".into()
        }
        CertificateError::BadSignature => "that the authority it names has not signed: is --ca \
                                           FILE that authority, and not another of its name?"
            .into(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "that has expired: renew it, or set the clock of this machine right".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "that is not valid yet: is the clock of this machine right?".into()
        }
        other => format!("that cannot be accepted: {other}"),
    }
}

/// Names as a certificate holds them, for example `DnsName("db1")`, without their kind.
fn names(presented: &[String]) -> String {
    let bare = presented.iter().map(|name| match name.split_once('(') {
        Some((_, name)) => name.trim_end_matches(')').replace('"', "`"),
        None => name.clone(),
    });
    let names: Vec<String> = bare.collect();
    if names.is_empty() { "nobody".into() } else { names.join(", ") }
}

fn about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    )
}

/// An alert as its standard writes it, for example `unknown CA`.
fn name(alert: AlertDescription) -> String {
    format!("alert {alert:?}")
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;
    use rustls::{InvalidMessage, PeerIncompatible};

    use super::*;

    fn both(error: &Error) -> [String; 2] {
        [Side::Client, Side::Server].map(|side| refusal(side, error).to_string())
    }

    #[test]
    fn each_side_is_told_what_it_can_change() {
        let other_name = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("db1").unwrap(),
            presented: vec!["DnsName(\"db2\")".into(), "IpAddress(10.0.0.1)".into()],
        };
        let [client, _] = both(&Error::InvalidCertificate(other_name));
        assert!(client.starts_with("shows a certificate for `db2`, 10.0.0.1, not for `db1`:"));
        let [client, server] = both(&Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert_eq!((client.as_str(), server.as_str()), (NO_TLS_SERVER, NO_TLS_CLIENT));
        let [client, server] = both(&Error::AlertReceived(AlertDescription::UnknownCA));
        assert_eq!(client, "does not accept our certificate (alert UnknownCA): see --cert");
        assert_eq!(server, "does not accept this server's certificate (alert UnknownCA)");
        let old = PeerIncompatible::Tls12NotOffered;
        for text in both(&Error::PeerIncompatible(old)) {
            assert!(text.starts_with("shares no version or cipher of TLS with us"), "{text}");
        }
    }

    #[test]
    fn only_words_of_ours_are_taken_for_words() {
        assert!(speaks(&cut_short(Side::Client)));
        assert!(!speaks(&io::ErrorKind::ConnectionReset.into()));
    }
}
