//! More messages of one transaction than a runtime puts by: 64 in tests.

use super::*;

/// The next one that comes: the clock is held, so that it is waited for.
fn next(queue: &NatsQueue) -> Vec<Claimed> {
    queue.claim(1, Duration::from_secs(1)).unwrap()
}

#[test]
fn a_transaction_with_a_long_backlog_of_one_key_holds_up_no_other() {
    let Some(server) = Server::start() else { return };
    let queue = server.open("q", &HeldClock::new());
    for number in 0..100 {
        accept(&queue, keyed("orders", &number.to_string(), "k")).unwrap();
    }
    let first = next(&queue);
    assert_eq!(bodies(&first), ["0"]);
    settle(&queue, first[0].id, again(30_000));
    assert!(claim(&queue, 9).is_empty());
    accept(&queue, message("stocks", "a")).unwrap();
    assert_eq!(bodies(&next(&queue)), ["a"]);
}

#[test]
fn the_first_of_a_key_comes_in_however_many_of_its_successors_are_put_by() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open("q", &clock), server.open("q", &clock));
    for number in 0..100 {
        accept(&first, keyed("orders", &number.to_string(), "k")).unwrap();
    }
    assert_eq!(bodies(&next(&first)), ["0"]);
    // some of its successors are put by at the first runtime, and come with it
    assert!(claim(&second, 1).is_empty());
    first.close();
    let mut given = Vec::new();
    while given.is_empty() {
        clock.pass(1_000); // nothing was pulled for so long, because there was too much
        given = claim(&second, 1);
    }
    assert_eq!(bodies(&given), ["0"]);
}

#[test]
fn messages_that_are_put_off_for_long_make_room_for_those_that_are_due() {
    let Some(server) = Server::start() else { return };
    let queue = server.open("q", &HeldClock::new());
    for number in 0..80 {
        accept(&queue, message("orders", &number.to_string())).unwrap();
        let claimed = next(&queue);
        assert_eq!(bodies(&claimed), [number.to_string()]);
        settle(&queue, claimed[0].id, again(3_600_000));
    }
    accept(&queue, message("orders", "new")).unwrap();
    assert_eq!(bodies(&next(&queue)), ["new"]);
    let figures = queue.figures();
    assert_eq!((figures.waiting, figures.running), (81, 1));
}
