//! The lock server and its clients in trouble: stopped in the middle, cut off, out of disk space,
//! with commands in pieces and commands twice.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::Path;

use kit::Program;
use kit::locks::{Client, Server, number};
use kit::namespace::{ENDS, Namespace, SmallDisk, allowed};
use rustix::process::Signal;
use tempfile::tempdir;

/// A client in a process of its own: says `$2` once, then `$3` until the answer is 0, and prints
/// the first answer, and `lost` in the end.
const CLIENT: &str = r#"
exec 3<>"/dev/tcp/$0/$1" || exit 3
say() { printf '%s\r\n' "$1" >&3 && IFS= read -r said <&3 || exit 3; }
say "$2"; echo "${said%$'\r'}"
while [ "$said" != $':0\r' ]; do say "$3"; done
echo lost
"#;

/// The fence number that a client in a process of its own was given.
fn fence(client: &Program) -> u64 {
    number(&[client.line()]).expect("a fence number")
}

#[test]
fn a_client_that_is_stopped_loses_its_lease_and_learns_it_when_it_goes_on() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let (host, port) = server.place();
    let words = ["-c", CLIENT, host, port, "ENQ a LEASE 1500 E T 1", "RENEW a 1500"];
    let stopped = Program::start_as(Path::new("/bin/bash"), &words, folder.path());
    let before = fence(&stopped);
    stopped.signal(Signal::STOP);
    let mut other = server.client();
    let after = other.number("ENQ b WAIT 600000 E T 1");
    assert!(after > before, "{after} after {before}");
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.line(), "lost");
    stopped.wait().with(0);
    // what it would still say with its old number touches nobody
    assert_eq!(other.number(&format!("DEQ a FENCE {before} E T 1")), 0);
    assert_eq!(other.number("COUNT b"), 1);
}

#[test]
fn leases_that_end_while_the_server_is_stopped_have_ended_when_it_goes_on() {
    let folder = tempdir().expect("a temporary folder");
    let (server, glass) = (Server::start(&[], folder.path()), Server::start(&[], folder.path()));
    let (mut one, mut two) = (server.client(), server.client());
    let before = one.number("ENQ a LEASE 300 E T 1");
    server.program.signal(Signal::STOP);
    two.send(b"ENQ b WAIT 600000 E T 1\r\n").expect("the kernel takes it");
    one.send(b"RENEW a 300\r\n").expect("the kernel takes it");
    // a lease of the same length that began later is over on a server that goes on
    glass.client().number("ENQ a LEASE 300 E T 1");
    glass.client().number("ENQ b WAIT 600000 E T 1");
    server.program.signal(Signal::CONT);
    assert_eq!(number(&one.reply().expect("it answers")), Some(0), "renewed too late");
    let after = number(&two.reply().expect("it answers")).expect("a fence number");
    assert!(after > before, "{after} after {before}");
    assert_eq!(one.ask("ENQ a E T 1").expect("it answers")[0], "HELD");
}

#[test]
fn the_locks_of_clients_that_are_cut_off_end_with_the_lease_or_the_keep_alive() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let folder = tempdir().expect("a temporary folder");
    let (any, file) = (format!("{}:0", ENDS[0]), folder.path().join("locks"));
    let file = format!("unix:{}", file.display());
    let words = ["lock", "serve", "--listen", &any, "--listen", &file, "--keepalive", "3s"];
    let server = Server::ready(here.start(&words, folder.path()));
    server.program.line(); // the socket file is there
    let (host, port) = server.place();
    let client = |first: &str, then: &str| {
        there.start_as("/bin/bash", &["-c", CLIENT, host, port, first, then], folder.path())
    };
    let leased = client("ENQ leased LEASE 2000 E T 1", "RENEW leased 2000");
    let bound = client("ENQ bound E T 2", "PING");
    let (first, second) = (fence(&leased), fence(&bound));
    let mut other = Client::connect(&file).expect("it listens");
    for argument in [1, 2] {
        let held = other.ask(&format!("ENQ other E T {argument}")).expect("it answers");
        assert_eq!(held[0], "HELD", "nobody is cut off yet");
    }
    there.cut_off();
    let last = [1, 2].map(|it| other.number(&format!("ENQ other WAIT 600000 E T {it}")));
    assert!(last.iter().all(|last| *last > first.max(second)), "{last:?}, {first}, {second}");
}

