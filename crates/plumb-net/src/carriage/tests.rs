//! Streams over connections against a server that is scripted.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;

use plumb_engine::IntervalRecords;
use tempfile::TempDir;

use super::*;
use crate::scripted::{answer, request};

/// Questions that are answered before the stream is over: one when it connects, and the first look.
const AT_ONCE: usize = 2;

/// Nobody looks on.
struct Nobody;

impl Sampler for Nobody {
    fn interval(&mut self, _: &IntervalRecords) {}
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

/// Bytes that come of a stream before the last stands, and of each once it is over.
const EARLY: usize = 50_000;
const LAST: usize = 1_000;

/// What the control connection says between the first stream and the last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Silent,
    Lost,
}

/// A server in `folder` that sends two streams, which it agrees on when both have been asked for: bytes of the
/// first before it agrees on the second, and of each when the client wants no more.
fn sending_server(folder: &TempDir, control: Control) -> Endpoint {
    let path = folder.path().join("server");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        let accept = || listener.accept().unwrap().0;
        let mut first = accept();
        request(&mut first).unwrap();
        answer(&mut first, &Answer::Carried(Carried::default()));
        let kept = (control == Control::Silent).then_some(first);
        let mut streams = [accept(), accept()];
        let terms = streams.each_mut().map(request);
        for (number, (stream, terms)) in streams.iter_mut().zip(terms).enumerate() {
            let Some(Request::Stream(terms)) = terms else { panic!("a stream") };
            answer(stream, &Answer::Stream(terms));
            stream.write_all(if number == 0 { &[7; EARLY] } else { &[] }).unwrap();
        }
        for mut stream in streams {
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
            stream.write_all(&[7; LAST]).unwrap();
        }
        let bytes_out = (EARLY + 2 * LAST) as u64;
        let (began, ended) = (2, 2);
        let carried = Carried { began, ended, bytes_out, now_ns: 1, ..Carried::default() };
        let mut control = kept.unwrap_or_else(accept);
        while request(&mut control).is_some() {
            answer(&mut control, &Answer::Carried(carried));
        }
    });
    Endpoint::Unix(path)
}

fn from_server(control: Control) -> Delivery {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = sending_server(&folder, control);
    let plan =
        StreamPlan { direction: Direction::FromServer, streams: 2, of: 2, ..short(&endpoint) };
    Carriage { plan }.run(&mut Nobody, &Stop::new().unwrap()).unwrap()
}

#[test]
fn what_came_before_all_streams_stood_is_no_part_of_what_they_carried() {
    let delivery = from_server(Control::Silent);
    assert_eq!((delivery.broken, &delivery.trouble), (0, &None));
    let way = delivery.figures.from_server.unwrap();
    assert_eq!((way.sent_bytes, way.received_bytes), (2 * LAST as u64, 2 * LAST as u64));
    let of = |it: &StreamInterval| it.from_server.map_or(0, |portion| portion.bytes);
    assert!(delivery.figures.intervals.iter().map(of).sum::<u64>() <= 2 * LAST as u64);
}

#[test]
fn a_server_whose_connection_for_questions_was_lost_meanwhile_is_asked_over_another() {
    let delivery = from_server(Control::Lost);
    assert_eq!((delivery.broken, &delivery.trouble), (0, &None));
    assert_eq!(delivery.figures.from_server.map(|way| way.sent_bytes), Some(2 * LAST as u64));
}

/// What takes a moment.
fn short(endpoint: &Endpoint) -> StreamPlan<'_> {
    StreamPlan {
        endpoint,
        direction: Direction::ToServer,
        streams: 1,
        of: 1,
        bytes: 1_000,
        length: Span::from_ms(100),
        interval: Span::from_ms(20),
        patience: Span::from_ms(5_000),
        pin: &[],
        gate: None,
    }
}

#[test]
fn streams_end_in_time_although_the_server_has_not_answered() {
    let endpoint = server();
    let plan = short(&endpoint);
    let delivery = Carriage { plan }.run(&mut Nobody, &Stop::new().unwrap()).unwrap();
    assert_eq!((delivery.broken, &delivery.trouble), (0, &None));
    let [interval] = delivery.figures.intervals[..] else { panic!("{delivery:?}") };
    let to_server = delivery.figures.to_server.unwrap();
    assert_eq!(interval.to_server.map(|it| it.bytes), Some(to_server.received_bytes));
}
