use super::*;

fn moments(due: u64, sent: u64, first: u64, last: u64) -> Moments {
    Moments { due, sent, first, last }
}

#[test]
fn response_counts_from_the_due_time_and_service_from_the_send() {
    let mut recorder = Recorder::new(1);
    recorder.record(0, moments(100, 150, 180, 200), Answer::ok(7));
    let row = &recorder.rows()[0];
    assert_eq!((row.response.max(), row.service.max(), row.first_byte.max()), (100, 50, 30));
    assert_eq!(row.lengths.histogram().max(), 7);
}

#[test]
fn a_failure_never_enters_the_times_and_never_disappears() {
    let mut recorder = Recorder::new(1);
    let refused = Answer { code: Some(401), ..Answer::failed(FailureKind::UnexpectedStatus) };
    recorder.record(0, moments(0, 0, 5, 5), refused);
    assert_eq!(recorder.operations(), 0);
    assert_eq!(recorder.failures().of(FailureKind::UnexpectedStatus), 1);
    let row = &recorder.rows()[0];
    assert_eq!(row.codes.iter().collect::<Vec<_>>(), [(401, 1)]);
    assert_eq!(row.unexpected.iter().collect::<Vec<_>>(), [(401, 1)]);
    assert_eq!(row.failed.as_deref().map(Histogram::max), Some(5));
}

#[test]
fn what_is_turned_away_is_neither_right_nor_failed() {
    let mut recorder = Recorder::new(1);
    let refused = Answer { outcome: Outcome::Refused, code: Some(429), ..Answer::ok(9) };
    recorder.record(0, moments(0, 0, 5, 5), refused);
    let mut merged = Recorder::new(1);
    merged.merge(&recorder);
    assert_eq!((merged.refused(), merged.operations()), (1, 0));
    assert!(merged.failures().is_empty() && merged.rows()[0].lengths.is_empty());
    assert_eq!(merged.rows()[0].codes.iter().collect::<Vec<_>>(), [(429, 1)]);
    merged.clear();
    assert_eq!(merged, Recorder::new(1));
}

#[test]
fn what_was_looked_into_is_counted_and_in_no_time() {
    let mut recorder = Recorder::new(2);
    recorder.look(1);
    let mut merged = Recorder::new(2);
    merged.record(1, moments(0, 0, 5, 5), Answer::ok(1));
    merged.merge(&recorder);
    merged.merge(&recorder);
    assert_eq!((merged.observed(), merged.operations(), merged.rows()[0].observed), (2, 1, 0));
    merged.clear_load();
    assert_eq!(merged, Recorder::new(2));
}

#[test]
fn what_the_other_side_tells_is_kept_by_name() {
    let mut told = ServerTimes::default();
    assert!(told.push(2, 7_000));
    let mut recorder = Recorder::new(1);
    let answer = Answer { told: Some(told), ..Answer::ok(1) };
    recorder.record(0, moments(0, 0, 1, 1), answer);
    let mut merged = Recorder::new(1);
    merged.merge(&recorder);
    let counts: Vec<u64> = merged.rows()[0].told.iter().map(Histogram::count).collect();
    assert_eq!(counts, [0, 0, 1]);
    assert_eq!(merged.rows()[0].told[2].max(), 7_000);
}

#[test]
fn stretches_are_kept_apart_from_the_operations_they_are_made_of() {
    let mut recorder = Recorder::new(Shape { operations: 1, groups: 1 });
    recorder.record(0, moments(0, 0, 5, 5), Answer::ok(1));
    recorder.record_group(0, moments(0, 0, 9, 9), Answer::ok(0));
    let mut merged = Recorder::new(recorder.shape());
    merged.merge(&recorder);
    assert_eq!(merged.operations(), 1);
    assert_eq!(merged.groups()[0].response.max(), 9);
    recorder.clear();
    assert_eq!(recorder, Recorder::new(merged.shape()));
}

#[test]
fn clearing_leaves_a_new_recorder() {
    let mut recorder = Recorder::new(2);
    recorder.record(1, moments(0, 1, 2, 3), Answer::ok(1));
    recorder.dropped = 3;
    recorder.clear();
    assert_eq!(recorder, Recorder::new(2));
}

/// A recorder with something in every field.
fn filled(seed: u64) -> Recorder {
    let mut told = ServerTimes::default();
    told.push(1, 3_000 * seed);
    let mut recorder = Recorder::new(Shape { operations: 2, groups: 1 });
    for n in 0..40 * seed {
        let (due, last) = (n * 10, n * 10 + 1_000 + n * n * seed);
        let right = Answer { told: Some(told), code: Some(200), ..Answer::ok(n * seed) };
        recorder.record(0, moments(due, due + 5, due + 7, last), right);
        recorder.record_group(0, moments(0, 0, last, last), right);
    }
    let refused = Answer { code: Some(503), ..Answer::failed(FailureKind::UnexpectedStatus) };
    recorder.record(1, moments(0, 0, 5, 9 * seed), refused);
    recorder.record(1, moments(0, 0, 5, 5), Answer { outcome: Outcome::Refused, ..refused });
    recorder.connect_failures.count(FailureKind::ConnectRefused);
    recorder.connect.record(seed * 77);
    recorder.handshake.record(seed * 78);
    recorder.lag.record(seed * 79);
    recorder.start_up.record(seed * 80);
    (recorder.resumed, recorder.quiet_closes, recorder.dropped) = (seed, 2 * seed, 3 * seed);
    (recorder.outlasting, recorder.unasked) = (8 * seed, 9 * seed);
    (recorder.bytes_sent, recorder.bytes_received) = (4 * seed, 5 * seed);
    (recorder.passes, recorder.idle_passes) = (6 * seed, 7 * seed);
    recorder
}

#[test]
fn what_is_written_is_read_back_whole() {
    for recorder in [filled(1), filled(900), Recorder::new(3)] {
        let text = serde_json::to_string(&recorder).unwrap();
        assert_eq!(serde_json::from_str::<Recorder>(&text).unwrap(), recorder);
    }
    assert_eq!(serde_json::to_string(&Row::default()).unwrap(), "{}");
    let rows = vec!["{}"; ROWS_MAX + 1].join(",");
    let refused = serde_json::from_str::<Recorder>(&format!(r#"{{"rows":[{rows}]}}"#));
    assert!(refused.unwrap_err().to_string().contains("at most 4096"));
}
