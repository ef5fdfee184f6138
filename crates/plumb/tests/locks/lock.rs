//! `plumb lock serve` as its clients see it, through crashes and bad input.

use crate::kit;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::path::Path;

use kit::{PATIENCE, Program, message, plumb};
use rustix::process::Signal;
use tempfile::tempdir;

/// A client that sends words and reads what comes back.
pub(crate) struct Client(pub(crate) TcpStream);

impl Client {
    pub(crate) fn send(&mut self, commands: &[&str]) {
        let mut bytes = String::new();
        for command in commands {
            let words: Vec<&str> = command.split(' ').collect();
            bytes += &format!("*{}\r\n", words.len());
            for word in words {
                bytes += &format!("${}\r\n{word}\r\n", word.len());
            }
        }
        self.0.write_all(bytes.as_bytes()).expect("the server listens");
    }

    /// For each number all commands, with the number as five digits behind each.
    pub(crate) fn send_all(&mut self, numbers: Range<usize>, commands: &[&str]) {
        let each = |number| commands.iter().map(move |command| format!("{command} {number:05}"));
        let all: Vec<String> = numbers.flat_map(each).collect();
        self.send(&all.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// One reply, its parts separated by spaces.
    pub(crate) fn reply(&mut self) -> String {
        let head = self.line();
        let (kind, rest) = head.split_at(1);
        let many = |count: &str| count.parse::<i64>().expect("a count");
        match kind {
            "$" if rest == "-1" => "nil".into(),
            "$" => {
                let mut text = vec![0; usize::try_from(many(rest)).expect("a length") + 2];
                self.0.read_exact(&mut text).expect("a word");
                String::from_utf8_lossy(&text[..text.len() - 2]).into_owned()
            }
            "*" => (0..many(rest)).map(|_| self.reply()).collect::<Vec<_>>().join(" "),
            "-" => head,
            _ => rest.into(),
        }
    }

    pub(crate) fn line(&mut self) -> String {
        message::line(&mut self.0).expect("a reply").expect("the server goes on")
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.send(&[command]);
        self.reply()
    }

    /// True once the server has closed the connection.
    pub(crate) fn at_end(&mut self) -> bool {
        message::at_end(&mut self.0)
    }
}

pub(crate) struct Server {
    program: Program,
    address: String,
}

impl Server {
    pub(crate) fn start(words: &[&str], folder: &Path) -> Self {
        let words = [&["lock", "serve", "--listen", "127.0.0.1:0"], words].concat();
        let program = Program::start(&words, folder);
        let line = program.line();
        let address = line.strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { program, address }
    }

    pub(crate) fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Client(stream)
    }

    pub(crate) fn kill(self) {
        self.program.signal(Signal::KILL);
        self.program.wait();
    }

    /// Has it stop in order.
    pub(crate) fn stop(self) {
        self.program.signal(Signal::TERM);
        self.program.wait().with(0);
    }
}

#[test]
fn a_collision_names_the_holder_and_the_element() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let (mut one, mut two) = (server.client(), server.client());
    let fence: u64 = one.ask("ENQ a USER ann E MARA 001").parse().expect("a fence number");
    let rejected = two.ask("ENQ b USER bob S VBAK 7 E MARA 00@");
    assert_eq!(rejected, format!("HELD 1 a ann E MARA 001 {fence}"));
    assert_eq!(two.ask("COUNT b"), "0"); // all or none
    assert_eq!(one.ask("ENQ a USER ann E MARA 001"), fence.to_string());
    assert_eq!(two.ask("DEQ b E MARA 001"), "0"); // a stranger
    assert_eq!(one.ask("DEQ a E MARA 001"), "1");
    assert_eq!(two.ask("CHECK b E MARA 001").split(' ').next(), Some("HELD"));
    assert_eq!(one.ask("DEQALL a"), "1");
    assert!(two.ask("ENQ b E MARA 001").parse::<u64>().expect("a fence number") > fence);
}

