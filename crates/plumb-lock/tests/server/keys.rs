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

#[test]
fn a_time_that_ends_sooner_is_for_the_connection_that_took_the_key() {
    let limits = Limits { rows: 9, scan: 10 };
    let (clock, mut tell) = (Still::default(), |_: Event<'_>| {});
    let mut bench = Bench::new(plan(), limits, &clock, &mut tell);
    let (one, two) = (bench.client(), bench.client());
    bench.say(one, "SET k mine NX PX 30000");
    bench.say(one, "SET endless mine NX");
    for line in ["PEXPIRE k 1", "EXPIRE k 29", "EXPIRE k 29 LT", "PEXPIRE k 0", "EXPIRE endless 9"]
    {
        assert_eq!(bench.say(two, line), ":0\r\n", "{line}");
    }
    assert_eq!(bench.say(two, "PTTL k"), ":30000\r\n");
    assert_eq!(bench.say(two, "PTTL endless"), ":-1\r\n");
    assert_eq!(bench.say(two, "EXPIRE k 40"), ":1\r\n", "it ends later");
    assert_eq!(bench.say(one, "PEXPIRE k 1"), ":1\r\n", "its own");
    assert_eq!(bench.say(one, "PTTL k"), ":1\r\n");
}
