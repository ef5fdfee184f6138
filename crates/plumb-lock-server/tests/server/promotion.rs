//! A replica that takes over.

use plumb_engine::{ConnectionId, Ended, Service as _};
use plumb_lock_table::table::Limits;

use crate::pair::Pair;

#[test]
fn a_connection_that_is_being_made_at_a_promotion_tells_the_old_primary() {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let replica = &mut pair.replica;
    replica.pass(1_000_000_000);
    replica.turn();
    let (_, mut there) = replica.server.dial().expect("it wants to follow again");
    let id = ConnectionId::new(there, 1);
    replica.server.accepted(&mut there, id);
    let operator = replica.client();
    assert!(replica.say(operator, "REPLICA PROMOTE").starts_with(':'));
    let mut greeting = Vec::new();
    replica.server.connected(&mut there, &mut greeting);
    assert!(String::from_utf8_lossy(&greeting).contains("FENCE"), "{greeting:?}");
}

#[test]
fn an_old_primary_whose_host_does_not_answer_is_told_again_and_again() {
    let mut pair = Pair::new(Limits::of_kib(64));
    pair.connect();
    pair.join();
    pair.cut();
    let replica = &mut pair.replica;
    let operator = replica.client();
    assert!(replica.say(operator, "REPLICA PROMOTE").starts_with(':'));
    for _ in 0..3 {
        replica.pass(1_000_000_000);
        replica.turn();
        let (_, mut there) = replica.server.dial().expect("it wants to tell");
        let id = ConnectionId::new(there, 1);
        replica.server.accepted(&mut there, id);
        replica.turn();
        assert!(replica.server.push(&mut Vec::new()).is_none());
        assert!(replica.server.drop_next().is_none(), "it may still be answered");
        let late = replica.server.wake_at().expect("it does not wait for ever");
        replica.clock.set(late);
        replica.turn();
        assert!(replica.server.push(&mut Vec::new()).is_none());
        assert!(replica.server.drop_next() == Some(id), "nobody has answered");
        replica.server.close(there, Ended::ByService);
    }
}