#[test]
fn locks_are_summed_up_whatever_their_order() {
    let folder = tempdir().expect("it can be read");
    let (one, two) = (Server::start(&[], folder.path()), Server::start(&[], folder.path()));
    let (mut one, mut two) = (one.client(), two.client());
    for number in 0..20 {
        one.ask(&format!("ENQ a E MARA {number}"));
        two.ask(&format!("ENQ a USER ann E MARA {}", 19 - number));
    }
    let key = "000102030405060708090a0b0c0d0e0f";
    let sum = one.ask(&format!("DIGEST {key}"));
    assert!(sum.starts_with("0 20 ") && sum.len() == 5 + 32, "{sum}");
    assert_eq!(two.ask(&format!("DIGEST {key} NAME MARA OWNER a")), sum);
    assert!(two.ask(&format!("DIGEST {key} NAME VBAK")).starts_with("0 0 0000"));
    assert_ne!(one.ask(&format!("DIGEST 1{}", &key[1..])), sum);
    let many = [&*format!("DIGEST {key}"), "LOCKS COUNT 1", "PING"];
    one.send(&many); // each waits for its turn, and none is lost
    assert_eq!(one.reply(), sum);
    assert!(one.reply().starts_with("1 a "));
    assert_eq!(one.reply(), "PONG");
    two.ask("ENQ a E MARA 7"); // taken once more: another counter
    let other = two.ask(&format!("DIGEST {key}"));
    assert!(other.starts_with("0 20 ") && other != sum, "{other}");
}

#[test]
fn whoever_waits_is_granted_as_soon_as_the_lock_is_free_and_only_then_served_again() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let (mut one, mut two, mut three) = (server.client(), server.client(), server.client());
    one.ask("ENQ a E MARA 1");
    two.send(&["ENQ b WAIT 600000 E MARA 1", "PING"]);
    while !one.ask("METRICS").contains("plumb_lock_waiting 1\n") {}
    three.send(&["ENQ c WAIT 600000 E MARA 1"]);
    while !one.ask("METRICS").contains("plumb_lock_waiting 2\n") {}
    drop(one); // its owner ends with it
    assert!(two.reply().parse::<u64>().is_ok());
    assert_eq!(two.reply(), "PONG");
    assert_eq!(two.ask("DEQALL b"), "1");
    assert!(three.reply().parse::<u64>().is_ok());
    two.send(&["ENQ b WAIT 20 E MARA 1"]);
    assert!(two.reply().starts_with("HELD 0 c "));
    // whoever was granted a lock in the end was not rejected before
    let figures = two.ask("METRICS");
    for expected in ["granted_total 3\n", "rejected_total 1\n", "waits_total 3\n"] {
        assert!(figures.contains(&format!("plumb_lock_{expected}")), "{expected}: {figures}");
    }
}

#[test]
fn a_request_that_waits_is_lost_with_what_its_owner_held() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let (mut one, mut two, mut three) = (server.client(), server.client(), server.client());
    one.ask("ENQ b E MARA 2");
    // both come at once, so that the lease runs while the second waits
    two.send(&["ENQ a LEASE 300 E MARA 1", "ENQ a WAIT 600000 E MARA 2"]);
    assert!(two.reply().parse::<u64>().is_ok());
    assert!(two.reply().starts_with("-LOST what the owner held ended while it waited"));
    three.ask("ENQ c E MARA 1");
    two.send(&["ENQ c WAIT 600000 E MARA 2"]);
    while !one.ask("METRICS").contains("plumb_lock_waiting 1\n") {}
    drop(three);
    assert!(two.reply().starts_with("-LOST"));
    two.send(&["ENQ e E MARA 4", "ENQ e WAIT 600000 E MARA 2"]);
    assert!(two.reply().parse::<u64>().is_ok());
    while !one.ask("METRICS").contains("plumb_lock_waiting 1\n") {}
    assert_eq!(one.ask("REMOVE OWNER e"), "1");
    assert!(two.reply().starts_with("-LOST"));
    // whoever releases what the owner holds is no stranger
    two.send(&["ENQ d E MARA 3", "ENQ d WAIT 600000 E MARA 2"]);
    assert!(two.reply().parse::<u64>().is_ok());
    while !one.ask("METRICS").contains("plumb_lock_waiting 1\n") {}
    assert_eq!(one.ask("DEQALL d"), "1");
    assert_eq!(one.ask("DEQALL b"), "1");
    assert!(two.reply().parse::<u64>().is_ok());
}

