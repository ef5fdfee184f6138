//! Agents in trouble: a runtime that is killed, a disk that fills, networks that do not meet.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::flow_agent::{ledger, ledger_of};
use crate::flow_agent_mqtt::Broker;
use crate::kit::namespace::{Namespace, SmallDisk, allowed, around};
use crate::kit::{PATIENCE, Program, Server, plumb};

/// A row for each change.
const EVENT: &str = r#"
mode = "async"
[[action]]
repeat = "/TagChanges/Change"
assign = { number = "Sequence", tag = "Tag", value = "Value" }
[[action.do]]
sql = "INSERT INTO seen(number, tag, value) VALUES (${number}, ${tag}, ${value})"
"#;

const COUNT: &str = r#"
[[action]]
name = "all"
sql = "SELECT count(*) AS rows, count(DISTINCT number) AS numbers FROM seen"
[[action]]
respond = '{"rows": ${all.rows}, "numbers": ${all.numbers}}'
type = "application/json"
"#;

const DATA: &str = "[server.plant]\nurl = \"plant.db\"\n\
    init-command = \"CREATE TABLE IF NOT EXISTS seen(number, tag, value)\"\n";

/// A runtime in a folder of its own, on a port that it keeps.
struct Runtime {
    folder: TempDir,
    listen: String,
}

impl Runtime {
    fn new(listen: String, settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let flows = folder.path().join("flows");
        fs::create_dir(&flows).expect("a folder");
        for (name, text) in
            [("event.toml", EVENT), ("count.toml", COUNT), ("data-servers.toml", DATA)]
        {
            fs::write(flows.join(name), text).expect("a file");
        }
        fs::write(folder.path().join("settings.toml"), settings).expect("a file");
        Self { folder, listen }
    }

    /// On a free port of this machine.
    fn here() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let listen = listener.local_addr().expect("its address").to_string();
        Self::new(listen, "")
    }

    fn words(&self) -> [&str; 9] {
        let listen = self.listen.as_str();
        [
            "flow",
            "serve",
            "flows",
            "--settings",
            "settings.toml",
            "--listen",
            listen,
            "--queue",
            "queue",
        ]
    }

    fn start(&self) -> Server {
        Server::ready(Program::start(&self.words(), self.folder.path()))
    }
}

/// Rows in the table of a runtime, and different numbers among them, once nothing waits in its queue.
fn rows(server: &Server) -> (u64, u64) {
    let mut web = server.web();
    let mut done = std::iter::repeat_with(|| {
        let text = web.ask("GET", "/metrics", &[], b"").with(200).text();
        let figure = |name: &str| text.lines().any(|line| line == format!("{name} 0"));
        figure("plumb_flow_queue_waiting") && figure("plumb_flow_queue_running")
    });
    done.by_ref().take(100_000).find(|done| *done).expect("the queue is worked off");
    let xml = ("Content-Type", "application/xml");
    let reply = web.ask("POST", "/runner/count?mode=sync", &[xml], b"<a/>").with(200).json();
    let count = |name: &str| reply[name].as_u64().expect("a count");
    (count("rows"), count("numbers"))
}

fn agent(address: &str, changes: u32, bundle: u32, rest: &str) -> String {
    format!(
        "[source.sim]\nchanges = {changes}\n\
         tag = [{{ name = \"t\", count = 5, shape = \"random-walk\", low = 0, high = 9, step = 1 }}]\n\
         [bundle]\ncount = {bundle}\n\
         [retry]\ninterval = \"20ms\"\ntimes = 1000000\n\
         [target]\nurl = \"http://{address}/runner/event?mode=async\"\n{rest}\n"
    )
}

const WORDS: [&str; 6] = ["flow", "agent", "agent.toml", "--spool", "spool", "--until-empty"];

#[test]
fn a_runtime_that_is_killed_again_and_again_has_every_change_once() {
    let runtime = Runtime::here();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = agent(&runtime.listen, 4_000, 10, "");
    fs::write(folder.path().join("agent.toml"), text).expect("a file");
    let mut server = runtime.start();
    let agent = Program::start(&WORDS, folder.path());
    for part in 1..=3 {
        let far = |ledger: &Value| ledger["delivered"].as_u64() >= Some(part * 800);
        let mut looks = std::iter::repeat_with(|| ledger(folder.path())).take(20_000);
        looks.find(far).expect("it delivers");
        server.kill();
        server = runtime.start();
    }
    let ended = agent.wait().with(0);
    assert!(ended.stderr.contains("the target takes nothing: "), "{}", ended.stderr);
    let ledger = ledger(folder.path());
    assert_eq!(
        (ledger["produced"].as_u64(), ledger["delivered"].as_u64()),
        (Some(4_000), Some(4_000))
    );
    assert_eq!(rows(&server), (4_000, 4_000));
}

