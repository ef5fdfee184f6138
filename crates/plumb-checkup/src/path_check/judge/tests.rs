mod slow_lines;

use super::super::{PATH_CHECK_SCHEMA, PathCheck};
use super::*;
use plumb_measure::{Away, Program, RoundTripMeans};

const MS: u64 = 1_000_000;

fn outcome() -> PartOutcome {
    PartOutcome {
        valid: true,
        operations: 100,
        duration_ns: 10_000 * MS,
        p50_ns: Some(MS),
        max_ns: Some(3 * MS),
        average_ms: Some(1.5),
        kb_per_s: Some(95_000.0),
        ..PartOutcome::default()
    }
}

fn failed(kind: &str, n: u64) -> PartOutcome {
    let failures = [(kind.to_owned(), n)].into();
    PartOutcome { failures, valid: false, ..outcome() }
}

fn part(test: PathTest, size_bytes: u64, outcome: Option<PartOutcome>) -> PathPart {
    PathPart {
        test,
        size_bytes,
        expected_ns: 0,
        silence_ns: 3_600_000 * MS,
        timeout_ns: 10_000 * MS,
        words: Vec::new(),
        outcome,
    }
}

fn one(test: PathTest, outcome: PartOutcome) -> (Judgement, String) {
    judge(test, &[&part(test, 1_000, Some(outcome))], Known::default())
}

/// The verdict on sizes with these outcomes.
fn over(sizes: &[(u64, PartOutcome)]) -> (Judgement, String) {
    let parts: Vec<PathPart> = sizes
        .iter()
        .map(|(bytes, outcome)| part(PathTest::Sizes, *bytes, Some(outcome.clone())))
        .collect();
    judge(PathTest::Sizes, &parts.iter().collect::<Vec<_>>(), Known::default())
}

fn unanswered() -> PartOutcome {
    let error = Some("no answer".into());
    PartOutcome { error, unanswered: true, ..PartOutcome::default() }
}

#[track_caller]
fn says(verdict: &(Judgement, String), judgement: Judgement, words: &str) {
    assert_eq!(verdict.0, judgement, "{}", verdict.1);
    assert!(verdict.1.contains(words), "{}", verdict.1);
}

#[test]
fn throughput_is_named_by_its_order_of_magnitude() {
    for (kb_s, words) in [
        (900_000.0, "more than Gigabit"),
        (95_000.0, "of the order of Gigabit"),
        (9_000.0, "of the order of Fast"),
        (900.0, "below the order of Fast"),
    ] {
        let outcome = PartOutcome { kb_per_s: Some(kb_s), ..outcome() };
        says(&one(PathTest::Throughput, outcome), Judgement::Fine, words);
    }
    let foreign = PartOutcome { valid: false, ..outcome() };
    says(&one(PathTest::Throughput, foreign), Judgement::Look, "not valid");
    says(
        &one(PathTest::Throughput, failed("reset", 3)),
        Judgement::Bad,
        "3 of 103 messages of 1000 bytes failed (3 reset). Connections were ended 3 times",
    );
    says(
        &one(PathTest::Throughput, failed("reset", 1)),
        Judgement::Bad,
        "1 of 101 messages of 1000 bytes failed (1 reset)",
    );
}

/// What throughput says beside a round trip of the smallest message that came to `trip`.
fn throughput_beside(trip: &PartOutcome, outcome: PartOutcome) -> (Judgement, String) {
    let measured = part(PathTest::Throughput, 100_000, Some(outcome));
    let known = Known { round_trip: Some(trip), ..Known::default() };
    judge(PathTest::Throughput, &[&measured], known)
}

#[test]
fn throughput_that_the_distance_bounds_is_told_from_a_slow_line() {
    let of = |ns| {
        let trip = PartOutcome { p50_ns: Some(ns), ..outcome() };
        throughput_beside(&trip, outcome())
    };
    says(&of(900_000), Judgement::Fine, "900 us of the 1.00 ms that a message takes");
    assert!(!of(100_000).1.contains("limit"));
    says(&of(1_050_000), Judgement::Fine, "1.00 ms of the 1.00 ms that a message takes");
    assert!(!of(44 * MS).1.contains("limit"), "something else makes the smallest message slow");
}

