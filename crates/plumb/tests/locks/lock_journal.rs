//! What the journal of the lock server keeps, over crashes and damage.

use crate::kit;
use crate::lock::{Client, Server};

use std::fs;
use std::path::Path;

use kit::{message, plumb};
use tempfile::tempdir;

#[test]
fn what_was_acknowledged_outlives_a_crash_at_any_moment() {
    let folder = tempdir().expect("it can be read");
    let journal = &["--journal", "j"];
    let mut held: Vec<u64> = Vec::new();
    let mut fences: Vec<u64> = Vec::new();
    let mut epoch = None;
    for round in 0..8 {
        let server = Server::start(journal, folder.path());
        let mut client = server.client();
        let same = epoch.replace(client.ask("EPOCH"));
        assert!(round == 0 || same == epoch, "nothing was lost");
        assert_eq!(client.ask("COUNT o"), held.len().to_string(), "round {round}");
        client.send_all(0..held.len(), &["ENQ o KEEP E MARA", "DEQ o SCOPE 2 E MARA"]);
        for fence in &held {
            assert_eq!(client.reply(), fence.to_string());
            assert_eq!(client.reply(), "1");
        }
        // pipelined, and killed with some of it under way: what was answered is held
        client.send_all(held.len()..held.len() + 300, &["ENQ o KEEP E MARA"]);
        for _ in 0..round * 40 {
            let fence = client.reply().parse().expect("a fence number");
            held.push(fence);
        }
        server.kill();
        while let Some(fence) = leftover(&mut client) {
            held.push(fence);
        }
        // some more may have become durable without an answer: they are released next time
        let server = Server::start(journal, folder.path());
        let mut client = server.client();
        let count: usize = client.ask("COUNT o").parse().expect("a count");
        assert!(count >= held.len(), "{count} of {} in round {round}", held.len());
        client.send_all(held.len()..count, &["DEQ o E MARA"]);
        for _ in held.len()..count {
            assert_eq!(client.reply(), "1");
        }
        let fence = client.ask("ENQ new KEEP E VBAK 1").parse().expect("a fence number");
        assert!(fences.iter().chain(&held).all(|earlier| *earlier < fence), "a fence came again");
        fences.push(fence);
        client.ask("DEQALL new");
        server.kill();
    }
    plumb(&["lock", "journal", "verify", "j"], folder.path()).with(0);
    assert!(held.len() > 300);
}

/// A reply that was sent before the server died.
fn leftover(client: &mut Client) -> Option<u64> {
    let line = message::line(&mut client.0).ok().flatten()?;
    line.strip_prefix(':')?.parse().ok()
}

#[test]
fn a_torn_end_is_left_out_and_damage_is_refused_until_it_is_repaired() {
    let folder = tempdir().expect("it can be read");
    let words = &["--journal", "j"];
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    for number in 0..5 {
        client.ask(&format!("ENQ o KEEP E MARA {number}"));
    }
    server.kill();
    let journal = newest(&folder.path().join("j"));
    let whole = fs::read(&journal).expect("it can be read");
    fs::write(&journal, &whole[..whole.len() - 3]).expect("it can be read");
    let server = Server::start(words, folder.path());
    assert_eq!(server.client().ask("COUNT o"), "4");
    server.kill();

    let journal = newest(&folder.path().join("j"));
    let server = Server::start(words, folder.path());
    server.client().ask("ENQ p KEEP E MARA 8 E MARA 9");
    server.kill();
    assert!(!journal.exists(), "a restart begins files of its own");
    let journal = newest(&folder.path().join("j"));
    let mut bytes = fs::read(&journal).expect("it can be read");
    bytes[20] ^= 1;
    fs::write(&journal, bytes).expect("it can be read");
    let epoch = said(&["lock", "journal", "dump", "j"], folder.path());
    let epoch = epoch.lines().find(|line| line.starts_with("start epoch=")).map(str::to_owned);
    let refused =
        plumb(&["lock", "serve", "--listen", "127.0.0.1:0", "--journal", "j"], folder.path());
    assert!(refused.with(2).stderr.contains("plumb lock journal repair"));
    plumb(&["lock", "journal", "verify", "j"], folder.path()).with(2);
    let repaired = said(&["lock", "journal", "repair", "j"], folder.path());
    assert!(repaired.contains("sound records follow, so this is damage"), "{repaired}");
    let verified = said(&["lock", "journal", "verify", "j"], folder.path());
    assert!(verified.contains("a start finds 4 locks") && verified.contains("a new one"));
    let server = Server::start(words, folder.path());
    assert_eq!(server.client().ask("COUNT o"), "4"); // from the snapshot
    // what was lost is told to those who ask for the epoch that they know
    let now = format!("start epoch={} complete=true", server.client().ask("EPOCH"));
    assert_ne!(epoch, Some(now));
    let busy = plumb(&["lock", "journal", "repair", "j"], folder.path()).with(2).stderr;
    assert!(busy.contains("in use by another server"), "{busy}");
    server.kill();
}

fn said(words: &[&str], folder: &Path) -> String {
    plumb(words, folder).with(0).stdout
}

fn newest(folder: &Path) -> std::path::PathBuf {
    let files = fs::read_dir(folder)
        .expect("it can be read")
        .map(|entry| entry.expect("it can be read").path());
    let journals = files.filter(|path| path.extension().is_some_and(|suffix| suffix == "journal"));
    journals.max().expect("a journal")
}

#[test]
fn inherited_locks_outlive_a_server_that_keeps_nothing_else_and_the_epoch_tells() {
    let folder = tempdir().expect("it can be read");
    let words = &["--journal", "j", "--journal-policy", "none"];
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    client.ask("ENQ a KEEP E MARA 1 E MARA 2");
    assert_eq!(client.ask("INHERIT a update"), "2");
    client.ask("ENQ a KEEP E MARA 3");
    assert_eq!(client.ask("DEQ update E MARA 2"), "1");
    let epoch = client.ask("EPOCH");
    server.kill();
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    assert_ne!(client.ask("EPOCH"), epoch);
    assert_eq!(client.ask("COUNT a"), "0");
    assert!(client.ask("ENQ b E MARA 1").starts_with("HELD 0 update "));
    assert!(client.ask("ENQ b E MARA 2 E MARA 3").parse::<u64>().is_ok());
    assert!(client.ask(&format!("DEQ b EPOCH {epoch} E MARA 2")).starts_with("-LOST"));
    server.kill();
}

#[test]
fn a_stop_in_order_ends_no_lock_that_lives_with_a_connection() {
    let folder = tempdir().expect("it can be read");
    let words = &["--journal", "j", "--grace", "1h"];
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    assert!(client.ask("ENQ a E MARA 1").parse::<u64>().is_ok());
    // so many of one connection end elsewhere than those of the other
    let mut crowd = server.client();
    let owners: Vec<String> = (0..100).map(|at| format!("ENQ o{at} E VBAK {at}")).collect();
    assert!(owners.iter().all(|line| crowd.ask(line).parse::<u64>().is_ok()));
    let epoch = client.ask("EPOCH");
    server.stop();
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    assert_eq!(client.ask("EPOCH"), epoch);
    assert!(client.ask("ENQ b E MARA 1").starts_with("HELD 0 a "));
    assert!(client.ask("ENQ b E VBAK 99").starts_with("HELD 0 o99 "));
    // its owner comes back
    assert!(client.ask("ENQ a E MARA 1").parse::<u64>().is_ok());
    server.stop();
}