#[test]
fn a_full_disk_ends_the_server_and_nothing_acknowledged_is_lost() {
    let folder = tempdir().expect("a temporary folder");
    let place = folder.path().join("disk");
    std::fs::create_dir(&place).expect("a new folder");
    let Some(disk) = allowed(SmallDisk::new(&place, "512k")) else { return };
    let journal = place.join("journal").display().to_string();
    let words = ["lock", "serve", "--listen", "127.0.0.1:0", "--quiet", "--journal", &journal];
    let server = Server::ready(disk.start(&words, folder.path()));
    let mut client = server.client();
    let mut acknowledged = Vec::new();
    for at in 0..10_000 {
        match client.ask(&format!("ENQ a KEEP E T {at:0200}")) {
            Ok(reply) => acknowledged.push((at, number(&reply).expect("a fence number"))),
            Err(_) => break,
        }
    }
    assert!((100..9_999).contains(&acknowledged.len()), "{}", acknowledged.len());
    let ended = server.program.wait().with(2);
    for text in ["No space left", &*format!("the journal {journal}: "), "make room"] {
        assert!(ended.stderr.contains(text), "{text}: {ended:#?}");
    }
    // it does not begin on a disk that is full, and loses nothing by trying
    disk.start(&words, folder.path()).wait().with(2);
    disk.grow("64m");
    let server = Server::ready(disk.start(&words, folder.path()));
    let mut client = server.client();
    let held = client.number("COUNT a");
    let asked = acknowledged.len() as u64;
    assert!(held == asked || held == asked + 1, "{held} of {asked}"); // one was under way
    for (at, fence) in &acknowledged {
        assert_eq!(client.number(&format!("DEQ a FENCE {fence} E T {at:0200}")), 1, "{at}");
    }
    let (_, last) = acknowledged[acknowledged.len() - 1];
    assert!(client.number("ENQ b E T next") > last);
}

#[test]
fn a_command_in_any_pieces_is_one_command() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let (mut slow, mut other) = (server.client(), server.client());
    let frame = b"*5\r\n$3\r\nENQ\r\n$1\r\na\r\n$1\r\nE\r\n$1\r\nT\r\n$1\r\n1\r\n";
    for byte in frame {
        assert_eq!(other.number("COUNT a"), 0);
        slow.send(&[*byte]).expect("it listens");
        assert_eq!(other.ask("PING").expect("it answers"), ["+PONG"]); // served in between
    }
    assert!(number(&slow.reply().expect("it answers")).is_some());
    assert_eq!(other.number("COUNT a"), 1);
}

#[test]
fn a_command_that_comes_twice_does_no_harm_that_its_fence_number_forbids() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let (mut one, mut two) = (server.client(), server.client());
    one.send(&b"ENQ a X T 1\r\n".repeat(2)).expect("it listens");
    let old = number(&one.reply().expect("it answers")).expect("a fence number");
    assert_eq!(one.reply().expect("it answers")[0], "OWN");
    let release = format!("DEQ a FENCE {old} X T 1");
    assert_eq!(one.number(&release), 1);
    // it is taken again, by the same owner, and then the release comes once more
    let new = one.number("ENQ a X T 1");
    assert!(new > old);
    assert_eq!(one.number(&release), 0);
    assert_eq!(two.ask("ENQ b X T 1").expect("it answers")[0], "HELD");
    one.send(&b"DEQALL a\r\n".repeat(2)).expect("it listens");
    let gone = [(); 2].map(|()| number(&one.reply().expect("it answers")));
    assert_eq!(gone, [Some(1), Some(0)]);
}

/// The newest file of a journal with this suffix.
fn newest(folder: &Path, suffix: &str) -> std::path::PathBuf {
    let files = std::fs::read_dir(folder).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|it| it == suffix)).max().expect("a file")
}

#[test]
fn a_journal_that_was_emptied_beside_its_snapshot_loses_nothing_unseen() {
    let folder = tempdir().expect("a temporary folder");
    let words = &["--journal", "j"];
    let server = Server::start(words, folder.path());
    let mut client = server.client();
    let last = (0..5).map(|at| client.number(&format!("ENQ a KEEP E T {at}"))).max();
    let epoch = client.number("EPOCH");
    server.program.signal(Signal::KILL);
    server.program.wait();
    std::fs::write(newest(&folder.path().join("j"), "journal"), []).expect("it can be written");
    let outlook = kit::plumb(&["lock", "journal", "verify", "j"], folder.path());
    let outlook = outlook.stdout;
    assert!(outlook.contains("0 sound bytes of") && outlook.contains("a new one"), "{outlook}");
    let loud = ["lock", "serve", "--listen", "127.0.0.1:0", "--journal", "j"];
    let server = Server::ready(Program::start(&loud, folder.path()));
    let mut client = server.client();
    assert!(client.number("EPOCH") > epoch);
    assert_eq!(client.number("COUNT a"), 0);
    assert!(Some(client.number("ENQ b KEEP E T 0")) > last, "a fence number came again");
    let told = [server.program.log_line(), server.program.log_line()].join("\n");
    assert!(told.contains("what is missing is lost; a new epoch begins"), "{told}");
}

