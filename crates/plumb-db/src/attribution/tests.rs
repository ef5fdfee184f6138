use plumb_db_login::Product;
use plumb_measure::Batches;

use super::*;

/// Ten calls of `ns`, in their order.
fn batches(ns: u64) -> Option<BatchMeans> {
    let mut batches = Batches::default();
    (0..10).for_each(|_| batches.record(ns));
    batches.means()
}

/// Ten calls of 50 ms, of which `queue` is in the pool, 40 on the wire and 3 in the server.
fn known<'a>(
    found: &'a mut Observations,
    response: &'a mut Histogram,
    statement: &'a Statement,
) -> Known<'a> {
    const MS: u64 = 1_000_000;
    for _ in 0..10 {
        response.record(50 * MS);
        found.queue.record(5 * MS);
        found.wire.record(40 * MS);
        found.statement.record(3 * MS + 20_000);
        found.empty.record(20_000);
    }
    Known {
        statement,
        over: Over::Pool,
        methods: Methods { server: "by its clock", wire: "Sync", connect: "making it" },
        log_on_trips: 1,
        peculiar: None,
        intermediary: None,
        pool: 1,
        callers: 8,
        response,
        batches: batches(50 * MS),
        found,
        observed: 10,
        looks: true,
        handshake: None,
        shortest_ns: 40 * MS,
        echo: None,
        tls: None,
        floor_ns: Some(10_000),
        readings: Vec::new(),
        open: false,
    }
}

#[test]
fn the_parts_add_up_to_the_whole() {
    let (mut found, mut response) = (Observations::default(), Histogram::new());
    let statement = Statement::trivial(Product::Postgres);
    let of = attribute(known(&mut found, &mut response, &statement)).unwrap();
    let parts: Vec<(PartKind, i64)> =
        of.parts.iter().map(|part| (part.kind, part.time.mean_ns / 1_000_000)).collect();
    let expected =
        [(PartKind::Server, 3), (PartKind::Wire, 40), (PartKind::Queue, 5), (PartKind::Rest, 2)];
    assert_eq!(parts, expected);
    let sum: i64 = of.parts.iter().map(|part| part.time.mean_ns).sum();
    assert_eq!(sum, of.client.mean_ns);
}

#[test]
fn what_stands_out_is_named_with_what_to_do() {
    let (mut found, mut response) = (Observations::default(), Histogram::new());
    let statement = Statement::trivial(Product::Postgres);
    let mut near = Histogram::new();
    near.record(50_000);
    let known = Known { handshake: Some(&near), ..known(&mut found, &mut response, &statement) };
    let advice = attribute(known).unwrap().advice;
    assert_eq!(advice.len(), 2, "{advice:?}");
    assert!(advice[0].finding.starts_with("80 % of the time, 40.0 ms"), "{advice:?}");
    assert!(advice[1].next.contains("a proxy"), "{advice:?}");
}

#[test]
fn what_stands_before_the_server_is_in_the_wire_and_asked_first() {
    let statement = Statement::trivial(Product::Postgres);
    let of = |handshake_ns: Option<u64>, intermediary| {
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let mut near = Histogram::new();
        handshake_ns.into_iter().for_each(|ns| near.record(ns));
        let handshake = handshake_ns.map(|_| &near);
        let known = known(&mut found, &mut response, &statement);
        attribute(Known { handshake, intermediary, ..known }).unwrap()
    };
    let pooled = of(Some(50_000), Some(Intermediary::Pooler));
    assert_eq!(pooled.intermediary, Some(Intermediary::Pooler));
    let first = &pooled.advice[0];
    assert!(first.finding.ends_with("waiting for one of its connections included"), "{first:?}");
    assert!(
        first.next.contains("SHOW POOLS") && !first.next.contains("plumb net ping"),
        "{first:?}"
    );
    let unknown = of(None, Some(Intermediary::Pooler));
    assert_eq!(unknown.advice[0].next, first.next);
    let far = of(Some(40_000_000), Some(Intermediary::Pooler));
    assert!(far.advice[0].next.contains("plumb net ping"), "{far:?}");
    let hidden = of(Some(50_000), None);
    assert_eq!(hidden.intermediary, Some(Intermediary::Unknown));
    assert_eq!(hidden.advice[0].next, hidden.advice[1].next, "said once");
    let open = of(Some(40_000_000), None);
    assert_eq!(open.intermediary, None);
    assert!(open.advice[0].next.contains("plumb net ping"), "{open:?}");
}

#[test]
fn a_few_slow_messages_are_no_proxy_and_one_quick_message_is_none() {
    const MS: u64 = 1_000_000;
    let statement = Statement::trivial(Product::Postgres);
    let of = |messages: u64, shortest_ns| {
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let mut near = Histogram::new();
        near.record(50_000);
        let known = known(&mut found, &mut response, &statement);
        let mut few = Observations::default();
        few.statement.clone_from(&known.found.statement);
        (0..messages).for_each(|_| few.wire.record(40 * MS));
        let found = &few;
        attribute(Known { handshake: Some(&near), shortest_ns, found, ..known }).unwrap()
    };
    assert_eq!(of(10, 40 * MS).intermediary, Some(Intermediary::Unknown));
    assert_eq!(of(9, 40 * MS).intermediary, None, "a server may be busy for so long");
    assert_eq!(of(10, 60_000).intermediary, None, "one of the run was as quick as a handshake");
}

