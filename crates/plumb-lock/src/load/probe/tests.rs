use super::*;

#[test]
fn what_a_server_says_obeys_no_terminal() {
    assert_eq!(shown(b"ERR \x1b]0;x\x07\x1b[2J of \xff"), "ERR ?]0;x??[2J of \u{fffd}");
}

/// A client in the middle of a load.
fn client(workload: Workload) -> (Probe, Client) {
    let mut probe = Probe::new(
        workload,
        "load".into(),
        Some(&Login { user: None, password: b"hush".to_vec() }),
    );
    let (mut user, mut wire) = (probe.user(0), Greeted::default());
    let mut said = Vec::new();
    while let Some(op) = probe.hello(&mut user, &mut wire, &mut said) {
        assert!(op.tag > 1_000);
    }
    assert!(said.starts_with(b"*2\r\n$4\r\nAUTH\r\n$4\r\nhush\r\n"));
    (probe, user)
}

fn ask(probe: &mut Probe, client: &mut Client, reply: &[u8]) -> Outcome {
    let Next::Send(op) =
        probe.encode(client, &mut Greeted { said: 9, ..Greeted::default() }, &mut Vec::new())
    else {
        panic!("there is more to do");
    };
    let read = probe.decode(
        client,
        &mut Greeted { said: 9, ..Greeted::default() },
        Some(op),
        reply,
        &mut Vec::new(),
    );
    match read {
        Read::Done { consumed, answer, .. } => {
            assert_eq!(consumed, reply.len());
            answer.outcome
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_answer_is_judged() {
    use FailureKind::{Collided, Garbled, Refused};
    let (mut probe, mut user) = client(Workload::Pairs);
    let mut outcome = |reply: &[u8]| ask(&mut probe, &mut user, reply);
    assert_eq!(outcome(b":7\r\n"), Outcome::Ok);
    assert_eq!(outcome(b":1\r\n"), Outcome::Ok);
    assert_eq!(outcome(b"*2\r\n+HELD\r\n:0\r\n"), Outcome::Failed(Collided));
    assert_eq!(outcome(b":0\r\n"), Outcome::Failed(Collided));
    assert_eq!(outcome(b":6\r\n"), Outcome::Failed(Garbled)); // a fence that went back
    assert_eq!(outcome(b"-FULL no room\r\n"), Outcome::Failed(Refused));
    assert_eq!(outcome(b"$1\r\nx\r\n"), Outcome::Failed(Garbled));

    let (mut probe, mut user) = client(Workload::Keys(crate::load::script::Unlock::Delete));
    let mut outcome = |reply: &[u8]| ask(&mut probe, &mut user, reply);
    assert_eq!(outcome(b"+OK\r\n"), Outcome::Ok);
    assert_eq!(outcome(b":1\r\n"), Outcome::Ok);
    assert_eq!(outcome(b"$-1\r\n"), Outcome::Failed(Collided));
}

#[test]
fn a_client_that_fills_is_done_after_its_locks_and_keeps_them() {
    let (mut probe, mut user) = client(Workload::Fill(crate::load::script::Keeper::Plumb, 2));
    let mut said = Vec::new();
    for _ in 0..2 {
        let next =
            probe.encode(&mut user, &mut Greeted { said: 9, ..Greeted::default() }, &mut said);
        assert!(matches!(next, Next::Send(_)));
    }
    assert_eq!(
        probe.encode(&mut user, &mut Greeted { said: 9, ..Greeted::default() }, &mut said),
        Next::Finish
    );
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said.matches("KEEP").count(), 1);
    assert!(said.contains("000000000000") && said.contains("000000000001"));
}

#[test]
fn who_is_interrupted_in_an_order_has_left_something_and_who_has_ended_it_has_not() {
    use crate::load::script::SALES_REQUESTS;

    let left = |asked: u64, answered: u64, connections: u64| {
        let (mut probe, mut user) = client(Workload::Sales);
        for _ in 1..connections {
            probe.encode(&mut user, &mut Greeted::default(), &mut Vec::new());
            probe.hello(&mut user, &mut Greeted::default(), &mut Vec::new());
        }
        let (mut wire, mut out) = (Greeted { said: 9, ..Greeted::default() }, Vec::new());
        let ops: Vec<Op> = (0..asked)
            .map(|_| match probe.encode(&mut user, &mut wire, &mut out) {
                Next::Send(op) => op,
                next => panic!("{next:?}"),
            })
            .collect();
        for op in ops.into_iter().take(usize::try_from(answered).unwrap()) {
            let reply = match &user.steps[usize::from(op.tag)].expect {
                Expect::Count(count) => format!(":{count}\r\n"),
                _ => ":1\r\n".into(),
            };
            probe.decode(&mut user, &mut wire, Some(op), reply.as_bytes(), &mut out);
        }
        probe.leave(user);
        probe.left().iter().map(|it| it.life).collect::<Vec<_>>()
    };
    let order = SALES_REQUESTS;
    assert!(left(0, 0, 1).is_empty());
    assert_eq!(left(12, 12, 1), [1], "it has inherited");
    assert!(left(order, order, 1).is_empty());
    assert_eq!(left(order, order - 1, 1), [1], "nobody knows of the last one");
    assert!(left(2 * order, 2 * order, 1).is_empty());
    assert_eq!(left(order + 13, order, 1), [1], "the next one was begun");
    assert_eq!(left(order, order, 3), [3], "its lost connections had begun some");
}

#[test]
fn locks_that_were_released_are_counted_and_who_lacks_some_is_told() {
    let (mut probe, mut user) = client(Workload::Clear(crate::load::script::Keeper::Plumb, 500));
    assert_eq!(ask(&mut probe, &mut user, b":205\r\n"), Outcome::Failed(FailureKind::Collided));
    let said = probe.complaint().unwrap();
    assert_eq!(said, "released 205 locks of one owner, who was to hold 500");
    let mut other = probe.user(1);
    let _ = probe.hello(&mut other, &mut Greeted::default(), &mut Vec::new());
    assert_eq!(ask(&mut probe, &mut other, b":500\r\n"), Outcome::Ok);
    assert_eq!(probe.released(), 705);
}
