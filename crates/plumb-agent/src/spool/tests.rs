//! The spool: ledgers that close, whatever happens to the process and the disk.

use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use plumb_engine::Stop;

use super::*;

const ROOMY: SpoolLimits =
    SpoolLimits { messages: 1_000_000, bytes: 1 << 30, when_full: WhenFull::Wait };
/// Small, so that tests fill disks and logs quickly.
const FILE: FileLimits =
    FileLimits { log_bytes: 64 << 10, reserve_bytes: 256 << 10, asked_every: Span::from_ms(5) };

fn bundle(first: u64, changes: u32, bytes: usize) -> Bundle {
    Bundle { first, changes, body: vec![b'x'; bytes], after: at(first + u64::from(changes) - 1) }
}

fn at(at: u64) -> Position {
    Position { at, part: 0, within: 9 }
}

fn put(agent: &AgentSpool, first: u64, changes: u32, bytes: usize) -> oneshot::Receiver<bool> {
    let after = at(first + u64::from(changes) - 1);
    let bundle = Some(bundle(first, changes, bytes));
    agent.put(Put { bundle, position: Some(after), seen: changes.into(), never_seen: 0 })
}

fn open(folder: &Path) -> Spool {
    Spool::open_with(folder, FILE).unwrap()
}

fn take(agent: &AgentSpool, wanted: Wanted, most: usize) -> Taken {
    agent.take(wanted, most, 1 << 20).blocking_recv().unwrap()
}

/// Returns once what was handed over is written, as far as it can be.
fn written(agent: &AgentSpool) {
    take(agent, Wanted::After(i64::MAX >> 1), 1);
}

