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

use plumb_engine::{DatagramSocket, Endpoint, PathMtu};
use plumb_measure::ByteSize;
use plumb_wire::datagram::{DATAGRAM_BYTES_MAX, HEAD_BYTES};

use crate::NetError;

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
