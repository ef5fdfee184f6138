//! Keys of clients of Redis that are set again.

use plumb_lock::Event;
use plumb_lock_table::table::Limits;

use crate::waiting::{Bench, Still, plan};

#[test]
fn a_value_that_is_refused_leaves_the_key_as_it_was() {
    // as many keys as the table has room for
    let limits = Limits { rows: 2, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    assert_eq!(bench.say(one, "SET k1 v NX PX 600000"), "+OK\r\n");
    assert_eq!(bench.say(one, "SET k2 v NX PX 600000"), "+OK\r\n");
    for value in ["", &"x".repeat(65)] {
        let said = bench.say(one, &format!("SET k1 {value} XX PX 1000"));
        assert!(said.starts_with("-ERR the owner must have 1 to 64 bytes"), "{said}");
        assert_eq!(bench.say(two, "GET k1"), "$1\r\nv\r\n");
        assert_eq!(bench.say(two, "PTTL k1"), ":600000\r\n");
        assert_eq!(bench.say(two, "SET k1 other NX"), "$-1\r\n");
    }
    // another value takes the place of the old one where there is no other
    assert_eq!(bench.say(one, "SET k1 w XX PX 1000"), "+OK\r\n");
    assert_eq!(bench.say(one, "SET k2 u XX PX 1000"), "+OK\r\n");
    assert_eq!(bench.say(two, "GET k1"), "$1\r\nw\r\n");
    assert_eq!(bench.say(two, "PTTL k2"), ":1000\r\n");
}
