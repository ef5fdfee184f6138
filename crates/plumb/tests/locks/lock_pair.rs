//! Two lock servers: what one gives out, both have, and the other can take over.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::Path;

use kit::Program;
use kit::authority::Authority;
use kit::locks::{Server, number};
use rustix::process::Signal;
use tempfile::tempdir;

/// A server with a log, and its replica once that is in sync.
struct Pair {
    primary: Server,
    replica: Server,
}

fn start(words: &[&str], folder: &Path) -> Server {
    let words = [&["lock", "serve", "--listen", "127.0.0.1:0"], words].concat();
    Server::ready(Program::start(&words, folder))
}

impl Pair {
    fn start(words: &[&str], folder: &Path) -> Self {
        let primary = start(words, folder);
        let follow = [&["--replica-of", &primary.address], words].concat();
        let replica = start(&follow, folder);
        replica.heard("in sync with the primary");
        Self { primary, replica }
    }
}

/// A figure of a server.
fn figure(server: &Server, name: &str, folder: &Path) -> u64 {
    let words = ["lock", "status", &server.address, "--over", "0s", "--json"];
    let state = kit::plumb(&words, folder).json();
    state["figures"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {state}"))
}

#[test]
fn a_replica_has_every_lock_and_takes_over_when_its_primary_is_killed() {
    let folder = tempdir().expect("a temporary folder");
    let Pair { primary, replica } = Pair::start(&[], folder.path());
    let mut client = primary.client();
    let fence = client.number("ENQ a KEEP E T 1");
    client.number("ENQ b LEASE 600000 E T 2 S U 3");
    client.number("ENQ c E T 3");
    assert_eq!(client.ask("SET key value NX PX 600000").expect("it answers"), ["+OK"]);
    let mut other = replica.client();
    let refused = other.ask("ENQ x E T 9").expect("it answers");
    assert!(refused[0].starts_with("-READONLY") && refused[0].contains(&primary.address));
    assert_eq!(other.number("COUNT b"), 2, "administrators may look");
    assert_eq!(figure(&replica, "in_sync", folder.path()), 1);
    primary.program.signal(Signal::KILL);
    replica.heard("is away");
    let promoted = kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
    assert!(promoted.stdout.contains("gives locks out under epoch"), "{}", promoted.stdout);
    let held = other.ask("ENQ x E T 1").expect("it answers");
    assert_eq!((&*held[0], &*held[2]), ("HELD", "a"));
    assert_eq!(other.ask("EXISTS key").expect("it answers"), [":1"]);
    assert!(other.number("ENQ x E T 9") > fence, "fence numbers go on");
    // its owner lived with a connection to the other server, and comes back to this one
    assert!(other.number("ENQ c E T 3") > 0);
    assert_eq!(other.ask("ROLE").expect("it answers")[0], "master");
}

#[test]
fn an_owner_that_comes_again_without_a_life_of_its_own_has_none_in_the_journal_of_the_replica() {
    let folder = tempdir().expect("a temporary folder");
    let primary = start(&[], folder.path());
    let journal = ["--journal", "j", "--grace", "1s"];
    let follow = [&["--replica-of", &primary.address], &journal[..]].concat();
    let replica = start(&follow, folder.path());
    replica.heard("in sync with the primary");
    let mut client = primary.client();
    client.number("ENQ a KEEP E T 1");
    client.number("ENQ kept KEEP E T 2");
    assert_eq!(client.number("DEQALL a"), 1);
    client.number("ENQ a E T 1");
    assert_eq!(replica.client().number("COUNT a"), 1, "what was acknowledged, it has");
    replica.program.signal(Signal::TERM);
    replica.program.wait();
    let alone = start(&journal, folder.path());
    let mut other = alone.client();
    let [held, kept] =
        ["ENQ x E T 1", "ENQ x E T 2"].map(|line| other.ask(line).expect("it answers")[2].clone());
    assert_eq!((&*held, &*kept), ("a", "kept"));
    assert!(other.number("ENQ x WAIT 60000 E T 1") > 0, "nobody took it up");
    assert_eq!(other.ask("ENQ x E T 2").expect("it answers")[2], "kept");
}

#[test]
fn a_primary_that_was_replaced_gives_nothing_out_and_follows_when_it_is_started_so() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["--without-replica", "stop", "--replica-timeout", "300ms"];
    let Pair { primary, replica } = Pair::start(&words, folder.path());
    let mut old = primary.client();
    old.number("ENQ a KEEP E T 1");
    primary.program.signal(Signal::STOP);
    replica.heard("is away");
    kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
    let mut new = replica.client();
    new.number("ENQ b KEEP E T 2");
    // it was stopped before it could be told, and is asked before it goes on
    old.send(b"ENQ c E T 2\r\n").expect("the kernel takes it");
    primary.program.signal(Signal::CONT);
    let said = old.reply();
    assert!(!said.is_ok_and(|words| number(&words).is_some()), "b has the lock");
    primary.heard("replaced by a server with epoch");
    let mut again = primary.client();
    let refused = again.ask("ENQ c E T 7").expect("it answers");
    assert!(refused[0].starts_with("-READONLY this server was replaced"), "{refused:?}");
    primary.program.signal(Signal::TERM);
    let back = start(&[&["--replica-of", &replica.address], &words[..]].concat(), folder.path());
    back.heard("in sync with the primary");
    let [one, two] = [&mut back.client(), &mut new]
        .map(|client| client.ask("DIGEST 000102030405060708090a0b0c0d0e0f").expect("it answers"));
    assert_eq!(one, two, "both have the same locks");
}

