use plumb_measure::{FasterCalls, TimePart};
use proptest::prelude::*;

use super::*;

/// Each known to a hundredth.
fn of(client_us: i64, parts: &[(PartKind, i64)]) -> Attribution {
    let time = |us: i64| Estimate {
        mean_ns: us * 1_000,
        half_width_ns: Some(us.unsigned_abs() * 10),
        count: 1_234,
    };
    let attribution = Attribution {
        subject: "SELECT 1".into(),
        client: time(client_us),
        parts: parts
            .iter()
            .map(|(kind, us)| TimePart { kind: *kind, time: time(*us), how: String::new() })
            .collect(),
        observed: 80,
        ..Attribution::default()
    };
    attribution.settled("what they leave")
}

#[test]
fn the_sentence_answers_and_adds_up_in_one_unit() {
    let parts = [(PartKind::Server, 3_400), (PartKind::Wire, 100), (PartKind::Queue, 45_600)];
    assert_eq!(
        sentence(&of(51_200, &parts)),
        "Network or database? Neither: 89 % (88 to 90) of the time is waiting for a connection of \
         the pool. 51.2 ms at the client: 3.4 server, 0.1 wire, 45.6 waiting before the server \
         saw it (queue of the pool), 2.1 rest (means of 1,234 calls, shares with their 95 % \
         intervals; looked into 80 times)."
    );
}

#[test]
fn what_the_server_says_itself_is_a_sentence_a_result() {
    let reading = |source: &str, mean_ns, count, about: &str| Reading {
        source: source.into(),
        mean_ns,
        count,
        about: about.into(),
    };
    let plan = reading("EXPLAIN", Some(152_000), 5, "execution; alone");
    let blocks = |n: u64| reading("blocks", None, 0, &format!("{n} read"));
    let kept = [
        reading("calls", Some(139_000), 4_986, "execution; of all sessions"),
        plan.clone(),
        blocks(7),
    ];
    let pool = [reading("calls", None, 0, "not created"), plan, blocks(8)];
    let said = told(&[("kept: ".into(), &kept), ("pool: ".into(), &pool)]);
    let times = "kept: calls 139 us (4,986 executions), EXPLAIN 152 us (5 executions)";
    let of_plan = "EXPLAIN tells execution; alone";
    let of_calls = "calls tells execution; of all sessions";
    assert_eq!(said, [times, "pool: EXPLAIN 152 us (5 executions)", of_calls, of_plan]);
    let alone = told(&[(String::new(), &pool)]);
    let others = ["calls: not created", "blocks: 8 read"];
    assert_eq!(alone, [&["EXPLAIN 152 us (5 executions)", of_plan][..], &others].concat());
}

#[test]
fn the_parts_of_a_runtime_are_told_one_by_one() {
    let parts = [
        (PartKind::Due, 50),
        (PartKind::Door, 60),
        (PartKind::Thread, 20),
        (PartKind::Actions, 700),
        (PartKind::Commit, 100),
    ];
    let text = sentence(&of(1_000, &parts));
    assert_eq!(
        text,
        "The runtime or the way to it? The runtime: 70 % (69 to 71) of the time is its actions. \
         1.00 ms at the client: 0.06 door, 0.02 waiting for a thread, 0.70 actions, 0.10 commit, \
         0.05 waiting before the server saw it (waiting for a caller), 0.07 rest (means of 1,234 \
         calls, shares with their 95 % intervals; told with every answer)."
    );
}

#[test]
fn what_waits_for_several_things_says_how_long_for_each() {
    let text = sentence(&of(13, &[(PartKind::Due, 5), (PartKind::Queue, 7)]));
    let waiting = "12.0 waiting before the server saw it (5.0 waiting for a caller, 7.0 queue \
                   of the pool), 1.0 rest";
    assert!(text.contains(waiting), "{text}");
    assert_eq!(Scale::of(50_000_000).figure(-1_000), "0.0");
}

