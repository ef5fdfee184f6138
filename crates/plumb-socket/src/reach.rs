//! Which addresses this process may connect to: all of them, unless it is restricted.
//!
//! A remote does what a controller on another machine asks; whoever starts it says which targets it
//! may load. Every connection that is begun comes by here.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

use plumb_wire::cidr::Cidr;

use crate::address::Endpoint;

static TARGETS: OnceLock<Vec<Cidr>> = OnceLock::new();

/// From now on this process connects to addresses in `targets` only; a unix socket counts as the
/// loopback address. False when it was restricted before: that holds.
pub fn restrict_targets(targets: Vec<Cidr>) -> bool {
    TARGETS.set(targets).is_ok()
}

/// # Errors
/// [`io::ErrorKind::PermissionDenied`] when `endpoint` is none that this process may connect to.
pub(crate) fn check(endpoint: &Endpoint) -> io::Result<()> {
    let Some(targets) = TARGETS.get() else { return Ok(()) };
    if may_reach(endpoint, targets) {
        return Ok(());
    }
    let why = format!(
        "this machine may not load {endpoint}: start its `plumb remote` with an --allow-target that \
         holds it"
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Refuses `what`, which makes connections that do not come by here.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] when this process may connect to some addresses only.
pub fn check_unbound(what: &str) -> io::Result<()> {
    match TARGETS.get() {
        None => Ok(()),
        Some(_) => {
            let why = format!(
                "{what} connects by itself, and this machine may load what --allow-target of its \
                 `plumb remote` holds: measure from the machine itself"
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
    }
}

fn may_reach(endpoint: &Endpoint, targets: &[Cidr]) -> bool {
    let ip = match endpoint {
        Endpoint::Tcp(address) | Endpoint::Smc(address) | Endpoint::Udp(address) => address.ip(),
        Endpoint::Unix(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Endpoint::Own => return true,
    };
    targets.iter().any(|targets| targets.contains(ip))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_allowed_is_reached() {
        let targets = ["10.1.0.0/16", "::1/128"].map(|text| text.parse().unwrap());
        let tcp = |text: &str| Endpoint::Tcp(text.parse().unwrap());
        for allowed in ["10.1.2.3:80", "[::1]:80", "[::ffff:10.1.2.3]:80"] {
            assert!(may_reach(&tcp(allowed), &targets), "{allowed}");
        }
        for refused in ["10.2.0.1:80", "127.0.0.1:80", "[::2]:80"] {
            assert!(!may_reach(&tcp(refused), &targets), "{refused}");
        }
        let socket = Endpoint::Unix("/run/lock.sock".into());
        assert!(!may_reach(&socket, &targets));
        assert!(may_reach(&socket, &["127.0.0.0/8".parse().unwrap()]));
    }
}
