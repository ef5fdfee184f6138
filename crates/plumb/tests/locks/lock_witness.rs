//! Two lock servers and their witnesses: who gives locks out when nobody is there to decide it.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::Path;

use kit::Program;
use kit::authority::Authority;
use kit::locks::{Server, number};
use rustix::process::Signal;
use tempfile::tempdir;

/// A pause of a busy machine is no failure yet, and none is alone because of one.
const STEADY: [&str; 4] = ["--replica-timeout", "2s", "--without-replica", "stop"];

/// Two servers, the second a replica in sync, and their witnesses.
struct Elected {
    primary: Server,
    replica: Server,
    witnesses: Vec<Server>,
    /// The words that name the witnesses.
    words: Vec<String>,
}

fn start(verb: &str, words: &[&str], folder: &Path) -> Server {
    let words = [&["lock", verb, "--listen", "127.0.0.1:0"], words].concat();
    Server::ready(Program::start(&words, folder))
}

fn witness(number: usize, words: &[&str], folder: &Path) -> Server {
    let state = format!("state-{number}");
    start("witness", &[&["--state", &state], words].concat(), folder)
}

impl Elected {
    /// `of_all` are words of all of them, `own` those of the primary.
    fn start(count: usize, of_all: &[&str], own: &[&str], folder: &Path) -> Self {
        let tls: Vec<&str> =
            of_all.iter().copied().take_while(|word| *word != "--replica-timeout").collect();
        let witnesses: Vec<Server> =
            (0..count).map(|number| witness(number, &tls, folder)).collect();
        let named = witnesses.iter().flat_map(|it| ["--witness".to_owned(), by_name(it)]);
        let words: Vec<String> =
            of_all.iter().map(|word| (*word).to_owned()).chain(named).collect();
        let shown: Vec<&str> = words.iter().map(String::as_str).collect();
        let primary = start("serve", &[&shown[..], own].concat(), folder);
        primary.heard("elected in term");
        let of = by_name(&primary);
        let replica = start("serve", &[&shown[..], &["--replica-of", &of]].concat(), folder);
        replica.heard("in sync with the primary");
        for witness in &witnesses[..=count / 2] {
            witness.heard("its replica may follow");
        }
        Self { primary, replica, witnesses, words }
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

/// Where a server is, by the name in its certificate.
fn by_name(server: &Server) -> String {
    server.address.replace("127.0.0.1", "localhost")
}

/// The figures of a server.
fn figures(server: &Server, folder: &Path) -> serde_json::Value {
    let words = ["lock", "status", &server.address, "--over", "0s", "--json"];
    kit::plumb(&words, folder).json()["figures"].clone()
}

#[test]
fn a_replica_takes_over_by_itself_when_its_primary_is_killed() {
    let folder = tempdir().expect("a temporary folder");
    let all = Elected::start(3, &STEADY, &[], folder.path());
    let mut client = all.primary.client();
    let fence = client.number("ENQ a KEEP E T 1");
    let before = figures(&all.primary, folder.path());
    assert_eq!((&before["witnesses"], &before["gives_out"]), (&3.into(), &1.into()), "{before}");
    all.primary.program.signal(Signal::KILL);
    all.replica.heard("promoted by a majority of the witnesses");
    let mut other = all.replica.client();
    let held = other.ask("ENQ x E T 1").expect("it answers");
    assert_eq!((&*held[0], &*held[2]), ("HELD", "a"));
    assert!(other.number("ENQ x E T 9") > fence, "fence numbers go on");
    assert_eq!(other.ask("ROLE").expect("it answers")[0], "master");
    // started as if nothing had happened, the first one learns that it is not the one any more
    let back = start("serve", &all.words(), folder.path());
    back.heard("not elected");
    let refused = back.client().ask("ENQ x E T 3").expect("it answers");
    assert!(refused[0].starts_with("-READONLY"), "{refused:?}");
    let status = kit::plumb(&["lock", "status", &all.replica.address], folder.path());
    assert!(status.stdout.contains("of 3 witnesses agree, term"), "{}", status.stdout);
    let status = kit::plumb(&["lock", "status", &all.witnesses[0].address], folder.path());
    assert!(status.stdout.contains("witness, term"), "{}", status.stdout);
    let page = all.witnesses[0].asked("GET /metrics HTTP/1.1\r\nHost: w\r\n\r\n", 1_000);
    assert!(page.contains("\nplumb_lock_witness 1\n"), "{page}");
}

#[test]
fn a_primary_that_is_stopped_is_replaced_and_gives_nothing_out_when_it_goes_on() {
    let folder = tempdir().expect("a temporary folder");
    let all = Elected::start(1, &STEADY, &[], folder.path());
    let mut old = all.primary.client();
    old.number("ENQ a KEEP E T 1");
    all.primary.program.signal(Signal::STOP);
    all.replica.heard("promoted by a majority of the witnesses");
    let mut new = all.replica.client();
    new.number("ENQ b KEEP E T 2");
    old.send(b"ENQ c E T 2\r\n").expect("the kernel takes it");
    all.primary.program.signal(Signal::CONT);
    let said = old.reply();
    assert!(!said.is_ok_and(|words| number(&words).is_some()), "b has the lock");
    all.primary.heard("replaced by a server with epoch");
}

#[test]
fn a_primary_without_its_replica_says_that_it_asks_and_goes_on_once_its_witnesses_agree() {
    let folder = tempdir().expect("a temporary folder");
    let all = Elected::start(1, &STEADY[..2], &[], folder.path());
    let mut client = all.primary.client();
    client.number("ENQ a KEEP E T 1");
    all.witnesses[0].program.signal(Signal::STOP);
    all.replica.program.signal(Signal::KILL);
    all.primary.heard("asking the witnesses whether to go on alone");
    let refused = client.ask("ENQ b KEEP E T 2").expect("it answers");
    assert!(refused[0].starts_with("-NOREPLICAS"), "{refused:?}");
    all.witnesses[0].program.signal(Signal::CONT);
    all.primary.heard("a majority of the witnesses agrees: going on alone");
    assert!(client.number("ENQ b KEEP E T 2") > 0);
}

#[test]
fn without_most_of_its_witnesses_a_replica_waits_for_a_person() {
    let folder = tempdir().expect("a temporary folder");
    let all = Elected::start(3, &STEADY, &[], folder.path());
    all.primary.client().number("ENQ a KEEP E T 1");
    for witness in &all.witnesses[..2] {
        witness.program.signal(Signal::KILL);
    }
    // with its replica there, the primary needs no witness
    kit::until(|| number(&all.primary.client().ask("ENQ b KEEP E T 2").expect("it answers")));
    all.primary.program.signal(Signal::KILL);
    all.replica.heard("asking the witnesses for its place");
    all.replica.heard("cannot be reached");
    let promote = ["lock", "promote", &all.replica.address];
    let refused = kit::plumb(&promote, folder.path()).with(2);
    assert!(refused.stderr.contains("its replica takes over"), "{}", refused.stderr);
    let mut client = all.replica.client();
    let refused = client.ask("ENQ c E T 3").expect("it answers");
    assert!(refused[0].starts_with("-READONLY"), "{refused:?}");
    kit::plumb(&[&promote[..], &["--force"]].concat(), folder.path()).with(0);
    assert!(client.number("ENQ c E T 3") > 0);
    assert_eq!(client.number("COUNT b"), 1);
}

#[test]
fn a_server_alone_goes_on_with_its_journal_and_without_it_asks_a_person() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["--replica-timeout", "2s"];
    let own = ["--journal", "locks"];
    let all = Elected::start(1, &words, &own, folder.path());
    let words: Vec<String> = all.words.clone();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    all.primary.client().number("ENQ a KEEP E T 1");
    all.replica.program.signal(Signal::KILL);
    all.primary.heard("replication suspended");
    all.witnesses[0].heard("no replica may follow");
    kit::until(|| number(&all.primary.client().ask("ENQ b KEEP E T 2").expect("it answers")));
    all.primary.program.signal(Signal::KILL);
    all.primary.program.wait();
    let back = start("serve", &[&words[..], &own].concat(), folder.path());
    back.heard("elected in term");
    assert_eq!(back.client().number("COUNT b"), 1);
    back.program.signal(Signal::KILL);
    back.program.wait();
    let empty = start("serve", &words, folder.path());
    empty.heard("not elected");
    kit::plumb(&["lock", "promote", "--force", &empty.address], folder.path()).with(0);
    assert!(empty.client().number("ENQ c E T 2") > 0, "whoever forces it may lose locks");
}

#[test]
fn both_servers_that_start_again_as_they_are_configured_overwrite_nothing_and_wait() {
    let folder = tempdir().expect("a temporary folder");
    let witness = witness(0, &[], folder.path());
    let words = |journal| ["--journal", journal, "--witness", &witness.address];
    let primary = start("serve", &words("one"), folder.path());
    primary.heard("elected in term");
    let of = primary.address.clone();
    let follow = [&["--replica-of", &of], &words("two")[..]].concat();
    let replica = start("serve", &follow, folder.path());
    replica.heard("in sync with the primary");
    witness.heard("its replica may follow");
    primary.client().number("ENQ early KEEP X T 1");
    primary.program.signal(Signal::KILL);
    primary.program.wait();
    replica.heard("promoted by a majority of the witnesses");
    let mut client = replica.client();
    client.number("ENQ rightful KEEP X T 2");
    assert_eq!(client.number("DEQALL early"), 1);
    replica.program.signal(Signal::KILL);
    replica.program.wait();
    let listen = ["lock", "serve", "--listen", &of];
    let words_of_one = [&listen[..], &words("one")].concat();
    let primary = Server::ready(Program::start(&words_of_one, folder.path()));
    primary.heard("not elected");
    let replica = start("serve", &follow, folder.path());
    replica.heard("refuses: READONLY");
    let refused = primary.client().ask("ENQ other KEEP X T 2").expect("it answers");
    assert!(refused[0].starts_with("-READONLY"), "{refused:?}");
    let mut client = replica.client();
    assert_eq!((client.number("COUNT rightful"), client.number("COUNT early")), (1, 0));
    replica.program.signal(Signal::TERM);
    replica.program.wait();
    // with the journal of the epoch that the witness keeps it is elected
    let again = start("serve", &words("two"), folder.path());
    again.heard("elected in term");
    let mut client = again.client();
    assert_eq!(client.ask("ENQ other KEEP X T 2").expect("it answers")[2], "rightful");
}

#[test]
fn servers_and_witnesses_speak_tls_and_name_their_passwords() {
    let folder = tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "own");
    let signed = authority.sign("localhost");
    fs::write(folder.path().join("secret"), "hush\n").expect("it can be written");
    let ca = authority.ca();
    let words = [&signed.shown()[..], &["--password-file", "secret"]].concat();
    let more = [&STEADY[..], &["--replica-ca", &ca]].concat();
    let all = Elected::start(1, &[&words[..], &more].concat(), &[], folder.path());
    all.primary.program.signal(Signal::KILL);
    all.replica.heard("promoted by a majority of the witnesses");
    // one that trusts nobody who has signed this, and one that has no password
    let strangers = ["--tls", "--cert", &signed.cert, "--key", &signed.key];
    let witness = ["--witness", &by_name(&all.witnesses[0])];
    let stranger = start("serve", &[&strangers[..], &witness].concat(), folder.path());
    stranger.heard("witness 1");
    let refused = [&strangers[..], &["--replica-ca", &ca], &witness[..]].concat();
    let stranger = start("serve", &refused, folder.path());
    stranger.heard("refuses: NOAUTH");
}