fn firsts(taken: &Taken) -> Vec<u64> {
    taken.messages.iter().map(|message| message.first).collect()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn more_than_one_transaction_takes_is_put_and_settled_to_the_last() {
    const COUNT: u64 = 6_000;
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("line-1", ROOMY).unwrap();
    // much faster than they are written: groups are full
    let puts: Vec<_> = (1..=COUNT).map(|first| put(&agent, first, 1, 10)).collect();
    for kept in puts {
        assert_eq!(kept.blocking_recv(), Ok(true));
    }
    let taken = agent.take(Wanted::After(0), 10_000, 1 << 30).blocking_recv().unwrap();
    assert_eq!(taken.messages.len() as u64, COUNT);
    taken.messages.iter().for_each(|message| agent.settle(message.id, Ending::Delivered));
    written(&agent);
    let ledger = agent.ledger();
    assert_eq!((ledger.seen, ledger.produced, ledger.delivered), (COUNT, COUNT, COUNT));
    assert_eq!(ledger.main.messages, 0);
}

#[test]
fn what_is_confirmed_is_forgotten_and_the_ledger_closes() {
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("line-1", ROOMY).unwrap();
    for first in [1, 4, 7] {
        assert_eq!(put(&agent, first, 3, 100).blocking_recv(), Ok(true));
    }
    let taken = take(&agent, Wanted::After(0), 10);
    assert_eq!(firsts(&taken), [1, 4, 7]);
    agent.settle(taken.messages[1].id, Ending::Delivered);
    agent.settle(taken.messages[1].id, Ending::Delivered); // twice is once
    let error = "status 422".to_owned();
    agent.settle(taken.messages[2].id, Ending::Failed { attempts: 1, error });
    written(&agent);
    let ledger = agent.ledger();
    assert_eq!((ledger.produced, ledger.delivered, ledger.delivered_messages), (9, 3, 1));
    assert_eq!((ledger.main.messages, ledger.failed.changes, ledger.position), (1, 3, at(9)));
    assert!(ledger.closes());

    // the next process finds the same, and goes on behind it
    drop(spool);
    let spool = open(folder.path());
    let again = spool.agent("line-1", ROOMY).unwrap();
    assert_eq!((again.ledger(), again.number), (ledger, agent.number));
    assert_eq!(again.instance, agent.instance);
    assert_eq!(firsts(&take(&again, Wanted::After(0), 10)), [1]);
}

#[test]
fn agents_do_not_see_each_other() {
    let folder = folder();
    let spool = open(folder.path());
    let (one, two) = (spool.agent("one", ROOMY).unwrap(), spool.agent("two", ROOMY).unwrap());
    put(&two, 1, 1, 10).blocking_recv().unwrap();
    put(&one, 1, 1, 10).blocking_recv().unwrap();
    put(&one, 2, 1, 10).blocking_recv().unwrap();
    assert_eq!(firsts(&take(&one, Wanted::After(0), 10)), [1, 2]);
    let of_two = take(&two, Wanted::After(0), 10);
    assert_eq!(firsts(&of_two), [1]);
    assert_eq!(firsts(&take(&two, Wanted::After(of_two.messages[0].id), 10)), [] as [u64; 0]);
}

#[test]
fn a_message_that_is_put_off_waits_on_disk_until_it_is_due() {
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("a", ROOMY).unwrap();
    for first in 1..=3 {
        put(&agent, first, 1, 10).blocking_recv().unwrap();
    }
    let all = take(&agent, Wanted::After(0), 10);
    agent.settle(all.messages[0].id, Ending::Again { attempts: 2, due_ms: 5_000 });
    agent.settle(all.messages[1].id, Ending::Again { attempts: 1, due_ms: 0 });
    let rest = take(&agent, Wanted::After(0), 10);
    assert_eq!((firsts(&rest), rest.next_due_ms), (vec![2, 3], Some(5_000)));
    assert_eq!(rest.messages[0].attempts, 1);
    assert!(take(&agent, Wanted::Due(4_999), 10).messages.is_empty());
    let due = take(&agent, Wanted::Due(5_000), 10);
    assert_eq!((firsts(&due), due.messages[0].attempts), (vec![1], 2));
}

#[test]
fn a_full_spool_makes_the_source_wait_or_drops_and_counts() {
    let folder = folder();
    let spool = open(folder.path());
    let waits = spool.agent("waits", SpoolLimits { messages: 2, ..ROOMY }).unwrap();
    let drops = SpoolLimits { bytes: 250, when_full: WhenFull::Drop, ..ROOMY };
    let drops = spool.agent("drops", drops).unwrap();
    put(&waits, 1, 1, 10).blocking_recv().unwrap();
    put(&waits, 2, 1, 10).blocking_recv().unwrap();
    let (mut third, mut fourth) = (put(&waits, 3, 1, 10), put(&waits, 4, 1, 10));
    written(&waits);
    assert!(third.try_recv().is_err() && fourth.try_recv().is_err());
    let kept: Vec<bool> =
        (1..=3).map(|n| put(&drops, 2 * n - 1, 2, 100).blocking_recv().unwrap()).collect();
    assert_eq!(kept, [true, true, false]);
    let ledger = drops.ledger();
    assert_eq!((ledger.produced, ledger.dropped, ledger.in_spool()), (6, 2, 4));
    assert!(ledger.closes() && ledger.position == at(6));

    // room for one: the first of those that wait has it
    let first = take(&waits, Wanted::After(0), 1).messages[0].id;
    waits.settle(first, Ending::Delivered);
    assert_eq!(third.blocking_recv(), Ok(true));
    assert!(fourth.try_recv().is_err());
    assert!(waits.ledger().closes());
}

#[test]
fn failed_and_expired_messages_are_listed_sent_again_and_deleted() {
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("a", ROOMY).unwrap();
    for first in 1..=4 {
        put(&agent, first, 1, 10).blocking_recv().unwrap();
    }
    let ids: Vec<i64> =
        take(&agent, Wanted::After(0), 10).messages.iter().map(|it| it.id).collect();
    for id in &ids[..2] {
        let error = "status 422: no order".to_owned();
        agent.settle(*id, Ending::Failed { attempts: 1, error });
    }
    agent.settle(ids[2], Ending::Expired);
    written(&agent);
    let view = SpoolView::open(folder.path()).unwrap();
    let stop = Stop::new().unwrap();
    let of = |queue| Chosen { queue, agent: Some("a".into()), message: None };
    let failed = view.list(&of(QueueName::Failed), 10).unwrap();
    assert_eq!(failed.len(), 2);
    assert_eq!(failed[0].error.as_deref(), Some("status 422: no order"));
    assert_eq!(view.list(&of(QueueName::Expired), 10).unwrap()[0].message, ids[2]);

    // beside a process that sends, and then without one
    let one = Chosen { message: Some(ids[1]), ..of(QueueName::Failed) };
    assert_eq!(view.ask(Asked::Delete, &one, &stop).unwrap(), Some(1));
    assert_eq!(view.ask(Asked::Send, &of(QueueName::Failed), &stop).unwrap(), Some(1));
    let news = agent.news.rewinds.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(news, 2);
    assert_eq!(firsts(&take(&agent, Wanted::After(0), 10)), [1, 4]);
    drop(spool);
    assert_eq!(view.ask(Asked::Send, &of(QueueName::Expired), &stop).unwrap(), Some(1));
    let nobody = Chosen { agent: Some("b".into()), ..of(QueueName::Main) };
    assert_eq!(view.ask(Asked::Delete, &nobody, &stop).unwrap(), Some(0));
    let ledger = view.ledgers().unwrap().remove(0);
    assert_eq!((ledger.main.messages, ledger.deleted, ledger.produced), (3, 1, 4));
    assert!(ledger.closes());
}

/// A spool that looks once for what is asked, and has done so; a view of it, and the requests that
/// wait there.
fn looked_once(folder: &Path) -> (Spool, SpoolView, impl Fn() -> i64) {
    let limits = FileLimits { asked_every: Span::from_ms(3_600_000), ..FILE };
    let spool = Spool::open_with(folder, limits).unwrap();
    written(&spool.agent("a", ROOMY).unwrap());
    let view = SpoolView::open(folder).unwrap();
    let connection = rusqlite::Connection::open(folder.join(super::records::FILE)).unwrap();
    let text = "SELECT count(*) FROM request";
    (spool, view, move || connection.query_row(text, [], |row| row.get(0)).unwrap())
}

const ALL: Chosen = Chosen { queue: QueueName::Failed, agent: None, message: None };

#[test]
fn what_is_asked_of_a_process_that_ends_is_done_without_it() {
    let folder = folder();
    let (spool, view, requests) = looked_once(folder.path());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        tell.send(view.ask(Asked::Delete, &ALL, &Stop::new().unwrap()).unwrap())
    });
    while requests() == 0 {
        std::thread::yield_now();
    }
    drop(spool);
    let done = told.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(done.expect("somebody does it"), Some(0));
    assert_eq!(requests(), 0);
}