#[test]
fn the_distance_is_named_as_the_limit_only_where_most_of_a_round_trip_is_the_wire() {
    let told = |wire_ns, server_ns| RoundTripMeans {
        sending_ns: 1_000,
        waking_ns: 1_000,
        away: Away::Told { wire_ns, server_waking_ns: 1_000, server_ns, server_sending_ns: 1_000 },
        stamp_costs_ns: None,
    };
    let of = |round_trip| {
        let trip =
            PartOutcome { p50_ns: Some(900_000), average_ms: Some(25.7), round_trip, ..outcome() };
        (throughput_beside(&trip, outcome()).1, one(PathTest::RoundTrip, trip).1)
    };
    let (limit, reach) = of(Some(told(800_000, 90_000)));
    assert!(limit.contains(": the distance is the limit here"), "{limit}");
    assert!(reach.contains("as within a building"), "{reach}");
    let (limit, reach) = of(Some(told(25 * MS, 90_000)));
    assert!(limit.contains(": the distance is the limit here"), "{limit}");
    assert!(reach.contains("would go 2500 km far and back in the time on the wire."), "{reach}");
    let (limit, reach) = of(Some(told(3_000, 25 * MS)));
    assert!(limit.contains(": what both machines do is the limit here"), "{limit}");
    assert!(reach.contains("as within a building"), "{reach}");
    let (limit, reach) = of(None);
    assert!(limit.contains(": the distance, or the server, is the limit here"), "{limit}");
    assert!(reach.contains("in that time, less what the server takes of it."), "{reach}");
}

#[test]
fn throughput_of_a_stall_is_not_that_of_the_line() {
    let stall = Some("34 of 40 round trips took about 40 ms".to_owned());
    let trip = PartOutcome { p50_ns: Some(44 * MS), delayed_acknowledgement: stall, ..outcome() };
    let slow = PartOutcome { p50_ns: Some(46 * MS), max_ns: Some(50 * MS), ..outcome() };
    let verdict = throughput_beside(&trip, slow);
    says(&verdict, Judgement::Look, "46.0 ms at the median, as the smallest message does");
    says(&throughput_beside(&trip, outcome()), Judgement::Fine, "of the order of Gigabit");
}

#[test]
fn segments_that_are_sent_again_are_told_whatever_took_long() {
    let trip = outcome();
    let of = |test, again, sent, p50_ns| {
        let (retransmits, segments_sent) = (Some(again), Some(sent));
        let outcome = PartOutcome { retransmits, segments_sent, p50_ns: Some(p50_ns), ..outcome() };
        let known = Known { round_trip: Some(&trip), ..Known::default() };
        judge(test, &[&part(test, 10_000, Some(outcome))], known)
    };
    let said = "This side sent 20 of 1,350 segments again (1.48 %): packets are lost on the way";
    says(&of(PathTest::RoundTrip, 20, 1_350, MS), Judgement::Bad, said);
    says(&of(PathTest::Stability, 20, 1_350, 2 * MS), Judgement::Bad, said);
    // messages whose bytes take time find out how much the line carries
    says(&of(PathTest::Throughput, 20, 1_350, MS), Judgement::Look, "or a queue on it is full");
    says(&of(PathTest::Stability, 20, 1_350, 5 * MS), Judgement::Look, "or a queue on it is full");
    let few = of(PathTest::Stability, 4, 900, MS);
    says(&few, Judgement::Look, "(0.44 %)");
    assert!(!few.1.contains("becomes slow"), "{}", few.1);
    for (again, sent) in [(2, 100), (3, 3_001), (0, 0)] {
        says(&of(PathTest::Stability, again, sent, MS), Judgement::Fine, "none failed");
    }
    let size =
        |again| PartOutcome { retransmits: Some(again), segments_sent: Some(500), ..outcome() };
    let sizes = [(500, size(1)), (1_000, size(2)), (1_500, size(0))];
    says(&over(&sizes), Judgement::Look, "none of them stalls. This side sent 3 of 1,500 segments");
}

