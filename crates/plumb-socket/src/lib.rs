//! What every loop stands on: the clock, addresses and what a name stands for, making connections
//! and taking them, what a socket really uses, waiting with epoll, turns and timers.
//!
//! Nothing here knows a protocol, and nothing keeps time of an operation. [`Error`] is that of
//! everybody who connects or listens.

mod address;
pub mod clock;
mod connect;
mod destination;
mod error;
mod held;
mod interrupted;
mod listener;
mod name_lookup;
mod peer;
mod poll;
mod proof;
mod reach;
mod reception;
mod stop;
pub mod tcp_info;
mod tick;
mod timer;
mod tls_error;
mod turns;

pub use address::{Address, Endpoint, Family, show_address};
pub use connect::{
    Connection, Nagle, SocketOptions, acknowledge_at_once, finish_connect, make_blocking,
    make_nonblocking, reachable, start_connect,
};
pub use destination::{Destination, Renewal};
pub use error::{Error, connect_failure};
pub use held::HeldTime;
pub use interrupted::Interrupted;
pub use listener::Listener;
pub use name_lookup::{take_dead_addresses, take_slow_names};
pub use peer::Peer;
pub use poll::{Poll, Readiness, Time, Token};
pub use proof::{Proofs, proven};
pub use reach::{check_unbound, restrict_targets};
pub use reception::{ACCEPTS_A_TURN, Arrival, Reception};
pub use stop::{Stop, wait_for};
pub use tick::{HELD_TICK, HeldTick};
pub use timer::{Timers, Wake};
pub use tls_error::TlsError;
pub use turns::Turns;
