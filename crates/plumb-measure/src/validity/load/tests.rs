use super::*;
use crate::{Answer, FailureKind, Moments, Outcome};

const CLOSED: LoadFacts =
    LoadFacts { open: false, lag_bound: Span::from_ms(1), one_length: true, cut_short: false };

fn recorder_of(n: u64) -> Recorder {
    let mut recorder = Recorder::new(1);
    let moments = Moments { due: 0, sent: 0, first: 9, last: 9 };
    (0..n).for_each(|_| recorder.record(0, moments, Answer::ok(500)));
    recorder
}

#[test]
fn a_run_without_findings_is_valid() {
    let validity = Validity::of_load(&recorder_of(1000), CLOSED);
    assert!(validity.valid && validity.latency_valid && validity.reasons.is_empty());
}

#[test]
fn operations_that_are_in_no_file_are_said_and_take_no_figure_away() {
    let validity = Validity::of_load(&recorder_of(1000), CLOSED);
    assert!(validity.clone().with_left_out(0).reasons.is_empty());
    let validity = validity.with_left_out(7);
    assert!(validity.valid && validity.latency_valid);
    assert!(validity.reasons[0].text.starts_with("7 operations missing in the file"));
}

#[test]
fn one_failure_makes_a_run_invalid_and_is_named() {
    let mut recorder = recorder_of(1000);
    let moments = Moments { due: 0, sent: 0, first: 0, last: 0 };
    recorder.record(0, moments, Answer::failed(FailureKind::TimedOut));
    let validity = Validity::of_load(&recorder, CLOSED);
    assert!(!validity.valid);
    assert_eq!(validity.reasons[0].text, "1 failure beside 1,000 operations: 1 timed-out");
}

#[test]
fn attempts_to_connect_are_named_among_the_failures() {
    let mut recorder = recorder_of(1000);
    (0..2).for_each(|_| recorder.connect_failures.count(FailureKind::ConnectRefused));
    let text = |recorder: &Recorder| Validity::of_load(recorder, CLOSED).reasons[0].text.clone();
    let all =
        "2 failures beside 1,000 operations, all of them attempts to connect: 2 connect-refused";
    assert_eq!(text(&recorder), all);
    let moments = Moments { due: 0, sent: 0, first: 0, last: 0 };
    recorder.record(0, moments, Answer::failed(FailureKind::Closed));
    let some = "3 failures beside 1,000 operations, 2 of them attempts to connect: 2 connect-refused, \
                1 closed";
    assert_eq!(text(&recorder), some);
}

#[test]
fn what_was_turned_away_is_said_and_takes_no_figure_away() {
    let mut recorder = recorder_of(1000);
    let moments = Moments { due: 0, sent: 0, first: 0, last: 0 };
    let refused = Answer { outcome: Outcome::Refused, ..Answer::ok(0) };
    recorder.record(0, moments, refused);
    let validity = Validity::of_load(&recorder, CLOSED);
    assert!(validity.valid && validity.latency_valid);
    let text = &validity.reasons[0].text;
    assert!(text.starts_with("1 operation of 1,001 turned away"), "{text}");
    let mut only = Recorder::new(1);
    only.record(0, moments, refused);
    assert!(!Validity::of_load(&only, CLOSED).valid, "nothing was accepted");
}

#[test]
fn answers_that_take_longer_than_what_was_measured_take_its_times_away() {
    let mut recorder = recorder_of(1000);
    recorder.outlasting = 2;
    let validity = Validity::of_load(&recorder, CLOSED);
    assert!(validity.valid && !validity.latency_valid);
    let text = &validity.reasons[0].text;
    assert!(text.starts_with("2 operations of the warm-up were answered after"), "{text}");
}

#[test]
fn answers_that_only_refuse_are_named_first() {
    let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
    let refused = Answer { code: Some(401), ..Answer::failed(FailureKind::UnexpectedStatus) };
    let mut recorder = Recorder::new(1);
    (0..3_000).for_each(|_| recorder.record(0, moments, refused));
    let validity = Validity::of_load(&recorder, CLOSED);
    assert!(!validity.valid);
    let first = &validity.reasons[0];
    assert_eq!(first.kind, FindingKind::UnexpectedStatus);
    assert!(first.text.starts_with("every answer"), "{}", first.text);
    assert!(first.text.contains("3,000 with 401"), "{}", first.text);
    recorder.record(0, moments, Answer::ok(5));
    let text = &Validity::of_load(&recorder, CLOSED).reasons[0].text;
    assert!(text.starts_with("3,000 answers of 3,001"), "{text}");
}