#[test]
fn what_is_asked_and_given_up_is_not_done_later() {
    let folder = folder();
    let (_spool, view, requests) = looked_once(folder.path());
    let stop = Stop::new().unwrap();
    stop.ask();
    assert_eq!(view.ask(Asked::Delete, &ALL, &stop).unwrap(), None);
    assert_eq!(requests(), 0);
}

#[test]
fn the_lifetime_of_what_is_sent_again_begins_anew() {
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("a", ROOMY).unwrap();
    put(&agent, 1, 1, 10).blocking_recv().unwrap();
    agent.settle(take(&agent, Wanted::After(0), 1).messages[0].id, Ending::Expired);
    written(&agent);
    let connection = rusqlite::Connection::open(folder.path().join(super::records::FILE)).unwrap();
    connection.execute("UPDATE parked SET at_ms = 5", []).unwrap();
    let view = SpoolView::open(folder.path()).unwrap();
    let expired = Chosen { queue: QueueName::Expired, agent: None, message: None };
    assert_eq!(view.list(&expired, 1).unwrap()[0].at_ms, 5);
    assert_eq!(view.ask(Asked::Send, &expired, &Stop::new().unwrap()).unwrap(), Some(1));
    assert!(take(&agent, Wanted::After(0), 1).messages[0].at_ms > 5);
}

#[test]
fn a_folder_in_use_and_files_of_others_are_refused() {
    let folder = folder();
    let spool = open(folder.path());
    let second = Spool::open_with(folder.path(), FILE).unwrap_err();
    assert!(second.to_string().contains("used by another process"), "{second}");
    drop(spool);
    let path = folder.path().join(super::records::FILE);
    std::fs::write(&path, "something else, long enough to be looked at").unwrap();
    let wrong = Spool::open_with(folder.path(), FILE).unwrap_err();
    assert!(matches!(wrong, SpoolError::Damaged { .. } | SpoolError::Foreign { .. }), "{wrong}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("something else"), "it was changed");
    let missing = SpoolView::open(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, SpoolError::Missing { .. }));
}

