//! Large bodies under a pipeline: both sides must go on reading while they write.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

use crate::mirror;

use std::num::NonZeroUsize;
use std::thread;

use mirror::{Bulk, Mirror};
use plumb_engine::{
    Endpoint, Listener, LoadPlan, Plain, ServePlan, Stage, Stop, Waiting, load, serve,
};
use plumb_measure::Span;

const BODY_BYTES: usize = 10 << 20;

#[test]
fn ten_megabytes_at_depth_four_come_to_their_end() {
    let endpoint = Endpoint::Tcp("127.0.0.1:0".parse().unwrap());
    let listeners = [Listener::bind(&endpoint).unwrap()];
    let endpoint = Endpoint::Tcp(listeners[0].local().parse().unwrap());
    let plan = LoadPlan {
        connections: NonZeroUsize::new(2).unwrap(),
        depth: NonZeroUsize::new(4).unwrap(),
        waiting: Waiting::Epoll,
        ..LoadPlan::lone(16, Span::from_ms(60_000))
    };
    let (server_stop, stop) = (Stop::new().unwrap(), Stop::new().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let plan = ServePlan {
                quit_after: Some(Span::from_ms(60_000)),
                ..ServePlan::new(2, Span::from_ms(60_000))
            };
            let mut mirror = Mirror::default();
            serve(&plan, &listeners, &mut mirror, Plain::default, &server_stop).unwrap();
        });
        let mut stage = Stage { endpoint: &endpoint, stop: &stop, samplers: &mut [], gate: None };
        let load = load::run(&plan, &mut stage, 1, || Bulk(BODY_BYTES), Plain::default);
        server_stop.ask();
        let recorder = load.unwrap().recorder;
        assert_eq!((recorder.operations(), recorder.failures().total()), (16, 0));
        assert_eq!(recorder.bytes_received, 16 * BODY_BYTES as u64);
        assert_eq!(recorder.bytes_sent, 16 * BODY_BYTES as u64);
    });
}
