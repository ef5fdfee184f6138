//! How the bytes of a URL travel: the one place that chooses a link.

use std::sync::Arc;

use plumb_engine::options::TransportOptions;
use plumb_engine::tls::TrustOptions;
use plumb_engine::{
    Crew, Destination, Either, Endpoint, EngineError, Gate, LoadResult, Plain, Protocol, Renewal,
    Sampler, Stage, Stop, Tls, TlsConnector, load, reachable,
};
use plumb_measure::{Shape, Span};
use plumb_scenario::file::Resolve;
use plumb_wire::http::{Scheme, Url};

use crate::proxy::Proxy;
use crate::scenario::CertificateFiles;
use crate::tunnel::{Opening, Tunnel};
use crate::{HttpError, HttpVersion};

/// By which means servers are reached, as the options say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteOptions<'a> {
    pub(crate) proxy: Option<&'a str>,
    pub(crate) transport: &'a TransportOptions,
    pub(crate) trust: &'a TrustOptions,
    pub(crate) connect_timeout: Span,
    pub(crate) version: HttpVersion,
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
    version: HttpVersion,
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
    /// Where the servers are; empty: the only one is at `endpoint`.
    destinations: Vec<Destination>,
    /// How the bytes travel to each of them, to the first first.
    links: Vec<Links>,
    /// How they travel to the first for users with a certificate of their own.
    of_identities: Vec<Links>,
    /// What keeps the addresses of names up to date.
    _renewals: Vec<Renewal>,
    version: HttpVersion,
}

/// The link of a connection: plain, TLS, or TLS through a proxy.
type AnyLink = Either<Plain, Either<Tls, Tunnel<Tls>>>;

/// What makes the links of connections.
pub(crate) enum Links {
    Plain,
    Tls(TlsConnector),
    /// TLS through a proxy.
    Tunnel(Arc<Opening>, TlsConnector),
}

impl Links {
    fn scheme(&self) -> Scheme {
        match self {
            Self::Plain => Scheme::Http,
            Self::Tls(_) | Self::Tunnel(..) => Scheme::Https,
        }
    }

