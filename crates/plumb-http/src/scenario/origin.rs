//! The servers that a load may ask.

use plumb_scenario::ScenarioSource;
use plumb_scenario::cookies::{SITES_MAX, Site};
use plumb_wire::http::{Scheme, Url};

use super::unsent::Unsent;
use crate::HttpError;
use crate::error::WHO_ASKS;
use crate::proxy::Proxy;
use crate::resolve::site;

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    url: Url,
    /// What stands before the target in the request line, and the header lines that say where it
    /// goes: a proxy wants the whole URL, and to know who asks.
    pub(super) prefix: String,
    pub(super) lines: String,
}

impl Origin {
    /// The server of `url`, through `proxy`.
    pub(crate) fn new(url: Url, proxy: Option<&Proxy>) -> Self {
        let seen_by = proxy.filter(|_| url.scheme() == Scheme::Http);
        let prefix =
            if seen_by.is_some() { format!("http://{}", url.authority()) } else { String::new() };
        let proxy_line = seen_by.map(Proxy::line).unwrap_or_default();
        let lines = format!("Host: {}\r\n{proxy_line}", url.authority());
        Self { url, prefix, lines }
    }
}

/// Where a request goes: to which server, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of the server.
    pub(crate) route: u16,
    /// Path and query.
    pub(crate) target: String,
}

/// All servers of a load: the base first, then those that the file names beside it. A server has
/// the number of the route that leads to it.
#[derive(Clone, Debug)]
pub(crate) struct Origins(Vec<Origin>);

impl Origins {
    /// The servers of `source`, with `base` in the place of the file's if it is given.
    ///
    /// # Errors
    /// When neither `base` nor the file names a base, or a server has a path or is named twice.
    pub(crate) fn new(
        source: &ScenarioSource,
        base: Option<&str>,
        proxy: Option<&Proxy>,
    ) -> Result<Self, HttpError> {
        let written = source.file().base.as_ref();
        let refused = |problem: String| match (base, written) {
            (None, Some(written)) => source.wrong(&written.span(), problem).into(),
            _ => HttpError::Base { problem },
        };
        let Some(text) = base.or(written.map(|base| base.get_ref().as_str())) else {
            return Err(HttpError::Base {
                problem: "no server is named: write base = \"http://HOST:PORT\" in the file, or \
                          give --base"
                    .into(),
            });
        };
        let mut all = vec![Origin::new(server(text, "a base").map_err(refused)?, proxy)];
        for host in &source.file().hosts {
            let url = server(host.get_ref(), "a host")
                .map_err(|problem| source.wrong(&host.span(), problem))?;
            if all.iter().skip(1).any(|known| known.url.same_origin(&url)) {
                let problem = format!("`{url}` is named twice: take one of them out");
                return Err(source.wrong(&host.span(), problem).into());
            }
            if all.len() == SITES_MAX {
                let problem = format!("more than {} hosts beside the base", SITES_MAX - 1);
                return Err(source.wrong(&host.span(), problem).into());
            }
            if !all[0].url.same_origin(&url) {
                all.push(Origin::new(url, proxy));
            }
        }
        Ok(Self(all))
    }

    /// The address of the base.
    pub(crate) fn base(&self) -> &Url {
        &self.0[0].url // there is one
    }

    /// The addresses of the others, by their routes from 1 on.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Url> {
        self.0.iter().skip(1).map(|origin| &origin.url)
    }

    /// All as cookies know them, by their routes.
    pub(crate) fn sites(&self) -> Vec<Site> {
        self.0.iter().map(|origin| site(&origin.url)).collect()
    }

    /// The server at the end of `route`; the base where there is no such route.
    pub(crate) fn of(&self, route: u16) -> &Origin {
        self.0.get(usize::from(route)).unwrap_or(&self.0[0])
    }

    /// The server at the end of `route`, as messages call it.
    pub(crate) fn name(&self, route: u16) -> String {
        self.of(route).url.to_string().trim_end_matches('/').to_owned()
    }

    /// What is asked of whom for `text`: a path of the base, or an address of one of the servers.
    pub(crate) fn place(&self, text: &str) -> Result<Place, Unsent> {
        let url = self.base().join(text).map_err(|error| Unsent::NoUrl(error.to_string()))?;
        self.place_of(&url).ok_or_else(|| Unsent::Elsewhere(url.masked()))
    }

    /// Where `url` is asked for; `None` at a server that nobody named.
    pub(crate) fn place_of(&self, url: &Url) -> Option<Place> {
        let route = self.0.iter().position(|origin| origin.url.same_origin(url))?;
        Some(Place { route: u16::try_from(route).ok()?, target: url.target().to_owned() })
    }

    /// The address of `target` at the end of `route`.
    pub(crate) fn url(&self, route: u16, target: &str) -> Option<Url> {
        self.of(route).url.join(target).ok()
    }
}

/// The address of a server alone.
fn server(text: &str, what: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.with_credentials(WHO_ASKS))?;
    if url.target() != "/" {
        return Err(format!(
            "`{}` has a path: {what} is http://HOST:PORT alone, steps have paths",
            url.masked()
        ));
    }
    Ok(url)
}