#[test]
fn an_administrator_removes_what_he_saw_and_nothing_newer() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    let fence: u64 = client.ask("ENQ a E MARA 1 E MARA 2").parse().expect("a fence number");
    assert_eq!(client.ask(&format!("REMOVE LOCK MARA 1 FENCE {}", fence + 1)), "0");
    assert_eq!(client.ask(&format!("REMOVE LOCK MARA 1 FENCE {fence}")), "1");
    assert_eq!(client.ask("COUNT a"), "1");
    assert_eq!(client.ask(&format!("REMOVE FENCE {fence}")), "1");
    client.ask("ENQ a E MARA 1 S MARA 1 E MARA 2");
    assert_eq!(client.ask("REMOVE LOCK MARA 1 OWNER b"), "0");
    assert_eq!(client.ask("REMOVE LOCK MARA 1"), "2");
    assert_eq!(client.ask("REMOVE OWNER a"), "1");
}

#[test]
fn the_chapter_names_every_figure_and_no_command_that_is_not_there() {
    let chapter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lock.md");
    let chapter = fs::read_to_string(chapter).expect("it is part of the project");
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let commands = chapter.split("Terms of `ENQ`").next().expect("they come first");
    let rows = commands.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let named: Vec<&str> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter_map(|code| code.split(' ').next())
        .collect();
    assert!(named.len() > 30 && named.contains(&"ENQ"), "{named:?}");
    for command in named {
        let said = server.client().ask(command);
        assert!(!said.starts_with("-ERR unknown command"), "{command}: {said}");
    }
    let said = server.client().ask("LOCKSTAT");
    for name in said.split(' ').step_by(2) {
        let known = format!("`{}`", name.strip_suffix("_peak").unwrap_or(name));
        assert!(chapter.contains(&known), "{name} is not in the chapter");
    }
}

#[test]
fn keys_of_redis_are_locks() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let (mut one, mut two) = (server.client(), server.client());
    assert_eq!(one.ask("SET user@example token NX PX 600000"), "OK");
    assert_eq!(two.ask("SET user@example other NX PX 600000"), "nil");
    assert_eq!(one.ask("SET user@example token NX"), "nil"); // not even its owner
    assert_eq!(two.ask("SET user?example other NX"), "OK"); // no wildcard in a key
    assert_eq!(two.ask("GET user@example"), "token");
    assert_eq!(two.ask("DEL user@example"), "0"); // of another connection
    assert_eq!(one.ask("DEL user@example"), "1");
    assert_eq!(two.ask("PTTL user?example"), "-1");
    assert_eq!(two.ask("PTTL none"), "-2");
    assert_eq!(one.ask("SET short t NX PX 1"), "OK");
    while one.ask("GET short") != "nil" {}
    assert!(one.ask("SET k v").starts_with("-ERR syntax error: a lock is SET key value NX"));
}

#[test]
fn only_known_scripts_are_answered() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    let script = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) \
                  else return 0 end";
    let eval = |value: &str, client: &mut Client| {
        let words = ["EVAL", script, "1", "k", value];
        let frame: String =
            words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        client.0.write_all(format!("*5\r\n{frame}").as_bytes()).expect("it listens");
        client.reply()
    };
    client.ask("SET k token NX");
    assert_eq!(eval("other", &mut client), "0");
    assert_eq!(eval("token", &mut client), "1");
    assert_eq!(client.ask("EXISTS k"), "0");
    assert!(client.ask("EVAL return 0").starts_with("-ERR script "));
    assert!(client.ask("EVALSHA 00 1 k v").starts_with("-NOSCRIPT"));
}

/// A command of a word of less than nothing.
const NOTHING: &[u8] = b"*1\r\n$-1\r\n";

