//! The loop that answers datagrams: one socket, one thread.

use std::net::SocketAddr;

use plumb_measure::{Clock as _, Span, Tick};
use plumb_socket::{HeldTick, Peer, Stop};
use plumb_wire::cidr::Cidr;
use rustix::net::RecvFlags;

use super::DatagramSocket;
use crate::EngineError;
use crate::clock::MonotonicClock;
use crate::place::ThreadContext;

/// The longest receive, so that a request to stop is seen soon.
const RECEIVE_MAX: Span = Span::from_ms(100);
/// Any datagram fits.
const BUFFER_BYTES: usize = 64 << 10;

/// A server of datagrams. It neither waits nor touches a socket.
pub trait DatagramService {
    /// A datagram came `from` there. An answer is written over it, and its length given back: it can
    /// be no longer than what it answers, so that nobody can have more sent to an address that is not
    /// his than he sends himself.
    fn serve(&mut self, from: SocketAddr, datagram: &mut [u8]) -> Option<usize>;
}

/// How datagrams are waited for, and whose are answered.
#[derive(Clone, Debug, Default)]
pub struct DatagramPlan {
    /// Who may send; empty: everybody who reaches the address.
    pub allow: Vec<Cidr>,
    /// Ask again and again instead of waiting.
    pub spin: bool,
    /// The processor to run on.
    pub pin: Option<usize>,
    /// What is done about the tick of a processor that idles while the server waits.
    pub tick: Tick,
}

/// Answers what comes to `socket` until `stop` is asked.
///
/// # Errors
/// When the loop itself cannot go on. What clients do is no error.
pub fn serve_datagrams(
    plan: &DatagramPlan,
    socket: &DatagramSocket,
    service: &mut impl DatagramService,
    stop: &Stop,
) -> Result<(), EngineError> {
    ThreadContext { cpu: plan.pin, netns: None }.settle()?;
    let mut tick = HeldTick::of(plan.tick).map_err(EngineError::system("make a timer"))?;
    socket.limit_receives(RECEIVE_MAX).map_err(EngineError::system("set a receive time-out"))?;
    let flags = if plan.spin { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
    let mut buffer = vec![0; BUFFER_BYTES];
    while !stop.asked() {
        if let Some(tick) = &mut tick {
            tick.hold(MonotonicClock.now_ns());
        }
        // an error is that of an answer that could not be delivered to somebody who is gone
        let Ok(Some((bytes, from))) = socket.take(&mut buffer, flags) else { continue };
        if !Peer::Ip(from).is_among(&plan.allow) {
            continue;
        }
        if let Some(answer) = service.serve(from, &mut buffer[..bytes]) {
            // one that cannot be sent is lost, as any may be
            let _ = socket.send_to(&buffer[..answer.min(bytes)], from);
        }
    }
    Ok(())
}