    /// The link of one connection.
    fn link(&self) -> AnyLink {
        match self {
            Self::Plain => Either::One(Plain::default()),
            Self::Tls(tls) => Either::other(Either::One(tls.link())),
            Self::Tunnel(opening, tls) => {
                Either::other(Either::other(Tunnel::new(Arc::clone(opening), tls.link())))
            }
        }
    }
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
            version: means.version,
        };
        urls.iter()
            .try_for_each(|url| routes.version.check_proxied(routes.proxy.is_some(), url))?;
        if let Some(url) = urls.iter().find(|url| url.scheme() == Scheme::Https) {
            routes.connector(url)?; // what does not serve is refused before anything is asked
        }
        Ok(routes)
    }

    /// The version of HTTP that is spoken.
    pub(crate) fn version(&self) -> HttpVersion {
        self.version
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
        let proxied = self.proxy.is_some();
        urls.into_iter().try_for_each(|url| match url.scheme() {
            Scheme::Http => self.version.check_proxied(proxied, url),
            Scheme::Https => self.connector(url).map(drop),
        })
    }

    /// The route to the server of `url`, and to those of `others`, whose names are looked up as
    /// `resolve` says.
    ///
    /// # Errors
    /// As [`to`](Self::to).
    pub(crate) fn to_all<'a>(
        &self,
        url: &'a Url,
        others: impl Iterator<Item = &'a Url>,
        (resolve, certificates): (Resolve, &[CertificateFiles]),
        stop: &Stop,
    ) -> Result<Route, HttpError> {
        let mut route = Route { links: Vec::new(), ..self.to(url, stop)? };
        route.of_identities = self.of_identities(url, certificates)?;
        for (number, url) in std::iter::once(url).chain(others).enumerate() {
            let endpoints = self.endpoints(url)?;
            route.links.push(self.links(url)?);
            let first = match (number, resolve) {
                (0, _) => route.endpoint.clone(),
                (_, Resolve::Spread) => endpoints[0].clone(), // none was refused
                // it need not be there yet
                _ => reachable(&endpoints, self.connect_timeout, stop)
                    .unwrap_or_else(|_| endpoints[0].clone()),
            };
            let destination = match resolve {
                Resolve::Once => Destination::One(first),
                Resolve::Spread => Destination::Spread(endpoints),
                Resolve::Each => {
                    let (name, port) = self.name(url);
                    let transport = self.transport.clone();
                    let look_up = move || transport.endpoints(&name, port);
                    let renewal = Renewal::begin(first, look_up)?;
                    let destination = renewal.destination();
                    route._renewals.push(renewal);
                    destination
                }
            };
            route.destinations.push(destination);
        }
        if route.links.len() == 1 && resolve == Resolve::Once {
            route.destinations.clear();
        }
        Ok(route)
    }

    /// The route to the server of `url`.
    ///
    /// # Errors
    /// [`HttpError::Engine`] when it has no address, or TLS cannot be prepared.
    pub(crate) fn to(&self, url: &Url, stop: &Stop) -> Result<Route, HttpError> {
        let endpoint = reachable(&self.endpoints(url)?, self.connect_timeout, stop)?;
        let links = vec![self.links(url)?];
        let (destinations, of_identities, _renewals) = (Vec::new(), Vec::new(), Vec::new());
        let version = self.version;
        Ok(Route { endpoint, destinations, links, of_identities, _renewals, version })
    }

    /// How bytes travel to the server of `url` from users with these certificates.
    ///
    /// # Errors
    /// [`EngineError::Tls`] when one does not serve, [`HttpError::Base`] where there is no TLS.
    pub(crate) fn of_identities(
        &self,
        url: &Url,
        certificates: &[CertificateFiles],
    ) -> Result<Vec<Links>, HttpError> {
        if !certificates.is_empty() && url.scheme() == Scheme::Http {
            let problem = "certificates of users need a base with https://".into();
            return Err(HttpError::Base { problem });
        }
        let links = |files: &CertificateFiles| {
            let (cert, key) = (Some(files.cert.clone()), Some(files.key.clone()));
            let trust = TrustOptions { cert, key, ..self.trust.clone() };
            let tls = self.tls(&trust, url)?;
            Ok(match &self.proxy {
                None => Links::Tls(tls),
                Some(proxy) => Links::Tunnel(Arc::new(proxy.opening(url)), tls),
            })
        };
        certificates.iter().map(links).collect()
    }

    /// The name and the port that lead to the server of `url`.
    fn name(&self, url: &Url) -> (String, u16) {
        let place = self.proxy.as_ref().map_or(url, Proxy::url);
        (place.authority(), place.scheme().port())
    }

    /// All addresses that lead to the server of `url`.
    fn endpoints(&self, url: &Url) -> Result<Vec<Endpoint>, EngineError> {
        let (name, port) = self.name(url);
        self.transport.endpoints(&name, port)
    }

    /// How bytes travel to the server of `url`.
    fn links(&self, url: &Url) -> Result<Links, HttpError> {
        Ok(match (url.scheme(), &self.proxy) {
            (Scheme::Http, _) => Links::Plain,
            (Scheme::Https, None) => Links::Tls(self.connector(url)?),
            (Scheme::Https, Some(proxy)) => {
                Links::Tunnel(Arc::new(proxy.opening(url)), self.connector(url)?)
            }
        })
    }

    /// What belongs to the servers that were named, a name and a certificate of ours, is not told
    /// to another because the first one says so.
    fn connector(&self, url: &Url) -> Result<TlsConnector, HttpError> {
        let mut trust = self.trust.clone();
        if !self.named.iter().any(|host| host == url.host()) {
            (trust.cert, trust.key, trust.server_name) = (None, None, None);
        }
        self.tls(&trust, url)
    }

    /// True where servers that demand a client certificate are shown one.
    pub(crate) fn shows_certificate(&self) -> bool {
        self.trust.cert.is_some()
    }

    /// Makes links on which the version that was asked for is agreed on. A server that agrees on nothing
    /// speaks HTTP/1.1.
    fn tls(&self, trust: &TrustOptions, url: &Url) -> Result<TlsConnector, HttpError> {
        let tls = TlsConnector::new(trust, url.host(), self.version.alpn());
        let tls = tls.map_err(EngineError::from)?;
        Ok(if self.version == HttpVersion::Two { tls.demanding() } else { tls })
    }
}

impl Route {
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
        let link = |route: u16, identity: u32| self.links_of(route, identity).link();
        load::run_crews(crews, stage, &self.destinations, shape, protocol, link)
    }

    /// The version of HTTP that is spoken.
    pub(crate) fn version(&self) -> HttpVersion {
        self.version
    }

    /// How each route is reached, the first first.
    pub(crate) fn schemes(&self) -> Vec<Scheme> {
        self.links.iter().map(Links::scheme).collect()
    }

    fn links_of(&self, route: u16, identity: u32) -> &Links {
        let own = usize::try_from(identity).ok().and_then(|number| number.checked_sub(1));
        if let (0, Some(links)) = (route, own.and_then(|at| self.of_identities.get(at))) {
            return links;
        }
        self.links.get(usize::from(route)).unwrap_or(&Links::Plain) // there are as many as routes
    }
}
