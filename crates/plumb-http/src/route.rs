//! How the bytes of a URL travel: the one place that chooses a link.

use std::sync::Arc;

use plumb_engine::options::TransportOptions;
use plumb_engine::tls::TrustOptions;
use plumb_engine::{
    Crew, Endpoint, EngineError, Gate, LoadPlan, LoadResult, Plain, Protocol, Sampler, Stage, Stop,
    TlsConnector, load, reachable,
};
use plumb_measure::{Shape, Span};
use plumb_wire::http::{Scheme, Url};

use crate::any_link::AnyLink;
use crate::proxy::Proxy;
use crate::tunnel::{Opening, Tunnel};
use crate::{HttpError, Probe};

/// The protocol that is asked for in a handshake: a server that speaks HTTP/2 as well must not
/// choose it.
const ALPN: &[&[u8]] = &[b"http/1.1"];

/// By which means servers are reached, as the options say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteOptions<'a> {
    pub(crate) proxy: Option<&'a str>,
    pub(crate) transport: &'a TransportOptions,
    pub(crate) trust: &'a TrustOptions,
    pub(crate) connect_timeout: Span,
}

/// What is known of the routes to servers before one is taken.
#[derive(Debug)]
pub(crate) struct Routes {
    proxy: Option<Proxy>,
    transport: TransportOptions,
    trust: TrustOptions,
    /// The hosts that the user named.
    named: Vec<String>,
    connect_timeout: Span,
}

/// Who looks on at a load, begins it and ends it.
pub(crate) struct Supervision<'a> {
    pub(crate) samplers: &'a mut [&'a mut dyn Sampler],
    pub(crate) stop: &'a Stop,
    /// As in [`Stage`].
    pub(crate) gate: Option<&'a Gate>,
}

impl<'a> Supervision<'a> {
    /// Nobody looks on, and the load begins when it can.
    pub(crate) fn none(stop: &'a Stop) -> Self {
        Self { samplers: &mut [], stop, gate: None }
    }
}

/// The route to one server, or to the servers of a scenario.
pub(crate) struct Route {
    endpoint: Endpoint,
    links: Links,
    /// Those to further servers.
    others: Vec<Endpoint>,
    other_links: Vec<Links>,
}

/// What makes the links of connections.
pub(crate) enum Links {
    Plain,
    Tls(TlsConnector),
    /// TLS through a proxy.
    Tunnel(Arc<Opening>, TlsConnector),
}

impl Routes {
    /// The routes to the servers of `urls`, which the user named, and to those they lead to.
    ///
    /// # Errors
    /// [`HttpError::Proxy`], or [`EngineError::Tls`] when an option of TLS does not serve.
    pub(crate) fn new(means: RouteOptions<'_>, urls: &[Url]) -> Result<Self, HttpError> {
        let routes = Self {
            proxy: means.proxy.map(Proxy::new).transpose()?,
            transport: means.transport.clone(),
            trust: means.trust.clone(),
            named: urls.iter().map(|url| url.host().to_owned()).collect(),
            connect_timeout: means.connect_timeout,
        };
        if let Some(url) = urls.iter().find(|url| url.scheme() == Scheme::Https) {
            routes.connector(url)?; // what does not serve is refused before anything is asked
        }
        Ok(routes)
    }

    /// The proxy that everything goes through.
    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// True when one connection serves both URLs.
    pub(crate) fn shared(&self, one: &Url, other: &Url) -> bool {
        let plain = |url: &Url| url.scheme() == Scheme::Http;
        one.same_origin(other) || self.proxy.is_some() && plain(one) && plain(other)
    }

