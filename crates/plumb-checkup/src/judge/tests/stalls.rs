//! Stalls of TCP: what waits for an acknowledgement, what only takes as long, and connects.

use crate::AcknowledgedAtOnce;

use super::*;

/// Of 1,000 operations, which take `median` in the middle, on a way of `rtt_ns`, so many took 40 ms.
fn stalled(of_1000: u64, median: u64, rtt_ns: u64) -> CheckupOutcome {
    let excess_ns = of_1000 * (40 * MS - rtt_ns);
    let outcome = CheckupOutcome {
        delayed: Some(Waited { operations: of_1000, excess_ns }),
        tcp: Some(TcpTotals { rtt_min_ns: rtt_ns, ..TcpTotals::default() }),
        mean_ns: Some(rtt_ns + excess_ns / 1_000),
        ..takes(median)
    };
    let text = "round trips cluster at 40 ms";
    against(outcome, FindingKind::DelayedAcknowledgement, Scope::Nothing, text)
}

/// The same, of which `as_long` of 500 take as long with acknowledgements that are sent at once.
fn tried(as_long: u64, outcome: CheckupOutcome) -> CheckupOutcome {
    let mut times = Histogram::new();
    times.record_n(100 * US, 500 - as_long);
    times.record_n(40 * MS, as_long);
    let at_once =
        CheckupOutcome { service_ns: Distribution::of(&times), operations: 500, ..takes(100 * US) };
    let mut tried = outcome;
    assert!(tried.may_wait_for_acknowledgements());
    tried.compare_acknowledged(&at_once);
    assert!(!tried.may_wait_for_acknowledgements());
    tried
}

#[test]
fn a_delayed_acknowledgement_is_neither_a_long_way_nor_work() {
    for at in [0, 1] {
        let mut parts = landscape(45, 1_900);
        parts[at].outcome = Some(tried(3, stalled(990, 40 * MS, 21 * US)));
        let said = only(FaultKind::DelayedAcknowledgement, parts);
        let text = ": 990 of 1,000 operations took 40.0 ms at the mean, as long as an acknowledgement is \
                    delayed, on a path that needs 21.0 us; with acknowledgements that this side sent at \
                    once, 3 of 500 did: an answer is written in pieces under Nagle's algorithm, and the \
                    last one waits for the acknowledgement of the first. It costs a user 39.6 ms of 39.6 ms \
                    an operation (37.1 ms";
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn work_of_forty_milliseconds_behind_the_first_byte_is_no_delayed_acknowledgement() {
    let mut parts = landscape(45, 1_900);
    parts[3].outcome = Some(tried(480, stalled(990, 40 * MS, 21 * US)));
    let outcome = parts[3].outcome.as_ref().unwrap();
    assert_eq!((outcome.delayed, &outcome.validity.reasons[..]), (None, &[][..]));
    let found = checkup(parts.clone());
    assert_eq!((kinds(&found), found.is_unanswered()), (vec![], false));
    let [remark] = &found.verdict.remarks[..] else { unreachable!("{found:?}") };
    let text = "A flight list: with acknowledgements that this side sent at once, 480 of 500 operations \
                still took as long";
    assert!(remark.text.starts_with(text), "{remark:?}");
    assert!(remark.text.contains("or a proxy stands before it"), "{remark:?}");
    // of a lock request that is slow
    parts[1].outcome = Some(tried(480, stalled(990, 40 * MS, 21 * US)));
    only(FaultKind::Slow, parts);
}

#[test]
fn what_nobody_tried_or_what_is_neither_is_not_told() {
    let stalled = |of_1000| stalled(of_1000, 40 * MS, 21 * US);
    let did = |n| format!("at once, {n} of 500 did, which is neither.");
    for (outcome, end) in [
        (stalled(900), "--quick-ack of its measurement tells.".to_owned()),
        (tried(200, stalled(900)), did(200)),
        // of which a few are expected: they may be none by chance
        (tried(0, stalled(15)), did(0)),
        (tried(4, stalled(15)), did(4)),
    ] {
        let mut parts = landscape(45, 1_900);
        parts[3].outcome = Some(outcome);
        let found = checkup(parts);
        assert_eq!(
            (kinds(&found), found.has_findings(), found.is_unanswered()),
            (vec![], false, true)
        );
        let said = &found.verdict.sentence;
        let begin = "No fault was found, but whether the application server waits for acknowledgements \
                     cannot be told; ";
        assert!(said.starts_with(begin), "{said}");
        let [remark] = &found.verdict.remarks[..] else { unreachable!("{found:?}") };
        assert!(remark.text.contains("or works for so long behind it, is not known"), "{remark:?}");
        assert!(remark.text.ends_with(&end), "{remark:?}");
    }
}

#[test]
fn what_was_tried_and_may_not_be_used_tells_nothing() {
    let mut outcome = stalled(900, 40 * MS, 21 * US);
    outcome.compare_acknowledged(&CheckupOutcome::none("it is gone".into()));
    assert_eq!((outcome.at_once.clone(), outcome.delayed.is_some()), (None, true));
    outcome.compare_acknowledged(&takes(100 * US));
    assert_eq!(outcome.at_once, None::<AcknowledgedAtOnce>, "nothing was timed");
}

#[test]
fn a_median_that_waited_is_no_way_and_one_that_did_not_is() {
    for at in [0, 1] {
        // 60 % of the messages wait, on a way of 0.1 ms
        let mut parts = landscape(45, 1_900);
        parts[at].outcome = Some(tried(0, stalled(600, 40 * MS, 100 * US)));
        only(FaultKind::DelayedAcknowledgement, parts);
    }
    // 30 % wait, on a way of 10 ms to a server that tells nothing, or to a host
    let parts = vec![with(locks(), tried(0, stalled(300, 10 * MS, 10 * MS)))];
    assert_eq!(kinds(&checkup(parts))[..2], [FaultKind::Wire, FaultKind::DelayedAcknowledgement]);
    let parts = vec![with(network(), tried(0, stalled(300, 10 * MS, 10 * MS)))];
    assert_eq!(kinds(&checkup(parts)), [FaultKind::Wire, FaultKind::DelayedAcknowledgement]);
}

#[test]
fn connects_that_are_sent_again_are_named_by_what_the_run_says() {
    let mut parts = landscape(45, 1_900);
    let text = "3 of 9 connects took a second or longer";
    let outcome = parts[3].outcome.take().unwrap();
    let kind = FindingKind::ConnectRetransmission;
    parts[3].outcome = Some(against(outcome, kind, Scope::Nothing, text));
    let said = only(FaultKind::Loss, parts);
    assert!(said.contains("stalls over a flight list: 3 of 9 connects took a second"), "{said}");
}
