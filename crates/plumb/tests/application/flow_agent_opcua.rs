//! Agents of an OPC UA server (asyncua) that is killed and started again in mid-flow.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::flow_agent::ledger;
use crate::kit::Program;
use crate::kit::namespace::allowed;

/// The Python of the tests; `Err` says why it does not serve.
fn python() -> Result<String, String> {
    let python = std::env::var("PLUMB_TEST_PYTHON").unwrap_or("python3".into());
    let asked = std::process::Command::new(&python).args(["-c", "import asyncua"]).output();
    match asked {
        Ok(ended) if ended.status.success() => Ok(python),
        Ok(_) | Err(_) => Err(format!("{python} has no asyncua: install it with pip")),
    }
}

/// A server of the node `Press.Count`, and an agent of it.
struct Press {
    python: String,
    port: String,
    folder: TempDir,
}

impl Press {
    /// With further lines of the agent's source; `Err` says why not.
    fn new(lines: &str) -> Result<Self, String> {
        let python = python()?;
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = port.local_addr().expect("its address").port().to_string();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = format!(
            "[source.opc-ua]\nurl = \"opc.tcp://127.0.0.1:{port}\"\n\
             node = [{{ id = \"ns=2;s=Press.Count\", tag = \"count\" }}]\n{lines}\
             [target]\nurl = \"http://127.0.0.1:1/runner/event\"\n"
        );
        fs::write(folder.path().join("agent.toml"), text).expect("a file");
        Ok(Self { python, port, folder })
    }

    /// A server that counts from `first` to `last` once somebody has subscribed.
    fn serve(&self, first: u32, last: u32) -> Program {
        let script = format!("{}/tests/interop/opcua_server.py", env!("CARGO_MANIFEST_DIR"));
        let [first, last] = [first, last].map(|number| number.to_string());
        let words = [script.as_str(), &self.port, &first, &last];
        let server = Program::start_as(Path::new(&self.python), &words, self.folder.path());
        assert_eq!(server.line(), "ready");
        server
    }

    fn agent(&self) -> Program {
        let words = ["flow", "agent", "agent.toml", "--spool", "spool"];
        Program::start(&words, self.folder.path())
    }

    /// What was produced and never seen, once `holds`.
    fn counts_once(&self, holds: impl Fn(u64, u64) -> bool) -> (u64, u64) {
        let counts = || {
            let ledger = ledger(self.folder.path());
            let count = |name: &str| ledger[name].as_u64().expect("a count");
            (count("produced"), count("never_seen"))
        };
        let mut looks = std::iter::repeat_with(counts).take(20_000);
        looks.find(|(produced, never_seen)| holds(*produced, *never_seen)).expect("it comes")
    }
}

#[test]
fn a_subscription_comes_back_after_the_server_does() {
    let Some(press) = allowed(Press::new("")) else { return };
    // the agent is there first, and waits for its server
    let agent = press.agent();
    while !agent.log_line().contains(" is away: ") {}
    let first = press.serve(1, 300);
    assert_eq!((first.line(), first.line()), ("subscribed".into(), "counted".into()));
    // the value at the beginning, and each one after it
    assert_eq!(press.counts_once(|produced, _| produced >= 301).1, 0);
    first.signal(Signal::KILL);
    first.wait();
    let second = press.serve(301, 600);
    assert_eq!((second.line(), second.line()), ("subscribed".into(), "counted".into()));
    assert_eq!(press.counts_once(|produced, _| produced >= 602), (602, 0));
    agent.signal(Signal::TERM);
    agent.wait().with(0);
    second.signal(Signal::TERM);
}

#[test]
fn what_a_server_and_an_agent_that_are_killed_while_it_counts_take_along_is_counted() {
    let Some(press) = allowed(Press::new("sequence = \"count\"\n")) else { return };
    let mut agent = press.agent();
    let first = press.serve(1, 1_000_000);
    press.counts_once(|produced, _| produced >= 100);
    first.signal(Signal::KILL);
    first.wait();
    let second = press.serve(2_000_001, 2_000_500);
    assert_eq!(second.line(), "subscribed");
    agent.signal(Signal::KILL);
    agent.wait();
    agent = press.agent();
    assert_eq!(second.line(), "counted");
    // every number from 0 on, once: on disk, or known to be lost
    let (produced, never_seen) = press.counts_once(|produced, lost| produced + lost > 2_000_500);
    assert_eq!(produced + never_seen, 2_000_501);
    assert!(produced > 100 && never_seen > 1_000_000, "{produced}, {never_seen}");
    agent.signal(Signal::TERM);
    agent.wait().with(0);
    second.signal(Signal::TERM);
}
