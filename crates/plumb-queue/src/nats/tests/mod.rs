//! The queue against a NATS server of the test's own. Without one they say so and pass.

mod cut;
mod killed;
mod put_by;

use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::super::model::{Pair, Step, step};
use super::super::testing::{
    HeldClock, ServerProcess, accept, again, bodies, claim, dead, flush, kept, keyed, message,
    not_tried, retries_meet_the_limit, settle,
};
use super::super::{Ending, Presence, State, SystemClock};
use super::*;

const LEASE_MS: u64 = 60_000;

/// A server of this test.
struct Server {
    process: ServerProcess,
}

impl Server {
    /// `None` where none is installed, which is said.
    fn start() -> Option<Self> {
        if !installed() {
            not_tried("there is no nats-server of 2.10 or later in PATH");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let process = ServerProcess::start(folder, command, "Server is ready");
        Some(Self { process })
    }

    /// What its consumers had given out when it was killed, it had not written down yet.
    fn forget_deliveries(&self) {
        let mut files: Vec<PathBuf> = vec![self.process.folder.path().join("jetstream")];
        let mut forgotten = 0;
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.file_name().is_some_and(|name| name == "o.dat") {
                std::fs::remove_file(path).unwrap();
                forgotten += 1;
            }
        }
        assert!(forgotten > 0, "there is no state of a consumer");
    }

    fn target(&self, name: &str) -> Target {
        let url = format!("nats://127.0.0.1:{}", self.process.port);
        Target { url, name: name.into(), log_on: LogOn::Nobody }
    }

    fn open(&self, name: &str, clock: &Arc<HeldClock>) -> NatsQueue {
        let lease = Span::from_ms(LEASE_MS);
        // the server sets the bytes of each stream aside
        let limits = QueueLimits { bytes: 16 << 20, ..QueueLimits::default() };
        NatsQueue::open_at(&self.target(name), limits, lease, clock.clone()).unwrap()
    }
}

/// What starts a server.
fn command(folder: &Path, port: u16) -> Command {
    let config = format!(
        "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
        folder.display()
    );
    let file = folder.join("server.conf");
    std::fs::write(&file, config).unwrap();
    let mut command = Command::new("nats-server");
    command.arg("-c").arg(file);
    command
}

/// In a version that the queue takes, as in `nats-server: v2.10.1`.
fn installed() -> bool {
    let Ok(asked) = Command::new("nats-server").arg("--version").output() else { return false };
    let said = String::from_utf8(asked.stdout).unwrap();
    let numbers = said.trim().rsplit('v').next().unwrap().split('.');
    let numbers: Vec<u32> = numbers.map_while(|number| number.parse().ok()).take(2).collect();
    numbers >= vec![2, 10]
}

