//! Streams over connections against a server that is scripted.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use plumb_engine::IntervalRecords;
use plumb_wire::ni::HEADER_BYTES;

use super::*;

/// Questions that are answered before the stream is over: one when it connects, and the first look.
const AT_ONCE: usize = 2;

/// Nobody looks on.
struct Nobody;

impl Sampler for Nobody {
    fn interval(&mut self, _: &IntervalRecords) {}
}

/// The first frame of a connection, or the next.
fn request(connection: &mut TcpStream) -> Option<Request> {
    let mut header = [0; HEADER_BYTES];
    connection.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_be_bytes(header).try_into().unwrap()];
    connection.read_exact(&mut payload).ok()?;
    Request::parse(&payload).unwrap()
}

fn answer(connection: &mut TcpStream, answer: &Answer) {
    let mut bytes = Vec::new();
    answer.push(&mut bytes);
    connection.write_all(&bytes).unwrap();
}

/// A server of one stream to it, which answers what the client asks meanwhile only when that stream has
/// ended.
fn server() -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        thread::spawn(move || {
            let (mut carried, mut asked) = (Carried::default(), 0);
            while request(&mut control).is_some() {
                asked += 1;
                if asked == AT_ONCE + 1 {
                    carried.bytes_in = end.recv().unwrap();
                    (carried.began, carried.ended, carried.now_ns) = (1, 1, 1);
                }
                answer(&mut control, &Answer::Carried(carried));
            }
        });
        let (mut stream, _) = listener.accept().unwrap();
        let Some(Request::Stream(terms)) = request(&mut stream) else { panic!("a stream") };
        answer(&mut stream, &Answer::Stream(terms));
        let bytes = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        ended.send(bytes).unwrap();
    });
    endpoint
}

#[test]
fn streams_end_in_time_although_the_server_has_not_answered() {
    let endpoint = server();
    let plan = StreamPlan {
        endpoint: &endpoint,
        direction: Direction::ToServer,
        streams: 1,
        of: 1,
        bytes: 1_000,
        length: Span::from_ms(100),
        interval: Span::from_ms(20),
        patience: Span::from_ms(5_000),
        pin: &[],
        gate: None,
    };
    let delivery = Carriage { plan }.run(&mut Nobody, &Stop::new().unwrap()).unwrap();
    assert_eq!((delivery.broken, &delivery.trouble), (0, &None));
    let [interval] = delivery.figures.intervals[..] else { panic!("{delivery:?}") };
    let to_server = delivery.figures.to_server.unwrap();
    assert_eq!(interval.to_server.map(|it| it.bytes), Some(to_server.received_bytes));
}
