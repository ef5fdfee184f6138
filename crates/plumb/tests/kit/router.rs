//! A SAProuter for tests: it understands the request for a route and passes bytes on. Its frames
//! are read by hand, so that the program is not judged by its own codec.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::PATIENCE;
use super::ni::{PONG, error, frame, read_frame};

/// The return code for a route that is not permitted.
const NOT_PERMITTED: i32 = -94;

/// A router on a thread of the test.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) address: String,
    requests: Receiver<Vec<u8>>,
}

impl Router {
    /// Permits routes of two hops whose first has `password`.
    pub(crate) fn start(password: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (tell, requests) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tell = tell.clone();
                thread::spawn(move || route(stream, password, &tell));
            }
        });
        Self { address, requests }
    }

    /// The router's part of a route string.
    pub(crate) fn hop(&self) -> String {
        let (host, port) = self.address.rsplit_once(':').expect("a port");
        format!("/H/{host}/S/{port}")
    }

    /// The payload of the next request for a route.
    pub(crate) fn request(&self) -> Vec<u8> {
        self.requests.recv_timeout(PATIENCE).expect("somebody asks for a route")
    }
}

/// The server's part of a route string.
pub(crate) fn last_hop(address: &str) -> String {
    let (host, port) = address.rsplit_once(':').expect("a port");
    format!("/H/{host}/S/{port}")
}

fn route(mut near: TcpStream, password: &str, tell: &Sender<Vec<u8>>) -> io::Result<()> {
    let Some(request) = read_frame(&mut near)? else {
        return Ok(());
    };
    let _ = tell.send(request.clone()); // a test that has ended wants to know nothing
    let Some((host, port)) = permitted(&request, password) else {
        return near.write_all(&frame(&error(NOT_PERMITTED, "route permission denied")));
    };
    let far = TcpStream::connect(format!("{host}:{port}"))?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    near.write_all(&frame(PONG))?;
    let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
    thread::spawn(move || pass_on(far_too, near_too));
    pass_on(near, far)
}

/// The host and port of the second hop, if the first has the password.
fn permitted(request: &[u8], password: &str) -> Option<(String, String)> {
    let head = b"NI_ROUTE\0\x02\x28\x02\x00\0\0\x01";
    let lengths = request.strip_prefix(head)?;
    let (lengths, strings) = lengths.split_at_checked(8)?;
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().ok()?).try_into().ok();
    let length: usize = number(&lengths[..4])?;
    let offset: usize = number(&lengths[4..])?;
    let fields = |part: &[u8]| -> Option<Vec<String>> {
        let part = part.strip_suffix(b"\0")?;
        let fields = part.split(|byte| *byte == 0).map(|field| String::from_utf8(field.into()));
        fields.collect::<Result<_, _>>().ok()
    };
    let (first, second) = strings.split_at_checked(offset)?;
    let (first, second) = (fields(first)?, fields(second)?);
    let right = strings.len() == length && first.get(2).is_some_and(|it| it == password);
    let [host, port, _] = second.as_slice() else {
        return None;
    };
    right.then(|| (host.clone(), port.clone()))
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}