#[test]
fn a_full_disk_makes_the_source_wait_and_is_worked_off() {
    let runtime = Runtime::here();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("spool");
    fs::create_dir(&place).expect("a folder");
    let Some(disk) = allowed(SmallDisk::new(&place, "44m")) else { return };
    // 35 MB of messages
    let name = format!("name = \"{}\"", "t".repeat(250));
    let text = agent(&runtime.listen, 90_000, 200, "").replace("name = \"t\"", &name);
    fs::write(folder.path().join("agent.toml"), text).expect("a file");
    // nobody listens: all of it goes to the disk, which does not hold it
    // whoever enters the place of the disk begins at the root
    let (file, spool) = (folder.path().join("agent.toml"), place.display().to_string());
    let file = file.display().to_string();
    let words = ["flow", "agent", &file, "--spool", &spool, "--until-empty"];
    let first = disk.start(&words, folder.path());
    while !first.log_line().contains(" is full; messages are taken again once 32 MiB") {}
    let list = ["flow", "agent", "list", "--json", "--spool", &spool];
    let full = ledger_of(&disk.start(&list, folder.path()).wait());
    assert!(full["main"]["messages"].as_u64() > Some(10), "{full}");
    first.signal(Signal::KILL);
    first.wait();
    let killed = ledger_of(&disk.start(&list, folder.path()).wait());
    assert!(killed["produced"].as_u64() >= full["produced"].as_u64(), "{killed}");
    assert!(killed["produced"].as_u64() < Some(90_000), "{killed}");
    // what is delivered makes room, and the source goes on
    let server = runtime.start();
    disk.start(&words, folder.path()).wait_within(3 * PATIENCE).with(0);
    let end = ledger_of(&disk.start(&list, folder.path()).wait());
    assert_eq!((end["produced"].as_u64(), end["delivered"].as_u64()), (Some(90_000), Some(90_000)));
    assert_eq!(rows(&server), (90_000, 90_000));
}

#[test]
fn only_the_agent_reaches_both_the_historian_and_the_runtime() {
    let Some((between, outside)) = allowed(Namespace::star(2)) else { return };
    let [office, floor] = &outside[..] else { unreachable!("two are around it") };
    let Some(broker) = allowed(Broker::within(floor, &around(2))) else { return };
    let token = "0123456789abcdef";
    let settings = format!("[tokens]\nagent = \"{token}\"\n");
    let runtime = Runtime::new(format!("{}:50000", around(1)), &settings);
    let server = Server::ready(office.start(&runtime.words(), runtime.folder.path()));
    // the runtime has no way to the broker, and its transaction none either
    let ping = ["net", "ping", &broker.address, "--count", "1", "--no-record"];
    let refused = office.start(&ping, runtime.folder.path()).wait();
    assert_ne!(refused.code, Some(0), "{refused:#?}");

    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("agent.token"), token).expect("a file");
    let text = format!(
        "[source.mqtt]\nbroker = \"mqtt://{}\"\nclient-id = \"press\"\ntopics = [\"plant/#\"]\n\
         payload = \"json\"\nsequence = \"n\"\n[bundle]\ncount = 20\n\
         [target]\nurl = \"http://{}/runner/event?mode=async\"\ntoken-file = \"agent.token\"\n",
        broker.address, server.address
    );
    fs::write(folder.path().join("agent.toml"), text).expect("a file");
    let words = ["flow", "agent", "agent.toml", "--spool", "spool"];
    let agent = between.start(&words, folder.path());
    while !agent.log_line().contains("connected to ") {}
    broker.publish_until(1, || ledger(folder.path())["produced"].as_u64() >= Some(1));
    broker.publish(2..=500);
    let far = |ledger: &Value| ledger["delivered"].as_u64() == Some(500);
    let mut looks = std::iter::repeat_with(|| ledger(folder.path())).take(20_000);
    looks.find(far).expect("all of it is delivered");
    agent.signal(Signal::TERM);
    agent.wait().with(0);
    assert_eq!(ledger(folder.path())["never_seen"], 0);
    drop(server);
}

#[test]
fn a_file_is_followed_across_a_kill() {
    let runtime = Runtime::here();
    let server = runtime.start();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = format!(
        "[source.file]\npath = \"history.csv\"\nread = \"follow\"\ntime-column = \"time\"\n\
         [bundle]\ncount = 7\ntime = \"20ms\"\n\
         [target]\nurl = \"http://{}/runner/event?mode=async\"\n",
        runtime.listen
    );
    fs::write(folder.path().join("agent.toml"), text).expect("a file");
    let line = |n: u32| format!("2025-04-03T10:00:{:02}Z,{n},{}\n", n % 60, n * 2);
    let written = |to: u32| {
        let lines: String = (1..=to).map(line).collect();
        fs::write(folder.path().join("next.csv"), format!("time,a,b\n{lines}")).expect("a file");
        // one file that grows, as far as the agent can tell
        let whole = fs::read(folder.path().join("next.csv")).expect("it is there");
        let path = folder.path().join("history.csv");
        let from = fs::metadata(&path).map_or(0, |it| usize::try_from(it.len()).expect("small"));
        append(&path, &whole[from..]);
    };
    for part in 1..=3 {
        written(part * 100);
        let agent =
            Program::start(&["flow", "agent", "agent.toml", "--spool", "spool"], folder.path());
        let enough = u64::from(part) * 200;
        let far = |ledger: &Value| ledger["delivered"].as_u64() >= Some(enough);
        let mut looks = std::iter::repeat_with(|| ledger(folder.path())).take(20_000);
        looks.find(far).expect("it delivers");
        agent.signal(Signal::KILL);
        agent.wait();
    }
    assert_eq!(ledger(folder.path())["produced"], 600);
    assert_eq!(rows(&server), (600, 600));
    let listed = plumb(&["flow", "agent", "list", "--spool", "spool"], folder.path()).with(0);
    assert!(listed.stdout.contains("delivered               600 in "), "{}", listed.stdout);
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).expect("a file");
    file.write_all(bytes).expect("it can be written");
}