#[test]
fn a_server_whose_folder_is_removed_acknowledges_nothing_more_and_says_so() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&["--journal", "j"], folder.path());
    let mut client = server.client();
    client.number("ENQ a KEEP E T 1");
    let journal = folder.path().join("j");
    std::fs::remove_dir_all(&journal).expect("it can be removed");
    // another server does not get the path, whoever makes the folder again
    let other = ["lock", "serve", "--listen", "127.0.0.1:0", "--journal", "j"];
    let refused = kit::plumb(&other, folder.path()).with(2).stderr;
    assert!(refused.contains("in use by another server"), "{refused}");
    assert!(client.ask("ENQ a KEEP E T 2").is_err(), "it was acknowledged");
    let ended = server.program.wait().with(2);
    assert!(ended.stderr.contains("while the server ran"), "{ended:#?}");
    assert!(ended.stderr.contains("nothing more is acknowledged"), "{ended:#?}");
}

#[test]
fn passwords_that_are_guessed_wait_and_end_their_connection() {
    const GUESSES: usize = 5;
    let folder = tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("password"), "secret\n").expect("it can be written");
    let loud = ["lock", "serve", "--listen", "127.0.0.1:0", "--password-file", "password"];
    let server = Server::ready(Program::start(&loud, folder.path()));
    let mut guesser = server.client();
    guesser.send(&b"AUTH guess\r\n".repeat(4 * GUESSES)).expect("it listens");
    let answers = (0..).map_while(|_| guesser.reply().ok()).take(4 * GUESSES);
    let answers: Vec<Vec<String>> = answers.collect();
    assert_eq!(answers.len(), GUESSES, "{answers:?}");
    assert!(answers.iter().all(|answer| answer[0].starts_with("-WRONGPASS")), "{answers:?}");
    let mut client = server.client();
    assert_eq!(client.ask("AUTH secret").expect("it waits for its turn"), ["+OK"]);
    let figures = client.ask("LOCKSTAT").expect("it answers");
    let at = figures.iter().position(|word| word == "wrong_passwords").expect("a figure");
    assert_eq!(figures[at + 1], format!(":{GUESSES}"));
    assert!(server.program.log_line().contains("wrong password from 127.0.0.1"));
}

#[test]
fn a_check_refuses_what_a_request_for_the_same_locks_refuses() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    for locks in ["X T Q X T Q", "E T Q X T Q", "X T @ S T Q", "O T Q R T Q"] {
        let check = client.ask(&format!("CHECK a {locks}")).expect("it answers");
        let request = client.ask(&format!("ENQ a {locks}")).expect("it answers");
        assert_eq!(check, request, "{locks}");
        assert!(check[0] == "ITSELF" || check[0] == "NOTHELD", "{check:?}");
    }
    assert_eq!(client.number("CHECK a E T Q E T Q S T Q"), 0);
}

#[test]
fn whoever_looks_after_a_full_server_reaches_it_and_its_replica_follows() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&["--max-clients", "2"], folder.path());
    let (mut one, mut two) = (server.client(), server.client());
    one.number("ENQ a KEEP E T 1");
    assert_eq!(two.ask("PING").expect("it answers"), ["+PONG"]);
    let mut third = server.client();
    let refused = third.ask("ENQ b E T 2").expect("it answers");
    assert_eq!(refused, ["-ERR this server takes no more clients"]);
    assert!(third.ask("PING").is_err(), "it is closed");
    kit::plumb(&["lock", "status", &server.address, "--over", "0s"], folder.path()).with(0);
    let follow = ["lock", "serve", "--listen", "127.0.0.1:0", "--replica-of", &server.address];
    let replica = Server::ready(Program::start(&follow, folder.path()));
    replica.heard("in sync with the primary");
    // of those who say nothing the oldest make room; a replica does not
    let mut many: Vec<Client> = (0..9).map(|_| server.client()).collect();
    let answers = many.iter_mut().map(|client| client.ask("PING").is_ok());
    assert_eq!(answers.collect::<Vec<_>>(), [&[false][..], &[true; 8]].concat());
    assert_eq!(one.number("DEQALL a"), 1);
    assert_eq!(replica.client().number("COUNT a"), 0, "it follows still");
    drop((one, two)); // those beyond the limit take no place of the others
    let taken = || number(&server.client().ask("ENQ b E T 2").ok()?);
    assert!(kit::until(taken) > 0);
}
