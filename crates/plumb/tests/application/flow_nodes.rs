//! `plumb flow serve --nodes`: several processes behind the same address.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::flow_serve::{ORDER, TWO, XML};
use crate::kit::{Program, Server, plumb, until};

const PAGE: (&str, &str) = ("Accept", "text/html");

struct Nodes {
    folder: TempDir,
    server: Server,
}

impl Nodes {
    fn start(words: &[&str]) -> Self {
        Self::configured(words, "")
    }

    /// Those with `settings` in s.toml.
    fn configured(words: &[&str], settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("flows")).expect("it can be written");
        fs::write(folder.path().join("flows/order.toml"), ORDER).expect("it can be written");
        fs::write(folder.path().join("s.toml"), settings).expect("it can be written");
        let server = serve(folder.path(), words);
        Self { folder, server }
    }

    /// Sends an order with a key; its id.
    fn send(&self, key: &str) -> String {
        // a node that is being replaced says so
        until(|| {
            let headers = [XML, ("X-Order-Key", key), ("Idempotency-Key", key)];
            let reply = self.server.web().ask("POST", "/runner/order", &headers, TWO.as_bytes());
            if reply.status == 503 {
                assert_eq!(reply.header("retry-after"), "1");
                return None;
            }
            Some(reply.with(202).json()["id"].as_str()?.to_owned())
        })
    }

    fn until_done(&self, id: &str) {
        until(|| {
            let path = format!("/executions/{id}");
            let reply = self.server.web().ask("GET", &path, &[], b"");
            (reply.status == 200 && reply.json()["state"] == "done").then_some(())
        });
    }

    fn seen(&self) -> Value {
        self.server.web().get("/manager?most=1000").with(200).json()
    }

    /// The process of a node.
    fn process(&self, node: u16) -> Option<Pid> {
        let parent = self.server.id();
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        // those that other threads started are theirs
        let of_threads = fs::read_dir(format!("/proc/{parent}/task")).ok()?.flatten();
        let of_threads =
            of_threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
        let all: String = children.into_iter().chain(of_threads).collect::<Vec<_>>().join(" ");
        let wanted = format!("--node={node}/");
        let found = all.split_whitespace().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&wanted)
        });
        Pid::from_raw(found?.parse().ok()?)
    }
}

fn serve(folder: &Path, words: &[&str]) -> Server {
    let fixed = ["flow", "serve", "flows", "--listen", "127.0.0.1:0", "--queue", "queue"];
    Server::ready(Program::start(&[&fixed, words].concat(), folder))
}

/// The node that an id names.
fn node_of(id: &str) -> u64 {
    u64::from_str_radix(id, 16).expect("an id") >> 13 & 63
}

#[test]
fn messages_of_a_key_meet_at_one_node_and_every_node_answers_for_all() {
    let nodes = Nodes::start(&["--nodes", "3"]);
    let keys: Vec<String> = (0..24).map(|number| format!("order-{number}")).collect();
    let ids: HashMap<&String, String> = keys.iter().map(|key| (key, nodes.send(key))).collect();
    for key in &keys {
        assert_eq!(nodes.send(key), ids[key], "it was sent before");
    }
    let spread: BTreeSet<u64> = ids.values().map(|id| node_of(id)).collect();
    assert_eq!(spread, BTreeSet::from([1, 2, 3]));
    ids.values().for_each(|id| nodes.until_done(id));

    let seen = nodes.seen();
    assert_eq!(seen["figures"]["queued"]["done"], 24);
    assert_eq!(seen["figures"]["queue"]["accepted"], 24);
    let of_nodes = seen["nodes"].as_array().expect("nodes");
    let done = of_nodes.iter().map(|it| it["queued"]["done"].as_u64().expect("a number"));
    assert_eq!((of_nodes.len(), done.sum::<u64>()), (3, 24));
    let listed: Vec<&str> = seen["executions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    let mut expected: Vec<&str> = ids.values().map(String::as_str).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(listed, expected);

    let mut web = nodes.server.web();
    let page = web.ask("GET", "/manager", &[PAGE], b"").with(200).text();
    assert!(page.contains("<h2>Nodes</h2>") && page.contains(expected[0]), "{page}");
    let metrics = web.get("/metrics").with(200).text();
    for line in ["plumb_flow_node_up{node=\"3\"} 1", "plumb_flow_queue_accepted_total 24"] {
        assert!(metrics.contains(line), "{metrics}");
    }
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let dropped = web.ask("POST", "/manager/drop", &[form], b"state=done&all=yes");
    assert_eq!(dropped.with(200).json()["dropped"], 24);
    nodes.server.signal(Signal::TERM);
    nodes.server.wait().with(0);
}

#[test]
fn metrics_are_of_all_nodes_also_for_whoever_has_not_logged_on() {
    let settings = "[users]\nanna = \"secret\"\n";
    let nodes = Nodes::configured(&["--nodes", "3", "--settings", "s.toml"], settings);
    let mut web = nodes.server.web();
    let metrics = web.get("/metrics").with(200).text();
    for line in [1, 2, 3].map(|node| format!("plumb_flow_node_up{{node=\"{node}\"}} 1")) {
        assert!(metrics.contains(&line), "{metrics}");
    }
    web.get("/manager").with(401);
}

#[test]
fn a_node_that_is_killed_is_replaced_and_what_it_had_is_done() {
    let nodes = Nodes::start(&["--nodes", "2"]);
    let first: Vec<String> = (0..40).map(|number| nodes.send(&format!("{number}"))).collect();
    let killed = nodes.process(2).expect("node 2 runs");
    kill_process(killed, Signal::KILL).expect("it is ours");
    let more: Vec<String> = (40..60).map(|number| nodes.send(&format!("{number}"))).collect();
    let ids: BTreeSet<&String> = first.iter().chain(&more).collect();
    assert_eq!(ids.len(), 60);
    ids.iter().for_each(|id| nodes.until_done(id));
    let replaced = until(|| nodes.process(2).filter(|pid| *pid != killed));
    assert_ne!(replaced, killed);
    let said = nodes.server.log();
    assert!(said.contains("node 2 was ended by signal 9; another takes its place"), "{said}");
    let queue = &nodes.seen()["figures"]["queue"];
    assert_eq!((&queue["waiting"], &queue["failed"]), (&0.into(), &0.into()));
}

#[test]
fn nodes_end_with_whoever_started_them() {
    let nodes = Nodes::start(&["--nodes", "2"]);
    let processes = [1, 2].map(|node| nodes.process(node).expect("it runs"));
    let Nodes { folder, server } = nodes;
    server.kill();
    for process in processes {
        // an end that nobody waits for yet leaves its entry
        until(|| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
            stat.map_or(Some(()), |stat| stat.contains(") Z ").then_some(()))
        });
    }
    drop(folder);
}

