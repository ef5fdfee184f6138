//! When things happen: the pacer, and the loops that drive ([`load`]) and serve ([`serve()`]) over the
//! clock, the sockets and the waiting of `plumb-socket` and the links of `plumb-link`, which layers meet
//! here, too.
//!
//! A layer brings a [`Protocol`] (encode the next request, decode bytes into an outcome), a
//! [`Service`] (answer bytes with bytes), or looks on as a [`Sampler`]. Sockets, time, due times,
//! depth, time-outs, reconnecting and recording are here, once, for every layer.

mod channel;
mod conn;
mod datagram;
mod drive;
mod flight;
mod flights;
mod gate;
pub mod layer;
pub mod load;
mod null;
mod operations;
pub mod options;
mod outlet;
mod place;
mod plan;
mod protocol;
mod result;
pub mod serve;
mod service;
mod stamps;
#[cfg(test)]
mod testing;

pub use channel::{READ_BYTES, READS_A_TURN};
pub use datagram::{
    DatagramPlan, DatagramService, DatagramSocket, Datagrams, PathMtu, serve_datagrams,
};
pub use drive::{Driven, Ending};
pub use gate::Gate;
pub use load::{Crew, CrewFigures, IntervalRecords, LoadResult, NotAlike, Sampler, Stage};
pub use null::{Null, floor};
pub use operations::{Operation, Tap};
pub use outlet::Outlet;
pub use place::ThreadContext;
pub use plan::{Extent, LoadPlan, Pace, Waiting};
pub use plumb_link::{
    Either, Link, Plain, Received, Stamps, StampsInForce, Tls, TlsAcceptor, TlsConnector, tls,
};
pub use plumb_socket::{
    ACCEPTS_A_TURN, Address, Arrival, Connection, Destination, Endpoint, Error as EngineError,
    Family, HELD_TICK, HeldTick, HeldTime, Interrupted, Listener, Nagle, Peer, Poll, Readiness,
    Reception, Renewal, SocketOptions, Stop, Time, Timers, TlsError, Token, Turns, Wake,
    check_unbound, clock, finish_connect, proven, reachable, restrict_targets, start_connect,
    take_dead_addresses, take_slow_names, tcp_info, wait_for,
};
pub use plumb_wire::cidr::{Cidr, NoCidr};
pub use protocol::{After, Next, Op, OpEnd, OperationGroup, Protocol, Step, Then};
pub use result::{Lengths, client_figures, client_overlap, part_record, result_record};
pub use serve::{LinkTo, ServePlan, serve, serve_and_dial};
pub use service::{ConnectionId, Ended, Served, Service, StampWish, TurnedAway};
pub use stamps::{ClientStamps, StampedRequests};
