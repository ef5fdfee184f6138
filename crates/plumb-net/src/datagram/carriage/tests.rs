//! Streams of datagrams against servers that are scripted.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plumb_engine::{Endpoint, Gate, IntervalRecords};
use plumb_measure::{Span, Transport};
use plumb_wire::datagram::{HEAD_BYTES, Head, Kind};
use plumb_wire::extension::Direction;

use super::*;

#[test]
fn gaps_are_told_by_the_lengths_that_their_class_holds() {
    let account = Account { received: 1, gaps: [1, 2, 3, 4, 0, 0, 5, 6], ..Account::default() };
    let classes: Vec<_> =
        flow_of(&account, 9, 0).gaps.iter().map(|it| (it.from, it.to, it.runs)).collect();
    let expected = [
        (1, Some(1), 1),
        (2, Some(2), 2),
        (3, Some(4), 3),
        (5, Some(8), 4),
        (33, Some(64), 5),
        (65, None, 6),
    ];
    assert_eq!(classes, expected);
    assert_eq!(flow_of(&account, 9, 0).lost, 8);
}

/// A server that answers each datagram as `answer` says, until that is `None`.
fn server(mut answer: impl FnMut(Head) -> Option<Vec<Vec<u8>>> + Send + 'static) -> Endpoint {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((bytes, from)) = socket.recv_from(&mut buffer)
            && let Some(answers) = answer(Head::parse(&buffer[..bytes]).unwrap().0)
        {
            for answer in answers {
                let _ = socket.send_to(&answer, from); // nobody may be there any more
            }
        }
    });
    Endpoint::Udp(address)
}

/// What any server says; of a stream that it sends, that it has sent so many.
fn usual(head: Head, sent: u64) -> Vec<u8> {
    let with = |kind| Head { kind, token: 7, ..head }.filled(HEAD_BYTES);
    match head.kind {
        Kind::Hello => with(Kind::Welcome),
        Kind::Begin => with(Kind::Begun),
        Kind::Ask => {
            let mut answer = with(Kind::Account);
            Account { over: true, sent, ..Account::default() }.push(&mut answer);
            answer
        }
        kind => panic!("{kind:?}"),
    }
}

fn plan(
    endpoint: &Endpoint,
    direction: Direction,
    (streams, of): (usize, usize),
) -> StreamPlan<'_> {
    StreamPlan {
        endpoint,
        direction,
        streams,
        of,
        bytes: 1_200,
        length: Span::from_ms(300),
        interval: Span::from_ms(100),
        patience: Span::from_ms(10_000),
        pin: &[],
        gate: None,
    }
}

fn carriage<'a>(plan: StreamPlan<'a>, rate: &str) -> DatagramCarriage<'a> {
    DatagramCarriage { plan, rate: rate.parse().unwrap(), never_fragment: false }
}

/// Nobody looks on.
struct Nobody;

impl Sampler for Nobody {
    fn interval(&mut self, _: &IntervalRecords) {}
}

#[test]
fn the_rate_is_that_of_all_streams_of_all_processes() {
    let nowhere = Endpoint::Udp("127.0.0.1:9".parse().unwrap());
    let of = |streams| carriage(plan(&nowhere, Direction::ToServer, streams), "96Mbit");
    let (one, three) = (of((1, 4)), of((3, 4)));
    assert_eq!((one.sending().every_ns, three.sending().every_ns), (400_000, 400_000));
    let asked = |it: DatagramCarriage<'_>| it.way(&[], Vec::new(), None, 1).datagrams;
    let asked = [one, three].map(|it| asked(it).unwrap().asked_bits_per_s);
    assert!((asked[0] - 24e6).abs() < 1e-3 && (asked[1] - 72e6).abs() < 1e-3, "{asked:?}");
}

#[test]
fn the_last_datagram_takes_its_time_too() {
    let nowhere = Endpoint::Udp("127.0.0.1:9".parse().unwrap());
    let it = carriage(plan(&nowhere, Direction::ToServer, (1, 1)), "2kbit");
    let every_ns = it.sending().every_ns;
    let bits_per_s = |received: u64| {
        let last_ns = 5 + received.saturating_sub(1) * every_ns;
        let first_ns = if received > 0 { 5 } else { 0 };
        let bytes = received * 1_200;
        let account = Account { received, bytes, first_ns, last_ns, ..Account::default() };
        it.way(&[account], vec![(received, 0)], None, 1).bits_per_s
    };
    for received in [1, 2, 3, 1_000] {
        let bits_per_s = bits_per_s(received);
        assert!((bits_per_s - 2_000.0).abs() < 1e-3, "{received}: {bits_per_s}");
    }
    assert!(bits_per_s(0).abs() < f64::EPSILON);
}

#[test]
fn a_stream_that_breaks_both_ways_is_one_and_what_it_sent_is_known() {
    let endpoint = server(|head| (head.kind != Kind::Data).then(|| vec![usual(head, 0)]));
    let it = carriage(plan(&endpoint, Direction::Both, (1, 1)), "10Mbit");
    let delivery = it.run(&mut Nobody, &Stop::new().unwrap()).unwrap();
    assert_eq!(delivery.broken, 1, "{delivery:?}");
    let to_server = delivery.figures.to_server.unwrap();
    assert!(to_server.sent_bytes >= 1_200, "{to_server:?}");
    assert_eq!((to_server.received_bytes, to_server.datagrams), (0, None), "nobody knows");
}

/// Asks to stop once everything stands.
struct StopsAtOnce<'a>(&'a Stop);

