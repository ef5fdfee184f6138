//! Routes through SAProuters: the string in which people write them, and the frame in which a
//! client asks for one.
//!
//! A route is `/H/host/S/service/W/password`, once for each hop: first the routers, last the
//! server itself. The first router is asked for the whole route in one frame; it answers with
//! [`PONG`](crate::ni::PONG) when the way to the server stands, and with `NI_RTERR` otherwise.
//!
//! # Source
//! SAP Help, "Route Strings" and "Route Connects"; the frame agrees with that of pysap.

use std::fmt;

use crate::ni::{self, NI_VERSION, ROUTE};

/// The port of a SAProuter when none is named.
pub const ROUTER_PORT: u16 = 3299;
/// The version of the request.
const ROUTE_VERSION: u8 = 2;
/// The router passes on messages as they are framed.
const TALK_MODE_MSG_IO: u8 = 0;
/// Hops of a route at most: the frame counts them in a byte, and no real one comes near.
const HOPS_MAX: usize = 32;

/// Why a text is no route. The text itself is not repeated: it may hold passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Something else stands where `/H/`, `/S/` or `/W/` should.
    #[error(
        "a route is /H/ROUTER/S/PORT/W/PASSWORD/H/HOST/S/PORT, where /S/ and /W/ may be left out: \
         there is something else behind hop {hop}"
    )]
    Form {
        /// The hop, from one; 0: before the first.
        hop: usize,
    },
    /// A name is missing, or holds a character that ends a field.
    #[error("hop {hop} of the route has an empty host, port or password, or one with a NUL in it")]
    Empty {
        /// The hop, from one.
        hop: usize,
    },
    /// The same thing twice.
    #[error("hop {hop} of the route names its port or password twice")]
    Twice {
        /// The hop, from one.
        hop: usize,
    },
    /// No router, or too many.
    #[error("a route has a router and a server, and at most 32 hops; this one has {hops}")]
    Hops {
        /// As many as there are.
        hops: usize,
    },
    /// The port of the first router is no number.
    #[error("the first router's port is not known: write a number, or sapdpNN")]
    Port,
}

/// A password. What shows it shows `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A password as it is.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself, for whoever sends it on.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// True when the password is still to be asked for: it is written `-`.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.0 == "-"
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// One hop of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Name or address.
    pub host: String,
    /// Port or service; `None`: the usual one.
    pub service: Option<String>,
    /// What the router before it, or it itself, demands.
    pub password: Option<Secret>,
}

/// A way through one or more routers to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    hops: Vec<Hop>,
}

impl Route {
    /// True when `text` is meant as a route, not as a host.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with('/')
    }

    /// Reads a route.
    ///
    /// # Errors
    /// [`RouteError`], which never repeats the text.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        let mut hops: Vec<Hop> = Vec::new();
        let mut fields = text.split('/');
        if fields.next() != Some("") {
            return Err(RouteError::Form { hop: 0 });
        }
        while let Some(key) = fields.next() {
            let form = RouteError::Form { hop: hops.len() };
            let value = fields.next().ok_or(form)?;
            let starts = matches!(key, "H" | "h");
            let empty = RouteError::Empty { hop: hops.len() + usize::from(starts) };
            if value.is_empty() || value.contains('\0') {
                return Err(empty);
            }
            if starts {
                hops.push(Hop { host: value.into(), service: None, password: None });
                continue;
            }
            let twice = RouteError::Twice { hop: hops.len() };
            let hop = hops.last_mut().ok_or(form)?;
            let taken = match key {
                "S" | "s" => hop.service.replace(value.into()).is_some(),
                "W" | "w" | "P" | "p" => hop.password.replace(Secret::new(value)).is_some(),
                _ => return Err(form),
            };
            if taken {
                return Err(twice);
            }
        }
        match hops.len() {
            2..=HOPS_MAX => Ok(Self { hops }),
            hops => Err(RouteError::Hops { hops }),
        }
    }

    /// The hops, the routers first.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The first router, in the form `HOST:PORT`.
    ///
    /// # Errors
    /// [`RouteError::Port`] when its service is no port that is known here.
    pub fn router(&self) -> Result<String, RouteError> {
        let [first, ..] = self.hops.as_slice() else {
            return Err(RouteError::Hops { hops: 0 });
        };
        let port = match &first.service {
            None => ROUTER_PORT,
            Some(service) => port_of(service).ok_or(RouteError::Port)?,
        };
        Ok(if first.host.contains(':') {
            format!("[{}]:{port}", first.host)
        } else {
            format!("{}:{port}", first.host)
        })
    }

    /// Names the server's port where the route does not.
    pub fn set_server_port(&mut self, port: u16) {
        if let Some(server) = self.hops.last_mut() {
            server.service.get_or_insert_with(|| port.to_string());
        }
    }

    /// The passwords in the order of the hops, to be read or replaced.
    pub fn passwords(&mut self) -> impl Iterator<Item = (String, &mut Secret)> {
        let hops = self.hops.iter_mut();
        hops.filter_map(|hop| Some((hop.host.clone(), hop.password.as_mut()?)))
    }

    /// The route with `-` for every password: what may be seen by everybody.
    #[must_use]
    pub fn without_passwords(&self) -> String {
        self.written("-")
    }

    fn written(&self, password: &str) -> String {
        let mut text = String::new();
        for hop in &self.hops {
            text += &format!("/H/{}", hop.host);
            if let Some(service) = &hop.service {
                text += &format!("/S/{service}");
            }
            if hop.password.is_some() {
                text += &format!("/W/{password}");
            }
        }
        text
    }

    /// Appends the frame that asks the first router for this route.
    pub fn push_request(&self, out: &mut Vec<u8>) {
        let mut strings = Vec::new();
        let mut second_hop = 0;
        for (number, hop) in self.hops.iter().enumerate() {
            let usual = ROUTER_PORT.to_string();
            let service = hop.service.as_deref().unwrap_or(&usual);
            let password = hop.password.as_ref().map_or("", Secret::reveal);
            for field in [&hop.host, service, password] {
                strings.extend_from_slice(field.as_bytes());
                strings.push(0);
            }
            if number == 0 {
                second_hop = strings.len();
            }
        }
        let hops = u8::try_from(self.hops.len()).unwrap_or(u8::MAX); // at most 32
        let mut payload = ROUTE.to_vec();
        payload.extend([ROUTE_VERSION, NI_VERSION, hops, TALK_MODE_MSG_IO, 0, 0, hops - 1]);
        for length in [strings.len(), second_hop] {
            payload.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        }
        payload.extend(strings);
        ni::push_frame(out, &payload);
    }
}