#[test]
fn bad_input_has_an_answer_and_other_clients_go_on() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&[], folder.path());
    let mut good = server.client();
    for (bad, answer) in [
        ("NONSENSE", "-ERR unknown command 'NONSENSE'"),
        ("ENQ", "-ERR wrong number of arguments"),
        ("ENQ a Q MARA 1", "-ERR syntax error: 'Q'"),
        ("ENQ a E MARA", "-ERR wrong number of arguments"),
        ("ENQ a SCOPE 4 E MARA 1", "-ERR syntax error: '4'"),
        ("ENQ a LEASE 0 E MARA 1", "-ERR '0' is not a number"),
        ("ENQ a EPOCH 1 E MARA 1", "-LOST the server's epoch is"),
        ("DIGEST 12", "-ERR syntax error: '12' was not expected; a key is 32 hexadecimal digits"),
        ("DIGEST 000102030405060708090a0b0c0d0e0f NAME", "-ERR wrong number of arguments"),
        ("SELECT 1", "-ERR DB index"),
        ("SELECT", "-ERR wrong number of arguments for 'select'"),
        ("ECHO", "-ERR wrong number of arguments for 'echo'"),
        ("PING a b", "-ERR wrong number of arguments for 'ping'"),
        ("AUTH", "-ERR wrong number of arguments for 'auth'"),
        ("AUTH x", "-ERR AUTH called without any password"),
        ("CLIENT KILL 1", "-ERR syntax error: 'KILL' was not expected; CLIENT knows"),
        ("CONFIG SET save 1", "-ERR syntax error: 'SET'"),
        ("EPOCH 1", "-ERR wrong number of arguments for 'epoch'"),
        ("METRICS all", "-ERR wrong number of arguments for 'metrics'"),
        ("LOCKSTAT ALL", "-ERR syntax error: 'ALL'"),
        ("LOCKS NAME", "-ERR wrong number of arguments for 'locks'"),
        ("LOCKS AGE 1", "-ERR syntax error: 'AGE'"),
        ("LOCKS CURSOR x", "-ERR 'x' is not a number"),
        ("COUNT", "-ERR wrong number of arguments for 'count'"),
        ("ENQ a FENCE 1 E MARA 1", "-ERR syntax error: 'FENCE' was not expected; SCOPE, USER"),
        ("ENQ a WAIT x E MARA 1", "-ERR 'x' is not a number"),
        ("CHECK a WAIT 5 E MARA 1", "-ERR syntax error: 'WAIT'"),
        ("DEQ a LEASE 5 E MARA 1", "-ERR syntax error: 'LEASE'"),
        ("DEQALL a KEEP", "-ERR syntax error: 'KEEP'"),
        ("DEQALL a b", "-ERR wrong number of arguments for 'deqall'"),
        ("PROMOTE a MARA", "-ERR wrong number of arguments for 'promote'"),
        ("RENEW a", "-ERR wrong number of arguments for 'renew'"),
        ("RENEW a x", "-ERR 'x' is not a number"),
        ("INHERIT a", "-ERR wrong number of arguments for 'inherit'"),
        ("REMOVE LOCK MARA", "-ERR syntax error: 'LOCK' was not expected; REMOVE OWNER"),
        ("REMOVE LOCK MARA 1 FENCE x", "-ERR 'x' is not a number"),
        ("REMOVE LOCK MARA 1 USER x", "-ERR syntax error: 'USER'"),
        ("SET k", "-ERR wrong number of arguments for 'set'"),
        ("SET k v NX PX 0", "-ERR '0' is not a number"),
        ("DEL", "-ERR wrong number of arguments for 'del'"),
        ("EVAL x", "-ERR wrong number of arguments for 'eval'"),
        ("SCRIPT FLUSH", "-ERR syntax error: 'FLUSH'"),
        ("HELLO 4", "-NOPROTO"),
        ("INHERIT a a", "-ERR the update must have another owner"),
    ] {
        let reply = good.ask(bad);
        assert!(reply.starts_with(answer), "{bad}: {reply}");
    }
    let long = "x".repeat(256);
    assert!(good.ask(&format!("ENQ a E MARA {long}")).contains("at most 255 bytes"));
    for bytes in [&b"*1\r\n:5\r\n"[..], b"*99999\r\n", b"*1\r\n$99999\r\n", b"GET \"k\r\n", NOTHING]
    {
        let mut client = server.client();
        client.0.write_all(bytes).expect("it listens");
        assert!(client.reply().starts_with("-ERR Protocol error"), "{bytes:?}");
        assert!(client.at_end());
        assert_eq!(good.ask("PING"), "PONG");
    }
    let frame = b"*5\r\n$3\r\nENQ\r\n$1\r\nf\r\n$1\r\nE\r\n$4\r\nMARA\r\n$1\r\n9\r\n";
    let mut cut = server.client();
    for byte in frame {
        cut.0.write_all(&[*byte]).expect("it listens");
    }
    assert!(cut.reply().parse::<u64>().is_ok());
}

