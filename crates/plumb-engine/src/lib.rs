//! When things happen: the clock, the transport, the reactor, the pacer, and the loops that drive
//! ([`load`]) and serve ([`serve()`]).
//!
//! A layer brings a [`Protocol`] (encode the next request, decode bytes into an outcome), a
//! [`Service`] (answer bytes with bytes), or looks on as a [`Sampler`]. Sockets, time, due times,
//! depth, time-outs, reconnecting and recording are here, once, for every layer.

mod address;
mod channel;
pub mod clock;
mod conn;
mod connect;
mod datagram;
mod destination;
mod drive;
mod error;
mod gate;
mod held;
pub mod layer;
mod link;
mod listener;
pub mod load;
mod null;
mod operations;
pub mod options;
mod outlet;
mod place;
mod plan;
mod poll;
mod proof;
mod protocol;
mod reach;
mod reception;
mod result;
pub mod serve;
mod service;
mod stamps;
mod stop;
pub mod tcp_info;
pub mod terminal;
#[cfg(test)]
mod testing;
mod tick;
mod timer;
pub mod tls;

pub use address::{Address, Endpoint, Family};
pub use channel::{READ_BYTES, READS_A_TURN};
pub use connect::{Connection, SocketOptions, finish_connect, reachable, start_connect};
pub use datagram::{
    DatagramPlan, DatagramService, DatagramSocket, Datagrams, PathMtu, serve_datagrams,
};
pub use destination::{Destination, Renewal};
pub use drive::{Driven, Ending};
pub use error::EngineError;
pub use gate::Gate;
pub use held::HeldTime;
pub use link::{Link, Plain, Received};
pub use listener::Listener;
pub use load::{Crew, CrewFigures, IntervalRecords, LoadResult, NotAlike, Sampler, Stage};
pub use null::{Null, floor};
pub use operations::{Operation, Tap};
pub use outlet::Outlet;
pub use place::ThreadContext;
pub use plan::{Extent, LoadPlan, Nagle, Pace, Waiting};
pub use plumb_wire::cidr::{Cidr, NoCidr};
pub use poll::{Poll, Readiness, Time, Token};
pub use proof::proven;
pub use protocol::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step, Then};
pub use reach::restrict_targets;
pub use reception::{ACCEPTS_A_TURN, Arrival, Reception};
pub use result::{Lengths, client_figures, client_overlap, part_record, result_record};
pub use serve::{ServePlan, serve, serve_and_dial};
pub use service::{ConnectionId, Ended, Peer, Served, Service, StampWish, TurnedAway};
pub use stamps::{ClientStamps, Stamps};
pub use stop::{Stop, wait_for};
pub use tick::{HELD_TICK, HeldTick};
pub use timer::{Timers, Wake};
pub use tls::{Tls, TlsAcceptor, TlsConnector, TlsError};