#[test]
fn failures_are_named_and_each_kind_says_something_of_its_own() {
    for test in [PathTest::Throughput, PathTest::RoundTrip, PathTest::Idle, PathTest::Stability] {
        let held = |verdict: &(Judgement, String)| {
            assert!(!verdict.1.contains("does not hold"), "{}", verdict.1);
        };
        let changed = one(test, failed("garbled", 2));
        says(&changed, Judgement::Bad, "2 of 102 messages of 1000 bytes failed");
        says(&changed, Judgement::Bad, "(2 garbled). What came back is not what was sent");
        held(&changed);
        let refused = one(test, failed("connect-refused", 3));
        says(&refused, Judgement::Bad, "none of 100 messages of 1000 bytes failed");
        says(&refused, Judgement::Bad, "Connecting failed 3 times (3 connect-refused).");
        held(&refused);
        let twice = one(test, failed("unasked", 3));
        says(&twice, Judgement::Bad, "none of 100 messages of 1000 bytes failed");
        says(&twice, Judgement::Bad, "3 answers came that nobody had asked for");
        held(&twice);
        if test == PathTest::Idle {
            assert!(!twice.1.contains("ended the connection"), "{}", twice.1);
            continue; // what else may fail there has words of its own
        }
        let late = one(test, failed("timed-out", 1));
        says(&late, Judgement::Bad, "(1 timed-out). No answer came within 10s");
        held(&late);
        let closed = one(test, failed("closed", 2));
        says(
            &closed,
            Judgement::Bad,
            "ended 2 times in between: the path, or the server, does not",
        );
    }
    let ended = one(PathTest::Stability, PartOutcome { quiet_closes: 2, ..outcome() });
    says(
        &ended,
        Judgement::Bad,
        "none of 100 messages of 1000 bytes failed in 10.0 s. Connections",
    );
    let verdict = over(&[(500, outcome()), (520, failed("garbled", 7))]);
    says(&verdict, Judgement::Bad, "520 bytes do not all come back as they should (7 garbled).");
    let never = PartOutcome { operations: 0, ..failed("garbled", 7) };
    let verdict = over(&[(500, outcome()), (520, never.clone())]);
    says(&verdict, Judgement::Bad, "no message of 520 bytes came back as it should (7 garbled).");
    let verdict = over(&[(500, outcome()), (520, never.clone()), (1_400, unanswered())]);
    says(&verdict, Judgement::Bad, "And messages of 1400 bytes got no answer: no answer");
    says(
        &one(PathTest::RoundTrip, PartOutcome { average_ms: None, ..never }),
        Judgement::Bad,
        "no message came back as it should: 7 garbled. What came back is not",
    );
}

#[test]
fn round_trips_that_wait_for_an_acknowledgement_are_to_be_looked_at_and_are_no_distance() {
    let stall = "34 of 40 round trips took about 40 ms, as Linux delays an acknowledgement";
    let delayed = || PartOutcome {
        p50_ns: Some(44 * MS),
        max_ns: Some(94 * MS),
        average_ms: Some(49.4),
        delayed_acknowledgement: Some(stall.into()),
        ..outcome()
    };
    let trip = one(PathTest::RoundTrip, delayed());
    says(&trip, Judgement::Look, "44.0 ms at the median. 34 of 40 round trips");
    assert!(!trip.1.contains("light"), "{}", trip.1);
    says(&one(PathTest::Stability, delayed()), Judgement::Look, stall);
    let verdict = over(&[(500, delayed()), (520, delayed()), (532, outcome())]);
    says(&verdict, Judgement::Look, "those of 500, 520 bytes stall. At 500 bytes, 34 of 40");
    says(&verdict, Judgement::Look, "(plumb net ping HOST --size 500B --quick-ack).");
    let check = PathCheck {
        schema: PATH_CHECK_SCHEMA.into(),
        plumb: Program { version: String::new() },
        started: String::new(),
        target: String::new(),
        parts: vec![
            part(PathTest::Throughput, 100_000, Some(outcome())),
            part(PathTest::RoundTrip, 1, Some(PartOutcome { p50_ns: Some(MS), ..delayed() })),
        ],
    };
    assert_eq!(check.worst(), Judgement::Look);
    assert!(!check.verdicts()[0].sentence.contains("distance"), "{:?}", check.verdicts());
}