#[test]
fn a_primary_that_is_started_again_as_one_gives_way_to_the_server_that_was_promoted() {
    let folder = tempdir().expect("a temporary folder");
    let interval = ["--journal", "of-primary", "--journal-policy", "interval"];
    for journal in [&[][..], &interval] {
        let primary = start(journal, folder.path());
        let replica = start(&["--replica-of", &primary.address], folder.path());
        replica.heard("in sync with the primary");
        primary.client().number("ENQ a KEEP X T 1");
        primary.program.signal(Signal::KILL);
        primary.program.wait();
        kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
        let mut new = replica.client();
        new.number("ENQ b KEEP X T 2");
        // a new epoch at each start, or that which it gave up before
        for end in [Signal::KILL, Signal::TERM, Signal::TERM] {
            let words = [&["lock", "serve", "--listen", &primary.address], journal].concat();
            let again = Server::ready(Program::start(&words, folder.path()));
            again.heard("replaced by a server with epoch");
            let refused = again.client().ask("ENQ c X T 2").expect("it answers");
            assert!(refused[0].starts_with("-READONLY this server was replaced"), "{refused:?}");
            let words = ["lock", "status", &again.address, "--over", "0s"];
            let status = kit::plumb(&words, folder.path()).with(1);
            assert!(status.stdout.contains("this server was replaced"), "{}", status.stdout);
            again.program.signal(end);
            again.program.wait();
        }
        replica.heard("was started again as a primary");
        let words = ["lock", "status", &replica.address, "--over", "0s"];
        let status = kit::plumb(&words, folder.path()).with(1);
        assert!(status.stdout.contains("no replica has followed"), "{}", status.stdout);
        let words = ["lock", "serve", "--listen", &primary.address, "--replica-of"];
        let words = [&words[..], &[&replica.address], journal].concat();
        let back = Server::ready(Program::start(&words, folder.path()));
        back.heard("in sync with the primary");
        assert_eq!(back.client().number("COUNT a") + back.client().number("COUNT b"), 2);
        let words = ["lock", "status", &replica.address, "--over", "0s"];
        kit::plumb(&words, folder.path()).with(0);
    }
}

