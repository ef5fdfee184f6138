//! What went wrong on a TLS connection, in words that follow the address of the other side.

use std::io;

use plumb_socket::TlsError;
use rustls::{AlertDescription, CertificateError, Error};

const NO_TLS_SERVER: &str = "does not speak TLS: is that a TLS port?";
const NO_TLS_CLIENT: &str = "does not speak TLS";
const NO_PROTOCOL: &str = "speaks none of the protocols asked for (ALPN)";
const CUT_SHORT: &str = "closed the connection during the TLS handshake";
const USE_NAME: &str = "use that name, or give it with --server-name";

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

/// True when `refusal`, `cut_short` or `no_protocol` made `error`, so that its text says what to try.
pub fn speaks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// What is wrong with the certificate of a server, in words that follow its address, where that made
/// `error`; of a client that takes the name from the address.
pub fn wrong_certificate(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref() {
        Some(Error::InvalidCertificate(wrong)) => {
            Some(format!("shows a certificate {}", wanting(wrong, "use that name")))
        }
        _ => None,
    }
}

fn of_server(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => NO_TLS_SERVER.into(),
        Error::InvalidCertificate(wrong) => {
            format!("shows a certificate {}", wanting(wrong, USE_NAME))
        }
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
            format!("showed a client certificate {}", wanting(wrong, USE_NAME))
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

/// What a certificate lacks; `use_name` says what to do where it is for another name.
fn wanting(wrong: &CertificateError, use_name: &str) -> String {
    match wrong {
        CertificateError::NotValidForNameContext { expected, presented }
            if presented.is_empty() =>
        {
            format!(
                "without a subjectAltName, where alone names are looked for: make one that names \
                 `{}` there",
                expected.to_str()
            )
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            format!("for {}, not for `{}`: {use_name}", names(presented), expected.to_str())
        }
        CertificateError::NotValidForName => format!("for another name: {use_name}"),
        CertificateError::UnknownIssuer => {
            "that no authority we trust has signed: name its authority with --ca FILE".into()
        }
        // the second: the key of that authority is of another kind
        CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "that the authority it names has not signed: is --ca \
                                           FILE that authority, and not another of its name?"
                .into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "that has expired: renew it, or set the clock of this machine right".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "that is not valid yet: is the clock of this machine right?".into()
        }
        CertificateError::Other(other) if other.to_string() == CALLS_ITSELF_AUTHORITY => {
            "that calls itself an authority (CA:TRUE): use one that the authority has signed, or \
             one made with basicConstraints=CA:FALSE"
                .into()
        }
        wrong if TlsError::is_of_version_1(wrong) => {
            format!("of X.509 version 1: {}", TlsError::MAKE_VERSION_3)
        }
        other => format!("that cannot be accepted: {other}"),
    }
}

/// What the library says of a server that shows the certificate of an authority as its own.
const CALLS_ITSELF_AUTHORITY: &str = "CaUsedAsEndEntity";

/// Names as a certificate holds them, for example `DnsName("db1")`, without their kind.
fn names(presented: &[String]) -> String {
    let bare = presented.iter().map(|name| match name.split_once('(') {
        Some((_, name)) => name.trim_end_matches(')').replace('"', "`"),
        None => name.clone(),
    });
    let names: Vec<String> = bare.collect();
    names.join(", ")
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
    use std::path::PathBuf;
    use std::sync::Arc;

    use rcgen::{
        BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256,
        PKCS_ED25519,
    };
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{InvalidMessage, PeerIncompatible, RootCertStore};

    use super::super::provider;
    use super::*;

    /// As `openssl x509 -req` makes one without extensions.
    const VERSION_1: &[u8] = b"-----BEGIN CERTIFICATE-----
MIIBFTCBvQIUZMcxoJXVX3Cx0S1Lek0xFxtY9A4wCgYIKoZIzj0EAwIwDjEMMAoG
A1UEAwwDZGIxMB4XDTI2MTEyNzE3NTIwNFoXDTM2MTEyNDE3NTIwNFowDjEMMAoG
A1UEAwwDZGIxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElyLO8c+1bg6wUqru
IyMo+ZP2CHjndbmtYx7/iaumvsmwBg+dGXpqqLunXNPJuQPtUy36vwdLIcsSt/Dc
0yQNQDAKBggqhkjOPQQDAgNHADBEAiAUsG6+PjjSvANKG2htM8KKf1RUgENojGfy
SXjq4Cu2nAIgcv27ZVanccrrqzZXJscsqudupipEXxWxpVotY41TaqY=
-----END CERTIFICATE-----
";

    /// Why the library refuses a server that shows `certificate`, which is trusted, as `localhost`.
    fn refused(certificate: &CertificateDer<'_>, trusted: CertificateDer<'_>) -> Error {
        let mut roots = RootCertStore::empty();
        roots.add(trusted).unwrap();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        let name = ServerName::try_from("localhost").unwrap();
        let verifier = verifier.build().unwrap();
        verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now()).unwrap_err()
    }

    fn signed_by_itself(params: &CertificateParams) -> CertificateDer<'static> {
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn certificates_that_cannot_serve_are_told_with_what_to_make_instead() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let nameless = signed_by_itself(&params);
        let error = refused(&nameless, nameless.clone());
        let said = refusal(Side::Client, &error).to_string();
        assert!(said.starts_with("shows a certificate without a subjectAltName"), "{said}");
        assert!(said.ends_with("names `localhost` there"), "{said}");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = signed_by_itself(&params);
        let error = refused(&authority, authority.clone());
        let said = refusal(Side::Client, &error).to_string();
        assert!(said.starts_with("shows a certificate that calls itself an authority"), "{said}");
        let old = CertificateDer::from_pem_slice(VERSION_1).unwrap();
        let error = refused(&old, authority);
        let said = refusal(Side::Client, &error).to_string();
        assert!(said.starts_with("shows a certificate of X.509 version 1: make"), "{said}");
        let files = [PathBuf::from("a.pem"), PathBuf::from("a.key")].into();
        let said = TlsError::pair(&files)(error).to_string();
        assert!(said.starts_with("a.pem is a certificate of X.509 version 1: make"), "{said}");
    }

    #[test]
    fn an_authority_of_the_same_name_with_another_key_is_told_whatever_its_kind() {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let own = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let signed = own.signed_by(&key, &Issuer::from_params(&params, &key)).unwrap();
        for kind in [&PKCS_ECDSA_P256_SHA256, &PKCS_ED25519] {
            let other = params.self_signed(&KeyPair::generate_for(kind).unwrap()).unwrap();
            let error = refused(signed.der(), other.der().clone());
            let said = refusal(Side::Client, &error).to_string();
            assert!(said.contains("is --ca FILE that authority"), "{said}");
        }
    }

    #[test]
    fn who_takes_the_name_from_the_address_is_told_of_no_option_for_it() {
        let certificate = signed_by_itself(&CertificateParams::new(vec!["db2".into()]).unwrap());
        let error = refused(&certificate, certificate.clone());
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        let said = wrong_certificate(&error).unwrap();
        assert_eq!(said, "shows a certificate for `db2`, not for `localhost`: use that name");
        assert_eq!(wrong_certificate(&cut_short(Side::Client)), None);
    }

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
