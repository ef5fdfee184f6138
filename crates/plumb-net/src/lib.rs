//! The network layer: how long a message takes there and back, how many bytes go one way, and a
//! server to ask.
//!
//! [`Probe`] is the client half of niping as a [`plumb_engine::Protocol`], [`EchoServer`] its
//! server half as a [`plumb_engine::Service`]. Where both sides are plumb, [`Exchange`] asks for
//! replies of another size and number, and [`Stream`] carries bytes on threads of its own, which
//! block. [`Net`] is the layer as the program sees it.

mod account;
mod aside;
mod carriage;
mod client;
mod clients;
mod datagram;
mod delay;
mod echo;
mod error;
mod exchange;
mod far_side;
mod intervals;
mod ledger;
mod password;
mod ping;
mod probe;
mod pump;
mod room;
mod routed;
#[cfg(test)]
mod scripted;
mod serve;
mod stamped;
mod stream;
mod streams;
mod talk;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use client::{Client, Event, Manner, Unfinished};
pub use datagram::{DatagramProbe, DatagramServer, DatagramTally, DatagramTotals};
pub use delay::{DatagramOptions, Delay, DelayOptions, IdleCut};
pub use echo::{EchoLimits, EchoServer, Extension};
pub use error::{NetError, PASSWORD_VARIABLE};
pub use exchange::Exchange;
pub use ledger::Ledger;
pub use password::{Literal, route_of};
pub use ping::{Ping, PingOptions, SIZE_MAX};
pub use probe::{Position, Probe};
pub use room::{StreamLimits, StreamRoom};
pub use routed::{RouteState, Routed};
pub use serve::{MEMORY_BYTES, Serve, ServeOptions, listeners};
pub use stamped::{StampState, Stamped};
pub use stream::{Stream, StreamOptions};
pub use streams::{Farewell, Streams};

/// The port of an echo server when none is named; niping's own.
pub const PORT: u16 = 3298;

/// The network layer.
#[derive(Clone, Copy, Debug)]
pub struct Net;

impl Layer for Net {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let ping = PingOptions::augment_args(Command::new("ping"))
            .about("Measure round trips to an NI echo server (plumb net serve, niping -s)");
        let stream = StreamOptions::augment_args(Command::new("stream"))
            .about("Measure how many bytes a second go one way, or both (needs plumb net serve)");
        let serve = ServeOptions::augment_args(Command::new("serve"))
            .about("Run an NI echo server, for plumb net ping and niping -c");
        let delay = DelayOptions::augment_args(Command::new("delay"))
            .about("Pass connections on, late: a line of known delay, rate and loss")
            .long_about(
                "Listens, and passes every connection on to TARGET, whatever protocol it speaks. \
                 What a network far away would do is added on the way: delay, jitter, a rate, a \
                 window, and the loss of connections. Counts, and how precisely it kept its times, \
                 are logged at the end.",
            );
        Command::new("net")
            .about("The network: round trips, streams, and a server to measure against")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(ping)
            .subcommand(stream)
            .subcommand(serve)
            .subcommand(delay)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("ping", words)) => {
                Ok(Job::Measure(Box::new(Ping::new(PingOptions::from_arg_matches(words)?)?)))
            }
            Some(("stream", words)) => {
                Ok(Job::Measure(Box::new(Stream::new(StreamOptions::from_arg_matches(words)?)?)))
            }
            Some(("serve", words)) => {
                Ok(Job::Verb(Box::new(Serve::new(ServeOptions::from_arg_matches(words)?))))
            }
            Some(("delay", words)) => {
                Ok(Job::Verb(Box::new(Delay::new(DelayOptions::from_arg_matches(words)?)?)))
            }
            _ => Err(NetError::NoVerb.into()),
        }
    }
}