#[test]
fn a_ledger_that_does_not_close_is_refused() {
    let folder = folder();
    let spool = open(folder.path());
    let agent = spool.agent("a", ROOMY).unwrap();
    put(&agent, 1, 5, 10).blocking_recv().unwrap();
    drop(spool);
    let connection = rusqlite::Connection::open(folder.path().join(super::records::FILE)).unwrap();
    connection.execute("UPDATE message SET changes = 4", []).unwrap();
    drop(connection);
    let refused = Spool::open_with(folder.path(), FILE).unwrap_err().to_string();
    assert!(refused.contains("agent a made 5 changes"), "{refused}");
}

/// What a history does next.
#[derive(Clone, Debug)]
enum Step {
    Put { agent: usize, changes: u32, bytes: usize },
    Take { agent: usize, most: usize },
    Settle { agent: usize, which: prop::sample::Index, how: u8 },
    Ask { queue: u8, sends: bool },
    Open,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2_usize, 1..9_u32, 1..20_000_usize)
            .prop_map(|(agent, changes, bytes)| Step::Put { agent, changes, bytes }),
        3 => (0..2_usize, 1..5_usize).prop_map(|(agent, most)| Step::Take { agent, most }),
        5 => (0..2_usize, any::<prop::sample::Index>(), 0..4_u8)
            .prop_map(|(agent, which, how)| Step::Settle { agent, which, how }),
        1 => (0..3_u8, any::<bool>()).prop_map(|(queue, sends)| Step::Ask { queue, sends }),
        1 => Just(Step::Open),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every number is in exactly one place after any history.
    #[test]
    fn ledgers_close_after_any_history(steps in prop::collection::vec(step(), 1..60)) {
        let folder = folder();
        let limits = SpoolLimits { messages: 12, bytes: 1 << 20, when_full: WhenFull::Drop };
        let names = ["a", "b"];
        let mut spool = Some(open(folder.path()));
        let admit = |spool: &Option<Spool>| -> Vec<AgentSpool> {
            let spool = spool.as_ref().unwrap();
            names.iter().map(|name| spool.agent(name, limits).unwrap()).collect()
        };
        let mut agents = admit(&spool);
        let mut held: [Vec<Waiting>; 2] = [Vec::new(), Vec::new()];
        let mut produced = [0_u64; 2];
        for step in steps {
            match step {
                Step::Put { agent, changes, bytes } => {
                    let first = produced[agent] + 1;
                    put(&agents[agent], first, changes, bytes).blocking_recv().unwrap();
                    produced[agent] += u64::from(changes);
                }
                Step::Take { agent, most } => {
                    held[agent] = take(&agents[agent], Wanted::After(0), most).messages;
                }
                Step::Settle { agent, which, how } => {
                    if held[agent].is_empty() {
                        continue;
                    }
                    let id = which.get(&held[agent]).id;
                    let ending = match how {
                        0 => Ending::Delivered,
                        1 => Ending::Failed { attempts: 3, error: "no".into() },
                        2 => Ending::Expired,
                        _ => Ending::Again { attempts: 1, due_ms: 77 },
                    };
                    agents[agent].settle(id, ending);
                }
                Step::Ask { queue, sends } => {
                    let queue = [QueueName::Failed, QueueName::Expired, QueueName::Main]
                        [usize::from(queue)];
                    let asked = if sends && queue != QueueName::Main {
                        Asked::Send
                    } else {
                        Asked::Delete
                    };
                    let chosen = Chosen { queue, agent: None, message: None };
                    let view = SpoolView::open(folder.path()).unwrap();
                    view.ask(asked, &chosen, &Stop::new().unwrap()).unwrap();
                }
                Step::Open => {
                    agents.clear();
                    drop(spool.take());
                    spool = Some(open(folder.path())); // which refuses a ledger that is open
                    agents = admit(&spool);
                }
            }
        }
        for (agent, produced) in agents.iter().zip(produced) {
            written(agent);
            let kept = agent.ledger();
            prop_assert!(kept.closes() && kept.produced == produced, "{kept:?}");
            let view = SpoolView::open(folder.path()).unwrap();
            let counted = view.ledgers().unwrap().remove(agent.number);
            prop_assert_eq!(counted, kept);
        }
    }
}
