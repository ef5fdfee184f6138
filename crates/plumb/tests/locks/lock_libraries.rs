//! Lock libraries of Redis as they are published: each does the same steps at a Redis and at the
//! lock server, and sees the same.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use kit::foreign::{Foreign, installed};
use kit::locks::Server;
use kit::not_tried;
use kit::{Ended, PATIENCE, Program};
use tempfile::tempdir;

/// A file beside the tests that speaks with libraries.
fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/locks");
    folder.join(name).display().to_string()
}

/// What stands in a variable that `./test` sets; `Err` says what is missing.
fn set_up(variable: &str, what: &str) -> Result<String, String> {
    let place = std::env::var(variable).ok().filter(|place| Path::new(place).exists());
    place.ok_or_else(|| format!("{what} is not there: run ./test, which sets {variable}"))
}

/// The program and its first words, or what is missing.
type Client = Result<(PathBuf, Vec<String>), String>;

/// Has the client do its steps at a Redis and at the lock server; what it saw there, a line each.
fn compare(client: Client) -> Option<Vec<String>> {
    let folder = tempdir().expect("a temporary folder");
    let (client, redis) = match (client, Foreign::redis_here()) {
        (Ok(client), Ok(redis)) => (client, redis),
        (Err(reason), _) | (_, Err(reason)) => {
            not_tried(reason);
            return None;
        }
    };
    let steps = |address: &str| -> Ended {
        let (host, port) = address.rsplit_once(':').expect("an address of TCP");
        let words: Vec<&str> = client.1.iter().map(String::as_str).chain([host, port]).collect();
        Program::start_as(&client.0, &words, folder.path()).wait().with(0)
    };
    let theirs = steps(&redis.address).stdout;
    let server = Server::start(&[], folder.path());
    let ours = steps(&server.address).stdout;
    assert_eq!(ours, theirs, "the server does not do what Redis does");
    Some(ours.lines().map(str::to_owned).collect())
}

/// Each of `lines` is among what was seen: the steps are those that they should be.
fn has(seen: Option<Vec<String>>, lines: &[&str]) {
    let Some(seen) = seen else { return };
    for line in lines {
        assert!(seen.iter().any(|it| it == line), "no line '{line}' in {seen:#?}");
    }
}

#[test]
fn redlock_of_node_sees_what_it_sees_at_a_redis() {
    let client = || {
        set_up("PLUMB_TEST_NODE", "redlock of node")?;
        installed("node", "nodejs")?;
        Ok((PathBuf::from("node"), vec![file("node.cjs")]))
    };
    let lines = ["redlock 4", "redlock 5", "several: 3", "extended by itself: [true,false]"];
    has(compare(client()), &lines);
}

#[test]
fn libraries_of_go_see_what_they_see_at_a_redis() {
    let client = || {
        let folder = set_up("PLUMB_TEST_GO", "redsync")?;
        let program = Path::new(&folder).join("redis_locks");
        if !program.is_file() {
            return Err("redis_locks is not built: ./test builds it where there is Go".to_owned());
        }
        Ok((program, Vec::new()))
    };
    let lines = [
        "unlock what is gone: false already expired",
        "extend sets it: true nil",
        "the same token: nil  printer 2",
        "after its time: nil redislock: lock not held",
    ];
    has(compare(client()), &lines);
}

#[test]
fn libraries_of_python_see_what_they_see_at_a_redis() {
    let client = || {
        let python = set_up("PLUMB_TEST_PYTHON", "a Python with redis, redlock-py and pottery")?;
        Ok((PathBuf::from(python), vec![file("python.py")]))
    };
    let lines = ["stolen: [\"LockNotOwnedError\", \"LockError\"]", "fourth: false", "free: 0"];
    has(compare(client()), &lines);
}

#[test]
fn redisson_sees_what_it_sees_at_a_redis() {
    let client = || {
        let folder = set_up("PLUMB_TEST_REDISSON", "Redisson")?;
        installed("java", "default-jdk-headless")?;
        let words = ["-cp", &format!("{folder}/*"), &file("RedissonLocks.java")];
        Ok((PathBuf::from("java"), words.map(str::to_owned).to_vec()))
    };
    let lines = [
        "once more: true 2",
        "waited: true true",
        "by force: true false IllegalMonitorStateException",
        "renewed by itself: true",
        "the next is higher: true done",
    ];
    has(compare(client()), &lines);
}

/// What is answered to each of the commands, up to the end of the connection.
fn answers(address: &str, commands: &[&str]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let all = commands.iter().map(|command| format!("{command}\r\n")).collect::<String>();
    stream.write_all(format!("{all}QUIT\r\n").as_bytes()).expect("it takes commands");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("it answers and ends the connection");
    said
}