#[test]
fn the_memory_of_a_node_is_bounded_or_it_is_said_that_it_is_not() {
    let nodes = Nodes::start(&["--nodes", "1", "--memory", "128MiB"]);
    let bounded = |process: Pid| {
        let process = process.as_raw_nonzero();
        let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).expect("it runs");
        let own = format!("plumb-{}-node-1", nodes.server.id());
        let Some(group) = groups.lines().find(|line| line.contains(&own)) else {
            let said = nodes.server.log();
            assert!(
                said.contains("not enforced") && !said.contains("File exists"),
                "{said}{groups}"
            );
            return None;
        };
        let path = group.rsplit(':').next().expect("a path");
        let folders = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|it| format!("{it}{path}"));
        let limits = ["memory.limit_in_bytes", "memory.max"];
        let limit = folders.iter().zip(limits).find_map(|(folder, limit)| {
            Some((folder, fs::read_to_string(format!("{folder}/{limit}")).ok()?))
        });
        let (folder, limit) = limit.expect("a limit");
        assert_eq!(limit.trim(), (128_u64 << 20).to_string());
        Some(folder.clone())
    };
    let process = nodes.process(1).expect("node 1 runs");
    if let Some(folder) = bounded(process) {
        // somebody whom the node leaves behind keeps its group
        let mut left = Command::new("sleep").arg("600").spawn().expect("it is there");
        let joined = fs::write(format!("{folder}/cgroup.procs"), left.id().to_string());
        kill_process(process, Signal::KILL).expect("it is ours");
        let other = until(|| nodes.process(1).filter(|pid| *pid != process));
        nodes.until_done(&nodes.send("b"));
        let again = bounded(other);
        left.kill().and_then(|()| left.wait()).expect("it is ours");
        joined.expect("its group takes more");
        assert_eq!(again, Some(folder));
    }
    nodes.until_done(&nodes.send("a"));
}

#[test]
fn what_would_leave_messages_behind_is_refused() {
    let nodes = Nodes::start(&["--nodes", "2"]);
    nodes.send("a");
    let Nodes { folder, server } = nodes;
    server.signal(Signal::TERM);
    server.wait().with(0);
    let start = |words: &[&str]| {
        let fixed = ["flow", "serve", "flows", "--listen", "127.0.0.1:0", "--queue", "queue"];
        plumb(&[&fixed, words].concat(), folder.path()).with(2).stderr
    };
    let said = start(&[]);
    assert!(said.contains("holds the queue of node 2: start with --nodes 2"), "{said}");
    assert!(start(&["--nodes", "1"]).contains("--nodes 2"));
    assert!(start(&["--nodes", "0"]).contains("1..=63"));
    assert!(start(&["--memory", "1GiB"]).contains("--nodes"));
    assert!(start(&["--node", "1/2"]).contains("--nodes"));
    fs::rename(folder.path().join("queue/node-1"), folder.path().join("alone"))
        .expect("it is there");
    let alone = ["flow", "serve", "flows", "--listen", "127.0.0.1:0", "--queue", "alone"];
    let said = plumb(&[&alone[..], &["--nodes", "2"]].concat(), folder.path()).with(2).stderr;
    assert!(said.contains("is the queue of a server without nodes"), "{said}");
}