    /// Refuses what would keep one of `urls` from being reached.
    ///
    /// # Errors
    /// [`EngineError::Tls`] when an option of TLS does not serve.
    pub(crate) fn check<'a>(&self, urls: impl Iterator<Item = &'a Url>) -> Result<(), HttpError> {
        let mut encrypted = urls.filter(|url| url.scheme() == Scheme::Https);
        encrypted.try_for_each(|url| self.connector(url).map(drop))
    }

    /// The route to the server of `url`, and to those of `others`.
    ///
    /// # Errors
    /// As [`to`](Self::to).
    pub(crate) fn to_all<'a>(
        &self,
        url: &Url,
        others: impl Iterator<Item = &'a Url>,
        stop: &Stop,
    ) -> Result<Route, HttpError> {
        let mut route = self.to(url, stop)?;
        for other in others {
            let (endpoint, links) = self.way(other, stop, false)?;
            route.others.push(endpoint);
            route.other_links.push(links);
        }
        Ok(route)
    }

    /// The route to the server of `url`.
    ///
    /// # Errors
    /// [`HttpError::Engine`] when it has no address, or TLS cannot be prepared.
    pub(crate) fn to(&self, url: &Url, stop: &Stop) -> Result<Route, HttpError> {
        let (endpoint, links) = self.way(url, stop, true)?;
        Ok(Route { endpoint, links, others: Vec::new(), other_links: Vec::new() })
    }

    /// Where the server of `url` is, and how its bytes travel. Of several addresses it is the first
    /// that takes a connection; where none does, and it need not be there yet, the first.
    fn way(&self, url: &Url, stop: &Stop, now: bool) -> Result<(Endpoint, Links), HttpError> {
        let place = self.proxy.as_ref().map_or(url, Proxy::url);
        let endpoints = self.transport.endpoints(&place.authority(), place.scheme().port())?;
        let endpoint = match (reachable(&endpoints, self.connect_timeout, stop), endpoints.first())
        {
            (Ok(endpoint), _) => endpoint,
            (Err(_), Some(first)) if !now => first.clone(),
            (Err(error), _) => return Err(error.into()),
        };
        let links = match (url.scheme(), &self.proxy) {
            (Scheme::Http, _) => Links::Plain,
            (Scheme::Https, None) => Links::Tls(self.connector(url)?),
            (Scheme::Https, Some(proxy)) => {
                Links::Tunnel(Arc::new(proxy.opening(url)), self.connector(url)?)
            }
        };
        Ok((endpoint, links))
    }

    /// What belongs to the servers that were named, a name and a certificate of ours, is not told
    /// to another because the first one says so.
    fn connector(&self, url: &Url) -> Result<TlsConnector, HttpError> {
        let mut trust = self.trust.clone();
        if !self.named.iter().any(|host| host == url.host()) {
            (trust.cert, trust.key, trust.server_name) = (None, None, None);
        }
        Ok(TlsConnector::new(&trust, url.host(), ALPN).map_err(EngineError::from)?)
    }
}

impl Route {
    /// Drives `plan` with copies of `probe`, one a thread.
    ///
    /// # Errors
    /// What the engine says when the load cannot begin.
    pub(crate) fn drive<'a>(
        &'a self,
        plan: &LoadPlan,
        probe: &Probe,
        by: Supervision<'a>,
    ) -> Result<LoadResult<Probe>, EngineError> {
        let crew = [Crew { plan, user_schedule: None }];
        self.drive_crews(&crew, probe.pages().into(), |_| probe.clone(), by)
    }

    /// Drives the plans of all `crews`, recording into rows of `shape`. `protocol` makes the
    /// protocol of one thread of the crew with that number.
    ///
    /// # Errors
    /// What the engine says when the load cannot begin.
    pub(crate) fn drive_crews<'a, P: Protocol + Send>(
        &'a self,
        crews: &[Crew<'_>],
        shape: Shape,
        protocol: impl Fn(usize) -> P,
        by: Supervision<'a>,
    ) -> Result<LoadResult<P>, EngineError> {
        let Supervision { samplers, stop, gate } = by;
        let stage = &mut Stage { endpoint: &self.endpoint, stop, samplers, gate };
        let others = &self.others[..];
        if !others.is_empty() {
            let link = |route: u16| AnyLink::of(self.links_of(route));
            return load::run_crews(crews, stage, others, shape, protocol, link);
        }
        match &self.links {
            Links::Plain => load::run_crews(crews, stage, others, shape, protocol, |_| Plain),
            Links::Tls(tls) => {
                load::run_crews(crews, stage, others, shape, protocol, |_| tls.link())
            }
            Links::Tunnel(opening, tls) => {
                let link = |_| Tunnel::new(Arc::clone(opening), tls.link());
                load::run_crews(crews, stage, others, shape, protocol, link)
            }
        }
    }

    fn links_of(&self, route: u16) -> &Links {
        let other = usize::from(route).checked_sub(1);
        other.and_then(|at| self.other_links.get(at)).unwrap_or(&self.links)
    }
}