#[test]
fn a_status_that_hardly_an_answer_had_is_not_named_first() {
    let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
    let refused = Answer { code: Some(401), ..Answer::failed(FailureKind::UnexpectedStatus) };
    let gone = Answer::failed(FailureKind::ConnectRefused);
    let mut recorder = recorder_of(500);
    (0..2).for_each(|_| recorder.record(0, moments, refused));
    (0..300).for_each(|_| recorder.record(0, moments, gone));
    let reasons = Validity::of_load(&recorder, CLOSED).reasons;
    let first = "302 failures beside 500 operations: 300 connect-refused, 2 unexpected-status";
    assert_eq!(reasons[0].text, first);
    assert!(reasons[1].text.starts_with("2 answers of 502"), "{}", reasons[1].text);
}

#[test]
fn a_driver_without_idle_moments_keeps_throughput_only_when_closed() {
    let mut recorder = recorder_of(1000);
    recorder.passes = 10_000;
    recorder.idle_passes = 900;
    let closed = Validity::of_load(&recorder, CLOSED);
    assert!(closed.valid && !closed.latency_valid);
    let open = Validity::of_load(&recorder, LoadFacts { open: true, ..CLOSED });
    assert!(!open.valid);
}

#[test]
fn idle_moments_in_a_tenth_of_the_passes_are_enough() {
    let mut recorder = recorder_of(1000);
    recorder.passes = 10_000;
    recorder.idle_passes = 1_000;
    assert!(Validity::of_load(&recorder, CLOSED).latency_valid);
}

#[test]
fn late_starts_beyond_the_bound_invalidate_an_open_run() {
    let mut recorder = recorder_of(1000);
    recorder.lag.record_n(5_000_000, 1000);
    let open = LoadFacts { open: true, ..CLOSED };
    assert!(!Validity::of_load(&recorder, open).valid);
    let wide = LoadFacts { lag_bound: Span::from_ms(10), ..open };
    assert!(Validity::of_load(&recorder, wide).valid);
}

#[test]
fn a_lag_just_above_the_bound_is_told_from_it() {
    let mut recorder = recorder_of(1000);
    recorder.lag.record_n(1_000_448, 1000);
    let validity = Validity::of_load(&recorder, CLOSED);
    let said = validity.reasons.iter().find(|it| it.kind == FindingKind::SchedulingLag).unwrap();
    assert!(said.text.contains("began 1000448ns or more"), "{}", said.text);
    assert!(said.text.ends_with("(accepted: 1ms)"), "{}", said.text);
}

#[test]
fn a_varying_length_matters_where_one_length_was_asked_for() {
    let mut recorder = recorder_of(200);
    let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
    recorder.record(0, moments, Answer::ok(501));
    assert!(!Validity::of_load(&recorder, CLOSED).valid);
    let any = LoadFacts { one_length: false, ..CLOSED };
    assert!(Validity::of_load(&recorder, any).valid);
}

#[test]
fn where_there_are_several_kinds_the_lengths_of_all_are_told() {
    let any = LoadFacts { one_length: false, ..CLOSED };
    let mut recorder = Recorder::new(4);
    let moments = Moments { due: 0, sent: 0, first: 1, last: 1 };
    for (row, length) in [(0, 5), (1, 0), (1, 8), (2, 7), (2, 224)] {
        (0..100).for_each(|_| recorder.record(row, moments, Answer::ok(length)));
    }
    let text = &Validity::of_load(&recorder, any).reasons[0].text;
    let said = "the content length varied within 2 kinds of operation; all are from 0 to 224 bytes";
    assert_eq!(text, said);
    let mut constant = Recorder::new(2);
    (0..2).for_each(|row| constant.record(row, moments, Answer::ok(row.into())));
    let reasons = Validity::of_load(&constant, any).reasons;
    assert!(reasons.iter().all(|it| it.kind != FindingKind::LengthVaries), "{reasons:?}");
}

#[test]
fn findings_of_several_results_carry_their_names() {
    let bad = Validity::of_load(&Recorder::new(1), CLOSED);
    let all = Validity::of_all([("size 500B", &bad)]);
    assert!(!all.valid);
    assert_eq!(
        all.reasons[0].text,
        "size 500B: no operation ended in the time that was measured: measure longer (--for)"
    );
    // one that was ended in its warm-up was not too short
    let ended = Validity::of_load(&Recorder::new(1), LoadFacts { cut_short: true, ..CLOSED });
    let said: Vec<&str> = ended.reasons.iter().map(|it| &*it.text).collect();
    assert_eq!(
        said,
        ["no operation ended in the time that was measured", "the run ended before its plan did"]
    );
}
