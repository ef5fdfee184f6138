//! Where messages go, as a file writes it.

use std::path::Path;
use std::sync::Arc;

use plumb_measure::Span;
use plumb_serve::accounts::authorization;
use plumb_wire::document::Wrong;
use plumb_wire::http::{Scheme, Url};
use plumb_wire::secret;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use tokio_rustls::TlsConnector;

use super::Place;
use super::raw::TargetFile;
use super::secrets;
use crate::deliver::TargetPlan;

const WINDOW_MAX: usize = 1_000;

pub(super) fn plan(place: &Place<'_>, file: &TargetFile) -> Result<TargetPlan, Wrong> {
    let at = file.url.span();
    let text = file.url.get_ref();
    // an excerpt would show what must not be shown
    let hidden = |problem: &str| Wrong { excerpt: String::new(), ..place.wrong(&at, problem) };
    if text.split(['?', '#']).next().unwrap_or_default().contains('@') {
        return Err(hidden("a name stands in the URL: write `user` and `password-file`"));
    }
    if !secret::in_url(text).is_empty() {
        return Err(hidden(
            "a password or token stands in the URL: write `user` and `password-file`, or \
             `token-file`",
        ));
    }
    let url = Url::parse(text).map_err(|error| place.wrong(&at, error.to_string()))?;
    if url.target().parse::<http::Uri>().is_err() {
        return Err(place.wrong(&at, "its path is none: write characters of a URL"));
    }
    let window = file.window.as_ref().map_or(4, |it| *it.get_ref());
    if let Some(written) = &file.window
        && !(1..=WINDOW_MAX).contains(&window)
    {
        return Err(place.wrong(&written.span(), "`window` is a number of messages from 1 to 1000"));
    }
    Ok(TargetPlan {
        address: url.host_and_port(),
        host: url.host().trim_matches(['[', ']']).to_owned(),
        authority: url.authority(),
        path: url.target().to_owned(),
        authorization: authorized(place, file)?,
        tls: tls(place, file, url.scheme())?,
        window,
        ordered: file.ordered,
        keys: file.keys,
        timeout: file.timeout.unwrap_or(Span::from_ms(30_000)),
    })
}

fn authorized(place: &Place<'_>, file: &TargetFile) -> Result<Option<String>, Wrong> {
    let TargetFile { user, password_file, password_env, token_file, token_env, .. } = file;
    let password = secrets::secret(place, password_file.as_ref(), password_env.as_ref())?;
    let token = secrets::secret(place, token_file.as_ref(), token_env.as_ref())?;
    match (user, password, token) {
        (None, None, None) => Ok(None),
        (Some(user), Some(password), None) => Ok(Some(authorization(user.get_ref(), &password))),
        (None, None, Some(token)) => Ok(Some(format!("Bearer {token}"))),
        (Some(user), _, Some(_)) => {
            Err(place.wrong(&user.span(), "log on as `user` or with a token, not both"))
        }
        (Some(user), None, None) => {
            Err(place.wrong(&user.span(), "`user` needs `password-file` or `password-env`"))
        }
        (None, Some(_), _) => Err(place.wrong(&file.url.span(), "a password needs `user`")),
    }
}

fn tls(
    place: &Place<'_>,
    file: &TargetFile,
    scheme: Scheme,
) -> Result<Option<Arc<TlsConnector>>, Wrong> {
    let at = file.ca.as_ref().map_or(file.url.span(), toml::Spanned::span);
    if scheme == Scheme::Http {
        return match &file.ca {
            None => Ok(None),
            Some(_) => Err(place.wrong(&at, "`ca` belongs to a URL of https")),
        };
    }
    let ca = file.ca.as_ref().map(|it| place.folder.join(it.get_ref()));
    let trusted = trusted(ca.as_deref()).map_err(|problem| place.wrong(&at, problem))?;
    let mut config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(Arc::new(TlsConnector::from(Arc::new(config)))))
}

/// The authorities of a file, or those of the machine.
pub(super) fn trusted(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err("this machine trusts no authority: name one with `ca`".into());
        }
        return Ok(roots);
    };
    let bad = |error: &dyn std::fmt::Display| format!("cannot use {}: {error}", path.display());
    let found = CertificateDer::pem_file_iter(path).map_err(|error| bad(&error))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| bad(&error))?;
        roots.add(certificate).map_err(|error| bad(&error))?;
    }
    if roots.is_empty() {
        return Err(bad(&"it holds no certificate"));
    }
    Ok(roots)
}
