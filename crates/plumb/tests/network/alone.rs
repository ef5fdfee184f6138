//! A client that talks alone and without a pause is served by a wait of its own. Whatever comes
//! then must be served as ever.

use crate::kit;

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

use kit::Server;
use kit::ni::{Client, PING, PONG, TOO_BIG, frame};

/// A client that has been alone for so long that the server waits for it alone.
fn alone(server: &Server) -> Client {
    let mut client = server.client();
    (0..500).for_each(|_| client.echo(b"alone"));
    client
}

#[test]
fn a_ping_is_answered() {
    let server = Server::start(&[]);
    let mut client = alone(&server);
    client.send(&[frame(b"one"), frame(PING), frame(b"two")].concat());
    for expected in [b"one".as_slice(), PONG, b"two"] {
        assert_eq!(client.receive(), expected);
    }
    client.finish();
    assert!(client.at_end());
    let line = server.farewell();
    let counted = line.contains("502 messages, 2,506 bytes, 1 ping, ");
    let rated =
        line.contains(" messages/s, ") && line.ends_with(" Mbit/s out; closed by the client");
    assert!(counted && rated, "{line}");
}

#[test]
fn a_message_too_large_is_refused() {
    let server = Server::start(&["--max-message", "1kB"]);
    let mut client = alone(&server);
    client.send(&frame(&[0; 1001]));
    assert_eq!(client.refusal().0, TOO_BIG);
    assert!(client.at_end());
    drop(client);
    assert!(server.farewell().contains("closed by the server"));
    alone(&server);
}

#[test]
fn a_reset_is_one_line_of_the_log() {
    let server = Server::start(&[]);
    alone(&server).reset();
    let line = server.farewell();
    let counted = line.contains("500 messages, 2,500 bytes, 0 pings, ");
    assert!(counted && line.ends_with(" Mbit/s out; connection broken"), "{line}");
    alone(&server);
}

#[test]
fn silence_is_ended() {
    let server = Server::start(&["--idle", "1s"]);
    assert!(alone(&server).at_end());
    assert!(server.farewell().ends_with("idle for too long"));
}

#[test]
fn a_message_that_does_not_go_on_is_ended() {
    let server = Server::start(&["--stall", "1s"]);
    let mut client = alone(&server);
    client.send(&frame(b"message")[..6]);
    assert!(client.at_end());
    assert!(server.farewell().contains("message begun and not finished, within a frame: "));
}

#[test]
fn a_client_that_reads_nothing_keeps_nobody_waiting() {
    let server = Server::start(&["--quiet"]);
    let mut deaf = alone(&server);
    deaf.stream.set_write_timeout(Some(Duration::from_millis(300))).expect("it is above zero");
    let message = frame(&vec![1; 1 << 20]);
    // until neither side's kernel takes any more, and the server waits to be read
    let full = loop {
        if let Err(error) = deaf.stream.write_all(&message) {
            break error;
        }
    };
    assert!(matches!(full.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{full}");
    alone(&server);
    let mut first = [0; 5];
    deaf.stream.read_exact(&mut first).expect("what it sent waits for it");
    assert_eq!(first, message[..5]);
}

#[test]
fn somebody_who_is_not_allowed_is_told_so() {
    let server = Server::start(&["--max-clients", "1"]);
    let mut first = alone(&server);
    let mut second = server.client();
    assert_eq!(second.refusal().1, "this server takes no more clients");
    first.echo(b"and on");
}

#[test]
fn a_server_stops_while_its_only_client_talks() {
    let server = Server::start(&["--quiet"]);
    let mut client = alone(&server);
    let talk = std::thread::spawn(move || {
        let message = frame(b"on and on");
        while client.stream.write_all(&message).is_ok()
            && client.stream.read_exact(&mut vec![0; message.len()]).is_ok()
        {}
    });
    server.stop().with(0);
    talk.join().expect("it ends with the server");
}
