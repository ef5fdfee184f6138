//! A replica that takes over.

use plumb_engine::{ConnectionId, Service as _};
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