#[test]
fn both_servers_that_start_again_as_they_are_configured_keep_what_the_promoted_one_gave_out() {
    for policy in ["continue", "stop"] {
        let folder = tempdir().expect("a temporary folder");
        let words = |journal| ["--journal", journal, "--without-replica", policy];
        let primary = start(&words("one"), folder.path());
        let of = primary.address.clone();
        let follow = [&["--replica-of", &of], &words("two")[..]].concat();
        let replica = start(&follow, folder.path());
        replica.heard("in sync with the primary");
        primary.client().number("ENQ early KEEP X T 1");
        primary.program.signal(Signal::KILL);
        primary.program.wait();
        replica.heard("is away");
        kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
        let mut client = replica.client();
        let fence = client.number("ENQ rightful KEEP X T 2");
        assert_eq!(client.number("DEQALL early"), 1);
        let again = ["lock", "serve", "--listen", &replica.address];
        replica.program.signal(Signal::KILL);
        replica.program.wait();
        let words = [&["lock", "serve", "--listen", &of], &words("one")[..]].concat();
        let primary = Server::ready(Program::start(&words, folder.path()));
        let words = [&again[..], &follow].concat();
        let replica = Server::ready(Program::start(&words, folder.path()));
        replica.heard("which may be missing here");
        primary.heard("nothing is given out here any more");
        let refused = primary.client().ask("ENQ other KEEP X T 2").expect("it answers");
        assert!(refused[0].starts_with("-READONLY"), "{policy}: {refused:?}");
        let mut client = replica.client();
        assert_eq!((client.number("COUNT rightful"), client.number("COUNT early")), (1, 0));
        let promote = ["lock", "promote", &replica.address];
        kit::plumb(&promote, folder.path()).with(2);
        kit::plumb(&[&promote[..], &["--force"]].concat(), folder.path()).with(0);
        assert_eq!(client.ask("ENQ other KEEP X T 2").expect("it answers")[2], "rightful");
        assert!(client.number("ENQ other KEEP X T 1") > fence);
        // as its log says, the other one follows now
        primary.program.signal(Signal::TERM);
        primary.program.wait();
        let words = ["lock", "serve", "--listen", &of, "--journal", "one", "--replica-of"];
        let words = [&words[..], &[&replica.address]].concat();
        let back = Server::ready(Program::start(&words, folder.path()));
        back.heard("in sync with the primary");
        assert_eq!(back.client().number("COUNT rightful"), 1);
    }
}

#[test]
fn without_its_replica_a_server_goes_on_or_waits_and_says_so() {
    let folder = tempdir().expect("a temporary folder");
    for policy in ["continue", "stop"] {
        let words = ["--without-replica", policy, "--replica-timeout", "300ms"];
        let Pair { primary, replica } = Pair::start(&words, folder.path());
        let mut client = primary.client();
        client.number("ENQ a E T 1");
        assert_eq!(figure(&primary, "in_sync", folder.path()), 1);
        replica.program.signal(Signal::STOP);
        // whoever asks before the replica is missed waits until that is decided
        client.send(b"ENQ b E T 2\r\n").expect("the kernel takes it");
        primary.heard("replication suspended");
        let mut other = primary.client();
        assert_eq!(figure(&primary, "in_sync", folder.path()), 0);
        let words = ["lock", "status", &primary.address, "--over", "0s"];
        let status = kit::plumb(&words, folder.path()).with(1);
        let said = other.ask("ENQ c E T 3").expect("it answers");
        if policy == "continue" {
            assert!(status.stdout.contains("replication is suspended"), "{}", status.stdout);
            assert!(number(&said).is_some() && client.reply().is_ok());
        } else {
            assert!(status.stdout.contains("no lock is given out"), "{}", status.stdout);
            assert!(said[0].starts_with("-NOREPLICAS"), "{said:?}");
        }
        replica.program.signal(Signal::CONT);
        primary.heard("replica in sync");
        if policy == "stop" {
            assert!(number(&client.reply().expect("it answers")).is_some(), "both have it now");
        }
        assert_eq!(replica.client().number("COUNT b"), 1);
        assert_eq!(other.number("COUNT c"), u64::from(policy == "continue"));
    }
}

