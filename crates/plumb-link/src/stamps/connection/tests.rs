use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;

use plumb_measure::RoundTripParts;

use super::*;

fn pair(address: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Bounds a wait for the kernel, which begins to stamp what comes in a moment after it was asked.
const ROUNDS_MAX: usize = 100_000;

#[test]
fn a_round_trip_over_a_real_socket_is_the_sum_of_its_parts() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (client, server) = pair(address);
        let mut here = Stamps::ask(client.as_fd()).unwrap();
        let mut there = Stamps::ask(server.as_fd()).unwrap();
        there.expect(true);
        let mut buffer = Vec::with_capacity(4_096);
        let mut taken_apart = 0;
        for n in 0..ROUNDS_MAX {
            if taken_apart == 20 {
                break;
            }
            if n % 2 == 0 {
                here.mark();
            }
            assert_eq!(here.send(client.as_fd(), &[7; 500]).unwrap(), 500);
            buffer.clear();
            while buffer.len() < 500 {
                there.recv(server.as_fd(), &mut buffer).unwrap();
            }
            there.mark();
            assert_eq!(there.send(server.as_fd(), &buffer).unwrap(), 500);
            let told = there.take_residence(server.as_fd());
            buffer.clear();
            while buffer.len() < 500 {
                here.recv(client.as_fd(), &mut buffer).unwrap();
            }
            if n % 2 == 1 {
                continue;
            }
            let stamps = here.take(client.as_fd());
            let (Some(told), Some(_)) = (told, stamps.received) else { continue };
            let service_ns = stamps.woken - stamps.called;
            let parts = RoundTripParts::of(service_ns, stamps).unwrap();
            assert_eq!(parts.sending_ns + parts.away_ns + parts.waking_ns, service_ns);
            assert!(told.total_ns() <= parts.away_ns, "{told:?} {parts:?}");
            taken_apart += 1;
        }
        assert_eq!(taken_apart, 20, "over {address}");
    }
}

#[test]
fn a_message_in_several_pieces_is_sent_when_its_last_byte_is() {
    let (client, mut server) = pair("127.0.0.1:0");
    let mut stamps = Stamps::ask(client.as_fd()).unwrap();
    stamps.mark();
    let content = vec![1; 300_000];
    let mut at = 0;
    let mut read = vec![0; 300_000];
    while at < content.len() {
        match stamps.send(client.as_fd(), &content[at..content.len().min(at + 70_000)]) {
            Ok(count) => {
                server.read_exact(&mut read[at..at + count]).unwrap();
                at += count;
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
    assert!(stamps.take(client.as_fd()).sent.is_some());
}

#[test]
fn what_is_not_marked_leaves_nothing_behind() {
    let (client, server) = pair("127.0.0.1:0");
    let mut stamps = Stamps::ask(client.as_fd()).unwrap();
    stamps.send(client.as_fd(), b"hello").unwrap();
    let mut buffer = Vec::with_capacity(16);
    Stamps::default().recv(server.as_fd(), &mut buffer).unwrap();
    assert_eq!(buffer, b"hello");
    assert!(kernel::read_queue(client.as_fd()).is_none());
    assert_eq!(stamps.take(client.as_fd()).sent, None);
}

#[test]
fn what_nobody_expected_is_not_told_of_by_an_earlier_stamp() {
    let (client, server) = pair("127.0.0.1:0");
    let mut stamps = Stamps::ask(server.as_fd()).unwrap();
    let mut there = Stamps::default();
    let mut buffer = Vec::with_capacity(16);
    for expected in [true, false] {
        stamps.expect(expected);
        there.send(client.as_fd(), b"ask").unwrap();
        buffer.clear();
        while buffer.len() < 3 {
            stamps.recv(server.as_fd(), &mut buffer).unwrap();
        }
    }
    stamps.mark();
    stamps.send(server.as_fd(), b"answer").unwrap();
    assert_eq!(stamps.take_residence(server.as_fd()), None);
    assert!(!stamps.is_marked());
}

#[test]
fn a_socket_of_another_kind_is_refused() {
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert_eq!(Stamps::ask(one.as_fd()).unwrap_err().kind(), io::ErrorKind::Unsupported);
}
