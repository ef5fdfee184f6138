//! The loops that drive and serve, between real sockets.

#[path = "../mirror/mod.rs"]
mod mirror;

mod encrypted_link;
mod lone_client;
mod second_protocol;
mod transfer;
