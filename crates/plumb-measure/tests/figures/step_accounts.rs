//! Accounts of steps, from operations whose times are known.

use plumb_measure::{
    Answer, Attribution, Moments, PartKind, Recorder, Row, ServerTimes, StepSource, Telling,
    TimePart,
};
use proptest::prelude::*;

/// An operation: until it was sent, until its first byte and until its last, microseconds, and what
/// the server told.
type Operation<'a> = (u64, u64, u64, &'a [u64]);

/// What is recorded of these operations, one a millisecond of the clock or later.
fn recorded<'a>(operations: impl IntoIterator<Item = Operation<'a>>) -> Row {
    let mut recorder = Recorder::new(1);
    let mut now = 0;
    for (due, wait, receive, told) in operations {
        let mut times = ServerTimes::default();
        for (name, us) in (0..).zip(told) {
            assert!(times.push(name, us * 1_000));
        }
        let sent = now + due * 1_000;
        let first = sent + wait * 1_000;
        let last = first + receive * 1_000;
        let answer = Answer { told: Some(times), ..Answer::ok(1) };
        recorder.record(0, Moments { due: now, sent, first, last }, answer);
        now = last + 1_000_000;
    }
    recorder.rows()[0].clone()
}

fn account(row: &Row, names: &[&str]) -> Attribution {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let source = StepSource {
        subject: "/x",
        row,
        names: &names,
        round_trip_ns: Some(40_000),
        telling: Telling::Answers,
    };
    Attribution::of_step(source).expect("operations were answered")
}

fn us(parts: &[TimePart], kind: PartKind) -> i64 {
    parts.iter().find(|part| part.kind == kind).map_or(0, |part| part.time.mean_ns / 1_000)
}

#[test]
fn the_part_that_makes_the_slow_ones_slow_is_told() {
    let names = ["queue", "database", "render", "total"];
    let quick: [u64; 4] = [10, 2_000, 500, 2_600];
    let slow: [u64; 4] = [30_000, 2_000, 500, 32_600];
    let all = (0..1_000).map(|n| match n % 25 {
        0 => (0, 33_000, 100, &slow[..]),
        _ => (0, 3_000, 100, &quick[..]),
    });
    let found = account(&recorded(all), &names);
    assert!(found.cannot_be_split.is_none() && found.same_operations);
    assert_eq!(us(&found.parts, PartKind::Server), 90); // what its total leaves
    assert_eq!(us(&found.parts, PartKind::Wire), 40);
    assert_eq!(us(&found.parts, PartKind::Transfer), 100);
    let percentiles: Vec<u8> = found.percentiles.iter().map(|it| it.percentile).collect();
    assert_eq!(percentiles, [50, 95, 99]);
    let queues = found.percentiles.iter().map(|it| us(&it.parts, PartKind::WorkProcess));
    assert_eq!(queues.collect::<Vec<_>>(), [10, 10, 30_000]);
    let databases = found.percentiles.iter().map(|it| us(&it.parts, PartKind::Database));
    assert_eq!(databases.collect::<Vec<_>>(), [2_000; 3]);
    let examples: Vec<_> = found.examples.iter().map(|it| (it.percentile, it.whole_ns)).collect();
    assert_eq!(examples, [(50, 3_100_000), (99, 33_100_000)]);
    assert!(found.parts.iter().all(|part| part.time.half_width_ns.is_some()), "{found:#?}");
}

#[test]
fn too_few_operations_have_no_percentiles() {
    let few = account(&recorded((0..19).map(|_| (5, 100, 0, &[50_u64][..]))), &["db"]);
    assert!(few.percentiles.is_empty() && few.examples.is_empty());
    assert_eq!((us(&few.parts, PartKind::Due), us(&few.parts, PartKind::Database)), (5, 50));
    assert_eq!(us(&few.parts, PartKind::Rest), 10);
}

#[test]
fn what_was_passed_on_is_counted_once() {
    let names = ["backend", "backend-queue", "backend-database", "backend-total", "total"];
    let told: [u64; 5] = [900, 100, 600, 750, 1_000];
    let found = account(&recorded((0..50).map(|_| (0, 1_200, 0, &told[..]))), &names);
    for (kind, expected) in [
        (PartKind::Called, 200),
        (PartKind::WorkProcess, 100),
        (PartKind::Database, 600),
        (PartKind::Server, 100),
        (PartKind::Rest, 160),
    ] {
        assert_eq!(us(&found.parts, kind), expected, "{kind:?}");
    }
}

#[test]
fn times_that_overlap_are_no_parts() {
    let found =
        account(&recorded((0..50).map(|_| (0, 1_000, 0, &[800_u64, 700][..]))), &["app", "db"]);
    assert_eq!(us(&found.parts, PartKind::Server), 800);
    assert_eq!(us(&found.parts, PartKind::Database), 0);
    assert!(found.readings.iter().any(|it| it.source == "db" && it.about.contains("overlaps")));
    let odd = account(&recorded((0..50).map(|_| (0, 1_000, 0, &[8_000_u64][..]))), &["app"]);
    assert!(odd.cannot_be_split.is_some() && odd.account().is_err());
}

#[test]
fn a_server_that_tells_nothing_leaves_its_time_unmeasured() {
    let found = account(&recorded((0..50).map(|_| (0, 1_000, 200, &[][..]))), &[]);
    assert_eq!(us(&found.parts, PartKind::Rest), 960);
    assert_eq!(us(&found.parts, PartKind::Transfer), 200);
}

proptest! {
    #[test]
    fn parts_are_the_whole_whatever_is_told(
        operations in proptest::collection::vec(
            (0_u64..900, 0_u64..5_000, 0_u64..900, proptest::collection::vec(0_u64..3_000, 5)), 1..120,
        ),
    ) {
        let all = operations.iter().map(|it| (it.0, it.1, it.2, &it.3[..]));
        let found = account(&recorded(all), &["queue", "backend", "backend-db", "x", "total"]);
        let percentiles = found.percentiles.iter().map(|it| (it.client, &it.parts, it.split().ok()));
        let mean = found.account().ok().map(|account| account.split);
        for (client, parts, split) in percentiles.chain([(found.client, &found.parts, mean)]) {
            let sum: i64 = parts.iter().map(|part| part.time.mean_ns).sum();
            prop_assert!((sum - client.mean_ns).abs() <= 20, "{} of {:?}", sum, client);
            let Some(split) = split else { continue };
            let shares: f64 = split.all().map(|part| part.share).sum();
            prop_assert!(shares <= 1.0 + 1e-9, "{:?}", split);
        }
        for example in &found.examples {
            let inside = |part: &plumb_measure::ExamplePart| part.from_ns + part.ns <= example.whole_ns;
            prop_assert!(example.parts.iter().all(inside), "{:?}", example);
        }
    }
}
