//! UDP: round trips of single datagrams, streams of them, and the server of both.

mod arrivals;
mod carriage;
mod clients;
mod probe;
mod receiver;
mod sender;
mod server;
mod sessions;
mod talk;
mod window;

pub(crate) use carriage::DatagramCarriage;
pub use probe::{DatagramProbe, DatagramTally};
pub use server::{DatagramServer, DatagramTotals};

use plumb_engine::{DatagramSocket, Endpoint, PathMtu, Stop};
use plumb_measure::{ByteSize, Span};
use plumb_wire::datagram::{DATAGRAM_BYTES_MAX, HEAD_BYTES};

use crate::NetError;
use talk::DatagramTalk;

/// What the other side says in words, which obeys no terminal.
fn words(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace(char::is_control, " ")
}

/// The length of a datagram with `size` bytes of content.
///
/// # Errors
/// [`NetError::Datagram`] when there is none of that length.
pub(crate) fn length_of(size: ByteSize) -> Result<usize, NetError> {
    let bytes = usize::try_from(size.bytes()).unwrap_or(usize::MAX);
    if (HEAD_BYTES..=DATAGRAM_BYTES_MAX).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(NetError::Datagram { size })
    }
}

/// The first of `candidates` that is there. A connect over UDP says nothing, so that each is asked, for
/// an even part of `patience`; a single one is not.
///
/// # Errors
/// When none is, with the cause of each, and when `stop` is asked before one has answered.
pub(crate) fn reachable(
    candidates: &[Endpoint],
    patience: Span,
    stop: &Stop,
) -> Result<Endpoint, NetError> {
    if !matches!(candidates, [Endpoint::Udp(_), _, ..]) {
        return Ok(plumb_engine::reachable(candidates, patience, stop)?);
    }
    let each = Span::from_ns(patience.ns() / candidates.len() as u64);
    let mut causes = Vec::new();
    for endpoint in candidates {
        let candidate = endpoint.clone();
        match stop.unless_asked(move || DatagramTalk::open(&candidate, each, false))? {
            Ok(_) => return Ok(endpoint.clone()),
            Err(cause) => causes.push(cause.to_string()),
        }
    }
    Err(NetError::NoneAnswers(causes.join("; ")))
}

/// What goes to `endpoint` in one piece, as far as this machine knows; datagrams of `sizes` that may
/// `never_fragment` must.
///
/// # Errors
/// [`NetError::Fragments`] names the first of them that does not.
pub(crate) fn path_of(
    endpoint: &Endpoint,
    sizes: &[ByteSize],
    never_fragment: bool,
) -> Result<Option<PathMtu>, NetError> {
    let mtu = DatagramSocket::connect(endpoint)?.path_mtu();
    let too_long = |mtu: &PathMtu| {
        let size = sizes.iter().find(|size| size.bytes() > u64::from(mtu.content))?;
        Some(NetError::Fragments { size: *size, mtu: mtu.bytes, content: mtu.content })
    };
    match mtu.as_ref().and_then(too_long) {
        Some(error) if never_fragment => Err(error),
        _ => Ok(mtu),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::thread;

    use plumb_wire::datagram::{Head, Kind};

    use super::*;

    #[test]
    fn the_first_address_that_answers_is_taken_though_another_comes_before_it() {
        let bound = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = |socket: &UdpSocket| Endpoint::Udp(socket.local_addr().unwrap());
        let gone = at(&bound());
        let (silent, server) = (bound(), bound());
        let there = at(&server);
        let welcoming = thread::spawn(move || {
            let mut buffer = [0; 2_048];
            let (bytes, client) = server.recv_from(&mut buffer).unwrap();
            let (hello, _) = Head::parse(&buffer[..bytes]).unwrap();
            let welcome = Head { kind: Kind::Welcome, token: 7, ..hello };
            server.send_to(&welcome.filled(bytes), client).unwrap();
        });
        let stop = Stop::new().unwrap();
        let candidates = [gone.clone(), at(&silent), there.clone()];
        let patience = Span::from_ms(60_000);
        let quick = Span::from_ms(3);
        let none = reachable(&candidates[..2], quick, &stop).unwrap_err().to_string();
        assert!(none.contains("connection refused") && none.contains("did not answer"), "{none}");
        let taken = reachable(&[gone, there.clone()], patience, &stop).unwrap();
        assert_eq!(taken.to_string(), there.to_string());
        welcoming.join().unwrap();
    }
}