#[test]
fn a_round_trip_says_how_far_light_would_come() {
    let far = PartOutcome { average_ms: Some(40.3), ..outcome() };
    says(&one(PathTest::RoundTrip, far), Judgement::Fine, "4030 km");
    let near = PartOutcome { average_ms: Some(0.2), ..outcome() };
    says(&one(PathTest::RoundTrip, near), Judgement::Fine, "a building or a city");
    let lossy = PartOutcome { average_ms: Some(13.0), max_ns: Some(640 * MS), ..outcome() };
    let (judgement, said) = one(PathTest::RoundTrip, lossy);
    assert_eq!(judgement, Judgement::Look, "{said}");
    assert!(said.contains("at least one waited") && !said.contains("light"), "{said}");
}

#[test]
fn a_message_that_waited_is_looked_at_whatever_was_tried() {
    let waited = |retransmits| PartOutcome { max_ns: Some(225 * MS), retransmits, ..outcome() };
    for test in [PathTest::Throughput, PathTest::RoundTrip, PathTest::Stability] {
        let said = |again| one(test, waited(again));
        says(&said(None), Judgement::Look, "at least one waited, as for a packet that was lost.");
        says(&said(Some(2)), Judgement::Look, "was lost (this side sent 2 segments again).");
        let stood =
            "lost on the way back, or for a server that stood still (this side sent none again)";
        says(&said(Some(0)), Judgement::Look, stood);
    }
    let verdict = over(&[(500, outcome()), (1_460, waited(Some(0))), (4_000, waited(Some(1)))]);
    says(&verdict, Judgement::Look, "at 1460, 4000 bytes single messages waited, as for a packet");
    assert!(verdict.1.ends_with("(this side sent 1 segment again)."), "{}", verdict.1);
}

#[test]
fn a_silent_connection_survives_is_forgotten_or_is_ended() {
    let survived = PartOutcome { operations: 2, ..outcome() };
    says(&one(PathTest::Idle, survived), Judgement::Fine, "silent for 1h still works");
    let forgotten = PartOutcome { operations: 1, ..failed("timed-out", 1) };
    says(&one(PathTest::Idle, forgotten), Judgement::Bad, "neither side was told");
    let reset = PartOutcome { operations: 1, ..failed("reset", 1) };
    says(&one(PathTest::Idle, reset), Judgement::Bad, "failed (1 reset)");
    let ended = PartOutcome { operations: 2, quiet_closes: 1, ..outcome() };
    says(&one(PathTest::Idle, ended), Judgement::Bad, "ended within 1h");
    let twice = PartOutcome { operations: 1, quiet_closes: 1, ..failed("reset", 1) };
    says(&one(PathTest::Idle, twice), Judgement::Bad, "ended within 1h");
    let never = PartOutcome { operations: 0, ..PartOutcome::default() };
    says(&one(PathTest::Idle, never), Judgement::Bad, "nothing came back");
}

#[test]
fn a_long_run_lasts_stalls_or_breaks() {
    says(&one(PathTest::Stability, outcome()), Judgement::Fine, "none failed");
    let stalled = PartOutcome { max_ns: Some(240 * MS), ..outcome() };
    says(&one(PathTest::Stability, stalled), Judgement::Look, "at least one waited");
    let far = PartOutcome { p50_ns: Some(180 * MS), max_ns: Some(240 * MS), ..outcome() };
    says(&one(PathTest::Stability, far), Judgement::Fine, "none failed");
    says(&one(PathTest::Stability, failed("closed", 2)), Judgement::Bad, "2 of 102");
}

#[test]
fn sizes_that_all_get_through_are_fine() {
    let verdict = over(&[(500, outcome()), (1_460, outcome()), (10_000, outcome())]);
    says(&verdict, Judgement::Fine, "3 sizes from 500 to 10000 bytes");
}