#[test]
fn commands_are_answered_as_a_redis_answers_them() {
    let redis = match Foreign::redis_here() {
        Ok(redis) => redis,
        Err(reason) => {
            not_tried(reason);
            return;
        }
    };
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let commands = [
        "SETNX a v1",
        "SETNX a v2",
        "GET a",
        "TTL a",
        "PTTL a",
        "EXPIRE a 100",
        "TTL a",
        "EXPIRE a 50 GT",
        "EXPIRE a 50 LT",
        "EXPIRE a 60 NX",
        "EXPIRE a 2000 XX",
        "TTL a",
        "PEXPIRE a 1000000 GT",
        "PEXPIRE a 3000000 XX GT",
        "TTL a",
        "EXPIRE none 5",
        "SET a v2 NX GET",
        "SET b v NX GET PX 600000",
        "SET b v XX EX 100",
        "SET b w XX KEEPTTL GET",
        "TTL b",
        "GET b",
        "SET none v XX",
        "SET none v XX GET",
        "EXISTS a b none a",
        "PEXPIRE a -1",
        "GET a",
        "TTL none",
        "PTTL none",
        "HGET none me",
        "HEXISTS none me",
        "HGET b me",
        "HEXISTS b me",
        "SCRIPT EXISTS e950836ed1e694540c503ef9972b8de518044d3b",
        "EVALSHA e950836ed1e694540c503ef9972b8de518044d3b 1 b w",
        "DEL b none",
        "SUBSCRIBE one two one",
        "PING",
        "PING text",
        "UNSUBSCRIBE one other",
        "UNSUBSCRIBE",
        "UNSUBSCRIBE",
        "PING",
    ];
    let theirs = answers(&redis.address, &commands);
    assert_eq!(answers(&server.address, &commands), theirs);
    assert!(theirs.contains("WRONGTYPE") && theirs.contains("NOSCRIPT"), "{theirs}");
}

/// Scripts of Redisson 3.16 to 3.44: a lock is taken, its time prolonged, given back, and taken away.
const OLDER_REDISSON: [&str; 4] = [
    "if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then \
     redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return \
     nil; end; return redis.call('pttl', KEYS[1]);",
    "if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('pexpire', KEYS[1], ARGV[1]); \
     return 1; end; return 0;",
    "if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil;end; local counter = \
     redis.call('hincrby', KEYS[1], ARGV[3], -1); if (counter > 0) then redis.call('pexpire', \
     KEYS[1], ARGV[2]); return 0; else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], \
     ARGV[1]); return 1; end; return nil;",
    "if (redis.call('del', KEYS[1]) == 1) then redis.call('publish', KEYS[2], ARGV[1]); return 1 else \
     return 0 end",
];

#[test]
fn scripts_of_older_versions_of_redisson_do_what_they_do_at_a_redis() {
    let redis = match Foreign::redis_here() {
        Ok(redis) => redis,
        Err(reason) => {
            not_tried(reason);
            return;
        }
    };
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let [take, renew, give, end] = OLDER_REDISSON;
    let eval = |script: &str, words: &str| format!("EVAL \"{script}\" {words}");
    let mine = eval(take, "1 k 60000 me");
    let commands = [
        eval(renew, "1 k 90000 me"),
        mine.clone(),
        mine.clone(),
        eval(renew, "1 k 90000 other"),
        eval(renew, "1 k 90000 me"),
        "TTL k".to_owned(),
        "HGET k me".to_owned(),
        eval(give, "2 k channel 0 30000 other"),
        eval(give, "2 k channel 0 30000 me"),
        "TTL k".to_owned(),
        eval(give, "2 k channel 0 30000 me"),
        "EXISTS k".to_owned(),
        eval(give, "2 k channel 0 30000 me"),
        mine,
        eval(end, "2 k channel 0"),
        eval(end, "2 k channel 0"),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let theirs = answers(&redis.address, &commands);
    assert_eq!(answers(&server.address, &commands), theirs);
    assert!(theirs.contains(":90\r\n") && !theirs.contains("-ERR"), "{theirs}");
}

#[test]
fn a_script_that_is_not_known_is_refused_by_its_digest() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let script = "return redis.call('incr', KEYS[1])";
    let load = format!("SCRIPT LOAD \"{script}\"");
    let said = answers(&server.address, &[&format!("EVAL \"{script}\" 1 a"), &load]);
    let line = "-ERR script 2bab3b661081db58bd2341920e0ba7cf5dc77b25 is not one";
    assert_eq!(said.matches(line).count(), 2, "{said}");
}

#[test]
fn no_command_takes_a_lock_from_its_holder() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let (mut mine, mut other) = (server.client(), server.client());
    assert_eq!(mine.ask("SET a mine NX").expect("it answers"), ["+OK"]);
    for command in ["SET a other XX", "SET a other", "SETNX a other"] {
        let said = other.ask(command).expect("it answers");
        assert!(said[0].starts_with("-ERR") || said == [":0"], "{command}: {said:?}");
    }
    assert_eq!(other.number("DEL a"), 0);
    for time in ["PEXPIRE a 0", "PEXPIRE a 1", "EXPIRE a 1 NX"] {
        assert_eq!(other.number(time), 0, "{time}");
    }
    assert_eq!(other.number("EXISTS a"), 1);
    assert_eq!(other.ask("SET a mine XX PX 60000").expect("it answers"), ["+OK"], "a renewal");
    assert_eq!(mine.ask("SET a again XX").expect("it answers"), ["+OK"], "where it was taken");
    assert_eq!(mine.number("DEL a"), 1);
}
