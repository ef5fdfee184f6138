//! Lines that are too slow for large messages.

use super::*;

fn sized(bytes: u64, p50_ns: u64) -> PathPart {
    let outcome = PartOutcome { p50_ns: Some(p50_ns), ..outcome() };
    part(PathTest::Sizes, bytes, Some(outcome))
}

fn dead(test: PathTest, bytes: u64) -> PathPart {
    part(test, bytes, Some(unanswered()))
}

fn check_of(parts: Vec<PathPart>) -> PathCheck {
    PathCheck {
        schema: PATH_CHECK_SCHEMA.into(),
        plumb: Program { version: String::new() },
        started: String::new(),
        target: String::new(),
        parts,
    }
}

#[test]
fn the_largest_messages_say_what_a_line_carries_beside_the_smallest() {
    let mut check = check_of(vec![dead(PathTest::Throughput, 100_000)]);
    assert_eq!(check.carried_bits_per_s(), None);
    check.parts.push(sized(1, 280 * MS));
    assert_eq!(check.carried_bits_per_s(), None, "one size is a distance");
    check.parts.push(sized(1_357, 281 * MS));
    assert_eq!(check.carried_bits_per_s(), None, "hardly more time for more bytes");
    // what fits into the burst of a shaper passes at once
    check.parts.push(sized(40_001, 1_560 * MS));
    let carried = check.carried_bits_per_s().unwrap();
    assert!((carried - 500_000.0).abs() < 1.0, "{carried}");
    let stall = Some("34 of 40 round trips took about 40 ms".to_owned());
    let delayed =
        PartOutcome { p50_ns: Some(44 * MS), delayed_acknowledgement: stall, ..outcome() };
    let delayed = part(PathTest::Sizes, 1_357, Some(delayed));
    let stalled = check_of(vec![sized(1, MS / 5), delayed]);
    assert_eq!(stalled.carried_bits_per_s(), None, "a stall is no rate");
}

#[test]
fn a_line_that_is_too_slow_for_large_messages_is_slow_and_not_broken() {
    // kbit/s; 10 s are granted
    let of = |rate: u64| {
        let sizes = [1, 1_500, 40_000].map(|bytes| sized(bytes, MS + 16 * bytes * MS / rate));
        let parts = [dead(PathTest::Throughput, 100_000)].into_iter().chain(sizes);
        let verdict = check_of(parts.collect()).verdicts().swap_remove(0);
        (verdict.judgement, verdict.sentence)
    };
    let slow = "smaller ones carry 140 kbit/s, at which it takes 11.4 s: the line is slow.";
    says(&of(140), Judgement::Look, slow);
    says(&of(600), Judgement::Bad, "could not be measured: no answer");
}

#[test]
fn sizes_that_a_slow_line_cannot_carry_in_time_are_no_black_hole() {
    let of = |ms_a_kilobyte: u64, alive: &[u64], dead_bytes: &[u64]| {
        let alive =
            alive.iter().map(|bytes| sized(*bytes, MS + bytes * ms_a_kilobyte * MS / 1_000));
        let dead = dead_bytes.iter().map(|bytes| dead(PathTest::Sizes, *bytes));
        let verdict = check_of(alive.chain(dead).collect()).verdicts().swap_remove(0);
        (verdict.judgement, verdict.sentence)
    };
    // 40,000 bytes take 12 s, and 10 s are granted
    let slow = of(300, &[500, 4_000, 10_000], &[40_000]);
    says(&slow, Judgement::Look, "messages up to 10000 bytes come back; no message of 40000 bytes");
    says(&slow, Judgement::Look, "the line is slow");
    // at a rate at which all would come back
    let hole = "those from 1460 bytes on do not: full packets are dropped";
    says(&of(10, &[500, 1_456], &[1_460, 40_000]), Judgement::Bad, hole);
    // packets of every length come through
    let large = of(10, &[500, 9_000], &[10_000, 40_000]);
    says(&large, Judgement::Bad, "messages of 10000, 40000 bytes got no answer: no answer");
}

#[test]
fn a_black_hole_on_a_long_way_is_no_slow_line() {
    let sizes = [1, 500, 1_356].map(|bytes| sized(bytes, 200 * MS));
    let gone = [dead(PathTest::Sizes, 1_400), dead(PathTest::Sizes, 40_000)];
    let parts = [dead(PathTest::Throughput, 100_000)].into_iter().chain(sizes).chain(gone);
    let verdicts = check_of(parts.collect()).verdicts();
    let told = |test| verdicts.iter().find(|it| it.test == test).map(|it| it.sentence.as_str());
    assert_eq!(told(PathTest::Throughput), Some("could not be measured: no answer"));
    assert!(told(PathTest::Sizes).unwrap().contains("black hole"), "{verdicts:?}");
}
