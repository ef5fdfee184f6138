//! What a server says that a test has written.

use std::io::{Read, Write};

use plumb_wire::extension::{Answer, Request};
use plumb_wire::ni::HEADER_BYTES;

/// The first frame of a connection, or the next; `None` at its end.
pub(crate) fn request(connection: &mut impl Read) -> Option<Request> {
    let mut header = [0; HEADER_BYTES];
    connection.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_be_bytes(header).try_into().unwrap()];
    connection.read_exact(&mut payload).ok()?;
    Request::parse(&payload).unwrap()
}

/// Says `answer`.
pub(crate) fn answer(connection: &mut impl Write, answer: &Answer) {
    let mut bytes = Vec::new();
    answer.push(&mut bytes);
    connection.write_all(&bytes).unwrap();
}