#[test]
fn a_primary_that_was_replaced_is_told_so_after_every_start() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["--journal", "one", "--without-replica", "continue"];
    let primary = start("serve", &words, folder.path());
    let replica = start("serve", &["--replica-of", &primary.address], folder.path());
    replica.heard("in sync with the primary");
    primary.client().number("ENQ a KEEP E T 1");
    primary.program.signal(Signal::KILL);
    primary.program.wait();
    kit::plumb(&["lock", "promote", &replica.address], folder.path()).with(0);
    for _ in 0..2 {
        let words = ["lock", "serve", "--listen", &primary.address, "--journal", "one"];
        let again = Server::ready(Program::start(&words, folder.path()));
        again.heard("replaced by a server with epoch");
        let refused = again.client().ask("ENQ c E T 2").expect("it answers");
        assert!(refused[0].starts_with("-READONLY this server was replaced"), "{refused:?}");
        again.program.signal(Signal::KILL);
        again.program.wait();
    }
}

#[test]
fn a_wrong_number_of_witnesses_and_a_state_that_is_none_are_refused() {
    let folder = tempdir().expect("a temporary folder");
    let words = ["lock", "serve", "--witness", "127.0.0.1:1", "--witness", "127.0.0.1:2"];
    let refused = kit::plumb(&words, folder.path()).with(2);
    assert!(refused.stderr.contains("name an odd number"), "{}", refused.stderr);
    fs::write(folder.path().join("state"), "something").expect("it can be written");
    let refused = kit::plumb(&["lock", "witness", "--state", "state"], folder.path()).with(2);
    assert!(refused.stderr.contains("no state of a witness"), "{}", refused.stderr);
    let refused = kit::plumb(&["lock", "witness"], folder.path()).with(2);
    assert!(refused.stderr.contains("--state"), "{}", refused.stderr);
    let witness = witness(0, &[], folder.path());
    let refused = witness.client().ask("ENQ a E T 1").expect("it answers");
    assert!(refused[0].contains("this server is a witness"), "{refused:?}");
    let refused = witness.client().ask("WITNESS KEEP 1 2").expect("it answers");
    assert!(refused[0].starts_with("-ERR WITNESS is what servers ask"), "{refused:?}");
}
