use std::collections::BTreeMap;
use std::ops::Range;

use plumb_measure::{Answer, FailureKind, Moments, Network, ServerTimes, Transport};
use proptest::prelude::*;

use super::*;
use crate::plan::tests::plan;
use crate::{Lengths, result_record};

const S: u64 = 1_000_000_000;

/// Operations `which` of a load; every seventh fails.
fn recorded(recorder: &mut Recorder, which: Range<u64>) {
    for n in which {
        let last = 1_000 + n * n * 37 % 1_000_003;
        let moments = Moments { due: 0, sent: 10, first: 20, last };
        let answer = if n % 7 == 0 {
            Answer { code: Some(503), ..Answer::failed(FailureKind::UnexpectedStatus) }
        } else {
            Answer { code: Some(200), ..Answer::ok(n) }
        };
        recorder.record(u16::from(n % 7 == 0), moments, answer);
        recorder.connect.record(last / 3);
    }
}

/// A load of `connections` that began at `began_ns` and did `which` operations in a second.
fn load(began_ns: u64, connections: u64, which: Range<u64>) -> LoadResult<u64> {
    let mut recorder = Recorder::new(2);
    recorder.bytes_sent = which.end - which.start;
    let mut slowest = Slowest::default();
    for n in which.clone() {
        let response_ns = 1_000 + n * n * 37 % 1_000_003;
        slowest.offer(SlowSample {
            at_ns: n,
            response_ns,
            service_ns: response_ns,
            row: 0,
            connection: 0,
            tcp: None,
            waking_ns: Some(n),
        });
    }
    let mut transports = Transports::default();
    let tcp = Transport {
        kind: "tcp".into(),
        network: Some(Network::Ipv4),
        local: format!("10.0.0.{connections}:1"),
        peer: "10.0.0.99:80".into(),
        tls: None,
        smc: None,
    };
    transports.add(&tcp, connections);
    recorded(&mut recorder, which.clone());
    LoadResult {
        recorder,
        crews: vec![CrewFigures { dropped: 1, start_up: Histogram::new() }],
        protocols: vec![began_ns],
        intervals: vec![Interval {
            start_ns: 0,
            duration_ns: S,
            operations: which.end - which.start,
            failures: 0,
            p50: 5,
            p99: 9,
            max: 11,
            users: 0,
        }],
        ending: Ending::Complete,
        began_ns,
        duration_ns: S,
        connections,
        warm_up_operations: 5,
        cpu_ns: 7,
        transports,
        slowest,
        tcp: Some(TcpTotals { connections, segments_sent: 3, ..TcpTotals::default() }),
        told_names: vec!["app".into()],
        handshake_complaint: None,
    }
}

fn sent(load: &LoadResult<u64>) -> LoadResult<u64> {
    LoadResult::from_json(&load.to_json().unwrap()).unwrap()
}

#[test]
fn an_outcome_is_read_back_as_it_was_written() {
    let mut odd = load(3, 2, 0..500);
    odd.ending = Ending::GaveUp;
    odd.tcp = None;
    odd.handshake_complaint = Some("db:5432 shows a certificate that has expired".into());
    for load in [load(5 * S, 4, 0..1_000), odd] {
        assert_eq!(sent(&load), load);
    }
}

#[test]
fn halves_that_travelled_are_the_whole() {
    // batches of five: the halves fill theirs
    let mut whole = load(S, 2, 0..700);
    let mut halves = sent(&load(S, 2, 0..350));
    halves.merge(sent(&load(S, 2, 350..700))).unwrap();
    assert_eq!(halves.recorder, whole.recorder);
    let responses = |load: &LoadResult<u64>| -> Vec<u64> {
        load.slowest.clone().into_samples().iter().map(|slow| slow.response_ns).collect()
    };
    assert_eq!(responses(&halves), responses(&whole));
    assert_eq!((halves.began_ns, halves.duration_ns), (whole.began_ns, whole.duration_ns));
    assert_eq!((halves.connections, halves.warm_up_operations), (4, 10));
    assert_eq!(halves.transports.uses()[0].connections, 4);
    assert_eq!(halves.tcp.unwrap().segments_sent, 6);
    assert_eq!(halves.crews[0].dropped, 2);
    // and so is the result that is made of it
    whole.intervals.clear();
    let record =
        |load: &LoadResult<u64>| result_record(&plan(), BTreeMap::new(), Lengths::Any, load);
    let (of_halves, of_whole) = (record(&halves), record(&whole));
    assert_eq!(of_halves.response_ns, of_whole.response_ns);
    assert_eq!(of_halves.codes, of_whole.codes);
    assert_eq!(of_halves.failures, of_whole.failures);
}

