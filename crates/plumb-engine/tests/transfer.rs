//! Large bodies under a pipeline: both sides must go on reading while they write.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use std::num::NonZeroUsize;
use std::thread;

use plumb_engine::{
    Ended, Endpoint, Extent, Listener, LoadPlan, Nagle, Next, Op, Pace, Peer, Plain, Protocol,
    ServePlan, Served, Service, Stage, Step, Stop, Then, Waiting, load, serve,
};
use plumb_measure::{Answer, Span};

const BODY_BYTES: usize = 10 << 20;

/// Ten megabytes there, ten megabytes back, counted and not kept.
struct Heavy {
    body: Vec<u8>,
}

impl Protocol for Heavy {
    type User = ();
    type Wire = usize;

    fn user(&mut self, _: usize) {}

    fn encode(&mut self, (): &mut (), _: &mut usize, out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.body);
        Next::Send(Op { label: 0, tag: 0 })
    }

    fn decode(
        &mut self,
        (): &mut (),
        seen: &mut usize,
        _: Option<Op>,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Step {
        let here = bytes.len().min(BODY_BYTES - *seen);
        *seen += here;
        if *seen < BODY_BYTES {
            return Step::Need { consumed: here };
        }
        *seen = 0;
        Step::Done { consumed: here, answer: Answer::ok(BODY_BYTES as u64), then: Then::Keep }
    }
}

/// Sends back whatever comes, as it comes.
struct Mirror;

impl Service for Mirror {
    type Conn = ();

    fn open(&mut self, _: &Peer) -> Result<(), Vec<u8>> {
        Ok(())
    }

    fn serve(&mut self, (): &mut (), bytes: &[u8], _: &mut Vec<u8>) -> Served {
        Served { consumed: bytes.len(), echo: bytes.len(), close: false }
    }

    fn close(&mut self, (): (), _: Ended) {}
}

#[test]
fn ten_megabytes_at_depth_four_come_to_their_end() {
    let endpoint = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = [Listener::bind(&endpoint).unwrap()];
    let endpoint = Endpoint::Tcp(listeners[0].local().parse().unwrap());
    let four = NonZeroUsize::new(4).unwrap();
    let plan = LoadPlan {
        connections: NonZeroUsize::new(2).unwrap(),
        threads: NonZeroUsize::MIN,
        depth: four,
        pace: Pace::AsFast,
        extent: Extent::Count(16),
        warmup: Span::from_ns(0),
        connect_timeout: Span::from_ms(5_000),
        operation_timeout: Span::from_ms(60_000),
        lag_bound: Span::from_ms(1_000),
        waiting: Waiting::Epoll,
        pin: Vec::new(),
        netns: Vec::new(),
        interval: Span::from_ms(1_000),
        nagle: Nagle::Off,
    };
    let (server_stop, stop) = (Stop::new().unwrap(), Stop::new().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let plan = ServePlan {
                max_clients: 2,
                idle: None,
                stall: Span::from_ms(60_000),
                quit_after: Some(Span::from_ms(60_000)),
                allow: Vec::new(),
                spin: false,
                pin: None,
                nagle: Nagle::Off,
            };
            serve(&plan, &listeners, &mut Mirror, Plain::default, &server_stop).unwrap();
        });
        let mut stage = Stage { endpoint: &endpoint, stop: &stop, samplers: &mut [] };
        let heavy = || Heavy { body: vec![7; BODY_BYTES] };
        let load = load::run(&plan, &mut stage, 1, heavy, Plain::default);
        server_stop.ask();
        let recorder = load.unwrap().recorder;
        assert_eq!((recorder.operations(), recorder.failures().total()), (16, 0));
        assert_eq!(recorder.bytes_received, 16 * BODY_BYTES as u64);
        assert_eq!(recorder.bytes_sent, 16 * BODY_BYTES as u64);
    });
}