#[test]
fn the_answer_names_who_has_most_of_the_time() {
    let answered = |whole, server, wire| {
        let parts = [(PartKind::Server, server), (PartKind::Wire, wire)];
        sentence(&of(whole, &parts))
    };
    for (parts, expected) in [
        (
            (5_210, 5_050, 120),
            "The database: 97 % (96 to 98) of the time is the server's own work.",
        ),
        ((4_210, 50, 4_120), "The network: 98 % (96 to 99) of the time is the way there and back"),
        ((100, 10, 20), "It cannot be told: 70 % of the time is explained by nothing"),
        (
            (100, 50, 50),
            "No part has clearly most of the time: 50 % (49 to 51) server, 50 % (49 to 51) wire.",
        ),
        ((100, 45, 40), "No part has clearly most of the time: 45 % (44 to 46) server, 40 %"),
    ] {
        let text = answered(parts.0, parts.1, parts.2);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_part_that_may_be_less_than_half_has_not_clearly_most_of_the_time() {
    let mut hardly = of(1_000, &[(PartKind::Wire, 560), (PartKind::Server, 50)]);
    hardly.parts[0].time.half_width_ns = Some(80_000);
    let text = sentence(&hardly.settled("what they leave"));
    let said = "No part has clearly most of the time: 56 % (48 to 64) wire, 39 % (31 to 47) rest.";
    assert!(text.contains(said), "{text}");
}

/// What every operation told of itself: a mean of 13.6 ms, in which flushing takes 11 ms and is hardly
/// known, the door takes `door_us`, and the rest 2.4 ms.
fn flushed(door_us: i64) -> String {
    let parts =
        [(PartKind::Door, door_us), (PartKind::Flush, 11_000), (PartKind::Rest, 2_600 - door_us)];
    let mut all = Attribution { same_operations: true, ..of(13_600, &[]) };
    all.parts = parts
        .map(|(kind, us)| {
            let half_ns = if kind == PartKind::Door { 10_000 } else { us.unsigned_abs() * 1_400 };
            let time = Estimate { mean_ns: us * 1_000, half_width_ns: Some(half_ns), count: 1_234 };
            TimePart { kind, time, how: String::new() }
        })
        .into();
    sentence(&all)
}

#[test]
fn the_largest_estimate_is_named_though_it_may_be_zero() {
    let text = flushed(200);
    let said = "No part has clearly most of the time: 81 % flush (not told apart from zero). \
                13.6 ms at the client";
    assert!(text.contains(said), "{text}");
    let text = flushed(5);
    let said = "No part is told apart from zero; the largest estimate is 81 % flush. ";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_wire_with_somebody_on_it_is_not_called_the_network() {
    let text = |intermediary| {
        let all = of(1_000, &[(PartKind::Wire, 900)]);
        sentence(&Attribution { intermediary: Some(intermediary), ..all })
    };
    let pooler = text(Intermediary::Pooler);
    assert!(
        pooler.contains("The pooler or the network: 90 % (89 to 91) of the time is"),
        "{pooler}"
    );
    assert!(pooler.contains("waiting for one of its connections included. "), "{pooler}");
    let unknown = text(Intermediary::Unknown);
    assert!(unknown.contains("The network or what stands before the server: 90 %"), "{unknown}");
}

#[test]
fn an_interval_that_rounding_hides_is_not_printed() {
    let mut exact = of(1_000, &[(PartKind::Wire, 900)]);
    exact.client.half_width_ns = Some(100);
    exact.parts[0].time.half_width_ns = Some(100);
    let text = sentence(&exact.settled("what they leave"));
    assert!(text.contains("The network: 90 % of the time is the way"), "{text}");
}

#[test]
fn a_rest_whose_interval_contains_zero_is_no_figure() {
    let of = |whole| sentence(&of(whole, &[(PartKind::Wire, 900), (PartKind::Server, 100)]));
    let text = of(1_001);
    assert!(text.contains("rest not told apart from zero (at most 0.01)"), "{text}");
    let text = of(999);
    assert!(
        text.contains(
            "999.0 us at the client: 100.0 server, 900.0 wire, no rest told apart from zero: \
             the parts exceed the whole by 1.0, and are known to +-13.5 (means"
        ),
        "{text}"
    );
}

#[test]
fn what_cannot_be_split_says_why_and_shows_no_share() {
    let text = sentence(&of(59, &[(PartKind::Server, 38), (PartKind::Wire, 124)]));
    assert_eq!(
        text,
        "Network or database? It cannot be split: the parts were measured on other operations \
         and add up to more than the whole, 162 us of 59.0 us. At the client 59.0 us +-590 ns; \
         measured beside it: server 38.0 us +-380 ns, wire 124 us +-1.24 us (means of 1,234 \
         calls; looked into 80 times)."
    );
}

#[test]
fn where_each_part_is_within_the_whole_the_server_took_no_more_than_in_the_looks() {
    let text = sentence(&of(59, &[(PartKind::Server, 20), (PartKind::Wire, 55)]));
    assert!(text.ends_with("The server's own work is at most 35 % of the time."), "{text}");
    let text = sentence(&of(59, &[(PartKind::Server, 60), (PartKind::Wire, 55)]));
    assert!(!text.contains('%'), "{text}");
}

/// An account of all calls whose parts are hardly known, and one of the faster nine tenths.
fn busy(faster_us: i64, faster_parts: &[(PartKind, i64)]) -> Attribution {
    let faster = of(faster_us, faster_parts);
    let mut all = of(486, &[(PartKind::Server, 50), (PartKind::Wire, 300)]);
    all.parts.iter_mut().for_each(|part| part.time.half_width_ns = Some(305_000));
    let all = all.settled("what they leave");
    let account = || Ok(FasterCalls { client: faster.client, parts: faster.parts });
    all.or_of_the_faster(account)
}

#[test]
fn where_only_the_faster_nine_tenths_are_known_the_sentence_is_of_them() {
    let text = sentence(&busy(180, &[(PartKind::Server, 40), (PartKind::Wire, 120)]));
    assert_eq!(
        text,
        "Network or database? The network: 67 % (66 to 68) of the time of the faster nine tenths \
         of the calls is the way there and back, waking the server's process included. 180.0 us at \
         the client: 40.0 server, 120.0 wire, 20.0 rest (means of the faster nine tenths of 1,234 \
         calls and of every look, shares with their 95 % intervals; looked into 80 times). The \
         slowest tenth, 67 % of the time of all calls, is not told apart."
    );
    let text = sentence(&busy(100, &[(PartKind::Server, 50), (PartKind::Wire, 50)]));
    assert!(
        text.contains(
            "No part has clearly most of the time of the faster nine tenths of the calls: 50 %"
        ),
        "{text}"
    );
}

#[test]
fn where_these_are_not_known_either_it_cannot_be_split() {
    let text = sentence(&busy(59, &[(PartKind::Server, 38), (PartKind::Wire, 124)]));
    let start = "Network or database? It cannot be split: the parts are not known well enough, \
                 together to +- 431 us of a whole of 486 us. At the client 486 us +-4.86 us; ";
    assert!(text.starts_with(start), "{text}");
    assert!(!text.contains('%'), "{text}");
}

fn any_parts() -> impl Strategy<Value = Vec<(PartKind, i64)>> {
    let time = || -20_i64..2_000;
    (time(), time(), time(), time()).prop_map(|(server, wire, queue, connect)| {
        vec![
            (PartKind::Server, server),
            (PartKind::Wire, wire),
            (PartKind::Queue, queue),
            (PartKind::Connect, connect),
        ]
    })
}

proptest! {
    #[test]
    fn no_share_that_is_printed_exceeds_the_whole(whole in 1_i64..3_000, parts in any_parts()) {
        let text = sentence(&of(whole, &parts)).replace(SHARES, "");
        let shares: Vec<u32> = text
            .split(" %")
            .filter_map(|before| before.rsplit(' ').next()?.parse().ok())
            .collect();
        prop_assert!(shares.iter().all(|share| *share <= 100), "{}", text);
        prop_assert!(shares.iter().sum::<u32>() <= 102, "{}", text); // rounded
        // no end of an interval is more than the whole either
        let ends = text.split(" to ").skip(1).filter_map(|behind| behind.split(')').next());
        let ends: Vec<u32> = ends.filter_map(|end| end.parse().ok()).collect();
        prop_assert!(ends.iter().all(|end| *end <= 100), "{}", text);
    }
}
