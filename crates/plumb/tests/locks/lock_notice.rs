//! Who is told that locks are lost, and who may do what, through the commands of the program.

use crate::kit;

use std::fs;

use kit::Program;
use kit::locks::Server;
use rustix::process::Signal;
use tempfile::tempdir;

/// The SHA-256 of `foobared`.
const HASH: &str = "#1b58ee375b42e41f0e48ef2ff27d10a5b1f6924a9acdcdba7cae868e7adce6bf";

#[test]
fn watch_tells_what_is_lost_and_what_could_be_had() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let words = ["lock", "watch", &server.address, "--owner", "a", "--free", "T:1"];
    let watch = Program::start(&words, folder.path());
    assert!(watch.line().ends_with(" free T:1"), "nobody has it now");
    let (mut one, mut two) = (server.client(), server.client());
    one.number("ENQ a KEEP E T 1 E T 2");
    assert_eq!(two.ask("ENQ b E T 1").expect("it answers")[0], "HELD");
    two.number("REMOVE OWNER a");
    let mut told = [watch.line(), watch.line()].map(|line| line[21..].to_owned());
    told.sort();
    assert_eq!(told, ["free T:1", "lost removed 2 a"]);
    watch.signal(Signal::INT);
    watch.wait().with(0);
}

#[test]
fn a_watch_ends_when_its_server_is_gone_or_nobody_reads_it() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let free = ["lock", "watch", &server.address, "--free", "T:1"];
    assert_eq!(kit::unread(&free, folder.path()), Some(0), "nobody reads its first line");
    let counted = kit::plumb(&[&free[..], &["--count", "1"]].concat(), folder.path());
    assert!(counted.with(0).stdout.ends_with(" free T:1\n"));
    let watch = Program::start(&free, folder.path());
    assert!(watch.line().ends_with(" free T:1"));
    // it says nothing more, and its connection stands
    server.program.signal(Signal::STOP);
    let ended = watch.wait().with(2).stderr;
    assert!(ended.contains("does not answer any more"), "{ended}");
    server.program.signal(Signal::CONT);
    let watch = Program::start(&free, folder.path());
    assert!(watch.line().ends_with(" free T:1"));
    server.program.signal(Signal::KILL);
    let ended = watch.wait().with(2).stderr;
    assert!(ended.contains("ended the connection; watch again there"), "{ended}");
    assert!(!ended.contains("password"), "it had listened: {ended}");
}

#[test]
fn a_user_may_do_what_its_line_says_and_the_audit_log_says_what_was_done() {
    let folder = tempdir().expect("a temporary folder");
    let text = format!("user sales on {HASH} ~S* +@lock\nuser ops on {HASH} +@list +@remove\n");
    fs::write(folder.path().join("users"), text).expect("a file");
    fs::write(folder.path().join("password"), "foobared\n").expect("a file");
    let server = Server::start(&["--users", "users", "--audit-log", "audit"], folder.path());
    let mut client = server.client();
    assert!(client.ask("ENQ a E S 1").expect("it answers")[0].starts_with("-NOAUTH"));
    assert_eq!(client.ask("AUTH sales foobared").expect("it answers"), ["+OK"]);
    client.number("ENQ a KEEP E S 1");
    assert!(client.ask("ENQ a E T 1").expect("it answers")[0].starts_with("-NOPERM"));
    let as_ops = ["--login", "ops", "--password-file", "password"];
    let show = [&["lock", "show", &server.address, "--delete", "--yes"][..], &as_ops].concat();
    kit::plumb(&show, folder.path()).with(0);
    let audit = kit::read(&folder.path().join("audit"));
    assert!(audit.contains("\"user\":\"ops\"") && audit.contains("REMOVE LOCK S 1"), "{audit}");
    assert!(!audit.contains("foobared"));
    let wrong = "user x on >secret\n";
    fs::write(folder.path().join("users"), wrong).expect("a file");
    let refused = kit::plumb(&["lock", "serve", "--users", "users"], folder.path()).with(2);
    assert!(refused.stderr.contains("users, line 1, column 11"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("secret"));
}

#[test]
fn who_may_look_and_not_remove_is_told_so_and_what_it_shows_is_what_it_named() {
    let folder = tempdir().expect("a temporary folder");
    let text =
        format!("user sales on {HASH} +@lock\nuser ear on {HASH} +@list\nuser mon on {HASH}\n");
    let text = text.replace("+@lock", "~* +@lock");
    fs::write(folder.path().join("users"), text).expect("a file");
    fs::write(folder.path().join("password"), "foobared\n").expect("a file");
    let words = ["--users", "users", "--table-size", "1KiB"];
    let server = Server::start(&words, folder.path());
    let mut client = server.client();
    assert_eq!(client.ask("AUTH sales foobared").expect("it answers"), ["+OK"]);
    assert_eq!(client.ask("SET key value NX").expect("it answers"), ["+OK"]);
    client.number("ENQ a KEEP E S 1");
    assert!(client.ask("ENQ b E S 2").expect("it answers")[0].starts_with("-FULL"));
    let lock = |user: &str, words: &[&str]| {
        let login = ["--login", user, "--password-file", "password"];
        kit::plumb(
            &[&["lock", words[0], &server.address], &words[1..], &login].concat(),
            folder.path(),
        )
    };
    for (filter, found) in [("--name", 1), ("--owner", 0), ("--user", 2)] {
        let listed = lock("ear", &["show", "--json", filter, ""]).with(0).json();
        assert_eq!(listed["found"], found, "{filter} of an empty text");
    }
    let refused = lock("ear", &["show", "--delete", "--yes"]).with(2).stderr;
    assert!(refused.contains("removed 0 locks and refused the rest: NOPERM"), "{refused}");
    let full = lock("mon", &["status", "--over", "0s", "--full", "100%", "--json"]).with(1).json();
    assert!(full["overflows"].is_null(), "they are not for it: {full}");
    client.number("DEQALL a");
    let status = lock("mon", &["status", "--over", "0s"]).with(0).stdout;
    assert!(!status.contains("full: "), "{status}");
    let told = lock("ear", &["status", "--over", "0s", "--json"]).with(0).json();
    assert_eq!(told["overflows"][0]["owners"].as_array().map(Vec::len), Some(2), "{told}");
}