#[test]
fn a_password_comes_first() {
    let folder = tempdir().expect("it can be read");
    fs::write(folder.path().join("password"), "secret\n").expect("it can be read");
    let server = Server::start(&["--password-file", "password"], folder.path());
    let mut client = server.client();
    assert!(client.ask("ENQ a E MARA 1").starts_with("-NOAUTH"));
    assert!(client.ask("AUTH wrong").starts_with("-WRONGPASS"));
    assert_eq!(client.ask("AUTH secret"), "OK");
    assert!(client.ask("ENQ a E MARA 1").parse::<u64>().is_ok());
    assert!(server.client().ask("HELLO 3 AUTH default wrong").starts_with("-WRONGPASS"));
}

#[test]
fn a_server_that_others_reach_says_that_nobody_has_to_log_on() {
    let folder = tempdir().expect("a temporary folder");
    fs::write(folder.path().join("password"), "hush\n").expect("a file");
    let state = ["--state", "promised"];
    let password = ["--password-file", "password"];
    let verbs: [(&str, &[&str]); 2] = [("serve", &[]), ("witness", &state)];
    for (verb, further) in verbs {
        for (listen, who, told) in [
            ("0.0.0.0:0", &[][..], true),
            ("0.0.0.0:0", &password[..], false),
            ("127.0.0.1:0", &[][..], false),
        ] {
            let words = [&["lock", verb, "--listen", listen], further, who].concat();
            let server = Program::start(&words, folder.path());
            server.line();
            server.signal(Signal::TERM);
            let said = server.wait().with(0).stderr;
            let open = said.contains("can be reached from elsewhere, and nobody has to log on");
            assert_eq!(open, told, "{words:?}: {said}");
        }
    }
}

#[test]
fn a_full_table_says_so_and_who_filled_it() {
    let folder = tempdir().expect("it can be read");
    let server = Server::start(&["--table-size", "1KiB"], folder.path());
    let mut client = server.client();
    assert_eq!(client.ask("ENQ n X N 1 X N 1"), "ITSELF 1"); // a rejection, and no room needed
    client.ask("ENQ a E MARA 1 E MARA 2");
    assert!(
        client.ask("ENQ b S VBAK 1").starts_with("-FULL the lock table holds no more arguments")
    );
    let told = server.program.log_line();
    assert!(told.ends_with("the lock table holds no more arguments"), "{told}");
    let overflows = client.ask("LOCKSTAT OVERFLOWS");
    assert!(overflows.contains("arguments a 2 MARA "), "{overflows}");
    let status = ["lock", "status", &server.address, "--over", "0s"];
    let status = plumb(&status, folder.path()).with(1).stdout; // it is full
    assert!(status.contains(" for want of arguments\n  owners with most locks then: a 2\n"));
    client.ask("DEQALL a");
    assert!(client.ask("ENQ b S VBAK 1").parse::<u64>().is_ok());
    let nothing = ["lock", "serve", "--listen", "127.0.0.1:0", "--table-size", "1000B"];
    let refused = plumb(&nothing, folder.path()).with(2).stderr;
    assert!(refused.contains("--table-size 1000B holds no lock; give 1KiB or more"), "{refused}");
}