#[test]
fn loads_that_lie_apart_reach_from_the_first_beginning_to_the_last_end() {
    let (early, mut late) = (load(S, 3, 0..5), load(S + S / 2, 2, 5..10));
    late.ending = Ending::Interrupted;
    for (mut first, second) in [(early.clone(), late.clone()), (late, early)] {
        let connections = first.connections;
        let slowest = second.slowest.clone().into_samples()[0];
        let began_ns = second.began_ns;
        first.merge(second).unwrap();
        assert_eq!((first.began_ns, first.duration_ns), (S, S + S / 2));
        assert_eq!(first.ending, Ending::Interrupted, "one of them");
        assert!(first.intervals.is_empty());
        let all = first.slowest.into_samples();
        let found = all.iter().find(|it| it.response_ns == slowest.response_ns).unwrap();
        assert_eq!(found.at_ns, slowest.at_ns + began_ns - S);
        assert_eq!(found.connection, connections, "numbered on");
    }
}

#[test]
fn times_that_were_told_are_put_together_by_their_names() {
    let told = |names: [&str; 2], ns: [u64; 2]| {
        let mut load = load(S, 1, 0..0);
        load.told_names = names.map(str::to_owned).to_vec();
        let mut told = ServerTimes::default();
        assert!(told.push(0, ns[0]) && told.push(1, ns[1]));
        let moments = Moments { due: 0, sent: 0, first: 5_000, last: 9_000 };
        load.recorder.record(0, moments, Answer { told: Some(told), ..Answer::ok(1) });
        load
    };
    let mut one = told(["app", "db"], [1_000, 2_000]);
    one.merge(sent(&told(["db", "app"], [4_000, 3_000]))).unwrap();
    assert_eq!(one.told_names, ["app", "db"]);
    let most: Vec<u64> = one.recorder.rows()[0].told.iter().map(Histogram::max).collect();
    assert_eq!(most, [3_000, 4_000]);
    // of a load that was lost in its midst nobody knows what its numbers mean
    let lost = LoadResult { told_names: Vec::new(), ..told(["db", "app"], [8_000, 9_000]) };
    one.merge(lost).unwrap();
    let most: Vec<u64> = one.recorder.rows()[0].told.iter().map(Histogram::max).collect();
    assert_eq!((most, one.recorder.operations()), (vec![3_000, 4_000], 3));
}

#[test]
fn loads_of_different_plans_are_not_added() {
    let mut load = load(S, 1, 0..10);
    let before = load.clone();
    let other = LoadResult { recorder: Recorder::new(3), ..before.clone() };
    assert!(load.merge(other).unwrap_err().to_string().contains("2 and 3 kinds"));
    let other = LoadResult { crews: vec![CrewFigures::default(); 5], ..before.clone() };
    assert_eq!(load.merge(other), Err(NotAlike::Crews(1, 5)));
    assert_eq!(load, before);
}

#[test]
fn another_version_is_refused_by_name() {
    let text = load(S, 1, 0..10).to_json().unwrap().replace("plumb.load/1", "plumb.load/2");
    let error = LoadResult::<u64>::from_json(&text).unwrap_err().to_string();
    assert!(error.contains("plumb.load/2") && error.contains("newer"), "{error}");
    let error = LoadResult::<u64>::from_json("{\"schema\":\"plumb.load/2\",\"x\":1}");
    assert!(matches!(error, Err(RecordError::Schema { .. })));
    let error = LoadResult::<u64>::from_json("{\"schema\":\"plumb.load/1\"}");
    assert!(matches!(error, Err(RecordError::Json(_))));
}

proptest! {
    #[test]
    fn merging_is_associative(
        began in prop::collection::vec(0..10 * S, 3),
        operations in prop::collection::vec(0_u64..40, 3),
    ) {
        let one = |n: usize| load(began[n], 1 + n as u64, 0..35 * operations[n]);
        let (mut left, mut tail, mut right) = (one(0), one(1), one(0));
        left.merge(one(1)).unwrap();
        left.merge(one(2)).unwrap();
        tail.merge(one(2)).unwrap();
        right.merge(tail).unwrap();
        prop_assert_eq!(left, right);
    }

    #[test]
    fn no_text_makes_the_reader_panic_or_what_it_reads_a_merge(
        places in prop::collection::vec((any::<prop::sample::Index>(), 0x20_u8..0x7f), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let good = load(S, 2, 0..30);
        let mut text = good.to_json().unwrap().into_bytes();
        for (place, byte) in places {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text.truncate(cut.map_or(text.len(), |cut| cut.index(text.len())));
        let read = LoadResult::<u64>::from_json(&String::from_utf8(text).unwrap());
        if let Ok(read) = read {
            let mut both = good;
            if both.merge(read).is_ok() {
                let _ = result_record(&plan(), BTreeMap::new(), Lengths::Any, &both);
            }
        }
    }
}