impl Sampler for StopsAtOnce<'_> {
    fn begin(&mut self, _: Option<&Transport>) {
        self.0.ask();
    }

    fn interval(&mut self, _: &IntervalRecords) {}
}

#[test]
fn what_was_lost_of_a_stream_whose_sender_is_gone_is_not_known() {
    let endpoint =
        server(|head| Some(if head.kind == Kind::Ask { Vec::new() } else { vec![usual(head, 0)] }));
    let patience = Span::from_ms(100);
    let plan = StreamPlan { patience, ..plan(&endpoint, Direction::FromServer, (1, 1)) };
    let it = carriage(plan, "10Mbit");
    let delivery = it.run(&mut Nobody, &Stop::new().unwrap()).unwrap();
    assert_eq!(delivery.broken, 1, "{delivery:?}");
    let way = delivery.figures.from_server.unwrap();
    assert_eq!((way.received_bytes, way.datagrams), (0, None));
    // of two streams, each of which received three of four
    let lost = |told: [bool; 2]| {
        let came = told.map(|is_told| {
            let account = Account { sent: 4, received: 3, bytes: 3_600, ..Account::default() };
            CameIn { account, is_told, ..CameIn::default() }
        });
        let mut ends = Ends { came: came.into(), ..Ends::default() };
        it.came(&mut ends, 1).datagrams.map(|flow| flow.lost)
    };
    assert_eq!([lost([true, true]), lost([true, false])], [Some(2), None]);
}

#[test]
fn what_is_waited_for_at_the_end_is_no_time_of_sending() {
    let endpoint = server(|head| {
        let datagram = Head { kind: Kind::Data, token: 7, number: 0, stamp: 1 }.filled(1_200);
        let one = (head.kind == Kind::Begin).then_some(datagram);
        Some([usual(head, 1_000)].into_iter().chain(one).collect())
    });
    let length = Span::from_ms(60_000);
    let plan = StreamPlan { length, ..plan(&endpoint, Direction::FromServer, (1, 1)) };
    let stop = Stop::new().unwrap();
    let delivery = carriage(plan, "10Mbit").run(&mut StopsAtOnce(&stop), &stop).unwrap();
    assert_eq!((delivery.broken, delivery.trouble), (0, None));
    let flow = delivery.figures.from_server.unwrap().datagrams.unwrap();
    assert_eq!((flow.sent, flow.received, flow.lost), (1_000, 1, 999));
    // a second is waited for what is missing
    assert!(flow.sent_bits_per_s > 9_600_000.0, "{flow:?}");
}

#[test]
fn nobody_is_asked_between_the_gate_and_the_start() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asks = Arc::clone(&asked);
    let endpoint = server(move |head| {
        asks.fetch_add(usize::from(head.kind == Kind::Ask), Ordering::Relaxed);
        Some(if head.kind == Kind::Data { Vec::new() } else { vec![usual(head, 0)] })
    });
    let gate = Gate::closed();
    let plan = StreamPlan { gate: Some(&gate), ..plan(&endpoint, Direction::ToServer, (8, 8)) };
    let it = carriage(plan, "10Mbit");
    thread::scope(|scope| {
        let run = scope.spawn(|| it.run(&mut Nobody, &Stop::new().unwrap()));
        let stands = gate.until_waited_for(Duration::from_secs(60));
        let before = asked.load(Ordering::Relaxed);
        gate.open_at(0);
        assert_eq!(run.join().unwrap().unwrap().broken, 0);
        assert!(stands);
        assert_eq!(before, 1, "what the server's socket has dropped so far");
    });
}

#[test]
fn all_streams_are_opened_at_the_same_time() {
    const STREAMS: usize = 2;
    for direction in [Direction::ToServer, Direction::FromServer] {
        let mut hellos = Vec::new();
        let endpoint = server(move |head| {
            if head.kind == Kind::Hello && !hellos.contains(&head.stamp) {
                hellos.push(head.stamp);
            }
            // the first is that of whoever asks for accounts
            let waits = head.kind == Kind::Hello
                && hellos.first() != Some(&head.stamp)
                && hellos.len() <= STREAMS;
            let silent = waits || head.kind == Kind::Data;
            Some(if silent { Vec::new() } else { vec![usual(head, 0)] })
        });
        let patience = Span::from_ms(5_000);
        let plan = StreamPlan { patience, ..plan(&endpoint, direction, (STREAMS, STREAMS)) };
        let delivery = carriage(plan, "10Mbit").run(&mut Nobody, &Stop::new().unwrap()).unwrap();
        assert_eq!((delivery.broken, delivery.trouble), (0, None), "{direction}");
    }
}

#[test]
fn all_streams_are_asked_for_before_the_first_is_answered() {
    const STREAMS: usize = 5;
    let (mut before, mut waiting) = (true, BTreeMap::new());
    let endpoint = server(move |head| {
        if head.kind == Kind::Data {
            return Some(Vec::new());
        }
        if head.kind != Kind::Ask || std::mem::take(&mut before) {
            return Some(vec![usual(head, 0)]);
        }
        waiting.insert(head.number, usual(head, 0));
        let all = waiting.len() == STREAMS;
        Some(if all { std::mem::take(&mut waiting).into_values().collect() } else { Vec::new() })
    });
    let plan = StreamPlan {
        patience: Span::from_ms(5_000),
        ..plan(&endpoint, Direction::ToServer, (STREAMS, STREAMS))
    };
    let delivery = carriage(plan, "10Mbit").run(&mut Nobody, &Stop::new().unwrap()).unwrap();
    assert_eq!((delivery.broken, delivery.trouble), (0, None));
    assert!(!delivery.figures.intervals.is_empty());
}