#[test]
fn a_black_hole_begins_at_a_size_and_swallows_all_above() {
    let verdict = over(&[(500, outcome()), (1_460, unanswered()), (4_000, unanswered())]);
    says(&verdict, Judgement::Bad, "up to 500 bytes come back, those from 1460 bytes on do not");
    let verdict = over(&[(500, outcome()), (1_460, unanswered()), (4_000, outcome())]);
    says(&verdict, Judgement::Bad, "messages of 1460 bytes got no answer");
    let refused = PartOutcome { error: Some("refused: too big".into()), ..Default::default() };
    let verdict = over(&[(500, outcome()), (40_000, refused)]);
    says(&verdict, Judgement::Bad, "40000 bytes got no answer: refused: too big");
    says(&over(&[(500, unanswered())]), Judgement::Bad, "no size");
}

#[test]
fn a_size_that_waits_every_time_is_told_from_one_that_waits_once() {
    let slow = PartOutcome { p50_ns: Some(41 * MS), max_ns: Some(44 * MS), ..outcome() };
    let verdict = over(&[(500, outcome()), (1_460, slow), (4_000, outcome())]);
    says(&verdict, Judgement::Look, "those of 1460 bytes take far longer");
    let once = PartOutcome { max_ns: Some(205 * MS), ..outcome() };
    let verdict = over(&[(500, outcome()), (1_460, once), (4_000, outcome())]);
    says(&verdict, Judgement::Look, "at 1460 bytes single messages waited");
    let of_few =
        PartOutcome { operations: 2, p50_ns: Some(203 * MS), max_ns: Some(205 * MS), ..outcome() };
    let verdict = over(&[(500, outcome()), (1_460, of_few), (4_000, outcome())]);
    says(&verdict, Judgement::Look, "at 1460 bytes single messages waited");
    let few_and_slow =
        PartOutcome { operations: 2, p50_ns: Some(41 * MS), max_ns: Some(44 * MS), ..outcome() };
    let verdict = over(&[(500, outcome()), (1_460, few_and_slow), (4_000, outcome())]);
    says(&verdict, Judgement::Look, "those of 1460 bytes take far longer");
    let of_one =
        PartOutcome { operations: 1, p50_ns: Some(151 * MS), max_ns: Some(151 * MS), ..outcome() };
    let sent_again =
        PartOutcome { operations: 2, p50_ns: Some(190 * MS), retransmits: Some(1), ..outcome() };
    let verdict =
        over(&[(500, of_one), (1_460, outcome()), (4_000, outcome()), (9_000, sent_again)]);
    says(&verdict, Judgement::Look, "at 500, 9000 bytes single messages waited");
}

#[test]
fn what_a_slow_line_takes_for_more_bytes_is_no_wait() {
    // there and back, a message as a whole each way: kbit/s, round trip in ms
    for (rate, rtt_ms) in [(10_000, 5), (4_000, 10), (2_000, 20), (1_000, 40)] {
        let sizes = [1_500, 4_000, 8_956, 10_000, 40_000].map(|bytes| {
            let p50 = rtt_ms * MS + 2 * bytes * 8 * MS / rate;
            let (p50_ns, max_ns) = (Some(p50), Some(p50 + MS));
            (bytes, PartOutcome { operations: 3, p50_ns, max_ns, ..outcome() })
        });
        says(&over(&sizes), Judgement::Fine, "5 sizes from 1500 to 40000 bytes");
    }
    // at the ends, too
    let slow = || PartOutcome { p50_ns: Some(41 * MS), max_ns: Some(44 * MS), ..outcome() };
    let verdict = over(&[(500, slow()), (1_460, outcome()), (10_000, outcome()), (40_000, slow())]);
    says(&verdict, Judgement::Look, "those of 500, 40000 bytes take far longer");
}

#[test]
fn what_is_not_measured_is_not_judged() {
    let parts = [part(PathTest::Sizes, 1, Some(outcome())), part(PathTest::Sizes, 2, None)];
    let verdict = judge(PathTest::Sizes, &parts.iter().collect::<Vec<_>>(), Known::default());
    says(&verdict, Judgement::Open, "1 of 2 parts");
}