#[test]
fn a_url_that_is_none_or_holds_a_password_is_refused() {
    let parse = |url, secret| Target::parse(url, secret).map(|it| (it.url, it.log_on));
    assert!(matches!(parse("nats://q:4222", None), Ok((_, LogOn::Nobody))));
    assert!(matches!(parse("nats://q:4222", Some("t")), Ok((_, LogOn::Token(_)))));
    let (url, log_on) = parse("nats://flow@q:4222", Some("p")).unwrap();
    assert_eq!(url, "nats://q:4222");
    assert!(matches!(log_on, LogOn::User(user, _) if user == "flow"));
    for url in ["nats://", "http://q", "nats://q/x", "nats://flow@q", "nats://flow:secret@q"] {
        let refused = parse(url, None).unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[test]
fn what_of_a_foreign_stream_endangers_messages_is_said() {
    let Some(server) = Server::start() else { return };
    let threads = Threads::new().unwrap();
    let url = format!("nats://127.0.0.1:{}", server.process.port);
    threads.block_on(async {
        use async_nats::jetstream::stream::{Config, RetentionPolicy, StorageType};
        let client = async_nats::connect(url).await.unwrap();
        let config = Config {
            name: "q_WAITING".into(),
            subjects: vec!["q.waiting.>".into()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::Memory,
            max_age: Duration::from_secs(60),
            max_messages: 7,
            ..Config::default()
        };
        async_nats::jetstream::new(client).create_stream(config).await.unwrap();
    });
    let queue = server.open("q", &HeldClock::new());
    for said in ["IN MEMORY", "OLDER THAN 60 s", "OLDEST MESSAGES AWAY", "at most 7 messages"] {
        assert!(queue.in_force().contains(said), "{said} in {}", queue.in_force());
    }
}

#[test]
fn the_queue_in_nats_does_what_the_model_does() {
    let Some(server) = Server::start() else { return };
    let config =
        ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
    let count = std::cell::Cell::new(0);
    let forward = step().prop_filter("its clock is that of hosts that agree", |step| {
        !matches!(step, Step::SetBack(_))
    });
    TestRunner::new(config)
        .run(&prop::collection::vec(forward, 1..60), |steps| {
            count.set(count.get() + 1);
            let name = format!("q{}", count.get());
            Pair::new(|clock| Box::new(server.open(&name, clock))).run(steps)
        })
        .unwrap();
}

#[test]
fn two_runtimes_share_the_work_and_one_that_ends_leaves_its_messages() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open("q", &clock), server.open("q", &clock));
    accept(&first, keyed("stocks", "a", "k")).unwrap();
    accept(&second, keyed("stocks", "b", "k")).unwrap();
    let mine = claim(&first, 2);
    assert_eq!(bodies(&mine), ["a"]);
    second.claim(9, Duration::ZERO).unwrap();
    assert!(claim(&second, 9).is_empty(), "b waits for a, wherever that is");
    first.close();
    assert_eq!(bodies(&claim(&second, 9)), ["a"]);
}

#[test]
fn runtimes_agree_on_the_id_of_their_queue_and_one_that_is_made_anew_has_another() {
    let Some(mut server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open("q", &clock), server.open("q", &clock));
    let id = first.id();
    assert_eq!(second.id(), id);
    assert_ne!(server.open("other", &clock).id(), id);
    drop((first, second));
    server.process.kill();
    server.process.again();
    let queue = server.open("q", &clock);
    assert_eq!(queue.id(), id);
    let shared = Arc::clone(&queue.shared);
    queue.wait(async move { shared.work.streams.delete_waiting().await }).unwrap();
    assert_ne!(server.open("q", &clock).id(), id);
}

#[test]
fn runtimes_know_each_other_and_who_is_lost() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let (first, second) = (server.open("q", &clock), server.open("q", &clock));
    let seen = |queue: &NatsQueue| -> Vec<Presence> {
        queue.runtimes().unwrap().iter().map(|runtime| runtime.presence).collect()
    };
    assert_eq!(seen(&first), [Presence::Own, Presence::Heard]);
    assert_eq!(seen(&second), [Presence::Heard, Presence::Own]);
    clock.pass(LEASE_MS + 1);
    assert_eq!(seen(&first), [Presence::Own, Presence::Lost]);
    second.close();
    let left = first.runtimes().unwrap();
    assert_eq!((left.len(), left[0].process), (1, u64::from(std::process::id())));
}

#[test]
fn what_is_full_says_so_and_takes_more_when_there_is_room() {
    let Some(server) = Server::start() else { return };
    let limits = QueueLimits { messages: 2, ..QueueLimits::default() };
    let lease = Span::from_ms(LEASE_MS);
    let queue = NatsQueue::open_at(&server.target("q"), limits, lease, HeldClock::new()).unwrap();
    accept(&queue, message("orders", "1")).unwrap();
    accept(&queue, message("orders", "2")).unwrap();
    let refused = accept(&queue, message("orders", "3")).unwrap_err();
    assert!(matches!(refused, QueueError::Full { waiting: 2, .. }), "{refused}");
    let claimed = claim(&queue, 1);
    settle(&queue, claimed[0].id, Ending::Done);
    accept(&queue, message("orders", "3")).unwrap();
    assert!(queue.in_force().contains("at most 2 messages"), "{}", queue.in_force());
    assert!(queue.in_force().contains("sync_interval"), "{}", queue.in_force());
    drop(queue);
    let target = server.target("other");
    let queue = NatsQueue::open_at(&target, limits, lease, HeldClock::new()).unwrap();
    retries_meet_the_limit(&queue);
}

