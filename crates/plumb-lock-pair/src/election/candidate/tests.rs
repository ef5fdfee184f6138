//! Two servers that ask three witnesses, message by message.

use super::*;
use crate::election::Witness;

const ONE: u64 = 11;
const TWO: u64 = 22;

fn election(id: u64) -> Election {
    Election::new(ElectionPlan {
        witnesses: 3,
        majority: 2,
        id,
        identity: id,
        patience_ns: 100,
        again_ns: 100,
    })
}

/// Lets a server ask these witnesses until it has nothing to ask; what has come of it.
fn ask(
    election: &mut Election,
    now: u64,
    witnesses: &mut [Witness; 3],
    reached: &[usize],
) -> Option<Outcome> {
    let mut outcome = None;
    loop {
        let mut asked = false;
        for at in reached {
            if let Some(request) = election.ask(now, *at) {
                asked = true;
                let answer = witnesses[*at].hear(&request);
                outcome = election.answered(now, *at, &answer).or(outcome);
            }
        }
        if !asked {
            return outcome;
        }
    }
}

fn as_first(epoch: u64) -> Standing {
    Standing { epoch, next_epoch: epoch, first: true, whole: true, ..Standing::default() }
}

fn as_replica() -> Standing {
    Standing { epoch: 5, next_epoch: 9, in_sync: true, ..Standing::default() }
}

/// A first server that a majority keeps, with its replica or without.
fn holding(partner: u64) -> (Election, [Witness; 3]) {
    let (mut one, mut witnesses) = (election(ONE), [Witness::default(); 3]);
    one.stand(0, as_first(5));
    let won = ask(&mut one, 0, &mut witnesses, &[0, 1, 2]);
    assert!(matches!(won, Some(Outcome::Won(it)) if it.epoch == 5 && it.partner == 0), "{won:?}");
    assert!(one.exposed_to().is_empty());
    one.set_partner(partner);
    assert_eq!(one.exposed_to().is_empty(), partner == 0, "known before anybody keeps it");
    ask(&mut one, 0, &mut witnesses, &[0, 1, 2]);
    assert_eq!((one.kept_by(), witnesses[2].register().partner), (3, partner));
    (one, witnesses)
}

#[test]
fn a_replica_is_elected_when_a_majority_keeps_that_it_has_everything() {
    for (partner, elected) in [(TWO, true), (33, false), (0, false)] {
        let (mut one, mut witnesses) = holding(partner);
        let mut two = election(TWO);
        two.stand(0, as_replica());
        let outcome = ask(&mut two, 0, &mut witnesses, &[0, 1]);
        assert_eq!(matches!(outcome, Some(Outcome::Won(it)) if it.epoch == 9), elected);
        assert_eq!(matches!(outcome, Some(Outcome::Lost(it)) if it.epoch == 5), !elected);
        // the first one hears of it when it says again what it said
        let heard = ask(&mut one, 200, &mut witnesses, &[0, 1, 2]);
        let again = one.wake_at().map(|at| one.pass(at));
        let heard = heard.or(again.and_then(|()| ask(&mut one, 400, &mut witnesses, &[0, 1, 2])));
        assert_eq!(matches!(heard, Some(Outcome::Lost(it)) if it.epoch == 9), elected);
        assert_eq!(one.holds(), !elected);
    }
}

#[test]
fn less_than_a_majority_elects_nobody_and_takes_no_part_away() {
    let (mut one, mut witnesses) = holding(TWO);
    let mut two = election(TWO);
    two.stand(0, as_replica());
    assert_eq!(ask(&mut two, 0, &mut witnesses, &[0]), None);
    assert!(two.stands() && !two.holds() && !two.is_sealed());
    one.set_partner(0);
    assert_eq!(ask(&mut one, 200, &mut witnesses, &[0, 1, 2]), None);
    assert!(one.holds() && one.exposed_to().is_empty(), "two of three keep that it is alone");
    // the others promise, and say that this one has not everything any more
    let outcome = ask(&mut two, 200, &mut witnesses, &[1, 2]);
    assert!(matches!(outcome, Some(Outcome::Lost(_))), "{outcome:?}");
}

#[test]
fn what_a_minority_keeps_is_decided_by_the_next_ballot() {
    let (mut one, mut witnesses) = holding(TWO);
    let mut two = election(TWO);
    two.stand(0, as_replica());
    // two promise, and only the first is told before the replica is cut off
    for at in [1, 2] {
        let request = two.ask(0, at).expect("a claim");
        let answer = witnesses[at].hear(&request);
        two.answered(0, at, &answer);
    }
    let request = two.ask(0, 0).expect("what to keep");
    assert!(witnesses[0].hear(&request).granted && two.is_sealed());
    assert!(!two.withdraw(), "what one keeps may be kept by a majority");
    one.set_partner(0);
    ask(&mut one, 200, &mut witnesses, &[0, 1, 2]);
    one.pass(one.wake_at().expect("it asks anew"));
    ask(&mut one, 300, &mut witnesses, &[1, 2]);
    assert!(one.holds() && one.exposed_to().is_empty());
    two.lost(0);
    two.pass(1_000);
    two.pass(2_000);
    let outcome = ask(&mut two, 2_000, &mut witnesses, &[0, 1, 2]);
    assert!(matches!(outcome, Some(Outcome::Lost(it)) if it.holder == ONE), "{outcome:?}");
}

#[test]
fn whoever_was_started_again_needs_all_that_it_had() {
    let (_, mut witnesses) = holding(0);
    let mut whole = election(ONE);
    whole.plan.id = 99; // another start of the same server
    whole.stand(0, as_first(5));
    for now in [0, 1_000, 2_000] {
        whole.pass(now);
        ask(&mut whole, now, &mut witnesses, &[0, 1, 2]);
    }
    assert!(whole.holds());
    for (identity, epoch) in [(ONE, 6), (TWO, 5)] {
        let mut other = election(98);
        other.plan.identity = identity;
        other.top = 50;
        other.stand(0, as_first(epoch));
        let outcome = ask(&mut other, 0, &mut witnesses, &[0, 1, 2]);
        assert!(matches!(outcome, Some(Outcome::Lost(_))), "{identity} {epoch}: {outcome:?}");
    }
    let mut forced = election(97);
    forced.top = 60;
    forced.stand(0, Standing { epoch: 7, next_epoch: 7, forced: true, ..Standing::default() });
    assert!(forced.holds(), "whoever forces it waits for nobody");
    let outcome = ask(&mut forced, 0, &mut witnesses, &[0, 1, 2]);
    assert!(matches!(outcome, Some(Outcome::Won(it)) if it.epoch == 7), "{outcome:?}");
}
