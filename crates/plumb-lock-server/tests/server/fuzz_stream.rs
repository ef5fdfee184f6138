//! Whatever two servers say to each other, none of them falls over, and a replica says that it is in
//! sync only with what a primary can have said.

use plumb_engine::{ConnectionId, Ended, Endpoint, Peer, Service as _};
use plumb_lock_pair::replication::{Frame, VERSION};
use plumb_lock_server::{Event, LockServer, ReplicationPlan, ServerPlan};
use plumb_lock_table::journal::{Notes, Record, Restored};
use plumb_lock_table::table::{Change, Held, Limits, Lock, Scope};
use plumb_wire::resp;

use crate::numbers::Numbers;
use crate::waiting::{Still, plan};

const ROUNDS: u64 = 3_000;

fn records(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..numbers.below(4) {
        let (owner, argument) = (numbers.one(&["a", "b", ""]), numbers.one(&["1", "2", "@"]));
        let lock = Lock {
            owner: owner.as_bytes(),
            user: b"",
            since_ms: numbers.below(9),
            name: numbers.one(&["T", ""]).as_bytes(),
            argument: argument.as_bytes(),
            mode: numbers.one(&[Held::S, Held::E, Held::X]),
            dialog: u16::from(numbers.below(2) == 1),
            update: u16::from(numbers.below(2) == 1),
            backup: false,
            fence: numbers.one(&[0, 7, u64::MAX]),
        };
        let owner = owner.as_bytes();
        match numbers.below(7) {
            0 => Record::Life { owner, ms: numbers.one(&[0, 5, u64::MAX]) },
            1 => Record::Key { key: argument.as_bytes(), ms: 5 },
            2 => Record::Change(Change::Cleared { owner, scope: Scope::Both, backup: false }),
            3 => numbers.one(&[Record::Mark, Record::End, Record::Fence(3)]),
            _ => Record::Change(Change::Lock(lock)),
        }
        .push_bare(&mut bytes);
    }
    if numbers.below(9) == 0 {
        bytes.pop();
    }
    bytes
}

/// Some frames, mostly in an order that makes sense, some of them damaged.
fn stream(numbers: &mut Numbers) -> Vec<u8> {
    let (mut bytes, mut position) = (Vec::new(), 0);
    for at in 0..1 + numbers.below(9) {
        let records = records(numbers);
        let frame = match if at == 0 { numbers.below(3) } else { numbers.below(13) } {
            0 | 1 => Frame::Snapshot {
                epoch: numbers.below(4),
                stream: 1,
                position,
                fence: numbers.below(9),
            },
            2 => Frame::Continue { epoch: numbers.below(4) },
            3 | 4 => Frame::Slice(&records),
            5 => Frame::Complete,
            6..9 => {
                let from = position;
                position += records.len() as u64;
                Frame::Changes { from, last: numbers.below(4) > 0, records: &records }
            }
            9 => Frame::InSync,
            10 => Frame::Ping { at: numbers.below(300) },
            11 => Frame::Pong { at: numbers.below(300) },
            _ => Frame::Received { position: numbers.below(300), sliced: numbers.below(300) },
        };
        frame.push(&mut bytes);
    }
    if numbers.below(4) == 0 {
        let at = usize::try_from(numbers.below(bytes.len() as u64)).expect("few");
        bytes[at] ^= 1 << numbers.below(8);
    }
    bytes
}

fn server<'a>(
    replica: bool,
    clock: &'a Still,
    tell: &'a mut (dyn FnMut(Event<'_>) + Send),
) -> LockServer<'a, &'a Still> {
    let primary = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
    let primary = if replica { vec![primary] } else { Vec::new() };
    let replication = ReplicationPlan { primary, ..ReplicationPlan::default() };
    let plan = ServerPlan { replication, ..plan() };
    let restored: Restored = Restored::empty(Limits { rows: 4, scan: 10 });
    LockServer::new(plan, (restored, Notes::none()), clock, tell)
}

/// Lets a server hear bytes in pieces until it wants no more; what it said.
fn hear(
    server: &mut LockServer<'_, &Still>,
    conn: &mut usize,
    bytes: &[u8],
    numbers: &mut Numbers,
) -> Vec<u8> {
    let (mut out, mut kept, mut rest) = (Vec::new(), Vec::new(), bytes);
    while !rest.is_empty() {
        let count = usize::try_from(1 + numbers.below(rest.len() as u64)).expect("few");
        kept.extend_from_slice(&rest[..count]);
        rest = &rest[count..];
        let served = server.serve(conn, &kept, &mut out);
        kept.drain(..served.consumed);
        server.due(1);
        let mut pushed = Vec::new();
        while server.push(&mut pushed).is_some() {}
        server.settle().expect("nothing is written");
        if served.close {
            break;
        }
    }
    out
}

#[test]
fn a_replica_hears_anything() {
    let mut followed = 0;
    for seed in 0..ROUNDS {
        let (mut numbers, clock, mut tell) =
            (Numbers::new(seed), Still::default(), |_: Event<'_>| {});
        let mut server = server(true, &clock, &mut tell);
        server.due(1);
        let (_, mut conn) = server.dial().expect("it dials at once");
        server.accepted(&mut conn, ConnectionId::new(7, 0));
        let mut greeting = Vec::new();
        server.connected(&mut conn, &mut greeting);
        assert!(greeting.starts_with(b"*8\r\n$7\r\nREPLICA\r\n"));
        let bytes = [b"+OK\r\n".to_vec(), stream(&mut numbers)].concat();
        followed += u64::from(!hear(&mut server, &mut conn, &bytes, &mut numbers).is_empty());
        server.close(conn, Ended::ByService);
    }
    assert!(followed > ROUNDS / 10, "{followed} answers are no test");
}

#[test]
fn a_primary_hears_anything_of_its_replica() {
    let mut taken = 0;
    for seed in 0..ROUNDS {
        let (mut numbers, clock, mut tell) =
            (Numbers::new(seed), Still::default(), |_: Event<'_>| {});
        let mut server = server(false, &clock, &mut tell);
        let mut conn = server.open(&Peer::Unix).expect("everybody is taken");
        server.accepted(&mut conn, ConnectionId::new(7, 0));
        let mut bytes = Vec::new();
        let number = |numbers: &mut Numbers, of: &[&str]| numbers.one(of).to_owned();
        let version = VERSION.to_string();
        let version = version.as_str();
        let words = [
            "REPLICA".to_owned(),
            "STREAM".to_owned(),
            number(&mut numbers, &[version, version, version, "1", "x"]),
            number(&mut numbers, &["4", "4", "4", "5", "18446744073709551616"]),
            number(&mut numbers, &["1", "2"]),
            number(&mut numbers, &["0", "1", "2"]),
            number(&mut numbers, &["0", "1"]),
            number(&mut numbers, &["0", "9"]),
        ];
        let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        resp::push_command(&mut bytes, &words);
        bytes.extend(stream(&mut numbers));
        let said = hear(&mut server, &mut conn, &bytes, &mut numbers);
        taken += u64::from(said.starts_with(b"+OK"));
        server.close(conn, Ended::ByClient);
    }
    assert!(taken > ROUNDS / 10, "{taken} replicas are no test");
}