#[test]
fn a_server_that_was_killed_has_what_it_had_accepted() {
    let Some(mut server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open("q", &clock);
    for number in 0..20 {
        accept(&queue, message("orders", &number.to_string())).unwrap();
    }
    let claimed = claim(&queue, 3);
    settle(&queue, claimed[0].id, again(5_000));
    settle(&queue, claimed[1].id, dead());
    server.process.kill();
    let done = Settled { id: claimed[2].id, ending: Ending::Done, kept: None };
    queue.settle(vec![done]).unwrap();
    server.process.again();
    flush(&queue); // returns once the settlement before it came through
    let figures = queue.figures();
    assert_eq!((figures.waiting, figures.failed, figures.running), (18, 1, 0));
    drop(queue);
    let queue = server.open("q", &clock);
    assert_eq!(claim(&queue, 99).len(), 17, "one is not due yet");
    clock.pass(5_000);
    let late = claim(&queue, 99);
    assert_eq!((late.len(), late[0].id, late[0].failures), (1, claimed[0].id, 1));
}

#[test]
fn a_key_is_known_by_a_server_that_was_killed_after_its_message_had_ended() {
    let Some(mut server) = Server::start() else { return };
    let queue = server.open("q", &HeldClock::new());
    let sent = |key: &str| Message { idempotency_key: Some(key.into()), ..message("orders", key) };
    let first: Vec<ExecutionId> = ["done", "dead", "dropped", "waits"]
        .map(|key| accept(&queue, sent(key)).unwrap().id)
        .into();
    let claimed = claim(&queue, 2);
    settle(&queue, claimed[0].id, Ending::Done);
    settle(&queue, claimed[1].id, dead());
    flush(&queue);
    let dropped = Filter { id: Some(first[2]), most: 1, ..Filter::default() };
    assert_eq!(queue.forget(&dropped).unwrap(), 1);
    server.process.kill();
    server.process.again();
    flush(&queue);
    for (key, id) in ["done", "dead", "dropped", "waits"].into_iter().zip(first) {
        let again = (0..10).find_map(|_| accept(&queue, sent(key)).ok()).unwrap();
        assert_eq!((again.id, again.repeated), (id, true), "{key}");
    }
}

#[test]
fn a_server_that_forgot_what_it_gave_out_learns_how_that_ended() {
    let Some(mut server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open("q", &clock);
    for number in 0..3 {
        accept(&queue, message("orders", &number.to_string())).unwrap();
    }
    let claimed = claim(&queue, 3);
    settle(&queue, claimed[0].id, again(5_000));
    flush(&queue);
    server.process.kill();
    server.forget_deliveries();
    server.process.again();
    settle(&queue, claimed[1].id, Ending::Done);
    flush(&queue);
    let figures = queue.figures();
    assert_eq!((figures.waiting, figures.failed, figures.running), (2, 0, 1));
    drop(queue);
    let queue = server.open("q", &clock);
    assert_eq!(bodies(&claim(&queue, 99)), ["2"], "0 is not due yet, 1 is done");
    clock.pass(5_000);
    let late = claim(&queue, 99);
    assert_eq!((late.len(), late[0].id, late[0].failures), (1, claimed[0].id, 1));
}

#[test]
fn executions_are_noted_while_there_is_room_and_all_that_expired_goes() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open("q", &clock);
    let note = || {
        let settled =
            Settled { id: queue.next_id(), ending: Ending::Done, kept: kept("trace", 1_000) };
        queue.note(message("orders", "1"), settled).unwrap();
    };
    (0..600).for_each(|_| note());
    flush(&queue);
    let held = || {
        let shared = Arc::clone(&queue.shared);
        let info = async move { shared.work.streams.done.get_info().await.map_err(store) };
        queue.wait(info).unwrap().state.messages
    };
    assert_eq!((held(), queue.figures().notes_left_out), (600, 0));
    while queue.shared.notes.enter(0) {}
    note();
    flush(&queue);
    assert_eq!((held(), queue.figures().notes_left_out), (600, 2));
    clock.pass(1_000);
    let shared = Arc::clone(&queue.shared);
    queue.wait(async move { shared.clean(&mut 1).await }).unwrap();
    assert_eq!(held(), 0);
}

#[test]
fn executions_of_the_queue_and_beside_it_are_listed_by_the_time_they_were_accepted() {
    let Some(server) = Server::start() else { return };
    let clock = HeldClock::new();
    let queue = server.open("q", &clock);
    let note = || {
        let id = queue.next_id();
        let settled = Settled { id, ending: dead(), kept: kept("trace", 60_000) };
        queue.note(message("orders", "beside"), settled).unwrap();
        clock.pass(1_000);
        id
    };
    let fail = || {
        let id = accept(&queue, message("orders", "queued")).unwrap().id;
        assert_eq!(claim(&queue, 9).len(), 1);
        settle(&queue, id, dead());
        clock.pass(1_000);
        id
    };
    let all = [note(), fail(), note(), fail(), note()];
    flush(&queue);
    let before = |before, most| {
        let filter = Filter { state: Some(State::Failed), before, most, ..Filter::default() };
        let found = queue.list(&filter).unwrap();
        found.iter().map(|one| all.iter().position(|id| *id == one.id).unwrap()).collect()
    };
    let found: Vec<usize> = before(None, 9);
    assert_eq!(found, [4, 3, 2, 1, 0], "the newest first");
    let pages: Vec<Vec<usize>> = all.map(|id| before(Some(id), 2)).into();
    assert_eq!(pages, [vec![], vec![0], vec![1, 0], vec![2, 1], vec![3, 2]]);
    // of what is gone meanwhile the next page is known all the same
    for (at, rest) in [(2, vec![1, 0]), (1, vec![0])] {
        let gone = Filter { id: Some(all[at]), most: 1, ..Filter::default() };
        assert_eq!(queue.forget(&gone).unwrap(), 1);
        assert_eq!(before(Some(all[at]), 9), rest);
    }
}

#[test]
fn what_is_done_again_is_in_the_order_of_the_queue_whatever_the_clocks_say() {
    let Some(server) = Server::start() else { return };
    let (ahead, clock) = (HeldClock::new(), HeldClock::new());
    ahead.pass(5_000);
    let (first, second) = (server.open("q", &ahead), server.open("q", &clock));
    accept(&first, message("orders", "1")).unwrap();
    accept(&second, message("orders", "2")).unwrap();
    for one in claim(&first, 9) {
        settle(&first, one.id, dead());
    }
    assert_eq!(first.retry(&Filter { most: 1, ..Filter::default() }).unwrap(), 1);
    assert_eq!(bodies(&claim(&first, 9)), ["1"]);
}

/// A runtime that is lost says nothing: its leases end by the server's clock.
#[test]
fn messages_of_a_lost_runtime_are_taken_over_when_their_leases_end() {
    let Some(server) = Server::start() else { return };
    let open = || {
        let lease = Span::from_ms(1_000);
        let clock = Arc::new(SystemClock);
        NatsQueue::open_at(&server.target("q"), QueueLimits::default(), lease, clock).unwrap()
    };
    let (lost, other) = (open(), open());
    accept(&lost, message("orders", "1")).unwrap();
    assert_eq!(bodies(&claim(&lost, 1)), ["1"]);
    // its threads end as if the process were killed: nothing is given back, no lease renewed
    lock(&lost.threads).take().unwrap().shutdown_background();
    lost.shared.ended.store(true, Ordering::SeqCst);
    let over = other.claim(1, Duration::from_secs(60)).unwrap();
    assert_eq!(bodies(&over), ["1"]);
}
