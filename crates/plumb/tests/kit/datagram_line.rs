//! A line that loses, doubles and swaps the datagrams that a test names, and no others.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use plumb_wire::datagram::{Head, Kind};

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It passes.
    Pass,
    /// It is lost.
    Lose,
    /// It passes twice.
    Twice,
    /// It passes behind the next one of its kind that passes the same way, and is lost where there is none.
    Wait,
}

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

/// A line between one client's socket and a server, for as long as it is kept.
pub(crate) struct DatagramLine {
    /// Where clients send to, with `udp:` in front.
    pub(crate) address: String,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DatagramLine {
    /// A line to the server at `target`, `udp:` in front, for any number of sockets. `fate` is asked
    /// for every datagram.
    pub(crate) fn to(target: &str, fate: impl Fn(Way, Kind, u64) -> Fate + Send + 'static) -> Self {
        let target: SocketAddr =
            target.strip_prefix("udp:").expect("a server of UDP").parse().expect("an address");
        let near = UdpSocket::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = format!("udp:{}", near.local_addr().expect("it is bound"));
        let over = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&over);
        let thread = std::thread::spawn(move || carry(&near, target, &fate, &theirs));
        Self { address, over, thread: Some(thread) }
    }
}

impl Drop for DatagramLine {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One client's socket.
struct Flow {
    client: SocketAddr,
    far: UdpSocket,
    waiting: [Vec<Vec<u8>>; 2],
}

fn carry(
    near: &UdpSocket,
    target: SocketAddr,
    fate: &dyn Fn(Way, Kind, u64) -> Fate,
    over: &AtomicBool,
) {
    // the shortest that a socket takes: this line asks all its sockets in turn
    let soon = Some(Duration::from_micros(200));
    near.set_read_timeout(soon).expect("it is above zero");
    let mut flows: Vec<Flow> = Vec::new();
    let mut buffer = vec![0; 65_536];
    while !over.load(Ordering::Relaxed) {
        if let Ok((bytes, client)) = near.recv_from(&mut buffer) {
            let at = flows.iter().position(|flow| flow.client == client).unwrap_or_else(|| {
                let far = UdpSocket::bind("127.0.0.1:0").expect("loopback has free ports");
                far.connect(target).expect("loopback has a way");
                far.set_nonblocking(true).expect("a socket of UDP");
                flows.push(Flow { client, far, waiting: Default::default() });
                flows.len() - 1
            });
            let flow = &mut flows[at];
            let far = flow.far.try_clone().expect("descriptors are left");
            pass(&buffer[..bytes], Way::There, fate, &mut flow.waiting[0], &mut |datagram| {
                let _ = far.send(datagram);
            });
        }
        for flow in &mut flows {
            while let Ok(bytes) = flow.far.recv(&mut buffer) {
                let client = flow.client;
                pass(&buffer[..bytes], Way::Back, fate, &mut flow.waiting[1], &mut |datagram| {
                    let _ = near.send_to(datagram, client);
                });
            }
        }
    }
}

fn pass(
    datagram: &[u8],
    way: Way,
    fate: &dyn Fn(Way, Kind, u64) -> Fate,
    waiting: &mut Vec<Vec<u8>>,
    send: &mut dyn FnMut(&[u8]),
) {
    let head = head_of(datagram);
    match fate(way, head.kind, head.number) {
        Fate::Lose => {}
        Fate::Wait => waiting.push(datagram.to_vec()),
        fate => {
            send(datagram);
            if fate == Fate::Twice {
                send(datagram);
            }
            let of_this_kind = |waited: &mut Vec<u8>| head_of(waited).kind == head.kind;
            waiting.extract_if(.., of_this_kind).for_each(|waited| send(&waited));
        }
    }
}

fn head_of(datagram: &[u8]) -> Head {
    Head::parse(datagram).expect("one of ours").0
}