/// With `***` for every password.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written("***"))
    }
}

/// A port by number, or by the service names that SAP's instances use: `sapdpNN`, `sapgwNN`.
#[must_use]
pub fn port_of(service: &str) -> Option<u16> {
    let instance = |name: &str, base: u16| {
        let digits = service.strip_prefix(name).filter(|digits| digits.len() == 2)?;
        digits.parse::<u16>().ok().map(|number| base + number)
    };
    service.parse().ok().or_else(|| instance("sapdp", 3200)).or_else(|| instance("sapgw", 3300))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(route: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Route::parse(route).unwrap().push_request(&mut out);
        out
    }

    #[test]
    fn the_frame_is_that_of_other_implementations_byte_for_byte() {
        let route = "/H/saprouter/S/3299/W/pw/H/host2/S/3298";
        let payload = b"NI_ROUTE\0\x02\x28\x02\x00\0\0\x01\0\0\0\x1e\0\0\0\x12\
                        saprouter\x003299\0pw\0host2\x003298\0\0";
        let mut expected = Vec::new();
        ni::push_frame(&mut expected, payload);
        assert_eq!(frame(route), expected);
    }

    #[test]
    fn nothing_that_shows_a_route_shows_its_passwords() {
        let route = Route::parse("/H/r1/W/hush/H/r2/S/sapdp99/P/quiet/H/db/S/3298").unwrap();
        assert_eq!(route.to_string(), "/H/r1/W/***/H/r2/S/sapdp99/W/***/H/db/S/3298");
        assert_eq!(route.without_passwords(), "/H/r1/W/-/H/r2/S/sapdp99/W/-/H/db/S/3298");
        let debug = format!("{route:?}");
        assert!(!debug.contains("hush") && !debug.contains("quiet"), "{debug}");
    }

    #[test]
    fn the_first_router_is_where_to_connect() {
        let router = |text: &str| Route::parse(text).unwrap().router();
        assert_eq!(router("/H/r/H/db"), Ok("r:3299".into()));
        assert_eq!(router("/H/::1/S/4000/H/db"), Ok("[::1]:4000".into()));
        assert_eq!(router("/H/r/S/sapdp99/H/db"), Ok("r:3299".into()));
        assert_eq!(router("/H/r/S/telnet/H/db"), Err(RouteError::Port));
    }

    #[test]
    fn ports_have_names() {
        assert_eq!(port_of("3298"), Some(3298));
        assert_eq!(port_of("sapdp00"), Some(3200));
        assert_eq!(port_of("sapgw07"), Some(3307));
        assert_eq!((port_of("sapdp7"), port_of("99999"), port_of("http")), (None, None, None));
    }

    #[test]
    fn the_server_has_its_own_usual_port() {
        let mut route = Route::parse("/H/r/H/db").unwrap();
        route.set_server_port(3298);
        assert_eq!(route.to_string(), "/H/r/H/db/S/3298");
        route.set_server_port(1);
        assert_eq!(route.to_string(), "/H/r/H/db/S/3298");
    }

    #[test]
    fn what_is_no_route_is_refused_without_being_repeated() {
        for (text, error) in [
            ("r/H/db", RouteError::Form { hop: 0 }),
            ("/S/3299/H/r", RouteError::Form { hop: 0 }),
            ("/H/r/X/hush/H/db", RouteError::Form { hop: 1 }),
            ("/H/r/W", RouteError::Form { hop: 1 }),
            ("/H/r/W//H/db", RouteError::Empty { hop: 1 }),
            ("/H/r/H/", RouteError::Empty { hop: 2 }),
            ("/H/r/W/hush/W/hush/H/db", RouteError::Twice { hop: 1 }),
            ("/H/r", RouteError::Hops { hops: 1 }),
        ] {
            assert_eq!(Route::parse(text), Err(error), "{text}");
            assert!(!error.to_string().contains("hush"));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail_and_what_is_read_is_written_again(text in "(/[HSWXhw]?/?[a-z0-9-]{0,4}){0,8}") {
            if let Ok(route) = Route::parse(&text) {
                let again = Route::parse(&route.without_passwords()).unwrap();
                prop_assert_eq!(again.without_passwords(), route.without_passwords());
                let mut out = Vec::new();
                route.push_request(&mut out);
                let length = ni::payload_length(&out).unwrap();
                prop_assert_eq!(usize::try_from(length).unwrap() + ni::HEADER_BYTES, out.len());
            }
        }
    }
}