#[test]
fn a_replica_of_another_table_size_is_refused_in_one_line() {
    let folder = tempdir().expect("a temporary folder");
    let primary = start(&["--quiet"], folder.path());
    let words = ["--table-size", "1MiB", "--replica-of", &primary.address];
    let replica = start(&words, folder.path());
    replica.heard("has 2048 rows and this server's 1048576: give both the same --table-size");
    // it asks again, and says nothing new before there is anything
    kit::until(|| (figure(&primary, "connections", folder.path()) > 4).then_some(()));
    primary.program.signal(Signal::KILL);
    let next = replica.program.log_line();
    // it may just have had a connection
    let gone = ["cannot be reached", "is away: the connection ended"];
    assert!(gone.iter().any(|words| next.contains(words)), "{next}");
}

#[test]
fn a_load_with_both_addresses_goes_on_after_its_primary_is_killed() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["--replica-timeout", "300ms"];
    let Pair { primary, replica } = Pair::start(&words, folder.path());
    let both = format!("{},{}", primary.address, replica.address);
    let words =
        ["lock", "load", "pairs", &both, "-c", "4", "--for", "30s", "--warmup", "0s", "--json"];
    let load = Program::start(&words, folder.path());
    let granted = |server: &Server| figure(server, "granted", folder.path());
    kit::until(|| (granted(&primary) > 100).then_some(()));
    primary.program.signal(Signal::KILL);
    replica.heard("is away");
    kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
    kit::until(|| (granted(&replica) > 100).then_some(()));
    load.signal(Signal::INT);
    let ended = load.wait();
    let record = ended.json();
    assert_eq!(record["results"][0]["failures"]["garbled"], serde_json::Value::Null, "{ended:?}");
    assert!(record["results"][0]["operations"].as_u64().is_some_and(|count| count > 150));
}

#[test]
fn each_of_two_servers_is_believed_by_a_certificate_of_its_own_name() {
    let folder = tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "own");
    let (of_name, of_number) = (authority.sign("localhost"), authority.sign("127.0.0.1"));
    let ca = authority.ca();
    let primary = start(&of_name.shown(), folder.path());
    let by_name = primary.address.replace("127.0.0.1", "localhost");
    let more = ["--replica-ca", &ca, "--replica-of", &by_name, "--replica-timeout", "300ms"];
    let follow = [&of_number.shown()[..], &more].concat();
    let replica = start(&follow, folder.path());
    replica.heard("in sync with the primary");
    let trusting = ["--tls", "--ca", &ca];
    let status = |host: &str| {
        let words = ["lock", "status", host, "--over", "0s", "--json"];
        kit::plumb(&[&words[..], &trusting].concat(), folder.path())
    };
    // whichever is named first, that which gives locks out is found
    let both = format!("{by_name},{}", replica.address);
    for hosts in [&both, &format!("{},{by_name}", replica.address)] {
        let state = status(hosts).with(0).json();
        assert_eq!(state["figures"]["gives_out"], 1, "{state}");
    }
    let granted = |host: &str| status(host).json()["figures"]["granted"].as_u64();
    let words = ["lock", "load", "pairs", &both, "-c", "2", "--for", "30s", "--warmup", "0s"];
    let words = [&words[..], &["--json"], &trusting].concat();
    let load = Program::start(&words, folder.path());
    kit::until(|| granted(&by_name).filter(|count| *count > 100));
    primary.program.signal(Signal::KILL);
    replica.heard("is away");
    let words = [&["lock", "promote", &replica.address], &trusting[..]].concat();
    kit::plumb(&words, folder.path()).with(0);
    let before = granted(&replica.address).expect("it is asked");
    kit::until(|| granted(&replica.address).filter(|count| *count > before + 100));
    load.signal(Signal::INT);
    let record = load.wait().json();
    assert!(record["results"][0]["operations"].as_u64().is_some_and(|count| count > 200));
}
