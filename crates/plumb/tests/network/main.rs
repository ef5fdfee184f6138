//! What crosses a network, between real programs: echo servers, lines, routes, streams.

#[path = "../kit/mod.rs"]
mod kit;

mod alone;
mod datagram_streams;
mod datagrams;
mod delay;
mod extension;
mod far_host;
mod lossy_line;
mod namespaces;
mod net;
mod net_check;
mod no_room;
mod remotes;
mod remotes_layers;
mod remotes_nats;
mod remotes_on;
mod routes;
mod served_json;
mod server;
mod signals;
mod stalls;
mod stream;
mod taken_apart;
mod tick;
mod tls;
mod trouble;
mod watch;