#[test]
fn looks_that_met_another_server_than_the_calls_leave_no_share() {
    let statement = Statement::trivial(Product::Postgres);
    let (mut found, mut response) = (Observations::default(), Histogram::new());
    let mut known = known(&mut found, &mut response, &statement);
    // calls of 59 us, beside messages of 40 ms
    let mut quick = Histogram::new();
    (0..10).for_each(|_| quick.record(59_000));
    known.response = &quick;
    known.batches = batches(59_000);
    let of = attribute(known).unwrap();
    assert!(of.parts.iter().all(|part| part.kind != PartKind::Rest), "{of:?}");
    let why = of.cannot_be_split.as_deref().unwrap();
    assert!(why.ends_with("add up to more than the whole, 48.0 ms of 59.0 us"), "{why}");
    assert!(of.advice[0].finding.starts_with("The time cannot be split: "), "{of:?}");
    assert!(of.advice.iter().all(|advice| !advice.finding.contains('%')), "{of:?}");
}

/// Twenty looks and 600 calls of which one in sixty is gone for `gone` longer.
fn of_a_busy_machine(gone: u64) -> Attribution {
    const US: u64 = 1_000;
    let statement = Statement::trivial(Product::Postgres);
    let (mut found, mut response) = (Observations::default(), Histogram::new());
    let mut batches = Batches::default();
    let mut call = |ns| {
        response.record(ns);
        batches.record(ns);
    };
    (0..600).for_each(|at| call(200 * US + at % 7 * US + u64::from(at % 60 == 0) * gone));
    for at in 0..20 {
        let gone = u64::from(at == 11) * gone;
        found.wire.record(120 * US + at % 5 * US + gone);
        found.statement.record(65 * US + at % 3 * US + gone);
        found.empty.record(10 * US + at % 2 * US);
    }
    let (mut other, mut none) = (Observations::default(), Histogram::new());
    attribute(Known {
        over: Over::Kept,
        callers: 1,
        response: &response,
        batches: batches.means(),
        found: &found,
        observed: 40,
        shortest_ns: 120 * US,
        floor_ns: None,
        ..known(&mut other, &mut none, &statement)
    })
    .unwrap()
}

#[test]
fn where_a_few_calls_spoil_the_means_the_faster_nine_tenths_are_told() {
    assert_eq!(of_a_busy_machine(0).faster, None, "all are known");
    let of = of_a_busy_machine(9_000_000);
    assert!(of.cannot_be_split.is_some(), "{of:?}");
    let faster = of.faster.as_ref().unwrap();
    let sum: i64 = faster.parts.iter().map(|part| part.time.mean_ns).sum();
    assert_eq!(sum, faster.client.mean_ns);
    let findings: Vec<&str> = of.advice.iter().map(|it| it.finding.as_str()).collect();
    assert_eq!(findings.len(), 3, "{findings:?}");
    let start = " % of the time of the faster nine tenths of the calls, ";
    assert!(findings[0].contains(start) && findings[1].contains(start), "{findings:?}");
    let slowest = "The slowest tenth of the calls takes 48 % of the time of all, and that is \
                   not told apart: of all calls, the parts are not known well enough";
    assert!(findings[2].starts_with(slowest), "{findings:?}");
    assert!(of.advice[2].next.contains("few calls only"), "{:?}", of.advice[2]);
    let long = of_a_busy_machine(90_000_000).advice.pop().unwrap().next;
    assert!(long.starts_with("Calls of up to 90."), "{long}");
}

#[test]
fn nothing_is_attributed_without_a_look() {
    let (found, mut response) = (Observations::default(), Histogram::new());
    response.record(1);
    let statement = Statement::trivial(Product::Postgres);
    let mut other = Observations::default();
    let mut none = Histogram::new();
    let mut empty = known(&mut other, &mut none, &statement);
    empty.found = &found;
    assert_eq!(attribute(empty), None);
}

#[test]
fn a_connection_over_a_long_way_is_not_called_a_slow_login() {
    const MS: u64 = 1_000_000;
    let advice_of = |log_on_trips: u32, wire_ns: u64, connect_ns: u64, startup_ns: u64| {
        let statement = Statement::trivial(Product::Postgres);
        let (mut found, mut response) = (Observations::default(), Histogram::new());
        let whole = connect_ns + wire_ns;
        for _ in 0..10 {
            response.record(whole);
            found.wire.record(wire_ns);
            found.connect.record(connect_ns);
            found.startup.record(startup_ns);
            found.statement.record(30_000);
            found.empty.record(20_000);
        }
        let (mut others, mut quick) = (Observations::default(), Histogram::new());
        let pooled = known(&mut others, &mut quick, &statement);
        let batches = batches(whole);
        let (over, response, found) = (Over::Connect, &response, &found);
        let known = Known { over, response, batches, found, log_on_trips, ..pooled };
        connect(&known)
    };
    let advice = |wire_ns, connect_ns, startup_ns| advice_of(1, wire_ns, connect_ns, startup_ns);
    // one round trip of 40 ms, which a proxy's handshake does not take
    let said = advice(40 * MS, 44 * MS, 43 * MS);
    assert!(said.ends_with("Most of it is the way to the server and back, 40.0 ms."), "{said}");
    // a handshake and two round trips of 10 ms, and what took the server 45 ms behind one
    let said = advice(10 * MS, 32 * MS, 22 * MS);
    assert!(said.ends_with("It takes several round trips."), "{said}");
    let said = advice(10 * MS, 65 * MS, 55 * MS);
    assert!(said.ends_with("the password, and the round trips for that."), "{said}");
    let said = advice(MS / 10, 5 * MS, 5 * MS - MS / 10);
    assert!(said.ends_with("starting a process, checking the password."), "{said}");
    // TLS was asked for first
    let said = advice_of(2, 40 * MS, 89 * MS, 88 * MS);
    assert!(said.ends_with("Most of it is the way: 2 round trips of 40.0 ms, or more."), "{said}");
    let said = advice_of(2, 10 * MS, 85 * MS, 84 * MS);
    assert!(said.ends_with("starting a process, checking the password."), "{said}");
}
