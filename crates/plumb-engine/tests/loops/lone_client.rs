//! One client alone, then a second beside it: both are served, whichever way the server waits.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use crate::mirror;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;

use mirror::Mirror;
use plumb_engine::{Ended, Endpoint, Listener, Plain, ServePlan, Stop, serve};
use plumb_measure::Span;

fn exchange(stream: &mut TcpStream, messages: u32) {
    for number in 0..messages {
        stream.write_all(&number.to_be_bytes()).unwrap();
        let mut echo = [0; 4];
        stream.read_exact(&mut echo).unwrap();
        assert_eq!(u32::from_be_bytes(echo), number);
    }
}

#[test]
fn whoever_comes_to_a_busy_pair_is_served_and_both_may_pause() {
    let any = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = [Listener::bind(&any).unwrap()];
    let address = listeners[0].local();
    let stop = Stop::new().unwrap();
    let mut service = Mirror::default();
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let plan = ServePlan {
                quit_after: Some(Span::from_ms(60_000)),
                ..ServePlan::new(9, Span::from_ms(60_000))
            };
            serve(&plan, &listeners, &mut service, Plain::default, &stop).unwrap();
        });
        let mut first = TcpStream::connect(&address).unwrap();
        exchange(&mut first, 500); // alone by now
        let mut second = TcpStream::connect(&address).unwrap();
        let other = scope.spawn(move || exchange(&mut first, 2_000));
        exchange(&mut second, 500);
        other.join().unwrap(); // and the first is closed
        exchange(&mut second, 500); // alone again
        drop(second);
        exchange(&mut TcpStream::connect(&address).unwrap(), 100);
        stop.ask();
        server.join().unwrap();
    });
    // the last may be told to stop before its end has been read
    assert_eq!(service.ended.len(), 3);
    assert_eq!(service.ended[..2], [Ended::ByClient; 2]);
}
